"""Sentence pairs: e-SNLI, SNLI, HANS, Breaking NLI, SICK, MultiNLI, as their authors released them (gzip or plain).

e-SNLI dev and test: CSV with three annotators' explanations and the sentences with marked words between stars. The parts of
e-SNLI and SNLI train, and MultiNLI matched: JSON lines. HANS and SICK: tab-separated with a header, quotes are text.
"""

from dataclasses import replace
from functools import partial
from pathlib import Path

from whence.data.corpus import Rows
from whence.data.example import Example
from whence.data.files import Row, table_rows
from whence.data.readers.published import NLI, File, Make, Published, label_of, read, text_of
from whence.data.readers.spans import differing, star_spans

HANS_LABELS = ("entailment", "non-entailment")
tsv = partial(table_rows, delimiter="\t", quoted=False)
mismatched = partial(tsv, columns=("label", "premise", "hypothesis"))


def _pair(row: Row, first: str, second: str) -> dict[str, str]:
    return {"premise": text_of(row, first), "hypothesis": text_of(row, second)}


def esnli_row(row: Row, number: str) -> Example:
    """A row of the released CSV. The released train files have one annotator, dev and test have three."""
    texts = _pair(row, "Sentence1", "Sentence2")
    annotators = [k for k in "123" if f"Explanation_{k}" in row]
    marked = tuple(
        {
            "premise": star_spans(texts["premise"], text_of(row, f"Sentence1_marked_{k}")),
            "hypothesis": star_spans(texts["hypothesis"], text_of(row, f"Sentence2_marked_{k}")),
        }
        for k in annotators
    )
    explanations = tuple(text_of(row, f"Explanation_{k}") for k in annotators)
    label = label_of(text_of(row, "gold_label"), NLI)
    return Example(text_of(row, "pairID"), texts, label, highlights=marked, explanations=explanations)


def snli_row(row: Row, number: str) -> Example:
    return replace(esnli_row(row, number), highlights=(), explanations=())


def plain_row(row: Row, number: str, label: str = "gold_label") -> Example:
    """premise, hypothesis, a label and, in e-SNLI, explanations; no pair id."""
    explanations = tuple(text_of(row, f"explanation_{k}") for k in "123" if row.get(f"explanation_{k}"))
    chosen = label_of(text_of(row, label), NLI)
    return Example(number, _pair(row, "premise", "hypothesis"), chosen, explanations=explanations)


mnli_row = partial(plain_row, label="label")


def hans_row(row: Row, number: str) -> Example:
    meta = {name: text_of(row, name) for name in ("heuristic", "subcase", "template", "sentence1_parse", "sentence2_parse")}
    meta |= {name: text_of(row, name) for name in ("sentence1_binary_parse", "sentence2_binary_parse")}
    label = label_of(text_of(row, "gold_label"), HANS_LABELS)
    return Example(text_of(row, "pairID"), _pair(row, "sentence1", "sentence2"), label, meta=meta)


def breaking_row(row: Row, number: str) -> Example:
    texts = _pair(row, "sentence1", "sentence2")
    meta = {"category": text_of(row, "category")}
    label = label_of(text_of(row, "gold_label"), NLI)
    pairs = differing(texts["premise"], texts["hypothesis"])
    return Example(str(row.get("pairID", number)), texts, label, pairs=pairs, meta=meta)


def _sick_row(wanted: str) -> Make:
    def make(row: Row, number: str) -> Example | None:
        if text_of(row, "SemEval_set") != wanted:
            return None
        label = label_of(text_of(row, "entailment_label").lower(), NLI)
        meta = {"relatedness": text_of(row, "relatedness_score")}
        return Example(text_of(row, "pair_ID"), _pair(row, "sentence_A", "sentence_B"), label, meta=meta)

    return make


def _esnli(make: Make, split: str) -> "partial[Rows]":
    return partial(read, name=f"esnli/esnli_{split}.csv", make=make, split=split, rows=table_rows)


def _hans(root: Path, kind: str, split: str) -> Rows:
    return read(root, f"hans/heuristics_{kind}_set.txt", hans_row, split, tsv)


def _counts(*numbers: int) -> dict[str, int]:
    return dict(zip(NLI, numbers, strict=True))


_DEV = File("esnli/esnli_dev.csv", 9842, _counts(3329, 3235, 3278), "gold_label", table_rows)
_TEST = File("esnli/esnli_test.csv", 9824, _counts(3368, 3219, 3237), "gold_label", table_rows)
_HALVES = dict.fromkeys(HANS_LABELS, 15000)
_SICK = {"NEUTRAL": 5595, "ENTAILMENT": 2821, "CONTRADICTION": 1424}

CORPORA = (
    Published(
        "esnli", "pair", NLI,
        "e-SNLI, NLI with highlights and explanations (Camburu et al. 2018), a part of train; MIT, text CC BY-SA 4.0",
        {"train": partial(read, name="esnli/train_subset.jsonl", make=plain_row, split="train"),
         "dev": _esnli(esnli_row, "dev"), "test": _esnli(esnli_row, "test")},
        {"train": 18762, "dev": 9842, "test": 9824},
        (File("esnli/train_subset.jsonl", 18762, _counts(6300, 6206, 6256), "gold_label"), _DEV, _TEST),
    ),
    Published(
        "snli", "pair", NLI,
        "SNLI, natural language inference (Bowman et al. 2015), a part of train; CC BY-SA 4.0",
        {"train": partial(read, name="snli/train_subset.jsonl", make=plain_row, split="train"),
         "dev": _esnli(snli_row, "dev"), "test": _esnli(snli_row, "test")},
        {"train": 19999, "dev": 9842, "test": 9824},
        (File("snli/train_subset.jsonl", 19999, _counts(6666, 6562, 6771), "gold_label"), _DEV, _TEST),
    ),
    Published(
        "hans", "pair", HANS_LABELS,
        "HANS, pairs on which NLI heuristics fail (McCoy et al. 2019); MIT; test is the evaluation set",
        {"train": partial(_hans, kind="train", split="train"), "test": partial(_hans, kind="evaluation", split="test")},
        {"train": 30000, "test": 30000},
        (File("hans/heuristics_train_set.txt", 30000, _HALVES, "gold_label", tsv),
         File("hans/heuristics_evaluation_set.txt", 30000, _HALVES, "gold_label", tsv)),
    ),
    Published(
        "breaking_nli", "pair", NLI,
        "Breaking NLI, SNLI premises with one phrase exchanged (Glockner et al. 2018); CC BY-SA 4.0",
        {"test": partial(read, name="breaking_nli/dataset.jsonl", make=breaking_row, split="test")},
        {"test": 8193},
        (File("breaking_nli/dataset.jsonl", 8193, _counts(982, 47, 7164), "gold_label"),),
    ),
    Published(
        "sick", "pair", NLI,
        "SICK, sentences involving compositional knowledge (Marelli et al. 2014); CC BY-NC-SA",
        {split: partial(read, name="sick/SICK.txt", make=_sick_row(wanted), split=split, rows=tsv)
         for split, wanted in (("train", "TRAIN"), ("dev", "TRIAL"), ("test", "TEST"))},
        {"train": 4439, "dev": 495, "test": 4906},
        (File("sick/SICK.txt", 9840, _SICK, "entailment_label", tsv),),
    ),
    Published(
        "mnli", "pair", NLI,
        "MultiNLI (Williams et al. 2018), dev sets only, of the mismatched one a tokenised sample; no licence stated",
        {"dev_matched": partial(read, name="mnli/dev_matched.jsonl", make=mnli_row, split="dev_matched"),
         "dev_mismatched": partial(read, name="mnli/dev_mismatched_sample.tsv", make=mnli_row, split="dev_mismatched",
                                   rows=mismatched)},
        {"dev_matched": 9815, "dev_mismatched": 1000},
        (File("mnli/dev_matched.jsonl", 9815, _counts(3479, 3123, 3213)),
         File("mnli/dev_mismatched_sample.tsv", 1000, _counts(346, 319, 335), "label", mismatched)),
    ),
)  # fmt: skip
