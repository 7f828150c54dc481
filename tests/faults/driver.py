"""Lets every write of a command go wrong, in turn, and runs the command again: what is left must be the same bytes.

    LD_PRELOAD=shim.so python driver.py FOLDER JOB FAULT [EVERY]      JOB: explain, align, audit, train, study

FAULT is fail (the call fails once), full (so do all later calls that need space), kill (the process ends there, in the middle
of a write), or turns (another one at each point). EVERY: every so many-th call only. Prints one JSON object, {"points": …,
"rows": [{"point", "fault", "call", "outcome", "problem"}, …]}. The parent runs the command once, so that all libraries are
loaded, and forks a child for each attempt.
"""

import ctypes
import json
import os
import re
import shutil
import sys
from contextlib import redirect_stderr, redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))
os.environ["HF_HUB_OFFLINE"] = "1"

import torch
from pydantic import BaseModel
from tiny import SENTENCES, tiny_bert

from whence.cli import main
from whence.run import Piece, write_json
from whence.studies.registry import register
from whence.studies.study import Claim, Context, Findings, Study, Table

FAULTS = {"fail": 1, "kill": 2, "full": 3}
KILLED = 137
UNEQUAL = ("timing.json", "seconds.json")
"""Files that say how long something took."""
SECONDS = ("seconds", "pieces")
DURATIONS = re.compile(rb"<div><dt>die-\w+</dt><dd>[^<]*</dd></div>|\b\d+ (s|min)\b")
"""In reports; the pieces of a study are listed by the time that they took."""
fault = ctypes.CDLL(None).whence_fault
fault.argtypes = [ctypes.c_char_p, ctypes.c_long, ctypes.c_int, ctypes.c_int]


class Settings(BaseModel):
    draws: int = 5


def throw(die: str) -> list[dict[str, Any]]:
    return [{"eyes": int(eyes)} for eyes in torch.randint(1, 7, (5,))]


def toy(context: Context) -> Findings:
    rows = context.do([Piece(f"die-{name}", throw, {"die": name}) for name in ("red", "blue")])
    write_json(context.artefact("dice") / "all.json", rows)
    table = [{"die": name, "ours": float(sum(row["eyes"] for row in several)), "paper": 17.5} for name, several in rows.items()]
    return Findings([Table("eyes", "Eyes", "", ["die", "ours", "paper"], table)], [], [Claim("Fair.", "holds", "")], [])


def command(job: str, given: Path, out: Path) -> list[str]:
    data, model = str(given / "texts.csv"), str(given / "model")
    return {
        "explain": ["explain", "--model", model, "--data", data, "--method", "gradient_l2", "--out", str(out / "made.jsonl")],
        "align": ["align", "--model", model, "--data", str(given / "pairs.csv"), "--method", "gradient",
                  "--out", str(out / "made.jsonl")],
        "audit": ["audit", "--model", model, "--data", data, "--method", "gradient_l2", "--measure", "sufficiency",
                  "--out", str(out / "run")],
        "train": ["train", "--model", "mlp", "--data", str(given / "splits"), "--epochs", "2", "--option", "hidden_size=4",
                  "--out", str(out / "run")],
        "study": ["study", "toy", "--scale", "smoke", "--out", str(out / "run")],
    }[job]  # fmt: skip


def attempt(argv: list[str], out: Path, point: int, mode: int) -> tuple[int, list[str], str]:
    """(exit code, the calls that change something below `out`, what was printed) of one run in a child."""
    calls_read, calls = os.pipe()
    said = out.parent / f"{out.name}.said"
    child = os.fork()
    if child == 0:
        os.close(calls_read)
        printed = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(printed, 1)
        os.dup2(printed, 2)
        sys.argv = ["whence", *argv]
        fault(os.fsencode(out) + b"/", point, mode, calls)
        code = 99
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
        except BaseException:
            import traceback

            traceback.print_exc()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    os.close(calls)
    with os.fdopen(calls_read) as log:
        made = log.read().splitlines()
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status), made, said.read_text(errors="replace")


def warm_up(argv: list[str]) -> None:
    sys.argv = ["whence", *argv]
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()), suppress(SystemExit):
        main()


def contents(out: Path) -> dict[str, Any]:
    """All that lies in a folder, without what says how long it took."""
    found: dict[str, Any] = {}
    for path in sorted(out.rglob("*")):
        name = str(path.relative_to(out))
        if path.is_dir() or path.name in UNEQUAL:
            found[name] = None
        elif path.name == "results.json":
            found[name] = {k: v for k, v in json.loads(path.read_text()).items() if k not in SECONDS}
        else:
            found[name] = DURATIONS.sub(b"", path.read_bytes()) if path.suffix == ".html" else path.read_bytes()
    return found


def fresh(out: Path, job: str) -> Path:
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    if job in ("explain", "align"):
        (out / "made.jsonl").write_text("older explanations\n")
    return out


def outcome(job: str, fault_name: str, code: int, out: Path, before: dict[str, Any], whole: dict[str, Any]) -> str:
    """What is wrong after the fault and before the second run; nothing, if all is well."""
    if code not in (0, KILLED if fault_name == "kill" else 2):
        return f"exit code {code}"
    left = contents(out)
    if job in ("explain", "align") and left.get("made.jsonl") not in (before["made.jsonl"], whole["made.jsonl"]):
        return "the older file is neither kept nor replaced whole"
    return ""


def enumerate_faults(folder: Path, job: str, fault_name: str, every: int) -> dict[str, Any]:
    given, out = folder / "given", folder / "out"
    argv = command(job, given, out)
    warm_up(command(job, given, fresh(folder / "warm", job)))
    before = contents(fresh(out, job))
    code, calls, said = attempt(argv, out, -1, 0)
    assert code == 0, said
    whole = contents(out)
    rows = []
    for turn, point in enumerate(range(0, len(calls), every)):
        name = [*FAULTS][turn % len(FAULTS)] if fault_name == "turns" else fault_name
        code, _, said = attempt(argv, fresh(out, job), point, FAULTS[name])
        problem = outcome(job, name, code, out, before, whole)
        if not problem:
            again, _, said = attempt(argv, out, -1, 0)
            after = contents(out)
            different = [name for name in sorted({*after, *whole}) if name not in after or after[name] != whole.get(name, 0)]
            problem = f"the second run ended with {again}" if again else f"not the same: {different}" if different else ""
        shown = {0: "went on", 2: "one line, exit code 2", KILLED: "killed"}.get(code, str(code))
        rows.append({"point": point, "fault": name, "call": calls[point].replace(str(out), "OUT"), "outcome": shown,
                     "problem": problem, "said": said[-2000:] if problem else ""})  # fmt: skip
    return {"points": len(calls), "rows": rows}


def prepare(folder: Path) -> None:
    if not (folder / "given").exists():
        torch.manual_seed(0)
        classifier = tiny_bert()
        for part in (classifier.model, classifier.tokenizer):
            part.save_pretrained(folder / "given" / "model")
        rows = "".join(f'"{SENTENCES[i % 4]}"\n' for i in range(10))
        (folder / "given" / "texts.csv").write_text("text\n" + rows)
        pairs = "".join(f'"{SENTENCES[i % 4]}","{SENTENCES[(i + 1) % 4]}"\n' for i in range(10))
        (folder / "given" / "pairs.csv").write_text("premise,hypothesis\n" + pairs)
        (folder / "given" / "splits").mkdir()
        for split in ("train", "dev", "test"):
            labelled = "".join(f'"{sentence}",{"good" if i % 2 else "bad"}\n' for i, sentence in enumerate(SENTENCES))
            (folder / "given" / "splits" / f"{split}.csv").write_text("text,label\n" + labelled)


if __name__ == "__main__":
    register(Study("toy", "Toy", "–", "Dice.", lambda scale: Settings(), toy))
    where, job_name, kind, step = Path(sys.argv[1]), sys.argv[2], sys.argv[3], int((*sys.argv, "1")[4])
    prepare(where)
    sys.stdout.write(json.dumps(enumerate_faults(where, job_name, kind, step)) + "\n")
