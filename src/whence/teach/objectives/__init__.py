"""What a model is trained for. One file per objective; add one by naming its file here."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from whence.errors import BadInput, unknown
from whence.teach.objectives import adversary, cross_entropy, known_alignment, saloss
from whence.teach.objectives.objective import CorpusFacts, Objective, Step, Term

OBJECTIVES: dict[str, Objective] = {
    objective.name: objective for file in (cross_entropy, adversary, saloss, known_alignment) for objective in file.OBJECTIVES
}


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


def total(weights: Mapping[str, float], options: Mapping[str, Mapping[str, Any]], facts: CorpusFacts) -> Term:
    """Σ weight · term."""
    terms = [(weight, _built(OBJECTIVES[name], options.get(name, {}), facts)) for name, weight in weights.items()]
    return lambda step: torch.stack([weight * term(step) for weight, term in terms]).sum()


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


def reads_attention(weights: Mapping[str, float]) -> bool:
    return any(OBJECTIVES[name].reads_attention for name in weights)


def _built(objective: Objective, options: Mapping[str, Any], facts: CorpusFacts) -> Term:
    return objective.build(facts, **{**objective.options, **options})


__all__ = [
    "OBJECTIVES",
    "CorpusFacts",
    "Objective",
    "Step",
    "Term",
    "check_options",
    "parse_objectives",
    "reads_attention",
    "total",
]
