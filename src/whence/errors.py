"""The one error that a user can cause.

Everything else that escapes is a bug of ours. The command line prints a `BadInput` as one line and exits with code 2.
"""

from collections.abc import Iterable


def visible(text: str) -> str:
    """Hostile text made printable: control characters cannot move the cursor, lone surrogates cannot break the encoding."""
    return "".join(c if c.isprintable() or c == " " else "\ufffd" if 0xD800 <= ord(c) <= 0xDFFF else " " for c in text)


class BadInput(ValueError):
    """What was given, what was expected, and where; always one line, and safe to print whatever was given."""

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(visible(message).split()))


def unknown(kind: str, given: str, known: Iterable[str]) -> BadInput:
    """The error for a name that is in no registry; it lists the names that are."""
    return BadInput(f"unknown {kind} '{given}': expected one of {', '.join(sorted(known))}")
