"""Every classifier of the zoo through `explain` with every method, and through an audit: right by hand, or refused by name."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from by_hand import ByHand, embedded_path
from tiny import SENTENCES, pairs, texts
from zoo import CLASSIFIERS

import whence
from whence.errors import BadInput
from whence.explain import METHODS, TokenScores
from whence.models import ARCHITECTURES

SHORT = "A dog slept quietly."
READ = [SENTENCES[3], SHORT, SENTENCES[0]]
"""Of different lengths, so that batches are padded."""
EMPTY = ("", " ")
"""Funnel itself fails on two tokens (its second block would have one place for two), and that is one line."""
GRADIENTS = ("gradient_l1", "gradient_l2", "gradient_sum", "input_x_gradient")
FEW = {"lime": {"n_samples": 12}, "kernel_shap": {"n_samples": 32}, "integrated_gradients": {"n_steps": 4, "max_steps": 4}}
NO_ATTENTION = {
    "deberta", "deberta-v2", "deberta-v2-other", "xlnet", "xlnet-other", "mpnet", "mpnet-other", "bart", "bart-other", "t5",
    "t5-gated", "longformer", "bigbird", "fnet", "funnel", "squeezebert", "decomposable", "esim",
}  # fmt: skip
"""Models whose attention cannot be reached: they do not go through transformers' AttentionInterface, or have none."""


@cache
def model(name: str) -> whence.Model:
    return whence.load(CLASSIFIERS[name]())


def reads_pairs(name: str) -> bool:
    return getattr(model(name).classifier.model, "reads_pairs", False)


@cache
def by_hand(name: str, text: str) -> ByHand:
    made, tokenizer = CLASSIFIERS[name]()
    return ByHand(made, tokenizer, [text, SENTENCES[1]] if reads_pairs(name) else [text])


@cache
def explained(name: str, method: str) -> list[TokenScores]:
    second = [SENTENCES[1]] * len(READ) if reads_pairs(name) else None
    return model(name).explain(READ, second, method=method, parameters=FEW.get(method))


def target(made: TokenScores, name: str) -> int:
    return model(name).labels.index(made.target)


def agree(found: TokenScores, truth: np.ndarray) -> None:
    assert np.abs(np.array(found.scores) - truth).max() < 2e-5 + 2e-4 * np.abs(truth).max()


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_predictions_in_padded_batches(name: str) -> None:
    second = [SENTENCES[1]] * len(READ) if reads_pairs(name) else None
    for text, found in zip(READ, model(name).predict(READ, second), strict=True):
        assert np.abs(np.array(list(found.values())) - by_hand(name, text).probabilities().detach().numpy()).max() < 1e-5


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_leave_one_out(name: str) -> None:
    for text, made in zip(READ, explained(name, "leave_one_out"), strict=True):
        agree(made, by_hand(name, text).leave_one_out(target(made, name)))


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_gradients(name: str) -> None:
    for i, text in enumerate(READ):
        truth = by_hand(name, text).gradients(target(explained(name, "gradient_l1")[i], name), embedded_path(name))
        for method in GRADIENTS:
            agree(explained(name, method)[i], truth[method])


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_integrated_gradients(name: str) -> None:
    for text, made in zip(READ, explained(name, "integrated_gradients"), strict=True):
        steps = int(made.notes["steps"])
        agree(made, by_hand(name, text).integrated_gradients(target(made, name), steps, embedded_path(name)))


@pytest.mark.parametrize("name", [name for name in CLASSIFIERS if name not in ("decomposable", "esim")])
def test_kernel_shap_is_exact_on_five_words(name: str) -> None:
    made = explained(name, "kernel_shap")[READ.index(SHORT)]
    assert len(made.scores) == 5
    agree(made, by_hand(name, SHORT).shapley(target(made, name)))


@pytest.mark.parametrize("method", ["attention", "attention_gradient"])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_attention_is_right_or_refused_by_name(name: str, method: str) -> None:
    if name in NO_ATTENTION:
        with pytest.raises(BadInput, match=type(model(name).classifier.model).__name__) as caught:
            explained(name, method)
        assert "\n" not in str(caught.value)
        return
    made = explained(name, method)
    assert all(np.isfinite(one.scores).all() for one in made)
    if method == "attention" and not model(name).classifier.own:
        for text, one in zip(READ, made, strict=True):
            agree(one, by_hand(name, text).attention())


@pytest.mark.parametrize("name", [name for name in CLASSIFIERS if name not in ARCHITECTURES])
def test_pairs(name: str) -> None:
    premises, hypotheses = [SENTENCES[1], SHORT], [SHORT, SENTENCES[0]]
    for method in ("leave_one_out", "gradient_l2"):
        made = model(name).explain(premises, hypotheses, method=method)
        for premise, hypothesis, one in zip(premises, hypotheses, made, strict=True):
            hand = ByHand(*CLASSIFIERS[name](), [premise, hypothesis])
            goal = target(one, name)
            agree(
                one,
                hand.leave_one_out(goal) if method == "leave_one_out" else hand.gradients(goal, embedded_path(name))[method],
            )


@pytest.mark.parametrize("name", [name for name in CLASSIFIERS if name not in ("decomposable", "esim")])
def test_odd_texts_are_read_or_refused_in_one_line(name: str) -> None:
    refused = []
    for text in ("good", "a </s> b", "[MASK] [SEP] <mask> <s>", "👩‍👩‍👧 中文 ok", "\x00\x1b[31m", *EMPTY):
        for method in ("leave_one_out", "gradient_l2", "kernel_shap"):
            try:
                assert np.isfinite(model(name).explain(text, method=method).scores).all()
            except BadInput as problem:
                refused.append(str(problem))
    assert not any("\n" in line for line in refused)


@pytest.mark.parametrize("method", ["lime", "random"])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_methods_that_draw(name: str, method: str) -> None:
    for text, made in zip(READ, explained(name, method), strict=True):
        assert len(made.scores) == by_hand(name, text).words
        assert np.isfinite(made.scores).all()
        assert any(made.scores)


def test_no_method_is_left_out() -> None:
    drawn = {"lime", "random", "kernel_shap"}
    assert {*GRADIENTS, *drawn, "leave_one_out", "integrated_gradients", "attention", "attention_gradient"} == set(METHODS)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_small_audit(name: str, tmp_path: Path) -> None:
    examples = (pairs() if reads_pairs(name) else texts())[:3]
    settings = {method: values for method, values in FEW.items() if method in METHODS}
    report = whence.audit(model(name), examples, tmp_path, parameters=settings, say=lambda _: None)
    fitting = set(METHODS) - ({"attention", "attention_gradient"} if name in NO_ATTENTION else set())
    assert set(report.results["methods"]) == fitting
    assert {row["method"] for row in report.results["table"]} == fitting
    assert all(np.isfinite(row["value"]) for row in report.results["table"] if row["measure"] == "comprehensiveness")
    assert report.path.exists()
