"""Why a planted pair has its label, as a sentence that names the deciding words of both sentences.

One clause per deciding slot, joined with "and". What is said follows from how the two words relate, never from the label.
"""

from whence.data.planted.build import article
from whence.data.planted.grammar import HEAD, WITH_ITEM, Scene
from whence.data.planted.lexicon import related

_RENAMED = {
    "hypernym": "{a} is {b}",
    "hyponym": "{a} need not be {b}",
    "synonym": "{a} means {b}",
    "unrelated": "{a} need not mean {b}",
    "antonym": "{a} is the opposite of {b}",
}
_CLASH = "{a} is not {b}"


def because(edit: str, kinds: dict[str, str], premise: Scene, hypothesis: Scene, deciding: list[str]) -> str:
    """The explanation; `deciding` are the slots that decide, `hypothesis` has its roles already swapped where they are."""
    if edit in ("role swap", "passive swap"):
        clauses = [f"that {_deed(premise)} does not show that {_deed(hypothesis)}"]
    else:
        same = [slot for slot in deciding if premise.get(slot) == hypothesis.get(slot)]
        clauses = [_clause(slot, kinds[slot], premise, hypothesis) for slot in deciding if slot not in same]
        if same:
            doer = f"that {_deed(premise)}" if "object" in premise else f"of the {premise['subject']} {premise['verb']}"
            clauses.insert(0, f"both sentences tell {doer}")
    sentence = ", and ".join(clauses)
    return sentence[0].upper() + sentence[1:] + "."


def _deed(scene: Scene) -> str:
    return f"the {scene['subject']} {scene['verb']} the {scene['object']}"


def _clause(slot: str, kind: str, premise: Scene, hypothesis: Scene) -> str:
    """How one slot differs between the sentences."""
    if slot not in premise or slot not in hypothesis:
        richer, added = (hypothesis, True) if slot not in premise else (premise, False)
        said = " ".join(richer[name] for name in (WITH_ITEM if slot == "item" else (slot,)) if name in richer)
        head = richer[HEAD[slot]]
        return f"nothing says '{said}' of '{head}'" if added else f"'{head}' holds without '{said}' too"
    before, after = premise[slot], hypothesis[slot]
    pattern = _RENAMED.get(related(kind, before, after), _CLASH)
    if kind == "item":
        return pattern.format(a=f"carrying {before}", b=f"carrying {after}")
    return pattern.format(a=_named(kind, before), b=_named(kind, after))


def _named(kind: str, word: str) -> str:
    """The word as English needs it in an "is" sentence."""
    if kind in ("being", "person"):
        return f"{article(word)} {word}"
    if kind == "place" and not word.endswith("doors"):
        return f"the {word}"
    if kind == "day" and word.islower():
        return f"the {word}"
    return f"being {word}" if kind == "adjective" else word
