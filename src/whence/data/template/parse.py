"""A model's output → its label and rationale.

The published rule (Wiegreffe et al. 2021): the label is what stands before the first "explanation:", the rationale what stands
after it, both cut at an end mark; equal to a label letter by letter, or wrong. Three things are mended, because choices and
rationales are free text:

  a label that holds the delimiter   candidates are looked for first: the shortest that the delimiter follows is the label
  a rationale that holds it          the rationale goes on to the end; the released code cuts it at the second delimiter
  case and spaces                    compared without them where no candidate fits exactly

An end mark ("</s>", "<extra_id…", …) always ends a rationale, as published: a rationale that holds one comes back shorter. A
label alone may be followed by a full stop or a line end and more, as a model writes that missed its end.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import regex

END_MARKS = ("</s>", "[EOS]", "<|endoftext|>", "<|im_end|>", "<|eot_id|>", "<eos>", "<extra_id")
_LEADING = regex.compile(r"(?:\s|<pad>|<s>)+")
_FLAGS = regex.IGNORECASE | regex.FULLCASE


@dataclass(frozen=True)
class Parsed:
    """`label` is one of the candidates, or None where the output holds none; `rationale` None where it holds no delimiter."""

    label: str | None
    rationale: str | None


def parse_output(output: str, slots: Sequence[tuple[str, str | None]], candidates: Sequence[str], stop: str) -> Parsed:
    """`slots` are the target pattern's, (text before a field, field) …, (text at the end, None)."""
    (lead, first), (between, second), *_ = slots
    tail = slots[-1][0]
    text = _without_lead(output, lead)
    if first == "rationale" and second is None:
        return Parsed(None, _told(output, lead, tail, stop))
    if first == "rationale":
        return _rationale_first(_cut(text, stop), between, tail, candidates)
    if second is None:
        return Parsed(_label_alone(text, tail, candidates), None)
    return _label_first(text, between, tail, candidates, stop)


def _label_first(text: str, between: str, tail: str, candidates: Sequence[str], stop: str) -> Parsed:
    for candidate in sorted(candidates, key=len):
        if text.startswith(candidate + between):
            return Parsed(candidate, _trimmed(text[len(candidate) + len(between) :], tail, stop))
    delimiter = _loose(between)
    for candidate in sorted(candidates, key=len):
        if found := regex.match(_loose(candidate) + delimiter, text, _FLAGS):
            return Parsed(candidate, _trimmed(text[found.end() :], tail, stop))
    found = regex.search(delimiter, text, _FLAGS) if between.strip() else None
    if found is None:
        return Parsed(_same(_cut(text, stop), candidates), None)
    return Parsed(_label_alone(text[: found.start()], "", candidates), _trimmed(text[found.end() :], tail, stop))


def _rationale_first(text: str, between: str, tail: str, candidates: Sequence[str]) -> Parsed:
    """The last delimiter that a candidate follows; without one, the last."""
    places = [m.span() for m in regex.finditer(_loose(between), text, _FLAGS, overlapped=True)]
    for start, end in reversed(places):
        if (label := _label_alone(text[end:], tail, candidates)) is not None:
            return Parsed(label, text[:start].strip())
    return Parsed(None, text[: places[-1][0]].strip() if places else None)


def _told(output: str, lead: str, tail: str, stop: str) -> str | None:
    """The rationale of a target that has no label: what follows the lead, or the lead's last word ("explanation:")."""
    if output.startswith(lead):
        return _trimmed(output[len(lead) :], tail, stop)
    for delimiter in (lead, (lead.split() or [""])[-1]):
        if found := regex.search(_loose(delimiter), output, _FLAGS):
            return _trimmed(output[found.end() :], tail, stop)
    return None


def _label_alone(text: str, tail: str, candidates: Sequence[str]) -> str | None:
    cut = _cut(text, "")
    for whole in (text, cut, cut.strip().removesuffix(tail.strip()) if tail.strip() else cut):
        if (label := _same(whole, candidates)) is not None:
            return label
    for candidate in sorted(candidates, key=len, reverse=True):
        end = r"(?:(?<=\.)\s|\s*\.|[ \t]*[\r\n])"
        if candidate.strip() and regex.match(_loose(candidate) + end, cut, _FLAGS):
            return candidate
    return None


def _same(text: str, candidates: Sequence[str]) -> str | None:
    """The candidate that is the text: exactly, or but for case and spaces."""
    if text in candidates:
        return text
    return next((c for c in candidates if regex.fullmatch(_loose(c) + r"\s*", text, _FLAGS)), None)


def _loose(text: str) -> str:
    """A pattern for the text in any case and with any spaces between its words."""
    return r"\s*" + r"\s+".join(regex.escape(word) for word in text.split())


def _cut(text: str, stop: str) -> str:
    return text[: min(text.index(mark) for mark in marks)] if (marks := list(_marks_in(text, stop))) else text


def _marks_in(text: str, stop: str) -> Iterator[str]:
    return (mark for mark in (*END_MARKS, stop) if mark and mark in text)


def _trimmed(text: str, tail: str, stop: str) -> str:
    """A rationale: up to the first end mark, without the pattern's own end, without spaces around it."""
    cut = _cut(text.lstrip(), stop)
    return cut.removesuffix(tail).strip()


def _without_lead(output: str, lead: str) -> str:
    if output.startswith(lead) and lead:
        return output[len(lead) :]
    start = _LEADING.match(output)
    text = output[start.end() :] if start and "<" in start[0] else output
    if lead.strip() and (found := regex.match(_loose(lead), text, _FLAGS)):
        return text[found.end() :]
    return text
