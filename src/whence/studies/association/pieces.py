"""The pieces of the study: a training, the answers of all five models, one noise level, words scored, one retraining of ROAR.

Each is a function of JSON-able arguments.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from whence.data import Example, word_spans
from whence.explain import METHODS, explain
from whence.explain.text import Rationale, read_rationales, write_rationales
from whence.explain.text.importance import SHAKEN, Importance, importances, shaken_importances, text_shares
from whence.measure.shared_importance import depending
from whence.models.generator import Generator
from whence.run import Runner
from whence.run.engine import Rows
from whence.studies.association.models import Subject, roar_part
from whence.studies.association.settings import Noise, Roar
from whence.teach import read_predictions

SOURCES = ("gold", "i-r", "i-or")
"""Whose rationales R→O and IR→O read."""


def train(subject: Subject) -> Rows:
    """How good the model is on dev and test, by the greedy outputs."""
    results = subject.trained().results
    return [
        {"split": split, **{name: results[split].get(name) for name in ("accuracy", "bleu", "exact_match")},
         "written": results[split]["written"], "train_examples": results["train_examples"], "epoch": results["best_epoch"]}
        for split in ("dev", "test")
    ]  # fmt: skip


def lengths(subject: Subject) -> Rows:
    """Of every training example: words of its input, of its first rationale, and of what was highlighted (Table 7)."""
    found = []
    for example in subject.data().load("train"):
        marked = sum(int(example.highlighted_words(name).sum()) for name in example.texts)
        words = [sum(len(word_spans(text)) for text in texts) for texts in (example.texts.values(), example.explanations[:1])]
        found.append({"input": words[0], "rationale": words[1] or None, "highlighted": marked if example.highlights else None})
    return found


def answers(subject: Subject) -> Rows:
    """What all models say of every test example with a rationale. Columns "r-o gold", "ir-o i-or", …: a reader and whose
    rationale it reads."""
    written = {variant: _predictions(subject.as_variant(variant)) for variant in ("i-or", "i-r", "i-o", "r-o", "ir-o")}
    examples = [e for e in subject.data().load("test") if all(e.id in rows for rows in written.values())]
    told = {variant: [written[variant][e.id]["rationale"] or "" for e in examples] for variant in ("i-r", "i-or")}
    read = {f"{reader} {source}": read_rationales(subject.as_variant(reader).generator(), examples, told[source])
            for reader in ("r-o", "ir-o") for source in told}  # fmt: skip
    return [
        {
            "id": e.id, "input": " / ".join((*e.texts.values(), *e.choices)), "label": e.answer,
            "rationale gold": e.explanations[0], "rationale i-r": told["i-r"][i], "rationale i-or": told["i-or"][i],
            **{variant: written[variant][e.id]["predicted"] for variant in ("i-or", "i-o")},
            **{f"{reader} gold": written[reader][e.id]["predicted"] for reader in ("r-o", "ir-o")},
            **{column: found[i] for column, found in read.items()},
        }
        for i, e in enumerate(examples)
    ]  # fmt: skip


def _predictions(subject: Subject) -> dict[str, dict[str, Any]]:
    return {row["id"]: row for row in read_predictions(subject.trained().folder, "test")}


def noise(subject: Subject, base: Subject, own: Noise, level: float) -> Rows:
    """Outputs under one level of noise, for each draw and example.

    The unit of noise is the variance of the `base` model's word table, and draws depend on its seed: all models of a corpus get
    the very same noise.
    """
    model, examples = subject.generator(), subject.tested(own.examples)
    variance, runner = level * (1.0 if own.absolute else base.generator().embedding_variance), Runner(model, remembered=0)
    found = []
    for draw in range(own.draws if variance else 1):
        written = write_rationales(runner, examples, variance, base.seed * own.draws + draw, own.longest)
        found += [
            {"id": e.id, "draw": draw, "level": level, "noise": variance, "gold": e.answer, "label": r.label,
             "rationale": r.text, "output": r.written, "ended": float(r.ended)}
            for e, r in zip(examples, written, strict=True)
        ]  # fmt: skip
    return found


def reread(subject: Subject, rationales: Sequence[str]) -> Rows:
    """What IR→O, without noise, says after reading rationales: those of the tested examples, draw after draw."""
    examples = subject.tested(subject.task.noise.examples)
    several = [examples[i % len(examples)] for i in range(len(rationales))]
    return [{"ir-o": answer} for answer in read_rationales(subject.as_variant("ir-o").generator(), several, rationales)]


def told(subject: Subject) -> Rows:
    """The whole test part: what a further I→OR model writes, and what IR→O says after reading it."""
    model, examples = subject.generator(), subject.tested(len(subject.data().load("test")))
    written = write_rationales(Runner(model, remembered=0), examples, max_tokens=subject.task.noise.longest)
    reader = subject.model_copy(update={"constant": False}).as_variant("ir-o").generator()
    read = read_rationales(reader, examples, [r.text for r in written])
    return [
        {"id": e.id, "gold": e.answer, "label": r.label, "rationale": r.text, "ir-o": answer}
        for e, r, answer in zip(examples, written, read, strict=True)
    ]


def importance(subject: Subject, base: Subject) -> Rows:
    """a(X)_L and a(X)_R of test examples, by word; and the same under a little noise, all draws in one row after another."""
    examples = subject.tested(subject.task.importance)
    model = subject.generator()
    runner, written = Runner(model, remembered=0), _written(subject, examples)
    shares = text_shares(runner, examples, written, base.seed)
    depends = [depending([rationale], [share]) for rationale, share in zip(written, shares, strict=True)]
    if (
        subject.variant == "i-r"
    ):  # what it says in the place of a label is always the same, and counts only so that there is one
        shares = [np.where(np.array(r.parts) == "label", 1.0, share) for r, share in zip(written, shares, strict=True)]
    little = SHAKEN * base.generator().embedding_variance
    shaken = shaken_importances(runner, examples, written, shares, seed=base.seed, noise=little)
    rows = _scored(model, examples, written, importances(runner, examples, written))
    for i, row in enumerate(rows):
        there = [one for draw in shaken if (one := draw[i]) is not None]
        row["depends"] = depends[i] if "rationale" in written[i].parts else None
        row["shaken label"] = np.concatenate([one.label for one in there]).tolist() if there else None
        row["shaken rationale"] = np.concatenate([one.rationale for one in there]).tolist() if there else None
    return rows


def ranked(subject: Subject, own: Roar) -> Rows:
    """a(X)_L and a(X)_R of every example of ROAR's part, all splits, and further rankings."""
    model = subject.generator()
    runner = Runner(model, remembered=0)
    examples = [example for several in roar_part(subject.data(), own).values() for example in several]
    written = _written(subject, examples)
    rows = _scored(model, examples, written, importances(runner, examples, written))
    for method in own.methods:
        explained = explain(runner, model.encode(examples), METHODS[method], seed=subject.seed)
        for row, one in zip(rows, explained, strict=True):
            row[method] = [one.scores[i] for i in row["place"]]
    return rows


def _scored(
    model: Generator, examples: Sequence[Example], written: Sequence[Rationale], found: Sequence[Importance | None]
) -> Rows:
    """`place` numbers the words that the model read on their own among all words; scores are missing where it wrote no label or
    no rationale."""
    return [
        {"id": e.id, "place": np.flatnonzero(item.seen).tolist(), "words": np.array(item.words)[item.seen].tolist(),
         "said": r.label, "told": r.text, "label": None if one is None else one.label.tolist(),
         "rationale": None if one is None else one.rationale.tolist()}
        for e, item, r, one in zip(examples, model.encode(examples), written, found, strict=True)
    ]  # fmt: skip


def _written(subject: Subject, examples: Sequence[Example]) -> list[Rationale]:
    written = write_rationales(Runner(subject.generator(), remembered=0), examples, max_tokens=subject.task.noise.longest)
    return [_with_label(rationale) for rationale in written] if subject.variant == "i-r" else written


def _with_label(rationale: Rationale) -> Rationale:
    """I→R has no label: what it says first stands for one, so that its rationale is scored as that of the others is."""
    parts = rationale.parts
    first = next((i for i, part in enumerate(parts) if part == "rationale"), 0)
    return replace(rationale, parts=("label", *parts[1:])) if first else rationale


def retrain(subject: Subject, own: Roar, hidden: Mapping[str, Sequence[int]]) -> Rows:
    """I→OR retrained on occluded texts, on the occluded test part; IR→O and I→O, as they were, see whole inputs."""
    data = subject.occluded(own, hidden)
    model, whole = subject.retrained(own, data), roar_part(subject.data(), own)["test"]
    examples = data.load("test")
    written = write_rationales(Runner(model, remembered=0), examples, max_tokens=subject.task.noise.longest)
    read = read_rationales(subject.as_variant("ir-o").generator(), whole, [r.text for r in written])
    plain = read_rationales(subject.as_variant("i-o").generator(), whole)
    return [
        {"id": e.id, "source": o.texts["text"], "gold": e.answer, "label": r.label, "rationale": r.text, "ir-o": with_it,
         "i-o": without}
        for e, o, r, with_it, without in zip(whole, examples, written, read, plain, strict=True)
    ]  # fmt: skip
