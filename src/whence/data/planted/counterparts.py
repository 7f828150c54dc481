"""Counterfactual pairs from planted corpora: `open_corpus("counterfactual:reviews")`, `"counterfactual:scenes"`.

  reviews  as many opinions are turned round as the majority needs: a negation goes, or the word becomes one of the other side
  scenes   the edit that makes a pair neutral is undone (a hyponym or an unrelated modifier becomes the premise's own word
           again), so the counterpart is an entailment; the other edits of a neutral scene are harmless by construction

Highlights and explanations are those of the original's label, so the pairs leave them out; the edit is what is known of both.
"""

import random
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from whence.data.corpus import BadRow, Corpus, Rows
from whence.data.edits import coupled
from whence.data.example import Example
from whence.data.planted.build import article
from whence.data.planted.opinions import ADJECTIVES, VERBS
from whence.data.planted.reviews import LABELS, reviews
from whence.data.planted.scenes import scenes
from whence.data.words import Span

NEGATIONS = ("not ", "never ")
TURNED = {("1", "0"): 1, ("2", "0"): 2, ("3", "0"): 2, ("2", "1"): 1}
"""(opinions for the label, against it) → how many must turn for the majority to change."""

EXCHANGED = ("subject", "object", "adjective", "adjective2", "item")
"""Slots whose words fit wherever another stands; verbs, places and days change with the sentence around them."""


def other_review(example: Example, rng: random.Random) -> Example:
    """The review with just enough opinions turned round to change its label."""
    other = LABELS[1 - LABELS.index(str(example.label))]
    spans = list(example.highlights[0]["text"])
    turned = sorted(rng.sample(spans, TURNED[example.meta["for"], example.meta["against"]]), reverse=True)
    text = example.texts["text"]
    for start, end in turned:  # from the last to the first, so that places before stay true
        text = text[:start] + _turned(text[start:end], rng) + text[end:]
    return replace(example, texts={"text": text}, label=other)


def _turned(opinion: str, rng: random.Random) -> str:
    for negation in NEGATIONS:
        if opinion.startswith(negation):
            return opinion.removeprefix(negation)
    table, side = next((t, s) for t in (ADJECTIVES, VERBS) for s in LABELS if opinion in t[s])
    return rng.choice(table[LABELS[1 - LABELS.index(side)]])


def other_scene(example: Example, rng: random.Random) -> Example | None:
    """The pair with the premise's own word in the place of the one that made it neutral; None for other edits."""
    if example.meta["edit"] not in ("hyponym", "unrelated") or example.meta["slot"] not in EXCHANGED:
        return None
    [(here, there)] = example.pairs
    hypothesis = _exchanged(example.texts["premise"], here, example.texts["hypothesis"], there)
    if hypothesis == example.texts["premise"]:
        return None
    return replace(example, texts={**example.texts, "hypothesis": hypothesis}, label="entailment")


def _exchanged(premise: str, here: Span, hypothesis: str, there: Span) -> str:
    word = premise[slice(*here)]
    word = word[0].lower() + word[1:] if here[0] == 0 else word
    before, after = hypothesis[: there[0]], hypothesis[there[1] :]
    for old in (" a ", " an ", "A ", "An "):
        if before.endswith(old):
            before = before.removesuffix(old) + old.replace(
                old.strip(), article(word) if old[0] == " " else article(word).title()
            )
            break
    return before + (word[0].upper() + word[1:] if not before else word) + after


COUNTERPARTS: dict[str, tuple[Callable[[int], Corpus], Callable[[Example, random.Random], Example | None]]] = {
    "reviews": (reviews, other_review),
    "scenes": (scenes, other_scene),
}


def planted_pairs(name: str, seed: int = 0) -> Corpus:
    """Both texts of every pair that can be made, one after the other."""
    source, other = COUNTERPARTS[name]
    corpus = source(seed)

    def rows(split: str) -> Rows:
        rng = random.Random(f"{seed}/counterfactual/{name}/{split}")
        for example in corpus.rows(split):
            if isinstance(example, BadRow) or (changed := other(example, rng)) is None:
                continue
            yield from coupled(_bare(example, example.id), _bare(changed, f"{example.id}-edited"))

    about = f"planted {name} and, of each, the same text with the words changed that turn its label"
    return Corpus(f"counterfactual-{name}", corpus.task, corpus.labels, {s: partial(rows, s) for s in corpus.splits}, about)


def _bare(example: Example, name: str) -> Example:
    return replace(example, id=name, highlights=(), explanations=(), pairs=())
