"""Whatever is typed or read: exit code 0 or 2, no traceback, no control characters, nothing touched but --out and the cache.

300 cases here; `WHENCE_FUZZ=10000` for a night.
"""

import gzip
import io
import json
import lzma
import os
import random
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from fuzz import Grammar, build, listing, mutated

from whence.cli import main
from whence.data import Example
from whence.data.corpus import BadRow
from whence.data.registry import PUBLISHED, open_corpus
from whence.errors import BadInput
from whence.explain import load_explanations
from whence.explain.alignment import load_alignments
from whence.explain.eraser_file import load_eraser

CASES = int(os.environ.get("WHENCE_FUZZ", "300"))
ONLY = os.environ.get("WHENCE_FUZZ_CASE")
GROUPS = 20
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def ended(argv: list[str], monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(sys, "argv", ["whence", *argv])
    try:
        main()
    except SystemExit as stop:
        return int(stop.code or 0)
    raise AssertionError("the command line must end by itself")


@pytest.mark.parametrize("group", range(GROUPS))
def test_any_command_line(
    group: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    numbers = [int(ONLY)] if ONLY else range(group, CASES, GROUPS)
    if ONLY and group:
        pytest.skip("one case only")
    sandbox = tmp_path / "sandbox"
    sandbox.mkdir()
    build(sandbox)
    capsys.readouterr()
    monkeypatch.chdir(sandbox)
    monkeypatch.setenv("WHENCE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("WHENCE_DATA", raising=False)
    for number in numbers:
        grammar = Grammar(number)
        argv = grammar.case()
        before = listing(sandbox)
        try:
            code = ended(argv, monkeypatch)
        except Exception as error:
            raise AssertionError(f"case {number}: {argv!r}") from error
        out, err = capsys.readouterr()
        about = f"case {number}: {argv!r}\n{out[-600:]}\n{err[-600:]}"
        assert code in (0, 2), about
        assert not CONTROL.search(out + err), about
        assert "Traceback" not in err, about
        if code == 2:
            assert err.strip().splitlines()[-1].startswith("whence: "), about
        elif "--json" in argv and argv[0] != "data" and "-h" not in argv:
            json.loads(out)
        after = listing(sandbox)
        changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
        strange = sorted(path for path in changed if not _allowed(path, grammar.out, before))
        assert not strange, f"{strange} changed\n{about}"


def _allowed(path: str, out: str | None, before: dict[str, tuple[int, str]]) -> bool:
    """What --out names, if it was not there before or is a file; the folder of new outputs itself."""
    if out is None:
        return False
    new = out.startswith("out/") or out == "old.jsonl"
    return new and (path == out or path.startswith(f"{out}/")) and (path not in before or before[path][1] != "folder")


def _parquet(rows: list[dict[str, str]]) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    stream = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(rows), stream)
    return stream.getvalue().to_pybytes()


def _excel(rows: list[dict[str, str]]) -> bytes:
    openpyxl = pytest.importorskip("openpyxl", reason="the extra 'tables' is not installed")
    book, stream = openpyxl.Workbook(), io.BytesIO()
    for row in (list(rows[0]), *(list(row.values()) for row in rows)):
        book.active.append(row)
    book.save(stream)
    return stream.getvalue()


ROWS = [
    {"id": str(i), "text": f"a {'good' if i % 2 else 'bad'} film {i}", "label": "pos" if i % 2 else "neg"} for i in range(9)
]
CSV = ("id,text,label\n" + "".join(",".join(row.values()) + "\n" for row in ROWS)).encode()
JSONL = "".join(json.dumps(row) + "\n" for row in ROWS).encode()
TABLES: dict[str, Callable[[], bytes]] = {
    "m.csv": lambda: CSV, "m.tsv": lambda: CSV.replace(b",", b"\t"), "m.jsonl": lambda: JSONL,
    "m.csv.gz": lambda: gzip.compress(CSV), "m.jsonl.xz": lambda: lzma.compress(JSONL),
    "m.parquet": lambda: _parquet(ROWS), "m.xlsx": lambda: _excel(ROWS),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
def test_any_damage_to_a_table_is_a_line(name: str, tmp_path: Path) -> None:
    whole, path = TABLES[name](), tmp_path / name
    path.write_bytes(whole)
    assert len(open_corpus(path).load("all")) == len(ROWS)
    for number in range(max(60, CASES // 10)):
        path.write_bytes(mutated(whole, random.Random(f"{name} {number}")))
        with suppress(BadInput):
            for row in open_corpus(path).rows("all"):
                assert isinstance(row, Example | BadRow), number


@pytest.mark.parametrize("name", PUBLISHED)
def test_any_damage_to_a_published_corpus_is_a_line(name: str, tmp_path: Path) -> None:
    """Rows of every shape where the corpus' files should be: what is read is an example or says what is wrong."""
    draw = random.Random(name)
    lines = [
        CSV,
        JSONL,
        b"(3 (2 a) (2 film))\n",
        b'{"annotation_id": "a", "evidences": [], "classification": "POS"}\n',
        b"\x00\xff\n",
        b"1\t2\t3\n",
    ]
    corpus = PUBLISHED[name].at(tmp_path)
    for number in range(max(12, CASES // 25)):
        for file in corpus.files:
            path = tmp_path / file.name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(mutated(b"".join(draw.choices(lines, k=3)), draw))
        for split in corpus.splits:
            with suppress(BadInput):
                for row in corpus.rows(split):
                    assert isinstance(row, Example | BadRow), number


EXPLAINED = {
    "ours": {"format": "whence.token_scores@1", "id": "1", "texts": {"text": "a film"}, "spans": {"text": [[0, 1], [2, 6]]},
             "scores": [0.5, -1.0], "method": "m", "target": "pos", "probability": 0.5, "parameters": {}, "notes": {"x": 1.0}},
    "alignment": {"format": "whence.alignment@1", "id": "1", "texts": {"premise": "a b", "hypothesis": "c"}, "mask": [[1], [0]],
                  "spans": {"premise": [[0, 1], [2, 3]], "hypothesis": [[0, 1]]}, "scores": [[0.5], [1.0]], "method": "m",
                  "target": "pos", "probability": 0.5},
    "eraser": {"annotation_id": "1", "classification": "pos", "classification_scores": {"pos": 0.5},
               "rationales": [{"docid": "1", "soft_rationale_predictions": [0.5, 1.0],
                               "hard_rationale_predictions": [{"start_token": 0, "end_token": 1}]}]},
}  # fmt: skip


@pytest.mark.parametrize("kind", EXPLAINED)
def test_any_damage_to_a_file_of_explanations_is_a_line(kind: str, tmp_path: Path) -> None:
    path, whole = tmp_path / "made.jsonl", json.dumps(EXPLAINED[kind]).encode() + b"\n"
    examples = [Example("1", {"text": "a film"}, "pos")]
    read = {"ours": load_explanations, "alignment": load_alignments, "eraser": lambda file: load_eraser(file, examples)}[kind]
    path.write_bytes(whole)
    assert len(read(path)) == 1
    for number in range(max(400, CASES)):
        path.write_bytes(mutated(whole, random.Random(f"{kind} {number}")))
        with suppress(BadInput):
            read(path)
