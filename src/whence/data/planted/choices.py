"""Planted questions: one of the choices fits a word of the question, and we know which word and why.

    answer  ⇔  the only choice that the fact table (`facts`) links to the thing or purpose in the question

The other choices are answers to other questions of the same kind, so the choices alone tell nothing. Held out for dev and
test: `HELD_SHARE` of the (answer, rival) pairs, at least one of which every dev and test question has, and one way of asking
per kind. Recorded: the deciding words of the question as `highlights`, the fact as explanation, the kind of question in `meta`.
"""

import functools
import itertools
import random

from whence.data.corpus import Corpus
from whence.data.example import Example
from whence.data.planted.build import Marked, article, planted, write
from whence.data.planted.facts import KEPT, LEAD_WORDS, LEADS, QUESTIONS, USED_BY
from whence.errors import BadInput

LETTERS = "ABCDE"
SIZES = {"train": 6_000, "dev": 600, "test": 600}
HELD_SHARE = 0.15

Fact = tuple[str, str, str]
"""(deciding words of the question, answer, explanation)"""


def choices(seed: int = 0, options: int = 3) -> Corpus:
    """Questions with `options` choices (2 to 5), labelled by letter; 6,000 / 600 / 600."""
    if not 2 <= options <= len(LETTERS):
        raise BadInput(f"choices: {options} options: expected 2 to {len(LETTERS)}")

    def make(rng: random.Random, label: str, held: bool) -> Example | None:
        return _make(seed, options, rng, label, held)

    labels = tuple(LETTERS[:options])
    return planted("choices", "choice", labels, SIZES, seed, make, "planted questions: one known fact decides")


_PLURAL = ("scissors", "tweezers")


@functools.cache
def _facts() -> dict[str, list[Fact]]:
    return {
        "where": [(thing, place, f"{_a(thing)} is found in {_a(place)}.") for place in KEPT for thing in KEPT[place]],
        "whose": [(tool, person, f"{_a(person)} works with {_a(tool)}.") for person, (tool, _) in USED_BY.items()],
        "what for": [(purpose, tool, f"{_a(tool)} {_is(tool)} used to {purpose}.") for tool, purpose in USED_BY.values()],
    }


def _a(noun: str) -> str:
    return noun if noun in ("chalk", "soap", *_PLURAL) else f"{article(noun)} {noun}"


def _is(noun: str) -> str:
    return "are" if noun in _PLURAL else "is"


@functools.cache
def held_rivals(seed: int) -> frozenset[tuple[str, str]]:
    """(answer, rival) pairs that training never offers together with that answer being right."""
    held: list[tuple[str, str]] = []
    for kind, facts in _facts().items():
        couples = list(itertools.permutations(sorted({answer for _, answer, _ in facts}), 2))
        held += random.Random(f"{seed}/choices/held out/{kind}").sample(couples, round(HELD_SHARE * len(couples)))
    return frozenset(held)


def _make(seed: int, options: int, rng: random.Random, label: str, held: bool) -> Example | None:
    kind = rng.choice(("where", "where", "whose", "what for"))
    facts = _facts()[kind]
    deciding, answer, reason = rng.choice(facts)
    rivals = rng.sample(sorted({other for _, other, _ in facts} - {answer}), options - 1)
    if any((answer, rival) in held_rivals(seed) for rival in rivals) != held:
        return None
    offered = list(rivals)
    offered.insert(LETTERS.index(label), answer)
    ways = QUESTIONS[kind]
    way = rng.choice(ways) if held else rng.choice(ways[:-1])
    who = rng.choice(LEAD_WORDS["who"])
    lead = rng.choice(LEADS).format(day=rng.choice(LEAD_WORDS["day"]), event=rng.choice(LEAD_WORDS["event"]), who=who)
    parts: list[Marked] = []
    for part in way.removesuffix("?").split():
        parts.append(("deciding", deciding) if part in ("{thing}", "{purpose}") else ("", part.format(lead=lead, who=who)))
    text, marks = write([*(_closed_up(parts)), ("", "?")])
    meta = {"kind": kind, "answer": answer, "held_out": ", ".join(["pair"] * held + ["template"] * (way == ways[-1]))}
    reason = reason[0].upper() + reason[1:]
    return Example("", {"question": text}, label, tuple(offered), ({"question": (marks["deciding"],)},), (reason,), (), meta)


def _closed_up(parts: list[Marked]) -> list[Marked]:
    """Unmarked parts split into words, so that `write` sees their punctuation."""
    return [(mark, word) for mark, part in parts for word in ([part] if mark else part.split())]
