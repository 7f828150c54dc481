"""CoS-E: explanations of CommonsenseQA answers, versions 1.0 (3 choices) and 1.11 (5 choices).

Two JSON-lines files per split, joined by id, because their rows are in different orders: CommonsenseQA has id, answerKey and
question {stem, choices [{label, text}]}; CoS-E has id and explanation {open-ended, selected}. `selected` is the part of the
question that the annotator highlighted; it often brings along text of the annotation page. There are no test answers.
"""

import re
from functools import partial
from pathlib import Path

from whence.data.corpus import BadRow, Rows
from whence.data.example import Example
from whence.data.files import Row, json_rows, stored
from whence.data.readers.published import File, Published, RowError, examples, label_of, text_of
from whence.data.readers.spans import locate

_PAGE = re.compile(r"^\W*\w?(?:Question)?\s*:|\s*(?:Answer Choices|Correct Answer)\b.*$", re.DOTALL)


def question(row: Row, number: str, labels: tuple[str, ...]) -> Example:
    """A CommonsenseQA row; `row["explanation"]`, where there is one, is that of CoS-E."""
    asked = row.get("question")
    asked = asked if isinstance(asked, dict) else {}
    given = asked.get("choices")
    if not isinstance(given, list) or not all(isinstance(choice, dict) for choice in given):
        raise RowError("no question with choices; expected question {stem, choices [{label, text}]}")
    choices = tuple(text_of(choice, "text") for choice in given)
    if tuple(choice.get("label") for choice in given) != labels:
        raise RowError(f"choices {', '.join(str(choice.get('label')) for choice in given)}; expected {', '.join(labels)}")
    label = label_of(row["answerKey"], labels) if row.get("answerKey") else None
    plain = Example(text_of(row, "id"), {"question": text_of(asked, "stem")}, label, choices)
    return explained(plain, row["explanation"]) if isinstance(row.get("explanation"), dict) else plain


def explained(example: Example, explanation: Row) -> Example:
    """With the annotator's sentence, and the highlight where it can be found in the question."""
    selected = text_of(explanation, "selected")
    asked = example.texts["question"]
    place = locate(selected, asked) or locate(_PAGE.sub("", selected), asked)
    return Example(
        example.id, example.texts, example.label, example.choices,
        highlights=({"question": (place,)},) if place else (),
        explanations=(text_of(explanation, "open-ended"),),
        meta={"selected": selected, "highlight": "found" if place else "not found in the question"},
    )  # fmt: skip


def _split(root: Path, version: str, split: str, labels: tuple[str, ...]) -> Rows:
    stem = "test_rand_split_no_answers" if split == "test" else f"{split}_rand_split"
    questions = stored(root, f"commonsenseqa/v{version}/{stem}.jsonl")
    if split == "test":
        yield from examples(json_rows(questions), partial(question, labels=labels), str(questions), split)
        return
    path = stored(root, f"cose/v{version}/cose_{split}_v{version}.jsonl")
    said: dict[str, tuple[int, Row]] = {}
    for item in json_rows(path):
        if isinstance(item, BadRow):
            yield item
        elif not isinstance(item[1].get("id"), str) or not isinstance(item[1].get("explanation"), dict):
            yield BadRow(str(path), item[0], "no id or no explanation; expected id, explanation {open-ended, selected}")
        else:
            said[item[1]["id"]] = item[0], item[1]["explanation"]

    def joined(row: Row, number: str) -> Example:
        if row.get("id") not in said:
            raise RowError(f"question {row.get('id')} has no explanation in {path.name}; expected one")
        return question({**row, "explanation": said.pop(row["id"])[1]}, number, labels)

    yield from examples(json_rows(questions), joined, str(questions), split)
    for name, (number, _) in said.items():
        yield BadRow(str(path), number, f"explains question {name}, which is not in {questions.name}")


def _corpus(version: str, letters: str, sizes: tuple[int, int, int]) -> Published:
    labels = tuple(letters)
    splits = dict(zip(("train", "dev", "test"), sizes, strict=True))
    files = [File(f"commonsenseqa/v{version}/{split}_rand_split.jsonl", splits[split]) for split in ("train", "dev")]
    files += [File(f"commonsenseqa/v{version}/test_rand_split_no_answers.jsonl", splits["test"])]
    files += [File(f"cose/v{version}/cose_{split}_v{version}.jsonl", splits[split]) for split in ("train", "dev")]
    about = f"CoS-E v{version}, explained CommonsenseQA (Rajani et al. 2019, Talmor et al. 2019); BSD 3-Clause; test unlabelled"
    readers = {split: partial(_split, version=version, split=split, labels=labels) for split in splits}
    return Published(f"cose_v{version}", "choice", labels, about, readers, splits, tuple(files))


CORPORA = (_corpus("1.0", "ABC", (7610, 950, 940)), _corpus("1.11", "ABCDE", (9741, 1221, 1140)))
