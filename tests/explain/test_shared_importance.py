"""What label and rationale share beyond the text: the statistic against numpy's correlation, its null, its verdicts; which
written tokens a text decides, against the decoder asked by hand."""

import numpy as np
import pytest
import torch
from test_rationales import PAIRS, writer

from whence.explain.text import Rationale, noise_on, write_rationales
from whence.explain.text.importance import Importance, importances, shaken_importances, text_shares
from whence.measure.shared_importance import SharedImportance, depending, shared_importance
from whence.measure.statistics import Estimate
from whence.models import Seq2Seq
from whence.models.generator import Generator

DRAWS, TEXTS, WORDS = 4, 30, 6


def shaken(bond: float, seed: int = 0) -> list[list[Importance | None]]:
    """Words that matter to both, in every draw; on top of that, moves of which a part `bond` is common."""
    draw = np.random.default_rng(seed)
    known = 3 * draw.standard_normal((TEXTS, WORDS))
    common, one, other = draw.standard_normal((3, DRAWS, TEXTS, WORDS))
    label, rationale = (np.exp(known + np.sqrt(bond) * common + np.sqrt(1 - bond) * own) for own in (one, other))
    return [[Importance(str(i), tuple("abcdef"), label[d, i], rationale[d, i]) for i in range(TEXTS)] for d in range(DRAWS)]


def test_the_statistic_is_a_correlation_of_what_the_mean_over_draws_leaves() -> None:
    given = shaken(0.5)
    found = shared_importance([[*row, None] for row in given], 1.0)
    expected = []
    for i in range(TEXTS):
        parts = []
        for name in ("label", "rationale"):
            logs = np.log([getattr(row[i], name) for row in given])
            logs -= logs.mean(1, keepdims=True)
            parts.append((logs - logs.mean(0)).ravel())
        expected.append(np.corrcoef(*parts)[0, 1])
    assert found.value is not None
    assert found.value.value == pytest.approx(np.mean(expected))
    assert (found.examples, found.left_out) == (TEXTS, 1)
    assert found.verdict == "associated"
    assert found.p == pytest.approx(1 / 2001)


def test_words_that_matter_to_everybody_are_no_bond() -> None:
    verdicts = [shared_importance(shaken(0.0, seed), 1.0) for seed in range(20)]
    assert all(one.verdict != "associated" for one in verdicts)
    assert sum(one.verdict == "not associated" for one in verdicts) >= 15  # 30 short texts leave some undecided
    assert sum(one.p < 0.05 for one in verdicts) <= 4
    assert shared_importance(shaken(1.0), 1.0).value == Estimate(1.0, 1.0, 1.0)


def test_size_of_the_scores_does_not_matter() -> None:
    given = shaken(0.5)
    louder = [[Importance(x.id, x.words, x.label * 7, x.rationale * 1e-6) for x in row if x] for row in given]
    assert shared_importance(louder, 1.0).value.value == pytest.approx(shared_importance(given, 1.0).value.value)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("value", "p", "depends", "expected"),
    [
        (Estimate(0.4, 0.3, 0.5), 0.001, 1.0, "associated"),
        (Estimate(0.4, 0.3, 0.5), 0.02, 1.0, "undecided"),
        (Estimate(0.4, 0.1, 0.7), 0.001, 1.0, "undecided"),
        (Estimate(0.0, -0.1, 0.1), 0.5, 1.0, "not associated"),
        (Estimate(0.0, -0.3, 0.3), 0.5, 1.0, "undecided"),
        (Estimate(0.4, 0.3, 0.5), 0.001, 0.4, "not associated"),
        (None, 1.0, 1.0, "undecided"),
    ],
)
def test_verdicts(value: Estimate | None, p: float, depends: float, expected: str) -> None:
    assert SharedImportance(value, p, depends, 9, 0).verdict == expected


def test_nothing_to_go_by() -> None:
    assert shared_importance([], 1.0) == SharedImportance(None, 1.0, 1.0, 0, 0)
    assert shared_importance([[None], [None]], 1.0).left_out == 1
    still = Importance("a", ("x", "y"), np.array([1.0, 2.0]), np.array([0.0, 0.0]))
    assert shared_importance([[still], [still]], 1.0).value is None


def told(model: Generator, text: str, name: str, parts: str) -> Rationale:
    ids = model.target_ids(text, ended=False)
    known = tuple({"L": "label", "R": "rationale", ".": ""}[part] for part in parts.ljust(len(ids), parts[-1])[: len(ids)])
    return Rationale(name, {}, "yes", "x", ("x",) * len(ids), ids, (-1.0,) * len(ids), known, True)  # type: ignore[arg-type]


def test_shares_are_those_of_other_texts_after_which_the_decoder_chooses_another_token() -> None:
    runner = writer("t5")
    model = runner.classifier
    assert isinstance(model, Seq2Seq)
    examples = [*PAIRS, PAIRS[0].__class__("c", {"premise": "good", "hypothesis": "bad cat"}, "no")]
    rationales = [told(model, "yes explanation: the film", e.id, "L.R") for e in examples]
    found = text_shares(runner, examples, rationales)
    for i, (rationale, shares) in enumerate(zip(rationales, found, strict=True)):
        differing = []
        for j in {0, 1, 2} - {i}:
            source = torch.tensor(model.encode([examples[j]])[0].ids)[None]
            begun = torch.tensor([[model.start, *rationale.ids[:-1]]])
            with torch.no_grad():
                chosen = model.model(input_ids=source, decoder_input_ids=begun).logits[0].argmax(-1)
            differing.append(chosen.numpy() != np.array(rationale.ids))
        asked = np.array([part != "" for part in rationale.parts])
        np.testing.assert_allclose(shares, np.mean(differing, axis=0) * asked)


@pytest.mark.parametrize("kind", ["t5", "llama"])
def test_weights_and_noise_in_importances(kind: str) -> None:
    runner = writer(kind)
    assert isinstance(runner.classifier, Generator)
    rationales = [told(runner.classifier, "yes explanation: the film", e.id, "L.R") for e in PAIRS]
    ones = [np.ones(len(r.ids)) for r in rationales]
    plain, weighed = (importances(runner, PAIRS, rationales, shares) for shares in (None, ones))
    half = importances(runner, PAIRS, rationales, [one / 2 for one in ones])
    for a, b, c in zip(plain, weighed, half, strict=True):
        assert a is not None and b is not None and c is not None  # noqa: PT018
        np.testing.assert_array_equal(a.rationale, b.rationale)
        np.testing.assert_allclose(a.label, 2 * c.label, rtol=1e-6)
    last = [np.arange(len(one)) == len(one) - 1 for one in ones]
    first = [np.arange(len(one)) == 0 for one in ones]
    assert importances(runner, PAIRS, rationales, [one.astype(float) for one in last]) == [None, None]
    only = importances(runner, PAIRS, rationales, [a.astype(float) + b for a, b in zip(first, last, strict=True)])
    assert all(
        one is not None and (one.rationale < whole.rationale).all() for one, whole in zip(only, plain, strict=True) if whole
    )
    noisy = shaken_importances(runner, PAIRS, rationales, ones)
    again = importances(runner, PAIRS[1:], rationales[1:], ones[1:], 0.25 * runner.classifier.embedding_variance, 2)
    assert noisy[2][1] is not None and again[0] is not None  # noqa: PT018
    np.testing.assert_allclose(
        noisy[2][1].label, again[0].label, rtol=1e-4
    )  # a draw depends on seed, example and variance only
    assert noisy[0][0] is not None and noisy[1][0] is not None  # noqa: PT018
    assert np.abs(np.log(noisy[0][0].label / noisy[1][0].label)).max() > 1e-3


def test_rationales_that_depend_on_the_text() -> None:
    runner = writer("t5")
    written = write_rationales(runner, PAIRS, max_tokens=4)
    assert depending(written, [np.zeros(len(r.ids)) for r in written]) == 0
    model = runner.classifier
    assert isinstance(model, Generator)
    two = [told(model, "yes explanation: the film", e.id, "L.R") for e in PAIRS]
    assert depending(two, [np.zeros(len(two[0].ids)), np.ones(len(two[1].ids))]) == 0.5
    assert noise_on(PAIRS[0], 0.0, 0) == noise_on(PAIRS[1], 0.0, 1)
