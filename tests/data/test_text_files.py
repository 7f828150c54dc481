"""Files in every state in which they reach us: compressed, cut short, empty, missing, not UTF-8, not JSON, not CSV."""

import gzip
import lzma
from pathlib import Path

import pytest

from whence.data.corpus import BadRow
from whence.data.files import data_root, json_rows, stored, table_rows, text_lines
from whence.errors import BadInput


def bad(rows: list) -> list[BadRow]:
    return [row for row in rows if isinstance(row, BadRow)]


@pytest.mark.parametrize(("ending", "opener"), [("", open), (".gz", gzip.open), (".xz", lzma.open)])
def test_plain_and_compressed_read_the_same(tmp_path: Path, ending: str, opener) -> None:
    path = tmp_path / f"a.jsonl{ending}"
    with opener(path, "wb") as stream:
        stream.write('{"text": "zwölf 🦊"}\n{"text": "b"}\n'.encode())
    assert list(json_rows(path)) == [(1, {"text": "zwölf 🦊"}), (2, {"text": "b"})]
    assert stored(tmp_path, "a.jsonl") == path


@pytest.mark.parametrize(("ending", "module"), [(".gz", gzip), (".xz", lzma)])
@pytest.mark.parametrize("read", [json_rows, table_rows, text_lines])
def test_a_file_that_was_cut_short_is_reported(tmp_path: Path, ending: str, module, read) -> None:
    lines = "".join(f'{{"text": "{i * 7919}"}}\n' for i in range(20_000)).encode()
    path = tmp_path / f"a.jsonl{ending}"
    whole = module.compress(lines)
    path.write_bytes(whole[: len(whole) // 2])
    last = list(read(path))[-1]
    assert isinstance(last, BadRow)
    assert str(path) in str(last)
    assert "cut short or damaged" in str(last)


def test_a_gz_file_that_is_no_gzip_is_reported(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl.gz").write_bytes(b"{}\n")
    [row] = json_rows(tmp_path / "a.jsonl.gz")
    assert "complete gz file" in str(row)


@pytest.mark.parametrize("content", [b"", b"\n\r\n", b"\xef\xbb\xbf"])
def test_an_empty_file_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises(BadInput, match=r"a\.csv: the file is empty; expected at least one row"):
        list(text_lines(tmp_path / "a.csv"))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"b\.jsonl: cannot be opened"):
        list(json_rows(tmp_path / "b.jsonl"))
    with pytest.raises(BadInput, match=r"b\.jsonl: no such file, nor with \.gz or \.xz"):
        stored(tmp_path, "b.jsonl")


@pytest.mark.parametrize("read", [text_lines, table_rows])
def test_invalid_utf8_spoils_its_own_row_only(tmp_path: Path, read) -> None:
    (tmp_path / "a.csv").write_bytes(b"text\none\n\xff\xfe\nthree\n")
    rows = list(read(tmp_path / "a.csv"))
    [problem] = bad(rows)
    assert "not valid UTF-8" in problem.problem
    assert rows[-1] in ((4, "three"), (3, {"text": "three"}))


def test_bad_json_rows_are_numbered(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"a": 1}\n{"a": \n[1]\n\n{"a": 2}\n\n', encoding="utf-8")
    rows = list(json_rows(tmp_path / "a.jsonl"))
    assert [row.row for row in bad(rows)] == [2, 3, 4]
    assert rows[-1] == (5, {"a": 2})
    assert "expected one JSON object per line" in rows[1].problem


def test_line_ends_are_newlines_only(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("a\u2028b\x0cc\r\nd\re\n".encode())
    assert list(text_lines(tmp_path / "a.txt")) == [(1, "a\u2028b\x0cc"), (2, "d\re")]


def test_csv_quotes_newlines_and_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b'\xef\xbb\xbftext,label\r\n"a ""b"",\r\n\r\nc",x\r\nd,y\r\n')
    assert list(table_rows(tmp_path / "a.csv")) == [
        (1, {"text": 'a "b",\r\n\r\nc', "label": "x"}),
        (2, {"text": "d", "label": "y"}),
    ]


def test_wrong_number_of_fields(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text,label\na,b,c\n\nd,e\nf\n", encoding="utf-8")
    rows = list(table_rows(tmp_path / "a.csv"))
    assert [row.problem for row in bad(rows)] == [
        "3 fields; expected 2 (text, label)", "0 fields; expected 2 (text, label)", "1 field; expected 2 (text, label)",
    ]  # fmt: skip
    assert (3, {"text": "d", "label": "e"}) in rows


def test_an_unclosed_quote_is_reported(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('text,label\nx,y\n"a,b\nc,d\n', encoding="utf-8")
    assert "expected every quoted field to be closed" in bad(list(table_rows(tmp_path / "a.csv")))[0].problem


def test_a_header_that_names_a_column_twice(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text,text\na,b\n", encoding="utf-8")
    with pytest.raises(BadInput, match="names a column twice"):
        list(table_rows(tmp_path / "a.csv"))


def test_quotes_are_text_where_quoting_is_off(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text('text\tlabel\n"a\tb"\n', encoding="utf-8")
    assert list(table_rows(tmp_path / "a.tsv", "\t", quoted=False)) == [(1, {"text": '"a', "label": 'b"'})]


def test_a_long_field_is_no_problem(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text\n" + "x" * 300_000 + "\n", encoding="utf-8")
    [(_, row)] = table_rows(tmp_path / "a.csv")
    assert len(row["text"]) == 300_000


def test_data_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WHENCE_DATA", raising=False)
    with pytest.raises(BadInput, match="give --data-root FOLDER or set the environment variable WHENCE_DATA"):
        data_root(None)
    monkeypatch.setenv("WHENCE_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(BadInput, match="not a folder; the environment variable WHENCE_DATA"):
        data_root(None)
    assert data_root(tmp_path) == tmp_path
