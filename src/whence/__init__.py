"""Whence makes explanations of language models, measures whether they are faithful, and teaches models to be so."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from whence.api import AuditReport, Model, audit, load

__version__ = "0.1.0"
__all__ = ["AuditReport", "Model", "audit", "load"]


def __getattr__(name: str) -> Any:
    """The five names of the Python interface, imported when first used: `import whence` alone stays quick."""
    if name in __all__:
        from whence import api

        return getattr(api, name)
    raise AttributeError(f"module 'whence' has no attribute '{name}'")
