"""ERASER's measures against cases worked out by hand, and areas against scikit-learn."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import auc, average_precision_score, precision_recall_curve
from tiny import MODELS

from whence.data import Example, word_spans
from whence.errors import BadInput
from whence.explain import TokenScores
from whence.explain.rationale import rationale_size, top_share
from whence.measure.measure import Judged, Measure, Value
from whence.measure.plausibility import auprc, average_precision, plausibility_measures
from whence.models import Classifier, Label

TEN = "a b c d e f g h i j"


@pytest.fixture(scope="module")
def reader() -> Classifier:
    return MODELS["bert"]()


def marks(text: str, words: Sequence[int]) -> tuple[tuple[int, int], ...]:
    spans = word_spans(text)
    return tuple(spans[i] for i in words)


def judged(reader: Classifier, texts: dict[str, str], gold: dict[str, Sequence[int]], scores: Sequence[float]) -> Judged:
    marked = {name: marks(texts[name], words) for name, words in gold.items()}
    [encoded] = reader.encode([Example("x", texts, highlights=(marked,) if marked else ())])
    spans = dict(zip(encoded.fields, encoded.spans, strict=True))
    explanation = TokenScores("x", texts, spans, tuple(map(float, scores)), "by hand", "negative", 0.5)
    return Judged(encoded, explanation, "mask", Label(0))


def scores_for(top: Sequence[int], n: int) -> list[float]:
    """Scores whose highest are `top`, in that order."""
    return [float(n - top.index(i)) if i in top else -1.0 for i in range(n)]


def rows(measure: Measure, case: Judged) -> Value:
    """The per-example row; such a measure asks for no passes."""
    steps = measure.rounds(case)
    requests = next(steps)
    assert requests == []
    try:
        steps.send([])
    except StopIteration as stop:
        return stop.value
    raise AssertionError("expected the measure to return after its empty request")


def measures(share: float) -> dict[str, Measure]:
    found = {measure.name: measure for measure in plausibility_measures(share)}
    assert all(measure.needs_highlights and measure.direction == "higher" for measure in found.values())
    return found


def test_one_text_by_hand(reader: Classifier) -> None:
    """10 words, share 0.3: the top 3. Gold words 1 2 3 (one run) and 7 (another); predicted 2 3 (one run) and 5.

    IoU of [2,4) with [1,4) = 2/3, a hit; [5,6) hits nothing: precision 1/2, recall 1/2, so F1 1/2.
    Words: 2 of 3 predicted are gold, 2 of 4 gold are predicted: F1 = 2·2/(3+4) = 4/7.
    """
    case = judged(reader, {"text": TEN}, {"text": [1, 2, 3, 7]}, scores_for([5, 2, 3], 10))
    by_name = measures(0.3)
    iou, tokens = rows(by_name["iou_f1"], case), rows(by_name["token_f1"], case)
    assert iou == (0.5, 1.0, 0.5, 1.0)
    assert by_name["iou_f1"].aggregate(np.array([iou])) == pytest.approx(0.5)
    assert tokens == (pytest.approx(4 / 7), 1.0)
    assert by_name["token_f1"].aggregate(np.array([tokens])) == pytest.approx(4 / 7)


def test_a_hit_at_exactly_one_half(reader: Classifier) -> None:
    """Gold [0,2), predicted [0,1): IoU 1/2 counts. Gold [0,3), predicted [0,1): IoU 1/3 does not."""
    iou = measures(0.1)["iou_f1"]
    assert rows(iou, judged(reader, {"text": TEN}, {"text": [0, 1]}, scores_for([0], 10))) == (1.0, 1.0, 1.0, 1.0)
    assert rows(iou, judged(reader, {"text": TEN}, {"text": [0, 1, 2]}, scores_for([0], 10))) == (0.0, 1.0, 0.0, 1.0)


def test_premise_and_hypothesis_are_two_keys(reader: Classifier) -> None:
    """4 + 2 words, share 0.5: top 2 of the premise, top 1 of the hypothesis, each ranked within its own text.

    Premise: gold 0 1 2, predicted 2 3 (IoU 1/4, a miss): precision 0, recall 0; words F1 = 2·1/(2+3) = 2/5.
    Hypothesis: gold 1, predicted 1: all 1. Sums: precision 1 of 2 keys, recall 1 of 2 keys; F1 of (1/2, 1/2) = 1/2.
    """
    texts = {"premise": "a b c d", "hypothesis": "e f"}
    case = judged(reader, texts, {"premise": [0, 1, 2], "hypothesis": [1]}, [0, 1, 8, 9, 2, 3])
    by_name = measures(0.5)
    assert rows(by_name["iou_f1"], case) == (1.0, 2.0, 1.0, 2.0)
    assert rows(by_name["token_f1"], case) == (pytest.approx(0.4 + 1.0), 2.0)
    expected = average_precision_score([1, 1, 1, 0, 0, 1], [0, 1, 8, 9, 2, 3])  # one ranking over the words of both
    assert rows(by_name["average_precision"], case) == (pytest.approx(expected),)
    areas = [eraser_area([1, 1, 1, 0], [0, 1, 8, 9]), eraser_area([0, 1], [2, 3])]  # a ranking for each
    assert rows(by_name["auprc"], case) == (pytest.approx(sum(areas)), 2.0)
    assert by_name["auprc"].aggregate(np.array([rows(by_name["auprc"], case)])) == pytest.approx(np.mean(areas))


def test_a_text_that_nobody_marked_has_no_key(reader: Classifier) -> None:
    """Neutral e-SNLI pairs have marks in the hypothesis only: scores in the premise then change nothing."""
    texts = {"premise": "a b c d", "hypothesis": "e f"}
    for premise in ([0, 0, 0, 0], [9, 9, 9, 9]):
        case = judged(reader, texts, {"hypothesis": [0]}, [*premise, 2, 1])
        assert [rows(m, case) for m in plausibility_measures(0.5)] == [
            (1.0, 1.0, 1.0, 1.0), (1.0, 1.0), (1.0, 1.0), (1.0,)
        ]  # fmt: skip


def test_nothing_marked_is_not_defined(reader: Classifier) -> None:
    no_annotator = judged(reader, {"text": TEN}, {}, range(10))
    only_space = judged(reader, {"text": "a   b"}, {}, range(2))
    object.__setattr__(only_space.encoded.example, "highlights", ({"text": ((2, 3),)},))  # covers no word
    empty = judged(reader, {"text": ""}, {}, [])
    for case in (no_annotator, only_space, empty):
        assert [rows(measure, case) for measure in plausibility_measures(0.3)] == [None] * 4


def test_macro_means_are_taken_before_f1(reader: Classifier) -> None:
    """Example 1: precision 1, recall 1/2 (gold runs 0 and 2, predicted 0). Example 2: precision 0, recall 0.

    Means: 1/2 and 1/4; F1 = 2·(1/8)/(3/4) = 1/3. The mean of the two F1 (2/3 and 0) would also be 1/3, so a third example
    with precision 1, recall 1 tells them apart: means 2/3 and 1/2, F1 = 4/7; mean of F1 = 5/9.
    """
    measure = measures(0.1)["iou_f1"]
    one = rows(measure, judged(reader, {"text": TEN}, {"text": [0, 2]}, scores_for([0], 10)))
    two = rows(measure, judged(reader, {"text": TEN}, {"text": [5]}, scores_for([0], 10)))
    three = rows(measure, judged(reader, {"text": TEN}, {"text": [0]}, scores_for([0], 10)))
    table = np.array([one, two, three])
    assert float(measure.aggregate(table[:2])) == pytest.approx(1 / 3)
    assert float(measure.aggregate(table)) == pytest.approx(4 / 7)
    batched = measure.aggregate(np.stack([table, table[[1, 1, 1]]]))  # as the bootstrap calls it
    assert batched.shape == (2,)
    assert batched.tolist() == pytest.approx([4 / 7, 0.0])


def test_several_annotators_are_united(reader: Classifier) -> None:
    case = judged(reader, {"text": TEN}, {"text": [0]}, scores_for([0, 1], 10))
    object.__setattr__(case.encoded.example, "highlights", ({"text": marks(TEN, [0])}, {"text": marks(TEN, [1])}))
    assert rows(measures(0.2)["token_f1"], case) == (1.0, 1.0)


def test_words_never_read_stay_in_the_gold_and_are_not_predicted(reader: Classifier) -> None:
    reader.tokenizer.model_max_length = 6  # [CLS], four words, [SEP]
    try:
        case = judged(reader, {"text": TEN}, {"text": [0, 9]}, [-5.0, -6, -7, -8, 0, 0, 0, 0, 0, 0])
    finally:
        reader.tokenizer.model_max_length = int(1e30)
    assert case.encoded.unseen == 6
    by_name = measures(0.1)  # one word: 0 is the best of those that were read
    assert rows(by_name["iou_f1"], case) == (1.0, 1.0, 0.5, 1.0)
    assert rows(by_name["token_f1"], case) == (pytest.approx(2 / 3), 1.0)
    # word 9 is found among the last, together
    assert rows(by_name["average_precision"], case) == (pytest.approx(0.5 * 1 + 0.5 * 2 / 10),)
    # precision 1 up to recall 1/2, then 1/2, 1/3 and 1/4 at the same recall, then a line from 1/4 to 2/10
    assert rows(by_name["auprc"], case) == (pytest.approx(0.5 * 1 + 0.5 * (1 / 4 + 2 / 10) / 2), 1.0)


@pytest.mark.parametrize(("share", "n", "size"), [
    (0.15, 10, 2), (0.25, 10, 3), (0.1, 4, 1), (0.01, 3, 1), (1.0, 7, 7), (0.5, 1, 1), (0.3, 5, 2), (0.29, 5, 1), (0.9, 0, 0),
])  # fmt: skip
def test_rationale_size_rounds_halves_up(share: float, n: int, size: int) -> None:
    assert rationale_size(share, n) == size


def test_ties_go_to_the_earlier_word() -> None:
    assert top_share(np.zeros(4), 0.5).tolist() == [True, True, False, False]
    assert top_share(np.zeros(4), 0.5, np.array([False, True, False, True])).tolist() == [False, True, False, True]


@pytest.mark.parametrize("share", [0.0, -0.1, 1.1, float("nan")])
def test_a_share_that_is_none(share: float) -> None:
    with pytest.raises(BadInput, match="expected a number above 0 and at most 1"):
        plausibility_measures(share)


def eraser_area(gold: Sequence[int], scores: Sequence[float]) -> float:
    """As eraserbenchmark's metrics.py computes it for one annotation and document."""
    precision, recall, _ = precision_recall_curve(gold, scores)
    return float(auc(recall, precision))


@given(st.lists(st.tuples(st.booleans(), st.integers(-3, 3)), min_size=1, max_size=12).filter(lambda xs: any(g for g, _ in xs)))
def test_areas_are_scikit_learns(pairs: list[tuple[bool, int]]) -> None:
    gold, scores = np.array([g for g, _ in pairs]), np.array([float(s) for _, s in pairs])
    assert average_precision(gold, scores) == pytest.approx(average_precision_score(gold, scores))
    assert auprc(gold, scores) == pytest.approx(eraser_area(gold.astype(int).tolist(), scores.tolist()))


def test_the_two_areas_differ_and_chance_is_the_random_row() -> None:
    """One marked word of three, ranked second: average precision 1/2; the line from (recall 0, precision 0) gives 1/4."""
    gold, scores = np.array([False, True, False]), np.array([3.0, 2.0, 1.0])
    assert average_precision(gold, scores) == pytest.approx(1 / 2)
    assert auprc(gold, scores) == pytest.approx(1 / 4)
    assert {measure.chance for measure in plausibility_measures(0.2)} == {"the random row"}
