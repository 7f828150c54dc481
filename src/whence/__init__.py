"""Whence makes explanations of language models, measures how faithful they are, and trains models that explain faithfully."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from whence.api import AuditReport, Example, Model, audit, calibrate, load, open_corpus, plan, score, study, sweep, train

__version__ = "0.1.0"
__all__ = [
    "AuditReport", "Example", "Model", "audit", "calibrate", "load", "open_corpus", "plan", "score", "study", "sweep", "train",
]  # fmt: skip


def align(
    model: Any, premises: Any, hypotheses: Any = None, *, method: str = "arec", seed: int = 0, parameters: Any = None
) -> Any:
    """Which word pairs a prediction rests on: `load(model).align(…)` in one call (see `Model.align`)."""
    from whence.api import load

    return load(model).align(premises, hypotheses, method=method, seed=seed, parameters=parameters)


def __getattr__(name: str) -> Any:
    """The names of the Python interface, imported when first used: `import whence` alone stays quick."""
    if name in __all__:
        from whence import api

        return getattr(api, name)
    raise AttributeError(f"module 'whence' has no attribute '{name}'")
