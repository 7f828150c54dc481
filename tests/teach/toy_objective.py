"""An objective from outside the package: one file, and one line that registers it (test_tasks.py)."""

from torch import Tensor

from whence.teach.objectives import CorpusFacts, Objective, Step, Term


def shy(_: CorpusFacts, bound: float) -> Term:
    """Logits above `bound` cost their square."""

    def term(step: Step) -> Tensor:
        return (step.logits.abs() - bound).clamp(min=0).square().mean()

    return term


SHY = Objective("shy", "Small logits.", "", shy, {"bound": 0.01}, reads=frozenset({"logits"}), select="train_loss")
