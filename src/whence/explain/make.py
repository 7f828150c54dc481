"""Make explanations: many examples, one method, one call of the runner."""

from collections.abc import Mapping, Sequence
from typing import Any

from whence.data import Example
from whence.errors import BadInput
from whence.explain.explanation import TokenScores
from whence.explain.parameters import filled
from whence.explain.tokens import Ask, Method, Scored
from whence.models import HIDE, Classifier, Encoded, Hide
from whence.run import Request, Runner, Steps, Tick


def default_hide(classifier: Classifier) -> Hide:
    """The mask token where it was pretrained to mean "some word"; else delete, since our word models never saw a mask."""
    return "mask" if classifier.tokenizer.mask_token_id is not None and not classifier.own else "delete"


def check_hide(hide: str) -> Hide:
    for known in HIDE:
        if hide == known:
            return known
    raise BadInput(f"unknown way to hide a word '{hide}': expected one of {', '.join(HIDE)}")


def explain(
    runner: Runner,
    encoded: Sequence[Encoded],
    method: Method,
    target: int | None = None,
    hide: Hide | None = None,
    seed: int = 0,
    parameters: Mapping[str, Any] | None = None,
    tick: Tick | None = None,
) -> list[TokenScores]:
    """Explain each example's predicted label, or `target`. `parameters` override the method's own defaults."""
    classifier = runner.classifier
    hide = hide or default_hide(classifier)
    values = filled(method, parameters)

    def one(item: Encoded) -> Steps[TokenScores]:
        [base] = yield [Request(item)]
        goal = base.label if target is None else target
        scored: Scored = yield from method.steps(Ask(item, goal, hide, seed), **values)
        notes = dict(scored.notes) | ({"unseen_words": float(item.unseen)} if item.unseen else {})
        return TokenScores(
            id=item.example.id, texts=dict(item.example.texts), spans=dict(zip(item.fields, item.spans, strict=True)),
            scores=tuple(float(s) for s in scored.scores), method=method.name, target=classifier.labels[goal],
            probability=float(base.probabilities[goal]), parameters={**values, "hide": hide}, notes=notes,
            model=classifier.fingerprint, seed=seed,
        )  # fmt: skip

    return runner.drive((one(item) for item in encoded), tick)


def explain_texts(runner: Runner, examples: Sequence[Example], method: Method, **options: Any) -> list[TokenScores]:
    return explain(runner, runner.classifier.encode(examples), method, **options)
