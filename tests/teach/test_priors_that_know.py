"""Priors that know something: stop words left out, a trained model's own explanations; and a term's share of the gradient."""

from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS
from tiny import own_model, texts, tiny_bert

from whence.errors import BadInput
from whence.explain import METHODS, explain
from whence.models import Classifier, collate
from whence.run import Runner
from whence.teach import label_numbers
from whence.teach.gradient_share import gradient_shares
from whence.teach.objectives.divergence import divergence
from whence.teach.salience import PRIORS, Tokens
from whence.teach.salience.cache import salience
from whence.teach.tasks import Classification


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHENCE_CACHE", str(tmp_path / "cache"))


def tokens_of(classifier: Classifier) -> Tokens:
    return Tokens(classifier.encode(texts()), np.array(label_numbers(classifier, texts())))


def saved(classifier: Classifier, folder: Path) -> str:
    classifier.model.save_pretrained(folder)
    classifier.tokenizer.save_pretrained(folder)
    return str(folder)


def test_stop_words_and_punctuation_have_no_salience(bert: Classifier) -> None:
    tokens = tokens_of(bert)
    for e, sigma in zip(tokens.encoded, salience("textrank_filtered", tokens, tokens), strict=True):
        assert sigma.sum() == pytest.approx(1, abs=1e-5)
        for word, weight in zip(e.words, e.sum_to_words(sigma), strict=True):
            empty = word.lower() in ENGLISH_STOP_WORDS or not any(map(str.isalnum, word))
            assert bool(weight == 0) is empty, word


def test_without_stop_words_it_is_textrank(bert: Classifier) -> None:
    """A text of content words alone is ranked as TextRank ranks it."""
    [example] = [e for e in texts() if e.texts["text"] == "good"]
    encoded = bert.encode([example])
    tokens = Tokens(encoded, np.array([0]))
    assert np.array_equal(*(salience(name, tokens, tokens)[0] for name in ("textrank", "textrank_filtered")))


@pytest.mark.parametrize("method", ["attention_gradient", "leave_one_out"])
@pytest.mark.parametrize("name", ["bert", "bilstm"])
def test_a_models_own_explanation_is_the_explainers(tmp_path: Path, method: str, name: str) -> None:
    torch.manual_seed(0)
    model = tiny_bert() if name == "bert" else own_model(name)
    tokens, folder = tokens_of(model), saved(model, tmp_path / "model")
    found = salience(method, tokens, tokens, {"model": folder})
    explained = explain(Runner(model), tokens.encoded, METHODS[method], hide="delete")
    for e, sigma, x in zip(tokens.encoded, found, explained, strict=True):
        assert sigma.sum() == pytest.approx(1, abs=1e-5)
        assert not sigma[e.field < 0].any()
        if method == "leave_one_out":  # every token of a word has the word's number
            positive = np.maximum(np.array(x.scores), 0)
            expected = np.append(positive, 0.0)[e.word]
        else:
            gradient = PRIORS[method].score(Tokens([e], np.array([0])), tokens, model=folder)
            expected = np.where(e.field >= 0, gradient, 0.0)
            whole = np.array(x.scores)
            alone = np.bincount(e.word[e.word >= 0], minlength=e.word_count) == 1  # words of one token: no sum of signs
            assert e.sum_to_words(expected)[alone] == pytest.approx(np.maximum(whole, 0)[alone], abs=1e-6)
        if expected.sum() > 0:
            assert sigma == pytest.approx(expected / expected.sum(), abs=1e-5)


def test_a_model_is_asked_for_and_must_read_the_same_tokens(tmp_path: Path, bert: Classifier) -> None:
    tokens = tokens_of(bert)
    with pytest.raises(BadInput, match="salience prior 'leave_one_out' needs a value for 'model'"):
        salience("leave_one_out", tokens, tokens)
    other = saved(own_model("bilstm"), tmp_path / "other")
    with pytest.raises(BadInput, match="reads other tokens"):
        salience("leave_one_out", tokens, tokens, {"model": other})


def test_a_terms_share_of_the_gradient_is_that_of_autograd() -> None:
    """Two terms, two batches, by hand."""
    torch.manual_seed(0)
    model = own_model("bilstm")
    weights = {"cross_entropy": 1.0, "saloss": 0.5}
    found = gradient_shares(Classification(model.model, model.tokenizer), texts(), weights, {"saloss": {"prior": "uniform"}}, 3)
    encoded, labels = model.encode(texts()), torch.tensor(label_numbers(model, texts()))
    expected = []
    for rows in ([0, 1, 2], [3, 4, 5]):
        norms = []
        for term in ("cross_entropy", "saloss"):
            model.model.zero_grad()
            batch = collate([encoded[i] for i in rows], model.pad_id, model.device)
            logits, attention = model.training_pass(batch, True)
            uniform = batch.content / batch.content.sum(-1, keepdim=True)
            loss = torch.nn.functional.cross_entropy(logits, labels[rows])
            (loss if term == "cross_entropy" else 0.5 * divergence(attention, uniform, batch.content)).backward()
            flat = torch.cat([p.grad.flatten() for p in model.model.parameters() if p.grad is not None])
            norms.append(float(flat.norm()))
        expected.append(norms[1] / sum(norms))
    assert found["saloss"] == pytest.approx(np.mean(expected), rel=1e-4)
    assert sum(found.values()) == pytest.approx(1)
