"""Drawing a planted pair of scenes: the deciding edit first, a premise around it, harmless edits last.

The premise is drawn word by word (`LEAF_SHARE` of the words that could be vague are precise), then given what the edit needs.
Slots that neither decide nor are paired with what decides may change without harm; see `edits` for how often, and why.
"""

import random
from dataclasses import dataclass

from whence.data.planted.edits import EDITS, HARMLESS_DOWN, HARMLESS_SYNONYM, HARMLESS_UP, has_held_pairs, pairs, vague
from whence.data.planted.grammar import HEAD, KINDS, OPTIONAL, WITH_ITEM, Scene
from whence.data.planted.lexicon import DIMENSION, INCLUDED_IN

LEAF_SHARE = 0.72
SWAPS = ("role swap", "passive swap")
_WHO = (("subject", "object"), ("adjective", "adjective2"))
"""What a swap of roles exchanges: people keep their adjectives."""

_PRECISE = {kind: [word for word in words if word not in vague(kind)] for kind, words in INCLUDED_IN.items()}
_VAGUE = {kind: sorted(vague(kind)) for kind in INCLUDED_IN}


@dataclass(frozen=True)
class Drawn:
    """Two scenes and the edit (of `slot`, if of one) that decides; `new_pair`: its words are held out from training."""

    frame: str
    edit: str
    slot: str
    premise: Scene
    hypothesis: Scene
    new_pair: bool

    def changed(self) -> list[str]:
        """Slots that differ; things carried count as one where they come or go together."""
        slots = [name for name in KINDS[self.frame] if self.premise.get(name) != self.hypothesis.get(name)]
        together = ("item" in self.premise) != ("item" in self.hypothesis)
        return [name for name in slots if not together or name == "item" or name not in WITH_ITEM]


def draw(seed: int, rng: random.Random, label: str, held: bool) -> Drawn | None:
    """A pair with this label; None where two readings would be possible."""
    frame = rng.choice(tuple(KINDS))
    kinds, options = KINDS[frame], EDITS[label][frame]
    edit, slot, _ = rng.choices(options, [weight for *_, weight in options])[0]
    premise = {name: _word(rng, kind) for name, kind in kinds.items() if rng.random() < OPTIONAL.get(name, 1.0)}
    if slot in WITH_ITEM:
        premise.update({name: _word(rng, kinds[name]) for name in WITH_ITEM if name not in premise})
    elif "item" not in premise:
        premise = {name: word for name, word in premise.items() if name not in WITH_ITEM}
    hypothesis = dict(premise)
    if edit in ("drop", "add"):
        richer, poorer = (premise, hypothesis) if edit == "drop" else (hypothesis, premise)
        richer[slot] = richer.get(slot) or _word(rng, kinds[slot])
        _leave_out(poorer, slot)
    elif slot:
        premise[slot], hypothesis[slot] = rng.choice(pairs(seed, kinds[slot], edit, held))
    still = {slot, HEAD.get(slot, ""), *(name for both in _WHO for name in both if edit in SWAPS)}
    if edit != "overlap":
        _harmless(rng, label, kinds, still, premise, hypothesis)
    if not _sound(premise, hypothesis):
        return None
    if edit in SWAPS:
        other = {one: two for left, right in _WHO for one, two in ((left, right), (right, left))}
        hypothesis = {other.get(name, name): word for name, word in hypothesis.items()}
    new_pair = held and bool(slot) and has_held_pairs(kinds[slot], edit)
    return Drawn(frame, edit, slot, premise, hypothesis, new_pair)


def _word(rng: random.Random, kind: str) -> str:
    return rng.choice(_VAGUE[kind] if _VAGUE[kind] and rng.random() > LEAF_SHARE else _PRECISE[kind])


def _leave_out(scene: Scene, slot: str) -> None:
    for name in WITH_ITEM if slot == "item" else (slot,):
        scene.pop(name, None)


def _harmless(
    rng: random.Random, label: str, kinds: dict[str, str], still: set[str], premise: Scene, hypothesis: Scene
) -> None:
    """Change the hypothesis, in place, where it does not decide; `still` slots stay as they are."""
    for slot, kind in kinds.items():
        if slot in still or (slot in WITH_ITEM and not still.isdisjoint(WITH_ITEM)):
            continue
        word, chance = premise.get(slot, ""), rng.random()
        there = slot in hypothesis and bool(word)
        above = INCLUDED_IN[kind].get(word, ())
        if chance < HARMLESS_UP[label]:
            if there and above and (slot not in OPTIONAL or rng.random() < 0.5):
                hypothesis[slot] = rng.choice(above)
            elif there and slot in OPTIONAL:
                _leave_out(hypothesis, slot)
        elif chance > 1 - HARMLESS_DOWN[label]:
            if there and word in vague(kind):
                hypothesis[slot] = rng.choice([low for low, over in INCLUDED_IN[kind].items() if word in over])
            elif not word and slot not in WITH_ITEM:
                hypothesis[slot] = _word(rng, kind)
        elif kind == "adjective" and there and rng.random() < HARMLESS_SYNONYM:
            hypothesis[slot] = next(same for first, same in pairs(0, kind, "synonym", False) if first == word)


def _sound(premise: Scene, hypothesis: Scene) -> bool:
    """Two adjectives never speak of one dimension, nor do subject and object share a name or the group's name."""

    def of(slot: str) -> set[str]:
        return {scene[slot] for scene in (premise, hypothesis) if slot in scene}

    if {DIMENSION[word] for word in of("adjective")} & {DIMENSION[word] for word in of("adjective2")}:
        return False
    subjects, objects = ({name for word in of(slot) for name in (word, *_above(word))} for slot in ("subject", "object"))
    return not subjects & objects


def _above(word: str) -> tuple[str, ...]:
    return INCLUDED_IN["person"].get(word, ())
