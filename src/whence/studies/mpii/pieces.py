"""The pieces of the study: a training, what a model writes and how good that is, labels elsewhere, the critic, both association
tests, and label and explanation exchanged. Each is a function of JSON-able arguments and loads what it needs.
"""

from collections.abc import Sequence
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from whence.data import Example, words
from whence.data.mismatched import triple
from whence.explain.text import Rationale, read_rationales, write_rationales
from whence.explain.text.importance import shaken_importances, text_shares
from whence.measure.robustness import robustness, written_under_noise
from whence.measure.shared_importance import depending, shared_importance
from whence.measure.statistics import Estimate
from whence.measure.text.bleu import REFERENCES, bleu_statistics
from whence.measure.text.critic import belonging
from whence.measure.text.evolution import deciding_tokens, movement, read_at
from whence.measure.text.label_state import exchanged
from whence.measure.text.language_model import KneserNey, text_model
from whence.measure.text.similarity import Vectors, cosine, learned_vectors
from whence.measure.text.telling import Reader
from whence.measure.text.tokens import Tokens, spaced, treebank
from whence.models import SimPort
from whence.models.vectors import read_vectors
from whence.run import Request, Runner
from whence.run.engine import Rows
from whence.studies.kit.corpora import opened, spread
from whence.studies.mpii.models import PEOPLE, Subject
from whence.teach import read_predictions
from whence.teach.tasks.text_scores import exact_match

NOT_RUN = "not run"
TOKENS: dict[str, Tokens] = {"treebank": treebank, "spaced": spaced}


def train(subject: Subject) -> Rows:
    """One row: how good the model is on dev, by its greedy outputs, and what it was trained on."""
    results = subject.trained().results
    dev = {f"dev_{name}": results["dev"].get(name) for name in ("accuracy", "bleu", "exact_match", "loss")}
    return [{**dev, "train": results["train_examples"], "epoch": results["best_epoch"]}]


def teach_critic(subject: Subject) -> Rows:
    """What the discriminator says of triples that people wrote: a row for each of its test examples."""
    rows = read_predictions(subject.critic().folder, "test")
    train_examples = subject.critic().results["train_examples"]
    return [{"id": row["id"], "label": row["label"], "right": float(row["predicted"] == row["label"]), "train": train_examples}
            for row in rows]  # fmt: skip


def write(subject: Subject) -> Rows:
    """A row for each test example: what the model predicts and writes, and all that is measured of it alone."""
    examples = subject.tested()
    labels, rationales = _said(subject, examples)
    found = _scored(subject, examples, labels, [r.text for r in rationales])
    for row, example, rationale in zip(found, examples, rationales, strict=True):
        row |= _evolved(example, rationale, _reader(_key(subject)))
    return found


def _said(subject: Subject, examples: Sequence[Example]) -> tuple[list[str | None], list[Rationale]]:
    explainer = subject.explainer()
    rationales = write_rationales(Runner(explainer or subject.port(), remembered=0), examples)
    if explainer is None:
        return [r.label for r in rationales], rationales
    return read_rationales(subject.port(), examples, [r.text for r in rationales]), rationales


def people(subject: Subject) -> Rows:
    """The same of people: the third explanation where there are three, else the only one."""
    examples = subject.tested()
    written = [e.explanations[REFERENCES] if len(e.explanations) > REFERENCES else e.explanations[0] for e in examples]
    return _scored(subject, examples, [e.answer for e in examples], written)


def _scored(subject: Subject, examples: Sequence[Example], labels: Sequence[str | None], written: Sequence[str]) -> Rows:
    tokens = TOKENS[subject.task.tokens]
    statistics = bleu_statistics(written, [e.explanations for e in examples], tokens)
    model, vectors = _language_model(_key(subject)), _vectors(_key(subject))
    surprise = model.surprisal([tokens(text) for text in written])
    consistent: list[float | None] = [None] * len(examples)
    if subject.task.critic is not None:
        triples = [triple(e, label, why) for e, label, why in zip(examples, labels, written, strict=True)]
        consistent = belonging(Runner(subject.critic_port(), remembered=0), triples).tolist()
    own = subject.row == PEOPLE
    return [
        {
            "id": e.id, "input": " / ".join((*e.texts.values(), *e.choices)), "label": e.answer, "predicted": label,
            "rationale": why, "human": e.explanations[0], "right": float(label == e.answer),
            "exact": exact_match([(why, e.explanations[0])]), "bleu": statistics[i].tolist(), "surprise": surprise[i].tolist(),
            "cosine": None if own else cosine(why, e.explanations[0], vectors, tokens), "belongs": consistent[i],
        }
        for i, (e, label, why) in enumerate(zip(examples, labels, written, strict=True))
    ]  # fmt: skip


def _evolved(example: Example, rationale: Rationale, reader: Reader | None) -> dict[str, Any]:
    """Of every step: how far the label moved, the token that was read, and whether that says a deciding word, or one that tells
    the label to the reader of explanations alone."""
    count = max(0, len(rationale.evolution) - 2)
    tokens = rationale.tokens[len(rationale.tokens) - count :]
    moves = movement(np.array(rationale.evolution)) if rationale.evolution else np.zeros(0)
    deciding = read_at(deciding_tokens(tokens, _deciding(example))).astype(float).tolist()
    telling = [] if reader is None else read_at(reader.telling_tokens(tokens)).astype(float).tolist()
    return {
        "tokens": ["(start)", *tokens], "moves": moves.tolist(), "deciding": deciding, "telling": telling,
        "states": np.array(rationale.evolution).ravel().tolist(), "names": list(rationale.probabilities),
    }  # fmt: skip


def _deciding(example: Example) -> set[str]:
    """Words that decide: those that were planted or highlighted, and of a question also the right choice's."""
    marked = {
        example.texts[name][a:b] for annotator in example.highlights for name, spans in annotator.items() for a, b in spans
    }
    said = [*marked, *([example.answer] if example.choices and example.answer else [])]
    return {word.casefold() for text in said for word in words(text)}


def outside(subject: Subject, corpus: str, split: str, count: int | None) -> Rows:
    """Labels of another corpus, predicted as the model is."""
    whole = opened(corpus, subject.root, whole=True).load(split)
    examples = whole if count is None else spread(whole, count)
    if subject.explainer() is not None:
        labels, _ = _said(subject, examples)
    else:
        port = subject.port()
        results = Runner(port, remembered=0).run([Request(encoded) for encoded in port.encode(examples)])
        labels = [port.labels[result.label] for result in results]
    return [{"id": e.id, "right": float(label == e.label)} for e, label in zip(examples, labels, strict=True)]


def associate(subject: Subject, count: int, levels: Sequence[float], draws: int) -> Rows:
    """One row: do labels and rationales fail under the same noise, on the same draws, and do they come from the same words?"""
    runner, examples = Runner(subject.port()), subject.tested()[:count]
    failed = robustness(written_under_noise(runner, examples, levels, draws, subject.seed))
    return [{
        "label_collapse": failed.label_collapse, "rationale_collapse": failed.rationale_collapse, "steps": failed.steps.value,
        "steps_low": failed.steps.low, "steps_high": failed.steps.high, "coupling": failed.coupling, "p": failed.p,
        "verdict": failed.verdict, "told": failed.told(), **_words_test(runner, examples),
    }]  # fmt: skip


def _words_test(runner: Runner, examples: Sequence[Example]) -> dict[str, Any]:
    """Of questions there is none: it reads what a model would say of another text, and an answer is no choice of another
    question."""
    if examples[0].choices:
        return {**_estimate("shared", None), "shared_p": None, "bond": NOT_RUN, "examples": 0}
    rationales = write_rationales(runner, examples)
    shares = text_shares(runner, examples, rationales)
    bond = shared_importance(shaken_importances(runner, examples, rationales, shares), depending(rationales, shares))
    return {**_estimate("shared", bond.value), "shared_p": bond.p, "bond": bond.verdict, "examples": bond.examples}


def _estimate(name: str, found: Estimate | None) -> dict[str, float | None]:
    values = (None, None, None) if found is None else (found.value, found.low, found.high)
    return dict(zip((name, f"{name}_low", f"{name}_high"), values, strict=True))


def exchange(subject: Subject, count: int) -> Rows:
    """A row for each example: label and explanation, each with the other one changed."""
    port = subject.port()
    assert isinstance(port, SimPort)
    return [asdict(one) for one in exchanged(port, subject.tested()[:count])]


def _key(subject: Subject) -> str:
    """Language model and vectors are those of the corpus, whoever is scored."""
    return subject.model_copy(update={"row": PEOPLE, "seed": 0}).model_dump_json()


@lru_cache(maxsize=2)
def _language_model(key: str) -> KneserNey:
    subject = Subject.model_validate_json(key)
    return text_model(_training_texts(subject), TOKENS[subject.task.tokens], subject.settings.order)


@lru_cache(maxsize=2)
def _reader(key: str) -> Reader | None:
    """Of questions there is none: their labels are places of choices, which no explanation names."""
    corpus = Subject.model_validate_json(key).whole()
    if corpus.task == "choice":
        return None
    told = [(e.explanations[0], corpus.labels.index(e.label)) for e in corpus.load("train") if e.explanations and e.label]
    return Reader(told, len(corpus.labels))


@lru_cache(maxsize=2)
def _vectors(key: str) -> Vectors:
    subject = Subject.model_validate_json(key)
    tokens, texts = TOKENS[subject.task.tokens], _training_texts(subject)
    if subject.settings.vectors is None:
        return learned_vectors(texts, tokens=tokens)
    spoken = {word for text in texts for word in tokens(text)}
    return read_vectors(Path(subject.settings.vectors), spoken)


def _training_texts(subject: Subject) -> list[str]:
    """All of the corpus' training explanations, or so many, also where models learn from a part."""
    told = [e.explanations[0] for e in subject.whole().load("train") if e.explanations]
    return told if subject.settings.texts is None else told[: subject.settings.texts]
