"""FRESH: the extraction rules against brute force, and proof that the rationale classifier sees the selected words only."""

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny import MODELS, pairs, texts

from whence.data import Corpus, Example, words
from whence.errors import BadInput
from whence.explain import METHODS, explain
from whence.measure.fresh import fresh, rationale_corpus, rationale_example, rationale_words, support_scores
from whence.models import Classifier
from whence.run import Runner
from whence.teach import Job, Settings, run_job


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHENCE_CACHE", str(tmp_path / "cache"))


scores_drawn = st.lists(st.integers(-3, 3).map(float), min_size=1, max_size=12).map(np.array)
ratios = st.sampled_from([0.05, 0.1, 0.2, 1 / 3, 0.5, 1.0])


@given(scores_drawn, ratios)
def test_topk_is_the_first_best_set(scores: np.ndarray, ratio: float) -> None:
    """Of all sets of k words with the largest sum, the one that comes first."""
    k = math.ceil(Fraction(str(ratio)) * len(scores))
    best = max(scores[list(c)].sum() for c in itertools.combinations(range(len(scores)), k))
    first = next(c for c in itertools.combinations(range(len(scores)), k) if scores[list(c)].sum() == best)
    assert tuple(np.flatnonzero(rationale_words(scores, ratio, "topk"))) == first


@given(scores_drawn, ratios)
def test_contiguous_is_the_first_best_window(scores: np.ndarray, ratio: float) -> None:
    k = math.ceil(Fraction(str(ratio)) * len(scores))
    sums = [scores[i : i + k].sum() for i in range(len(scores) - k + 1)]
    start = sums.index(max(sums))
    assert np.flatnonzero(rationale_words(scores, ratio, "contiguous")).tolist() == list(range(start, start + k))


def test_length_is_exact_and_of_the_words_that_were_read() -> None:
    assert rationale_words(np.zeros(15), 0.2, "topk").sum() == 3  # 0.2 * 15 is above 3 in floats
    assert rationale_words(np.zeros(16), 0.2, "topk").sum() == 4
    cut = np.array([0.0, 1.0, 0.0, 0.0, 0.0, -np.inf, -np.inf, -np.inf])
    for how in ("topk", "contiguous"):
        assert np.flatnonzero(rationale_words(cut, 0.2, how)).tolist() == [1]
    assert not rationale_words(np.zeros(0), 0.2, "topk").any()
    with pytest.raises(BadInput, match="unknown way to extract a rationale 'span': expected one of contiguous, topk"):
        rationale_words(np.zeros(2), 0.2, "span")
    with pytest.raises(BadInput, match="share of words"):
        rationale_words(np.zeros(2), 0.0, "topk")


def test_document_order_and_the_query_stays() -> None:
    texts_of = {"premise": "One two, three four.", "hypothesis": "Which?"}
    marks = ({"premise": ((0, 3),)},)
    example = Example("1", texts_of, "True", highlights=marks, explanations=("because of one",), meta={"source": "One"})
    scores = np.array([0.1, 0.0, 0.0, 0.9, 0.5, 0.0])
    assert words(example.texts["premise"]) == ["One", "two", ",", "three", "four", "."]
    found = rationale_example(example, scores, 0.5, "topk")
    assert found == Example("1", {"premise": "One three four", "hypothesis": "Which?"}, "True")  # nothing else goes along


def toy(change_unselected: bool = False) -> tuple[Corpus, dict[str, list[np.ndarray]]]:
    """Texts with "good" or "bad" at a known place, and scores that select that place and the next; the rest can be changed."""

    def rows(split: str, count: int) -> tuple[list[Example], list[np.ndarray]]:
        draw, other = np.random.default_rng(len(split)), np.random.default_rng(99)
        examples, scores = [], []
        for i in range(count):
            text = draw.choice(["film", "the", "plot", "was", "and", "a"], size=8).tolist()
            at = int(draw.integers(0, 7))
            text[at] = "good" if i % 2 else "bad"
            if change_unselected:
                text = [w if at <= j <= at + 1 else f"secret{other.integers(1000)}" for j, w in enumerate(text)]
            examples.append(Example(f"{split}{i}", {"text": " ".join(text)}, "positive" if i % 2 else "negative"))
            scores.append(np.isin(np.arange(8), [at, at + 1]).astype(float))
        return examples, scores

    made = {split: rows(split, count) for split, count in {"train": 96, "dev": 16, "test": 16}.items()}

    def split_of(name: str) -> "Iterator[Example]":
        return iter(made[name][0])

    corpus = Corpus("toy", "text", ("negative", "positive"), {name: (lambda name=name: split_of(name)) for name in made})
    return corpus, {name: scores for name, (_, scores) in made.items()}


def job() -> Job:
    settings = Settings(epochs=4, batch_size=8, learning_rate=1e-2)
    return Job(data="toy", model="bilstm", options={"hidden_size": 8, "embedding_dim": 8}, settings=settings)


@pytest.mark.parametrize("how", ["topk", "contiguous"])
def test_the_classifier_sees_the_selected_words_only(tmp_path: Path, how: str) -> None:
    """Trained twice, the second time with every unselected word replaced: the same weights, predictions and vocabulary."""
    results, prints, vocabularies = [], [], []
    for secret in (False, True):
        corpus, scores = toy(secret)
        rationales = rationale_corpus("toy", corpus, scores, 0.25, how)
        for split in ("train", "dev", "test"):
            for full, short in zip(corpus.load(split), rationales.load(split), strict=True):
                at = next(i for i, w in enumerate(words(full.texts["text"])) if w in ("good", "bad"))
                assert words(short.texts["text"]) == words(full.texts["text"])[at : at + 2]
        result = run_job(job(), rationales, tmp_path / f"{secret}", lambda _: None)
        results.append({name: result[name] for name in ("dev", "test", "history")})
        classifier = Classifier.load(tmp_path / f"{secret}")
        prints.append(classifier.fingerprint)
        vocabularies.append(classifier.tokenizer.get_vocab())
        # by ids: a rationale has the tokens of its two words and the special ones, in the order of the text
        for full, short in zip(corpus.load("test"), classifier.encode(rationales.load("test")), strict=True):
            at = next(i for i, w in enumerate(words(full.texts["text"])) if w in ("good", "bad"))
            chosen = [classifier.tokenizer.convert_tokens_to_ids(w) for w in words(full.texts["text"])[at : at + 2]]
            assert short.ids[short.field >= 0].tolist() == chosen
            assert set(short.ids[short.field < 0]) <= set(classifier.tokenizer.all_special_ids)
    assert results[0] == results[1]
    assert prints[0] == prints[1]
    assert vocabularies[0] == vocabularies[1]
    assert results[0]["test"]["macro_f1"] > 0.9


@pytest.mark.parametrize("model", ["bert", "roberta", "distilbert"])
def test_sub_word_models_read_the_selected_words_only(model: str) -> None:
    """Unselected words are exchanged for others; ids stay the same. For pairs, the query is there whole."""
    classifier = MODELS[model]()
    draw = np.random.default_rng(0)
    for example in [*texts(), *pairs()]:
        first = next(iter(example.texts))
        scores = draw.standard_normal(len(words(example.texts[first])))
        chosen = rationale_words(scores, 0.3, "topk")
        altered = [w if keep else "zebra" for w, keep in zip(words(example.texts[first]), chosen, strict=True)]
        same = replace(example, texts={**example.texts, first: " ".join(altered)})
        if len(words(same.texts[first])) != len(scores):
            continue  # a replaced mark glued two words together
        one, other = classifier.encode([rationale_example(e, scores, 0.3, "topk") for e in (example, same)])
        assert one.ids.tolist() == other.ids.tolist()
        if len(one.fields) == 2:
            [full] = classifier.encode([example])
            assert one.ids[one.field == 1].tolist() == full.ids[full.field == 1].tolist()


def test_support_scores_are_the_explainers_and_kept() -> None:
    classifier = MODELS["bert"]()
    examples = pairs()
    found = support_scores(classifier, examples, METHODS["attention"])
    explained = explain(Runner(classifier), classifier.encode(examples), METHODS["attention"])
    for x, scores in zip(explained, found, strict=True):
        assert scores == pytest.approx(x.by_text()["premise"])
    classifier.model.eval = None  # no pass any more: the second time it is read from the cache
    classifier.model.forward = None
    again = support_scores(classifier, examples, METHODS["attention"])
    assert all(np.array_equal(a, b) for a, b in zip(found, again, strict=True))


def test_fresh_end_to_end(tmp_path: Path) -> None:
    """Attention of a trained support model; the result is that of training on the extracted corpus by hand."""
    corpus, _ = toy()
    run_job(job(), corpus, tmp_path / "support", lambda _: None)
    support = Classifier.load(tmp_path / "support")
    results = fresh(
        job(), corpus, support, METHODS["integrated_gradients"], 0.25, "topk", parameters={"n_steps": 4}, say=lambda _: None
    )
    assert results["test"]["macro_f1"] > 0.9
    scores = {
        s: support_scores(support, corpus.load(s), METHODS["integrated_gradients"], parameters={"n_steps": 4})
        for s in corpus.splits
    }
    by_hand = run_job(job(), rationale_corpus("toy", corpus, scores, 0.25, "topk"), tmp_path / "by hand", lambda _: None)
    assert by_hand["history"] == results["history"]
    random = fresh(job(), corpus, support, METHODS["random"], 0.25, "topk", say=lambda _: None)
    assert random["test"]["macro_f1"] < results["test"]["macro_f1"]
