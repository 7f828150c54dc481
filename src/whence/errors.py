"""The one error that a user can cause.

Everything else that escapes is a bug of ours. The command line prints a `BadInput` as one line and exits with code 2.
"""


class BadInput(ValueError):
    """What was given, what was expected, and where; always one line."""

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.split()))


def unknown(kind: str, given: str, known: "list[str] | tuple[str, ...]") -> BadInput:
    """The error for a name that is in no registry; it lists the names that are."""
    return BadInput(f"unknown {kind} '{given}': expected one of {', '.join(sorted(known))}")
