"""The words of the planted reviews: what is judged, what judges it, and sentences that judge nothing."""

ADJECTIVES: dict[str, tuple[str, ...]] = {
    "positive": (
        "good", "great", "superb", "excellent", "wonderful", "delightful", "brilliant", "charming", "lovely", "splendid",
        "fantastic", "amazing", "marvellous", "terrific", "outstanding", "impressive", "pleasant", "enjoyable", "elegant",
        "graceful", "fresh", "inspiring", "magnificent", "perfect", "refined", "satisfying", "stunning", "thoughtful",
        "touching", "witty", "gorgeous", "exquisite", "flawless", "memorable", "masterful", "captivating", "engaging",
        "lively", "admirable", "adorable", "fabulous", "glorious", "heavenly", "inventive", "radiant", "remarkable",
        "rewarding", "sublime", "uplifting", "worthwhile",
    ),
    "negative": (
        "bad", "awful", "terrible", "horrible", "dreadful", "boring", "dull", "disappointing", "poor", "ugly", "tedious",
        "annoying", "bland", "clumsy", "crude", "dismal", "dreary", "faulty", "flawed", "forgettable", "frustrating",
        "hopeless", "inferior", "irritating", "lousy", "mediocre", "messy", "miserable", "nasty", "pathetic", "pointless",
        "rotten", "shabby", "shoddy", "sloppy", "stale", "tasteless", "tiresome", "unbearable", "unpleasant", "useless",
        "vulgar", "wretched", "abysmal", "atrocious", "careless", "depressing", "disgusting", "lifeless", "worthless",
    ),
}  # fmt: skip
VERBS: dict[str, tuple[str, ...]] = {
    "positive": (
        "loved", "liked", "enjoyed", "admired", "adored", "praised", "cherished", "treasured", "appreciated", "applauded",
        "recommended", "relished",
    ),
    "negative": (
        "hated", "disliked", "loathed", "detested", "despised", "regretted", "resented", "dreaded", "criticised",
        "condemned", "deplored", "abhorred",
    ),
}  # fmt: skip
"""Verbs in the past tense, so that "never" negates them as it stands."""

ASPECTS = (
    "music", "plot", "soup", "service", "design", "battery", "screen", "cover", "story", "dialogue", "dessert", "room",
    "view", "chair", "keyboard", "garden", "lighting", "acting", "coffee", "bread", "menu", "stage", "camera", "sound",
    "ending", "script", "hotel", "tour", "lamp", "handle",
)  # fmt: skip
JUDGES = ("I", "we", "my sister", "our neighbour", "the children", "my friends")

COPULAR = {
    "plain": "the {aspect} was {opinion} .",
    "seemed": "the {aspect} seemed {opinion} to {whom} .",
    "found": "{judge} found the {aspect} {opinion} .",
    "held: there": "there the {aspect} seemed {opinion} .",
}
"""Sentences that judge with an adjective; "held" ones are for dev and test."""

VERBAL = {
    "plain": "{judge} {opinion} the {aspect} .",
    "there": "there {judge} {opinion} the {aspect} .",
    "held: topic": "the {aspect} {judge} {opinion} .",
}
WHOM = ("us", "me", "everyone", "them")

FILLERS = (
    "we arrived on {day} .", "it came in a {colour} box .", "the {thing} stood near the {place} .",
    "I went there with my {person} .", "my {person} paid for the {thing} .",
    "there was a {colour} {thing} by the {place} .", "we stayed until {day} .", "a {colour} {thing} lay on the table .",
    "my {person} read about it on {day} .", "the {place} opened on {day} .",
)  # fmt: skip
FILLER_WORDS: dict[str, tuple[str, ...]] = {
    "day": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
    "colour": ("red", "blue", "green", "yellow", "white", "black", "brown", "grey"),
    "thing": ("table", "bag", "box", "ticket", "bottle", "basket", "ladder", "parcel", "umbrella", "clock"),
    "place": ("window", "door", "station", "river", "bridge", "market", "harbour", "church"),
    "person": ("brother", "cousin", "uncle", "aunt", "colleague", "daughter", "son", "mother", "father"),
}

VOCABULARY = frozenset(
    " ".join(
        [
            *(word for table in (ADJECTIVES, VERBS, FILLER_WORDS) for known in table.values() for word in known),
            *ASPECTS, *JUDGES, *WHOM, *COPULAR.values(), *VERBAL.values(), *FILLERS, "not never",
        ]
    ).lower().split()
)  # fmt: skip
"""Every word that a planted review can have (and the names of the gaps, which no review has)."""
