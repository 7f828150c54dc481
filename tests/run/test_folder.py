"""Run folders: whole files only, continue with the same settings, refuse others."""

from pathlib import Path

import pytest

from whence.errors import BadInput
from whence.run import RunFolder


def test_continues_with_the_same_settings_and_refuses_others(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run", {"seed": 1, "data": "x"})
    assert folder.read_shard("0") is None
    folder.write_shard("0", [{"id": "a", "scores": [1.0, 2.5]}, {"id": "b", "scores": []}])
    again = RunFolder(tmp_path / "run", {"seed": 1, "data": "x"})
    assert again.read_shard("0") == [{"id": "a", "scores": [1.0, 2.5]}, {"id": "b", "scores": []}]
    assert again.results is None
    again.finish({"score": 0.5})
    assert RunFolder(tmp_path / "run", {"seed": 1, "data": "x"}).results["score"] == 0.5
    with pytest.raises(BadInput, match="'seed' is 1 there and 2 now"):
        RunFolder(tmp_path / "run", {"seed": 2, "data": "x"})


def test_refuses_a_folder_with_other_things_in_it(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(BadInput, match="not empty"):
        RunFolder(tmp_path, {})
    assert (tmp_path / "thesis.tex").read_text() == "precious"


def test_a_file_or_a_place_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("precious")
    for out in (tmp_path / "notes.txt", tmp_path / "notes.txt" / "run", Path("/proc/run")):
        with pytest.raises(BadInput, match=r"notes.txt|/proc/run"):
            RunFolder(out, {})
    assert (tmp_path / "notes.txt").read_text() == "precious"
