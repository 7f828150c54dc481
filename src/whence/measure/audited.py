"""An audit with every choice filled in: methods, measures, ways to hide, and what was refused before anything is run."""

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from whence.data import Example
from whence.errors import BadInput
from whence.explain import Method, TokenScores, choose_methods, default_hide, explain
from whence.explain.tokens import METHODS
from whence.measure import Measure, choose_measures
from whence.models import Encoded, Hide, Port
from whence.run import Runner, digest

READ_AT_ONCE = 1024
"""Examples that are encoded together: a corpus need not fit into memory."""
REPEATED = 4
"""Every fourth example says how stable methods are that draw at random; the table says how many in all. Where one run cannot
say it, it is explained a second time."""


@dataclass
class Audit:
    """What is to be run. `parameters` override a method's own: {"lime": {"n_samples": 1000}}."""

    model: str
    data: str
    split: str
    examples: Collection[Example]
    """A list, or a `Selection`, which is read anew each time."""
    methods: Sequence[str] = ()
    measures: Sequence[str] = ()
    hide: Hide | None = None
    seed: int = 0
    parameters: dict[str, dict[str, Any]] = field(default_factory=dict)
    explanations: dict[str, list[TokenScores]] = field(default_factory=dict)
    """Explanations made elsewhere, by the name that they get in the table (`whence score`)."""
    notes: Sequence[str] = ()
    """What is to be said about how model and data were read; it stands in the report."""
    budget: dict[str, Any] | None = None
    """What was picked to fit into a time (audit_budget.py)."""


class Chosen:
    """An audit with every choice filled in."""

    def __init__(self, audit: Audit, classifier: Port) -> None:
        self.audit, self.classifier = audit, classifier
        self.fingerprint = classifier.fingerprint  # once: it reads all weights
        self.hide: Hide = audit.hide or default_hide(classifier)
        chosen, notes = choose_methods(classifier, audit.methods) if audit.methods or not audit.explanations else ([], [])
        self.notes = [*audit.notes, *notes]
        # a random explainer is in every comparison, asked for or not
        self.methods: list[Method] = [m for m in chosen if m.name != "random"] + [METHODS["random"]]
        _check(audit, classifier)
        self.measures: list[Measure] = choose_measures(audit.examples, audit.measures)
        self.foreign = {name: {e.id: e for e in several} for name, several in audit.explanations.items()}
        count = len(audit.examples)
        first = self.encode(islice(audit.examples, READ_AT_ONCE))
        if not first and count <= READ_AT_ONCE:
            raise BadInput(f"{audit.data}: in none of its {count} texts does the model read a word; nothing to explain")
        self.task = "pair" if first and len(first[0].fields) == 2 else "text"
        for name, given in self.foreign.items():
            for encoded in self.encoded():
                fitting(given, encoded, classifier, name)

    @property
    def names(self) -> list[str]:
        """Of all methods in the table."""
        return [*self.foreign, *(m.name for m in self.methods)]

    def encode(self, examples: Iterable[Example]) -> list[Encoded]:
        """Those in which the model reads a word."""
        return [e for e in self.classifier.encode(list(examples)) if e.seen.any()]

    def encoded(self) -> Iterator[Encoded]:
        coming = iter(self.audit.examples)
        while block := list(islice(coming, READ_AT_ONCE)):
            yield from self.encode(block)

    def parameters(self, method: Method) -> dict[str, Any]:
        return {**method.parameters, **self.audit.parameters.get(method.name, {})}

    def explain(self, runner: Runner, shard: list[Encoded], method: Method, seed: int = 0) -> list[TokenScores]:
        given = self.audit.parameters.get(method.name, {})
        return explain(runner, shard, method, hide=self.hide, seed=self.audit.seed + seed, parameters=given)

    def config(self) -> dict[str, Any]:
        audit = self.audit
        return {
            "job": "audit",
            "model": audit.model,
            "fingerprint": self.fingerprint,
            "labels": list(self.classifier.labels),
            "data": audit.data,
            "split": audit.split,
            "examples": len(audit.examples),
            "examples_sha256": digest(audit.examples),
            "hide": self.hide,
            "seed": audit.seed,
            "methods": {m.name: self.parameters(m) for m in self.methods},
            "explanations": {name: _scores_digest(several) for name, several in audit.explanations.items()},
            "measures": [m.name for m in self.measures],
        } | ({} if audit.budget is None else {"budget": audit.budget})

    def about(self, examples: int, texts_cut: int, words_unread: int) -> dict[str, Any]:
        """`examples`: in how many the model read a word."""
        return {
            "model": self.audit.model,
            "fingerprint": self.fingerprint,
            "data": self.audit.data,
            "split": self.audit.split,
            "examples": examples,
            "texts_without_words": len(self.audit.examples) - examples,
            "task": self.task,
            "labels": list(self.classifier.labels),
            "hide": self.hide,
            "seed": self.audit.seed,
            "texts_cut": texts_cut,
            "words_unread": words_unread,
            "max_tokens": self.classifier.max_tokens,
        }

    def method_facts(self) -> dict[str, dict[str, Any]]:
        ours = {
            m.name: {"title": m.title, "about": m.about, "paper": m.paper, "cost": m.cost, "stochastic": m.stochastic,
                     "parameters": self.parameters(m)}
            for m in self.methods
        }  # fmt: skip
        given = {
            "about": "Explanations read from a file.",
            "paper": "–",
            "cost": "unknown",
            "stochastic": False,
            "parameters": {},
        }
        return {name: {"title": name, **given} for name in self.foreign} | ours


def _check(audit: Audit, classifier: Port) -> None:
    """What would end in a wrong table is refused before anything is run."""
    if not len(audit.examples):
        raise BadInput(f"{audit.data}: no examples to audit; expected at least one")
    for what, several in (
        ("ids of the examples", (e.id for e in audit.examples)),
        ("labels of the model", classifier.labels),
        ("methods", audit.methods),
        ("measures", audit.measures),
        *((f"ids in {name}", [e.id for e in given]) for name, given in audit.explanations.items()),
    ):
        twice = [name for name, times in Counter(several).items() if times > 1]
        if twice:
            raise BadInput(f"{audit.data}: {what}: '{twice[0]}' occurs more than once; expected each once")
    for name in audit.explanations:
        if name in METHODS:
            raise BadInput(f"explanations are called '{name}', as a method of ours is; expected another name for them")
    for name in audit.parameters:
        if name not in METHODS:
            raise BadInput(f"parameters for '{name}', which is no method; expected one of {', '.join(METHODS)}")


def _scores_digest(explanations: Sequence[TokenScores]) -> str:
    return hashlib.sha256(json.dumps([[x.id, x.target, x.scores] for x in explanations]).encode()).hexdigest()[:16]


def fitting(given: dict[str, TokenScores], encoded: Encoded, classifier: Port, name: str) -> TokenScores:
    """The explanation of this example from a file, checked against the example's own text and words."""
    found = given.get(encoded.example.id)
    if found is None:
        raise BadInput(f"{name}: no explanation of example '{encoded.example.id}'; expected one for each example")
    if dict(found.texts) != dict(encoded.example.texts):
        raise BadInput(f"{name}: the explanation of '{encoded.example.id}' belongs to another text than the data has")
    if len(found.scores) != encoded.word_count:
        raise BadInput(
            f"{name}: '{found.id}' has {len(found.scores)} scores; expected one for each of {encoded.word_count} words"
        )
    if dict(found.spans) != dict(zip(encoded.fields, encoded.spans, strict=True)):
        raise BadInput(f"{name}: '{found.id}' has other words than Whence finds in that text; expected the same word spans")
    if found.target not in classifier.labels:
        raise BadInput(f"{name}: '{found.id}' explains label '{found.target}'; the model knows {', '.join(classifier.labels)}")
    return found
