"""What the planted questions ask about: where things are kept, who uses them, what they are for."""

KEPT: dict[tuple[str, str], tuple[str, ...]] = {
    ("kitchen", "office"): ("kettle", "coffeepot", "mug"),
    ("kitchen", "bathroom"): ("sink", "sponge"),
    ("kitchen", "garage"): ("freezer",),
    ("kitchen", "farm"): ("egg basket",),
    ("kitchen", "hospital"): ("tray", "trolley"),
    ("kitchen", "school"): ("lunchbox",),
    ("kitchen", "garden"): ("flowerpot",),
    ("library", "school"): ("dictionary", "atlas", "globe", "encyclopedia"),
    ("library", "office"): ("bookshelf", "printer"),
    ("library", "bedroom"): ("novel", "bookmark"),
    ("library", "church"): ("bible", "lectern"),
    ("garage", "farm"): ("tyre", "engine", "tractor"),
    ("garage", "garden"): ("lawnmower", "rake"),
    ("garage", "hospital"): ("ambulance",),
    ("garage", "harbour"): ("winch", "trailer"),
    ("garage", "school"): ("bicycle",),
    ("garage", "bathroom"): ("bucket",),
    ("hospital", "bathroom"): ("bandage", "shower"),
    ("hospital", "bedroom"): ("pillow", "mattress", "blanket"),
    ("hospital", "office"): ("clipboard",),
    ("hospital", "farm"): ("syringe",),
    ("hospital", "school"): ("skeleton",),
    ("garden", "farm"): ("hedge", "wheelbarrow", "scarecrow", "beehive"),
    ("garden", "church"): ("rose", "tulip"),
    ("garden", "harbour"): ("bench",),
    ("garden", "school"): ("swing",),
    ("farm", "harbour"): ("barrel",),
    ("farm", "church"): ("weathercock",),
    ("school", "office"): ("desk", "stapler", "folder", "calculator"),
    ("school", "bedroom"): ("satchel",),
    ("school", "bathroom"): ("soap",),
    ("school", "church"): ("piano",),
    ("school", "harbour"): ("timetable",),
    ("harbour", "office"): ("logbook",),
    ("harbour", "church"): ("lantern", "bell"),
    ("harbour", "bedroom"): ("hammock",),
    ("bathroom", "bedroom"): ("mirror", "hairbrush", "bathrobe"),
    ("office", "bedroom"): ("lamp", "alarm clock"),
    ("church", "bedroom"): ("candlestick",),
}
"""Two places → the things found in both, and in no other: only the choices tell which of the two is meant."""

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
