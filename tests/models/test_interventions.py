"""Every model honours or refuses each field of an intervention; changes that change nothing are no-ops."""

import numpy as np
import pytest
import torch
from tiny import examples_for, pairs, texts
from torch import nn

from whence.errors import BadInput
from whence.models import Classifier, Encoded, Intervention, Label
from whence.run import Request, Result, Runner

CLOSE = 1e-5


def run(classifier: Classifier, encoded: list[Encoded], changes: list[Intervention]) -> np.ndarray:
    results = Runner(classifier).run([Request(e, c) for e, c in zip(encoded, changes, strict=True)])
    return np.stack([result.logits for result in results])


@pytest.fixture
def encoded(classifier: Classifier) -> list[Encoded]:
    return classifier.encode(examples_for(classifier))


@pytest.fixture
def base(classifier: Classifier, encoded: list[Encoded]) -> np.ndarray:
    return np.stack([result.logits for result in Runner(classifier).predict(encoded)])


def word_alignment(e: Encoded, fill: float) -> np.ndarray:
    return np.full((len(e.spans[0]), len(e.spans[1])), fill, dtype=np.float32)


@pytest.mark.parametrize("hide", ["mask", "pad", "delete"])
def test_keep(classifier: Classifier, encoded: list[Encoded], base: np.ndarray, hide: str) -> None:
    everything = [Intervention(keep=np.ones(len(e), dtype=bool), hide=hide) for e in encoded]
    nothing = [Intervention(keep=e.field < 0, hide=hide) for e in encoded]
    if hide == "mask" and classifier.tokenizer.mask_token_id is None:
        with pytest.raises(BadInput, match="no mask token"):
            run(classifier, encoded, nothing)
        return
    assert np.abs(run(classifier, encoded, everything) - base).max() < CLOSE
    if not (hide == "delete" and classifier.tokenizer.cls_token_id is None):  # a decoder without tokens has nothing to read
        assert np.abs(run(classifier, encoded, nothing) - base).max() > 1e-3


def test_embeddings_scale_noise(classifier: Classifier, encoded: list[Encoded], base: np.ndarray) -> None:
    table = classifier.model.get_input_embeddings().weight.detach().numpy()
    own = [Intervention(embeddings=table[e.ids]) for e in encoded]
    assert np.abs(run(classifier, encoded, own) - base).max() < CLOSE
    assert np.abs(run(classifier, encoded, [Intervention(scale=1.0)] * len(encoded)) - base).max() < CLOSE
    assert np.abs(run(classifier, encoded, [Intervention(noise=0.0)] * len(encoded)) - base).max() < CLOSE
    assert np.abs(run(classifier, encoded, [Intervention(scale=0.0)] * len(encoded)) - base).max() > 1e-3
    noisy = run(classifier, encoded, [Intervention(noise=1.0, seed=1)] * len(encoded))
    assert np.abs(noisy - base).max() > 1e-3
    assert (noisy == run(classifier, encoded, [Intervention(noise=1.0, seed=1)] * len(encoded))).all()
    assert np.abs(noisy - run(classifier, encoded, [Intervention(noise=1.0, seed=2)] * len(encoded))).max() > 1e-3


def test_noise_does_not_depend_on_the_batch(classifier: Classifier, encoded: list[Encoded]) -> None:
    changes = [Intervention(noise=0.5, seed=i) for i in range(len(encoded))]
    together = run(classifier, encoded, changes)
    alone = np.concatenate([run(classifier, [e], [c]) for e, c in zip(encoded, changes, strict=True)])
    assert np.abs(together - alone).max() < CLOSE


def test_attention(classifier: Classifier, encoded: list[Encoded], base: np.ndarray) -> None:
    first_word = [Intervention(attention=(np.arange(len(e)) == 1).astype(np.float32)) for e in encoded]
    if "attention" not in classifier.honours:
        with pytest.raises(BadInput, match="cannot honour an intervention on attention"):
            run(classifier, encoded, first_word)
        return
    assert np.abs(run(classifier, encoded, first_word) - base).max() > 1e-4
    found = Runner(classifier).run([Request(e, want=frozenset({"attention"})) for e in encoded])
    assert all(abs(r.extras["attention"].sum() - 1) < CLOSE and len(r.extras["attention"]) == len(e)
               for r, e in zip(found, encoded, strict=True))  # fmt: skip
    if classifier.own:  # one attention: putting it back changes nothing. With several heads the mean is a change.
        same = [Intervention(attention=r.extras["attention"]) for r in found]
        assert np.abs(run(classifier, encoded, same) - base).max() < CLOSE


@pytest.mark.parametrize("name", ["bilstm", "mlp"])
def test_uniform_is_a_no_op_on_a_uniform_model(name: str) -> None:
    from whence.models import ARCHITECTURES
    from whence.models.word_tokenizer import build_word_tokenizer

    tokenizer = build_word_tokenizer(e.texts["text"] for e in texts())
    config = ARCHITECTURES[name].config_class(vocab_size=len(tokenizer), attention="uniform", num_labels=3)
    classifier = Classifier(ARCHITECTURES[name](config).eval(), tokenizer)
    encoded = classifier.encode(texts())
    base = np.stack([r.logits for r in Runner(classifier).predict(encoded)])
    uniform = [Intervention(attention=((e.field == 0) / (e.field == 0).sum()).astype(np.float32)) for e in encoded]
    assert np.abs(run(classifier, encoded, uniform) - base).max() < CLOSE


def test_alignment(classifier: Classifier) -> None:
    if "alignment" not in classifier.honours:
        [single] = classifier.encode(texts()[:1])
        with pytest.raises(BadInput, match="cannot honour an intervention on alignment"):
            run(classifier, [single], [Intervention(alignment=np.ones((1, 1), dtype=np.float32))])
        return
    encoded = classifier.encode(pairs())
    base = np.stack([r.logits for r in Runner(classifier).predict(encoded)])
    ones = run(classifier, encoded, [Intervention(alignment=word_alignment(e, 1.0)) for e in encoded])
    zeros = run(classifier, encoded, [Intervention(alignment=word_alignment(e, 0.0)) for e in encoded])
    assert np.abs(ones - base).max() < CLOSE
    if classifier.tokenizer.cls_token_id is not None:
        assert np.abs(zeros - base).max() > 1e-3
    alone = np.concatenate([run(classifier, [e], [Intervention(alignment=word_alignment(e, 0.0))]) for e in encoded])
    assert np.abs(zeros - alone).max() < CLOSE


def test_alignment_needs_a_pair(bert: Classifier) -> None:
    with pytest.raises(BadInput, match="pair"):
        run(bert, bert.encode(texts()[:1]), [Intervention(alignment=np.ones((1, 1), dtype=np.float32))])


def test_alignment_equals_a_hand_written_bert(bert: Classifier) -> None:
    """All layers of a two-layer BERT, computed step by step with the cross-sentence blocks multiplied by the mask."""
    [encoded] = bert.encode(pairs()[:1])
    mask = (np.random.default_rng(0).random((len(encoded.spans[0]), len(encoded.spans[1]))) < 0.5).astype(np.float32)
    premise = len(encoded.spans[0])
    tokens = len(encoded)
    block = torch.ones(tokens, tokens)
    for i in range(tokens):
        for j in range(tokens):
            wi, wj = encoded.word[i], encoded.word[j]
            if wi >= 0 and wj >= 0 and encoded.field[i] == 0 and encoded.field[j] == 1:
                block[i, j] = block[j, i] = float(mask[wi, wj - premise])
    model = bert.model
    with torch.no_grad():
        ids, types = torch.tensor(encoded.ids)[None], torch.tensor(encoded.types)[None]
        x = model.bert.embeddings(input_ids=ids, token_type_ids=types)
        for layer in model.bert.encoder.layer:
            at = layer.attention.self
            q, k, v = (f(x).view(1, tokens, 4, 8).transpose(1, 2) for f in (at.query, at.key, at.value))
            weights = (q @ k.transpose(2, 3) / 8**0.5).softmax(-1) * block
            context = (weights @ v).transpose(1, 2).reshape(1, tokens, 32)
            out = layer.attention.output
            x = out.LayerNorm(out.dense(context) + x)
            hidden = nn.functional.gelu(layer.intermediate.dense(x))
            x = layer.output.LayerNorm(layer.output.dense(hidden) + x)
        logits = model.classifier(model.bert.pooler(x))[0].numpy()
    assert np.abs(run(bert, [encoded], [Intervention(alignment=mask)])[0] - logits).max() < 1e-5


def test_nothing_of_the_users_model_is_changed(classifier: Classifier, encoded: list[Encoded]) -> None:
    model = classifier.model
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    model.train()
    next(m for m in model.modules() if isinstance(m, nn.Linear)).eval()
    modes = [m.training for m in model.modules()]
    implementation = model.config._attn_implementation
    want = {"gradient"} | ({"attention", "attention_gradient"} if "attention" in classifier.honours else set())
    first = Runner(classifier).run([Request(e, want=frozenset(want), target=Label(0)) for e in encoded])
    second = Runner(classifier).run([Request(e, want=frozenset(want), target=Label(0)) for e in encoded])
    assert [m.training for m in model.modules()] == modes
    model.eval()
    assert model.config._attn_implementation == implementation
    assert all(torch.equal(before[name], tensor) for name, tensor in model.state_dict().items())
    assert all(p.grad is None and p.requires_grad for p in model.parameters())
    assert not any(m._forward_hooks for m in model.modules())
    assert all(_same(a, b) for a, b in zip(first, second, strict=True))  # dropout was off though the model is in training mode


def _same(a: Result, b: Result) -> bool:
    return (a.logits == b.logits).all() and all((a.extras[k] == b.extras[k]).all() for k in a.extras)
