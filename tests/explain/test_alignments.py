"""Alignment methods: the contract on every kind of model, and each formula against a plain loop."""

import copy
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from tiny import MODELS, pairs

from whence.data import Example
from whence.errors import BadInput
from whence.explain.alignment import Alignment, load_alignments, save_alignments
from whence.explain.alignments import (
    ALIGNMENT_METHODS,
    AlignmentMethod,
    Cells,
    GateSettings,
    explain_alignments,
    pair_asks,
    trained_gate,
)
from whence.explain.alignments.arec import _grow
from whence.explain.alignments.back_select import back_select_rounds
from whence.explain.alignments.objective import WEIGHT
from whence.models import Classifier, Encoded, Intervention, collate
from whence.models.alignment import MaskedPairs, pair_shape
from whence.models.pairs import CoAttentionModel
from whence.run import Request, Runner
from whence.run.masks import drive_masks

FEW = {
    "lime": {"n_samples": 12}, "integrated_gradients": {"n_steps": 3}, "arec": {"steps": 6, "samples": 2, "patience": 3},
}  # fmt: skip
READERS = ("bert", "gpt2", "decomposable", "esim")
ODD = [
    Example("one word", {"premise": "good", "hypothesis": "bad"}),
    Example("no hypothesis", {"premise": "a dog", "hypothesis": ""}),
    Example("no premise", {"premise": " ", "hypothesis": "a dog"}),
    Example("nothing", {"premise": "", "hypothesis": ""}),
    Example("emoji", {"premise": "👩‍👩‍👧 ❤️ ok", "hypothesis": "a\ud800b <b>"}),
]  # fmt: skip


@pytest.fixture(scope="module", params=READERS)
def reader(request: pytest.FixtureRequest) -> Classifier:
    torch.manual_seed(0)
    return MODELS[request.param]()


@pytest.fixture(scope="module")
def esim() -> Classifier:
    torch.manual_seed(3)
    return MODELS["esim"]()


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHENCE_CACHE", str(tmp_path / "cache"))


def parameters(classifier: Classifier, method: str) -> dict[str, object]:
    if method == "diffmask":
        gate = trained_gate(classifier, classifier.encode(pairs()[:2]), GateSettings(hidden=4, epochs=1))
        return {"gate": str(gate)}
    return dict(FEW.get(method, {}))


def made(classifier: Classifier, method: AlignmentMethod, examples: list[Example], **options: object) -> list[Alignment]:
    given = {**parameters(classifier, method.name), **options}
    return explain_alignments(classifier, classifier.encode(examples), method, parameters=given)


def short(examples: list[Example]) -> list[Example]:
    """The first words only: back select costs the square of the cells."""
    cut = {e.id: {name: " ".join(text.split()[:4]) for name, text in e.texts.items()} for e in examples}
    return [Example(e.id, cut[e.id], e.label) for e in examples]


@pytest.mark.parametrize("method", ALIGNMENT_METHODS.values(), ids=list(ALIGNMENT_METHODS))
def test_contract(reader: Classifier, method: AlignmentMethod, tmp_path: Path) -> None:
    examples = short(pairs()[:2]) + ODD
    found = made(reader, method, examples)
    for alignment, example in zip(found, examples, strict=True):
        assert (alignment.id, alignment.texts, alignment.method) == (example.id, example.texts, method.name)
        assert alignment.matrix.shape == alignment.shape == tuple(len(spans) for spans in alignment.spans.values())
        assert np.isfinite(alignment.matrix).all()
        assert (alignment.kept is not None) == method.makes_mask
        assert 0 <= alignment.probability <= 1
        assert alignment.target in reader.labels
    save_alignments(tmp_path / "made.jsonl", found)
    assert load_alignments(tmp_path / "made.jsonl") == found


@pytest.mark.parametrize("method", ALIGNMENT_METHODS.values(), ids=list(ALIGNMENT_METHODS))
def test_alone_as_in_company_and_twice_the_same(reader: Classifier, method: AlignmentMethod) -> None:
    examples = short(pairs()[:3]) + ODD[:1]
    together = made(reader, method, examples)
    for alignment, example in zip(together, examples, strict=True):
        [alone] = made(reader, method, [example])
        assert alone.matrix == pytest.approx(alignment.matrix, abs=2e-4, rel=1e-3)
        assert alone.mask == alignment.mask
    assert made(reader, method, examples) == together


@pytest.mark.parametrize("method", ALIGNMENT_METHODS.values(), ids=list(ALIGNMENT_METHODS))
def test_words_that_the_model_does_not_read(esim: Classifier, method: AlignmentMethod) -> None:
    long = Example("long", {"premise": "the old cat slept " * 60, "hypothesis": "a dog"})
    before = esim.tokenizer.model_max_length
    esim.tokenizer.model_max_length = 14
    try:
        [alignment] = made(esim, method, [long])
    finally:
        esim.tokenizer.model_max_length = before
    assert alignment.shape == (240, 2)
    assert alignment.notes["unseen_words"] > 200
    if method.name != "random":
        assert np.count_nonzero(alignment.matrix[20:]) == 0
    if alignment.kept is not None:
        assert not alignment.kept[20:].any()


def test_bad_calls_are_refused(esim: Classifier, bert: Classifier) -> None:
    arec = ALIGNMENT_METHODS["arec"]
    with pytest.raises(BadInput, match="has no parameter"):
        made(esim, arec, pairs()[:1], speed=3)
    with pytest.raises(BadInput, match="single text"):
        explain_alignments(bert, bert.encode([Example("1", {"text": "a dog"})]), arec)
    with pytest.raises(BadInput, match="needs a trained gate"):
        explain_alignments(esim, esim.encode(pairs()[:1]), ALIGNMENT_METHODS["diffmask"])
    gate = trained_gate(esim, esim.encode(pairs()[:1]), GateSettings(hidden=4, epochs=1))
    with pytest.raises(BadInput, match="another model"):
        explain_alignments(
            bert, bert.encode(pairs()[:1]), ALIGNMENT_METHODS["diffmask"], parameters={"gate": str(gate)}
        )  # fmt: skip
    torch.manual_seed(0)
    single = MODELS["bilstm"]()
    encoded = single.encode([Example("1", {"text": "a dog"})])
    with pytest.raises(BadInput, match="cannot honour"):
        explain_alignments(single, encoded, arec)


def test_a_gate_of_long_pairs_leaves_the_open_mask() -> None:
    """Started open (log α = 1), it stays so: the loss is flat at once."""
    torch.manual_seed(0)
    model, draw = MODELS["decomposable"](), np.random.default_rng(0)
    known = " ".join(text for pair in pairs() for text in pair.texts.values()).split()
    long = [Example(str(i), {name: " ".join(draw.choice(known, 14)) for name in ("premise", "hypothesis")}) for i in range(64)]
    gate = trained_gate(model, model.encode(long), GateSettings(hidden=16))
    found = made(model, ALIGNMENT_METHODS["diffmask"], long, gate=str(gate))
    assert np.mean([alignment.kept.mean() for alignment in found]) < 0.3


def test_a_damaged_file_names_its_row(esim: Classifier, tmp_path: Path) -> None:
    [alignment] = made(esim, ALIGNMENT_METHODS["random"], pairs()[:1])
    row = alignment.to_dict()
    for broken in (
        {**row, "scores": [[1.0]]},
        {**row, "spans": {"premise": []}},
        {**row, "mask": 3},
        {"format": row["format"]},
    ):
        (tmp_path / "x.jsonl").write_text(json.dumps(broken) + "\n")
        with pytest.raises(BadInput, match="row 1"):
            load_alignments(tmp_path / "x.jsonl")


def masked_logits(classifier: Classifier, encoded: Encoded, mask: np.ndarray) -> np.ndarray:
    """One mask through the runner and `Intervention.alignment`: nothing shared."""
    return Runner(classifier).run([Request(encoded, Intervention(alignment=mask.astype(np.float32)))])[0].logits


def test_masks_on_many_pairs_equal_single_interventions(reader: Classifier) -> None:
    encoded = reader.encode(pairs()[:4])
    draw = np.random.default_rng(0)
    masks = [draw.random((3, *pair_shape(e))) for e in encoded]

    def ask(several: np.ndarray):  # type: ignore[no-untyped-def]
        return (yield several)

    found = drive_masks(Runner(reader, token_budget=64), encoded, [ask(m) for m in masks])
    for e, several, logits in zip(encoded, masks, found, strict=True):
        expected = [masked_logits(reader, e, m) for m in several]
        assert np.abs(logits - expected).max() < 2e-5
    ones = MaskedPairs.of(reader, encoded)
    base = np.stack([r.logits for r in Runner(reader).predict(encoded)])
    assert np.abs(ones.logits(torch.ones(4, 1, *ones.shape))[:, 0].numpy() - base).max() < 1e-5


def test_a_mask_of_ones_changes_nothing(reader: Classifier) -> None:
    """In double precision, where what is left of a difference would be no rounding."""
    exact = Classifier(copy.deepcopy(reader.model).double(), reader.tokenizer)
    encoded = exact.encode(pairs()[:3])
    ones = MaskedPairs.of(exact, encoded)
    with torch.no_grad():
        plain = exact.model(**collate(encoded, exact.pad_id, exact.device).inputs()).logits
    assert float((ones.logits(torch.ones(3, 1, *ones.shape))[:, 0] - plain).abs().max()) < 1e-6


@pytest.mark.parametrize("name", ["decomposable", "esim"])
def test_halves_equal_the_formula_written_out(name: str) -> None:
    """What is moved before the co-attention must be what the published formula says."""
    torch.manual_seed(0)
    classifier = MODELS[name]()
    model = classifier.model
    assert isinstance(model, CoAttentionModel)
    encoded = classifier.encode(pairs()[:3])
    batch = collate(encoded, classifier.pad_id, classifier.device)
    with torch.no_grad():
        state = model.before_alignment(**batch.inputs())
        masks = torch.rand(3, 2, *state.to_b.shape[1:])
        logits = model.after_alignment(state, masks)
        for row in range(3):
            n_a, n_b = int(state.pair.a_mask[row].sum()), int(state.pair.b_mask[row].sum())
            a, b = state.pair.a[row, :n_a], state.pair.b[row, :n_b]
            for k in range(2):
                z = masks[row, k, :n_a, :n_b]
                scores = model.attend(a) @ model.attend(b).T if name == "decomposable" else a @ b.T
                a_, b_ = (scores.softmax(1) * z) @ b, (scores.softmax(0) * z).T @ a
                if name == "decomposable":
                    v = [model.compare(torch.cat(xs, -1)).sum(0) for xs in ((a, a_), (b, b_))]
                    expected = model.classifier(model.aggregate(torch.cat(v)))
                else:
                    m = [torch.relu(model.enhance(torch.cat([x, y, x - y, x * y], -1))) for x, y in ((a, a_), (b, b_))]
                    v = [model.composer.lstm(x[None])[0][0] for x in m]
                    pooled = torch.cat([torch.cat([x.mean(0), x.max(0).values]) for x in v])
                    expected = model.classifier(torch.tanh(model.hidden(pooled)))
                assert float((logits[row, k] - expected).abs().max()) < 1e-5


def test_leave_one_out_by_hand(reader: Classifier) -> None:
    examples = short(pairs()[:1])
    [encoded] = reader.encode(examples)
    [base] = Runner(reader).predict([encoded])
    [loo] = made(reader, ALIGNMENT_METHODS["leave_one_out"], examples)
    for i, j in np.ndindex(loo.shape):
        without = np.ones(loo.shape)
        without[i, j] = 0
        left = masked_logits(reader, encoded, without)[base.label]
        assert loo.matrix[i, j] == pytest.approx(base.logits[base.label] - left, abs=2e-5)


def test_gradient_equals_finite_differences(reader: Classifier) -> None:
    """In double precision, and for models with kinks (ReLU) over a very short way."""
    examples = short(pairs()[:1])
    exact = Classifier(copy.deepcopy(reader.model).double(), reader.tokenizer)
    masked = MaskedPairs.of(exact, exact.encode(examples))
    [slopes] = made(reader, ALIGNMENT_METHODS["gradient"], examples)
    way, target = (1e-6 if reader.own else 3e-3), reader.labels.index(slopes.target)
    for i, j in np.ndindex(slopes.shape):
        around = torch.ones(1, 2, *slopes.shape, dtype=torch.float64)
        around[0, :, i, j] += torch.tensor([way, -way])
        more, less = masked.logits(around)[0, :, target].tolist()
        assert slopes.matrix[i, j] == pytest.approx((more - less) / (2 * way), abs=1e-3)


def test_integrated_gradients_add_up(reader: Classifier) -> None:
    examples = pairs()[:2]
    found = made(reader, ALIGNMENT_METHODS["integrated_gradients"], examples, n_steps=64)
    for alignment, encoded in zip(found, reader.encode(examples), strict=True):
        [base] = Runner(reader).predict([encoded])
        change = base.logits[base.label] - masked_logits(reader, encoded, np.zeros(alignment.shape))[base.label]
        error = abs(alignment.matrix.sum() - change)
        assert error == pytest.approx(alignment.notes["completeness_error"], abs=1e-4)
        assert error < 0.05 * max(1.0, abs(change))


def test_back_select_equals_a_plain_loop(esim: Classifier) -> None:
    examples = short(pairs()[:2])
    for alignment, encoded in zip(made(esim, ALIGNMENT_METHODS["back_select"], examples), esim.encode(examples), strict=True):
        target = esim.labels.index(alignment.target)
        mask = np.ones(alignment.shape)
        removed = []
        while mask.any():
            best, which = -np.inf, (0, 0)
            for i, j in np.argwhere(mask > 0):
                trial = mask.copy()
                trial[i, j] = 0
                value = masked_logits(esim, encoded, trial)[target]
                if value > best + 1e-7:
                    best, which = value, (int(i), int(j))
            mask[which] = 0
            removed.append(which)
        order = [tuple(map(int, np.unravel_index(k, mask.shape))) for k in alignment.matrix.ravel().argsort()]
        assert order == removed


def test_back_select_takes_the_first_of_equals() -> None:
    """A model that reads nothing of the mask: cells go in reading order."""

    class Ask:
        shape, read, target = (2, 2), np.ones((2, 2), dtype=bool), 0

    steps = back_select_rounds(Ask())  # type: ignore[arg-type]
    masks = next(steps)
    for _ in range(2):
        masks = steps.send(np.zeros((len(masks), 2)))
    with pytest.raises(StopIteration) as stop:
        steps.send(np.zeros((len(masks), 2)))
    assert stop.value.value.scores.tolist() == [[0.25, 0.5], [0.75, 1.0]]


def test_co_attention_of_a_transformer_by_hand(bert: Classifier) -> None:
    examples = pairs()[:1]
    [encoded] = bert.encode(examples)
    [alignment] = made(bert, ALIGNMENT_METHODS["co_attention"], examples)
    bert.model.set_attn_implementation("eager")
    with torch.no_grad():
        out = bert.model(**collate([encoded], bert.pad_id, bert.device).inputs(), output_attentions=True)
    weights = torch.stack(out.attentions)[:, 0].mean((0, 1)).numpy()
    premise = alignment.shape[0]
    for i, j in np.ndindex(alignment.shape):
        p, h = np.flatnonzero(encoded.word == i), np.flatnonzero(encoded.word == premise + j)
        there, back = weights[np.ix_(p, h)].sum(1).mean(), weights[np.ix_(h, p)].sum(1).mean()
        assert alignment.matrix[i, j] == pytest.approx((there + back) / 2, abs=1e-6)


def test_arec_reports_what_its_mask_does(reader: Classifier) -> None:
    examples = pairs()[:4]
    found = made(reader, ALIGNMENT_METHODS["arec"], examples, steps=20, samples=4)
    for alignment, encoded in zip(found, reader.encode(examples), strict=True):
        [base] = Runner(reader).predict([encoded])
        assert alignment.kept is not None
        logits = masked_logits(reader, encoded, alignment.kept)
        distance = float(np.linalg.norm(logits - base.logits))
        ones = alignment.kept.astype(int)
        ragged = (ones[:-1, :-1] + ones[1:, :-1] + ones[:-1, 1:] + ones[1:, 1:] == 3).sum()
        assert int(logits.argmax()) == base.label  # always: cells are added until it is
        assert alignment.notes["fidelity"] == pytest.approx(distance, abs=1e-4)
        assert alignment.notes["objective"] == pytest.approx(distance + WEIGHT * (ones.sum() + ragged), abs=1e-4)


@pytest.mark.parametrize("name", ["decomposable", "esim", "bert"])
def test_arec_in_batches_of_1_and_64(name: str) -> None:
    """The same masks, whoever is in the batch; every fifth pair is explained alone as well."""
    torch.manual_seed(5)
    classifier = MODELS[name]()
    examples = []
    for i in range(64):
        words = pairs()[(i * 5 + 1) % 6].texts["hypothesis"].split()[: 2 + i % 5]
        examples.append(Example(str(i), {"premise": pairs()[i % 6].texts["premise"], "hypothesis": " ".join(words)}))
    arec, given = ALIGNMENT_METHODS["arec"], {"steps": 8, "samples": 2}
    encoded = classifier.encode(examples)
    together = explain_alignments(classifier, encoded, arec, parameters=given)
    alone = [explain_alignments(classifier, [e], arec, parameters=given)[0] for e in encoded[::5]]
    assert [a.mask for a in alone] == [b.mask for b in together[::5]]
    few = explain_alignments(classifier, encoded[20:10:-1], arec, parameters=given)[::-1]
    assert [a.mask for a in few] == [b.mask for b in together[11:21]]


def test_arec_comes_near_the_best_of_all_masks() -> None:
    """Twelve cells: all 4,096 masks are tried."""
    torch.manual_seed(0)
    classifier = MODELS["decomposable"]()
    examples = [Example("1", {"premise": "the old cat sat", "hypothesis": "a dog slept"})]
    encoded = classifier.encode(examples)
    [base] = Runner(classifier).predict(encoded)
    masks = np.array([[int(bit) for bit in f"{n:012b}"] for n in range(4096)]).reshape(-1, 4, 3)

    def ask():  # type: ignore[no-untyped-def]
        return (yield masks)

    [logits] = drive_masks(Runner(classifier), encoded, [ask()])
    ragged = (masks[:, :-1, :-1] + masks[:, 1:, :-1] + masks[:, :-1, 1:] + masks[:, 1:, 1:] == 3).sum((1, 2))
    objective = np.linalg.norm(logits - base.logits, axis=1) + WEIGHT * (masks.sum((1, 2)) + ragged)
    best = objective[logits.argmax(1) == base.label].min()
    [alignment] = made(classifier, ALIGNMENT_METHODS["arec"], examples, steps=40, samples=8)
    assert best - 1e-4 <= alignment.notes["objective"] <= best + 0.1


def test_diffmask_learns_to_close(esim: Classifier) -> None:
    """Trained for longer, the gate keeps fewer cells; the same settings give the same gate."""
    encoded = esim.encode(pairs())
    kept = []
    for epochs in (1, 60):
        folder = trained_gate(esim, encoded, GateSettings(hidden=16, epochs=epochs, learning_rate=0.02))
        assert trained_gate(esim, encoded, GateSettings(hidden=16, epochs=epochs, learning_rate=0.02)) == folder
        found = explain_alignments(esim, encoded, ALIGNMENT_METHODS["diffmask"], parameters={"gate": str(folder)})
        kept.append(sum(float(a.kept.sum()) for a in found if a.kept is not None))
    assert kept[1] < 0.5 * kept[0]


def test_nothing_of_the_model_is_changed(reader: Classifier) -> None:
    model = reader.model
    model.train()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    learning = [p.requires_grad for p in model.parameters()]
    implementation = model.config._attn_implementation
    for name in ("arec", "gradient", "leave_one_out"):
        made(reader, ALIGNMENT_METHODS[name], short(pairs()[:1]))
    assert all(module.training for module in model.modules())
    assert [p.requires_grad for p in model.parameters()] == learning
    assert all(p.grad is None for p in model.parameters())
    assert model.config._attn_implementation == implementation
    assert all(torch.equal(before[name], tensor) for name, tensor in model.state_dict().items())
    model.eval()


def test_cells_are_added_until_the_label_is_kept(esim: Classifier) -> None:
    for ask in pair_asks(esim, esim.encode(pairs()[:4])):
        wrong = replace(ask, target=(ask.target + 1) % 3)  # kept by no mask, or by a late one
        for goal in (ask, wrong):
            scores = np.random.default_rng(0).standard_normal(ask.shape)
            [cells] = drive_masks(Runner(esim), [ask.encoded], [_grow(goal, Cells(scores))])
            mask = np.zeros(ask.shape)
            for cell in sorted(np.ndindex(ask.shape), key=lambda c: -scores[c]):
                mask[cell] = 1
                if int(masked_logits(esim, ask.encoded, mask).argmax()) == goal.target:
                    break
            assert cells.mask is not None
            assert cells.mask.tolist() == (mask > 0).tolist()
