"""Figures 7 and 8 and the sheets: explanations rebuilt from stored rows, and drawn.

Figure 7: AREC's rationales of typical pairs. Figure 8: every method on one pair, its map of scores and the rationale beside it.
"""

import html
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from whence.data import Example, word_spans
from whence.explain.alignment import Alignment, mask_rows, score_rows
from whence.explain.alignments import ALIGNMENT_METHODS
from whence.explain.alignments.draw import matrix_html, pairs_in_words
from whence.run.engine import Rows
from whence.studies.alignment.found import Found
from whence.studies.kit.corpora import TITLES
from whence.studies.kit.sheets import Item, Sheet
from whence.studies.study import Figure

_READ = "How well can you read from this picture why the label was given? 1 (not at all) to 5 (at once)"
_AGREE = "Does the picture hold the complete evidence that you would need for the right label? yes or no"
_BOTH = (Sheet("readability", _READ, ("1", "2", "3", "4", "5")), Sheet("agreement", _AGREE, ("yes", "no")))
SHEETS = {sheet.name: sheet for sheet in _BOTH}
"""The paper's Table 2, about the label that the model gave, and the judgement on HANS, about the right one."""
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


def figures(found: Found) -> list[Figure]:
    made: list[Figure] = []
    for (model, corpus, method), rows in found.explained.items():
        if method == "arec":
            examples = found.subjects[model].by_id(corpus)
            shown = typical(rows, examples, found.settings.drawn)
            where = f"{found.title(model)} on {TITLES[corpus]}"
            made += [_examples(where, f"{model}_{corpus}", shown, examples)] if shown else []
    return [*made, *_methods(found)]


def _examples(where: str, name: str, rows: Rows, examples: dict[str, Example]) -> Figure:
    parts = []
    for row in rows:
        example = examples[row["id"]]
        texts = "".join(f"<div><small>{field}: </small>{html.escape(text)}</div>" for field, text in example.texts.items())
        matrix = matrix_html(alignment_of(row, example, "AREC"))
        parts.append(f'<div style="margin:0 0 1.5em;flex:1 1 26em">{texts}{matrix}</div>')
    caption = "Rightly predicted pairs of each label. A rectangle is one phrase pair; with these alone the label stays."
    return Figure(f"figure_7_{name}", f"Figure 7: AREC's rationales, {where}", caption, "svg", {"svg": _side_by_side(parts)})


def _methods(found: Found) -> Iterator[Figure]:
    """The last model (the paper: BERT) that has a typical pair, on one contradiction of the first corpus."""
    corpus = found.settings.corpora[0]
    for model in reversed(found.subjects):
        by_method, examples = found.by_method(model, corpus), found.subjects[model].by_id(corpus)
        shared = set.intersection(*({row["id"] for row in rows} for rows in by_method.values()))
        pool = typical([row for row in by_method["arec"] if row["id"] in shared], examples, 1)
        shown = [row for row in pool if row["label"] == "contradiction"] or pool
        if shown:
            yield _every_method(found.title(model), by_method, examples[shown[0]["id"]])
            return


def _every_method(model: str, by_method: Mapping[str, Rows], example: Example) -> Figure:
    parts = []
    for method, rows in by_method.items():
        row = next(row for row in rows if row["id"] == example.id)
        alignment = alignment_of(row, example, ALIGNMENT_METHODS[method].title)
        both = [f'<div style="flex:1 1 20em">{matrix_html(a)}</div>' for a in (replace(alignment, mask=None), alignment)]
        parts.append(f'<div style="margin:0 0 1.5em">{_side_by_side(both)}</div>')
    title = f"Figure 8: all methods on one pair, {model}"
    caption = "Left the scores of every word pair, right the rationale: chosen by the method, or induced at AREC's fidelity."
    return Figure("figure_8", title, caption, "svg", {"svg": "".join(parts)})


def _side_by_side(parts: Sequence[str]) -> str:
    return f'<div style="display:flex;flex-wrap:wrap;gap:1em 2em">{"".join(parts)}</div>'


def sheet_items(found: Found) -> dict[str, list[Item]]:
    """Readability of every method on the first corpus, agreement of people with AREC's rationales on HANS."""
    items: dict[str, list[Item]] = {name: [] for name in SHEETS}
    for (model, corpus, method), rows in found.explained.items():
        readable = corpus == found.settings.corpora[0] and method != "random"
        if not readable and (corpus, method) != ("hans", "arec"):
            continue
        examples = found.subjects[model].by_id(corpus)
        for row in rows[:: max(1, len(rows) // found.settings.judged)][: found.settings.judged]:
            example = examples[row["id"]]
            key = {"model": model, "corpus": corpus, "method": method, "id": example.id, "label": example.label or ""}
            label = row["predicted"] if readable else example.label or ""
            items["readability" if readable else "agreement"].append(item(key, label, alignment_of(row, example, method)))
    return items


def item(key: dict[str, str], label: str, alignment: Alignment) -> Item:
    """Blind: neither the method's name nor, where the right label is asked for, the model's."""
    said = "; ".join(f"{first} – {second}" for first, second in pairs_in_words(alignment))
    return Item(key, alignment.texts, label, said, matrix_html(replace(alignment, method="", target=label)))
