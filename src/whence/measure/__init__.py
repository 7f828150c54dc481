"""What tests an explanation: one file per family of measures. Add one by adding a file and naming it here."""

from collections.abc import Sequence

from whence.data import Example
from whence.errors import BadInput, unknown
from whence.measure import erasure, loo_tau
from whence.measure.measure import Judged, Measure, Value
from whence.measure.plausibility import plausibility_measures

FAITHFULNESS: dict[str, Measure] = {m.name: m for file in (erasure, loo_tau) for m in file.MEASURES}
PLAUSIBILITY = tuple(m.name for m in plausibility_measures(0.2))
NAMES = (*FAITHFULNESS, *PLAUSIBILITY)


def choose_measures(examples: Sequence[Example], names: Sequence[str] = ()) -> list[Measure]:
    """The named measures; with no names, all that the corpus allows: plausibility needs human highlights."""
    for name in names:
        if name not in NAMES:
            raise unknown("measure", name, NAMES)
    share = _highlighted_share(examples)
    available = dict(FAITHFULNESS) | ({m.name: m for m in plausibility_measures(share)} if share else {})
    missing = [name for name in names if name not in available]
    if missing:
        raise BadInput(f"{', '.join(missing)} needs human highlights, and none of these {len(examples)} examples has any")
    return [available[name] for name in names] if names else list(available.values())


def _highlighted_share(examples: Sequence[Example]) -> float:
    """The mean share of highlighted words, over texts that have any highlight: how long a rationale people give."""
    marked = [example.highlighted_words(name) for example in examples for name in example.texts]
    shares = [mask.mean() for mask in marked if mask.any()]
    return float(sum(shares) / len(shares)) if shares else 0.0


__all__ = ["FAITHFULNESS", "NAMES", "PLAUSIBILITY", "Judged", "Measure", "Value", "choose_measures"]
