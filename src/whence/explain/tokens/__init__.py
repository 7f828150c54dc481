"""Token explainers: a number for every word. Add one by adding a file and naming it here."""

from collections.abc import Sequence

from whence.errors import BadInput, unknown
from whence.explain.tokens import attention, gradients, integrated_gradients, kernel_shap, leave_one_out, lime, random
from whence.explain.tokens.method import Ask, Method, Scored
from whence.models import Port

_FILES = (attention, gradients, integrated_gradients, leave_one_out, lime, kernel_shap, random)
METHODS: dict[str, Method] = {method.name: method for file in _FILES for method in file.METHODS}


def choose_methods(model: Port, names: Sequence[str] = ()) -> tuple[list[Method], list[str]]:
    """(methods, notes). Named ones must fit the model; with no names, all that fit it, and the notes say which do not."""
    for name in names:
        if name not in METHODS:
            raise unknown("method", name, list(METHODS))
    chosen, notes = [], []
    for method in [METHODS[name] for name in names] or list(METHODS.values()):
        missing = sorted(method.needs - model.honours)
        if not missing:
            chosen.append(method)
        elif names:
            raise BadInput(f"method '{method.name}' needs the model's {', '.join(missing)}: {model.name} gives none")
        else:
            notes.append(f"{method.title} left out: {model.name} does not offer its {', '.join(missing)}")
    return chosen, notes


__all__ = ["METHODS", "Ask", "Method", "Scored", "choose_methods"]
