"""Runs at an address: the same files as in a folder, continued elsewhere after a kill, one process at a time."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest
import torch
from tiny import SENTENCES, own_model, tiny_bert

from whence.cli import main
from whence.errors import BadInput
from whence.run import RunFolder, lease, replace_folder, write_json
from whence.run.mirror import inside, is_address, place_of, staging

ADDRESS = "memory://bucket/run"
ROWS = [{"id": "a", "scores": [1.0, 2.5]}]


class Killed(BaseException):
    pass


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("WHENCE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(lease, "POLL", 0.01)
    memory = fsspec.filesystem("memory")
    memory.store.clear()
    memory.pseudo_dirs[:] = [""]
    yield memory
    memory.store.clear()


def silent(_line: str) -> None:
    pass


def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another machine: its cache is empty."""
    monkeypatch.setenv("WHENCE_CACHE", str(tmp_path / "another"))


def names(store: Any) -> list[str]:
    return sorted(name.removeprefix("/bucket/run/") for name in store.store)


def files_in(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def work(folder: RunFolder, made: list[str], stop: str = "") -> None:
    """Three shards, each with a checkpoint before it; `stop` names the shard before which the process dies."""
    for name in ("0", "1", "2"):
        if name == stop:
            raise Killed
        if folder.read_shard(name) is None:
            replace_folder(folder.path / "checkpoint", lambda path, name=name: checkpoint(path, name))
            folder.write_shard(name, ROWS)
            made.append(name)
    folder.finish({"score": 1})


def checkpoint(path: Path, at: str) -> None:
    path.mkdir()
    (path / "inner").mkdir()
    (path / "inner" / "weights").write_text(at * 1000)
    write_json(path / "state.json", {"at": at})


def run(made: list[str], stop: str = "", say: Callable[[str], None] = silent, address: str = ADDRESS) -> None:
    with place_of(address, say) as place, RunFolder(place.path, {"seed": 1}, place.say) as folder:
        if folder.results is None:
            work(folder, made, stop)


def killed(made: list[str], stop: str) -> None:
    with pytest.raises(Killed):
        run(made, stop)


def test_files_are_there_as_soon_as_they_are_whole_and_results_last(store: Any, tmp_path: Path) -> None:
    order: list[str] = []
    put = store.put_file
    store.put_file = lambda here, there: (order.append(there.removeprefix("/bucket/run/")), put(here, there))
    try:
        run([])
    finally:
        del store.put_file
    assert order[:3] == ["config.json", "checkpoint.tar", "shards/0.parquet"]
    assert order[-1] == "results.json"
    with RunFolder(tmp_path / "local", {"seed": 1}) as folder:
        work(folder, [])
    local = {
        str(path.relative_to(tmp_path / "local")): path.read_bytes()
        for path in (tmp_path / "local").rglob("*")
        if path.is_file()
    }
    assert {name: store.cat(f"/bucket/run/{name}") for name in names(store)} == local
    assert not staging(ADDRESS).exists(), "the address has it all"


def test_a_killed_run_continues_on_another_machine(store: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    killed(made, "2")
    assert names(store) == ["checkpoint.tar", "config.json", "shards/0.parquet", "shards/1.parquet"]
    elsewhere(tmp_path, monkeypatch)
    with place_of(ADDRESS, silent) as place, RunFolder(place.path, {"seed": 1}) as folder:
        assert (folder.path / "checkpoint" / "inner" / "weights").read_text() == "1" * 1000
        work(folder, made)
    assert made == ["0", "1", "2"]
    assert "checkpoint/inner/weights" in names(store)
    assert "checkpoint.tar" not in names(store)


def test_a_finished_run_is_shown_and_fetches_no_more_than_that(store: Any) -> None:
    run([])
    before, fetched = dict(store.store), []
    get = store.get_file
    store.get_file = lambda there, here: (fetched.append(there), get(there, here))
    try:
        run(made := [])
    finally:
        del store.get_file
    assert made == []
    assert sorted(fetched) == ["/bucket/run/config.json", "/bucket/run/results.json"]
    assert store.store.keys() == before.keys()


def test_a_file_that_could_not_be_put_is_one_line_and_is_put_the_next_time(store: Any) -> None:
    made: list[str] = []
    put = store.put_file

    def full(here: str, there: str) -> None:
        if there.endswith("1.parquet"):
            raise RuntimeError("Slow\nDown")
        put(here, there)

    store.put_file = full
    try:
        with pytest.raises(BadInput, match=r"memory://bucket/run: cannot be written \(RuntimeError: Slow Down\)"):
            run(made)
    finally:
        del store.put_file
    assert "shards/0.parquet" in names(store)
    assert ".lock" not in names(store)
    run(made)
    assert made == ["0", "2"], "the second shard was made, but could not be put: it was kept here"
    assert {"shards/0.parquet", "shards/1.parquet", "shards/2.parquet", "results.json"} <= set(names(store))


def test_half_a_checkpoint_never_takes_the_place_of_a_whole_one(
    store: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    killed(made, "1")
    put = store.put_file

    def dies(here: str, there: str) -> None:
        if there.endswith(".tar"):
            raise Killed
        put(here, there)

    store.put_file = dies
    try:
        killed(made, "2")
    finally:
        del store.put_file
    elsewhere(tmp_path, monkeypatch)
    with place_of(ADDRESS, silent) as place:
        assert (place.path / "checkpoint" / "inner" / "weights").read_text() == "0" * 1000


def test_what_was_removed_or_changed_there_is_not_taken_from_here(store: Any) -> None:
    made: list[str] = []
    killed(made, "2")
    store.rm_file("/bucket/run/shards/0.parquet")  # as the remedy for a damaged file says
    store.pipe_file("/bucket/run/shards/1.parquet", b"changed by another machine")
    with place_of(ADDRESS, silent) as place:
        assert not (place.path / "shards" / "0.parquet").exists()
        assert (place.path / "shards" / "1.parquet").read_bytes() == b"changed by another machine"
    with pytest.raises(BadInput, match=r"memory://bucket/run/shards/1\.parquet: cannot be read"):
        run(made)


def test_a_cleared_address_begins_anew(store: Any) -> None:
    killed([], "2")
    store.rm("/bucket/run", recursive=True)
    with place_of(ADDRESS, silent) as place, RunFolder(place.path, {"seed": 2}) as folder:
        assert folder.read_shard("0") is None


def test_refuses_what_is_not_ours_and_leaves_it_as_it_was(store: Any) -> None:
    store.pipe("/bucket/run/thesis.tex", b"precious")
    with pytest.raises(BadInput, match=r"memory://bucket/run is not empty and holds no run"):
        run([])
    assert names(store) == ["thesis.tex"]
    with pytest.raises(BadInput, match="is a file; expected a new or empty folder"):
        run([], address="memory://bucket/run/thesis.tex")
    with pytest.raises(BadInput, match="is a folder; expected the name of a file"), place_of(ADDRESS, silent, file=True):
        pass
    store.rm("/bucket/run/thesis.tex")
    killed([], "1")
    with pytest.raises(BadInput, match=r"memory://bucket/run holds another run: 'seed' is 1 there and 2 now"):  # noqa: SIM117
        with place_of(ADDRESS, silent) as place, RunFolder(place.path, {"seed": 2}):
            pass
    assert names(store) == ["checkpoint.tar", "config.json", "shards/0.parquet"]


@pytest.mark.parametrize("wrong", ["nope://x/y", "memory://", "memory://a/..", "s3://"])
def test_a_wrong_address_is_one_line(wrong: str, store: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInput, match=wrong.rstrip("/").replace(".", r"\.")):
        run([], address=wrong)
    assert not list(tmp_path.iterdir())


def test_file_addresses_are_paths(tmp_path: Path, store: Any) -> None:
    run([], address=f"file://{tmp_path}/run")
    assert (tmp_path / "run" / "results.json").exists()
    assert [is_address(x) for x in ("runs/a", "/a:b/c", "C:\\x", Path("s3://b"))] == [False] * 4
    assert inside("s3://b/run/", "report.html") == "s3://b/run/report.html"
    assert inside("runs/x", "report.html") == Path("runs/x/report.html")


def test_a_second_process_waits_for_a_living_owner_and_inherits_from_a_dead_one(
    store: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = "/bucket/run/.lock"
    owner = {"owner": "process 7 on far\x1b[31m, since 1 May, 10:00", "token": "x", "beats": 0}
    store.pipe(lock, json.dumps(owner).encode())
    monkeypatch.setattr(lease, "EXPIRES", 0.3)
    said: list[str] = []
    looked = store.cat_file

    def beating(path: str, *more: Any) -> bytes:
        if path.endswith(".lock") and owner["beats"] < 60:  # 60 looks long it is alive: far more than 0.3 seconds
            owner["beats"] += 1
            store.pipe(lock, json.dumps(owner).encode())
        return looked(path, *more)

    store.cat_file = beating
    try:
        run([], say=said.append)
    finally:
        del store.cat_file
    assert owner["beats"] == 60
    assert said[0].startswith("memory://bucket/run is in use by process 7 on far [31m, since 1 May, 10:00; waiting")
    assert "it counts as ended" in said[1]
    assert "results.json" in names(store)
    assert ".lock" not in names(store)


def test_a_killed_process_of_this_machine_keeps_nobody_waiting(store: Any) -> None:
    killed([], "1")
    token = (staging(ADDRESS) / ".token").read_text()
    store.pipe("/bucket/run/.lock", json.dumps({"owner": "process 1", "token": token, "beats": 9}).encode())
    said: list[str] = []
    run([], say=said.append)
    assert said == []


def test_who_lost_the_lease_writes_nothing_more(store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "BEAT", 0.02)
    another = json.dumps({"owner": "process 8 on far", "token": "y", "beats": 0}).encode()

    def taken_over() -> None:
        with place_of(ADDRESS, silent) as place, RunFolder(place.path, {"seed": 1}) as folder:
            folder.write_shard("0", ROWS)
            store.pipe("/bucket/run/.lock", another)
            lease.time.sleep(0.3)
            folder.write_shard("1", ROWS)

    with pytest.raises(BadInput, match=r"memory://bucket/run was taken over by process 8 on far"):
        taken_over()
    assert names(store) == [".lock", "config.json", "shards/0.parquet"]
    assert store.cat("/bucket/run/.lock") == another


def whence(argv: list[str], monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(sys, "argv", ["whence", *argv])
    with pytest.raises(SystemExit) as stop:
        main()
    return int(stop.value.code or 0)


def made_model(classifier: Any, folder: Path) -> str:
    classifier.model.save_pretrained(folder)
    classifier.tokenizer.save_pretrained(folder)
    return str(folder)


def untimed(name: str, content: bytes) -> object:
    if name in ("timing.json", "report.html"):
        return name
    if name == "results.json":
        return {key: value for key, value in json.loads(content).items() if key != "seconds"}
    return content


def test_every_verb_leaves_at_an_address_what_it_leaves_in_a_folder(
    store: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    torch.manual_seed(0)
    bert, pairs = made_model(tiny_bert(), tmp_path / "bert"), made_model(own_model("decomposable"), tmp_path / "pairs")
    data = tmp_path / "texts.csv"
    data.write_text("text\n" + "".join(f'"{sentence}"\n' for sentence in SENTENCES))
    (tmp_path / "two.tsv").write_text("premise\thypothesis\tlabel\nA cat sat.\tA dog slept.\tneutral\n")
    verbs = {
        "audited": ["audit", "--model", bert, "--data", str(data), "--method", "gradient_l2", "--measure", "sufficiency"],
        "x.jsonl": ["explain", "--model", bert, "--data", str(data), "--method", "gradient_l2", "--json"],
        "one.jsonl": ["explain", "--model", bert, "--text", "A good film.", "--method", "gradient_l2"],
        "y.jsonl": ["align", "--model", pairs, "--data", str(tmp_path / "two.tsv"), "--method", "leave_one_out"],
        "y.svg": ["align", "--model", pairs, "--text", "A cat sat.", "--pair", "A dog.", "--method", "leave_one_out"],
        "trained": ["train", "--model", "mlp", "--data", "reviews", "--limit", "20", "--epochs", "2"],
    }
    for name, argv in verbs.items():
        for out in (str(tmp_path / "here" / name), f"memory://there/{name}"):
            assert whence([*argv, "--out", out], monkeypatch) == 0
            printed = capsys.readouterr()
            assert "addresses" not in printed.out + printed.err, "lines name the address, not the folder in the cache"
            if name in ("audited", "trained"):
                assert f"{out}/" in printed.out.replace("\n", "")
    local = files_in(tmp_path / "here")
    there = {name.removeprefix("/there/"): store.cat(name) for name in store.store}
    assert there.keys() == local.keys()
    assert {name: untimed(Path(name).name, value) for name, value in there.items()} == {
        name: untimed(Path(name).name, value) for name, value in local.items()
    }
    assert whence([*verbs["trained"], "--seed", "3", "--out", "memory://there/trained"], monkeypatch) == 2
    assert "whence: memory://there/trained holds another run" in capsys.readouterr().err


S3_RUN = """
import os, sys
from whence.run.mirror import place_of
from whence.run import RunFolder
sys.path.insert(0, sys.argv[1])
from test_mirror import ROWS, checkpoint
from whence.run import replace_folder
with place_of(sys.argv[2], print) as place, RunFolder(place.path, {"seed": 1}) as folder:
    replace_folder(folder.path / "checkpoint", lambda path: checkpoint(path, "1"))
    folder.write_shard("0", ROWS)
    os.kill(os.getpid(), 9)
"""


def test_a_store_of_objects_and_a_process_that_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a real server, if one is installed: pip install 'moto[server]' s3fs."""
    moto = pytest.importorskip("moto.server", reason="moto[server] and s3fs are not installed")
    s3fs = pytest.importorskip("s3fs", reason="moto[server] and s3fs are not installed")
    import subprocess

    server = moto.ThreadedMotoServer(port=0)
    server.start()
    try:
        host, port = server.get_host_and_port()
        url = f"http://{host}:{port}"
        keys = {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x", "AWS_DEFAULT_REGION": "us-east-1"}
        for name, value in {**keys, "AWS_ENDPOINT_URL": url}.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("WHENCE_CACHE", str(tmp_path / "cache"))
        monkeypatch.setattr(lease, "POLL", 0.05)
        monkeypatch.setattr(lease, "EXPIRES", 0.5)
        s3fs.S3FileSystem.clear_instance_cache()
        store = s3fs.S3FileSystem()
        store.mkdir("bucket")
        here = [sys.executable, "-c", S3_RUN, str(Path(__file__).parent), "s3://bucket/deep/run"]
        tests = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
        done = subprocess.run(here, env={**os.environ, "PYTHONPATH": tests}, capture_output=True, text=True)
        assert done.returncode == -9, done.stderr
        found = sorted(name.removeprefix("bucket/deep/run/") for name in store.find("bucket/deep/run"))
        assert found == [".lock", "checkpoint.tar", "config.json", "shards/0.parquet"]
        elsewhere(tmp_path, monkeypatch)
        said: list[str] = []
        made: list[str] = []
        run(made, say=said.append, address="s3://bucket/deep/run")
        assert made == ["1", "2"]
        assert "in use by process" in said[0]
        assert "counts as ended" in said[1]
        store.invalidate_cache()
        found = sorted(name.removeprefix("bucket/deep/run/") for name in store.find("bucket/deep/run"))
        assert found == ["checkpoint/inner/weights", "checkpoint/state.json", "config.json", "results.json",
                         *(f"shards/{i}.parquet" for i in range(3))]  # fmt: skip
        with pytest.raises(BadInput, match="cannot be"):
            run([], address="s3://no-such-bucket/run")
    finally:
        server.stop()
