"""Erasure measures against a plain loop: ids rebuilt from the tokenizer, the model called once for each of them."""

from math import ceil

import numpy as np
import pytest
import torch
from scipy.stats import kendalltau
from tiny import texts

from whence.data import Example, words
from whence.explain import METHODS, TokenScores, explain
from whence.measure.erasure import BINS, MEASURES, erasure_curve_rounds, flip_counts
from whence.measure.loo_tau import loo_tau_rounds, rank_agreement
from whence.measure.measure import Judged
from whence.models import Classifier, Hide, Label
from whence.run import Runner

BY_NAME = {measure.name: measure for measure in MEASURES}
HIDE: list[Hide] = ["mask", "pad", "delete"]
TEXTS = [example.texts["text"] for example in texts()]


class Plain:
    """The model and its tokenizer, as anybody would call them."""

    def __init__(self, classifier: Classifier, text: str, hide: Hide) -> None:
        self.model, self.hide = classifier.model, hide
        batch = classifier.tokenizer(text, return_offsets_mapping=True)
        self.ids = batch["input_ids"]
        starts, at = [], 0
        for word in words(text):
            at = text.index(word, at)
            starts.append((at, at + len(word)))
            at += len(word)
        self.word = [
            next((w for w, (a, b) in enumerate(starts) if a < end and start < b), None) if start < end else None
            for start, end in batch["offset_mapping"]
        ]
        self.n = len(starts)
        tokenizer = classifier.tokenizer
        self.blank = {"mask": tokenizer.mask_token_id, "pad": tokenizer.pad_token_id, "delete": None}[hide]

    def probabilities(self, hidden: set[int]) -> np.ndarray:
        ids = [self.blank if word in hidden else i for i, word in zip(self.ids, self.word, strict=True)]
        row = torch.tensor([[i for i in ids if i is not None]])
        with torch.no_grad():
            return self.model(row, attention_mask=torch.ones_like(row)).logits.softmax(-1)[0].double().numpy()

    def decision_flip(self, order: list[int]) -> float:
        base = self.probabilities(set()).argmax()
        for percent in range(5, 101, 5):
            n = max(1, (percent * self.n + 50) // 100)  # halves up, in whole numbers
            if self.probabilities(set(order[:n])).argmax() != base:
                return n / self.n
        return 1.0

    def area(self, order: list[int], target: int, keep_only: bool) -> float:
        full = self.probabilities(set())[target]
        drops = []
        for percent in (1, 5, 10, 20, 50):
            top = set(order[: ceil(percent * self.n / 100)])
            drops.append(full - self.probabilities(set(range(self.n)) - top if keep_only else top)[target])
        assert len(drops) == 5  # trap 7: every bin counts, also where two agree or the drop is negative
        return float(np.mean(drops))


def judged(classifier: Classifier, text: str, scores: np.ndarray, hide: Hide, target: int = 0) -> Judged:
    [encoded] = classifier.encode([Example("x", {"text": text})])
    explanation = TokenScores(
        "x", {"text": text}, {"text": encoded.spans[0]}, tuple(scores.tolist()), "by hand", classifier.labels[target], 0.5
    )
    return Judged(encoded, explanation, hide, Label(target))


def value(classifier: Classifier, name: str, case: Judged) -> float | None:
    [found] = Runner(classifier).drive([BY_NAME[name].rounds(case)])
    return None if found is None else found[0]


@pytest.mark.parametrize("hide", HIDE)
@pytest.mark.parametrize("text", TEXTS)
def test_against_a_plain_loop(bert: Classifier, text: str, hide: Hide) -> None:
    plain = Plain(bert, text, hide)
    for seed in range(3):
        scores = np.random.default_rng(seed).integers(-2, 3, plain.n).astype(float)  # with ties: the earlier word first
        order = sorted(range(plain.n), key=lambda i: (-scores[i], i))
        case = judged(bert, text, scores, hide, target=seed)
        assert value(bert, "decision_flip", case) == pytest.approx(plain.decision_flip(order))
        assert value(bert, "comprehensiveness", case) == pytest.approx(plain.area(order, seed, False), abs=1e-5)
        assert value(bert, "sufficiency", case) == pytest.approx(plain.area(order, seed, True), abs=1e-5)


def test_the_plain_loop_sees_flips(bert: Classifier) -> None:
    """The comparison above would be empty if no label ever changed."""
    found = {Plain(bert, text, "mask").decision_flip(list(range(len(words(text))))) for text in TEXTS}
    assert len(found) > 1


def test_curve_begins_with_all_and_ends_with_nothing(bert: Classifier) -> None:
    plain = Plain(bert, TEXTS[0], "mask")
    case = judged(bert, TEXTS[0], np.arange(plain.n, dtype=float), "mask")
    [curve] = Runner(bert).drive([erasure_curve_rounds(case)])
    assert len(curve) == 21
    assert curve[0] == pytest.approx(plain.probabilities(set())[0], abs=1e-5)
    assert curve[10] == pytest.approx(plain.probabilities(set(range(plain.n // 2, plain.n)))[0], abs=1e-5)
    assert curve[-1] == pytest.approx(plain.probabilities(set(range(plain.n)))[0], abs=1e-5)


@pytest.mark.parametrize("n", [1, 3, 7, 10, 19, 20, 21, 150])
def test_flip_counts(n: int) -> None:
    assert flip_counts(n) == sorted({max(1, (5 * s * n + 50) // 100) for s in range(1, 21)})
    assert flip_counts(n)[-1] == n


def test_repeated_bins_count_every_time(bert: Classifier) -> None:
    """Trap 7: of 4 words the bins 1, 5, 10 and 20 % all mean one word and 50 % means two: weights 4/5 and 1/5."""
    plain = Plain(bert, "good old cat sat", "mask")
    full, one, two = (plain.probabilities(set(range(n)))[0] for n in range(3))
    case = judged(bert, "good old cat sat", np.array([4.0, 3, 2, 1]), "mask")
    assert value(bert, "comprehensiveness", case) == pytest.approx(full - (4 * one + two) / 5, abs=1e-5)
    assert len(BINS) == 5


def test_sufficiency_keeps_the_top_words(bert: Classifier) -> None:
    """ferret#27: the released measure masked the words that it should have kept."""
    plain = Plain(bert, "good old cat sat", "mask")
    only_first, only_two = plain.probabilities({1, 2, 3})[0], plain.probabilities({2, 3})[0]
    case = judged(bert, "good old cat sat", np.array([4.0, 3, 2, 1]), "mask")
    expected = plain.probabilities(set())[0] - (4 * only_first + only_two) / 5
    assert value(bert, "sufficiency", case) == pytest.approx(expected, abs=1e-5)
    assert value(bert, "sufficiency", case) != pytest.approx(value(bert, "comprehensiveness", case), abs=1e-4)


def test_words_never_read_are_no_candidates(bert: Classifier) -> None:
    bert.tokenizer.model_max_length = 4
    try:
        case = judged(bert, "a a " + "good " * 8, np.array([-1.0, -2.0] + [9.0] * 8), "mask")
    finally:
        bert.tokenizer.model_max_length = int(1e30)
    assert case.encoded.seen.tolist() == [True] * 2 + [False] * 8
    plain = Plain(bert, "a a", "mask")
    assert value(bert, "comprehensiveness", case) == pytest.approx(plain.area([0, 1], 0, False), abs=1e-5)
    assert value(bert, "decision_flip", case) == pytest.approx(plain.decision_flip([0, 1]))


@pytest.mark.parametrize("hide", HIDE)
def test_loo_tau_is_kendalls(bert: Classifier, hide: Hide) -> None:
    text = TEXTS[0]
    plain = Plain(bert, text, hide)
    effects = [plain.probabilities(set())[1] - plain.probabilities({i})[1] for i in range(plain.n)]
    scores = np.random.default_rng(0).standard_normal(plain.n)
    [found] = Runner(bert).drive([loo_tau_rounds(judged(bert, text, scores, hide, target=1))])
    assert found is not None
    assert found[0] == pytest.approx(kendalltau(scores, effects).statistic, abs=1e-6)


def test_leave_one_out_agrees_with_itself(bert: Classifier) -> None:
    [encoded] = bert.encode([Example("x", {"text": TEXTS[1]})])
    [made] = explain(Runner(bert), [encoded], METHODS["leave_one_out"], target=Label(0), hide="mask")
    assert Runner(bert).drive([loo_tau_rounds(Judged(encoded, made, "mask", Label(0)))]) == [(pytest.approx(1.0),)]


def test_rank_agreement_by_hand() -> None:
    """(1,2,3) and (1,3,2): of 3 pairs 2 agree and 1 does not: τ = 1/3. With a tie in a: (1,1,2), (1,2,3): 2/√(2·3)."""
    assert rank_agreement(np.array([1.0, 2, 3]), np.array([1.0, 3, 2])) == (pytest.approx(1 / 3),)
    assert rank_agreement(np.array([1.0, 1, 2]), np.array([1.0, 2, 3])) == (pytest.approx(2 / 6**0.5),)
    for a, b in [([1.0, 1, 1], [1.0, 2, 3]), ([1.0, 2, 3], [0.0, 0, 0]), ([1.0], [1.0]), ([], [])]:
        assert rank_agreement(np.array(a), np.array(b)) is None


@pytest.mark.parametrize("length", [2, 3, 17, 128, 129])
def test_rank_agreement_has_the_bits_of_scipys(length: int) -> None:
    """Both ways to count pairs, with and without ties, also where numbers hardly differ."""
    drawn = np.random.default_rng(length)
    for ties in (2, 5, 10**9):
        for _ in range(20):
            a, b = drawn.integers(0, ties, (2, length)) * 1e-300
            found = rank_agreement(a, b)
            constant = len(set(a.tolist())) == 1 or len(set(b.tolist())) == 1
            assert found == (None if constant else (float(kendalltau(a, b).statistic),))
