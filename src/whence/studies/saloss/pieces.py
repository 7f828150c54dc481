"""The independent pieces of the study. Each loads what it needs: a corpus by its name, a model from the cache, or trained."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from whence.data import Corpus, Example
from whence.data.registry import planted
from whence.explain import METHODS, TokenScores, explain
from whence.measure import Judged
from whence.measure.erasure import decision_flip_steps
from whence.measure.fresh import How, fresh, rationale_words
from whence.measure.parts_of_speech import Tagger, by_tag, nltk_tagger, spacy_tagger
from whence.models import Classifier, Encoded, Hide, Label
from whence.run import Request, Runner
from whence.run.engine import Rows
from whence.studies.calibrate import planted_words, recovery
from whence.studies.saloss.recipe import DRAW, Recipe
from whence.teach import label_numbers, read_predictions
from whence.teach.objectives.divergence import divergence
from whence.teach.salience import PRIORS, Pieces
from whence.teach.salience.cache import salience

DIVERGENCE_ON = 300
"""Dev texts on which the distance of attention to the prior is measured."""
CHUNK = 50
"""Texts whose passes are remembered together."""


def train_piece(recipe: dict[str, Any], data_root: str | None, towards: str) -> Rows:
    """One row: scores on dev and test, predictions on test, and KL(α‖σ) on dev for the prior `towards`."""
    made = Recipe(**recipe)
    corpus = made.open(data_root)
    classifier, results = made.trained(data_root, corpus)
    return [{
        **on_test(results), "dev_macro_f1": results["dev"]["macro_f1"], "epoch": results["best_epoch"],
        "train": results["train_examples"], "cut": results["test"]["texts_cut"],
        "divergence": attention_divergence(classifier, corpus, towards),
    }]  # fmt: skip


def on_test(results: dict[str, Any]) -> dict[str, Any]:
    """Scores of a training, and the labels behind them: numbers in the order of their names."""
    rows = read_predictions(Path(results["folder"]), "test")
    numbers = {name: i for i, name in enumerate(sorted({row[of].lower() for row in rows for of in ("label", "predicted")}))}
    return {
        "macro_f1": results["test"]["macro_f1"], "accuracy": results["test"]["accuracy"],
        "labels": [numbers[row["label"].lower()] for row in rows],
        "predicted": [numbers[row["predicted"].lower()] for row in rows],
    }  # fmt: skip


def attention_divergence(classifier: Classifier, corpus: Corpus, prior: str) -> float:
    """Mean KL(α‖σ) on dev."""
    encoded = classifier.encode(corpus.load("dev")[:DIVERGENCE_ON])
    results = Runner(classifier, remembered=0).run([Request(e, want=frozenset({"attention"})) for e in encoded])
    found = [
        divergence(*(torch.tensor(x)[None] for x in (result.extras["attention"], target, e.field >= 0))).item()
        for e, result, target in zip(encoded, results, prior_of(classifier, encoded, prior, corpus), strict=True)
    ]
    return float(np.mean(found))


def prior_of(classifier: Classifier, encoded: Sequence[Encoded], prior: str, corpus: Corpus) -> list[np.ndarray]:
    """σ of each text, float[tokens]; what is fitted is fitted on the training texts."""
    training = classifier.encode(corpus.load("train"))
    texts, fitted_on = (Pieces(e, np.array(label_numbers(classifier, [x.example for x in e]))) for e in (encoded, training))
    return salience(prior, texts, fitted_on)


def document_only(encoded: Encoded) -> Encoded:
    """The query of a pair belongs to no word, so that it is neither scored nor hidden."""
    return replace(encoded, word=np.where(encoded.field == 0, encoded.word, -1))


def explained(runner: Runner, encoded: Sequence[Encoded], method: str, hide: Hide, ig_steps: int = 0) -> list[TokenScores]:
    parameters = {"n_steps": ig_steps} if method == "integrated_gradients" else {}
    return explain(runner, encoded, METHODS[method], hide=hide, parameters=parameters)


def by_prior(
    runner: Runner, encoded: Sequence[Encoded], prior: str, known: Sequence[np.ndarray], hide: Hide
) -> list[TokenScores]:
    """A salience prior as if it were an explanation, though it has not seen the model."""
    said = [e.sum_to_words(scores) for e, scores in zip(encoded, known, strict=True)]
    targets = explained(runner, encoded, "random", hide)  # what a prior cannot say: the predicted label
    return [replace(x, method=prior, scores=tuple(words.tolist())) for x, words in zip(targets, said, strict=True)]


def erasure_piece(
    recipe: dict[str, Any], data_root: str | None, split: str, count: int, methods: Sequence[str], hide: Hide, ig_steps: int,
    of_those: int | None = None,
) -> Rows:  # fmt: skip
    """For each text and method the share of words to a flip and, where the reason was planted, how well it was found.

    `of_those`: only so many of the `count` texts, so that what is tried on fewer is compared on texts that all have.
    """
    made = Recipe(**recipe)
    corpus = made.open(data_root)
    classifier, _ = made.trained(data_root, corpus)
    examples = drawn(corpus.load(split), count)
    encoded = [document_only(e) for e in classifier.encode(drawn(examples, of_those or count))]
    priors = {method: prior_of(classifier, encoded, method, corpus) for method in methods if method in PRIORS}
    known = made.corpus in planted()
    rows: Rows = []
    for start in range(0, len(encoded), CHUNK):
        shard, runner = encoded[start : start + CHUNK], Runner(classifier)
        for method in methods:
            explanations = (
                by_prior(runner, shard, method, priors[method][start : start + CHUNK], hide) if method in priors
                else explained(runner, shard, method, hide, ig_steps)
            )  # fmt: skip
            judged = [
                Judged(e, x, hide, Label(classifier.labels.index(x.target))) for e, x in zip(shard, explanations, strict=True)
            ]
            values = runner.drive(decision_flip_steps(j) for j in judged)
            for e, x, value in zip(shard, explanations, values, strict=True):
                if value is not None:  # a text without a word cannot be erased
                    recovered = planted_recovery(e, x) if known else {}
                    rows.append({"id": e.example.id, "method": method, "flip": value[0], **recovered})
    return rows


def planted_recovery(encoded: Encoded, explanation: TokenScores) -> dict[str, float]:
    """Whether the first word is a planted one, and the area under the precision–recall curve; nothing without highlights."""
    reason = planted_words(encoded.example)
    if not reason.any():
        return {}
    first, _, auprc = recovery(explanation, reason)
    return {"first": first, "auprc": auprc}


def fresh_piece(
    support: dict[str, Any], classifier: dict[str, Any], data_root: str | None, method: str, ratio: float, how: How
) -> Rows:
    """One row: F1 of a classifier trained, without any salience, on the rationales of the support model."""
    made, new = Recipe(**support), Recipe(**classifier)
    corpus = made.open(data_root)
    chooser, _ = made.trained(data_root, corpus)
    return [on_test(fresh(new.job(), corpus, chooser, METHODS[method], ratio, how, seed=DRAW, say=lambda _: None))]


def tags_piece(recipes: dict[str, dict[str, Any]], data_root: str | None, count: int, tagger: str, hide: Hide) -> Rows:
    """Importance by part of speech, by α∇α as in Figure 1, for several models side by side."""
    explanations = {}
    for name, recipe in recipes.items():
        made = Recipe(**recipe)
        corpus = made.open(data_root)
        classifier, _ = made.trained(data_root, corpus)
        encoded = classifier.encode(drawn(corpus.load("test"), count))
        explanations[name] = explained(Runner(classifier), encoded, "attention_gradient", hide)
    found = by_tag(explanations, tagger_named(tagger))
    interval = [{"ours": f.importance.value, "low": f.importance.low, "high": f.importance.high} for f in found]
    return [{"model": f.model, "tag": f.tag, "words": f.words, **i} for f, i in zip(found, interval, strict=True)]


def tagger_named(name: str) -> Tagger:
    return nltk_tagger() if name == "nltk" else spacy_tagger(name)


def examples_piece(recipes: dict[str, dict[str, Any]], data_root: str | None, count: int, ratio: float, hide: Hide) -> Rows:
    """Contiguous rationales by α∇α, as in Table 4, of texts that all models get right; first those of which they choose
    different words."""
    by_model: dict[str, list[TokenScores]] = {}
    for name, recipe in recipes.items():
        made = Recipe(**recipe)
        corpus = made.open(data_root)
        classifier, _ = made.trained(data_root, corpus)
        encoded = [document_only(e) for e in classifier.encode(drawn(corpus.load("test"), 20 * count))]
        by_model[name] = explained(Runner(classifier), encoded, "attention_gradient", hide)
    found: dict[bool, list[Rows]] = {True: [], False: []}
    for e, *several in zip(encoded, *by_model.values(), strict=True):
        n = int((e.seen & (e.word_fields == 0)).sum())
        if n < 5 or any(x.target != e.example.label for x in several):
            continue
        chosen = [rationale_words(np.array(x.scores)[:n], ratio, "contiguous").astype(int).tolist() for x in several]
        common = {"id": e.example.id, "label": e.example.label, "words": e.words[:n]}
        rows = [{**common, "model": name, "chosen": words} for name, words in zip(by_model, chosen, strict=True)]
        found[any(words != chosen[0] for words in chosen)].append(rows)
    return [row for rows in (found[True] + found[False])[:count] for row in rows]


def drawn(examples: list[Example], count: int) -> list[Example]:
    """Evenly spread over the split, so that files sorted by label do no harm."""
    if count >= len(examples):
        return examples
    return [examples[i] for i in np.linspace(0, len(examples) - 1, count).round().astype(int)]
