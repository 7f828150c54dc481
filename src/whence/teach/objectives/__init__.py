"""What a model is trained for. One file per objective; add one by naming its file here."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from whence.errors import BadInput, unknown
from whence.teach.objectives import (
    adversary,
    backward,
    critic,
    cross_entropy,
    known_alignment,
    label_and_text,
    saloss,
    token_cross_entropy,
)
from whence.teach.objectives.objective import CorpusFacts, JointStep, Learner, Objective, Step, Term, TextFacts, TextStep

_FILES = (cross_entropy, adversary, saloss, known_alignment, token_cross_entropy, label_and_text, critic, backward)
OBJECTIVES: dict[str, Objective] = {objective.name: objective for file in _FILES for objective in file.OBJECTIVES}


def parse_objectives(given: Sequence[str]) -> dict[str, float]:
    """["cross_entropy", "saloss=0.001"] → {"cross_entropy": 1.0, "saloss": 0.001}."""
    weights = {}
    for item in given:
        name, _, weight = item.partition("=")
        if name not in OBJECTIVES:
            raise unknown("objective", name, list(OBJECTIVES))
        try:
            weights[name] = float(weight) if weight else 1.0
        except ValueError:
            raise BadInput(f"objective '{item}': '{weight}' is not a number; expected NAME or NAME=WEIGHT") from None
    return weights


class Total:
    """Σ weight · term."""

    def __init__(self, weights: Mapping[str, float], terms: Mapping[str, Term]) -> None:
        self.weights, self.terms = weights, terms

    def __call__(self, step: Any) -> Tensor:
        return torch.stack([weight * self.terms[name](step) for name, weight in self.weights.items()]).sum()

    @property
    def learners(self) -> dict[str, Learner]:
        """Terms with weights of their own."""
        return {name: term for name, term in self.terms.items() if isinstance(term, Learner)}


def total(weights: Mapping[str, float], options: Mapping[str, Mapping[str, Any]], facts: CorpusFacts) -> Total:
    return Total(weights, {name: _built(OBJECTIVES[name], options.get(name, {}), facts) for name in weights})


def check_options(weights: Mapping[str, float], options: Mapping[str, Mapping[str, Any]]) -> None:
    """Options must belong to an objective that is in use, and those without a default must be there."""
    for name, given in options.items():
        if name not in weights:
            raise BadInput(f"options for objective '{name}', which is not in use; expected one of {', '.join(weights)}")
        for option in given:
            if option not in OBJECTIVES[name].options:
                raise unknown(f"option of objective {name}", option, list(OBJECTIVES[name].options))
    for name in weights:
        for option, default in OBJECTIVES[name].options.items():
            if default is None and options.get(name, {}).get(option) is None:
                raise BadInput(f"objective '{name}' needs a value; expected --set {name}.{option}=VALUE")


def what_is_read(weights: Mapping[str, float], gives: frozenset[str]) -> frozenset[str]:
    """All that the objectives read of a step; refuses one that reads what the task does not give."""
    for name in weights:
        lacking = OBJECTIVES[name].reads - gives
        if lacking:
            fitting = [other for other, objective in OBJECTIVES.items() if objective.reads <= gives]
            raise BadInput(
                f"objective '{name}' reads {', '.join(sorted(lacking))}, which this training does not give; "
                f"expected one of {', '.join(sorted(fitting))}"
            )
    return frozenset().union(*(OBJECTIVES[name].reads for name in weights))


def wished_selection(weights: Mapping[str, float]) -> str | None:
    """The metric that the objectives want the epoch to be chosen by; None if none of them has a wish."""
    wishes = {name: OBJECTIVES[name].select for name in weights if OBJECTIVES[name].select}
    if len(set(wishes.values())) > 1:
        wanted = ", ".join(f"{name} by {metric}" for name, metric in wishes.items())
        raise BadInput(f"the objectives choose the epoch by different metrics ({wanted}); expected --select METRIC")
    return next(iter(wishes.values()), None)


def _built(objective: Objective, options: Mapping[str, Any], facts: CorpusFacts) -> Term:
    return objective.build(facts, **{**objective.options, **options})


__all__ = [
    "OBJECTIVES",
    "CorpusFacts",
    "JointStep",
    "Learner",
    "Objective",
    "Step",
    "Term",
    "TextFacts",
    "TextStep",
    "Total",
    "check_options",
    "parse_objectives",
    "total",
    "what_is_read",
    "wished_selection",
]
