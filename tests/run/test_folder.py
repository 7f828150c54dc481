"""Run folders: continue with the same settings and versions, refuse others, one process at a time."""

import json
import os
import re
import select
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import whence.run.folder
from whence.errors import BadInput
from whence.run import RunFolder

ROWS = [{"id": "a", "scores": [1.0, 2.5]}, {"id": "b", "scores": []}]


def silent(_line: str) -> None:
    pass


def test_continues_with_the_same_settings_and_refuses_others(tmp_path: Path) -> None:
    with RunFolder(tmp_path / "run", {"seed": 1, "data": "x"}) as folder:
        assert folder.read_shard("0") is None
        folder.write_shard("0", ROWS)
    with RunFolder(tmp_path / "run", {"seed": 1, "data": "x"}) as again:
        assert again.read_shard("0") == ROWS
        assert again.results is None
        again.finish({"score": 0.5})
    with RunFolder(tmp_path / "run", {"seed": 1, "data": "x"}) as finished:
        assert finished.results["score"] == 0.5
    with pytest.raises(BadInput, match="'seed' is 1 there and 2 now"), RunFolder(tmp_path / "run", {"seed": 2, "data": "x"}):
        pass


def test_refuses_a_folder_with_other_things_in_it_and_leaves_it_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(BadInput, match="not empty"), RunFolder(tmp_path, {}):
        pass
    (tmp_path / "thesis.tex").rename(tmp_path / "config.json")
    for foreign in ('{"model_type": "bert"}', "[]", "precious", '{"versions": 3}', "[" * 100_000):
        (tmp_path / "config.json").write_text(foreign)
        with pytest.raises(BadInput, match=r"config\.json"), RunFolder(tmp_path, {}):
            pass
        assert (tmp_path / "config.json").read_text() == foreign
    assert [path.name for path in tmp_path.iterdir()] == ["config.json"]


def test_a_file_or_a_place_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("precious")
    for out in (tmp_path / "notes.txt", tmp_path / "notes.txt" / "run", Path("/proc/run")):
        with pytest.raises(BadInput, match=r"notes\.txt|/proc/run"), RunFolder(out, {}):
            pass
    assert (tmp_path / "notes.txt").read_text() == "precious"


def test_a_command_that_failed_before_its_first_shard_does_not_stand_in_the_way(tmp_path: Path) -> None:
    def wrong_setting() -> None:
        with RunFolder(tmp_path, {"lime": {"foo": 1}}):
            raise BadInput("no such setting")

    with pytest.raises(BadInput, match="no such setting"):
        wrong_setting()
    with RunFolder(tmp_path, {"lime": {}}) as folder:
        assert json.loads((tmp_path / "config.json").read_text())["lime"] == {}
        folder.write_shard("0", ROWS)
    with pytest.raises(BadInput, match="another run"), RunFolder(tmp_path, {"lime": {"foo": 1}}):
        pass


def test_what_a_killed_process_left_is_tidied(tmp_path: Path) -> None:
    (tmp_path / "shards").mkdir()
    for name in (".config.json.elsewhere-1-0.tmp", "shards/.0.parquet.elsewhere-1-1.tmp"):
        (tmp_path / name).write_text("half")
    with RunFolder(tmp_path, {}) as folder:
        folder.write_shard("0", ROWS)
        (tmp_path / ".checkpoint.old").mkdir()
        (tmp_path / ".checkpoint.old" / "state.json").write_text("{}")
        (tmp_path / ".tmp8IzFS2").write_text("half")  # as safetensors calls its own
    with RunFolder(tmp_path, {}):
        pass
    found = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file())
    assert found == ["checkpoint/state.json", "config.json", "shards/0.parquet"]


def test_shards_of_two_versions_do_not_mix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = whence.run.folder.versions()
    with RunFolder(tmp_path, {}) as folder:
        folder.write_shard("0", ROWS)
    monkeypatch.setattr(whence.run.folder, "versions", lambda: {**real, "torch": "9.9"})
    with (
        pytest.raises(BadInput, match=rf"begun with torch {re.escape(real['torch'])}, and this is torch 9\.9"),
        RunFolder(tmp_path, {}),
    ):
        pass
    monkeypatch.undo()
    with RunFolder(tmp_path, {}) as folder:
        folder.finish({})
    monkeypatch.setattr(whence.run.folder, "versions", lambda: {**real, "torch": "9.9"})
    said: list[str] = []
    with RunFolder(tmp_path, {}, said.append) as folder:
        assert folder.results is not None, "what is finished is shown"
    assert said == [f"{tmp_path} was made with torch {real['torch']}"]


@pytest.mark.parametrize("name", ["shards/0.parquet", "results.json"])
@pytest.mark.parametrize("damage", [lambda whole: whole[: len(whole) // 2], lambda whole: b"", lambda whole: b"[1]\n"])
def test_a_damaged_file_is_one_line_that_says_what_to_do(name: str, damage: Callable[[bytes], bytes], tmp_path: Path) -> None:
    with RunFolder(tmp_path, {}) as folder:
        folder.write_shard("0", ROWS)
        folder.finish({"a": 1})
        (tmp_path / name).write_bytes(damage((tmp_path / name).read_bytes()))
        with pytest.raises(BadInput, match=rf"{name}.*; remove it and run the same command again"):
            _ = folder.results if name == "results.json" else folder.read_shard("0")


def in_another_process(work: Callable[[], Any]) -> int:
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(0)
    return child


def test_a_second_process_waits_and_says_for_whom(tmp_path: Path) -> None:
    inside_read, inside = os.pipe()
    leave, leave_write = os.pipe()

    def hold() -> None:
        with RunFolder(tmp_path, {}, silent) as folder:
            os.write(inside, b"x")
            select.select([leave], [], [], 60)  # who waits without a word would wait for ever
            folder.finish({"by": "the first"})

    child = in_another_process(hold)
    os.read(inside_read, 1)
    said: list[str] = []

    def release(line: str) -> None:
        said.append(line)
        os.write(leave_write, b"x")

    with RunFolder(tmp_path, {}, release) as folder:
        assert folder.results is not None
        assert folder.results["by"] == "the first"
        assert str(os.getpid()) in (tmp_path / ".lock").read_text(), "the lock is a file that a third process finds"
    os.waitpid(child, 0)
    assert len(said) == 1
    assert f"in use by process {child} on " in said[0]


def test_the_lock_of_a_killed_process_is_free(tmp_path: Path) -> None:
    def die() -> None:
        with RunFolder(tmp_path, {}, silent):
            os._exit(9)

    os.waitpid(in_another_process(die), 0)
    said: list[str] = []
    with RunFolder(tmp_path, {}, said.append):
        assert said == []
