"""One contract for every model: it moves as a hand-written forward pass says, or refuses by name."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from transformers.modeling_outputs import BaseModelOutput
from zoo import CAUSAL, CLASSIFIERS, SEQ2SEQ

from whence.data import Example
from whence.errors import BadInput
from whence.explain import METHODS, explain
from whence.models import BlackBox, Causal, Classifier, Encoded, Intervention, Label, Port, Seq2Seq, Text
from whence.models.generator import Generator
from whence.models.sites import Site, changed
from whence.models.torch_port import TorchPort
from whence.run import Request, Runner

CLOSE = {"abs": 2e-5, "rel": 2e-4}
LABELS = ("entailment", "neutral", "contradiction")
PAIRS = [
    Example("0", {"premise": "The old cat sat quietly on a mat.", "hypothesis": "A dog wasn't running."}),
    Example("1", {"premise": "good", "hypothesis": "Nobody expected such a wonderful film about elephants"}),
]


def generator(name: str) -> Generator:
    if name in SEQ2SEQ:
        return Seq2Seq(*SEQ2SEQ[name](), "nli.i-o", LABELS)
    return Causal(*CAUSAL[name.removeprefix("causal ")](), "prompt.nli", LABELS)


GENERATORS = [*SEQ2SEQ, *(f"causal {name}" for name in CAUSAL)]


@pytest.fixture(params=list(CLASSIFIERS))
def classifier(request: pytest.FixtureRequest) -> Classifier:
    return Classifier(*CLASSIFIERS[request.param]())


@pytest.fixture(params=GENERATORS)
def writer(request: pytest.FixtureRequest) -> Generator:
    return generator(request.param)


def examples(port: Port) -> list[Example]:
    if isinstance(port, Generator) or (isinstance(port, Classifier) and port.own and port.model.reads_pairs):
        return PAIRS
    return [Example(e.id, {"text": e.texts["premise"]}) for e in PAIRS]


def words_of(model: Any, encoded: Encoded) -> Tensor:
    """The vectors that the word table gives."""
    table = model.get_encoder().get_input_embeddings() if model.config.is_encoder_decoder else model.get_input_embeddings()
    return table(torch.tensor(encoded.ids)[None]).detach()


def by_hand(port: TorchPort, encoded: Encoded, words: Tensor) -> Tensor:
    """The scores of a model that reads these vectors, written out."""
    model = port.model
    mask = torch.ones(1, len(encoded), dtype=torch.long)
    types = {} if encoded.types is None else {"token_type_ids": torch.tensor(encoded.types)[None]}
    if isinstance(port, Generator):
        return torch.stack([_score_by_hand(port, words, mask, ids) for ids in encoded.candidates])
    if not model.config.is_encoder_decoder:
        return model(inputs_embeds=words, attention_mask=mask, **types).logits[0]
    read = model.get_encoder()(inputs_embeds=words, attention_mask=mask).last_hidden_state
    start = model.get_decoder().get_input_embeddings()(torch.tensor([[model.config.decoder_start_token_id]]))
    fed = torch.cat([start, words[:, :-1]], 1)
    decoded = model.get_decoder()(inputs_embeds=fed, encoder_hidden_states=read, encoder_attention_mask=mask).last_hidden_state
    head = model.classification_head
    last = int(np.flatnonzero(encoded.ids == model.config.eos_token_id)[-1])
    return head(decoded[:, last])[0]


def _score_by_hand(port: Generator, words: Tensor, mask: Tensor, ids: tuple[int, ...]) -> Tensor:
    answer = torch.tensor([ids])
    if isinstance(port, Seq2Seq):
        read = port.model.get_encoder()(inputs_embeds=words, attention_mask=mask).last_hidden_state
        fed = torch.tensor([[port.start, *port.forced, *ids[:-1]]])
        logits = port.model(encoder_outputs=BaseModelOutput(read), attention_mask=mask, decoder_input_ids=fed).logits
    else:
        whole = torch.cat([words, port.model.get_input_embeddings()(answer)], 1)
        logits = port.model(inputs_embeds=whole).logits[:, :-1]
    return logits[:, -len(ids) :].log_softmax(-1).gather(2, answer[..., None]).sum()


FIRST_LAYER = {
    "Bert": ["bert.embeddings"], "Roberta": ["roberta.embeddings"], "DistilBert": ["distilbert.embeddings"],
    "Albert": ["albert.embeddings"], "Electra": ["electra.embeddings"], "DebertaV2": ["deberta.embeddings"],
    "XLNet": ["transformer.layer.0 in"], "ModernBert": ["model.embeddings"], "MPNet": ["mpnet.embeddings"],
    "GPT2": ["transformer.h.0 in"], "Llama": ["model.layers.0 in"], "Qwen2": ["model.layers.0 in"],
    "Bart": ["model.encoder.layernorm_embedding", "model.decoder.layernorm_embedding"],
    "T5ForConditionalGeneration": ["encoder.block.0 in"],
    "T5ForSequenceClassification": ["transformer.encoder.block.0 in", "transformer.decoder.block.0 in"],
}  # fmt: skip
"""Where each family's first layer reads, written out; of an encoder–decoder classifier, in both halves."""


@contextmanager
def first_layer(port: TorchPort, change: Callable[[int, Tensor], Tensor]) -> Iterator[bool]:
    """`change(0 or 1, what is read)`, 1 for the decoder's reading. False where the place is not written out above."""
    places = next((p for name, p in sorted(FIRST_LAYER.items(), key=lambda x: -len(x[0])) if port.name.startswith(name)), [])
    handles = []
    for number, place in enumerate(places[: 1 if isinstance(port, Generator) else 2]):
        module = port.model.get_submodule(place.removesuffix(" in"))
        turned = port.name.startswith("XLNet")

        def new(x: Tensor, number: int = number, turned: bool = turned) -> Tensor:
            return change(number, x.transpose(0, 1)).transpose(0, 1) if turned else change(number, x)

        if place.endswith(" in"):
            handles.append(module.register_forward_pre_hook(lambda _, given, new=new: (new(given[0]), *given[1:])))
        else:
            handles.append(module.register_forward_hook(lambda _, __, output, new=new: new(output)))
    yield bool(places)
    for handle in handles:
        handle.remove()


def scaled(encoded: Encoded, factor: float) -> Callable[[int, Tensor], Tensor]:
    """The words' part of what is read times `factor`."""

    def change(reader: int, x: Tensor) -> Tensor:
        content = np.concatenate([[False] * reader, encoded.field >= 0, [False] * x.shape[1]])[: x.shape[1]].astype(bool)
        return torch.where(torch.tensor(content)[None, :, None], factor * x, x)

    return change


def field_changes(port: TorchPort, encoded: Encoded) -> list[tuple[Intervention, Callable[[Tensor], Tensor]]]:
    """Interventions on words, and what each does to the word vectors."""
    text = torch.tensor(encoded.field != -1)[None, :, None]
    other = np.random.default_rng(0).standard_normal((len(encoded), port.embedding_dim)).astype(np.float32)
    drawn = np.random.default_rng(5).standard_normal((len(encoded), port.embedding_dim), dtype=np.float32)
    return [
        (Intervention(embeddings=other), lambda words: torch.tensor(other)[None]),
        (Intervention(noise=0.5, seed=5), lambda words: words + text * 0.5**0.5 * torch.tensor(drawn)[None]),
    ]


def hand_written(port: TorchPort, encoded: Encoded) -> bool:
    """Our own models take no vectors; their word table is read directly (tests/models/test_interventions.py). Longformer's own
    code takes none either: it pads by ids that it was not given."""
    return not (isinstance(port, Classifier) and port.own) and not port.name.startswith("Longformer")


def check_words(port: TorchPort) -> None:
    encoded = port.encode(examples(port))
    for e in encoded:
        [base] = Runner(port).run([Request(e)])
        for change, effect in field_changes(port, e):
            [found] = Runner(port).run([Request(e, change)])
            assert np.abs(found.logits - base.logits).max() > 1e-5, "the intervention was ignored"
            if hand_written(port, e):
                with torch.no_grad():
                    expected = by_hand(port, e, effect(words_of(port.model, e)))
                assert found.logits == pytest.approx(expected.numpy(), **CLOSE)
        [found] = Runner(port).run([Request(e, Intervention(scale=0.3))])
        assert np.abs(found.logits - base.logits).max() > 1e-5, "the intervention was ignored"
        with torch.no_grad(), first_layer(port, scaled(e, 0.3)) as known:
            expected = by_hand(port, e, words_of(port.model, e)) if known else torch.tensor(found.logits)
        assert found.logits == pytest.approx(expected.numpy(), **CLOSE)


def test_words_of_a_classifier_are_changed_as_by_hand(classifier: Classifier) -> None:
    assert {"embeddings", "scale", "noise", "gradient"} <= classifier.honours
    check_words(classifier)


def test_words_of_a_generator_are_changed_as_by_hand(writer: Generator) -> None:
    assert {"embeddings", "scale", "noise", "gradient"} <= writer.honours
    check_words(writer)


def test_attention_and_alignment_move_or_are_refused(classifier: Classifier) -> None:
    [e] = classifier.encode(PAIRS[:1] if classifier.own and classifier.model.reads_pairs else examples(classifier)[:1])
    for name, value in (("attention", np.eye(1, len(e), 1, dtype=np.float32)[0]), ("alignment", None)):
        if name == "alignment":
            if classifier.own and not classifier.model.reads_pairs:
                continue
            [e] = classifier.encode(PAIRS[:1])
            value = np.zeros((len(e.spans[0]), len(e.spans[1])), dtype=np.float32)
        request = Request(e, Intervention(**{name: value}))
        if name in classifier.honours:
            base, found = (Runner(classifier).run([r])[0] for r in (Request(e), request))
            assert np.abs(found.logits - base.logits).max() > 0 or classifier.tokenizer.cls_token_id is None
        else:
            with pytest.raises(BadInput, match=f"{classifier.name} cannot honour an intervention on {name}"):
                Runner(classifier).run([request])


def test_company_changes_nothing(classifier: Classifier) -> None:
    encoded = classifier.encode(examples(classifier))
    together = Runner(classifier).predict(encoded)
    for e, r in zip(encoded, together, strict=True):
        [alone] = Runner(classifier).predict([e])
        assert r.logits == pytest.approx(alone.logits, **CLOSE)


def test_candidates_in_a_batch_equal_one_at_a_time(writer: Generator) -> None:
    encoded = writer.encode(PAIRS)
    together = Runner(writer).predict(encoded)
    for e, found in zip(encoded, together, strict=True):
        with torch.no_grad():
            expected = by_hand(writer, e, words_of(writer.model, e))
        assert found.logits == pytest.approx(expected.numpy(), **CLOSE)
        assert found.probabilities == pytest.approx(expected.softmax(0).numpy(), **CLOSE)


def test_a_text_as_the_target(writer: Generator) -> None:
    """Its asked tokens are scored, the model's own choices beside them."""
    [e] = writer.encode(PAIRS[:1])
    ids = e.candidates[2]
    asked = tuple(i % 2 == 0 for i in range(len(ids)))
    [found] = Runner(writer).run([Request(e, target=Text(ids, asked))])
    with torch.no_grad():
        parts = [_score_by_hand(writer, words_of(writer.model, e), torch.ones(1, len(e), dtype=torch.long), ids[: k + 1])
                 for k in range(len(ids))]  # fmt: skip
    single = np.diff([0.0, *(float(p) for p in parts)])
    assert found.score(Text(ids, asked)) == pytest.approx(float(single[list(asked)].sum()), **CLOSE)
    assert len(found.extras["choice"]) == sum(asked)


def autograd(port: TorchPort, encoded: Encoded, factor: float, target: int) -> tuple[Tensor, Tensor]:
    """(what the first layer reads, the slope of the target's probability there), with the words' part times `factor`."""
    read: dict[int, Tensor] = {}
    leaves: list[tuple[int, Tensor]] = []  # a generator reads the source once for each candidate here

    def watch(reader: int, x: Tensor) -> Tensor:
        read[reader] = x.detach()
        leaves.append((reader, scaled(encoded, factor)(reader, x.detach()).requires_grad_()))
        return leaves[-1][1]

    with first_layer(port, watch):
        by_hand(port, encoded, words_of(port.model, encoded)).softmax(0)[target].backward(inputs=[leaf for _, leaf in leaves])
    xs, slopes = [], []
    for reader, x in read.items():  # of a decoder, place i + 1 reads token i; the last token is not read there
        slope = sum(leaf.grad[:, : len(encoded)] for r, leaf in leaves if r == reader and leaf.grad is not None)
        xs.append(torch.cat([x[0, reader : len(encoded)], 0 * x[0, :reader]]))
        slopes.append(torch.cat([slope[0, reader:], 0 * x[0, :reader]]))
    return torch.cat(xs, -1), torch.cat(slopes, -1)


def by_words(encoded: Encoded, values: Tensor) -> np.ndarray:
    return encoded.share(encoded.sum_to_words(values.sum(-1).numpy()))  # words in one token have equal shares


def check_gradients(port: TorchPort, target: int) -> None:
    encoded, runner = port.encode(examples(port)), Runner(port)
    made = {name: explain(runner, encoded, METHODS[name], Label(target), parameters=parameters)
            for name, parameters in (("input_x_gradient", {}), ("gradient_l1", {}), ("gradient_sum", {}),
                                     ("integrated_gradients", {"n_steps": 3, "max_steps": 3}))}  # fmt: skip
    for i, e in enumerate(encoded):
        x, slope = autograd(port, e, 1.0, target)
        # a cubic through thirds of u = √t (Simpson's 3/8 rule), dt = 2u du
        thirds = ((1 / 3, 3 / 8), (2 / 3, 3 / 8), (1.0, 1 / 8))
        path = torch.stack([weight * 2 * u * autograd(port, e, u**2, target)[1] for u, weight in thirds]).sum(0)
        expected = {"input_x_gradient": x * slope, "gradient_l1": slope.abs(), "gradient_sum": slope,
                    "integrated_gradients": x * path}  # fmt: skip
        for name, values in expected.items():
            assert np.array(made[name][i].scores) == pytest.approx(by_words(e, values), abs=2e-5, rel=1e-3), name


@pytest.mark.parametrize("name", [n for n in CLASSIFIERS if n.split("-")[0] in {
    "bert", "roberta", "distilbert", "albert", "electra", "xlnet", "modernbert", "mpnet", "gpt2", "llama", "qwen2", "bart", "t5"
}] + ["deberta-v2", "deberta-v2-other"])  # fmt: skip
def test_gradients_of_a_classifier_equal_autograd(name: str) -> None:
    check_gradients(Classifier(*CLASSIFIERS[name]()), 1)


@pytest.mark.parametrize("target", [0, 2])
def test_explanations_of_a_generators_label_equal_autograd(writer: Generator, target: int) -> None:
    check_gradients(writer, target)
    encoded = writer.encode(PAIRS)
    for e, made in zip(
        encoded, explain(Runner(writer), encoded, METHODS["leave_one_out"], Label(target), "delete"), strict=True
    ):
        words = words_of(writer.model, e)
        with torch.no_grad():
            full = float(by_hand(writer, e, words).softmax(0)[target])
            for word in range(e.word_count):
                without = float(by_hand(writer, e, words[:, e.word != word]).softmax(0)[target])
                assert made.scores[word] == pytest.approx(full - without, abs=1e-5)


def test_greedy_writing_in_a_padded_batch_equals_one_at_a_time(writer: Generator) -> None:
    encoded = writer.encode(PAIRS)
    together = Runner(writer).run([Request(e, write=12) for e in encoded])
    for e, found in zip(encoded, together, strict=True):
        [alone] = Runner(writer).run([Request(e, write=12)])
        assert found.written is not None
        assert alone.written is not None
        assert found.written.ids == alone.written.ids
        assert found.written.log_probabilities == pytest.approx(alone.written.log_probabilities, abs=1e-4)
        theirs = writer.model.generate(
            torch.tensor(e.ids)[None], attention_mask=torch.ones(1, len(e), dtype=torch.long), max_new_tokens=12,
            do_sample=False, num_beams=1, forced_eos_token_id=None, pad_token_id=writer.pad_id,
        )[0]  # fmt: skip
        new = theirs[len(e) :] if isinstance(writer, Causal) else theirs[1 + len(writer.forced) :]
        ended = [i for i, token in enumerate(new.tolist()) if token in writer.ends]
        assert list(found.written.ids) == new.tolist()[: ended[0] if ended else 12]


def test_great_noise_moves_every_score(writer: Generator) -> None:
    encoded, great = writer.encode(PAIRS), Intervention(noise=1e4)
    plain, noisy = (Runner(writer).run([Request(e, change) for e in encoded]) for change in (Intervention(), great))
    assert all(np.abs(a.logits - b.logits).max() > 1e-2 for a, b in zip(plain, noisy, strict=True))
    again = Runner(writer, token_budget=1).run([Request(e, great) for e in encoded])
    assert all(a.logits == pytest.approx(b.logits, **CLOSE) for a, b in zip(noisy, again, strict=True))


def test_a_hook_that_does_not_fire_is_an_error() -> None:
    port = Classifier(*CLASSIFIERS["bert"]())
    unused = torch.nn.Linear(2, 2)
    with pytest.raises(BadInput, match="met 0 times"), changed((Site(unused),), lambda _, x: x):
        port.model(**{"input_ids": torch.tensor([[2, 5, 3]])})


def test_every_explainer_runs_in_bf16() -> None:
    for name in ("bert", "llama", "bart", "t5", "bilstm", "esim"):
        model, tokenizer = CLASSIFIERS[name]()
        port = Classifier(model.to(torch.bfloat16), tokenizer)
        encoded = port.encode(examples(port))
        for method in METHODS.values():
            if method.needs <= port.honours:
                few = {"lime": {"n_samples": 8}, "kernel_shap": {"n_samples": 8}, "integrated_gradients": {"n_steps": 2}}
                made = explain(Runner(port), encoded, method, parameters=few.get(method.name))
                assert all(np.isfinite(m.scores).all() for m in made)


def count_vowels(texts: list[Any]) -> np.ndarray:
    shares = np.array([sum(c in "aeiou" for c in str(t)) / max(1, len(str(t))) for t in texts])
    return np.stack([shares, 1 - shares], 1)


def test_a_black_box_is_explained_by_hiding_words() -> None:
    box = BlackBox(count_vowels, ("vowels", "rest"))
    text = "Nobody  expected, aeiou!"
    [encoded] = box.encode([Example("x", {"text": text})])
    [made] = explain(Runner(box), [encoded], METHODS["leave_one_out"], Label(0))
    share = lambda t: float(count_vowels([t])[0, 0])  # noqa: E731
    without = [text[:a].rstrip() * (a > 0) + text[b:] for a, b in encoded.spans[0]]
    assert made.scores == pytest.approx([share(text) - share(t) for t in without], abs=1e-6)
    with pytest.raises(BadInput, match="function count_vowels does not offer its gradient"):
        explain(Runner(box), [encoded], METHODS["gradient_l2"])
    with pytest.raises(BadInput, match=r"shape \(1, 2\); expected \(1, 3\)"):
        Runner(BlackBox(count_vowels, ("a", "b", "c"))).predict([encoded])


def test_a_black_box_reads_pairs_as_tuples() -> None:
    seen: list[Any] = []

    def predict(texts: list[Any]) -> np.ndarray:
        seen.extend(texts)
        return np.full((len(texts), 2), 0.5)

    box = BlackBox(predict, ("a", "b"), mask="___")
    [encoded] = box.encode(PAIRS[1:])
    keep = np.ones(len(encoded), dtype=bool)
    keep[[1, 3]] = False
    Runner(box).run([Request(encoded, Intervention(keep=keep, hide="mask"))])
    assert seen == [("___", "Nobody ___ such a wonderful film about elephants")]
