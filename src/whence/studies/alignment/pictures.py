"""Figures 7 and 8 and the sheets: explanations rebuilt from stored rows, and drawn.

Figure 7: AREC's rationales of typical pairs. Figure 8: every method on one pair, its map of scores and the rationale beside it.
"""

import html
from collections.abc import Sequence
from typing import Any

import numpy as np

from whence.data import Example, word_spans
from whence.explain.alignment import Alignment, mask_rows, score_rows
from whence.explain.alignments import ALIGNMENT_METHODS
from whence.explain.alignments.draw import matrix_html
from whence.run.engine import Rows
from whence.studies.alignment.pieces import chosen_pairs
from whence.studies.alignment.settings import AlignmentSettings
from whence.studies.alignment.sheets import Item, Kind
from whence.studies.alignment.tables import TITLES, Explained
from whence.studies.study import Figure

LONGEST = 14
"""Words of a premise that is drawn."""


def alignment_of(row: dict[str, Any], example: Example, method: str) -> Alignment:
    """The explanation that a row was measured on."""
    spans = {name: tuple(word_spans(text)) for name, text in example.texts.items()}
    shape = tuple(len(several) for several in spans.values())
    scores, kept = (np.array(row[name], dtype=np.float64).reshape(shape) for name in ("scores", "kept"))
    return Alignment(
        id=example.id, texts=dict(example.texts), spans=spans, scores=score_rows(scores), mask=mask_rows(kept > 0),
        method=method, target=row["predicted"], probability=row["probability"],
    )  # fmt: skip


def typical(rows: Rows, examples: dict[str, Example], count: int) -> list[dict[str, Any]]:
    """Of every label, the first rightly predicted pairs that are short enough to be read."""
    chosen: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        short = len(word_spans(examples[row["id"]].texts["premise"])) <= LONGEST
        if row["right"] and short and any(row["kept"]):
            chosen.setdefault(row["label"], []).append(row)
    return [row for _, several in sorted(chosen.items()) for row in several[:count]]


def figures(settings: AlignmentSettings, explained: Explained, root: str | None) -> list[Figure]:
    made = []
    for model, target in settings.targets.items():
        for corpus in settings.corpora:
            arec = explained.get((model, corpus, "arec"))
            if not arec:
                continue
            examples = {e.id: e for e in chosen_pairs(corpus, target.pairs, root)}
            shown = typical(arec, examples, settings.drawn)
            if shown:
                made.append(_examples(f"{target.title} on {TITLES[corpus]}", f"{model}_{corpus}", shown, examples))
    made += _methods(settings, explained, root)
    return made


def _examples(where: str, name: str, rows: Rows, examples: dict[str, Example]) -> Figure:
    parts = []
    for row in rows:
        example = examples[row["id"]]
        texts = "".join(f"<div><small>{field}: </small>{html.escape(text)}</div>" for field, text in example.texts.items())
        matrix = matrix_html(alignment_of(row, example, "AREC"))
        parts.append(f'<div style="margin:0 0 1.5em;flex:1 1 26em">{texts}{matrix}</div>')
    caption = "Rightly predicted pairs of each label. A rectangle is one phrase pair; with these alone the label stays."
    return Figure(f"figure_7_{name}", f"Figure 7: AREC's rationales, {where}", caption, "svg", {"svg": _side_by_side(parts)})


def _methods(settings: AlignmentSettings, explained: Explained, root: str | None) -> list[Figure]:
    """The last model (the paper: BERT) on one contradiction of the first corpus."""
    made = []
    for model in list(settings.targets)[::-1]:
        corpus = settings.corpora[0]
        by_method = {m: rows for (owner, where, m), rows in explained.items() if (owner, where) == (model, corpus)}
        if "arec" not in by_method:
            continue
        examples = {e.id: e for e in chosen_pairs(corpus, settings.targets[model].pairs, root)}
        shared = set.intersection(*({row["id"] for row in rows} for rows in by_method.values()))
        pool = [row for row in by_method["arec"] if row["id"] in shared]
        shown = [r for r in typical(pool, examples, 1) if r["label"] == "contradiction"] or typical(pool, examples, 1)
        if not shown:
            continue
        example = examples[shown[0]["id"]]
        parts = []
        for method, rows in by_method.items():
            row = next(row for row in rows if row["id"] == example.id)
            alignment = alignment_of(row, example, ALIGNMENT_METHODS[method].title)
            scores = Alignment(**{**vars(alignment), "mask": None})
            both = [f'<div style="flex:1 1 20em">{matrix_html(a)}</div>' for a in (scores, alignment)]
            parts.append(f'<div style="margin:0 0 1.5em">{_side_by_side(both)}</div>')
        title = f"Figure 8: all methods on one pair, {settings.targets[model].title}"
        caption = (
            "Left the scores of every word pair, right the rationale: chosen by the method, or induced at AREC's fidelity."
        )
        made.append(Figure("figure_8", title, caption, "svg", {"svg": "".join(parts)}))
        break
    return made


def _side_by_side(parts: Sequence[str]) -> str:
    return f'<div style="display:flex;flex-wrap:wrap;gap:1em 2em">{"".join(parts)}</div>'


def sheet_items(settings: AlignmentSettings, explained: Explained, root: str | None) -> dict[Kind, list[Item]]:
    """Readability of every method on the first corpus, agreement of people with AREC's rationales on HANS."""
    readability: list[Item] = []
    agreement: list[Item] = []
    for (model, corpus, method), rows in explained.items():
        examples = {e.id: e for e in chosen_pairs(corpus, settings.targets[model].pairs, root)}
        step = max(1, len(rows) // max(1, settings.judged))
        for row in rows[::step][: settings.judged]:
            example = examples[row["id"]]
            key = {"model": model, "corpus": corpus, "method": method, "id": example.id, "label": example.label or ""}
            item = Item(key, example.label or "", alignment_of(row, example, method))
            if corpus == settings.corpora[0] and method != "random":
                readability.append(item)
            elif corpus == "hans" and method == "arec":
                agreement.append(item)
    return {"readability": readability, "agreement": agreement}
