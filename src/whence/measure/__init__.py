"""What tests an explanation: one file per family of measures. Add one by adding a file and naming it here."""

from collections.abc import Collection, Iterable, Sequence

from whence.data import Example
from whence.errors import BadInput, unknown
from whence.measure import edit, erasure, loo_tau
from whence.measure.measure import Judged, Measure, Value
from whence.measure.plausibility import plausibility_measures

FAITHFULNESS: dict[str, Measure] = {m.name: m for file in (erasure, loo_tau) for m in file.MEASURES}
PLAUSIBILITY = tuple(m.name for m in plausibility_measures(0.2))
EDIT: dict[str, Measure] = {m.name: m for m in edit.MEASURES}


def measure_names() -> tuple[str, ...]:
    return (*FAITHFULNESS, *PLAUSIBILITY, *EDIT)


def choose_measures(examples: Collection[Example], names: Sequence[str] = ()) -> list[Measure]:
    """The named measures; with no names, all that the corpus allows.

    Plausibility needs human highlights, and pointing at the edit needs counterfactual pairs.
    """
    for name in names:
        if name not in measure_names():
            raise unknown("measure", name, measure_names())
    share = _highlighted_share(examples)
    edited = any(example.edits for example in examples)
    available = dict(FAITHFULNESS) | ({m.name: m for m in plausibility_measures(share)} if share else {})
    available |= EDIT if edited else {}
    for name in names:
        if name not in available:
            what = "counterfactual pairs" if name in EDIT else "human highlights"
            raise BadInput(f"{name} needs {what}, and none of these {len(examples)} examples has any")
    return [available[name] for name in names] if names else list(available.values())


def _highlighted_share(examples: Iterable[Example]) -> float:
    """The mean share of highlighted words, over texts that have any highlight: how long a rationale people give."""
    marked = (example.highlighted_words(name) for example in examples if example.highlights for name in example.texts)
    shares = [mask.mean() for mask in marked if mask.any()]
    return float(sum(shares) / len(shares)) if shares else 0.0


__all__ = ["EDIT", "FAITHFULNESS", "PLAUSIBILITY", "Judged", "Measure", "Value", "choose_measures", "measure_names"]
