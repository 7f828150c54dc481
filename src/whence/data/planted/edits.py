"""The edits that decide the label of a planted scene, and which word pairs only dev and test may use.

    entailment     hypernym, synonym, drop (a modifier goes), passive (voice changes, roles stay), overlap (new order only)
    neutral        hyponym, unrelated (another modifier instead), add (a modifier comes), role swap, passive swap
    contradiction  co-hyponym, category, antonym, number, colour, place, day

Role swaps are neutral: that the doctor helped the lawyer neither shows nor excludes that the lawyer helped the doctor.

Held out: of every edit that exchanges two precise words of many, `HELD_SHARE` of the unordered pairs. Not of hypernyms,
hyponyms, synonyms and antonyms: nothing else in the corpus would say that a swan is a bird. Those come in held-out templates.
"""

import functools
import itertools
import math
import random

from whence.data.planted.lexicon import INCLUDED_IN, related

LABELS = ("entailment", "neutral", "contradiction")
HELD_SHARE = 0.15
TAUGHT_ONLY = ("hypernym", "hyponym", "synonym", "antonym")
"""Edits whose pairs must all be seen in training; see above."""

Choice = tuple[str, str, float]
"""(edit, slot, weight)"""

EDITS: dict[str, dict[str, tuple[Choice, ...]]] = {
    "entailment": {
        "state": (
            ("hypernym", "subject", 22), ("hypernym", "verb", 8), ("hypernym", "place", 8), ("hypernym", "day", 5),
            ("hypernym", "number", 5), ("synonym", "adjective", 26), ("drop", "adjective", 4), ("drop", "item", 4),
            ("drop", "colour", 3), ("drop", "place", 4), ("drop", "day", 3), ("overlap", "", 8),
        ),
        "event": (
            ("hypernym", "subject", 8), ("hypernym", "object", 8), ("hypernym", "verb", 10), ("hypernym", "place", 5),
            ("synonym", "adjective", 11), ("synonym", "adjective2", 7), ("drop", "adjective", 4), ("drop", "adjective2", 3),
            ("drop", "place", 4), ("drop", "day", 3), ("passive", "", 24), ("overlap", "", 13),
        ),
    },
    "neutral": {
        "state": (
            ("hyponym", "subject", 18), ("hyponym", "verb", 7), ("hyponym", "place", 7), ("hyponym", "day", 4),
            ("hyponym", "number", 4), ("unrelated", "adjective", 28), ("unrelated", "item", 18), ("add", "adjective", 4),
            ("add", "item", 3), ("add", "colour", 2), ("add", "place", 3), ("add", "day", 2),
        ),
        "event": (
            ("hyponym", "subject", 6), ("hyponym", "object", 6), ("hyponym", "verb", 8), ("hyponym", "place", 4),
            ("unrelated", "adjective", 13), ("unrelated", "adjective2", 9), ("add", "adjective", 3), ("add", "adjective2", 3),
            ("add", "place", 3), ("add", "day", 2), ("role swap", "", 22), ("passive swap", "", 21),
        ),
    },
    "contradiction": {
        "state": (
            ("co-hyponym", "subject", 16), ("category", "subject", 14), ("co-hyponym", "verb", 6), ("category", "verb", 6),
            ("antonym", "adjective", 22), ("number", "number", 10), ("colour", "colour", 10), ("place", "place", 10),
            ("day", "day", 6),
        ),
        "event": (
            ("co-hyponym", "subject", 8), ("category", "subject", 8), ("co-hyponym", "object", 8), ("category", "object", 8),
            ("co-hyponym", "verb", 10), ("antonym", "verb", 20), ("antonym", "adjective", 12), ("antonym", "adjective2", 8),
            ("place", "place", 10), ("day", "day", 8),
        ),
    },
}  # fmt: skip
"""Label → frame → what may decide. Weights keep every word about as frequent under each label, in both sentences."""

HARMLESS_UP = {"entailment": 0.08, "neutral": 0.22, "contradiction": 0.2}
HARMLESS_DOWN = {"entailment": 0.0, "neutral": 0.0, "contradiction": 0.08}
HARMLESS_SYNONYM = 0.12
"""How often a slot that does not decide is made vaguer (or left out), made more precise, or renamed.

An added detail would decide "neutral", so only contradictions may carry one. The rates differ in order to hide the label: the
deciding edit of an entailment makes words vaguer and that of a neutral pair makes them more precise, so counting vague
words would tell; the harmless edits even the counts out.
"""


@functools.cache
def _all_pairs(kind: str) -> dict[str, list[tuple[str, str]]]:
    pairs: dict[str, list[tuple[str, str]]] = {}
    for first, second in itertools.permutations(INCLUDED_IN[kind], 2):
        pairs.setdefault(related(kind, first, second), []).append((first, second))
    return pairs


@functools.cache
def vague(kind: str) -> frozenset[str]:
    """The words that include others."""
    return frozenset(word for above in INCLUDED_IN[kind].values() for word in above)


def has_held_pairs(kind: str, edit: str) -> bool:
    """Whether dev and test decide by word pairs that training does not."""
    return edit in _all_pairs(kind) and edit not in TAUGHT_ONLY


@functools.cache
def pairs(seed: int, kind: str, edit: str, held: bool) -> list[tuple[str, str]]:
    """The ordered word pairs by which `edit` may decide a training example, or (`held`) a dev or test example."""
    everything = _all_pairs(kind)[edit]
    if not has_held_pairs(kind, edit):
        return everything
    widest = "being" if kind == "person" else kind  # a pair of people held out from states is held out from events too
    unordered = sorted({(min(pair), max(pair)) for pair in _all_pairs(widest)[edit] if vague(widest).isdisjoint(pair)})
    random.Random(f"{seed}/held out/{widest}/{edit}").shuffle(unordered)
    kept_back = set(unordered[: math.ceil(HELD_SHARE * len(unordered))])
    return [pair for pair in everything if ((min(pair), max(pair)) in kept_back) == held]
