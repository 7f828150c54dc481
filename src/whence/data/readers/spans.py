"""From the ways in which corpora mark words (stars, quoted parts, differing words) to character spans of the unchanged text."""

import re
from difflib import SequenceMatcher

from whence.data.readers.published import RowError
from whence.data.words import Span, space_spans


def bare(text: str, span: Span) -> Span:
    """`span` without punctuation at its ends, unless it is nothing but punctuation.

    Annotators could only click whitespace tokens, so "lunch." came with its full stop; nobody meant that the full stop is a
    reason, and a method that points at `lunch` alone must not be counted as having missed half.
    """
    start, end = span
    while start < end and not text[start].isalnum():
        start += 1
    while end > start and not text[end - 1].isalnum():
        end -= 1
    return (start, end) if start < end else span


def star_spans(text: str, marked: str) -> tuple[Span, ...]:
    """The tokens of `text` that stand between stars in `marked` (e-SNLI).

    A token is marked if it has one star more on both sides than in `text`, so stars of the text itself are no marks. Tokens are
    pieces between single spaces, as the annotation tool counted them; `marked` may have an extra space in front.
    """
    pieces, marks = text.split(" "), marked.split(" ")
    if len(marks) == len(pieces) + 1 and marks[0] == "":
        marks = marks[1:]
    places: list[Span] = []
    at = 0
    for piece in pieces:
        places.append((at, at + len(piece)))
        at += len(piece) + 1
    if len(marks) != len(pieces):  # some copies have changed the spaces: then compare what stands between them
        places, marks = space_spans(text), marked.split()
    if len(marks) != len(places):
        raise RowError(f"the marked sentence has {len(marks)} words; expected {len(places)}, as in '{text:.60}'")
    found = []
    for (start, end), mark in zip(places, marks, strict=True):
        piece = text[start:end]
        if mark == piece:
            continue
        if mark != f"*{piece}*":
            raise RowError(f"the marked sentence has '{mark}'; expected '{piece}' or '*{piece}*'")
        if piece:
            found.append(bare(text, (start, end)))
    return tuple(found)


def locate(part: str, text: str) -> Span | None:
    """Where `part` is in `text`: as whole words, else anywhere, else with whitespace ignored on both sides."""
    part = part.strip()
    if not part:
        return None
    whole = re.search(rf"(?<!\w){re.escape(part)}(?!\w)", text)
    if whole:
        return whole.span()
    if part in text:
        return text.index(part), text.index(part) + len(part)
    kept = [i for i, character in enumerate(text) if not character.isspace()]
    wanted = "".join(part.split())
    at = "".join(text[i] for i in kept).find(wanted)
    return (kept[at], kept[at + len(wanted) - 1] + 1) if at >= 0 else None


def differing(first: str, second: str) -> tuple[tuple[Span, Span], ...]:
    """The phrases in which two sentences differ, side by side: what is left without the longest common prefix and suffix.

    Where the same exchange was made twice ("two men and two dogs" / "three men and three dogs") the words between are common
    too, and each exchange is a pair of its own. A word that is only left out has no counterpart, so it makes no pair.
    """
    places = space_spans(first), space_spans(second)
    a, b = [first[s:e] for s, e in places[0]], [second[s:e] for s, e in places[1]]
    head = 0
    while head < min(len(a), len(b)) and a[head] == b[head]:
        head += 1
    tail = 0
    while tail < min(len(a), len(b)) - head and a[-1 - tail] == b[-1 - tail]:
        tail += 1
    pairs = []
    matcher = SequenceMatcher(None, a[head : len(a) - tail], b[head : len(b) - tail], autojunk=False)
    for kind, i, i_end, j, j_end in matcher.get_opcodes():
        if kind != "replace":
            continue
        x = bare(first, (places[0][head + i][0], places[0][head + i_end - 1][1]))
        y = bare(second, (places[1][head + j][0], places[1][head + j_end - 1][1]))
        if first[slice(*x)] != second[slice(*y)]:
            pairs.append((x, y))
    return tuple(pairs)
