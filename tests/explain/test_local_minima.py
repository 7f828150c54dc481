"""AREC's masks are local minima: all masks of tiny pairs are tried. Neighbours and sizes against plain loops."""

from itertools import product

import numpy as np
import pytest
import torch
from tiny import MODELS

import whence.explain.alignments.arec as arec_file
from whence.data import Example
from whence.errors import BadInput
from whence.explain.alignments import ALIGNMENT_METHODS, explain_alignments, pair_asks
from whence.explain.alignments.arec import unrivalled_rounds
from whence.explain.alignments.descent import LEAST_GAIN, Reached, descend_rounds
from whence.explain.alignments.neighbours import flip_sizes, neighbours, sizes, top_masks
from whence.explain.alignments.objective import WEIGHT
from whence.models import Classifier, Encoded
from whence.models.alignment import MaskedPairs
from whence.run import Runner
from whence.run.masks import drive_masks

WORDS = [
    "the",
    "old",
    "cat",
    "sat",
    "quietly",
    "on",
    "a",
    "very",
    "small",
    "mat",
    "dog",
    "slept",
    "good",
    "such",
    "film",
    "storm",
]


@pytest.fixture(scope="module", params=["decomposable", "esim", "bert"])
def reader(request: pytest.FixtureRequest) -> Classifier:
    torch.manual_seed(4)
    return MODELS[request.param]()


@pytest.fixture(scope="module")
def sharp() -> Classifier:
    """A BERT with weights twice as large: its logits hang on many cells, so searches end in many places."""
    torch.manual_seed(4)
    bert = MODELS["bert"]()
    with torch.no_grad():
        for weight in bert.model.parameters():
            if weight.dim() > 1:
                weight.mul_(2)
    return bert


def some_pairs(count: int) -> list[Example]:
    draw = np.random.default_rng(1)
    texts = [[" ".join(draw.choice(WORDS, 3, replace=False)) for _ in range(2)] for _ in range(count)]
    return [Example(str(i), {"premise": p, "hypothesis": h}) for i, (p, h) in enumerate(texts)]


def all_masks(rows: int, columns: int) -> np.ndarray:
    return np.array(list(product([False, True], repeat=rows * columns))).reshape(-1, rows, columns)


def plain_size(mask: np.ndarray) -> int:
    windows = [mask[i : i + 2, j : j + 2].sum() for i in range(mask.shape[0] - 1) for j in range(mask.shape[1] - 1)]
    return int(mask.sum()) + sum(int(n) == 3 for n in windows)


def objectives(classifier: Classifier, encoded: Encoded, masks: np.ndarray) -> np.ndarray:
    """Of every mask; ∞ where the label is lost. Straight from the model."""
    [base] = Runner(classifier).predict([encoded])
    pairs = MaskedPairs.of(classifier, [encoded])
    with torch.no_grad():
        logits = pairs.logits(torch.from_numpy(masks.astype(np.float32))[None])[0].double().numpy()
    distance = np.linalg.norm(logits - base.logits, axis=1)
    return np.where(logits.argmax(1) == base.label, distance + WEIGHT * np.array([plain_size(m) for m in masks]), np.inf)


def test_no_flip_row_column_or_rectangle_improves_and_the_best_of_all_masks_is_found(reader: Classifier) -> None:
    encoded = reader.encode(some_pairs(12))
    found = explain_alignments(reader, encoded, ALIGNMENT_METHODS["arec"])
    masks = all_masks(3, 3)
    number = {mask.tobytes(): i for i, mask in enumerate(masks)}
    best = 0
    for e, alignment in zip(encoded, found, strict=True):
        values = objectives(reader, e, masks)
        assert alignment.kept is not None
        mine = values[number[alignment.kept.tobytes()]]
        assert alignment.notes["objective"] == pytest.approx(mine, abs=1e-4)
        for other in neighbours(alignment.kept):
            assert values[number[other.tobytes()]] > mine - LEAST_GAIN - 1e-5
        best += mine < values.min() + 1e-3
    assert best >= 11  # of 12: a local minimum need not be the best of all


def longer_pairs(count: int, lengths: tuple[int, int] = (7, 6)) -> list[Example]:
    draw = np.random.default_rng(2)
    texts = [[" ".join(draw.choice(WORDS, n, replace=False)) for n in lengths] for _ in range(count)]
    return [Example(str(i), {"premise": p, "hypothesis": h}) for i, (p, h) in enumerate(texts)]


def test_no_top_mask_of_its_rankings_is_better(reader: Classifier) -> None:
    encoded = reader.encode(longer_pairs(6))
    found = explain_alignments(reader, encoded, ALIGNMENT_METHODS["arec"])
    for name in ("co_attention", "leave_one_out"):
        for e, mine, other in zip(encoded, found, explain_alignments(reader, encoded, ALIGNMENT_METHODS[name]), strict=True):
            values = objectives(reader, e, top_masks(other.matrix, np.arange(other.matrix.size + 1)))
            assert mine.notes["objective"] < values.min() + LEAST_GAIN + 1e-5


def test_a_better_top_mask_takes_the_place_of_a_poor_minimum(reader: Classifier) -> None:
    for ask in pair_asks(reader, reader.encode(longer_pairs(3))):
        everything = Reached(np.ones(ask.shape, dtype=bool), 0.0, WEIGHT * ask.read.size, label_kept=True)
        ranking = np.random.default_rng(0).random(ask.shape)
        values = objectives(reader, ask.encoded, top_masks(ranking, np.arange(ranking.size + 1)))
        [reached] = drive_masks(Runner(reader), [ask.encoded], [unrivalled_rounds(ask, [ranking], everything)])
        assert reached.label_kept
        assert reached.objective < values.min() + LEAST_GAIN + 1e-5
        assert reached.objective == pytest.approx(objectives(reader, ask.encoded, reached.mask[None])[0], abs=1e-4)


def test_where_minima_are_many_no_neighbour_is_better_and_one_start_is_not_enough(sharp: Classifier) -> None:
    encoded, arec = sharp.encode(longer_pairs(6, (5, 4))), ALIGNMENT_METHODS["arec"]
    found, single = (explain_alignments(sharp, encoded, arec, parameters=p) for p in ({}, {"starts": "relaxation"}))
    for e, alignment in zip(encoded, found, strict=True):
        assert alignment.kept is not None
        others = objectives(sharp, e, neighbours(alignment.kept))
        assert others.min() > alignment.notes["objective"] - LEAST_GAIN - 1e-5
    gained = [one.notes["objective"] - all_.notes["objective"] for one, all_ in zip(single, found, strict=True)]
    assert max(gained) > 0.1


def test_a_top_mask_of_a_ranking_wins_though_it_was_no_start(sharp: Classifier, monkeypatch: pytest.MonkeyPatch) -> None:
    """Starts are the empty and the full mask alone; all others of the ranking are rivals."""
    monkeypatch.setattr(arec_file, "LADDER", np.array([0]))
    encoded, starts = sharp.encode(longer_pairs(6, (5, 4))), {"starts": "co_attention"}
    found = explain_alignments(sharp, encoded, ALIGNMENT_METHODS["arec"], parameters=starts)
    rankings = explain_alignments(sharp, encoded, ALIGNMENT_METHODS["co_attention"])
    for e, mine, other in zip(encoded, found, rankings, strict=True):
        values = objectives(sharp, e, top_masks(other.matrix, np.arange(other.matrix.size + 1)))
        assert mine.notes["objective"] < values.min() + LEAST_GAIN + 1e-5


def test_every_start_ends_in_a_local_minimum(reader: Classifier) -> None:
    encoded = reader.encode(some_pairs(4))
    masks = all_masks(3, 3)
    number = {mask.tobytes(): i for i, mask in enumerate(masks)}
    for ask in pair_asks(reader, encoded):
        values = objectives(reader, ask.encoded, masks)
        for start in (np.zeros((3, 3)), np.ones((3, 3)), np.eye(3)):
            [reached] = drive_masks(Runner(reader), [ask.encoded], [descend_rounds(ask, [start])])
            mine = values[number[reached.mask.tobytes()]]
            assert reached.label_kept
            assert reached.objective == pytest.approx(mine, abs=1e-4)
            assert all(values[number[other.tobytes()]] > mine - LEAST_GAIN - 1e-5 for other in neighbours(reached.mask))


def test_neighbours_are_all_flips_lines_and_rectangle_moves() -> None:
    draw = np.random.default_rng(0)
    for _ in range(20):
        mask = draw.random((3, 4)) < 0.4
        found = {other.tobytes() for other in neighbours(mask)}
        assert len(found) == len(neighbours(mask))
        assert mask.tobytes() not in found
        wanted = []
        for i, j in np.ndindex(mask.shape):
            flipped = mask.copy()
            flipped[i, j] ^= True
            wanted.append(flipped)
        for value in (False, True):
            for i in range(3):
                wanted.append(mask.copy())
                wanted[-1][i] = value
            for j in range(4):
                wanted.append(mask.copy())
                wanted[-1][:, j] = value
        assert {w.tobytes() for w in wanted} - {mask.tobytes()} <= found
    block = np.zeros((4, 5), dtype=bool)
    block[1:3, 1:3] = True
    found = {other.tobytes() for other in neighbours(block)}
    for rows, columns, value in (
        (slice(1, 3), slice(1, 3), False), (slice(1, 2), slice(1, 3), False), (slice(1, 3), slice(2, 3), False),
        (slice(0, 1), slice(1, 3), True), (slice(3, 4), slice(1, 3), True), (slice(1, 3), slice(0, 1), True),
        (slice(1, 3), slice(3, 4), True),
    ):  # fmt: skip
        changed = block.copy()
        changed[rows, columns] = value
        assert changed.tobytes() in found


def test_sizes_count_ones_and_windows_with_three() -> None:
    draw = np.random.default_rng(0)
    for shape in ((1, 1), (1, 5), (4, 1), (3, 4), (5, 5)):
        mask = draw.random(shape) < 0.6
        assert int(sizes(mask)) == plain_size(mask)
        change = flip_sizes(mask)
        for cell in np.ndindex(shape):
            flipped = mask.copy()
            flipped[cell] ^= True
            assert change[cell] == plain_size(flipped) - plain_size(mask)


def test_top_masks_break_ties_in_reading_order() -> None:
    scores = np.array([[1.0, 3.0], [3.0, 0.0]])
    assert top_masks(scores, np.array([0, 1, 2, 4])).astype(int).tolist() == [
        [[0, 0], [0, 0]], [[0, 1], [0, 0]], [[0, 1], [1, 0]], [[1, 1], [1, 1]]
    ]  # fmt: skip


def test_the_parts_of_the_ablation(reader: Classifier) -> None:
    """The paper's own mask is Z = 1[log α > 0]; descents from one start keep the label; bad names are refused."""
    encoded, arec = reader.encode(some_pairs(3)), ALIGNMENT_METHODS["arec"]
    for alignment in explain_alignments(reader, encoded, arec, parameters={"end": "relaxation"}):
        assert alignment.kept is not None
        log_alpha = 2 * alignment.matrix - np.where(alignment.kept, 10, -10)
        assert ((log_alpha > 0) == alignment.kept).all()
        values = objectives(reader, encoded[int(alignment.id)], alignment.kept[None])
        assert not np.isfinite(values[0]) or alignment.notes["objective"] == pytest.approx(values[0], abs=1e-4)
    full = explain_alignments(reader, encoded, arec)
    for starts in ("random", "co_attention", "empty", "relaxation"):
        several = explain_alignments(reader, encoded, arec, parameters={"starts": starts})
        for one, other, e in zip(several, full, encoded, strict=True):
            assert one.kept is not None
            assert np.isfinite(objectives(reader, e, one.kept[None])[0])
            assert one.notes["objective"] >= other.notes["objective"] - 0.3  # more starts seldom end worse
    for wrong in ({"starts": "nowhere"}, {"end": "never"}):
        with pytest.raises(BadInput, match="expected"):
            explain_alignments(reader, encoded, arec, parameters=wrong)


def test_the_seed_of_a_run_changes_no_mask(reader: Classifier) -> None:
    encoded, arec = reader.encode(some_pairs(3)), ALIGNMENT_METHODS["arec"]
    first, second = (explain_alignments(reader, encoded, arec, seed=seed) for seed in (0, 7))
    assert [a.mask for a in first] == [a.mask for a in second]


def test_fewest_cuts_against_all_sets(reader: Classifier) -> None:
    """Every set of cells is cut: the label changes with the set that is found, with no smaller part of it, and if with any."""
    encoded = reader.encode(some_pairs(12))
    found = explain_alignments(reader, encoded, ALIGNMENT_METHODS["fewest_cuts"])
    masks = all_masks(3, 3)
    smallest = total = 0
    for e, alignment in zip(encoded, found, strict=True):
        changes = ~np.isfinite(objectives(reader, e, ~masks))
        assert alignment.kept is not None
        cut = alignment.kept
        changed = {mask.tobytes() for mask, c in zip(masks, changes, strict=True) if c}
        if alignment.notes["changes_label"]:
            assert cut.tobytes() in changed
            for i, j in np.argwhere(cut):
                fewer = cut.copy()
                fewer[i, j] = False
                assert fewer.tobytes() not in changed
            total += 1
            smallest += int(cut.sum()) == int(masks[changes].sum((1, 2)).min())
        else:
            assert not changes[-1]  # cutting everything does not do it either
            assert not cut.any()
    assert smallest >= 0.8 * total


def test_every_cell_of_the_fewest_cuts_is_needed(sharp: Classifier) -> None:
    """The label returns with each of them that is put back."""
    encoded = sharp.encode(longer_pairs(6, (5, 4)))
    cuts = []
    for e, alignment in zip(encoded, explain_alignments(sharp, encoded, ALIGNMENT_METHODS["fewest_cuts"]), strict=True):
        assert alignment.kept is not None
        cut = alignment.kept
        cuts.append(int(cut.sum()))
        for i, j in np.argwhere(cut):
            fewer = cut.copy()
            fewer[i, j] = False
            assert np.isfinite(objectives(sharp, e, ~fewer[None])[0])
    assert max(cuts) > 2
