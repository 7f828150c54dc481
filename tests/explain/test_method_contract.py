"""What every registered explainer keeps to, on every kind of model and on texts that nobody expects."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from tiny import examples_for, pairs

from whence.data import Example, words
from whence.errors import BadInput
from whence.explain import METHODS, Method, TokenScores, choose_methods, explain, load_explanations, save_explanations
from whence.models import Classifier
from whence.run import Runner

FEW = {"lime": {"n_samples": 12}, "kernel_shap": {"n_samples": 12}, "integrated_gradients": {"n_steps": 3}}
ODD = {
    "empty": "", "spaces": " \n\t ", "one word": "good", "emoji": "👩‍👩‍👧 ❤️ ok 😀", "right to left": "שלום עולם مرحبا",
    "script": "<script>alert('x')</script> & \"quoted\"", "lone surrogates": "a\ud800b \udfff c",
    "control": "a\x00b \x1b[31mred\x07", "special tokens": "[CLS] [SEP] [MASK] <s> </s> <pad>", "no spaces": "x" * 200,
    "markup": "a <!-- b --> \"><img src=x onerror=alert(1)>", "Chinese": "漢字かなカナ mixed", "zero width": "a\u200bb\u2028c",
}  # fmt: skip
LONG = "the old cat wasn't good ; " * 333 + "end end"
WORDS_READ = 40


@contextmanager
def limited(classifier: Classifier, tokens: int) -> Iterator[None]:
    before = classifier.tokenizer.model_max_length
    classifier.tokenizer.model_max_length = tokens
    try:
        yield
    finally:
        classifier.tokenizer.model_max_length = before


def made(classifier: Classifier, method: Method, examples: list[Example]) -> list[TokenScores]:
    return explain(Runner(classifier), classifier.encode(examples), method, parameters=FEW.get(method.name))


def reads_pairs(classifier: Classifier) -> bool:
    return classifier.own and classifier.model.reads_pairs


def odd_examples(classifier: Classifier) -> list[Example]:
    if not reads_pairs(classifier):
        return [Example(name, {"text": text}) for name, text in ODD.items()]
    one_side = [Example(name, {"premise": text, "hypothesis": "a dog slept"}) for name, text in ODD.items()]
    return one_side + [Example(f"{name} 2", {"premise": "The cat sat", "hypothesis": text}) for name, text in ODD.items()]


def check(explanation: TokenScores, example: Example) -> None:
    """One finite number for each word of the unchanged texts."""
    assert explanation.id == example.id
    assert explanation.texts == example.texts
    assert explanation.words == [word for text in example.texts.values() for word in words(text)]
    assert len(explanation.scores) == len(explanation.words)
    assert np.isfinite(explanation.scores).all()
    assert 0 <= explanation.probability <= 1


def check_looks(explanation: TokenScores, capsys: pytest.CaptureFixture[str]) -> None:
    page = explanation._repr_html_()
    without_our_tags = re.sub(r"</?(div|span|small|b)( [a-z]+=\"[^\"<>]*\")*>", "", page)
    assert not set(without_our_tags) & set("<>\"'")  # nothing of the text is read as markup
    assert not re.search("[\x00-\x08\x0b-\x1f\ud800-\udfff]", page)
    page.encode("utf-8")
    explanation.show()
    shown = capsys.readouterr().out
    assert "\x1b[31m" not in shown
    assert not re.search("[\x00-\x08\ud800-\udfff]", shown)


@pytest.mark.parametrize("method", METHODS.values(), ids=list(METHODS))
def test_contract(classifier: Classifier, method: Method, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if method.needs - classifier.honours:
        with pytest.raises(BadInput, match="gives none"):
            choose_methods(classifier, [method.name])
        return
    examples = examples_for(classifier)[:2] + odd_examples(classifier)
    found = made(classifier, method, examples)
    for explanation, example in zip(found, examples, strict=True):
        check(explanation, example)
        check_looks(explanation, capsys)
    if not classifier.own:  # models of transformers read pairs too
        both = [*pairs()[:1], Example("odd", {"premise": "", "hypothesis": ODD["emoji"]})]
        for explanation, example in zip(made(classifier, method, both), both, strict=True):
            check(explanation, example)
            found.append(explanation)
    save_explanations(tmp_path / "made.jsonl", found)
    assert load_explanations(tmp_path / "made.jsonl") == found


@pytest.mark.parametrize("method", METHODS.values(), ids=list(METHODS))
def test_long_text(classifier: Classifier, method: Method) -> None:
    """2,000 words of which the model reads the first few: the others score 0 (but for random scores), and are counted."""
    assert len(words(LONG)) == 2000
    if method.needs - classifier.honours:
        return
    texts = {"premise": LONG, "hypothesis": "a dog"} if reads_pairs(classifier) else {"text": LONG}
    with limited(classifier, WORDS_READ):
        [explanation] = made(classifier, method, [Example("long", texts)])
    check(explanation, Example("long", texts))
    read = len(explanation.scores) - int(explanation.notes["unseen_words"])
    assert 0 < read <= WORDS_READ
    if method.name != "random":
        assert np.count_nonzero(explanation.scores) <= read


@pytest.mark.parametrize("method", [m for m in METHODS.values() if m.name != "leave_one_out"], ids=lambda m: m.name)
def test_long_text_read_to_its_end(classifier: Classifier, method: Method) -> None:
    """Our word models have no limit. Leave-one-out is left out: it would read two thousand times two thousand words."""
    if not classifier.own or reads_pairs(classifier):
        return
    [explanation] = made(classifier, method, [Example("long", {"text": LONG})])
    check(explanation, Example("long", {"text": LONG}))
    assert "unseen_words" not in explanation.notes


@pytest.mark.parametrize("method", METHODS.values(), ids=list(METHODS))
def test_empty_and_one_word_alone_as_in_company(classifier: Classifier, method: Method) -> None:
    """A decoder has no special tokens, so an empty text, or one with its only word deleted, has no token at all."""
    if method.needs - classifier.honours:
        return
    few = [example for example in odd_examples(classifier) if example.id in ("empty", "one word", "emoji", "spaces 2")]
    together = made(classifier, method, few)
    for explanation, example in zip(together, few, strict=True):
        [alone] = made(classifier, method, [example])
        assert alone.probability == pytest.approx(explanation.probability, abs=1e-5)
        assert alone.scores == pytest.approx(explanation.scores, abs=1e-5, rel=1e-5)
