"""The rows of an audit: for each example and method the explanation, its values on every measure, its curve and its cost.

A shard of them is a Parquet file with one column for every number. Text columns are bytes, UTF-8 that may hold lone surrogates,
because a text may.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from whence.explain import TokenScores
from whence.explain.ranks import rank_agreement
from whence.explain.tokens import METHODS
from whence.measure.audited import REPEATED, Chosen, fitting
from whence.measure.erasure import erasure_curve_rounds
from whence.measure.measure import Judged, Measure
from whence.models import Encoded, Label
from whence.run import Runner, Tick

STABILITY_SEED = 1_000_003
"""Added to the seed for the second run of a method that draws at random and says nothing of its stability."""
_NUMBERS = pa.list_(pa.float64())
_TEXTS = ("id", "method", "label", "predicted", "target")


def schema(measures: Sequence[Measure]) -> pa.Schema:
    """A measure's value is a list of numbers, or null where it is not defined. Stability is null where nothing was
    repeated, and has no number where it is not defined."""
    return pa.schema([
        ("number", pa.int64()), *((name, pa.binary()) for name in _TEXTS), ("probability", pa.float64()),
        ("fields", pa.list_(pa.string())), ("texts", pa.list_(pa.binary())), ("starts", pa.list_(pa.list_(pa.int32()))),
        ("ends", pa.list_(pa.list_(pa.int32()))), ("scores", _NUMBERS), ("target_probability", pa.float64()),
        ("notes", pa.map_(pa.string(), pa.float64())), ("unseen", pa.int32()), ("curve", _NUMBERS), ("stability", _NUMBERS),
        ("forward", pa.float64()), ("backward", pa.float64()), *((f"measure.{m.name}", _NUMBERS) for m in measures),
    ])  # fmt: skip


def shard_rows(
    chosen: Chosen, shard: list[Encoded], numbers: Sequence[int], runner: Runner, tick: Tick | None = None
) -> list[dict[str, Any]]:
    """`numbers`: the place of each example in the corpus."""
    rows = []
    base = runner.predict(shard)
    labels = chosen.classifier.labels
    for name in chosen.names:
        again: dict[str, Sequence[float]] = {}
        asked: set[str] = set()
        forward = backward = 0
        if name in chosen.foreign:
            explanations = [fitting(chosen.foreign[name], e, chosen.classifier, name) for e in shard]
        else:
            with runner.ledger() as needed:
                explanations = chosen.explain(runner, shard, METHODS[name])
                forward, backward = needed()
            if METHODS[name].stochastic:
                asked = {e.example.id for e, number in zip(shard, numbers, strict=True) if number % REPEATED == 0}
                silent = {x.id for x in explanations if "stability" not in x.notes and len(set(x.scores)) > 1}
                twice = [e for e in shard if e.example.id in asked & silent]
                again = {x.id: x.scores for x in chosen.explain(runner, twice, METHODS[name], STABILITY_SEED)}
        judged = [Judged(e, x, chosen.hide, Label(labels.index(x.target))) for e, x in zip(shard, explanations, strict=True)]
        values = {m.name: runner.drive(m.rounds(j) for j in judged) for m in chosen.measures}
        # all passes of the curve are decision flip's: without it the picture would have to be paid for
        curves = runner.drive(map(erasure_curve_rounds, judged)) if "decision_flip" in values else [None] * len(judged)
        for i, (encoded, explanation, result) in enumerate(zip(shard, explanations, base, strict=True)):
            rows.append({
                "number": numbers[i], "method": name, "label": encoded.example.label, "predicted": labels[result.label],
                "probability": float(result.probabilities[result.label]), **_explanation_row(explanation),
                "unseen": encoded.unseen, "curve": curves[i],
                "stability": _stability(explanation, again.get(explanation.id)) if explanation.id in asked else None,
                "forward": forward / len(shard), "backward": backward / len(shard),
                **{f"measure.{m}": of[i] for m, of in values.items()},
            })  # fmt: skip
        if tick:
            tick(len(shard))
    return [row | {name: _bytes(row[name]) for name in _TEXTS} for row in rows]


def _explanation_row(made: TokenScores) -> dict[str, Any]:
    return {
        "id": made.id, "fields": list(made.spans), "texts": [_bytes(made.texts[name]) for name in made.spans],
        "starts": [[start for start, _ in spans] for spans in made.spans.values()],
        "ends": [[end for _, end in spans] for spans in made.spans.values()], "scores": made.scores, "target": made.target,
        "target_probability": made.probability, "notes": list(made.notes.items()),
    }  # fmt: skip


def explanation_of(row: Mapping[str, Any], chosen: Chosen) -> TokenScores:
    """As it was made; one that was read from a file, as it was read."""
    name = text_of(row["method"])
    if name in chosen.foreign:
        return chosen.foreign[name][text_of(row["id"])]
    return TokenScores(
        id=text_of(row["id"]), texts=dict(zip(row["fields"], map(text_of, row["texts"]), strict=True)), spans=spans_of(row),
        scores=tuple(row["scores"]), method=name, target=text_of(row["target"]), probability=row["target_probability"],
        parameters={**chosen.parameters(METHODS[name]), "hide": chosen.hide}, notes=dict(row["notes"]),
        model=chosen.fingerprint, seed=chosen.audit.seed,
    )  # fmt: skip


def spans_of(row: Mapping[str, Any]) -> dict[str, tuple[tuple[int, int], ...]]:
    both = zip(row["starts"], row["ends"], strict=True)
    return {name: tuple(zip(*spans, strict=True)) for name, spans in zip(row["fields"], both, strict=True)}


def _stability(made: TokenScores, again: Sequence[float] | None) -> Sequence[float]:
    """What the method says itself, or the agreement with a second run; no number where neither is defined."""
    if "stability" in made.notes:
        return (made.notes["stability"],)
    return () if again is None else rank_agreement(np.array(made.scores), np.array(again)) or ()


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else text.encode("utf-8", "surrogatepass")


def text_of(stored: bytes) -> str:
    return stored.decode("utf-8", "surrogatepass")
