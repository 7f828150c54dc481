"""Sealed masks: with all cells closed, nothing of one sentence reaches the words of the other."""

import numpy as np
import pytest
import torch
from tiny import MODELS

import whence
from whence.data import Example
from whence.explain.alignment import SPECIAL, load_alignments, save_alignments
from whence.explain.alignments import ALIGNMENT_METHODS, explain_alignments
from whence.explain.alignments.draw import matrix_html, matrix_text
from whence.models import Classifier
from whence.models.alignment import MaskedPairs, pair_shape, read_cells
from whence.models.pairs import CoAttentionModel

PREMISE = "the old cat sat"
OTHERS = ("a dog slept", "good such film")


@pytest.fixture(scope="module", params=["bert", "roberta", "distilbert", "gpt2", "decomposable", "esim"])
def reader(request: pytest.FixtureRequest) -> Classifier:
    torch.manual_seed(2)
    return MODELS[request.param]()


def inside(classifier: Classifier, premise: str, hypothesis: str, sealed: bool, field: int) -> torch.Tensor:
    """What the words of one sentence have become just before they are summed up or read off, when all cells are closed."""
    [encoded] = classifier.encode([Example("1", {"premise": premise, "hypothesis": hypothesis})])
    pairs, kept = MaskedPairs.of(classifier, [encoded], sealed), {}
    model = classifier.model

    def keep(_module: object, _inputs: object, output: object) -> None:
        kept["states"] = output

    masks = torch.zeros(1, 1, *pairs.shape)
    if isinstance(model, CoAttentionModel):
        assert pairs.state is not None
        received = pairs.state.aligned(pairs._by_token(masks))[field][0, 0]
        mask = (pairs.state.pair.a_mask, pairs.state.pair.b_mask)[field][0]
        return received[mask]
    hook = model.base_model.register_forward_hook(keep)
    try:
        with torch.no_grad():
            pairs.logits(masks)
    finally:
        hook.remove()
    states = kept["states"]
    last = states.last_hidden_state if hasattr(states, "last_hidden_state") else states[0]
    return last[0, np.flatnonzero((encoded.field == field) & (encoded.word >= 0))]


def test_closed_cells_let_nothing_through(reader: Classifier) -> None:
    first, second = (inside(reader, PREMISE, other, True, 0) for other in OTHERS)
    assert torch.allclose(first, second, atol=1e-6)
    premises = ("the cat slept .", ". slept cat the")
    if reader.own:
        there, back = (inside(reader, p, OTHERS[0], True, 1) for p in premises)
        assert torch.equal(there, torch.zeros_like(there))
        assert torch.equal(back, torch.zeros_like(back))


def test_ordinary_masks_leave_special_tokens_open(reader: Classifier) -> None:
    """What the sealed mask is for: with all word pairs cut, the other sentence still shows."""
    first, second = (inside(reader, PREMISE, other, False, 0) for other in OTHERS)
    if reader.tokenizer.cls_token_id is None:
        assert torch.allclose(first, second, atol=1e-6)  # a decoder's premise never sees what comes after it
    else:
        assert not torch.allclose(first, second, atol=1e-4)


def test_words_of_the_hypothesis_of_a_transformer_are_sealed_too() -> None:
    torch.manual_seed(2)
    bert = MODELS["bert"]()
    premises = ["good film", "film good"]
    lengths = [len(e) for e in bert.encode([Example("1", {"premise": p, "hypothesis": "a dog"}) for p in premises])]
    assert lengths[0] == lengths[1]
    sealed = [inside(bert, p, "a dog", True, 1) for p in premises]
    open_ = [inside(bert, p, "a dog", False, 1) for p in premises]
    assert torch.allclose(*sealed, atol=1e-6)
    assert not torch.allclose(*open_, atol=1e-4)


def test_a_sealed_mask_of_ones_changes_nothing(reader: Classifier) -> None:
    encoded = reader.encode([Example("1", {"premise": PREMISE, "hypothesis": OTHERS[0]})])
    pairs = MaskedPairs.of(reader, encoded, sealed=True)
    with torch.no_grad():
        ones, base = pairs.logits(torch.ones(1, 1, *pairs.shape)), reader.model(**pairs.batch.inputs()).logits
    assert float((ones[:, 0] - base).abs().max()) < 1e-5


def test_each_cell_of_a_transformer_is_a_mask_before_the_softmax(bert: Classifier) -> None:
    """Against the model's own attention with −∞ added to the scores: an independent way to the same numbers."""
    [encoded] = bert.encode([Example("1", {"premise": "good film", "hypothesis": "a dog"})])
    shape, draw = pair_shape(encoded, True), np.random.default_rng(0)
    pairs = MaskedPairs.of(bert, [encoded], sealed=True)
    for _ in range(3):
        mask = draw.random(shape) < 0.5
        blocked = np.zeros((len(encoded), len(encoded)), dtype=np.float32)
        for query in range(len(encoded)):
            for key in range(len(encoded)):
                q, k = int(encoded.word[query]), int(encoded.word[key])
                premise = shape[0] - 1
                if q < 0:
                    continue  # special tokens read as ever
                row_column = None
                if k < 0:
                    row_column = (q + 1, 0) if q < premise else (0, q - premise + 1)
                elif (q < premise) != (k < premise):
                    row_column = (min(q, k) + 1, max(q, k) - premise + 1)
                if row_column is not None and not mask[row_column]:
                    blocked[query, key] = -np.inf
        bert.model.set_attn_implementation("eager")
        with torch.no_grad():
            embedded = bert.model.bert.embeddings(pairs.batch.input_ids, pairs.batch.token_type_ids)
            states = embedded
            for layer in bert.model.bert.encoder.layer:
                states = layer(states, attention_mask=torch.from_numpy(blocked)[None, None])
                states = states[0] if isinstance(states, tuple) else states
            by_hand = bert.model.classifier(bert.model.bert.pooler(states))[0]
            ours = pairs.logits(torch.from_numpy(mask[None, None].astype(np.float32)))[0, 0]
        assert torch.allclose(ours, by_hand, atol=1e-5)


def test_sealed_explanations_have_a_row_and_a_column_more(reader: Classifier, tmp_path) -> None:  # type: ignore[no-untyped-def]
    example = Example("1", {"premise": PREMISE, "hypothesis": OTHERS[0]})
    encoded = reader.encode([example, Example("2", {"premise": "good", "hypothesis": ""})])
    for name in ("arec", "fewest_cuts", "leave_one_out", "co_attention", "gradient"):
        found = explain_alignments(reader, encoded, ALIGNMENT_METHODS[name], sealed=True)
        assert found[0].shape == (5, 4)
        assert found[0].words[0] == [SPECIAL, *PREMISE.split()]
        save_alignments(tmp_path / "x.jsonl", found)
        assert load_alignments(tmp_path / "x.jsonl") == found
        assert matrix_html(found[0])
        assert matrix_text(found[0])
    assert not read_cells(encoded[1], sealed=True).any()


def test_it_is_said_first_whether_alignments_are_needed(reader: Classifier) -> None:
    example = Example("1", {"premise": PREMISE, "hypothesis": OTHERS[0]})
    [encoded] = reader.encode([example])
    for sealed in (False, True):
        [alignment] = explain_alignments(reader, [encoded], ALIGNMENT_METHODS["random"], sealed=sealed)
        pairs = MaskedPairs.of(reader, [encoded], sealed)
        with torch.no_grad():
            expected = pairs.logits(torch.zeros(1, 1, *pairs.shape))[0, 0].softmax(-1)
        assert alignment.cut_label == reader.labels[int(expected.argmax())]
        assert alignment.cut_probability == pytest.approx(float(expected.max()), abs=1e-5)
        assert alignment.needed == (alignment.cut_label != alignment.target)
        still = "still says" if not alignment.needed else "and the model says"
        assert still in alignment.need
        assert alignment.need in matrix_html(alignment)
        lines = [str(line) for line in matrix_text(alignment).renderables]
        assert alignment.need in lines[1]


def test_from_python() -> None:
    torch.manual_seed(2)
    classifier = MODELS["esim"]()
    model = whence.load(classifier.model, classifier.tokenizer)
    assert model.align(PREMISE, OTHERS[0], sealed=True, method="gradient").shape == (5, 4)
