"""The pieces of the study: trainings, comparisons of attention, searches. Each is a function of values."""

from typing import Any

import numpy as np

from whence.data import Example
from whence.data.words import word_spans
from whence.measure.attention_correlation import correlation_rounds
from whence.measure.attention_permutation import permuted_change
from whence.measure.attention_search import Found, search_attention
from whence.measure.divergence import jsd, tvd
from whence.models import Encoded
from whence.run import Runner, progress
from whence.run.engine import Rows
from whence.run.readout import Readout, read_out
from whence.studies.attention.models import Role, Subject, read_model

COUPLES = {
    "attention_gradient": "attention – gradient",
    "attention_leave_one_out": "attention – leave-one-out",
    "gradient_leave_one_out": "gradient – leave-one-out",
}


def scores(subject: Subject, role: Role) -> Rows:
    """Train, and how well it predicts: F1 of the positive class on test."""
    return [subject.trained(role).scores]


def compare(subject: Subject, base: Role, others: list[Role]) -> Rows:
    """JSD of attention and TVD of predictions between a base model and others, for every test text; one row for each other."""
    examples = subject.test()
    one = read_model(subject, base, examples)
    about = {"label": [e.label for e in examples], "predicted": one.probabilities.argmax(1).tolist(),
             "max_attention": one.attention.max(1).tolist()}  # fmt: skip
    rows = []
    for role in others:
        other = read_model(subject, role, examples)
        rows.append({"role": role.name, "jsd": jsd(one.attention, other.attention).tolist(),
                     "tvd": tvd(one.probabilities, other.probabilities).tolist(), **about})  # fmt: skip
    return rows


def search(subject: Subject, seed: int) -> Rows:
    """Jain & Wallace's search and permutations on the base model: one row with a value for each text."""
    examples = subject.test(subject.own.searched)
    with progress("searching", len(examples)) as tick:
        readout, found = _searched(subject, seed, examples, tick)
    moved = permuted_change(readout, [e.id for e in examples], seed, subject.settings.permutations)
    predicted = readout.probabilities(readout.attention).argmax(1)
    largest = readout.attention.amax(1).tolist()
    return [{"label": [e.label for e in examples], "predicted": predicted.tolist(), "max_attention": largest,
             "jsd": found.jsd.tolist(), "tvd": found.tvd.tolist(), "permuted": moved.tolist()}]  # fmt: skip


def _searched(subject: Subject, seed: int, examples: list[Example], tick: Any = None) -> tuple[Readout, Found]:
    classifier = subject.trained(Role("base", seed)).classifier
    readout, given = read_out(Runner(classifier), classifier.encode(examples)), subject.settings
    ids = [e.id for e in examples]
    return readout, search_attention(readout, ids, seed, given.candidates, given.search_steps, tick=tick)


def correlate(subject: Subject, seed: int) -> Rows:
    """Rank correlations of attention, gradients and leave-one-out: one row for each text; NaN where not defined."""
    examples = subject.test(subject.own.correlated)
    classifier = subject.trained(Role("base", seed)).classifier
    runner = Runner(classifier, token_budget=8192)
    with progress("correlating", len(examples)) as tick:
        found = runner.drive([correlation_rounds(e) for e in classifier.encode(examples)], tick)
    rows = []
    for one in found:
        row: dict[str, Any] = {"predicted": classifier.labels[one.predicted]}
        for couple in COUPLES:
            row[f"{couple}_tau"], row[f"{couple}_p"] = getattr(one, couple) or (float("nan"), float("nan"))
        rows.append(row)
    return rows


def planted_mass(subject: Subject, roles: list[Role], seed: int) -> Rows:
    """How much attention the words get that are the reason, under each model and under the per-instance adversary."""
    examples = [e for e in subject.test(subject.own.searched) if e.highlights]
    rows = []
    for role in roles:
        read = read_model(subject, role, examples)
        rows.append({"role": role.name, "mass": _mass(read.encoded, read.attention)})
    _, found = _searched(subject, seed, examples)
    return [*rows, {"role": "search", "mass": _mass(read.encoded, found.attention)}]


def _mass(encoded: list[Encoded], attention: np.ndarray) -> list[float]:
    return [
        float(e.sum_to_words(row[: len(e)])[e.example.highlighted_words("text")].sum())
        for e, row in zip(encoded, attention, strict=True)
    ]


def picture(subject: Subject, seed: int, strength: float) -> Rows:
    """One text under base, trained adversary and per-instance adversary: the first that all three read alike, and rightly.

    Of middling length, and such that the search moved its attention far: the case that the two papers argue about.
    """
    examples = [e for e in subject.test(subject.own.searched) if 8 <= len(word_spans(e.texts["text"])) <= 40]
    base = read_model(subject, Role("base", seed), examples)
    trained = read_model(subject, Role("adversary", seed, strength), examples)
    _, found = _searched(subject, seed, examples)
    labels = subject.open().labels
    right = [labels[p] == e.label for p, e in zip(base.probabilities.argmax(1), examples, strict=True)]
    alike = tvd(base.probabilities, trained.probabilities) < 0.05
    far = found.jsd + jsd(base.attention, trained.attention) / 2
    best = int(np.argmax(np.where(np.array(right) & alike, far, -1.0)))
    encoded = base.encoded[best]
    weights = {"base": base.attention[best], "search": found.attention[best], "adversary": trained.attention[best]}
    gold = encoded.example.highlighted_words("text").tolist() if encoded.example.highlights else None
    return [
        {"role": name, "words": encoded.words, "gold": gold, "label": encoded.example.label,
         "weights": encoded.sum_to_words(w[: len(encoded)]).tolist()}
        for name, w in weights.items()
    ]  # fmt: skip
