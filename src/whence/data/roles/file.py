"""Semantic roles from a JSON lines file: the output of any SRL system, one sentence per row, found by its text.

Either by characters of the text (half-open, so any tokenization will do; `lemma` may be left out, then ours is taken):

  {"text": "The dog saw a cat.", "predicates": [{"span": [8, 11], "lemma": "see",
   "arguments": [{"role": "ARG0", "span": [0, 7]}, {"role": "ARG1", "span": [12, 17]}]}]}

or as tagged words, one list of BIO tags per verb, as AllenNLP writes them; `text` may be left out, then it is the words joined
by spaces:

  {"words": ["The", "dog", "saw", "a", "cat", "."],
   "verbs": [{"verb": "saw", "tags": ["B-ARG0", "I-ARG0", "B-V", "B-ARG1", "I-ARG1", "O"]}]}
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from whence.data.corpus import BadRow
from whence.data.files import json_rows
from whence.data.roles.lemmas import lemma
from whence.data.roles.roles import Argument, Predicate, Roles, ordered, words_in
from whence.data.words import Span, word_spans
from whence.errors import BadInput


class _Wrong(ValueError):
    """What is wrong with the row at hand."""


def read_roles(path: Path) -> dict[str, Roles]:
    """The roles of every sentence in the file, by its text."""
    found: dict[str, Roles] = {}
    for item in json_rows(path):
        if isinstance(item, BadRow):
            raise BadInput(str(item))
        number, row = item
        try:
            text, roles = _by_tags(row) if "words" in row else _by_characters(row)
        except _Wrong as problem:
            raise BadInput(f"{path}, row {number}: {problem}") from None
        found[text] = roles
    return found


def _by_characters(row: dict[str, Any]) -> tuple[str, Roles]:
    text = row.get("text")
    if not isinstance(text, str) or not isinstance(row.get("predicates"), list):
        raise _Wrong("no 'text' with a list 'predicates'; expected them, or 'words' with 'verbs'")
    spans, predicates = word_spans(text), []
    for item in row["predicates"]:
        here = _words(item, text, spans)
        arguments = [Argument(_role(a), *_words(a, text, spans)) for a in item.get("arguments", ())]
        word = text[slice(*spans[here[0]])]
        predicates.append(Predicate(str(item.get("lemma") or lemma(word)).lower(), here[0], tuple(arguments)))
    return text, ordered(predicates)


def _words(item: Any, text: str, spans: Sequence[Span]) -> Span:
    span = item.get("span") if isinstance(item, dict) else None
    if not (isinstance(span, list) and len(span) == 2 and all(type(n) is int for n in span)):
        raise _Wrong(f"span {span!r:.40}; expected [start, end] in characters")
    if not 0 <= span[0] < span[1] <= len(text):
        raise _Wrong(f"span {span} is not inside the text of {len(text)} characters")
    here = words_in(spans, *span)
    if here is None:
        raise _Wrong(f"span {span} holds no word")
    return here


def _role(argument: dict[str, Any]) -> str:
    if not isinstance(argument.get("role"), str):
        raise _Wrong(f"role {argument.get('role')!r:.40}; expected a name such as ARG0")
    return argument["role"]


def _by_tags(row: dict[str, Any]) -> tuple[str, Roles]:
    tokens, verbs = row["words"], row.get("verbs")
    if not (isinstance(tokens, list) and all(isinstance(t, str) and t for t in tokens) and isinstance(verbs, list)):
        raise _Wrong("'words' is not a list of words with a list 'verbs'; expected both")
    text = row.get("text", " ".join(tokens))
    places, at = [], 0
    for token in tokens:
        start = text.find(token, at)
        if start < 0:
            raise _Wrong(f"word '{token}' does not come next in the text; expected the words in their order")
        places.append((start, start + len(token)))
        at = start + len(token)
    spans, predicates = word_spans(text), []
    for item in verbs:
        tags = item.get("tags") if isinstance(item, dict) else None
        if not (isinstance(tags, list) and len(tags) == len(tokens) and all(isinstance(t, str) for t in tags)):
            raise _Wrong(f"a verb has {len(tags) if isinstance(tags, list) else 'no'} tags; expected one for each of the "
                         f"{len(tokens)} words")  # fmt: skip
        verb, arguments = None, []
        for role, first, last in _chunks(tags):
            here = words_in(spans, places[first][0], places[last][1])
            if here is not None and role == "V":
                verb = here[0]
            elif here is not None:
                arguments.append(Argument(role, *here))
        if verb is not None:  # a row of O only: the system found no frame
            predicates.append(Predicate(lemma(text[slice(*spans[verb])]), verb, tuple(arguments)))
    return text, ordered(predicates)


def _chunks(tags: Sequence[str]) -> list[tuple[str, int, int]]:
    """(role, first, last) of every run of B- and I- tags; an I- tag that continues nothing opens a run."""
    runs: list[tuple[str, int, int]] = []
    for i, tag in enumerate(tags):
        kind, _, role = tag.partition("-")
        if kind == "I" and runs and runs[-1][0] == role and runs[-1][2] == i - 1:
            runs[-1] = (role, runs[-1][1], i)
        elif kind in ("B", "I"):
            runs.append((role, i, i))
    return runs
