"""Every scale of every study asks for pieces that can be run: a context that runs nothing answers in their place."""

import inspect
import os
import pickle
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from whence.run.engine import LocalEngine, Piece, Rows
from whence.studies import alignment, association, attention, mpii, saloss
from whence.studies.alignment.models import chosen_pairs
from whence.studies.association.settings import VARIANTS
from whence.studies.study import Context, Scale, fill_settings

DATA = Path(os.environ.get("WHENCE_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data")
SCALES = ["smoke", *(pytest.param(scale, marks=pytest.mark.realdata) for scale in ("small", "full"))]


def invented(piece: Piece) -> Rows:
    """As few columns as the order of work rests on."""
    given = piece.arguments
    if piece.work is saloss.found.pieces.erase:
        return [{"id": "1", "method": method, "flip": 0.5} for method in given["methods"]]
    if piece.work is alignment.pieces.explain:
        pairs = given["subject"].pairs(given["corpus"])
        return [{"id": pairs[number].id, "fidelity": float(number)} for number in given["numbers"]]
    if piece.work is association.found.pieces.ranked:
        scores = {by: [0.5, 0.25] for by in ("label", "rationale", *given["own"].methods)}
        return [{"id": "1", "place": [0, 2], **scores}]
    if piece.work is association.found.pieces.noise:
        return [{"rationale": "so"}]
    if piece.work is alignment.pieces.roles:
        return [{"as it is": 1.0}]
    return [{"nothing": 0}]


class Nothing(Context):
    """Runs nothing; looks whether each piece could be called and sent to another process."""

    def do(self, pieces: Sequence[Piece]) -> dict[str, Rows]:
        for piece in pieces:
            inspect.signature(piece.work).bind(**piece.arguments)
            assert re.fullmatch(r"[\w.+=-]+", piece.name)
            assert self._done.setdefault(piece.name, piece) == piece
        pickle.dumps(pieces)
        return {piece.name: invented(piece) for piece in pieces}


def asked(module: Any, scale: Scale, **overrides: Any) -> list[Piece]:
    filled = fill_settings(module.STUDY, scale, overrides)
    root = DATA if scale != "smoke" else None
    if root and not root.is_dir():
        pytest.skip("the published corpora are not here: set WHENCE_DATA to their folder")
    context = Nothing(filled, scale, 0, root, lambda _: None, None, LocalEngine())  # type: ignore[arg-type]
    module.work(context)
    return list(context._done.values())


@pytest.mark.parametrize("scale", SCALES)
def test_attention(scale: Scale) -> None:
    roles = [piece.arguments["role"] for piece in asked(attention, scale) if "role" in piece.arguments]
    assert {kind for kind, *_ in roles} >= {"base", "uniform", "adversary", "mlp-base", "mlp-adversary"}


@pytest.mark.parametrize("scale", SCALES)
def test_saloss(scale: Scale) -> None:
    assert len(asked(saloss, scale, tagger=None)) > 10


@pytest.mark.parametrize("scale", ["smoke", "small", "full"])
def test_association(scale: Scale, monkeypatch: pytest.MonkeyPatch) -> None:
    """No data is read to list its pieces, and every scale trains all five models before anything else of a corpus."""
    monkeypatch.setitem(globals(), "DATA", Path.cwd())
    pieces = asked(association, scale)
    for corpus, task in association.settings(scale).corpora.items():
        names = [piece.name for piece in pieces if f"-{corpus}" in piece.name]
        first = [f"train-{corpus}-{variant}-seed0" for variant in VARIANTS]
        assert names[:5] == first
        assert sum(name.startswith("roar") for name in names) == (
            0 if task.roar is None else 1 + (3 + len(task.roar.methods)) * len(task.roar.percents)
        )
        hidden = {p.name: p.arguments["hidden"]["1"] for p in pieces if p.name.startswith(f"roar-{corpus}-")}
        assert all((places == []) == name.endswith("nothing-0") for name, places in hidden.items())
    order = [piece.name.split("-")[0] for piece in pieces]
    if "roar" in order:
        assert "train" not in order[order.index("ranked") :]


@pytest.mark.parametrize("scale", SCALES)
def test_alignment(scale: Scale) -> None:
    pieces = [piece for piece in asked(alignment, scale) if piece.work is alignment.pieces.explain]
    for piece in pieces:
        given = piece.arguments
        pairs = given["subject"].pairs(given["corpus"])
        assert max(given["numbers"]) < len(pairs)  # full once asked for 9,824 pairs of Breaking NLI, which has 8,193
        if given["method"] != "arec":
            assert given["fidelity"] == {pairs[number].id: float(number) for number in given["numbers"]}
    if scale == "full":
        breaking = [n for p in pieces if p.arguments["corpus"] == "breaking_nli" and p.arguments["method"] == "arec"
                    and p.arguments["subject"].name == "da" for n in p.arguments["numbers"]]  # fmt: skip
        assert breaking == list(range(8193))


@pytest.mark.parametrize("scale", SCALES)
def test_mpii(scale: Scale) -> None:
    pieces = asked(mpii, scale)
    written = {(p.arguments["subject"].corpus, p.arguments["subject"].row) for p in pieces if p.work is mpii.found.pieces.write}
    task = {"smoke": "choices", "small": "esnli", "full": "esnli"}[scale]
    assert written >= {(task, "baseline"), (task, "sim")}
    assert scale == "smoke" or written >= {(task, row) for row in ("critic", "backward", "no_inference", "no_interpretation")}
    assert {p.work.__name__ for p in pieces} >= {"train", "teach_critic", "write", "people", "associate", "exchange"}
    if scale != "smoke":
        elsewhere = {p.arguments["corpus"] for p in pieces if p.work is mpii.found.pieces.outside}
        assert elsewhere == {"mnli", "sick"}


def test_arecs_fidelity_is_joined_by_id(monkeypatch: pytest.MonkeyPatch) -> None:
    """AREC has no row for a pair without word pairs; the other methods must not take the next pair's number."""
    missing = chosen_pairs("scenes", 60, None)[3].id

    monkeypatch.setitem(globals(), "invented", lambda piece, plain=invented: _dropped(plain(piece), piece, missing))
    for piece in asked(alignment, "smoke"):
        given = piece.arguments
        if piece.work is alignment.pieces.explain and given["method"] != "arec" and given["subject"].name == "esim":
            pairs = given["subject"].pairs("scenes")
            expected = {pairs[n].id: float(n) for n in given["numbers"] if pairs[n].id != missing}
            assert given["fidelity"] == expected


def test_no_more_pairs_are_asked_for_than_a_corpus_has() -> None:
    """Without published corpora: all targets want more pairs than the planted scenes have for the test."""
    own = alignment.settings("smoke")
    greedy = {name: {**target.model_dump(), "pairs": 100_000} for name, target in own.targets.items()}
    pieces = [p for p in asked(alignment, "smoke", targets=greedy) if p.work is alignment.pieces.explain]
    numbers = [n for p in pieces for n in p.arguments["numbers"]
               if (p.arguments["method"], p.arguments["subject"].name) == ("arec", "esim")]  # fmt: skip
    assert numbers == list(range(len(chosen_pairs("scenes", None, None))))


def _dropped(rows: Rows, piece: Piece, missing: str) -> Rows:
    return [row for row in rows if row.get("id") != missing] if piece.arguments.get("method") == "arec" else rows
