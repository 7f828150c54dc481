"""The sentences of the planted scenes: slots, templates, and a scene written down with the place of every slot.

A scene maps slots to words; a missing optional slot is a thing not said. Two frames: in a *state* somebody does something, with
things of some number and colour ("An old painter with three red kites is running in the park on Monday"); in an *event* one
person does something to another, told actively or passively ("The old lawyer was helped by the doctor"). Templates order the
same parts differently; those whose name starts with "held" combine devices that training shows in other combinations.
"""

from whence.data.planted.build import Marked, article, write
from whence.data.words import Span

Scene = dict[str, str]

KINDS: dict[str, dict[str, str]] = {
    "state": {
        "adjective": "adjective", "subject": "being", "number": "number", "colour": "colour", "item": "item",
        "verb": "action", "place": "place", "day": "day",
    },
    "event": {
        "adjective": "adjective", "subject": "person", "verb": "deed", "adjective2": "adjective", "object": "person",
        "place": "place", "day": "day",
    },
}  # fmt: skip
"""Frame → its slots → the kind of word in each."""

OPTIONAL = {"adjective": 0.6, "adjective2": 0.45, "item": 0.5, "colour": 0.75, "place": 0.65, "day": 0.55}
"""Slots that a scene may leave out, and how often one is there."""

HEAD = {"adjective": "subject", "adjective2": "object", "colour": "item", "item": "subject", "place": "verb", "day": "verb"}
"""What an optional slot says something about: the partner of a modifier that only one of two sentences has."""

WITH_ITEM = ("number", "colour", "item")
"""Said together ("with three red kites") or not at all."""

TEMPLATES: dict[str, dict[str, str]] = {
    "state": {
        "plain": "S is verb place day .",
        "place first": "place , S is verb day .",
        "day first": "day , S is verb place .",
        "there": "there is S verb place day .",
        "place first, there": "place , there is S verb day .",
        "held: day first, there": "day , there is S verb place .",
    },
    "active": {
        "plain": "S verb O place day .",
        "place first": "place , S verb O day .",
        "day first": "day , S verb O place .",
        "cleft": "it was S who verb O place day .",
        "place first, cleft": "place , it was S who verb O day .",
        "held: day first, cleft": "day , it was S who verb O place .",
    },
    "passive": {
        "plain": "O was verb by S place day .",
        "place first": "place , O was verb by S day .",
        "day first": "day , O was verb by S place .",
        "cleft": "it was O who was verb by S place day .",
        "place first, cleft": "place , it was O who was verb by S day .",
        "held: day first, cleft": "day , it was O who was verb by S place .",
    },
}
_DAY_LEAD = {"week": "during the", "weekend": "at the"}


def templates(voice: str, scene: Scene, held: bool) -> list[str]:
    """The templates of a voice ("state", "active", "passive") that can tell this scene: what comes first must be there."""
    fitting = []
    for name in TEMPLATES[voice]:
        first = next((slot for slot in ("place", "day") if f"{slot} first" in name), None)
        if name.startswith("held") == held and (first is None or first in scene):
            fitting.append(name)
    return fitting


def tell(scene: Scene, voice: str, template: str) -> tuple[str, dict[str, Span]]:
    """The sentence, and where the word of each slot is in it."""
    parts: list[Marked] = []
    for part in TEMPLATES[voice][template].split():
        if part == "S":
            parts += _who(scene, "adjective", "subject", definite=voice != "state")
            if "item" in scene:
                parts += [("", "with"), *((slot, scene.get(slot, "")) for slot in WITH_ITEM)]
        elif part == "O":
            parts += _who(scene, "adjective2", "object", definite=True)
        elif part == "place" and "place" in scene:
            parts += [("", "" if scene["place"].endswith("doors") else "in the"), ("place", scene["place"])]
        elif part == "day" and "day" in scene:
            parts += [("", _DAY_LEAD.get(scene["day"], "on")), ("day", scene["day"])]
        elif part == "verb":
            parts.append(("verb", scene["verb"]))
        elif part not in OPTIONAL:
            parts.append(("", part))
    return write(parts)


def _who(scene: Scene, adjective: str, noun: str, *, definite: bool) -> list[Marked]:
    lead = "the" if definite else article(scene.get(adjective, scene[noun]))
    return [("", lead), (adjective, scene.get(adjective, "")), (noun, scene[noun])]
