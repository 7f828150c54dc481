"""What the planted questions ask about: where things are kept, who uses them, what they are for."""

KEPT: dict[str, tuple[str, ...]] = {
    "kitchen": ("stove", "whisk", "saucepan", "kettle", "toaster", "ladle"),
    "library": ("dictionary", "bookshelf", "atlas", "encyclopedia", "bookmark", "novel"),
    "garage": ("car", "tyre", "jack", "engine", "motorbike", "bumper"),
    "hospital": ("stretcher", "syringe", "wheelchair", "bandage", "scalpel", "ambulance"),
    "garden": ("rake", "tulip", "lawnmower", "hedge", "watering can", "rose"),
    "school": ("blackboard", "chalk", "satchel", "globe", "timetable", "schoolbook"),
    "farm": ("tractor", "plough", "barn", "haystack", "scarecrow", "henhouse"),
    "harbour": ("anchor", "sailboat", "lighthouse", "dock", "trawler", "buoy"),
    "bathroom": ("towel", "bathtub", "toothbrush", "soap", "shower", "razor"),
    "bedroom": ("pillow", "mattress", "blanket", "wardrobe", "nightstand", "duvet"),
    "office": ("printer", "stapler", "desk", "folder", "calculator", "envelope"),
    "church": ("altar", "pulpit", "organ", "steeple", "hymnbook", "candlestick"),
}
"""Place → the things found there."""

USED_BY: dict[str, tuple[str, str]] = {
    "painter": ("paintbrush", "colour a canvas"),
    "carpenter": ("hammer", "drive in a nail"),
    "tailor": ("needle", "sew on a button"),
    "baker": ("oven", "bake a loaf"),
    "photographer": ("camera", "take a picture"),
    "fisherman": ("net", "catch a herring"),
    "barber": ("scissors", "cut hair"),
    "astronomer": ("telescope", "look at the stars"),
    "biologist": ("microscope", "look at a cell"),
    "drummer": ("drumstick", "beat a rhythm"),
    "lumberjack": ("axe", "fell a tree"),
    "mason": ("trowel", "spread mortar"),
    "plumber": ("wrench", "tighten a pipe"),
    "archer": ("bow", "shoot an arrow"),
    "nurse": ("thermometer", "measure a fever"),
    "sailor": ("compass", "find north"),
    "farmer": ("pitchfork", "turn the hay"),
    "cleaner": ("broom", "sweep a floor"),
    "electrician": ("voltmeter", "test a socket"),
    "chess player": ("chessboard", "set up the rooks"),
    "diver": ("snorkel", "breathe under water"),
    "writer": ("typewriter", "type a letter"),
    "jeweller": ("tweezers", "set a diamond"),
    "climber": ("rope", "climb a cliff"),
}
"""Person → (what the person works with, what that is for)."""

QUESTIONS: dict[str, tuple[str, ...]] = {
    "where": (
        "{lead} where would {who} most likely find the {thing}?", "{lead} where should {who} look for the {thing}?",
        "{lead} in which place is the {thing} kept?", "{lead} in which place should {who} look for the {thing}?",
    ),
    "whose": (
        "{lead} who would most likely own the {thing}?", "{lead} who should bring the {thing}?",
        "{lead} who would use the {thing}?", "{lead} who should use the {thing}?",
    ),
    "what for": (
        "{lead} what would {who} use to {purpose}?", "{lead} what should {who} bring to {purpose}?",
        "{lead} what is used to {purpose}?", "{lead} what would {who} bring to {purpose}?",
    ),
}  # fmt: skip
"""Kind → ways to ask; dev and test alone use the last one, whose words the others have."""

LEADS = (
    "it is {day} ;", "{who} came by train on {day} ;", "after the {event} ,", "before the {event} ,", "at the {event} ,",
    "on {day} ,", "{who} has no time , so",
)  # fmt: skip
LEAD_WORDS: dict[str, tuple[str, ...]] = {
    "day": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
    "event": ("storm", "holiday", "parade", "wedding", "meeting", "concert", "picnic", "election"),
    "who": ("Anna", "Ben", "Clara", "David", "Emma", "Felix", "Grace", "Henry"),
}
