"""A user's own files: columns, labels, and texts that come back exactly as they were written."""

import csv
import gzip
import io
import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whence.data.corpus import BadRow
from whence.data.table import Columns, open_table
from whence.data.words import word_spans, words
from whence.errors import BadInput


def file(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_bytes(text.encode())
    return folder / name


def test_defaults(tmp_path: Path) -> None:
    corpus = open_table(file(tmp_path, "mine.csv", "id,review,class\nr1,good,10\nr2,,2\n"))
    assert (corpus.name, corpus.task, corpus.labels, list(corpus.splits)) == ("mine", "text", ("2", "10"), ["all"])
    assert [(e.id, e.texts["text"], e.label) for e in corpus.load("all")] == [("r1", "good", "10"), ("r2", "", "2")]


def test_pairs_named_by_the_caller(tmp_path: Path) -> None:
    path = file(tmp_path, "test.tsv", "a\tb\tgold\nx\ty\tno\n")
    corpus = open_table(path, Columns(text="a", pair="b", label="gold"))
    assert corpus.load("test")[0].texts == {"premise": "x", "hypothesis": "y"}
    assert corpus.load("test")[0].id == "test-1"


def test_default_pairs_without_labels(tmp_path: Path) -> None:
    corpus = open_table(file(tmp_path, "x.jsonl", '{"sentence1": "a", "sentence2": "b"}\n'))
    assert (corpus.task, corpus.labels, corpus.load("all")[0].label) == ("pair", (), None)


def test_a_folder_with_splits(tmp_path: Path) -> None:
    file(tmp_path, "train.csv", "text,label\na,x\n")
    (tmp_path / "val.jsonl.gz").write_bytes(gzip.compress(b'{"text": "b", "label": "w"}\n'))
    file(tmp_path, "test.tsv", "text\nc\n")
    corpus = open_table(tmp_path)
    assert (list(corpus.splits), corpus.labels) == (["train", "dev", "test"], ("w", "x"))
    assert corpus.load("dev")[0].texts["text"] == "b"
    assert corpus.load("test")[0].label is None


@pytest.mark.parametrize(
    ("content", "columns", "message"),
    [
        ("body,label\na,b\n", Columns(), r"m\.csv: no text column; it has body, label; name the column"),
        ("text,label\na,b\n", Columns(text="body"), r"m\.csv: no column 'body'; it has text, label"),
        ("text,label\na,b\n", Columns(label="gold"), r"m\.csv: no column 'gold'; it has text, label"),
        ("text,label\na,b\n", Columns(pair="b"), "name both"),
        ("text,label\n", Columns(), r"m\.csv: a header but no rows"),
        ("text,label\na\n", Columns(), r"m\.csv, row 1: 1 field; expected 2"),
    ],
)
def test_wrong_columns(tmp_path: Path, content: str, columns: Columns, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        open_table(file(tmp_path, "m.csv", content), columns)


def test_an_unknown_label_names_the_row_and_the_known_ones(tmp_path: Path) -> None:
    path = file(tmp_path, "m.csv", "text,label\na,yes\nb,maybe\nc,\n")
    good, bad, empty = open_table(path, labels=["no", "yes"]).rows("all")
    assert good.label == "yes"
    assert str(bad) == f"{path}, row 2: label 'maybe'; expected one of no, yes"
    assert "no label in 'label'" in str(empty)


def test_a_missing_text_is_a_bad_row(tmp_path: Path) -> None:
    rows = [{"text": "a", "label": 1}, {"label": 1}, {"text": None, "label": 1}, {"text": 3, "label": 1}]
    path = file(tmp_path, "m.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    good, *bad = open_table(path).rows("all")
    assert good.label == "1"
    assert [row.row for row in bad if isinstance(row, BadRow)] == [2, 3, 4]


def test_formats_and_folders_that_we_cannot_read(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"unknown format '\.docx'; expected a file that ends in \.csv"):
        open_table(file(tmp_path, "m.docx", "x"))
    with pytest.raises(BadInput, match="no train, dev or test file"):
        open_table(tmp_path)
    file(tmp_path, "dev.csv", "text\na\n")
    file(tmp_path, "val.tsv", "text\na\n")
    with pytest.raises(BadInput, match="two files for dev"):
        open_table(tmp_path)


def test_a_file_as_spreadsheets_write_it(tmp_path: Path) -> None:
    """Upper-case ending, capitals in the header, semicolons, labels with stray capitals and spaces: read, and said."""
    rows = "Text;Label\r\nfine, really;Pos\r\nbad;neg\r\nso so; POS \r\ngood;Pos\r\n"
    corpus = open_table(file(tmp_path, "Mine.CSV", rows))
    assert corpus.labels == ("Pos", "neg")
    assert [(e.texts["text"], e.label) for e in corpus.load("all")] == [
        ("fine, really", "Pos"), ("bad", "neg"), ("so so", "Pos"), ("good", "Pos"),
    ]  # fmt: skip
    [note] = corpus.notes
    assert "read as one: ' POS ', 'Pos' as 'Pos'" in note


def test_a_header_of_one_column_or_with_commas_is_not_split(tmp_path: Path) -> None:
    assert open_table(file(tmp_path, "one.csv", "text\na;b\n")).load("all")[0].texts["text"] == "a;b"
    assert open_table(file(tmp_path, "two.csv", "text,a;b\nx,y\n")).load("all")[0].texts["text"] == "x"


def test_columns_alike_are_asked_for(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="'text' may be any of 'Text', 'TEXT'"):
        open_table(file(tmp_path, "m.csv", "Text,TEXT\na,b\n"))
    named = open_table(file(tmp_path, "m.csv", "Text,TEXT\na,b\n"), Columns(text="TEXT"))
    assert named.load("all")[0].texts["text"] == "b"
    assert open_table(file(tmp_path, "n.csv", "Body,GOLD\na,b\n"), Columns(text="body", label="gold")).labels == ("b",)


def test_labels_that_the_caller_lists_are_met_by_spelling(tmp_path: Path) -> None:
    corpus = open_table(file(tmp_path, "m.csv", "text,label\na,yes\nb,No \nc,US\nd,us\n"), labels=["no", "yes", "US", "us"])
    assert [e.label for e in corpus.load("all")] == ["yes", "no", "US", "us"]


def test_a_folder_with_capitals(tmp_path: Path) -> None:
    file(tmp_path, "Train.CSV", "text,label\na,x\n")
    file(tmp_path, "TEST.tsv", "text\nc\n")
    assert list(open_table(tmp_path).splits) == ["train", "test"]


def test_parquet(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    written = {"Text": ["a", "", "ü\ud7ff"], "label": [1.0, 2.0, 10.0], "id": [7, None, 9]}
    pq.write_table(pa.table(written), tmp_path / "m.parquet")
    corpus = open_table(tmp_path / "m.parquet")
    assert corpus.labels == ("1", "2", "10")
    assert [(e.id, e.texts["text"], e.label) for e in corpus.load("all")] == [
        ("7", "a", "1"), ("all-2", "", "2"), ("9", "ü\ud7ff", "10"),
    ]  # fmt: skip
    whole = (tmp_path / "m.parquet").read_bytes()
    (tmp_path / "cut.parquet").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(BadInput, match=r"cut\.parquet: not readable as Parquet"):
        open_table(tmp_path / "cut.parquet")


def test_excel(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl", reason="the extra 'tables' is not installed")
    book = openpyxl.Workbook()
    for row in (["Text", "Label"], ["a fine film", "pos"], [1984, "neg"], [None, "pos"], [None, None]):
        book.active.append(row)
    book.save(tmp_path / "m.xlsx")
    corpus = open_table(tmp_path / "m.xlsx")
    assert [(e.texts["text"], e.label) for e in corpus.load("all")] == [("a fine film", "pos"), ("1984", "neg"), ("", "pos")]
    (tmp_path / "bad.xlsx").write_bytes((tmp_path / "m.xlsx").read_bytes()[:300])
    with pytest.raises(BadInput, match=r"bad\.xlsx: not readable as an Excel sheet"):
        open_table(tmp_path / "bad.xlsx")


def test_excel_without_its_package_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(BadInput, match=r"pip install 'whence\[tables\]'"):
        open_table(file(tmp_path, "m.xlsx", "x"))


ODD = [
    "🦊👩‍👩‍👧",
    "שלום עולם",
    "مرحبا",
    "<script>alert(1)</script>",
    'say "hi"',
    "two\nlines",
    "a\r\nb",
    "a\rb",
    "tab\there",
    "",
    "  ",
    "数字2.5",
    "\x0c\u2028",
]
texts = st.one_of(st.sampled_from(ODD), st.text(st.characters(exclude_categories=["Cs"])))


@given(st.lists(texts, min_size=1, max_size=5), st.sampled_from([(",", "csv"), ("\t", "tsv")]))
@settings(max_examples=80, deadline=None)
def test_any_text_survives_csv(written: list[str], kind: tuple[str, str]) -> None:
    stream = io.StringIO()
    csv.writer(stream, delimiter=kind[0], quoting=csv.QUOTE_ALL).writerows(
        [["text", "label"], *([text, "x"] for text in written)]
    )
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"m.{kind[1]}"
        path.write_bytes(stream.getvalue().encode())
        examples = open_table(path).load("all")
    assert [e.texts["text"] for e in examples] == written


@given(st.lists(st.one_of(texts, st.text(), st.just("half \ud800 pair")), min_size=1, max_size=5), st.booleans())
@settings(max_examples=80, deadline=None)
def test_any_text_survives_json(written: list[str], escape: bool) -> None:
    lone = any("\ud800" <= c <= "\udfff" for text in written for c in text)
    lines = [json.dumps({"text": text, "label": "x"}, ensure_ascii=escape or lone) for text in written]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "m.jsonl"
        path.write_bytes("".join(line + "\n" for line in lines).encode())
        examples = open_table(path).load("all")
    read = [e.texts["text"] for e in examples]
    assert read == written
    assert all([text[start:end] for start, end in word_spans(text)] == words(text) for text in read)
