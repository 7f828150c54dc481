"""Files are written whole or not at all, and only over what is ours."""

import os
import resource
from collections.abc import Callable
from pathlib import Path

import pytest

from whence.errors import BadInput
from whence.run import RunFolder, replace_folder, write_atomically
from whence.run.files import _HOST


def text(value: str) -> Callable[[Path], object]:
    return lambda path: path.write_text(value)


def filled(name: str) -> Callable[[Path], object]:
    def write(path: Path) -> None:
        path.mkdir()
        (path / name).write_text(name)

    return write


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_folder_is_never_replaced_by_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    thesis = tmp_path / "work" / "thesis"
    thesis.mkdir(parents=True)
    (thesis / "chapter.tex").write_text("precious")
    monkeypatch.chdir(tmp_path / "work")
    for path in (thesis, Path("."), Path("thesis/..")):
        with pytest.raises(BadInput, match="is a folder; expected the name of a file"):
            write_atomically(path, text("x"))
    assert (thesis / "chapter.tex").read_text() == "precious"
    assert names(tmp_path / "work") == ["thesis"]


def test_a_folder_that_is_not_of_a_run_is_never_replaced(tmp_path: Path) -> None:
    filled("chapter.tex")(tmp_path / "model")
    (tmp_path / "config.json").write_text('{"mine": 1}')
    with pytest.raises(BadInput, match="not part of a run"):
        replace_folder(tmp_path / "model", filled("weights"))
    assert names(tmp_path / "model") == ["chapter.tex"]


def test_a_folder_of_a_run_is_replaced_whole(tmp_path: Path) -> None:
    with RunFolder(tmp_path, {}):
        pass
    replace_folder(tmp_path / "model", filled("one"))
    replace_folder(tmp_path / "model", filled("two"))
    assert names(tmp_path / "model") == ["two"]
    assert names(tmp_path) == ["config.json", "model"]


def test_a_folder_survives_a_kill_between_its_two_moves(tmp_path: Path) -> None:
    with RunFolder(tmp_path, {}):
        pass
    replace_folder(tmp_path / "model", filled("one"))
    (tmp_path / "model").rename(tmp_path / ".model.old")  # killed here

    def fail(path: Path) -> None:
        assert names(tmp_path / "model") == ["one"], "put back before anything else"
        raise OSError("disk full")

    with pytest.raises(BadInput, match="disk full"):
        replace_folder(tmp_path / "model", fail)
    assert names(tmp_path / "model") == ["one"]
    assert names(tmp_path) == ["config.json", "model"]


def test_a_move_that_fails_brings_the_old_folder_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with RunFolder(tmp_path, {}):
        pass
    replace_folder(tmp_path / "model", filled("one"))
    rename, moves = Path.rename, []

    def second_fails(self: Path, target: Path) -> Path:
        moves.append(target)
        if len(moves) == 2:
            raise OSError(28, "No space left on device")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", second_fails)
    with pytest.raises(BadInput, match="No space left"):
        replace_folder(tmp_path / "model", filled("two"))
    assert names(tmp_path / "model") == ["one"]
    assert names(tmp_path) == ["config.json", "model"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "a.txt").write_text("old")
    for link, target in (("link", "far/a.txt"), ("dangling", "far/b.txt")):
        (tmp_path / link).symlink_to(target)
        write_atomically(tmp_path / link, text("new"))
        assert (tmp_path / link).is_symlink()
        assert (tmp_path / target).read_text() == "new"
        assert not (tmp_path / target).is_symlink()
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(BadInput, match="symbolic links"):
        write_atomically(tmp_path / "loop", text("new"))
    assert (tmp_path / "loop").is_symlink()


def test_what_is_no_ordinary_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(BadInput, match="not an ordinary file"):
        write_atomically(tmp_path / "pipe", text("x"))
    assert (tmp_path / "pipe").is_fifo()


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    write_atomically(file, text("old"))
    file.chmod(0o600)

    def fail(path: Path) -> None:
        path.write_text("half")
        raise OSError(28, "No space left on device")

    with pytest.raises(BadInput, match=r"a.txt: cannot be written \(No space left on device\)"):
        write_atomically(file, fail)
    assert file.read_text() == "old"
    assert names(tmp_path) == ["a.txt"]
    write_atomically(file, text("new"))
    assert file.read_text() == "new"
    assert file.stat().st_mode & 0o777 == 0o600, "a private file stays private"


def test_a_full_disk_is_one_line(tmp_path: Path) -> None:
    """A real refusal of the operating system: files may not grow beyond a limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, hard))
    try:
        with pytest.raises(BadInput, match=r"a.txt: cannot be written"):
            write_atomically(tmp_path / "a.txt", text("x" * 100_000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert names(tmp_path) == []


def test_a_place_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for path in (Path("/proc/a.txt"), tmp_path / "file" / "a.txt", tmp_path / ("x" * 250)):
        with pytest.raises(BadInput, match="cannot be written"):
            write_atomically(path, text("x"))


def test_leftovers_of_a_killed_process_are_removed_and_those_of_a_living_one_stay(tmp_path: Path) -> None:
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    of = {"dead": f".a.txt.{_HOST}-{child}-0.tmp", "folder": f".m.{_HOST}-{child}-1.tmp"}
    stay = {f".a.txt.{_HOST}-{os.getppid()}-0.tmp", f".a.txt.elsewhere-{child}-0.tmp", ".mine.tmp"}
    (tmp_path / of["dead"]).write_text("half")
    filled("half")(tmp_path / of["folder"])
    for name in stay:
        (tmp_path / name).write_text("half")
    write_atomically(tmp_path / "a.txt", text("whole"))
    assert set(names(tmp_path)) == stay | {"a.txt"}
