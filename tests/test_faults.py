"""Whatever write of a command fails, and wherever it is killed: the same command, run again, ends with the same bytes.

Every call that changes a file is made to go wrong, in turn, below Python (faults/shim.c). Here a part of the calls is tried;
with WHENCE_FAULTS=all every call and every fault, which takes half an hour (docs/reliability.md has the table).
"""

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

FAULTS = Path(__file__).parent / "faults"
COMPILER = shutil.which("cc") or shutil.which("gcc")
ALL = os.environ.get("WHENCE_FAULTS") == "all"


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if COMPILER is None or sys.platform != "linux":
        pytest.skip("needs Linux and a C compiler, to let calls of the operating system fail")
    library = tmp_path_factory.mktemp("shim") / "shim.so"
    subprocess.run([COMPILER, "-shared", "-fPIC", "-O1", "-o", library, FAULTS / "shim.c", "-ldl"], check=True)
    return library


@pytest.mark.parametrize(
    ("job", "every", "fewest"), [("explain", 2, 5), ("align", 3, 5), ("audit", 8, 40), ("train", 17, 80), ("study", 6, 30)]
)
@pytest.mark.parametrize("fault", ["fail", "full", "kill"] if ALL else ["turns"])
def test_run_again_it_ends_the_same(job: str, every: int, fewest: int, fault: str, shim: Path, tmp_path: Path) -> None:
    command = [sys.executable, str(FAULTS / "driver.py"), str(tmp_path), job, fault, str(1 if ALL else every)]
    environment = {**os.environ, "LD_PRELOAD": str(shim), "OMP_NUM_THREADS": "1", "WHENCE_CACHE": str(tmp_path / "cache")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["points"] >= fewest, "the calls are seen at all"
    assert [row for row in found["rows"] if row["problem"]] == []
    print(job, fault, dict(Counter(row["outcome"] for row in found["rows"])))  # `pytest -s`: a row of docs/reliability.md
    expected = {"kill": {"killed"}, "turns": {"killed", "one line, exit code 2"}}.get(fault, {"one line, exit code 2"})
    assert {row["outcome"] for row in found["rows"]} >= expected, "the faults do strike"
