"""The independent pieces of the study. Each loads what it needs: a corpus by its name, a model from the cache, or trained."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import set_seed

from whence.data import Corpus
from whence.data.registry import planted
from whence.explain import METHODS, TokenScores, explain
from whence.measure import Judged
from whence.measure.erasure import decision_flip_rounds
from whence.measure.fresh import How, fresh, rationale_words
from whence.measure.parts_of_speech import by_tag, tagger_named
from whence.models import Classifier, Encoded, Hide, Label
from whence.models.build import build_model
from whence.run import Request, Runner
from whence.run.engine import Rows
from whence.studies.calibrate import planted_words, recovery
from whence.studies.kit.corpora import SUBSET_SEED, spread
from whence.studies.kit.estimates import row
from whence.studies.kit.models import Trained
from whence.studies.saloss.models import Recipe
from whence.teach import label_numbers
from whence.teach.gradient_share import gradient_shares
from whence.teach.objectives.divergence import divergence
from whence.teach.salience import PRIORS, Tokens
from whence.teach.salience.cache import salience
from whence.teach.tasks import Classification

DIVERGENCE_ON = 300
"""Dev texts on which the distance of attention to the prior is measured."""
CHUNK = 50
"""Texts whose passes are remembered together."""


def train(model: Recipe, towards: str) -> Rows:
    """One row: scores on dev and test, predictions on test, and KL(α‖σ) on dev for the prior `towards`."""
    found, corpus = model.trained(), model.open()
    return [{
        **found.scores, "dev_macro_f1": found.results["dev"]["macro_f1"], "epoch": found.results["best_epoch"],
        "train": found.results["train_examples"], "cut": found.results["test"]["texts_cut"],
        "divergence": attention_divergence(found.classifier, corpus, towards, model.prior_options()),
    }]  # fmt: skip


def share(model: Recipe, batches: int) -> Rows:
    """One row: the salience term's share of the gradient on the training set, before training and after it."""
    job, corpus = model.job(), model.open()
    examples = corpus.load("train")
    set_seed(job.settings.seed)  # as a training starts
    new = build_model(job.model, corpus.labels, (t for e in examples for t in e.texts.values()), None, dict(job.options))
    classifier, given = model.trained().classifier, (job.settings.objective, job.settings.options, model.batch_size, batches)
    both = {"before": new, "after": (classifier.model, classifier.tokenizer)}
    return [{when: gradient_shares(Classification(*one), examples, *given)["saloss"] for when, one in both.items()}]


def attention_divergence(classifier: Classifier, corpus: Corpus, prior: str, options: Mapping[str, Any]) -> float:
    """Mean KL(α‖σ) on dev."""
    encoded = classifier.encode(corpus.load("dev")[:DIVERGENCE_ON])
    results = Runner(classifier, remembered=0).run([Request(e, want=frozenset({"attention"})) for e in encoded])
    found = [
        divergence(*(torch.tensor(x)[None] for x in (result.extras["attention"], target, e.field >= 0))).item()
        for e, result, target in zip(encoded, results, prior_of(classifier, encoded, prior, corpus, options), strict=True)
    ]
    return float(np.mean(found))


def prior_of(
    classifier: Classifier, encoded: Sequence[Encoded], prior: str, corpus: Corpus, options: Mapping[str, Any] | None = None
) -> list[np.ndarray]:
    """σ of each text, float[tokens]; what is fitted is fitted on the training texts."""
    training = classifier.encode(corpus.load("train"))
    texts, fitted_on = (Tokens(e, np.array(label_numbers(classifier, [x.example for x in e]))) for e in (encoded, training))
    return salience(prior, texts, fitted_on, options)


def explained(runner: Runner, encoded: Sequence[Encoded], method: str, hide: Hide, ig_steps: int = 0) -> list[TokenScores]:
    parameters = {"n_steps": ig_steps, "max_steps": ig_steps} if method == "integrated_gradients" else {}
    return explain(runner, encoded, METHODS[method], hide=hide, parameters=parameters)


def by_prior(runner: Runner, encoded: list[Encoded], prior: str, known: list[np.ndarray], hide: Hide) -> list[TokenScores]:
    """A salience prior as if it were an explanation, though it has not seen the model."""
    said = [e.sum_to_words(scores) for e, scores in zip(encoded, known, strict=True)]
    targets = explained(runner, encoded, "random", hide)  # what a prior cannot say: the predicted label
    return [replace(x, method=prior, scores=tuple(words.tolist())) for x, words in zip(targets, said, strict=True)]


def erase(
    model: Recipe, split: str, count: int, methods: Sequence[str], hide: Hide, ig_steps: int, of_those: int | None = None
) -> Rows:
    """For each text and method the share of words to a flip and, where the reason was planted, how well it was found.

    `of_those`: only so many of the `count` texts, so that what is tried on fewer is compared on texts that all have.
    """
    corpus, classifier = model.open(), model.trained().classifier
    examples = spread(spread(corpus.load(split), count), of_those or count)
    encoded = [e.only(0) for e in classifier.encode(examples)]
    # leave-one-out is both: here it means the explanation
    priors = {m: prior_of(classifier, encoded, m, corpus) for m in methods if m in PRIORS and m not in METHODS}
    rows: Rows = []
    for start in range(0, len(encoded), CHUNK):
        shard, runner = encoded[start : start + CHUNK], Runner(classifier)
        for method in methods:
            explanations = (
                by_prior(runner, shard, method, priors[method][start : start + CHUNK], hide) if method in priors
                else explained(runner, shard, method, hide, ig_steps)
            )  # fmt: skip
            both, labels = list(zip(shard, explanations, strict=True)), classifier.labels
            values = runner.drive(decision_flip_rounds(Judged(e, x, hide, Label(labels.index(x.target)))) for e, x in both)
            for (e, x), value in zip(both, values, strict=True):
                if value is not None:  # a text without a word cannot be erased
                    rows.append({"id": e.example.id, "method": method, "flip": value[0]})
                    if model.corpus in planted() and planted_words(e.example).any():
                        known = zip(("first", "rank", "average_precision"), recovery(x, planted_words(e.example)), strict=True)
                        rows[-1].update(known)
    return rows


def extract(support: Recipe, classifier: Recipe, method: str, ratio: float, how: How) -> Rows:
    """One row: F1 of a classifier trained, without any salience, on the rationales of the support model."""
    chooser = support.trained().classifier
    job = classifier.job()
    found = fresh(job, support.open(), chooser, METHODS[method], ratio, how, seed=SUBSET_SEED, say=lambda _: None)
    return [Trained(Path(found["folder"])).scores]


def _by_model(
    models: Mapping[str, Recipe], count: int, hide: Hide, query: bool
) -> tuple[list[Encoded], dict[str, list[TokenScores]]]:
    """α∇α of each model on the same test texts."""
    found = {}
    for name, model in models.items():
        classifier = model.trained().classifier
        encoded = classifier.encode(spread(model.open().load("test"), count))
        encoded = encoded if query else [e.only(0) for e in encoded]
        found[name] = explained(Runner(classifier), encoded, "attention_gradient", hide)
    return encoded, found


def tags(models: Mapping[str, Recipe], count: int, tagger: str, hide: Hide) -> Rows:
    """Importance by part of speech, by α∇α as in Figure 1, for several models side by side."""
    found = by_tag(_by_model(models, count, hide, query=True)[1], tagger_named(tagger))
    return [{"model": one.model, "tag": one.tag, "words": one.words, **row(one.importance)} for one in found]


def show(models: Mapping[str, Recipe], count: int, ratio: float, hide: Hide) -> Rows:
    """Contiguous rationales by α∇α, as in Table 4, of texts that all models get right; first those of which they choose
    different words."""
    encoded, by_model = _by_model(models, 20 * count, hide, query=False)
    found: dict[bool, list[Rows]] = {True: [], False: []}
    for e, *several in zip(encoded, *by_model.values(), strict=True):
        n = int((e.seen & (e.word_fields == 0)).sum())
        if n < 5 or any(x.target != e.example.label for x in several):
            continue
        chosen = [rationale_words(np.array(x.scores)[:n], ratio, "contiguous").astype(int).tolist() for x in several]
        common: dict[str, Any] = {"id": e.example.id, "label": e.example.label, "words": e.words[:n]}
        rows = [{**common, "model": name, "chosen": words} for name, words in zip(by_model, chosen, strict=True)]
        found[any(words != chosen[0] for words in chosen)].append(rows)
    return [row for rows in (found[True] + found[False])[:count] for row in rows]
