"""Explanations from files: methods apart, files of one name apart, nothing in the place of our own, nothing twice."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tiny import texts

from whence.data import Example, word_spans
from whence.errors import BadInput
from whence.explain import TokenScores, save_explanations
from whence.explain.eraser_file import save_eraser
from whence.explain.given import read_groups


def explained(method: str, value: float) -> list[TokenScores]:
    found = []
    for example in texts():
        spans = tuple(word_spans(example.texts["text"]))
        scores = (value,) * len(spans)
        found.append(TokenScores(example.id, example.texts, {"text": spans}, scores, method, "positive", 0.5))
    return found


def values(groups: dict[str, list[TokenScores]]) -> dict[str, float]:
    assert all(len(group) == len(texts()) for group in groups.values())
    return {name: group[0].scores[0] for name, group in groups.items()}


def test_each_method_of_a_file_is_a_group_of_its_own(tmp_path: Path) -> None:
    save_explanations(tmp_path / "a.jsonl", [*explained("lime", 1.0), *explained("random", 2.0)])
    assert values(read_groups([tmp_path / "a.jsonl"], texts())) == {"a.jsonl: lime": 1.0, "a.jsonl: random": 2.0}


def test_two_files_of_one_name_both_stay(tmp_path: Path) -> None:
    files = [tmp_path / "one" / "a.jsonl", tmp_path / "two" / "a.jsonl", tmp_path / "b.jsonl"]
    for number, file in enumerate(files):
        save_explanations(file, explained("lime", float(number)))
    assert values(read_groups(files, texts())) == {str(files[0]): 0.0, str(files[1]): 1.0, "b.jsonl": 2.0}
    (tmp_path / "link.jsonl").symlink_to(files[2])
    with pytest.raises(BadInput, match="given twice"):
        read_groups([files[2], tmp_path / "link.jsonl"], texts())


def test_a_file_called_random_is_not_our_random(tmp_path: Path) -> None:
    save_explanations(tmp_path / "random", explained("random", 3.0))
    save_eraser(tmp_path / "lime", explained("lime", 4.0), 0.2)
    assert list(read_groups([tmp_path / "random", tmp_path / "lime"], texts())) == ["random (file)", "lime (file)"]


def test_nothing_twice_and_nothing_unknown(tmp_path: Path) -> None:
    made = explained("lime", 1.0)
    save_explanations(tmp_path / "a.jsonl", [*made, replace(made[2], scores=made[2].scores[::-1])])
    with pytest.raises(BadInput, match=r"a\.jsonl, row 7: example '2' is explained by 'lime' for the second time"):
        read_groups([tmp_path / "a.jsonl"], texts())
    save_explanations(tmp_path / "a.jsonl", [*made, replace(made[2], id="x")])
    with pytest.raises(BadInput, match=r"a\.jsonl, row 7: example 'x' is not among the 6"):
        read_groups([tmp_path / "a.jsonl"], texts())
    with pytest.raises(BadInput, match="1 of the 7 examples share an id"):
        read_groups([tmp_path / "a.jsonl"], [*texts(), Example("0", {"text": "again"})])


@pytest.mark.parametrize("change", [
    {"id": 5}, {"method": ["lime"]}, {"target": None}, {"probability": "high"}, {"notes": {"error": "x"}}, {"notes": [1]},
    {"parameters": 3}, {"texts": {"text": 3}}, {"scores": [1]}, {"scores": "abc"}, {"spans": {"text": [[0, 9999]]}},
    {"spans": {"nobody": []}}, {"texts": 7}, {"more": 1},
])  # fmt: skip
def test_a_row_of_the_wrong_shape_is_named(change: dict[str, object], tmp_path: Path) -> None:
    row = explained("lime", 1.0)[0].to_dict()
    (tmp_path / "a.jsonl").write_text(json.dumps(row) + "\n" + json.dumps({**row, **change}) + "\n")
    with pytest.raises(BadInput, match=r"a\.jsonl, row 2|explanation of '0'"):
        read_groups([tmp_path / "a.jsonl"], texts())
