"""The verdict of an audit: one recommendation in plain words with its price, and what to beware of. The table says the rest.

Only faithfulness measures count for it: agreement with people and repeatability stand beside them and are never mixed in.
Measures say themselves which family they belong to and which direction is good; no measure is named here.
"""

import math
from collections.abc import Mapping
from typing import Any

from whence.report.numbers import counted, finite, listed, part_of, shown_share
from whence.report.reading import SURE, Reading

FAMILIES = {
    "faithfulness": "Faithful to the model", "plausibility": "Agrees with people", "repeatability": "Repeatable",
    "counterfactual": "Finds what was edited",
}  # fmt: skip
RULE = (
    "A method leads a faithfulness measure if it beats random there (p < 0.05, Holm-corrected) and is the best or not "
    "measurably worse than the best (p ≥ 0.05). The method that leads the largest share of the faithfulness measures it is "
    "judged on is recommended. Ties go to the method that beats random on the larger share, then to the one with fewer passes. "
    "A measure on which one method is perfect by construction does not judge that method; another method leads it if its "
    "interval reaches the interval of the best of the others. Agreement with people and repeatability never count."
)
FEW = 100


def verdict(results: Mapping[str, Any]) -> list[str]:
    """The recommendation, then what to beware of, a line each."""
    reading = Reading(results)
    return [recommendation(reading), *cautions(reading)]


def recommendation(reading: Reading) -> str:
    """Which explanation to show, by RULE: at most three sentences, the last one its price."""
    if not reading.faithfulness:
        return "No faithfulness measure was run, so no explanation can be recommended."
    name, examples = reading.recommended, counted(reading.audit["examples"], "example")
    if name is None and _cannot_be_sure(reading):
        return (
            f"Too few to tell: with {examples}, no difference from random could be significant. "
            "Run the audit on more examples before you show or dismiss any of these explanations."
        )
    if name is None:
        alone = reading.ranked[0] if len(reading.ranked) == 1 else None
        what, who = (f"Do not show {reading.title(alone)}.", "it does not beat") if alone else (
            "Show none of these explanations.", "no method beats")  # fmt: skip
        return (
            f"{what} On {examples} {who} random on any faithfulness measure, so nothing says that it is what this model uses."
        )
    return f"Use {reading.title(name)}. {_reason(reading, name)} {reading.price(name)}"


def _reason(reading: Reading, name: str) -> str:
    """One sentence: on how much it beats random, and whether anything is better."""
    on = reading.judged_on(name)
    leading = [m for m in on if reading.leads(name, m)]
    worse = [m for m in on if reading.standing(name, m) < 0]
    beaten = sum(reading.beats(name, m) for m in on)
    but = f", but it is worse than random on {listed(map(reading.measure, worse))}" if worse else ""
    if len(on) == 1:
        better = "" if leading else ", though another method is better"
        return f"It beats random on {reading.measure(on[0])}, the only faithfulness measure{better}."
    told = f"It beats random on {part_of(beaten, len(on))} faithfulness measures"
    if len(leading) == len(on):
        return f"{told}, and no method is measurably better on any."
    if not leading:
        return f"{told}, though other methods are better on each{but}."
    return f"{told} and is the best, or level with the best, on {part_of(len(leading), len(on))}{but}."


def _cannot_be_sure(reading: Reading) -> bool:
    """The smallest p that n paired examples can give is 2 / 2ⁿ, times the number of methods after Holm's correction."""
    return bool((len(reading.methods) - 1) * 2.0 / 2 ** min(1000, reading.audit["examples"]) >= SURE)


def cautions(reading: Reading) -> list[str]:
    audit, texts = reading.audit, []
    if _below_chance(audit):
        texts.append(
            f"The model is right on only {shown_share(audit['accuracy'])} of the examples, far below chance "
            f"({shown_share(1 / len(audit['labels']))}): its outputs may be in another order than the labels. Check --labels."
        )
    for m in reading.faithfulness:
        if reading.judged(m) and all(reading.standing(method, m) < 0 for method in reading.judged(m)):
            texts.append(f"Every method is worse than random on {reading.measure(m)}: do not rely on that measure here.")
    if audit["examples"] < FEW:
        texts.append(f"Only {counted(audit['examples'], 'example')}: intervals are wide, and a real difference can be missed.")
    if audit["texts_cut"]:
        limit = f" ({audit['max_tokens']:,} tokens)" if audit.get("max_tokens") else ""
        texts.append(
            f"{counted(audit['texts_cut'], 'text')} of {audit['examples']:,} {'is' if audit['texts_cut'] == 1 else 'are'} "
            f"longer than the model reads{limit}: {counted(audit['words_unread'], 'word')} never reached it, and no number "
            "here is about them."
        )
    return texts


def _below_chance(audit: Mapping[str, Any]) -> bool:
    """Three standard errors below what guessing would give."""
    accuracy, labels = audit.get("accuracy"), audit.get("labels") or ()
    if accuracy is None or not finite(accuracy) or len(labels) < 2:
        return False
    chance = 1 / len(labels)
    return bool(accuracy < chance - 3 * math.sqrt(chance * (1 - chance) / max(1, audit["examples"])))
