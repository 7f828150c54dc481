"""AORC, mask quality and induced masks against plain loops; planted pairs by hand."""

import numpy as np
import pytest
import torch
from tiny import MODELS, pairs

from whence.data import Example
from whence.explain.alignment import Alignment
from whence.explain.alignments import ALIGNMENT_METHODS, PairAsk, explain_alignments, pair_asks
from whence.measure.alignments.aorc import aorc_rounds
from whence.measure.alignments.needed import empty_share, need_in_words, without_rounds
from whence.measure.alignments.planted import planted_found
from whence.measure.alignments.rationale import compactness, contiguity, induce_rounds, quality_rounds
from whence.models import Classifier, Intervention
from whence.run import Request, Runner
from whence.run.masks import drive_masks


@pytest.fixture(scope="module", params=["decomposable", "esim", "bert"])
def classifier(request: pytest.FixtureRequest) -> Classifier:
    torch.manual_seed(1)
    return MODELS[request.param]()


@pytest.fixture(scope="module")
def asks(classifier: Classifier) -> list[PairAsk]:
    return pair_asks(classifier, classifier.encode(pairs()[:4]))


def distance(classifier: Classifier, ask: PairAsk, mask: np.ndarray) -> float:
    [result] = Runner(classifier).run([Request(ask.encoded, Intervention(alignment=mask.astype(np.float32)))])
    return float(np.linalg.norm(result.logits - ask.logits))


def some_scores(ask: PairAsk, seed: int) -> np.ndarray:
    """With ties, which are broken by reading order."""
    return np.random.default_rng(seed).integers(0, 9, size=ask.shape).astype(float)


def ordered(scores: np.ndarray) -> list[tuple[int, int]]:
    cells = [(i, j) for i in range(scores.shape[0]) for j in range(scores.shape[1])]
    return sorted(cells, key=lambda cell: (-scores[cell], cell))


def test_aorc_equals_a_plain_loop(classifier: Classifier, asks: list[PairAsk]) -> None:
    scores = [some_scores(ask, i) for i, ask in enumerate(asks)]
    runner, pairs_asked = Runner(classifier), [ask.encoded for ask in asks]
    found = drive_masks(runner, pairs_asked, [aorc_rounds(ask, s) for ask, s in zip(asks, scores, strict=True)])
    for ask, s, value in zip(asks, scores, found, strict=True):
        total = 0.0
        for percent in range(0, 101, 5):
            mask = np.zeros(ask.shape)
            for cell in ordered(s)[: int(np.floor(percent * s.size / 100 + 0.5))]:
                mask[cell] = 1
            total += distance(classifier, ask, mask)
        assert value == pytest.approx(total / 21, abs=2e-5)


def test_induced_mask_equals_a_plain_loop(classifier: Classifier, asks: list[PairAsk]) -> None:
    runner, pairs_asked = Runner(classifier), [ask.encoded for ask in asks]
    for threshold in (0.3, 100.0):
        scores = [some_scores(ask, 10 + i) for i, ask in enumerate(asks)]
        found = drive_masks(
            runner, pairs_asked, [induce_rounds(ask, s, threshold) for ask, s in zip(asks, scores, strict=True)]
        )
        for ask, s, kept in zip(asks, scores, found, strict=True):
            mask = np.zeros(ask.shape)
            for cell in ordered(s):
                if distance(classifier, ask, mask) < threshold:
                    break
                mask[cell] = 1
            assert kept.tolist() == (mask > 0).tolist()
    assert not found[0].any()  # anything is near enough to a hundred: no cell is needed


def test_quality_of_a_mask(classifier: Classifier, asks: list[PairAsk]) -> None:
    draw = np.random.default_rng(0)
    masks = [draw.random(ask.shape) < 0.5 for ask in asks]
    runner, pairs_asked = Runner(classifier), [ask.encoded for ask in asks]
    for ask, kept, quality in zip(
        asks,
        masks,
        drive_masks(runner, pairs_asked, [quality_rounds(a, m) for a, m in zip(asks, masks, strict=True)]),
        strict=True,
    ):
        assert quality is not None
        assert quality.fidelity == pytest.approx(distance(classifier, ask, kept), abs=2e-5)
        assert quality.compactness == pytest.approx(100 * kept.sum() / kept.size)
        rows, columns = kept.shape
        three = sum(int(kept[i : i + 2, j : j + 2].sum()) == 3 for i in range(rows - 1) for j in range(columns - 1))
        assert quality.contiguity == pytest.approx(1000 * three / max(1, (rows - 1) * (columns - 1)))
    everything = drive_masks(runner, pairs_asked, [quality_rounds(ask, np.ones(ask.shape, dtype=bool)) for ask in asks])
    assert all(q is not None and q.fidelity < 1e-5 and q.label_kept == 1 and q.compactness == 100 for q in everything)


def test_one_row_has_no_windows() -> None:
    assert contiguity(np.ones((1, 4), dtype=bool)) == 0
    assert compactness(np.array([[True, False, False, False]])) == 25


def test_a_pair_without_cells_is_not_measured(classifier: Classifier) -> None:
    examples = [Example("1", {"premise": "a dog", "hypothesis": ""})]
    [ask] = pair_asks(classifier, classifier.encode(examples))
    runner, pairs_asked = Runner(classifier), [ask.encoded]
    nothing = np.zeros(ask.shape)
    assert drive_masks(runner, pairs_asked, [aorc_rounds(ask, nothing)]) == [None]
    assert drive_masks(runner, pairs_asked, [quality_rounds(ask, nothing > 0)]) == [None]
    assert drive_masks(runner, pairs_asked, [induce_rounds(ask, nothing, 0.1)])[0].shape == (2, 0)


def test_what_is_left_without_any_alignment(classifier: Classifier, asks: list[PairAsk]) -> None:
    runner, encoded = Runner(classifier), [ask.encoded for ask in asks]
    found = drive_masks(runner, encoded, [without_rounds(ask) for ask in asks])
    alignments = explain_alignments(runner, encoded, ALIGNMENT_METHODS["random"])
    for ask, without, alignment in zip(asks, found, alignments, strict=True):
        assert without is not None
        assert without.fidelity == pytest.approx(distance(classifier, ask, np.zeros(ask.shape)), abs=2e-5)
        assert without.label_kept == float(not alignment.needed)
    assert empty_share(alignments) is None
    masked = [alignments[0].with_mask(np.zeros(asks[0].shape)), *(a.with_mask(np.ones(a.shape)) for a in alignments[1:])]
    assert empty_share(masked) == 0.25


def test_need_is_said_by_label() -> None:
    texts = {"premise": "a", "hypothesis": "b"}
    spans = {"premise": ((0, 1),), "hypothesis": ((0, 1),)}
    made = [
        Alignment(str(i), texts, spans, ((0.0,),), "random", target, 0.9, cut_label=cut, cut_probability=0.8)
        for i, (target, cut) in enumerate([("yes", "yes"), ("yes", "no"), ("no", "no"), ("no", "no")])
    ]
    assert need_in_words(made) == "Without any alignment 75% of 4 predictions stay the same (yes 50% of 2, no 100% of 2)."
    assert need_in_words([]) == ""
    assert made[0].need == "It needs no alignment: cut all word pairs, and the model still says yes (0.80)."
    assert made[1].need == "It needs alignments: cut all word pairs, and the model says no (0.80)."


def test_planted_pair_by_hand() -> None:
    kept = np.array([[True, True, False], [False, True, False]])
    planted = np.array([[False, True, True], [False, False, False]])
    found = planted_found(kept, planted)
    assert found is not None
    assert (found.recall, found.precision) == (0.5, pytest.approx(1 / 3))
    empty = planted_found(np.zeros_like(kept), planted)
    assert empty is not None
    assert (empty.recall, empty.precision) == (0.0, 0.0)
    assert planted_found(kept, np.zeros_like(kept)) is None
