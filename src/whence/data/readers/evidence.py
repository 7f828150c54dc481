"""Evidence Inference 2.0: does an intervention, against a comparator, change an outcome? And where does the article say so?

Annotations CSV (UserID, PromptID, PMCID, Valid Label, Valid Reasoning, Label, Annotations, Label Code, In Abstract, Evidence
Start, Evidence End), prompts CSV (PromptID, PMCID, Outcome, Intervention, Comparator), articles as JSON lines (pmcid, text),
and one list of article ids per split. Most prompts have several annotators: a prompt is one example, with the label that most
of its valid annotations have (ties: the first), and the evidence of every annotator whose reasoning was found valid.
"""

from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from whence.data.corpus import BadRow, Rows
from whence.data.example import Example
from whence.data.files import Numbered, Row, json_rows, stored, table_rows, text_lines
from whence.data.readers.published import File, Published, RowError, examples, label_of, text_of
from whence.data.words import Span

# By code, because the written label has two spellings ("significantly increase", "significantly increased").
LABELS = {"-1": "significantly decreased", "0": "no significant difference", "1": "significantly increased"}
_FOLDER = "evidence_inference"
_PROMPT = ("PromptID", "Outcome", "Intervention", "Comparator")
_ANNOTATION = ("UserID", "PromptID", "PMCID", "Valid Label", "Valid Reasoning", "Label Code", "Evidence Start", "Evidence End")


def ids(path: Path) -> Numbered:
    for item in text_lines(path):
        yield item if isinstance(item, BadRow) else (item[0], {"pmcid": item[1].strip()})


def prompt_row(row: Row, number: str) -> Example | None:
    """`row` is a prompt with its article's text and its annotations; without a valid one it is left out."""
    article = text_of(row, "text")
    valid = [note for note in row["annotations"] if note["Valid Label"] == "True"]
    if not valid:
        return None
    label = Counter(label_of(note["Label Code"], LABELS) for note in valid).most_common(1)[0][0]
    by_user: dict[str, dict[Span, None]] = {}
    for note in valid:
        if note["Valid Reasoning"] != "True":
            continue
        try:
            span = int(note["Evidence Start"]), int(note["Evidence End"])
        except ValueError:
            span = (-1, -1)
        if not 0 <= span[0] < span[1] <= len(article):
            raise RowError(f"evidence {note['Evidence Start']} to {note['Evidence End']}; expected positions in the article")
        by_user.setdefault(note["UserID"], {})[span] = None
    query = " || ".join(text_of(row, name) for name in ("Intervention", "Comparator", "Outcome"))
    highlights = tuple({"premise": tuple(spans)} for spans in by_user.values())
    texts = {"premise": article, "hypothesis": query}
    return Example(row["PromptID"], texts, label, highlights=highlights, meta={"article": row["PMCID"]})


def _split(root: Path, file: str, split: str) -> Rows:
    """One row per prompt of the split's articles, numbered by its first annotation, made from the four files."""
    bad: list[BadRow] = []

    def good(items: Numbered) -> Iterator[tuple[int, Row]]:
        for item in items:
            if isinstance(item, BadRow):
                bad.append(item)
            else:
                yield item

    wanted = {row["pmcid"] for _, row in good(ids(stored(root, f"{_FOLDER}/splits/ev2_{file}_article_ids.txt")))}
    articles = {row.get("pmcid"): row for _, row in good(json_rows(stored(root, f"{_FOLDER}/articles_v2.jsonl")))}
    asked = table_rows(stored(root, f"{_FOLDER}/prompts_merged.csv"), needs=_PROMPT)
    prompts = {row["PromptID"]: row for _, row in good(asked)}
    path = stored(root, f"{_FOLDER}/v2_annotations.csv")
    grouped: dict[str, tuple[int, Row]] = {}
    for number, note in good(table_rows(path, needs=_ANNOTATION)):
        if note["PMCID"] not in wanted:
            continue
        name = note["PromptID"]
        if name not in prompts or note["PMCID"] not in articles:
            bad.append(BadRow(str(path), number, f"prompt {name} or article {note['PMCID']} is in no file; expected both"))
            continue
        row = {**prompts[name], **articles[note["PMCID"]], "annotations": []}
        grouped.setdefault(name, (number, row))[1]["annotations"].append(note)
    yield from bad
    yield from examples(grouped.values(), prompt_row, str(path), split)


_IDS = {"train": ("train", 743), "dev": ("validation", 92), "test": ("test", 94)}

CORPORA = (
    Published(
        "evidence_inference", "pair", tuple(LABELS.values()),
        "Evidence Inference 2.0, the articles added in 2.0 (DeYoung et al. 2020); MIT",
        {split: partial(_split, file=file, split=split) for split, (file, _) in _IDS.items()},
        {"train": 1924, "dev": 231, "test": 250},
        (File(f"{_FOLDER}/v2_annotations.csv", 4876, {"-1": 1215, "0": 2307, "1": 1354}, "Label Code", table_rows),
         File(f"{_FOLDER}/prompts_merged.csv", 12865, read=table_rows), File(f"{_FOLDER}/articles_v2.jsonl", 915),
         *(File(f"{_FOLDER}/splits/ev2_{file}_article_ids.txt", rows, read=ids) for file, rows in _IDS.values())),
    ),
)  # fmt: skip
