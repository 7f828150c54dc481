"""What the paper says, checked against our rows; on planted scenes, what must hold where the truth is known."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial

import numpy as np
from scipy.stats import binomtest

from whence.explain.alignments import ALIGNMENT_METHODS
from whence.measure.measure import mean
from whence.measure.statistics import Estimate, bootstrap
from whence.run.engine import Rows
from whence.studies.alignment import paper
from whence.studies.alignment.found import Explained
from whence.studies.alignment.settings import AlignmentSettings
from whence.studies.alignment.tables import average
from whence.studies.kit.corpora import TITLES
from whence.studies.kit.estimates import by_text, common, paired, signed
from whence.studies.kit.verdicts import FAILS, HOLDS, above, at_least, every, plainly
from whence.studies.study import Claim, Earlier, Verdict

INDUCED = ("co_attention", "leave_one_out", "back_select", "lime", "gradient", "integrated_gradients")
"""Attributions of the paper, whose rationales are induced; random is ours and left out of what the paper says."""
FAR = 2.0
"""AREC is "far" more compact if the best of the others needs this many times as much."""
LEAST_SHARE = 0.1
"""A method tried on fewer of AREC's pairs than this share (BackSelect on a transformer) proves nothing in a mean."""
LEAST_GAIN, MOST_LOSS = 60.0, 6.0
"""In points of accuracy on HANS."""


def claims(settings: AlignmentSettings, explained: Explained, found: Mapping[str, Rows]) -> list[Claim]:
    groups = _groups(explained)
    published = _published(groups)
    made: list[Claim | None] = [
        _claim(text, rule, _checked(check, groups, settings), _checked(check, published, settings))
        for text, rule, check in METHOD_CLAIMS
    ]
    made += _planted(groups, settings)
    made += [_roles(settings.targets[model].title, rows) for model, rows in found.items() if model != "minilm"]
    return [claim for claim in made if claim is not None]


Groups = Mapping[tuple[str, str], Mapping[str, Rows]]
"""Rows by method, by (model, corpus)."""


def _groups(explained: Explained) -> Groups:
    groups: dict[tuple[str, str], dict[str, Rows]] = {}
    for (model, corpus, method), rows in explained.items():
        groups.setdefault((model, corpus), {})[method] = rows
    return groups


def _published(groups: Groups) -> Groups:
    """The paper's Table 1 in the same form, for the models and corpora that we have: its means as one pair."""
    found: dict[tuple[str, str], dict[str, Rows]] = {}
    for (model, method), values in paper.TABLE_1.items():
        for corpus, means in zip(paper.TABLE_1_CORPORA, values, strict=True):
            if (model, corpus) in groups:
                row = {"id": "mean", **dict(zip(paper.TABLE_1_COLUMNS, means, strict=True))}
                found.setdefault((model, corpus), {})[method] = [row]
    return found


def _induced(by_method: Mapping[str, Rows]) -> list[str]:
    return [m for m in INDUCED if len(by_method.get(m, ())) >= max(1, LEAST_SHARE * len(by_method["arec"]))]


Checked = list[tuple[Verdict, bool, str]]
"""For each model and corpus: whether it is so, whether the means say so, and the numbers."""


def _gap(by_method: Mapping[str, Rows], larger: str, smaller: str, column: str, times: float = 1.0) -> tuple[Estimate, str]:
    """larger − times · smaller on the pairs that both have (some methods are tried on fewer), and both means in words."""
    one, other = (by_text([by_method[m]], column) for m in (larger, smaller))
    a, b = common(one, other)
    return paired(one, other, times), f"{b.mean():.2f} against {a.mean():.2f}"


def _smaller(column: str, by_method: Mapping[str, Rows]) -> tuple[Verdict, bool, str] | None:
    gaps = {m: _gap(by_method, m, "arec", column, FAR) for m in _induced(by_method)}
    if not gaps:
        return None
    best = min(gaps, key=lambda m: gaps[m][0].value)
    found, said = gaps[best]
    return above(found), found.value >= 0, f"{said} of {ALIGNMENT_METHODS[best].title}"


def _co_attention(by_method: Mapping[str, Rows]) -> tuple[Verdict, bool, str] | None:
    if "co_attention" not in by_method:
        return None
    others = [m for m in _induced(by_method) if m != "co_attention"]
    gaps = [_gap(by_method, m, "co_attention", "aorc")[0] for m in others]
    place = sum(gap.value < 0 for gap in gaps) + 1
    mine, arec = (average(by_method[m], "aorc") for m in ("co_attention", "arec"))
    said = f"{mine:.2f}, place {place} of {len(others) + 1} (AREC {arec:.2f})"
    # first or second: better than all others but one
    return at_least([above(gap) for gap in gaps], len(gaps) - 1) if gaps else HOLDS, place <= 2, said


def _gradients(by_method: Mapping[str, Rows]) -> tuple[Verdict, bool, str] | None:
    both = ("gradient", "integrated_gradients")
    if not {*both, "co_attention"} <= set(by_method):
        return None
    gaps = [_gap(by_method, m, "co_attention", "aorc")[0] for m in both]
    first, second, attention = (average(by_method[m], "aorc") for m in (*both, "co_attention"))
    said = f"{first:.2f} and {second:.2f} against {attention:.2f}"
    return every(above(gap) for gap in gaps), min(first, second) > attention, said


def _diffmask(by_method: Mapping[str, Rows]) -> tuple[Verdict, bool, str] | None:
    if "diffmask" not in by_method:
        return None
    gap, _ = _gap(by_method, "diffmask", "arec", "fidelity")
    diffmask, arec = (average(by_method[m], "fidelity") for m in ("diffmask", "arec"))
    return above(gap), diffmask > arec, f"{diffmask:.2f} against {arec:.2f}"


METHOD_CLAIMS: list[tuple[str, str, Callable[[Mapping[str, Rows]], tuple[Verdict, bool, str] | None]]] = [
    ("AREC's rationales are far more compact than induced ones of the same fidelity",
     f"the nearest of the others; far means {FAR:g} times", partial(_smaller, "compactness")),
    ("AREC's rationales are far less ragged than induced ones of the same fidelity",
     f"the nearest of the others; far means {FAR:g} times", partial(_smaller, "contiguity")),
    ("Co-attention is a strong attribution by AORC", "first or second among attributions", _co_attention),
    ("Gradients and integrated gradients are weak by AORC", "both higher than co-attention", _gradients),
    ("DiffMask keeps the logits less well than AREC", "fidelity, lower is better", _diffmask),
]  # fmt: skip


def _checked(check: Callable[..., tuple[Verdict, bool, str] | None], groups: Groups, settings: AlignmentSettings) -> Checked:
    found = [(f"{settings.targets[model].title} on {TITLES[corpus]}", check(by)) for (model, corpus), by in groups.items()]
    return [(one[0], one[1], f"{where}: {one[2]}") for where, one in found if one is not None]


def _planted(groups: Groups, settings: AlignmentSettings) -> Iterator[Claim]:
    for (model, corpus), by_method in groups.items():
        if corpus != "scenes" or not settings.targets[model].needs_known_pairs:
            continue
        arec, title = by_method["arec"], settings.targets[model].title
        decided = [r for r in arec if r["right"] and r["label"] == "contradiction"]
        for rows, column, least, text in (
            (decided, "planted_found", 0.9, "holds the planted pair in at least 90 % of the rightly predicted contradictions"),
            (arec, "label_kept", 0.98, "keeps the label in at least 98 %"),
        ):
            share = _share(rows, column)
            evidence = f"{100 * share.value:.1f} % ({100 * share.low:.1f} to {100 * share.high:.1f}) of {len(rows)}"
            earlier = [Earlier("the share by itself", plainly(share.value >= least))]
            yield Claim(f"{title}: AREC's mask {text}", above(share, least), evidence, earlier)
        gaps = {m: _gap(by_method, m, "arec", "compactness") for m in by_method if not ALIGNMENT_METHODS[m].makes_mask}
        nearest = min(gaps, key=lambda m: gaps[m][0].value)
        found, said = gaps[nearest]
        yield Claim(
            f"{title}: AREC's masks are smaller than every induced rationale, random included",
            every(above(gap) for gap, _ in gaps.values()),
            f"{said} (%) of {ALIGNMENT_METHODS[nearest].title}, the nearest; larger by {signed(found, 2)}",
            [Earlier("the means", plainly(all(gap.value > 0 for gap, _ in gaps.values())))],
        )


def _share(rows: Rows, column: str) -> Estimate:
    """With Wilson's 95 % interval, which is not empty where all of few agree."""
    interval = binomtest(round(sum(row[column] for row in rows)), len(rows)).proportion_ci(method="wilson")
    return Estimate(average(rows, column), float(interval.low), float(interval.high))


def _roles(title: str, rows: Rows) -> Claim:
    """Differences of the same pairs, as the model reads them and under the mask, in points."""

    def change(label: str, heuristic: str | None) -> tuple[Estimate, float, float]:
        chosen = [r for r in rows if r["label"] == label and heuristic in (None, r["heuristic"])]
        both = np.array([[r["as it is"], r["role mask"]] for r in chosen]) * 100
        return bootstrap(both[:, 1:] - both[:, :1], mean), *both.mean(0)

    gain, before, after = change("non-entailment", "lexical_overlap")
    cost, *_ = change("entailment", None)
    return Claim(
        f"{title}: role masks repair lexical overlap on HANS and cost little where the hypothesis is entailed",
        every([above(gain, LEAST_GAIN), above(cost, -MOST_LOSS)]),
        f"non-entailed with lexical overlap: {before:.1f} → {after:.1f}, {signed(gain, 1)} (at least {LEAST_GAIN:g} points "
        f"asked); entailed: {signed(cost, 1)} points (at most −{MOST_LOSS:g})",
        [Earlier("the means", plainly(gain.value >= LEAST_GAIN and cost.value >= -MOST_LOSS))],
    )


def _claim(text: str, rule: str, here: Checked, published: Checked) -> Claim | None:
    """It holds if it does for as many models and corpora as by the paper's own numbers; where it has none, for all.

    The evidence starts with those for which it does not.
    """
    if not here:
        return None
    theirs = sum(so for _, so, _ in published)
    least = theirs if published else len(here)
    marks = {HOLDS: "", FAILS: "✗ "}
    beside = f"; by the paper's own numbers in {theirs} of {len(published)}" if published else ""
    said = "; ".join(f"{marks.get(v, '? ')}{what}" for v, _, what in sorted(here, key=lambda one: one[0]))
    verdicts = [verdict for verdict, _, _ in here]
    evidence = f"So in {verdicts.count(HOLDS)} of {len(here)} cases ({rule}){beside}. {said}."
    earlier = [Earlier("the means, without intervals", plainly(sum(so for _, so, _ in here) >= least))]
    return Claim(text, at_least(verdicts, least), evidence, earlier)
