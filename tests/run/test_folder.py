"""Run folders: whole files only, continue with the same settings, refuse others."""

from pathlib import Path

import pytest

from whence.errors import BadInput
from whence.run import RunFolder, write_atomically


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


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    write_atomically(file, lambda p: p.write_text("old"))

    def fail(path: Path) -> None:
        path.write_text("half")
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        write_atomically(file, fail)
    assert file.read_text() == "old"


def test_a_folder_is_replaced_whole(tmp_path: Path) -> None:
    def fill(name: str) -> None:
        def write(path: Path) -> None:
            path.mkdir()
            (path / name).write_text(name)

        write_atomically(tmp_path / "f", write)

    fill("one")
    fill("two")
    assert [p.name for p in (tmp_path / "f").iterdir()] == ["two"]
    assert [p.name for p in tmp_path.iterdir()] == ["f"]
