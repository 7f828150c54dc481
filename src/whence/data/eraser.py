"""ERASER folders (DeYoung et al. 2020): train, val and test as JSON lines, and the documents that they point into.

A row has annotation_id, classification, query, and evidences: groups of {docid, start_token, end_token}, where a token is a
whitespace-separated piece of the document. Documents are in `docs.jsonl` (docid, text) or in a folder `docs/`, one file each,
named by its docid. Everything may be compressed. Where all rows ask the same query (movies) it says nothing about an example,
and the task is "text"; otherwise it is "pair": the document, as premise, comes first, as in the published experiments.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TypeVar

from whence.data.corpus import BadRow, Corpus, Rows
from whence.data.example import Example, Task
from whence.data.files import SUFFIXES, Row, json_rows, stored, text_lines
from whence.data.readers.published import Make, RowError, examples, label_of, text_of
from whence.data.words import Span, space_spans
from whence.errors import BadInput

T = TypeVar("T")
SPLITS = {"train": "train", "dev": "val", "test": "test"}
"""Our name of a split, and the name of its file."""


def is_eraser(folder: Path) -> bool:
    return (folder / "docs").is_dir() or any((folder / f"docs.jsonl{suffix}").is_file() for suffix in SUFFIXES)


def documents(folder: Path) -> dict[str, str]:
    """The text of every document by docid."""
    if (folder / "docs").is_dir():
        files = sorted(path for path in (folder / "docs").iterdir() if path.is_file())
        return {_docid(path): "\n".join(line for _, line in _good(text_lines(path))) for path in files}
    path = stored(folder, "docs.jsonl")
    found = {}
    for number, row in _good(json_rows(path)):
        if not isinstance(row.get("docid"), str) or not isinstance(row.get("text"), str):
            raise BadInput(f"{path}, row {number}: no docid or no text; expected docid, text")
        found[row["docid"]] = row["text"]
    return found


def _docid(path: Path) -> str:
    return path.name.removesuffix(path.suffix) if path.suffix in SUFFIXES[1:] else path.name


def _good(items: Iterator[tuple[int, T] | BadRow]) -> Iterator[tuple[int, T]]:
    for item in items:
        if isinstance(item, BadRow):
            raise BadInput(str(item))
        yield item


def reader(docs: Mapping[str, str], task: Task, labels: tuple[str, ...]) -> Make:
    """How a row becomes an example; `docs` are the documents that rows may point into."""
    tokens: dict[str, list[Span]] = {}  # MultiRC asks fifty times about the same document

    def make(row: Row, number: str) -> Example:
        name = text_of(row, "annotation_id")
        texts, starts, at = [], {}, 0
        evidences = _evidences(row)
        for docid in _docids(row, name, evidences, docs):
            if docid not in docs:
                raise RowError(f"document '{docid}' is not among the {len(docs)} documents; expected a docid of docs")
            starts[docid] = at
            texts.append(docs[docid])
            at += len(docs[docid]) + 1
        marked: dict[Span, None] = {}
        for evidence in evidences:
            docid = text_of(evidence, "docid")
            if docid not in starts:
                raise RowError(f"evidence in document '{docid}'; expected one of the row's documents ({', '.join(starts)})")
            if docid not in tokens:
                tokens[docid] = space_spans(docs[docid])
            first, last = _interval(evidence, len(tokens[docid]), docid)
            if first < last:  # 14 test reviews of movies have an evidence of no tokens among others
                marked[starts[docid] + tokens[docid][first][0], starts[docid] + tokens[docid][last - 1][1]] = None
        label = None if row.get("classification") is None else label_of(row["classification"], labels)
        document = "\n".join(texts)
        field = "text" if task == "text" else "premise"
        fields = {"text": document} if task == "text" else {"premise": document, "hypothesis": text_of(row, "query")}
        return Example(name, fields, label, highlights=({field: tuple(marked)},) if marked else ())

    return make


def _evidences(row: Row) -> list[Row]:
    groups = row.get("evidences") or []
    if not isinstance(groups, list) or not all(isinstance(group, list) for group in groups):
        raise RowError("'evidences' is not a list of lists; expected [[{docid, start_token, end_token}]]")
    flat = [evidence for group in groups for evidence in group]
    if not all(isinstance(evidence, dict) for evidence in flat):
        raise RowError("an evidence is not an object; expected {docid, start_token, end_token}")
    return flat


def _docids(row: Row, name: str, evidences: list[Row], docs: Mapping[str, str]) -> list[str]:
    """The documents of a row: those it lists, else those of its evidence, else the one it is named after."""
    given = row.get("docids")
    listed = [str(docid) for docid in given] if isinstance(given, list) else []
    listed = listed or [text_of(evidence, "docid") for evidence in evidences]
    return list(dict.fromkeys(listed)) or [name if name in docs else name.split(":")[0]]


def _interval(evidence: Row, size: int, docid: str) -> Span:
    first, last = evidence.get("start_token"), evidence.get("end_token")
    if not isinstance(first, int) or not isinstance(last, int) or not 0 <= first <= last <= size:
        raise RowError(f"evidence tokens {first} to {last}; expected an interval within the {size} tokens of '{docid}'")
    return first, last


def split_rows(folder: Path, split: str, task: Task, labels: tuple[str, ...]) -> Rows:
    path = stored(folder, f"{SPLITS[split]}.jsonl")
    yield from examples(json_rows(path), reader(documents(folder), task, labels), str(path), split)


def open_eraser(folder: Path) -> Corpus:
    """Any ERASER folder as a corpus; labels and task are those that its files show."""
    queries, labels, splits = set(), set(), []
    for split, stem in SPLITS.items():
        if not any((folder / f"{stem}.jsonl{suffix}").is_file() for suffix in SUFFIXES):
            continue
        for item in json_rows(stored(folder, f"{stem}.jsonl")):
            if not isinstance(item, BadRow):
                queries.add(str(item[1].get("query")))
                labels.add(item[1].get("classification"))
        splits.append(split)
    if not splits:
        raise BadInput(f"{folder}: documents but no rows; expected train.jsonl, val.jsonl or test.jsonl, plain or compressed")
    names = tuple(sorted(str(label) for label in labels if label is not None))
    task: Task = "pair" if len(queries) > 1 else "text"
    readers = {split: partial(split_rows, folder, split, task, names) for split in splits}
    return Corpus(folder.resolve().name, task, names, readers, f"ERASER folder {folder}")
