"""Salience priors: TextRank against networkx, tf-idf and χ² against scikit-learn on plain lists, one contract for all."""

import math
from collections.abc import Sequence
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.feature_selection import chi2 as sklearn_chi2
from tiny import MODELS, pairs, texts

import whence.teach.salience.textrank as textrank_file
from whence.data import Example
from whence.errors import BadInput
from whence.models import Encoded
from whence.teach.salience import PRIORS, Tokens
from whence.teach.salience.cache import salience
from whence.teach.salience.prior import normalised, softmaxed
from whence.teach.salience.textrank import textrank


def encoded_from(*parts: Sequence[int], highlights: tuple[tuple[int, int], ...] = ()) -> Encoded:
    """Token ids of one text or of two, between special tokens 101 and 102; each token is a word "a"."""
    ids, field = [101], [-1]
    for number, part in enumerate(parts):
        ids += [*part, 102]
        field += [number] * len(part) + [-1]
    names = ("text",) if len(parts) == 1 else ("premise", "hypothesis")
    strings = {name: " ".join("a" * len(part)) for name, part in zip(names, parts, strict=True)}
    word = np.full(len(ids), -1)
    inside = np.array(field) >= 0
    word[inside] = np.arange(inside.sum())
    marks = ({names[0]: highlights},) if highlights else ()
    spans = tuple(tuple((2 * i, 2 * i + 1) for i in range(len(part))) for part in parts)
    example, carrier = Example("x", strings, "l", highlights=marks), np.arange(inside.sum())
    return Encoded(example, names, spans, np.array(ids), None, np.array(field), word, carrier)


def tokens_of(*encoded: Encoded) -> Tokens:
    return Tokens(encoded, np.arange(len(encoded)) % 2)


def split(values: np.ndarray, tokens: Tokens) -> list[np.ndarray]:
    return np.split(values, tokens.starts[1:-1])


def networkx_salience(parts: Sequence[Sequence[int]], window: int, damping: float) -> np.ndarray:
    """The same graph by plain loops; PageRank by networkx, spread over positions, as a distribution."""
    graph = nx.Graph()
    for part in parts:
        graph.add_nodes_from(part)
        for i, a in enumerate(part):
            graph.add_edges_from((a, b) for b in part[i + 1 : i + window] if a != b)
    ranks = nx.pagerank(graph, alpha=damping, tol=1e-12, max_iter=10_000)
    by_position = np.array([ranks[token] for part in parts for token in part])
    return by_position / by_position.sum()


document = st.lists(st.integers(0, 9), min_size=1, max_size=25)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(document, st.none() | document), min_size=1, max_size=6), st.integers(2, 8), st.floats(0.5, 0.95))
def test_textrank_is_networkx_pagerank(drawn: list, window: int, damping: float) -> None:
    parts = [[p for p in pair if p is not None] for pair in drawn]
    tokens = tokens_of(*(encoded_from(*several) for several in parts))
    found = textrank(tokens, tokens, window=window, damping=damping, steps=2000, tolerance=1e-13)
    for several, encoded, values in zip(parts, tokens.encoded, split(normalised(found, tokens), tokens), strict=True):
        expected = networkx_salience(several, window, damping)
        assert np.abs(values[encoded.field >= 0] - expected).max() < 1e-6
        assert not values[encoded.field < 0].any()


@settings(deadline=None, max_examples=40)
@given(document, st.integers(1, 12))
def test_steps_contract_by_the_damping(ids: list[int], steps: int) -> None:
    """The L1 distance to the fixed point shrinks at least by the damping factor in every step."""
    tokens = tokens_of(encoded_from(ids))
    [end] = split(textrank(tokens, tokens, steps=3000, tolerance=1e-14), tokens)
    [here] = split(textrank(tokens, tokens, steps=steps, tolerance=0.0), tokens)
    _, first = np.unique(tokens.ids, return_index=True)
    nodes = first[tokens.content[first]]
    assert np.abs(here - end)[nodes].sum() <= 0.85**steps * np.abs(1 - end)[nodes].sum() + 1e-9


def test_textrank_by_hand() -> None:
    """Window 2: 7–8–9 is a path. With d: σ_8 = 0.15 + 0.85 (σ_7 + σ_9), σ_7 = 0.15 + 0.85 σ_8 / 2, the ends alike."""
    tokens = tokens_of(encoded_from([7, 8, 9]))
    middle = (0.15 + 2 * 0.85 * 0.15) / (1 - 0.85**2)
    end = 0.15 + 0.85 * middle / 2
    found = textrank(tokens, tokens, window=2, steps=1000, tolerance=1e-12)
    assert found == pytest.approx([0, end, middle, end, 0])
    one_step = textrank(tokens, tokens, window=2, steps=1, tolerance=0.0)
    assert one_step == pytest.approx([0, 0.15 + 0.85 / 2, 0.15 + 2 * 0.85, 0.15 + 0.85 / 2, 0])


def test_one_word_and_repeated_word() -> None:
    tokens = tokens_of(encoded_from([5]), encoded_from([5, 5, 5]), encoded_from([]), encoded_from([6], []))
    found = split(normalised(textrank(tokens, tokens), tokens), tokens)
    assert found[0] == pytest.approx([0, 1, 0])
    assert found[1] == pytest.approx([0, 1 / 3, 1 / 3, 1 / 3, 0])
    assert not found[2].any()
    assert found[3] == pytest.approx([0, 1, 0, 0])


def released_by_loops(ids: list[int]) -> np.ndarray:
    """Ids between the first and last token; written after the description of the released code, with its stop rule."""
    types = sorted(set(ids))
    seen = {(a, ids[j]) for i, a in enumerate(ids) for j in range(i + 1, min(i + 8, len(ids)))}
    weights = np.zeros((len(types), len(types)))
    for a, b in seen:
        weights[types.index(a), types.index(b)] = 1
    weights = weights + weights.T - np.diag(np.diag(weights))
    columns = weights.sum(0)
    weights = weights / np.where(columns > 0, columns, 1)
    scores, before = np.ones(len(types)), 0.0
    for _ in range(10):
        scores = 0.15 + 0.85 * weights @ scores
        if abs(before - scores.sum()) < 1e-5:
            break
        before = scores.sum()
    return np.array([scores[types.index(a)] for a in ids])


@settings(deadline=None, max_examples=40)
@given(document, document)
def test_released_textrank(first: list[int], second: list[int]) -> None:
    options = {"window": 8, "released": True}
    tokens = tokens_of(encoded_from(first), encoded_from(first, second))
    single, pair = split(textrank(tokens, tokens, **options), tokens)
    assert single[1:-1] == pytest.approx(released_by_loops(first))
    assert pair[1:-1] == pytest.approx(released_by_loops([*first, 102, *second]))
    assert single[0] == single[-1] == pair[0] == pair[-1] == 0


def test_released_softmax_gives_special_tokens_mass() -> None:
    tokens = tokens_of(encoded_from([3, 4]), encoded_from([3]))
    scores = np.array([0.0, 1.0, 2.0, 0.0, 0.0, 0.15, 0.0])
    first, second = split(softmaxed(scores, tokens), tokens)
    total = 2 + math.e + math.e**2
    assert first == pytest.approx([1 / total, math.e / total, math.e**2 / total, 1 / total])
    assert second.sum() == pytest.approx(1)


@settings(deadline=None, max_examples=20)
@given(st.lists(document, min_size=2, max_size=8))
def test_neither_batch_nor_chunk_changes_a_number(several: list[list[int]]) -> None:
    encoded = [encoded_from(ids) for ids in several]
    together = tokens_of(*encoded)
    all_at_once = split(textrank(together, together), together)
    chunk, textrank_file.CHUNK = textrank_file.CHUNK, 5
    try:
        chunked = split(textrank(together, together), together)
    finally:
        textrank_file.CHUNK = chunk
    for e, a, b in zip(encoded, all_at_once, chunked, strict=True):
        alone = tokens_of(e)
        assert np.array_equal(a, b)
        assert np.allclose(a, textrank(alone, alone), rtol=0, atol=1e-15)


TRAIN = [[1, 2, 3, 3], [2, 4], [1, 4, 4, 5], [5, 6, 1]]


def test_tfidf_and_chi2_are_scikit_learns() -> None:
    train, new = tokens_of(*map(encoded_from, TRAIN)), tokens_of(encoded_from([3, 1, 9, 3]))
    vectorizer = TfidfVectorizer(analyzer=lambda ids: ids, vocabulary=range(10), lowercase=False)
    fitted = vectorizer.fit_transform(TRAIN)
    expected = vectorizer.transform([[3, 1, 9, 3]]).toarray()[0]
    assert PRIORS["tfidf"].score(new, train)[1:-1] == pytest.approx(expected[[3, 1, 9, 3]])
    by_piece = np.nan_to_num(sklearn_chi2(fitted, train.labels)[0])
    assert by_piece[9] == 0
    assert PRIORS["chi2"].score(new, train)[1:-1] == pytest.approx(by_piece[[3, 1, 9, 3]])


def test_planted_is_the_highlighted_words() -> None:
    tokens = tokens_of(encoded_from([3, 4, 5], highlights=((2, 5),)), encoded_from([3, 4]))
    marked, unmarked = split(normalised(PRIORS["planted"].score(tokens, tokens), tokens), tokens)
    assert marked == pytest.approx([0, 0, 0.5, 0.5, 0])
    assert unmarked == pytest.approx([0, 0.5, 0.5, 0])


@pytest.mark.parametrize("model", ["bert", "roberta", "distilbert"])
@pytest.mark.parametrize("name", list(PRIORS))
def test_contract(name: str, model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A distribution over content tokens, both texts of a pair; nothing on special tokens; empty texts are no trouble."""
    monkeypatch.setenv("WHENCE_CACHE", str(tmp_path))
    classifier = MODELS[model]()
    options = {}
    if "model" in PRIORS[name].options:  # a prior that asks a model trained before
        classifier.model.save_pretrained(tmp_path / "trained")
        classifier.tokenizer.save_pretrained(tmp_path / "trained")
        options = {"model": str(tmp_path / "trained")}
    nothing = [Example("e", {"text": ""}, "neutral"), Example("s", {"text": " \n "}, "neutral")]
    empty_pair = Example("p", {"premise": "", "hypothesis": "good"}, "neutral")
    for examples in (texts() + nothing, [*pairs(), empty_pair]):
        encoded = classifier.encode(examples)
        tokens = Tokens(encoded, np.array([i % 3 for i in range(len(examples))]))
        found = salience(name, tokens, tokens, options)
        assert len(found) == len(encoded)
        for e, values in zip(encoded, found, strict=True):
            content = e.field >= 0
            assert values.shape == e.ids.shape
            assert (values >= 0).all()
            assert not values[~content].any()
            assert values.sum() == pytest.approx(1.0 if content.any() else 0.0, abs=1e-5)
    both = next(v for e, v in zip(encoded, found, strict=True) if (e.field == 0).any() and (e.field == 1).any())
    if name in ("textrank", "uniform"):
        assert all(both[encoded[0].field == f].sum() > 0 for f in (0, 1))
    assert salience(name, Tokens([], np.zeros(0, dtype=int)), tokens, options) == []


def test_cache_is_asked_by_everything_that_matters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHENCE_CACHE", str(tmp_path))
    tokens = tokens_of(*map(encoded_from, TRAIN))
    first = salience("textrank", tokens, tokens)
    [file] = tmp_path.rglob("*.parquet")
    stamp = file.stat().st_mtime_ns
    again = salience("textrank", tokens_of(*map(encoded_from, TRAIN)), tokens)
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert file.stat().st_mtime_ns == stamp
    relabelled = Tokens(tokens.encoded, tokens.labels[::-1].copy())
    for other in (
        lambda: salience("textrank", tokens, tokens, {"window": 3}),
        lambda: salience("textrank", tokens, tokens, scaling="softmaxed"),
        lambda: salience("chi2", tokens, tokens),
        lambda: salience("chi2", tokens, relabelled),
        lambda: salience("textrank", tokens_of(*map(encoded_from, TRAIN[:3])), tokens),
    ):
        before = len(list(tmp_path.rglob("*.parquet")))
        other()
        assert len(list(tmp_path.rglob("*.parquet"))) == before + 1
    with pytest.raises(BadInput, match=r"unknown salience prior 'x': expected one of .*chi2, .*uniform"):
        salience("x", tokens, tokens)
    with pytest.raises(BadInput, match="unknown option of salience prior textrank 'windw'"):
        salience("textrank", tokens, tokens, {"windw": 3})
