"""Every published format, with rows of our own: what is read, and what is refused."""

import csv
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from whence.data.corpus import BadRow
from whence.data.readers.published import PublishedCorpus, in_dev
from whence.data.readers.topics import body
from whence.data.registry import PUBLISHED


def write(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())


def jsonl(root: Path, name: str, *rows: object) -> None:
    write(root, name, "".join(json.dumps(row) + "\n" for row in rows))


def table(root: Path, name: str, header: Sequence[str], *rows: Sequence[str]) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([header, *rows])


def at(root: Path, name: str) -> PublishedCorpus:
    return PUBLISHED[name].at(root)


ESNLI = ["pairID", "gold_label", "Sentence1", "Sentence2"] + [
    f"{name}_{k}"
    for k in "123"
    for name in ("Explanation", "Sentence1_marked", "Sentence2_marked", "Sentence1_Highlighted", "Sentence2_Highlighted")
]


def esnli_row(**changes: str) -> list[str]:
    row = dict.fromkeys(ESNLI, "{}") | {
        "pairID": "7#1", "gold_label": "neutral", "Sentence1": "Dogs run, fast.", "Sentence2": "Cats sit.",
        **{f"Explanation_{k}": f'because "{k}", yes' for k in "123"},
        **{f"Sentence1_marked_{k}": " Dogs *run,* fast." for k in "123"},
        **{f"Sentence2_marked_{k}": "Cats sit." for k in "12"}, "Sentence2_marked_3": " *Cats* *sit.*",
    }  # fmt: skip
    return list((row | changes).values())


def test_esnli_and_snli(tmp_path: Path) -> None:
    rows = [esnli_row(), esnli_row(), esnli_row(gold_label="-"), esnli_row(Sentence1_marked_2="Dogs *walk* fast.")]
    table(tmp_path, "esnli/esnli_dev.csv", ESNLI, *rows)
    first, second, *bad = at(tmp_path, "esnli").rows("dev")
    assert first.highlights[2] == {"premise": ((5, 8),), "hypothesis": ((0, 4), (5, 8))}
    assert first.highlighted_words("hypothesis").tolist() == [True, True, False]
    assert first.explanations == ('because "1", yes', 'because "2", yes', 'because "3", yes')
    assert (first.id, second.id) == ("7#1", "7#1~2")
    assert [row.row for row in bad] == [3, 4]
    assert "label '-'; expected one of entailment, neutral, contradiction" in str(bad[0])
    assert next(at(tmp_path, "snli").rows("dev")).highlights == ()


def test_esnli_train_part(tmp_path: Path) -> None:
    row = {"premise": "A", "hypothesis": "B", "gold_label": "entailment", "explanation_1": "so"}
    jsonl(tmp_path, "esnli/train_subset.jsonl", row, {**row, "premise": None}, {"premise": "A"})
    good, null, missing = at(tmp_path, "esnli").rows("train")
    assert (good.id, good.label, good.explanations) == ("train-1", "entailment", ("so",))
    assert "'premise' is None; expected text" in str(null)
    assert "no 'gold_label'" in str(missing)


def test_hans(tmp_path: Path) -> None:
    parses = ["sentence1_binary_parse", "sentence2_binary_parse", "sentence1_parse", "sentence2_parse"]
    names = ["gold_label", *parses, "sentence1", "sentence2", "pairID", "heuristic", "subcase", "template"]
    row = ["non-entailment", "b1", "b2", "p1", "p2", 'A "cook', "A baker", "ex1", "subsequence", "sn_x", "t3"]
    write(tmp_path, "hans/heuristics_evaluation_set.txt", "\n".join("\t".join(r) for r in (names, row)) + "\n")
    [example] = at(tmp_path, "hans").load("test")
    assert example.texts == {"premise": 'A "cook', "hypothesis": "A baker"}
    assert (example.label, example.meta["subcase"], example.meta["sentence1_parse"]) == ("non-entailment", "sn_x", "p1")


def test_breaking_nli(tmp_path: Path) -> None:
    row = {"sentence1": "A  red hat.", "sentence2": "A blue hat.", "category": "colors", "gold_label": "contradiction"}
    jsonl(tmp_path, "breaking_nli/dataset.jsonl", {**row, "pairID": 5})
    [example] = at(tmp_path, "breaking_nli").load("test")
    assert (example.id, example.meta["category"], example.pairs) == ("5", "colors", (((3, 6), (2, 6)),))


def test_sick_and_mnli(tmp_path: Path) -> None:
    names = ["pair_ID", "sentence_A", "sentence_B", "entailment_label", "relatedness_score", *"abcdef", "SemEval_set"]
    rows = [[str(i), "A cat", "A dog", "NEUTRAL", "3.5", *"abcdef", part] for i, part in enumerate(("TRAIN", "TRIAL", "TEST"))]
    write(tmp_path, "sick/SICK.txt", "\r\n".join("\t".join(row) for row in (names, *rows)) + "\r\n")
    assert [at(tmp_path, "sick").load(split)[0].id for split in ("train", "dev", "test")] == ["0", "1", "2"]
    write(tmp_path, "mnli/dev_mismatched_sample.tsv", "neutral\tA cat\tA dog\nneutral\tA cat\n")
    good, bad = at(tmp_path, "mnli").rows("dev_mismatched")
    assert good.texts["hypothesis"] == "A dog"
    assert "2 fields; expected 3" in str(bad)


def choice(name: str, answer: str | None = "B") -> dict[str, object]:
    choices = [{"label": letter, "text": letter.lower()} for letter in "ABC"]
    return {"id": name, "question": {"stem": "Where do  cats sleep?", "choices": choices}} | (
        {"answerKey": answer} if answer else {}
    )


def test_cose_joins_by_id(tmp_path: Path) -> None:
    said = {
        "1": "Question: Where do cats sleep?Answer Choices: \xa0a", "2": "cats", "3": "zebras", "4": "{}", "9": "cats",
    }  # fmt: skip
    jsonl(tmp_path, "commonsenseqa/v1.0/dev_rand_split.jsonl", *(choice(name) for name in "12345"), choice("1", "D"))
    explanations = [
        {"id": name, "explanation": {"open-ended": "so", "selected": text}} for name, text in reversed(said.items())
    ]
    jsonl(tmp_path, "cose/v1.0/cose_dev_v1.0.jsonl", *explanations)
    rows = list(at(tmp_path, "cose_v1.0").rows("dev"))
    good = [row for row in rows if not isinstance(row, BadRow)]
    assert [example.highlights for example in good] == [({"question": ((0, 21),)},), ({"question": ((10, 14),)},), (), ()]
    assert good[2].meta == {"selected": "zebras", "highlight": "not found in the question"}
    assert (good[0].label, good[0].choices, good[0].explanations) == ("B", ("a", "b", "c"), ("so",))
    problems = [row.problem for row in rows if isinstance(row, BadRow)]
    assert "question 5 has no explanation" in problems[0]
    assert "explains question 9" in problems[-1]


def test_cose_test_has_no_labels(tmp_path: Path) -> None:
    jsonl(tmp_path, "commonsenseqa/v1.0/test_rand_split_no_answers.jsonl", choice("1", None))
    [example] = at(tmp_path, "cose_v1.0").load("test")
    assert (example.label, example.explanations) == (None, ())


def test_sst_forms(tmp_path: Path) -> None:
    trees = "(4 (2 -LRB-) (3 (2 A\\/B) (2 caf\u00e9)))\n(2 (2 so) (2 so))\n(1 (1 bad) (2 -RRB-))\n(1 (1 bad)\n"
    write(tmp_path, "sst/trees/dev.txt", trees)
    first, second, bad = at(tmp_path, "sst").rows("dev")
    assert (first.texts["text"], first.label, first.meta["fine"]) == ("( A/B café", "positive", "4")
    assert (second.texts["text"], second.label) == ("bad )", "negative")
    assert bad.row == 4
    write(tmp_path, "sst/binary/dev.tsv", 'a "quote\t1\nb\t2\n')
    good, wrong = at(tmp_path, "sst_binary").rows("dev")
    assert (good.texts["text"], good.label) == ('a "quote', "positive")
    assert "label '2'; expected one of 0, 1" in str(wrong)
    write(tmp_path, "sst/glue/test.tsv", "index\tsentence\n0\tfine \n")
    assert at(tmp_path, "sst_phrases").load("test")[0].label is None


def test_imdb_and_its_derived_dev(tmp_path: Path) -> None:
    texts = [f"film number {i}" for i in range(200)]
    rows = [{"id": f"train/neg/{i}_1", "label": "neg", "rating": 1, "text": text} for i, text in enumerate(texts)]
    jsonl(tmp_path, "imdb/train.jsonl", *rows, {"id": "x", "label": "meh", "text": "film number 0"})
    corpus = at(tmp_path, "imdb")
    train = [row for row in corpus.rows("train") if not isinstance(row, BadRow)]
    dev = [row for row in corpus.rows("dev") if not isinstance(row, BadRow)]
    assert {e.texts["text"] for e in dev} == {text for text in texts if in_dev(text)}
    assert len(train) + len(dev) == 200
    assert 10 < len(dev) < 50
    assert dev[0].label == "negative"


def test_ag_news(tmp_path: Path) -> None:
    write(tmp_path, "ag_news/test.csv", '"3","Oil, up","Prices ""rise""\\again"\n"2","Cup","Final"\n"5","a","b"\n')
    business, sports, bad = at(tmp_path, "ag_news").rows("test")
    assert (business.texts["text"], business.label) == ('Oil, up Prices "rise"\\again', "Business")
    assert sports.label == "Sports"
    assert "label '5'" in str(bad)
    assert [e.label for e in at(tmp_path, "ag_news_wb").rows("test") if not isinstance(e, BadRow)] == ["Business"]


MAIL = (
    "From: a@b.c\nSubject: Re: puck\nLines: 9\n\n"
    "In article <1@x> b@c.d (B C) writes:\n>the goal\n|> stood\n: too\n\nNo it did not.\n"
    "I saw -- really -- it.\n\n--\nA B, Town\na@b.c\n"
)


@pytest.mark.parametrize("message", [MAIL, MAIL.rstrip("\n").replace("\n", "\t") + "\n"])
def test_newsgroup_bodies(message: str) -> None:
    assert body(message) == "No it did not.\nI saw -- really -- it."


def test_newsgroups_leave_out_other_groups(tmp_path: Path) -> None:
    rows = [{"id": str(i), "group": group, "text": MAIL} for i, group in enumerate(("rec.sport.hockey", "alt.atheism"))]
    jsonl(tmp_path, "20newsgroups/test.jsonl", *rows)
    [example] = at(tmp_path, "newsgroups").load("test")
    assert (example.label, "Subject" in example.texts["text"]) == ("hockey", False)


def test_semeval(tmp_path: Path) -> None:
    write(tmp_path, "semeval2017_4a/twitter-2016test-A.tsv", '1\tneutral\t"say ""hi"", you"\t\n1\tpositive\tall "good"\t')
    first, second = at(tmp_path, "semeval").load("test")
    assert (first.texts["text"], second.texts["text"]) == ('say "hi", you', 'all "good"')
    assert (first.id, second.id) == ("1", "1~2")
    write(tmp_path, "semeval2017_4a/twitter-2016dev-A.tsv", '1\tneutral\t"all"\n2\tgreat\tx\n')
    kept, bad = at(tmp_path, "semeval").rows("dev")
    assert kept.texts["text"] == '"all"'
    assert "label 'great'" in str(bad)


def test_evidence_inference(tmp_path: Path) -> None:
    folder = "evidence_inference"
    article = "Pain fell by half. Sleep did not change."
    jsonl(tmp_path, f"{folder}/articles_v2.jsonl", {"pmcid": "77", "text": article}, {"pmcid": "78", "text": "Other."})
    write(tmp_path, f"{folder}/splits/ev2_test_article_ids.txt", "77\n")
    table(
        tmp_path,
        f"{folder}/prompts_merged.csv",
        ["PromptID", "PMCID", "Outcome", "Intervention", "Comparator"],
        ["1", "77", "pain", "tea", "water"],
        ["2", "77", "sleep", "tea", "water"],
        ["3", "78", "pain", "tea", "water"],
    )
    header = ["UserID", "PromptID", "PMCID", "Valid Label", "Valid Reasoning", "Label", "Annotations", "Label Code"]
    table(tmp_path, f"{folder}/v2_annotations.csv", [*header, "In Abstract", "Evidence Start", "Evidence End"],
          ["0", "1", "77", "True", "True", "x", "x", "-1", "UNK", "0", "18"],
          ["5", "1", "77", "True", "False", "x", "x", "-1", "UNK", "0", "4"],
          ["6", "1", "77", "True", "True", "x", "x", "0", "UNK", "5", "9"],
          ["6", "1", "77", "False", "True", "x", "x", "1", "UNK", "0", "9"],
          ["0", "2", "77", "False", "True", "x", "x", "0", "UNK", "0", "9"],
          ["0", "3", "78", "True", "True", "x", "x", "0", "UNK", "0", "5"],
          ["0", "4", "77", "True", "True", "x", "x", "0", "UNK", "0", "5"])  # fmt: skip
    bad, example = at(tmp_path, folder).rows("test")
    assert "prompt 4" in str(bad)
    assert (example.id, example.label) == ("1", "significantly decreased")
    assert example.texts["hypothesis"] == "tea || water || pain"
    assert example.highlights == ({"premise": ((0, 18),)}, {"premise": ((5, 9),)})
