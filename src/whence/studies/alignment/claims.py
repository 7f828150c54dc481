"""What the paper says, checked against our rows; on planted scenes, what must hold where the truth is known."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial

from whence.explain.alignments import ALIGNMENT_METHODS
from whence.run.engine import Rows
from whence.studies.alignment import paper
from whence.studies.alignment.settings import AlignmentSettings
from whence.studies.alignment.tables import TITLES, Explained, average
from whence.studies.study import Claim

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
        _claim(text, rule, check(groups, settings), check(published, settings)) for text, rule, check in METHOD_CLAIMS
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


def _named(settings: AlignmentSettings, model: str, corpus: str) -> str:
    return f"{settings.targets[model].title} on {TITLES[corpus]}"


def _induced(by_method: Mapping[str, Rows]) -> list[str]:
    return [m for m in INDUCED if len(by_method.get(m, ())) >= max(1, LEAST_SHARE * len(by_method["arec"]))]


def _on_same(rows: Rows, others: Rows, column: str) -> tuple[float, float]:
    """Both means on the pairs that both have: some methods are tried on fewer."""
    shared = {row["id"] for row in rows} & {row["id"] for row in others}
    here, there = ([row for row in several if row["id"] in shared] for several in (rows, others))
    return average(here, column), average(there, column)


Checked = list[tuple[bool, str]]
"""For each model and corpus: whether it is so, and the numbers."""


def _smaller(column: str, groups: Groups, settings: AlignmentSettings) -> Checked:
    checked = []
    for (model, corpus), by_method in groups.items():
        others = {m: _on_same(by_method["arec"], by_method[m], column) for m in _induced(by_method)}
        if not others:
            continue
        best = min(others, key=lambda m: others[m][1] - FAR * others[m][0])
        ours, theirs = others[best]
        said = f"{_named(settings, model, corpus)}: {ours:.2f} against {theirs:.2f} of {ALIGNMENT_METHODS[best].title}"
        checked.append((theirs >= FAR * ours, said))
    return checked


def _co_attention(groups: Groups, settings: AlignmentSettings) -> Checked:
    checked = []
    for (model, corpus), by_method in groups.items():
        if "co_attention" not in by_method:
            continue
        scores = {m: _on_same(by_method["co_attention"], by_method[m], "aorc") for m in _induced(by_method)}
        better = [m for m, (ours, theirs) in scores.items() if theirs < ours]
        place = len(better) + 1
        mine = average(by_method["co_attention"], "aorc")
        arec = average(by_method["arec"], "aorc")
        said = f"{_named(settings, model, corpus)}: {mine:.2f}, place {place} of {len(scores)} (AREC {arec:.2f})"
        checked.append((place <= 2, said))
    return checked


def _gradients(groups: Groups, settings: AlignmentSettings) -> Checked:
    checked = []
    for (model, corpus), by_method in groups.items():
        if not {"gradient", "integrated_gradients", "co_attention"} <= set(by_method):
            continue
        attention = average(by_method["co_attention"], "aorc")
        both = [average(by_method[m], "aorc") for m in ("gradient", "integrated_gradients")]
        said = f"{_named(settings, model, corpus)}: {both[0]:.2f} and {both[1]:.2f} against {attention:.2f}"
        checked.append((min(both) > attention, said))
    return checked


def _diffmask(groups: Groups, settings: AlignmentSettings) -> Checked:
    checked = []
    for (model, corpus), by_method in groups.items():
        if "diffmask" not in by_method:
            continue
        arec, diffmask = (average(by_method[m], "fidelity") for m in ("arec", "diffmask"))
        checked.append((diffmask > arec, f"{_named(settings, model, corpus)}: {diffmask:.2f} against {arec:.2f}"))
    return checked


METHOD_CLAIMS: list[tuple[str, str, Callable[[Groups, AlignmentSettings], Checked]]] = [
    ("AREC's rationales are far more compact than induced ones of the same fidelity",
     f"the nearest of the others; far means {FAR:g} times", partial(_smaller, "compactness")),
    ("AREC's rationales are far less ragged than induced ones of the same fidelity",
     f"the nearest of the others; far means {FAR:g} times", partial(_smaller, "contiguity")),
    ("Co-attention is a strong attribution by AORC", "first or second among attributions", _co_attention),
    ("Gradients and integrated gradients are weak by AORC", "both higher than co-attention", _gradients),
    ("DiffMask keeps the logits less well than AREC", "fidelity, lower is better", _diffmask),
]  # fmt: skip


def _planted(groups: Groups, settings: AlignmentSettings) -> Iterable[Claim]:
    for (model, corpus), by_method in groups.items():
        if corpus != "scenes" or not settings.targets[model].needs_known_pairs:
            continue
        arec, title = by_method["arec"], settings.targets[model].title
        decided = [r for r in arec if r["right"] and r["label"] == "contradiction"]
        found, kept = average(decided, "planted_found"), average(arec, "label_kept")
        text = f"{title}: AREC's mask holds the planted pair in at least 90 % of the rightly predicted contradictions"
        yield Claim(text, found >= 0.9, f"{100 * found:.1f} % of {len(decided)}")
        yield Claim(
            f"{title}: AREC's mask keeps the label in at least 98 %", kept >= 0.98, f"{100 * kept:.1f} % of {len(arec)}"
        )
        others = {
            m: _on_same(arec, rows, "compactness") for m, rows in by_method.items() if not ALIGNMENT_METHODS[m].makes_mask
        }
        nearest = min(others, key=lambda m: others[m][1] - others[m][0])
        holds = all(ours < theirs for ours, theirs in others.values())
        evidence = (
            f"{others[nearest][0]:.2f} % against {others[nearest][1]:.2f} % of {ALIGNMENT_METHODS[nearest].title}, the nearest"
        )
        yield Claim(f"{title}: AREC's masks are smaller than every induced rationale, random included", holds, evidence)


def _roles(title: str, rows: Rows) -> Claim:
    def points(label: str, heuristic: str | None, how: str) -> float:
        chosen = [r for r in rows if r["label"] == label and heuristic in (None, r["heuristic"])]
        return 100 * average(chosen, how)

    gain = points("non-entailment", "lexical_overlap", "role mask") - points("non-entailment", "lexical_overlap", "as it is")
    loss = points("entailment", None, "as it is") - points("entailment", None, "role mask")
    text = f"{title}: role masks repair lexical overlap on HANS and cost little where the hypothesis is entailed"
    before, after = (points("non-entailment", "lexical_overlap", how) for how in ("as it is", "role mask"))
    evidence = (
        f"non-entailed with lexical overlap: {before:.1f} → {after:.1f} (at least {LEAST_GAIN:g} points asked); entailed: "
        f"{-loss:+.1f} points (at most −{MOST_LOSS:g})"
    )
    return Claim(text, gain >= LEAST_GAIN and loss <= MOST_LOSS, evidence)


def _claim(text: str, rule: str, here: Checked, published: Checked) -> Claim | None:
    """It holds if it does for as many models and corpora as by the paper's own numbers; where it has none, for all.

    The evidence starts with those for which it does not.
    """
    if not here:
        return None
    held, theirs = (sum(holds for holds, _ in checked) for checked in (here, published))
    beside = f"; by the paper's own numbers in {theirs} of {len(published)}" if published else ""
    said = "; ".join(f"{'' if holds else '✗ '}{what}" for holds, what in sorted(here, key=lambda one: one[0]))
    evidence = f"So in {held} of {len(here)} cases ({rule}){beside}. {said}."
    return Claim(text, held >= (theirs if published else len(here)), evidence)
