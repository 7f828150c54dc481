"""What the parameters of a method may be: declared beside the method, checked before any work, with one form of message.

The default says what kind of value is meant (a whole number, a number, a text); `Range` says which numbers make sense. Upper
ends keep a slip of the keyboard from filling the memory.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from whence.errors import BadInput, unknown


@dataclass(frozen=True)
class Range:
    """Numbers from `low` to `high`, both allowed."""

    low: float
    high: float

    def __str__(self) -> str:
        return f"from {self.low:,g} to {self.high:,g}" if self.high < 1e6 else f"from {self.low:,g} to {int(self.high):,}"


SAMPLES, STEPS, POSITIVE = Range(2, 1_000_000), Range(1, 10_000), Range(1e-9, 1e9)


class Parametrised(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def parameters(self) -> Mapping[str, Any]: ...
    @property
    def ranges(self) -> Mapping[str, Range]: ...


def filled(method: Parametrised, given: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The method's parameters with those that were given; refuses unknown names and values that make no sense."""
    for name, value in (given or {}).items():
        if name not in method.parameters:
            known = ", ".join(method.parameters) or "none: it has no parameters"
            raise BadInput(f"method '{method.name}' has no parameter '{name}'; expected {known}")
        default, range_ = method.parameters[name], method.ranges.get(name)
        kind = int if isinstance(default, int) else (int, float) if isinstance(default, float) else str
        fits = isinstance(value, kind) and not isinstance(value, bool)
        if fits and range_ is not None:
            fits = range_.low <= value <= range_.high
        if not fits:
            noun = "a whole number" if kind is int else "a text" if kind is str else "a number"
            wanted = f"{noun} {range_}" if range_ else noun
            raise BadInput(f"parameter '{name}' of method '{method.name}' must be {wanted}; got {value!r:.80}")
    return {**method.parameters, **(given or {})}


def check_parameters(
    methods: Mapping[str, Parametrised], given: Mapping[str, Mapping[str, Any]], run: Iterable[str] = ()
) -> None:
    """Every setting must belong to a method that runs; an empty `run` means all methods."""
    running = tuple(run) or tuple(methods)
    for name, parameters in given.items():
        if name not in methods:
            raise unknown("method", name, methods)
        filled(methods[name], parameters)
        if name not in running:
            raise BadInput(
                f"{name}.{next(iter(parameters), '')} is set, but '{name}' is not among the methods that run "
                f"({', '.join(running)}); expected it there too, or no setting for it"
            )
