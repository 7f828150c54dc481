"""Measures of written explanations against independent truths: NLTK, sums to one, hand counts, and the papers' human rows."""

import itertools
import math
import os
import random
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from whence.data import open_corpus
from whence.errors import BadInput
from whence.measure.text.bleu import bleu, bleu_of, bleu_statistics, human_bleu
from whence.measure.text.evolution import deciding_tokens, movement, movement_share
from whence.measure.text.language_model import END, START, UNKNOWN, KneserNey, perplexity_of, text_model
from whence.measure.text.repetition import inter_repetition, repetition_difference
from whence.measure.text.similarity import cosine, learned_vectors
from whence.measure.text.telling import Reader
from whence.measure.text.tokens import spaced, treebank

DATA = Path(os.environ.get("WHENCE_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data")
SENTENCES = [
    'A man "poses" in front of an ad, isn\'t he?', "You cannot be outside and inside (the lobby) at 10:30.",
    "The man's hat is red...",
    "it's 3,000 miles; they're gonna go -- really!", '"The women were walking" is a rephrase of, "two women walk."',
    "", "Dogs' bones aren't we'll I'd you've", "basketball not same as football..", "'tis the end", "a/b and well-known [sic]",
    "gimme that, lemme see: I wanna, I gotta", "the girls can't walk & sit @ home #1 50% $5 <b>",
]  # fmt: skip


def explanations(name: str, split: str) -> list[tuple[str, ...]]:
    if not DATA.is_dir():
        pytest.skip("the published corpora are not here: set WHENCE_DATA to their folder")
    return [example.explanations for example in open_corpus(name, DATA).load(split)]


@pytest.mark.parametrize("text", SENTENCES)
def test_tokens_are_the_treebanks(text: str) -> None:
    nltk = pytest.importorskip("nltk.tokenize")
    assert treebank(text) == nltk.TreebankWordTokenizer().tokenize(text.lower())


def test_inner_full_stops_become_semicolons_and_letters_ascii() -> None:
    assert treebank("A bar is indoors. A café… is not.") == ["a", "bar", "is", "indoors", ";", "a", "caf", "is", "not", "."]
    assert treebank("well.. no.") == ["well..", "no", "."]
    assert treebank("e.g. this") == ["e.g", ";", "this"]  # as the public files have it
    assert spaced("A bar. Is ") == ["a", "bar.", "is"]


def test_bleu_is_nltks_with_two_references() -> None:
    nltk = pytest.importorskip("nltk.translate.bleu_score")
    draw = random.Random(0)
    texts = [" ".join(draw.choices("ab", k=draw.randint(4, 9))) for _ in range(40)]
    written, first, second, third = texts[:10], texts[10:20], texts[20:30], texts[30:]
    references = list(zip(first, second, third, strict=True))
    expected = nltk.corpus_bleu([[a.split(), b.split()] for a, b, _ in references], [text.split() for text in written])
    assert expected > 0.1
    assert bleu(written, references) == pytest.approx(100 * expected)
    assert bleu(["x y z w"], [["x y z w"]]) == pytest.approx(100)
    assert human_bleu(references) == pytest.approx(bleu(third, references))
    assert human_bleu([("a", "b")]) is None


def test_bleu_of_statistics_is_sacrebleus() -> None:
    draw = random.Random(1)
    texts = [" ".join(draw.choices("abc", k=draw.randint(2, 9))) for _ in range(60)]
    references = list(zip(texts[20:40], texts[40:], strict=True))
    rows = bleu_statistics(texts[:20], references)
    assert float(bleu_of(rows)) == pytest.approx(bleu(texts[:20], references))
    drawn = np.array([[draw.randrange(20) for _ in range(20)] for _ in range(3)])
    expected = [bleu([texts[i] for i in one], [references[i] for i in one]) for one in drawn]
    assert bleu_of(rows[drawn]) == pytest.approx(expected)
    assert bleu_of(bleu_statistics(["", "x"], [["a"], ["b"]])) == 0


def test_a_difference_in_repetition_is_tested_by_exchange() -> None:
    draw = random.Random(0)
    varied, other = ([" ".join(draw.choices("abcdefgh", k=8)) for _ in range(40)] for _ in range(2))
    gap, p = repetition_difference(["a b c d e f g h"] * 40, varied)
    assert gap == pytest.approx(inter_repetition(["a b c d e f g h"] * 40) - inter_repetition(varied))
    assert p < 0.01
    assert repetition_difference(varied, varied) == (0, 1)
    assert repetition_difference(varied, other)[1] > 0.05


def test_repetition_by_hand() -> None:
    assert inter_repetition(["a b c d", "a b c", "x y"]) == pytest.approx(1 - 2 / 3)
    assert inter_repetition(["a", "b b"]) == 0
    assert inter_repetition(["a b c"] * 10) == pytest.approx(0.9)


TEXTS = [list(text) for text in ("abab", "abca", "b", "cab", "abab", "bbca", "")]


@pytest.mark.parametrize("order", [1, 2, 3, 5])
def test_probabilities_sum_to_one_after_every_history(order: int) -> None:
    model = KneserNey(TEXTS, order)
    for length in range(order):
        for history in itertools.product(["a", "b", "c", UNKNOWN, START], repeat=length):
            every = [model.probability(word, history) for word in model.vocabulary]
            assert sum(every) == pytest.approx(1, abs=1e-12)
            assert min(every) > 0


def test_kneser_ney_is_nltks() -> None:
    """With its one discount for all lengths, and none for single words."""
    nltk = pytest.importorskip("nltk.lm")
    order, d = 3, 0.1
    lines = [[START] * (order - 1) + text + [END] for text in TEXTS]
    grams = [tuple(line[i : i + n]) for line in lines for n in range(1, order + 1) for i in range(order - n, len(line) - n + 1)]
    theirs = nltk.KneserNeyInterpolated(order, discount=d)
    theirs.fit([grams], vocabulary_text=[word for line in lines for word in line])
    ours = KneserNey(TEXTS, order, discounts=(0, d, d))
    seen = {gram[:-1] for gram in grams if len(gram) == order}
    checked = 0
    for history in seen:
        for word in ("a", "b", "c", END):
            assert ours.probability(word, history) == pytest.approx(theirs.score(word, history), abs=1e-12)
            checked += 1
    assert checked > 20


def test_perplexity_is_the_mean_of_its_logarithms() -> None:
    model = KneserNey(TEXTS, 2)
    texts = [["a", "b"], ["z"]]
    steps = [(START, "a"), ("a", "b"), ("b", END), (START, "z"), (UNKNOWN, END)]
    logs = -sum(math.log(model.probability(word, (before,))) for before, word in steps)
    found = model.perplexity(texts)
    assert found.value == pytest.approx(math.exp(logs / 5))
    assert found.without_ends == pytest.approx(math.exp(logs / 3))
    assert found.unknown == pytest.approx(1 / 3)
    fair = KneserNey([["a"], ["b"]] * 50, 1, discounts=(0,))
    assert fair.perplexity([["a", "b"]]).value == pytest.approx(4 ** (2 / 3) * 2 ** (1 / 3))  # half of all tokens are ends
    assert math.isnan(model.perplexity([]).value)
    rows = model.surprisal(texts)
    assert float(perplexity_of(rows)) == pytest.approx(found.value)
    assert perplexity_of(rows[np.array([[0, 0], [1, 0]])])[1] == pytest.approx(found.value)
    with pytest.raises(BadInput, match="no texts"):
        KneserNey([])


def test_a_language_model_prefers_its_own_language() -> None:
    corpus = open_corpus("scenes", None)
    model = text_model([e.explanations[0] for e in corpus.load("train", 500)])
    good = [e.explanations[0] for e in corpus.load("test", 50)]
    shuffled = [" ".join(random.Random(0).sample(text.split(), len(text.split()))) for text in good]
    one, other = (model.perplexity([treebank(text) for text in texts]).value for texts in (good, shuffled))
    assert one < other / 3


def test_cosine_by_hand_and_learned_vectors_tell_alike_from_unlike() -> None:
    vectors = {"a": np.array([1.0, 0.0]), "b": np.array([0.0, 1.0])}
    assert cosine("a b", "a x", vectors) == pytest.approx(0.5**0.5)
    assert cosine("a", "b", vectors) == pytest.approx(0)
    assert cosine("x", "a", vectors) is None
    assert cosine("a", "c", {**vectors, "c": np.zeros(2)}) is None
    texts = ["a cat is an animal", "a dog is an animal", "red is not blue", "green is not red", "a cat is not a dog"]
    learned = learned_vectors(texts, 3)
    near, far = (cosine("a cat is an animal", other, learned) for other in ("a dog is an animal", "red is not blue"))
    assert near is not None
    assert far is not None
    assert near > far
    again = learned_vectors(texts, 3)
    assert all(np.array_equal(learned[word], again[word]) for word in learned)


def test_movement_is_total_variation_and_its_share_is_pooled() -> None:
    steps = np.array([[0.5, 0.5, 0.0], [0.5, 0.25, 0.25], [0.0, 0.0, 1.0]])
    assert movement(steps) == pytest.approx([0.25, 0.75])
    tokens = ["A", " sculp", "tor", " is", " an", " artist", "."]
    assert deciding_tokens(tokens, {"Sculptor", "artist"}).tolist() == [False, True, True, False, False, True, False]
    moves = [np.array([0.0, 0.4, 0.1]), np.array([0.2, 0.0]), np.zeros(2), np.ones(2)]
    marks = [np.array(m, dtype=bool) for m in ([0, 1, 0], [0, 1], [0, 1], [1, 1])]
    found = movement_share(moves, marks)
    assert found is not None
    assert found.share.value == pytest.approx(0.4 / 0.7)
    assert found.chance == pytest.approx((0.5 / 3 + 0.2 / 2) / 0.7)
    assert found.gain.value == pytest.approx(found.share.value - found.chance)
    assert (found.texts, found.left_out) == (2, 2)
    assert movement_share([np.zeros(3)], [np.array([True, False, False])]) is None


def test_telling_words_move_a_reader_of_explanations_alone() -> None:
    things = [f"thing{i}" for i in range(200)]
    told = [(f"A {a} is {'not ' * no}a {b}.", no) for a, b in pairwise(things) for no in (0, 1)] * 2
    reader = Reader(told, 2)
    assert reader.common == {"a", "is", "not", "."}
    text = "A dancer is not a fox."
    n = len(told) // 2
    sure = (n + 1) / (n + 2)  # each label once more than seen
    assert reader.moves(text) == pytest.approx([0, 0, 0, sure - 0.5, 0, 0, 0])
    assert reader.moves("A dancer is a fox. No!")[3] == pytest.approx(sure - 0.5)
    assert reader.moves("A dancer is a fox. No!")[4:].tolist() == [0, 0, 0, 0], "nothing is learned past a known beginning"
    assert reader.telling_tokens(["A", " danc", "er", " is", " n", "ot", " a", " fox", "."]).nonzero()[0].tolist() == [4, 5]


def test_movement_at_random_is_chance_and_planted_movement_is_found() -> None:
    draw = np.random.default_rng(0)
    marks = [draw.random(8) < 0.3 for _ in range(200)]
    at_random = movement_share([draw.random(8) for _ in marks], marks)
    planted = movement_share([draw.random(8) + 2 * mark for mark in marks], marks)
    assert at_random is not None
    assert planted is not None
    assert at_random.gain.low < 0 < at_random.gain.high
    assert at_random.p > 0.01
    assert planted.gain.low > 0.2
    assert planted.p < 0.001


@pytest.mark.realdata
def test_people_have_the_published_bleu_and_repetition() -> None:
    """Table 1 of Liu et al. 2022: 22.51, 0.40; e-SNLI's third explanation against the first two."""
    written = explanations("esnli", "test")
    found = human_bleu(written)
    assert found == pytest.approx(22.5, abs=0.1)
    by_annotator = [inter_repetition([several[k] for several in written]) for k in range(3)]
    assert by_annotator == pytest.approx([0.40] * 3, abs=0.02)
    assert bleu([several[0] for several in written], [several[1:] for several in written]) == pytest.approx(22.64, abs=0.1)


@pytest.mark.realdata
def test_people_repeat_less_on_commonsense_questions() -> None:
    """Table 1: 0.16, of the file as published, split at spaces."""
    assert inter_repetition([several[0] for several in explanations("cose_v1.11", "dev")], spaced) == pytest.approx(
        0.16, abs=0.01
    )
