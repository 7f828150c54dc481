"""The words in which two texts differ: `Example.edits` of a counterfactual pair.

A text from which words were only taken away has no edits of its own: its counterpart has them. Edits are no human highlights:
nobody was asked which words matter; the label changed when these words did.
"""

from dataclasses import replace
from difflib import SequenceMatcher

from whence.data.example import Example
from whence.data.readers.published import RowError
from whence.data.words import Span, runs, word_spans


def edited_spans(first: str, second: str) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
    """The words of each text that the other lacks, runs of words as one span; what both share is the most that can match."""
    places = word_spans(first), word_spans(second)
    a, b = ([text[s:e].casefold() for s, e in spans] for text, spans in zip((first, second), places, strict=True))
    changed = [True] * len(a), [True] * len(b)
    for i, j, size in SequenceMatcher(None, a, b, autojunk=False).get_matching_blocks():
        changed[0][i : i + size] = changed[1][j : j + size] = [False] * size
    one, two = (
        tuple((spans[i][0], spans[j - 1][1]) for i, j in runs(mask)) for spans, mask in zip(places, changed, strict=True)
    )
    return one, two


def coupled(first: Example, second: Example) -> tuple[Example, Example]:
    """Both examples with their edits, each naming the other."""
    if first.label == second.label:
        raise RowError(f"'{second.id}' has the label of its counterpart, {first.label}; expected another")
    edits: tuple[dict[str, tuple[Span, ...]], dict[str, tuple[Span, ...]]] = {}, {}
    for name in first.texts:
        edits[0][name], edits[1][name] = edited_spans(first.texts[name], second.texts[name])
    if not any(spans for marked in edits for spans in marked.values()):
        raise RowError(f"'{second.id}' has the words of its counterpart; expected at least one that differs")
    return (
        replace(first, edits=edits[0], meta={**first.meta, "counterpart": second.id}),
        replace(second, edits=edits[1], meta={**second.meta, "counterpart": first.id}),
    )
