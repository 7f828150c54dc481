"""Cross-attention as a site: read, differentiated and replaced as by hand, or refused by name."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
import torch
from test_port_contract import CLOSE, LABELS, PAIRS
from test_sim import port as stepwise
from torch import Tensor
from transformers.modeling_outputs import BaseModelOutput
from zoo import CAUSAL, SEQ2SEQ

from whence.errors import BadInput
from whence.explain import METHODS, explain
from whence.models import Causal, Encoded, Intervention, Label, Seq2Seq, Text
from whence.run import Request, Runner


@pytest.fixture(params=list(SEQ2SEQ))
def port(request: pytest.FixtureRequest) -> Seq2Seq:
    return Seq2Seq(*SEQ2SEQ[request.param](), "nli.i-o", LABELS)


def by_hand(port: Seq2Seq, encoded: Encoded, ids: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    """(score of a text, the last layer's cross-attention [heads, tokens of the text, tokens of the source]), as transformers
    itself gives it."""
    model, mask = port.model, torch.ones(1, len(encoded), dtype=torch.long)
    before = model.config._attn_implementation
    model.set_attn_implementation("eager")
    read = model.get_encoder()(torch.tensor(encoded.ids)[None], attention_mask=mask).last_hidden_state.detach()
    fed = torch.tensor([[port.start, *port.forced, *ids[:-1]]])
    found = model(
        encoder_outputs=BaseModelOutput(read),
        attention_mask=mask,
        decoder_input_ids=fed,
        output_attentions=True,
        use_cache=False,
    )
    model.set_attn_implementation(before)
    chances = found.logits[0, -len(ids) :].log_softmax(-1).gather(1, torch.tensor(ids)[:, None])
    return chances.sum(), found.cross_attentions[-1]


@contextmanager
def imposed(port: Seq2Seq, encoded: Encoded, row: np.ndarray) -> Iterator[None]:
    """What the last layer gets from the source is the same at every place: Σ row · values, written out."""
    *_, module = port.cross_attention
    with torch.no_grad():
        mask = torch.ones(1, len(encoded), dtype=torch.long)
        read = port.model.get_encoder()(torch.tensor(encoded.ids)[None], attention_mask=mask).last_hidden_state[0]
        values = module.v(read) if hasattr(module, "v") else module.v_proj(read)
        got = torch.tensor(row) @ values
    out = module.o if hasattr(module, "o") else module.out_proj
    handle = out.register_forward_pre_hook(lambda _, given: (got.expand_as(given[0]),))
    yield
    handle.remove()


def test_one_module_for_each_decoder_layer(port: Seq2Seq) -> None:
    config = port.model.config
    layers = getattr(config, "num_decoder_layers", None) or config.decoder_layers
    assert len(port.cross_attention) == len(set(port.cross_attention)) == layers
    decoder = set(port.model.get_decoder().modules())
    assert all(module in decoder for module in port.cross_attention)
    assert "attention" in port.honours


def test_attention_is_read_as_transformers_gives_it(port: Seq2Seq) -> None:
    encoded = port.encode(PAIRS)
    read = Runner(port).run([Request(e, want=frozenset({"attention"})) for e in encoded])
    for e, plain, found in zip(encoded, Runner(port).predict(encoded), read, strict=True):
        assert found.logits == pytest.approx(plain.logits, **CLOSE), "to read it changes nothing"
        with torch.no_grad():
            score, weights = by_hand(port, e, e.candidates[found.label])
        assert found.logits[found.label] == pytest.approx(float(score), **CLOSE)
        places = weights[0, :, -len(e.candidates[found.label]) :]
        assert found.extras["attention"] == pytest.approx(places.mean((0, 1)).numpy(), abs=1e-5)


def test_attention_of_a_text_is_that_of_its_asked_tokens(port: Seq2Seq) -> None:
    [e] = port.encode(PAIRS[:1])
    ids = e.candidates[2]
    asked = tuple(i == 1 for i in range(len(ids)))
    [found] = Runner(port).run([Request(e, want=frozenset({"attention"}), target=Text(ids, asked))])
    with torch.no_grad():
        _, weights = by_hand(port, e, ids)
    assert found.extras["attention"] == pytest.approx(
        weights[0, :, len(weights[0, 0]) - len(ids) + 1].mean(0).numpy(), abs=1e-5
    )


def test_attention_times_gradient_equals_autograd(port: Seq2Seq) -> None:
    encoded = port.encode(PAIRS)
    best = [Label(result.label) for result in Runner(port).predict(encoded)]
    for e, target in zip(encoded, best, strict=True):
        [made] = explain(Runner(port), [e], METHODS["attention_gradient"], target)
        scores, weights = zip(*(by_hand(port, e, ids) for ids in e.candidates), strict=True)
        [slope] = torch.autograd.grad(torch.stack(scores).softmax(0)[target.index], [weights[target.index]])
        length = len(e.candidates[target.index])
        mean, slopes = (x.detach()[0, :, -length:].mean((0, 1)).numpy() for x in (weights[target.index], slope))
        assert made.scores == pytest.approx(e.share(e.sum_to_words(mean * slopes)).tolist(), abs=1e-6, rel=1e-3)


def test_attention_is_replaced_as_by_hand(port: Seq2Seq) -> None:
    encoded, runner = port.encode(PAIRS), Runner(port)
    rows = [np.random.default_rng(i).dirichlet(np.ones(len(e))).astype(np.float32) for i, e in enumerate(encoded)]
    wanted = [Request(e, Intervention(attention=row), frozenset({"attention"})) for e, row in zip(encoded, rows, strict=True)]
    written = runner.run([Request(r.encoded, r.change, write=5) for r in wanted])
    for e, row, plain, found, text in zip(encoded, rows, runner.predict(encoded), runner.run(wanted), written, strict=True):
        assert np.abs(found.logits - plain.logits).max() > 1e-5, "the intervention was ignored"
        assert found.extras["attention"] == pytest.approx(row, abs=1e-6)
        with torch.no_grad(), imposed(port, e, row):
            expected = [float(by_hand(port, e, ids)[0]) for ids in e.candidates]
            # further than is compared: at its last token BART is forced to end
            inputs, mask = torch.tensor(e.ids)[None], torch.ones(1, len(e), dtype=torch.long)
            greedy = port.model.generate(inputs, attention_mask=mask, max_new_tokens=12, do_sample=False, num_beams=1)
        assert found.logits == pytest.approx(expected, **CLOSE)
        assert text.written is not None
        ids = text.written.ids
        assert ids == tuple(greedy[0, 1 + len(port.forced) :].tolist()[: len(ids)])


def test_a_causal_model_has_none() -> None:
    port = Causal(*CAUSAL["gpt2"](), "prompt.nli", LABELS)
    [e] = port.encode(PAIRS[:1])
    with pytest.raises(BadInput, match="cannot honour an intervention on attention"):
        Runner(port).run([Request(e, Intervention(attention=np.ones(len(e), dtype=np.float32)))])
    with pytest.raises(BadInput, match="does not offer its attention"):
        Runner(port).run([Request(e, want=frozenset({"attention"}))])


def test_a_stepwise_model_refuses() -> None:
    """It writes one explanation and reads it while it decides: no one place from which a label is written."""
    asked = stepwise()
    [e] = asked.encode(PAIRS[:1])
    with pytest.raises(BadInput, match="cannot honour an intervention on attention"):
        Runner(asked).run([Request(e, Intervention(attention=np.ones(len(e), dtype=np.float32)))])
