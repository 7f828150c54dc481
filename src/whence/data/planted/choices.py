"""Planted questions: one of the choices fits a word of the question, and we know which word and why.

    answer  ⇔  the only choice that the fact table (`facts`) links to the thing or purpose in the question

The other choices are answers to other questions of the same kind, and each is as often the answer, so the choices alone tell
nothing. A thing is found in two places, one of them among the choices: of "where", the question alone does not tell either. The
explanation names the answer first.

Held out for dev and test: about `HELD_SHARE` of the pairs of answers, between which training never asks, and one way of asking
per kind; every dev and test question has such a pair. Recorded: the deciding words of the question as `highlights`, the fact
as explanation, the kind of question in `meta`.
"""

import functools
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
        "where": [
            (thing, place, f"{_a(place)} is where {_a(thing)} is found.")
            for places, things in KEPT.items()
            for place in places
            for thing in things
        ],
        "whose": [(tool, person, f"{_a(person)} works with {_a(tool)}.") for person, (tool, _) in USED_BY.items()],
        "what for": [(purpose, tool, f"{_a(tool)} {_is(tool)} used to {purpose}.") for tool, purpose in USED_BY.values()],
    }


def _a(noun: str) -> str:
    return noun if noun in ("chalk", "soap", *_PLURAL) else f"{article(noun)} {noun}"


def _is(noun: str) -> str:
    return "are" if noun in _PLURAL else "is"


@functools.cache
def held_rivals(seed: int) -> frozenset[tuple[str, str]]:
    """(answer, rival) pairs that training never shows, in both orders: with one alone held out, training would show only
    questions in which the rival is right."""
    held: list[tuple[str, str]] = []
    for kind, facts in _facts().items():
        ring = sorted({answer for _, answer, _ in facts})
        random.Random(f"{seed}/choices/held out/{kind}").shuffle(ring)
        for step in range(1, round(HELD_SHARE * len(ring) / 2) + 1):  # neighbours on a ring: as many for each answer
            held += zip(ring, ring[step:] + ring[:step], strict=True)
    return frozenset([*held, *((rival, answer) for answer, rival in held)])


def _make(seed: int, options: int, rng: random.Random, label: str, held: bool) -> Example | None:
    kind = rng.choice(("where", "where", "whose", "what for"))
    facts = _facts()[kind]
    answer, *rivals = rng.sample(sorted({answer for _, answer, _ in facts}), options)
    if any((answer, rival) in held_rivals(seed) for rival in rivals) != held:
        return None
    elsewhere = {deciding for deciding, other, _ in facts if other in rivals}
    fitting = [(deciding, reason) for deciding, other, reason in facts if other == answer and deciding not in elsewhere]
    if not fitting:
        return None
    deciding, reason = rng.choice(fitting)
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
