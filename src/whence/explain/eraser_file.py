"""Explanations as ERASER's JSON lines (DeYoung et al. 2020), the one format that several tools read and write.

  {"annotation_id": …, "rationales": [{"docid": …, "hard_rationale_predictions": [{"start_token": 0, "end_token": 2}, …],
   "soft_rationale_predictions": [0.1, …]}, …], "classification": …, "classification_scores": {label: probability, …}}

A single text's docid is the example's id; a pair's are "<id>_premise" and "<id>_hypothesis", as in ERASER's e-SNLI. Tokens are
whitespace-separated pieces of the text, and every word of ours lies in one of them. A token's score is the sum of its words'
scores; back, a token's score is shared evenly among its words. So sums per token are kept both ways, while the difference
between "mat" and "." in "mat." is lost. Two keys that ERASER's scorer ignores are ours: "method", and "target", the explained
label.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from whence.data import Example, Span, runs, space_spans, word_spans
from whence.data.corpus import BadRow
from whence.data.files import Row, json_rows
from whence.errors import BadInput
from whence.explain.explanation import TokenScores
from whence.explain.rationale import check_share, top_share
from whence.run import write_atomically


def doc_ids(id: str, fields: Iterable[str]) -> dict[str, str]:
    """The docid of every text."""
    names = list(fields)
    return {name: id if len(names) == 1 else f"{id}_{name}" for name in names}


def word_tokens(words: Sequence[Span], tokens: Sequence[Span]) -> np.ndarray:
    """Which whitespace token each word lies in → int[words]."""
    return np.searchsorted([end for _, end in tokens], [start for start, _ in words], side="right")


def save_eraser(
    path: Path, explanations: Iterable[TokenScores], share: float,
    classification_scores: Mapping[str, Mapping[str, float]] | None = None,
) -> None:  # fmt: skip
    """One row per explanation, all by one method. The hard rationale of each text is its top `share` of tokens.

    `classification_scores` gives the probabilities of all labels by example id, and the largest is the classification; without
    them it is the explained label with its probability.
    """
    check_share(share)
    lines: dict[str, str] = {}
    for explanation in explanations:
        if explanation.id in lines:
            raise BadInput(f"{path}: two explanations of example '{explanation.id}'; expected one file for each method")
        if classification_scores is not None and explanation.id not in classification_scores:
            raise BadInput(f"{path}: no classification scores for example '{explanation.id}'; expected those of every example")
        own = {explanation.target: explanation.probability} if isfinite(explanation.probability) else {}
        scores: dict[str, float] = own if classification_scores is None else dict(classification_scores[explanation.id])
        best = max(scores, key=scores.__getitem__) if scores else explanation.target
        row = {
            "annotation_id": explanation.id,
            "rationales": _rationales(explanation, share),
            "classification": best,
            **({"classification_scores": scores} if scores else {}),
            "method": explanation.method,
            "target": explanation.target,
        }
        lines[explanation.id] = json.dumps(row) + "\n"  # ASCII: a text's id may hold what UTF-8 cannot
    write_atomically(path, lambda p: p.write_text("".join(lines.values()), encoding="utf-8"))


def _rationales(explanation: TokenScores, share: float) -> list[Row]:
    found = []
    by_text, ids = explanation.by_text(), doc_ids(explanation.id, explanation.texts)
    for name, words in explanation.spans.items():
        tokens = space_spans(explanation.texts[name])
        soft = np.bincount(word_tokens(words, tokens), weights=by_text[name], minlength=len(tokens))
        hard = [{"start_token": start, "end_token": end} for start, end in runs(top_share(soft, share))] if tokens else []
        rationale = {"docid": ids[name], "hard_rationale_predictions": hard, "soft_rationale_predictions": soft.tolist()}
        found.append(rationale)
    return found


def load_eraser(path: Path, examples: Sequence[Example], method: str = "eraser") -> list[TokenScores]:
    """Explanations of `examples`, in the order of the file. `method` is the name for those that do not say theirs.

    Where a text has no soft scores, its hard rationale counts as 1 inside and 0 outside; a text that a row does not mention
    gets zeros. The probability is NaN where the file has no score for the label.
    """
    return [explanation for _, explanation in eraser_rows(path, examples, method)]


def eraser_rows(path: Path, examples: Sequence[Example], method: str) -> Iterator[tuple[int, TokenScores]]:
    """(row number, explanation)."""
    known = {example.id: example for example in examples}
    if len(known) != len(examples):
        raise BadInput(f"{path}: {len(examples) - len(known)} of the examples share an id; expected a different id for each")
    seen: set[str] = set()
    for item in json_rows(path):
        if isinstance(item, BadRow):
            raise BadInput(str(item))
        number, row = item
        try:
            explanation = _explanation(row, known, method)
            if explanation.id in seen:
                raise BadInput(f"annotation_id '{explanation.id}' for the second time; expected one row for each example")
        except BadInput as problem:
            raise BadInput(f"{path}, row {number}: {problem}") from None
        seen.add(explanation.id)
        yield number, explanation


def _explanation(row: Row, known: Mapping[str, Example], method: str) -> TokenScores:
    name = _string(row, "annotation_id")
    if name not in known:
        raise BadInput(f"annotation_id '{name}' is not among the {len(known)} examples; expected the id of one of them")
    example = known[name]
    given, ids = _by_document(row), doc_ids(name, example.texts)
    for docid in given:
        if docid not in ids.values():
            raise BadInput(f"docid '{docid}'; expected {' or '.join(ids.values())}")
    spans = {field: tuple(word_spans(text)) for field, text in example.texts.items()}
    scores: list[float] = []
    for field, text in example.texts.items():
        tokens = space_spans(text)
        soft = _token_scores(given[ids[field]], len(tokens)) if ids[field] in given else np.zeros(len(tokens))
        where = word_tokens(spans[field], tokens)
        scores += (soft[where] / np.bincount(where, minlength=len(tokens))[where]).tolist()
    target = _string(row, "target" if "target" in row else "classification")
    return TokenScores(
        id=name, texts=dict(example.texts), spans=spans, scores=tuple(scores), target=target,
        method=_string(row, "method") if "method" in row else method, probability=_probability(row, target),
    )  # fmt: skip


def _string(row: Row, key: str) -> str:
    if not isinstance(row.get(key), str):
        raise BadInput(f"'{key}' is {_shown(row.get(key))}; expected a string")
    return str(row[key])


def _by_document(row: Row) -> dict[str, Row]:
    """The rationale of each document of a row."""
    rationales = row.get("rationales")
    if not isinstance(rationales, list) or not all(isinstance(rationale, dict) for rationale in rationales):
        raise BadInput(f"'rationales' is {_shown(rationales)}; expected a list of objects with docid")
    found: dict[str, Row] = {}
    for rationale in rationales:
        docid = _string(rationale, "docid")
        if docid in found:
            raise BadInput(f"docid '{docid}' twice; expected one rationale for each document")
        found[docid] = rationale
    return found


def _token_scores(rationale: Row, size: int) -> np.ndarray:
    """float[tokens], from soft scores or else from the hard rationale; both are checked."""
    docid, soft = rationale["docid"], rationale.get("soft_rationale_predictions")
    hard = rationale.get("hard_rationale_predictions")
    if soft is None and hard is None:
        raise BadInput(f"docid '{docid}' has neither soft_rationale_predictions nor hard_rationale_predictions; expected one")
    inside = np.zeros(size)
    for start, end in _intervals(hard, size, docid):
        inside[start:end] = 1.0
    if soft is None:
        return inside
    if not isinstance(soft, list) or not all(_is_number(score) for score in soft):
        raise BadInput(f"soft_rationale_predictions of '{docid}' are {_shown(soft)}; expected a list of finite numbers")
    if len(soft) != size:
        raise BadInput(f"{len(soft)} soft_rationale_predictions for '{docid}'; expected one for each of its {size} tokens")
    return np.array(soft, dtype=np.float64)


def _intervals(hard: Any, size: int, docid: str) -> list[Span]:
    if hard is not None and (not isinstance(hard, list) or not all(isinstance(span, dict) for span in hard)):
        raise BadInput(f"hard_rationale_predictions of '{docid}' are {_shown(hard)}; expected [{{start_token, end_token}}]")
    found = []
    for span in hard or []:
        start, end = span.get("start_token"), span.get("end_token")
        if type(start) is not int or type(end) is not int or not 0 <= start < end <= size:
            raise BadInput(f"tokens {_shown(start)} to {_shown(end)} of '{docid}'; expected a part of its {size} tokens")
        found.append((start, end))
    return found


def _probability(row: Row, label: str) -> float:
    scores = row.get("classification_scores")
    if scores is None:
        return float("nan")
    if not isinstance(scores, dict) or not all(_is_number(score) for score in scores.values()):
        raise BadInput(f"'classification_scores' is {_shown(scores)}; expected an object of numbers by label")
    return float(scores.get(label, "nan"))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300


def _shown(value: Any) -> str:
    return f"{json.dumps(value):.60}"
