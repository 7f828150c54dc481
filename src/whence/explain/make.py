"""Make explanations: many examples, one method, one call of the runner."""

from collections.abc import Mapping, Sequence
from typing import Any

from whence.data import Example
from whence.errors import BadInput
from whence.explain.explanation import TokenScores
from whence.explain.parameters import filled
from whence.explain.tokens import Ask, Method, Scored
from whence.models import HIDE, Encoded, Hide, Label, Port, Target
from whence.run import Request, Rounds, Runner, Tick


def default_hide(model: Port) -> Hide:
    return model.hides[0]


def check_hide(hide: str) -> Hide:
    for known in HIDE:
        if hide == known:
            return known
    raise BadInput(f"unknown way to hide a word '{hide}': expected one of {', '.join(HIDE)}")


def explain(
    runner: Runner,
    encoded: Sequence[Encoded],
    method: Method,
    target: Target | None = None,
    hide: Hide | None = None,
    seed: int = 0,
    parameters: Mapping[str, Any] | None = None,
    tick: Tick | None = None,
) -> list[TokenScores]:
    """Explain each example's best candidate, or `target`. `parameters` override the method's own defaults."""
    classifier = runner.classifier
    hide = hide or default_hide(classifier)
    values = filled(method, parameters)

    whose = classifier.fingerprint

    def one(item: Encoded) -> Rounds[TokenScores]:
        [base] = yield [Request(item, target=target)]
        goal = Label(base.label) if target is None else target
        scored: Scored = yield from method.rounds(Ask(item, goal, hide, seed), **values)
        notes = {**scored.notes, **_unread(item)}
        return TokenScores(
            id=item.example.id, texts=dict(item.example.texts), spans=dict(zip(item.fields, item.spans, strict=True)),
            scores=tuple(float(s) for s in item.share(scored.scores)), method=method.name,
            target=target_name(classifier, goal), probability=base.score(goal), parameters={**values, "hide": hide},
            notes=notes, model=whose, seed=seed,
        )  # fmt: skip

    return runner.drive((one(item) for item in encoded), tick)


def explain_texts(runner: Runner, examples: Sequence[Example], method: Method, **options: Any) -> list[TokenScores]:
    return explain(runner, runner.classifier.encode(examples), method, **options)


def target_name(model: Port, target: Target) -> str:
    """What an explanation calls its target."""
    return model.labels[target.index] if isinstance(target, Label) else model.text_of(target)


def _unread(encoded: Encoded) -> dict[str, float]:
    """What the model did not read, for the notes of an explanation."""
    counts = {"unseen_words": encoded.unseen, "dropped_words": encoded.dropped}
    return {name: float(count) for name, count in counts.items() if count}
