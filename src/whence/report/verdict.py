"""The verdict of an audit in plain words, and the rule by which an explanation is recommended (`RULE`, in the report).

Only faithfulness measures count for it: agreement with people and repeatability are told beside them and never mixed in.
"""

import math
from collections.abc import Iterable, Mapping
from typing import Any

FAITHFULNESS = ("decision_flip", "comprehensiveness", "sufficiency", "loo_tau")
PLAUSIBILITY = ("iou_f1", "token_f1", "auprc")
REPEATABILITY = ("stability",)
GROUPS = {"Faithful to the model": FAITHFULNESS, "Agrees with people": PLAUSIBILITY, "Repeatable": REPEATABILITY}
RULE = (
    "A method leads a faithfulness measure if it beats random there (p < 0.05, Holm-corrected) and is the best or not "
    "measurably worse than the best (p ≥ 0.05). Recommended is the method that leads the largest share of the faithfulness "
    "measures it is judged on; ties go to the one that beats random on the larger share, then to the one with fewer passes. "
    "Leave-one-out τ favours leave-one-out by construction (it compares with leave-one-out’s own ranking), so leave-one-out is "
    "not judged on it; the others lead it if their interval reaches the interval of the best of them. Agreement with people "
    "and repeatability never count."
)
SURE, FEW = 0.05, 100


class Reading:
    """An audit's results, asked the questions that the verdict and the tables need."""

    def __init__(self, results: Mapping[str, Any]) -> None:
        self.audit, self.methods, self.measures = results["audit"], results["methods"], results["measures"]
        self.rows = {(row["method"], row["measure"]): row for row in results["table"] if finite(row["value"])}
        self.faithfulness = [m for m in FAITHFULNESS if any(measure == m for _, measure in self.rows)]
        candidates = [name for name in self.methods if name != "random"]
        self.ranked = sorted(candidates, key=lambda m: (-self.share(m, self.leads), -self.share(m, self.beats), self.passes(m)))

    def title(self, method: str) -> str:
        return str(self.methods[method]["title"])

    def measure(self, name: str) -> str:
        """The measure's title for the middle of a sentence."""
        title = str(self.measures[name]["title"])
        return title[0].lower() + title[1:] if title[1:2].islower() else title

    def passes(self, method: str) -> float:
        """Forward and backward together; infinite for explanations made elsewhere, whose cost nobody knows."""
        total = sum(float(count) for count in self.methods[method]["passes"].values())
        return total if total or method == "random" else math.inf

    def cost(self, method: str) -> str:
        known = math.isfinite(self.passes(method))
        return f"{counted(self.passes(method), 'pass', 'passes')} an example" if known else "a cost that is not known"

    def judged(self, measure: str) -> list[str]:
        """The methods that count on a measure: not random, not leave-one-out on its own ranking, and only with a value."""
        own = "leave_one_out" if measure == "loo_tau" else None
        return [m for m in self.methods if m not in ("random", own) and (m, measure) in self.rows]

    def judged_on(self, method: str) -> list[str]:
        return [m for m in self.faithfulness if method in self.judged(m)]

    def goodness(self, method: str, measure: str) -> float:
        """The value, turned so that more is better."""
        value = float(self.rows[method, measure]["value"])
        return value if self.measures[measure]["direction"] == "higher" else -value

    def best(self, measure: str) -> str:
        return max(self.judged(measure), key=lambda m: self.goodness(m, measure))

    def standing(self, method: str, measure: str) -> int:
        """Against random: 1 better, -1 worse, 0 not told apart."""
        gap = self.rows[method, measure]["vs_random"]
        if gap is None or not finite(gap["p"]) or gap["p"] >= SURE or gap["difference"] == 0:
            return 0
        return 1 if (gap["difference"] > 0) == (self.measures[measure]["direction"] == "higher") else -1

    def beats(self, method: str, measure: str) -> bool:
        return self.standing(method, measure) > 0

    def close(self, method: str, measure: str) -> bool:
        """The best, or not measurably worse than the best."""
        row = self.rows[method, measure]
        if self.has_own(measure):
            best = self.rows[self.best(measure), measure]
            return bool(row["high"] >= best["low"] and row["low"] <= best["high"])
        return bool(row["best"]) or self.level(method, measure)

    def level(self, method: str, measure: str) -> bool:
        """Not told apart from the best by the paired test."""
        gap = self.rows[method, measure]["vs_best"]
        return gap is not None and finite(gap["p"]) and gap["p"] >= SURE

    def has_own(self, measure: str) -> bool:
        """Whether one of the methods is perfect on the measure by construction."""
        return measure == "loo_tau" and "leave_one_out" in self.methods

    def leads(self, method: str, measure: str) -> bool:
        return self.beats(method, measure) and self.close(method, measure)

    def share(self, method: str, of: Any) -> float:
        measures = self.judged_on(method)
        return sum(of(method, m) for m in measures) / len(measures) if measures else 0.0

    @property
    def recommended(self) -> str | None:
        first = next(iter(self.ranked), None)
        return first if first is not None and self.share(first, self.beats) > 0 else None


def verdict(results: Mapping[str, Any]) -> list[str]:
    """The audit in plain words: which explanation to show; a sentence for each thing found; what to beware of."""
    reading = Reading(results)
    return [recommendation(reading), *findings(reading), *cautions(reading)]


def recommendation(reading: Reading) -> str:
    """One line: which explanation to show, by RULE."""
    if not reading.faithfulness:
        return "No faithfulness measure was run, so no explanation can be recommended."
    name = reading.recommended
    # The smallest p that n paired examples can give is 2 / 2ⁿ, times the number of methods after Holm's correction.
    if name is None and (len(reading.methods) - 1) * 2.0 / 2 ** reading.audit["examples"] >= 0.05:
        return (
            f"Too few to tell: with {counted(reading.audit['examples'], 'example')} no difference from random could be "
            "significant. Run the audit on more examples before you show or dismiss any of these explanations."
        )
    if name is None:
        return (
            f"Show none of these explanations: on {counted(reading.audit['examples'], 'example')} no method beats random on "
            "any faithfulness measure, so none of them is known to say what this model uses."
        )
    on = reading.judged_on(name)
    leading = [m for m in on if reading.leads(name, m)]
    worse = [m for m in on if reading.standing(name, m) < 0]
    beaten = sum(reading.beats(name, m) for m in on)
    if len(on) == 1:
        text = f"it beats random on {reading.measure(on[0])}, the only faithfulness measure it is judged on"
    else:
        text = (
            f"it beats random on {part_of(beaten, len(on))} of the {len(on)} faithfulness measures it is judged on and is the "
            f"best, or level with the best, on {part_of(len(leading), len(on))} of them"
        )
    text = f"Show {reading.title(name)}{'' if leading else ', with reserve'}: {text}, at {reading.cost(name)}."
    return text + (f" Beware: it is worse than random on {listed(map(reading.measure, worse))}." if worse else "")


def findings(reading: Reading) -> list[str]:
    found = [f"On {_sentence(reading, m)}." for m in reading.faithfulness]
    useless = [m for m in reading.ranked if reading.judged_on(m) and reading.share(m, reading.beats) == 0]
    if useless and reading.recommended:
        verb, them = ("is", "it") if len(useless) == 1 else ("are", "them")
        named = listed(map(reading.title, useless))
        found.append(f"{named} {verb} not better than random on any faithfulness measure: do not show {them}.")
    found += _level_sentences(reading)
    told = [_sentence(reading, m) for m in PLAUSIBILITY if m in reading.measures and reading.judged(m)]
    if told:
        found.append(f"Agreement with people is another question than faithfulness: on {'. On '.join(told)}.")
    chancy = [m for m in reading.ranked if reading.methods[m].get("stochastic") and (m, "stability") in reading.rows]
    if chancy:
        taus = [f"τ {shown_value('stability', reading.rows[m, 'stability']['value'])} ({reading.title(m)})" for m in chancy]
        found.append(f"Repeatability is another question too; two runs with other seeds agree by {listed(taus)}.")
    return found


def cautions(reading: Reading) -> list[str]:
    audit, texts = reading.audit, []
    for m in reading.faithfulness:
        if reading.judged(m) and all(reading.standing(method, m) < 0 for method in reading.judged(m)):
            name = reading.measure(m)
            texts.append(f"Every method is worse than random on {name}: on this model and data do not rest on that measure.")
    if audit["examples"] < FEW:
        texts.append(f"Only {counted(audit['examples'], 'example')}: intervals are wide, and a real difference can be missed.")
    if audit["texts_cut"]:
        limit = f" ({audit['max_tokens']:,} tokens)" if audit.get("max_tokens") else ""
        texts.append(
            f"{counted(audit['texts_cut'], 'text')} of {audit['examples']:,} exceeded what the model reads{limit}: "
            f"{counted(audit['words_unread'], 'word')} never reached it; no number here is about them."
        )
    return texts


def _sentence(reading: Reading, measure: str) -> str:
    """How many methods beat random, which is best, by how much and how sure; to follow the word "on"."""
    judged, name = reading.judged(measure), reading.measure(measure)
    own = " (leave-one-out, which is 1 there by construction, is not counted)" if reading.has_own(measure) else ""
    if not judged:
        return f"{name} no method could be judged{own}"
    better = sum(reading.beats(m, measure) for m in judged)
    worse = sum(reading.standing(m, measure) < 0 for m in judged)
    best = reading.best(measure)
    row, random = reading.rows[best, measure], reading.rows.get(("random", measure))
    count = f"{better or 'none'} of {counted(len(judged), 'method')}{own} {'beats' if better < 2 else 'beat'} random"
    count += f" and {worse} {'is' if worse == 1 else 'are'} worse" if worse else ""
    value, against = shown_value(measure, row["value"]), shown_value(measure, random["value"]) if random else "not known"
    if measure == "decision_flip":
        said = f"needs {value} of the words hidden to change the label, random needs {against}"
    else:
        said = f"scores {value}, random {against}"
    sure = f" ({shown_gap(measure, row['vs_random'])})" if row["vs_random"] else ""
    return f"{name}, {count}; the best, {reading.title(best)}, {said}{sure}"


def _level_sentences(reading: Reading) -> list[str]:
    """Which methods cannot be told apart from the best, measures with the same answer together."""
    same: dict[tuple[str, ...], list[str]] = {}
    for measure in reading.faithfulness:
        leaders = [m for m in reading.ranked if m in reading.judged(measure) and reading.leads(m, measure)]
        best = next((m for m in leaders if reading.rows[m, measure]["best"]), None)
        others = [m for m in leaders if m != best and reading.level(m, measure)]
        if best and others:
            same.setdefault((best, *others), []).append(measure)
    found = []
    for (best, *others), measures in same.items():
        chances = [reading.rows[m, measure]["vs_best"]["p"] for m in others for measure in measures]
        sure = shown_p(min(chances)) if len(chances) == 1 else shown_p(min(chances)).replace("=", "≥")
        cheapest, *_, dearest = sorted([best, *others], key=reading.passes)
        text = f"{reading.title(best)} cannot be told apart from {listed(map(reading.title, others), 'or')} on "
        text += f"{listed(map(reading.measure, measures), 'or')} ({sure})"
        if reading.passes(cheapest) < reading.passes(dearest) < math.inf:
            word, against = ("cheaper", "against") if len(others) == 1 else ("cheapest", "against up to")
            most = shown_passes(reading.passes(dearest))
            text += f": prefer the {word}, {reading.title(cheapest)} ({reading.cost(cheapest)} {against} {most})"
        found.append(f"{text}.")
    return found


def finite(value: Any) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


def plain(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "–"}[value]
    if isinstance(value, float):
        return f"{value:.4g}".replace("-", "−")
    if isinstance(value, list | tuple):
        return ", ".join(map(plain, value))
    return str(value)


def shown_value(measure: str, value: Any, digits: int = 0, bare: bool = False) -> str:
    """Decision flip is a share of words, shown in per cent; all else is shown as it is."""
    if not finite(value):
        return "–"
    if measure == "decision_flip":
        return f"{100 * value:.{digits}f}".replace("-", "−") + ("" if bare else "\u202f%")
    return f"{value:.{2 + digits}f}".replace("-", "−")


def shown_tick(measure: str, value: float) -> str:
    if measure == "decision_flip":
        return f"{100 * value:.0f}\u202f%"
    return f"{value:.4g}".replace("-", "−") if abs(value) > 1e-9 else "0"


def shown_gap(measure: str, gap: Mapping[str, float]) -> str:
    """A difference in words: how large, its interval, how sure."""
    points = measure == "decision_flip"
    value, low, high = (f"{100 * gap[k]:.0f}" if points else f"{gap[k]:.2f}" for k in ("difference", "low", "high"))
    value = ("+" if gap["difference"] > 0 else "") + value + (" points" if points else "")
    return f"difference {value}, 95\u202f% interval {low} to {high}, {shown_p(gap['p'])}".replace("-", "−")


def shown_p(p: float) -> str:
    return "p not known" if not finite(p) else "p < 0.001" if p < 0.001 else f"p = {p:.3f}" if p < 0.1 else f"p = {p:.2f}"


def shown_passes(count: float) -> str:
    return f"{count:,.0f}" if count >= 10 or count == round(count) else f"{count:.1f}"


def counted(count: float, one: str, many: str | None = None) -> str:
    shown = shown_passes(count)
    return f"{shown} {one if shown == '1' else many or one + 's'}"


def part_of(part: int, whole: int) -> str:
    return "none" if not part else str(part) if part < whole else "both" if whole == 2 else "all"


def listed(items: Iterable[str], word: str = "and") -> str:
    *most, last = items
    return f"{', '.join(most)} {word} {last}" if most else last
