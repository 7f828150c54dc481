"""Rows as the Hugging Face hub has them, through a local `datasets.Dataset`."""

import datasets
import pytest

from whence.data.corpus import BadRow
from whence.data.hub import HUB, fetch, from_rows
from whence.errors import BadInput

PAIR = {"premise": "A cat sat", "hypothesis": "A dog sat"}
ROWS = {
    "esnli": ({**PAIR, "label": 1, "explanation_1": "so", "explanation_2": "", "explanation_3": ""}, "neutral"),
    "snli": ({**PAIR, "label": 2}, "contradiction"),
    "mnli": ({**PAIR, "label": 0, "genre": "x"}, "entailment"),
    "hans": (
        {**PAIR, "label": 1, "parse_premise": "p", "parse_hypothesis": "q", "binary_parse_premise": "b",
         "binary_parse_hypothesis": "c", "heuristic": "h", "subcase": "s", "template": "t"}, "non-entailment",
    ),
    "sst": ({"idx": 0, "sentence": "fine ", "label": 1}, "positive"),
    "imdb": ({"text": "fine", "label": 0}, "negative"),
    "ag_news": ({"text": "Oil up", "label": 2}, "Business"),
    "ag_news_wb": ({"text": "Oil up", "label": 0}, "World"),
    "cose_v1.0": (
        {"id": "1", "question": "Where do cats sleep?", "choices": ["sea", "bed", "sky"], "answer": "bed",
         "abstractive_explanation": "soft", "extractive_explanation": "cats sleep"}, "B",
    ),
    "movies": ({"review": "a fine\nfilm", "label": 1, "evidences": ["fine film"]}, "POS"),
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_rows_of_the_hub(name: str) -> None:
    row, label = ROWS[name]
    [example] = from_rows(HUB[name], datasets.Dataset.from_list([row]), "test")
    assert not isinstance(example, BadRow)
    assert example.label == label


def test_highlights_where_the_hub_has_them() -> None:
    [film] = from_rows(HUB["movies"], [ROWS["movies"][0]], "test")
    [question] = from_rows(HUB["cose_v1.0"], [ROWS["cose_v1.0"][0]], "dev")
    assert film.highlights == ({"text": ((2, 11),)},)
    assert question.highlights == ({"question": ((9, 19),)},)


def test_unlabelled_and_wrong_rows() -> None:
    assert list(from_rows(HUB["snli"], [{**PAIR, "label": -1}], "train")) == []
    [unlabelled, wrong] = from_rows(HUB["sst"], [{"sentence": "a", "label": -1}, {"sentence": "a", "label": 7}], "test")
    assert unlabelled.label is None
    assert "label 7; expected a number from 0 to 1" in str(wrong)
    [lost] = from_rows(HUB["movies"], [{"review": "a", "label": 1, "evidences": ["zebra"]}], "train")
    assert "'zebra' is not in the review" in str(lost)
    [other] = from_rows(HUB["cose_v1.0"], [{**ROWS["cose_v1.0"][0], "answer": "moon"}], "dev")
    assert "answer 'moon'" in str(other)


def test_dev_is_cut_out_of_train_as_in_our_files() -> None:
    rows = [{"text": f"film {i}", "label": 0} for i in range(100)]
    train, dev = (list(from_rows(HUB["imdb"], rows, split)) for split in ("train", "dev"))
    assert len(train) + len(dev) == 100
    assert dev


def test_an_unreachable_hub_names_both_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    def offline(*args: object, **kwargs: object) -> None:
        raise ConnectionError("no route\nto host")

    monkeypatch.setattr(datasets, "load_dataset", offline)
    with pytest.raises(BadInput, match="connect to the network, or put the published files in a folder") as error:
        fetch(HUB["esnli"], "dev")
    assert "\n" not in str(error.value)
