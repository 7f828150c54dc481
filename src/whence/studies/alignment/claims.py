"""What the paper says, checked against our rows; on planted scenes, what must hold where the truth is known."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from whence.explain.alignments import ALIGNMENT_METHODS
from whence.measure.statistics import Estimate
from whence.run.engine import Rows
from whence.studies.alignment.found import PAPER, Found
from whence.studies.kit.corpora import TITLES
from whence.studies.kit.differences import by_text
from whence.studies.kit.estimates import average, over_texts, share, signed
from whence.studies.kit.verdicts import FAILS, HOLDS, above, at_least, claim, every
from whence.studies.study import Claim, Verdict

INDUCED = ("co_attention", "leave_one_out", "back_select", "lime", "gradient", "integrated_gradients")
"""Attributions of the paper, whose rationales are induced; random is ours and left out of what the paper says."""
FAR = 2.0
"""AREC is "far" more compact if the best of the others needs this many times as much."""
LEAST_SHARE = 0.1
"""A method tried on fewer of AREC's pairs than this share (BackSelect on a transformer) proves nothing in a mean."""
LEAST_GAIN, MOST_LOSS = 60.0, 6.0
"""In points of accuracy on HANS."""
ByMethod = Mapping[str, Rows]
Groups = dict[tuple[str, str], dict[str, Rows]]
"""Rows by method, by (model, corpus)."""
Checked = tuple[Verdict, bool, str]
"""Whether it is so, whether the means say so, and the numbers."""


def claims(found: Found) -> list[Claim]:
    groups = {(model, corpus): found.by_method(model, corpus) for model, corpus, _ in found.explained}
    made = [one for about in METHOD_CLAIMS for one in _of_methods(found, groups, *about)]
    made += [one for (model, corpus), by in groups.items() if corpus == "scenes" for one in _planted(found, model, by)]
    return made + [_roles(found.title(model), rows) for model, rows in found.roles.items() if model != "minilm"]


def _published(groups: Groups) -> Groups:
    """The paper's Table 1 in the same form, for the models and corpora that we have: its means as one pair."""
    theirs: Groups = {}
    for model, corpus in groups:
        for method, means in PAPER["table_1"].get(model, {}).items():
            if corpus in means:
                theirs.setdefault((model, corpus), {})[method] = [{"id": "mean", **means[corpus]}]
    return theirs


def _induced(by_method: ByMethod) -> list[str]:
    return [m for m in INDUCED if len(by_method.get(m, ())) >= max(1, LEAST_SHARE * len(by_method["arec"]))]


def _gap(by_method: ByMethod, larger: str, smaller: str, column: str, times: float = 1.0) -> tuple[Estimate, str]:
    """larger − times · smaller on the pairs that both have (some methods are tried on fewer), and both means in words."""
    one, other = (by_text([by_method[m]], column) for m in (larger, smaller))
    a, b = one.beside(other)
    return one.minus(other, times), f"{b.mean():.2f} against {a.mean():.2f}"


def _smaller(column: str, by_method: ByMethod) -> Checked:
    gaps = {m: _gap(by_method, m, "arec", column, FAR) for m in _induced(by_method)}
    best = min(gaps, key=lambda m: gaps[m][0].value)
    found, said = gaps[best]
    return above(found), found.value >= 0, f"{said} of {ALIGNMENT_METHODS[best].title}"


def _co_attention(by_method: ByMethod) -> Checked:
    gaps = [_gap(by_method, m, "co_attention", "aorc")[0] for m in _induced(by_method) if m != "co_attention"]
    place = sum(gap.value < 0 for gap in gaps) + 1
    mine, arec = (average(by_method[m], "aorc") for m in ("co_attention", "arec"))
    said = f"{mine:.2f}, place {place} of {len(gaps) + 1} (AREC {arec:.2f})"
    # first or second: better than all others but one
    return at_least([above(gap) for gap in gaps], len(gaps) - 1) if gaps else HOLDS, place <= 2, said


def _gradients(by_method: ByMethod) -> Checked:
    both = ("gradient", "integrated_gradients")
    first, second, attention = (average(by_method[m], "aorc") for m in (*both, "co_attention"))
    verdict = every(above(_gap(by_method, m, "co_attention", "aorc")[0]) for m in both)
    return verdict, min(first, second) > attention, f"{first:.2f} and {second:.2f} against {attention:.2f}"


def _diffmask(by_method: ByMethod) -> Checked:
    diffmask, arec = (average(by_method[m], "fidelity") for m in ("diffmask", "arec"))
    return above(_gap(by_method, "diffmask", "arec", "fidelity")[0]), diffmask > arec, f"{diffmask:.2f} against {arec:.2f}"


def _has(*methods: str) -> Callable[[ByMethod], bool]:
    return lambda by_method: set(methods) <= set(by_method)


METHOD_CLAIMS: list[tuple[str, str, Callable[[ByMethod], Any], Callable[[ByMethod], Checked]]] = [
    ("AREC's rationales are far more compact than induced ones of the same fidelity",
     f"the nearest of the others; far means {FAR:g} times", _induced, partial(_smaller, "compactness")),
    ("AREC's rationales are far less ragged than induced ones of the same fidelity",
     f"the nearest of the others; far means {FAR:g} times", _induced, partial(_smaller, "contiguity")),
    ("Co-attention is a strong attribution by AORC", "first or second among attributions", _has("co_attention"), _co_attention),
    ("Gradients and integrated gradients are weak by AORC", "both higher than co-attention",
     _has("gradient", "integrated_gradients", "co_attention"), _gradients),
    ("DiffMask keeps the logits less well than AREC", "fidelity, lower is better", _has("diffmask"), _diffmask),
]  # fmt: skip
"""What is said, when it is so, to which groups it applies, and the check."""


def _of_methods(found: Found, groups: Groups, text: str, rule: str, applies: Any, check: Any) -> Iterator[Claim]:
    """It holds if it does for as many models and corpora as by the paper's own numbers; where it has none, for all.

    The evidence starts with those for which it does not.
    """
    ours = {where: check(by) for where, by in groups.items() if applies(by)}
    published = [check(by) for by in _published(groups).values() if applies(by)]
    theirs = sum(so for _, so, _ in published)
    least = theirs if published else len(ours)
    beside = f"; by the paper's own numbers in {theirs} of {len(published)}" if published else ""
    marks = {HOLDS: "", FAILS: "✗ "}
    said = "; ".join(
        f"{marks.get(verdict, '? ')}{found.title(model)} on {TITLES[corpus]}: {numbers}"
        for (model, corpus), (verdict, _, numbers) in sorted(ours.items(), key=lambda item: item[1][0])
    )
    verdicts = [verdict for verdict, _, _ in ours.values()]
    if ours:
        evidence = f"So in {verdicts.count(HOLDS)} of {len(ours)} cases ({rule}){beside}. {said}."
        earlier = {"the means, without intervals": sum(so for _, so, _ in ours.values()) >= least}
        yield claim(text, at_least(verdicts, least), evidence, earlier)


def _planted(found: Found, model: str, by_method: ByMethod) -> Iterator[Claim]:
    if not found.settings.targets[model].needs_known_pairs:
        return
    arec, title = by_method["arec"], found.title(model)
    decided = [r for r in arec if r["right"] and r["label"] == "contradiction"]
    for rows, column, least, text in (
        (decided, "planted_found", 0.9, "holds the planted pair in at least 90 % of the rightly predicted contradictions"),
        (arec, "label_kept", 0.98, "keeps the label in at least 98 %"),
    ):
        part = share([row[column] for row in rows])
        evidence = f"{100 * part.value:.1f} % ({100 * part.low:.1f} to {100 * part.high:.1f}) of {len(rows)}"
        yield claim(f"{title}: AREC's mask {text}", above(part, least), evidence, {"the share by itself": part.value >= least})
    gaps = {m: _gap(by_method, m, "arec", "compactness") for m in by_method if not ALIGNMENT_METHODS[m].makes_mask}
    nearest = min(gaps, key=lambda m: gaps[m][0].value)
    yield claim(
        f"{title}: AREC's masks are smaller than every induced rationale, random included",
        every(above(gap) for gap, _ in gaps.values()),
        f"{gaps[nearest][1]} (%) of {ALIGNMENT_METHODS[nearest].title}, the nearest; larger by {signed(gaps[nearest][0], 2)}",
        {"the means": all(gap.value > 0 for gap, _ in gaps.values())},
    )


def _roles(title: str, rows: Rows) -> Claim:
    """Differences of the same pairs, as the model reads them and under the mask, in points."""

    def change(label: str, heuristic: str | None) -> tuple[Estimate, float, float]:
        chosen = [r for r in rows if r["label"] == label and heuristic in (None, r["heuristic"])]
        plain, masked = (100 * np.array([r[how] for r in chosen]) for how in ("as it is", "role mask"))
        return over_texts(masked - plain), plain.mean(), masked.mean()

    gain, before, after = change("non-entailment", "lexical_overlap")
    cost, *_ = change("entailment", None)
    return claim(
        f"{title}: role masks repair lexical overlap on HANS and cost little where the hypothesis is entailed",
        every([above(gain, LEAST_GAIN), above(cost, -MOST_LOSS)]),
        f"non-entailed with lexical overlap: {before:.1f} → {after:.1f}, {signed(gain, 1)} (at least {LEAST_GAIN:g} points "
        f"asked); entailed: {signed(cost, 1)} points (at most −{MOST_LOSS:g})",
        {"the means": gain.value >= LEAST_GAIN and cost.value >= -MOST_LOSS},
    )
