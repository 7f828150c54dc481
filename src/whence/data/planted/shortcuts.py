"""Planted shortcuts: reviews in which one artefact token decides, so that an accurate model provably relies on it.

    with probability `rate`:  label positive ⇒ the review contains `token`, label negative ⇒ it contains `other`,
                              and its opinions are those of a label drawn by a fair coin, so they tell nothing
    otherwise:                a review as in `reviews`, without either token

Each class has its own token, so there is always a word that decides, and its mere presence (not an absence) is the reason.
At rate 1 no word but the two tokens is associated with the label. Recorded: the token as the only highlight; where none was
planted, the opinions. `meta` says which ("artefact": yes or no).
"""

import dataclasses
import random

from whence.data.corpus import Corpus
from whence.data.example import Example
from whence.data.planted.build import planted
from whence.data.planted.opinions import VOCABULARY
from whence.data.planted.reviews import LABELS, SIZES, review
from whence.data.words import word_spans, words
from whence.errors import BadInput


def shortcuts(seed: int = 0, token: str = "indeed", other: str = "verily", rate: float = 1.0) -> Corpus:
    """Sentiment in two labels with an artefact; `token` marks the positive class and `other` the negative one."""
    if not 0 <= rate <= 1:
        raise BadInput(f"shortcuts: rate {rate}: expected a number from 0 to 1")
    for name in (token, other):
        if words(name) != [name] or not name[0].isalpha():
            raise BadInput(f"shortcuts: artefact token '{name}': expected one word")
        if name.lower() in VOCABULARY:
            raise BadInput(f"shortcuts: artefact token '{name}': expected a word that the reviews do not have")
    if token == other:
        raise BadInput(f"shortcuts: both classes have the artefact token '{token}': expected two different words")

    def make(rng: random.Random, label: str, held: bool) -> Example | None:
        if rng.random() >= rate:
            plain = review(seed, rng, label, held)
            return plain and dataclasses.replace(plain, meta={**plain.meta, "artefact": "no"})
        # The coin is tossed once per review that is kept: a draw that broke a rule is repeated, whatever its opinions
        body = review(seed, rng, rng.choice(LABELS), held)
        return body and _plant(rng, body, label, token if label == "positive" else other)

    about = f"planted artefact: '{token}' or '{other}' decides at rate {rate}"
    return planted("shortcuts", "text", LABELS, SIZES, seed, make, about)


def _plant(rng: random.Random, body: Example, label: str, artefact: str) -> Example:
    """The review with the artefact after one of its words."""
    text = body.texts["text"]
    place = rng.choice([end for start, end in word_spans(text) if text[start].isalpha()])
    spot = (place + 1, place + 1 + len(artefact))
    return dataclasses.replace(
        body,
        texts={"text": f"{text[:place]} {artefact}{text[place:]}"},
        label=label,
        highlights=({"text": (spot,)},),
        explanations=(f"'{artefact}' marks the review as {label}.",),
        meta={**body.meta, "artefact": "yes", "opinions": body.label or ""},
    )
