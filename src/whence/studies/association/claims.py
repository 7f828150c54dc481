"""What the paper says, checked against our rows; and whether both tests can say no, which the paper did not try.

Differences are over the same examples, bootstrapped. A claim about several corpora holds if it does on each.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from whence.measure.robustness import Robustness
from whence.measure.shared_importance import SharedImportance
from whence.measure.statistics import Estimate
from whence.studies.association.found import Corner
from whence.studies.association.tables import POINTS, constant_gain, quality_gain, right
from whence.studies.kit.estimates import over_texts, signed
from whence.studies.kit.verdicts import FAILS, HOLDS, UNDECIDED, above, at_least, below, claim, every
from whence.studies.study import Claim, Verdict

MARGIN = 5.0
""""At least as good": not worse by more points than this."""
Checked = tuple[Verdict, str]


def claims(corners: list[Corner]) -> list[Claim]:
    made = [_over_corpora(text, check, [c for c in corners if c.answers]) for text, check in ABOUT_ANSWERS]
    made += [_over_corpora(text, check, [c for c in corners if c.noised]) for text, check in ABOUT_TESTS]
    made += [_over_corpora(text, check, [c for c in corners if c.roar]) for text, check in ABOUT_ROAR]
    return [one for one in [*made, *_controls(corners)] if one is not None]


def _over_corpora(text: str, check: Callable[[Corner], Checked], corners: list[Corner]) -> Claim | None:
    found = [(corner, *check(corner)) for corner in corners]
    if not found:
        return None
    marks = {HOLDS: "", FAILS: "✗ "}
    said = "; ".join(f"{marks.get(verdict, '? ')}{c.title}: {what}" for c, verdict, what in found)
    return Claim(text, every(verdict for _, verdict, _ in found), f"{said}.")


def gap(more: np.ndarray, less: np.ndarray) -> Estimate:
    """Mean of more − less in points."""
    return over_texts(POINTS * (more - less))


def _from_rationales(corner: Corner) -> Checked:
    gold, joint, pipeline = (right(corner.answers, f"r-o {source}") for source in ("gold", "i-or", "i-r"))
    first, second = gap(gold, joint), gap(joint, pipeline)
    said = f"gold − I→OR {signed(first, 1)}, I→OR − I→R {signed(second, 1)}"
    return every([above(first), above(second, -MARGIN)]), said


def _quality(corner: Corner) -> Checked:
    gold, joint, pipeline = (quality_gain(corner.answers, f"ir-o {source}") for source in ("gold", "i-or", "i-r"))
    good, better = over_texts(POINTS * gold), gap(joint, pipeline)
    said = f"gold {signed(good, 1)}, I→OR − I→R {signed(better, 1)}"
    return every([above(good), above(better, -MARGIN)]), said


def _sufficient(corner: Corner) -> Checked:
    found = gap(right(corner.answers, "ir-o gold"), right(corner.answers, "r-o gold"))
    return above(found), f"IR→O − R→O {signed(found, 1)}"


def _cost(corner: Corner) -> Checked:
    found = gap(right(corner.answers, "i-or"), right(corner.answers, "i-o"))
    return below(found), f"I→OR − I→O {signed(found, 1)}"


def _pipeline(corner: Corner) -> Checked:
    found = gap(right(corner.answers, "r-o i-r"), right(corner.answers, "i-or"))
    return below(found), f"I→R;R→O − I→OR {signed(found, 1)}"


ABOUT_ANSWERS: list[tuple[str, Callable[[Corner], Checked]]] = [
    (f"The label is told best from people's rationales, then from I→OR's, then from I→R's (Table 3; the second step within "
     f"{MARGIN:g} points)", _from_rationales),
    (f"People's rationales add to the input, and I→OR's are as good as I→R's (Table 4; within {MARGIN:g} points)", _quality),
    ("Rationales alone are not enough: the input adds to them (Table 5)", _sufficient),
    ("Writing a rationale costs label accuracy (Table 9)", _cost),
    ("The joint model beats the pipeline (Table 10)", _pipeline),
]  # fmt: skip


def _together(corner: Corner) -> Checked:
    """The first joint model."""
    found = corner.failing("joint 0", "joint 0")
    if found.label_collapse is None or found.rationale_collapse is None:
        return FAILS if found.verdict == "apart" else UNDECIDED, found.told()
    near = every([above(found.steps, -1), below(found.steps, 1)])
    return near, f"σ² {found.label_collapse:.3g} and {found.rationale_collapse:.3g}, {signed(found.steps, 2)} steps apart"


def _coupled(corner: Corner) -> Checked:
    found = [corner.failing(*pair) for pair in corner.pairs().values() if pair[0] == pair[1] != "constant"]
    return _called([one.verdict for one in found], "together"), ", ".join(map(_coupling, found))


def _coupling(found: Robustness) -> str:
    low, high = found.coupling_interval
    return f"{found.verdict}, coupling {signed(Estimate(found.coupling, low, high), 2)}, p = {found.p:.3g}"


def _once_together(found: Robustness) -> bool:
    """The rule before the first run of `smoke`, in which one glued control of three had p = 0.04 at a coupling of 0.08."""
    collapsed = found.label_collapse is not None and found.rationale_collapse is not None
    return collapsed and abs(found.steps.value) <= 1 and found.p < 0.05 and found.coupling > 0


def _agree(corner: Corner) -> Checked:
    found = [corner.agreeing(*pair)[0] for pair in corner.pairs().values() if pair[0] == pair[1] != "constant"]
    return _called([one.verdict for one in found], "associated"), ", ".join(map(_agreement, found))


def _agreement(found: SharedImportance) -> str:
    moves = f", moves {signed(found.value, 2)}, p = {found.p:.3g}" if found.value else ""
    return f"{found.verdict}{moves}, {POINTS * found.depends:.0f} % of rationales depend on the text"


def _called(verdicts: Sequence[str], expected: str) -> Verdict:
    """Whether a test says so of all; undecided where it is."""
    open_ = ("undecided", "nothing failed")
    return every(HOLDS if verdict == expected else UNDECIDED if verdict in open_ else FAILS for verdict in verdicts)


ABOUT_TESTS: list[tuple[str, Callable[[Corner], Checked]]] = [
    ("Labels and rationales of the joint model collapse within one step of σ² (Figures 4, 5, 8, 9)", _together),
    ("The same draws of noise break label and rationale of every joint model", _coupled),
    ("Label and rationale of every joint model rest on the same words (agreement)", _agree),
]


def _lost(corner: Corner, by: str) -> Estimate:
    """Label accuracy with random words hidden − with those of a ranking, in points, mean over the shares of hidden words."""
    assert corner.task.roar is not None
    gaps = [right(corner.roar["random", percent], "label", "gold") - right(corner.roar[by, percent], "label", "gold")
            for percent in corner.task.roar.percents]  # fmt: skip
    return over_texts(POINTS * np.mean(gaps, axis=0))


def _reliable(corner: Corner) -> Checked:
    found = _lost(corner, "label")
    return above(found), f"random − a(X)_L {signed(found, 1)} points of accuracy"


def _roar_agrees(corner: Corner) -> Checked:
    assert corner.task.roar is not None
    accuracy = _lost(corner, "rationale")
    gaps = [quality_gain(corner.roar["label", p], "ir-o", "gold") - quality_gain(corner.roar["random", p], "ir-o", "gold")
            for p in corner.task.roar.percents]  # fmt: skip
    quality = over_texts(POINTS * np.mean(gaps, axis=0))
    differs = HOLDS if quality.low > 0 or quality.high < 0 else UNDECIDED
    said = f"accuracy, random − a(X)_R {signed(accuracy, 1)}; quality, a(X)_L − random {signed(quality, 1)}"
    return at_least([above(accuracy), differs], 1), said


ABOUT_ROAR: list[tuple[str, Callable[[Corner], Checked]]] = [
    ("Hiding the words of a(X)_L costs more label accuracy than hiding random words (Figures 7, 12, left)", _reliable),
    ("Hiding the words of one part changes the other part's score more than hiding random words, in one direction at least "
     "(Figures 7, 12)", _roar_agrees),
]  # fmt: skip


def _controls(corners: list[Corner]) -> Iterator[Claim]:
    """A test that cannot say no is worth nothing."""
    for corner in corners:
        glued = [pair for title, pair in corner.pairs().items() if title.startswith("glued")]
        if glued:
            found = [(corner.failing(*pair), corner.agreeing(*pair)[0]) for pair in glued]
            text = "calls rationales of an independent network not associated with the label"
            many = f"in {len(found)} of {len(found)}"
            apart = _called([one.verdict for one, _ in found], "apart")
            said = "; ".join(_coupling(one) for one, _ in found)
            earlier = {"together at p < 0.05, however small the coupling": not any(_once_together(one) for one, _ in found)}
            yield claim(f"{corner.title}: robustness {text}, {many}", apart, f"{said}.", earlier)
            called = _called([other.verdict for _, other in found], "not associated")
            said = "; ".join(_agreement(other) for _, other in found)
            yield Claim(f"{corner.title}: agreement {text}, {many}", called, f"{said}.")
        if corner.constant:
            own, constant = {r["id"] for r in corner.constant}, constant_gain(corner)
            joint = quality_gain([r for r in corner.answers if r["id"] in own], "ir-o i-or")
            lower, plain = gap(joint, constant), over_texts(POINTS * constant)
            verdict = every([above(lower), FAILS if above(plain) == HOLDS else HOLDS])
            said = f"its quality {signed(plain, 1)}; I→OR's is higher by {signed(lower, 1)} points"
            yield Claim(f"{corner.title}: quality calls out a rationale that is the same for every input (not above 0, and "
                        f"lower than I→OR's)", verdict, f"{said}.")  # fmt: skip
            agreed, _ = corner.agreeing("constant", "constant")
            text = "agreement calls out a rationale that is the same for every input"
            yield Claim(f"{corner.title}: {text}", _called([agreed.verdict], "not associated"), f"{_agreement(agreed)}.")
