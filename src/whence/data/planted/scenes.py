"""Planted scenes: premise and hypothesis of which one edit decides the label, and we know which.

The label is drawn first, then the edit that decides it, then a scene around it; the hypothesis tells the edited scene, with
harmless edits elsewhere (a vaguer word, a synonym, another order, the other voice), so that a model has to find the one that
counts. Words have nearly the same frequencies under every label in both sentences, so no weighing of single words can tell it.

Recorded: `pairs` (deciding span in the premise, its counterpart in the hypothesis), the same spans as `highlights`, a sentence
of explanation, and in `meta` the edit, the slot, the templates and what was held out. A modifier that only one sentence has is
paired with the word it modifies. In an entailment nothing may go wrong anywhere, so there every changed word counts.
"""

import random

from whence.data.corpus import Corpus
from whence.data.example import Example
from whence.data.planted.build import planted
from whence.data.planted.draw import SWAPS, Drawn, draw
from whence.data.planted.edits import LABELS
from whence.data.planted.grammar import HEAD, KINDS, tell, templates
from whence.data.planted.reasons import because
from whence.data.words import Span

SIZES = {"train": 24_000, "dev": 2_000, "test": 2_000}
PASSIVE_SHARE = 1 / 3
TURNED_SHARE = 0.3
"""How often an event is told passively, and how often the hypothesis changes the voice though that decides nothing."""

SAME_ORDER_SHARE = 0.6
"""How often the hypothesis keeps the premise's template on purpose (it may by chance as well)."""


def scenes(seed: int = 0) -> Corpus:
    """Natural language inference in three labels; 24,000 / 2,000 / 2,000 pairs."""

    def make(rng: random.Random, label: str, held: bool) -> Example | None:
        drawn = draw(seed, rng, label, held)
        return None if drawn is None else _example(rng, label, held, drawn)

    return planted("scenes", "pair", LABELS, SIZES, seed, make, "planted inference: one known edit decides the label")


def _example(rng: random.Random, label: str, held: bool, drawn: Drawn) -> Example | None:
    """Both scenes as sentences, with what decides; None where they cannot be told as asked."""
    voices = _voices(rng, drawn)
    # Every dev and test example is new in its deciding words, in its template, or in both
    new_template = held and (not drawn.new_pair or rng.random() < 0.5)
    first = rng.choice(templates(voices[0], drawn.premise, held=False))
    fitting = templates(voices[1], drawn.hypothesis, held=new_template)
    if not fitting:
        return None
    keep = first in fitting and drawn.edit != "overlap" and rng.random() < SAME_ORDER_SHARE
    second = first if keep else rng.choice(fitting)
    premise, here = tell(drawn.premise, voices[0], first)
    hypothesis, there = tell(drawn.hypothesis, voices[1], second)
    if premise == hypothesis:
        return None
    deciding = _deciding(label, drawn)
    pairs = tuple((_span(here, there, slot), _span(there, here, slot)) for slot in deciding)
    marks = {"premise": tuple(sorted({p for p, _ in pairs})), "hypothesis": tuple(sorted({h for _, h in pairs}))}
    reason = because(drawn.edit, KINDS[drawn.frame], drawn.premise, drawn.hypothesis, deciding)
    meta = {
        "edit": drawn.edit, "slot": drawn.slot, "template": first, "hypothesis_template": second, "voice": voices[0],
        "hypothesis_voice": voices[1], "held_out": ", ".join(["pair"] * drawn.new_pair + ["template"] * new_template),
    }  # fmt: skip
    return Example("", {"premise": premise, "hypothesis": hypothesis}, label, (), (marks,), (reason,), pairs, meta)


def _voices(rng: random.Random, drawn: Drawn) -> tuple[str, str]:
    """The voices of premise and hypothesis."""
    if drawn.frame == "state":
        return "state", "state"
    passive = rng.random() < PASSIVE_SHARE
    free = drawn.edit not in ("role swap", "overlap")
    turned = drawn.edit.startswith("passive") or (free and rng.random() < TURNED_SHARE)
    names = ("active", "passive")
    return names[passive], names[passive != turned]


def _deciding(label: str, drawn: Drawn) -> list[str]:
    """The slots that decide the label."""
    if drawn.edit in SWAPS:
        return ["subject", "object"]
    if label != "entailment":
        return [drawn.slot]
    core = ["subject", "verb", "object"] if drawn.edit in ("passive", "overlap") else []
    core = [slot for slot in core if slot in drawn.premise]
    return core + [slot for slot in drawn.changed() if slot not in core]


def _span(here: dict[str, Span], there: dict[str, Span], slot: str) -> Span:
    """Where a sentence says the slot, or else the word of which the other sentence says it."""
    if slot not in here:
        return here[HEAD[slot]]
    # "three red kites" come or go as one phrase; where both sentences have things, the thing alone was changed
    return (here["number"][0], here[slot][1]) if slot == "item" and slot not in there else here[slot]
