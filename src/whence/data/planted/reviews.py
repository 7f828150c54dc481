"""Planted reviews: the majority of one to three opinions decides, and we know which words they are.

    positive  ⇔  more positive than negative opinions, where "not" and "never" turn an opinion into its opposite

One opinion, two that agree, or three of which at least two agree; other sentences judge nothing. Held out for dev and test:
`HELD_SHARE` of the (judged thing, opinion word) pairs and the negations of as many opinion words (each is seen in training,
but never negated), and two ways to say an opinion. Every dev and test review has at least one of them.

Recorded: the opinions of the label as `highlights` with their negation ("not dull"), an explanation that lists them, and in
`meta` the number of opinions on each side, whether one is negated, and what was held out.
"""

import functools
import itertools
import random

from whence.data.corpus import Corpus
from whence.data.example import Example
from whence.data.planted.build import Marked, listed, planted, write
from whence.data.planted.opinions import ADJECTIVES, ASPECTS, COPULAR, FILLER_WORDS, FILLERS, JUDGES, VERBAL, VERBS, WHOM

LABELS = ("negative", "positive")
SIZES = {"train": 12_000, "dev": 1_000, "test": 1_000}
HELD_SHARE = 0.15
MIXES = ((1, 0), (2, 0), (2, 0), (3, 0), (2, 1), (2, 1))
"""(opinions of the label, opinions against it), one drawn per review."""

NEGATED_SHARE = 0.3
MOST_WORDS = 30


def reviews(seed: int = 0) -> Corpus:
    """Sentiment in two labels; 12,000 / 1,000 / 1,000 reviews."""

    def make(rng: random.Random, label: str, held: bool) -> Example | None:
        return review(seed, rng, label, held)

    return planted("reviews", "text", LABELS, SIZES, seed, make, "planted sentiment: the majority of known opinions decides")


@functools.cache
def held_out(seed: int) -> tuple[frozenset[tuple[str, str]], frozenset[str]]:
    """(judged thing, opinion word) pairs, and opinion words whose negation, that training never shows."""
    opinions = [word for table in (ADJECTIVES, VERBS) for label in LABELS for word in table[label]]
    couples = list(itertools.product(ASPECTS, opinions))
    rng = random.Random(f"{seed}/reviews/held out")
    negations = [
        word for table in (ADJECTIVES, VERBS) for label in LABELS
        for word in rng.sample(table[label], round(HELD_SHARE * len(table[label])))
    ]  # fmt: skip
    return frozenset(rng.sample(couples, round(HELD_SHARE * len(couples)))), frozenset(negations)


def review(seed: int, rng: random.Random, label: str, held: bool) -> Example | None:
    """One review without its id; None where the draw uses (or, if `held`, lacks) a held-out combination."""
    couples, negations = held_out(seed)
    agreeing, opposing = rng.choice(MIXES)
    against = LABELS[1 - LABELS.index(label)]
    sides = [label] * agreeing + [against] * opposing
    rng.shuffle(sides)
    sentences: list[list[Marked]] = []
    new: set[str] = set()
    negated = False
    for aspect, (number, side) in zip(rng.sample(ASPECTS, len(sides)), enumerate(sides), strict=True):
        negative = rng.random() < NEGATED_SHARE
        table, patterns, no = (VERBS, VERBAL, "never") if rng.random() < 0.35 else (ADJECTIVES, COPULAR, "not")
        word = rng.choice(table[LABELS[1 - LABELS.index(side)] if negative else side])
        form = rng.choice([name for name in patterns if held or not name.startswith("held")])
        if negative and form == "found":
            form = "plain"  # "we found it not good" is no English
        new |= {"pair"} if (aspect, word) in couples else set()
        new |= {"negation"} if negative and word in negations else set()
        new |= {"template"} if form.startswith("held") else set()
        negated |= negative
        mark = f"{'for' if side == label else 'against'} {number}"
        opinion = f"{no} {word}" if negative else word
        filled = {"{aspect}": aspect, "{judge}": rng.choice(JUDGES), "{whom}": rng.choice(WHOM)}
        sentences.append([(mark, opinion) if p == "{opinion}" else ("", filled.get(p, p)) for p in patterns[form].split()])
    if bool(new) != held:
        return None
    for filler in rng.sample(FILLERS, rng.choice((1, 1, 2) if agreeing + opposing > 1 else (1, 2))):
        words = {name: rng.choice(known) for name, known in FILLER_WORDS.items()}
        sentences.insert(rng.randint(0, len(sentences)), [("", part) for part in filler.format(**words).split()])
    parts: list[Marked] = []
    for sentence in sentences:
        (mark, first), *rest = sentence
        parts += [(mark, first[0].upper() + first[1:]), *rest]
    text, marks = write(parts)
    if not 10 <= len(text.split()) <= MOST_WORDS:
        return None
    carrying = tuple(span for mark, span in marks.items() if mark.startswith("for"))
    reason = f"{listed(text[a:b] for a, b in carrying)} {'makes' if len(carrying) == 1 else 'make'} the review {label}."
    sides_of = {"for": str(agreeing), "against": str(opposing)}
    meta = {**sides_of, "negated": "yes" if negated else "no", "held_out": ", ".join(sorted(new))}
    return Example("", {"text": text}, label, (), ({"text": carrying},), (reason,), (), meta)
