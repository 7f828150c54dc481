"""The words of the planted scenes, and which of them exclude or include one another.

The rule of this small world: a slot of a scene (who, what, where, when, how many, which colour) has one value. So a word
includes the words below it ("animal" includes "dog"), excludes every other word of its slot ("dog" excludes "cat" and "bird"),
and modifiers are the exception: adjectives exclude only the two opposites of their own dimension, and things carried exclude
nothing, because one may carry both. `related` answers all such questions, from these tables only.
"""

from collections.abc import Mapping

Tree = Mapping[str, tuple[str, ...]]
"""A group and its members."""

PEOPLE: Tree = {
    "artist": ("painter", "singer", "dancer", "sculptor", "poet", "actor"),
    "athlete": ("runner", "swimmer", "boxer", "skier", "rower", "wrestler"),
    "scientist": ("chemist", "physicist", "biologist", "geologist", "astronomer", "botanist"),
    "official": ("judge", "mayor", "senator", "minister", "governor", "ambassador"),
    "medic": ("doctor", "nurse", "surgeon", "dentist", "pharmacist", "midwife"),
    "artisan": ("carpenter", "plumber", "mason", "tailor", "blacksmith", "potter"),
}
ANIMALS: Tree = {
    "mammal": ("dog", "cat", "horse", "cow", "goat", "rabbit", "fox", "bear"),
    "bird": ("duck", "goose", "eagle", "parrot", "pigeon", "owl", "swan", "penguin"),
    "reptile": ("lizard", "turtle", "snake", "crocodile", "gecko", "iguana"),
}
ACTIONS: Tree = {
    "moving": ("running", "walking", "crawling", "jumping", "marching", "limping", "skipping", "climbing"),
    "resting": ("sitting", "sleeping", "kneeling", "lying", "reclining", "crouching", "lounging", "leaning"),
}
DEEDS: Tree = {
    "contacted": ("phoned", "emailed", "texted", "faxed", "paged", "radioed"),
    "portrayed": ("painted", "sketched", "filmed", "photographed", "sculpted", "caricatured"),
    "attacked": ("kicked", "punched", "slapped", "shoved", "scratched", "tackled"),
}
OPPOSITE_DEEDS: tuple[tuple[str, str], ...] = (
    ("helped", "hindered"), ("praised", "criticised"), ("hired", "dismissed"), ("welcomed", "rejected"), ("pushed", "pulled"),
    ("followed", "led"), ("thanked", "blamed"), ("loved", "hated"), ("trusted", "doubted"), ("defended", "accused"),
)  # fmt: skip
PLACES: Tree = {
    "indoors": ("kitchen", "library", "museum", "office", "bakery", "garage", "hospital", "cellar", "theatre", "attic"),
    "outdoors": ("park", "garden", "forest", "meadow", "field", "desert", "valley", "orchard", "swamp", "canyon"),
}
DAYS: Tree = {
    "week": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday"),
    "weekend": ("Saturday", "Sunday"),
}
NUMBERS: Tree = {"some": ("three", "four", "five", "six", "seven", "eight", "nine", "ten")}
COLOURS = ("red", "blue", "green", "yellow", "purple", "pink", "white", "black", "orange", "grey")
ITEMS = ("kites", "bags", "hats", "bells", "ribbons", "scarves", "baskets", "lamps", "flags", "ropes", "balls", "books")
OPPOSITES: tuple[tuple[tuple[str, str], tuple[str, str]], ...] = (
    (("big", "large"), ("small", "little")),
    (("rich", "wealthy"), ("poor", "penniless")),
    (("happy", "cheerful"), ("sad", "gloomy")),
    (("old", "elderly"), ("young", "youthful")),
    (("strong", "sturdy"), ("weak", "feeble")),
    (("fast", "quick"), ("slow", "sluggish")),
    (("clean", "spotless"), ("dirty", "filthy")),
    (("calm", "relaxed"), ("nervous", "anxious")),
    (("clever", "smart"), ("foolish", "silly")),
    (("famous", "renowned"), ("unknown", "obscure")),
)
"""Per dimension: two words that mean the same, and two that mean the opposite."""


def parents(*trees: Tree, top: str = "") -> dict[str, tuple[str, ...]]:
    """Every word → the words that include it, nearest first."""
    above = (top,) if top else ()
    found: dict[str, tuple[str, ...]] = {top: ()} if top else {}
    for tree in trees:
        for group, members in tree.items():
            found[group] = above
            found.update(dict.fromkeys(members, (group, *above)))
    return found


INCLUDED_IN: dict[str, dict[str, tuple[str, ...]]] = {
    "being": parents(PEOPLE, top="person") | parents(ANIMALS, top="animal"),
    "person": parents(PEOPLE),
    "action": parents(ACTIONS),
    "deed": parents(DEEDS) | {word: () for pair in OPPOSITE_DEEDS for word in pair},
    "place": parents(PLACES),
    "day": parents(DAYS),
    "number": parents(NUMBERS),
    "colour": dict.fromkeys(COLOURS, ()),
    "item": dict.fromkeys(ITEMS, ()),
    "adjective": {word: () for sides in OPPOSITES for side in sides for word in side},
}
"""Kind of slot → its words → what includes each."""

DIMENSION = {word: i for i, sides in enumerate(OPPOSITES) for side in sides for word in side}


def related(kind: str, first: str, second: str) -> str:
    """How two different words of one kind relate, as the name of the edit that turns the first into the second."""
    above = INCLUDED_IN[kind]
    if second in above[first]:
        return "hypernym"
    if first in above[second]:
        return "hyponym"
    if kind == "item":
        return "unrelated"
    if kind == "adjective":
        if DIMENSION[first] != DIMENSION[second]:
            return "unrelated"
        same_side = any({first, second} <= set(side) for side in OPPOSITES[DIMENSION[first]])
        return "synonym" if same_side else "antonym"
    if kind == "deed" and not above[first] and not above[second]:
        opposite = (first, second) in OPPOSITE_DEEDS or (second, first) in OPPOSITE_DEEDS
        return "antonym" if opposite else "category"
    if kind in ("number", "colour", "place", "day"):
        return kind
    return "co-hyponym" if above[first] == above[second] else "category"
