"""Do time per text and memory stay flat as a corpus grows? The same audit of more and more planted reviews.

Each size is audited in a process of its own, by `whence audit` on a file, with a small untrained model: what is measured is all
that is not the model.

  per text   seconds of the whole command, without its start-up (that of one text), divided by texts
  peak       the largest resident memory of the process, and how much of it is above that of one text
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from common import table

SIZES = (1_000, 10_000, 100_000)
METHOD, MEASURE = "gradient_l2", "sufficiency"
"""Random explanations are in every audit beside the method."""


def prepare(folder: Path, sizes: tuple[int, ...]) -> None:
    from whence.data import open_corpus
    from whence.models.build import build_model

    corpus = open_corpus("reviews")
    texts = [(e.texts["text"], e.label) for e in corpus.load("train")]
    model, tokenizer = build_model("mlp", corpus.labels, (text for text, _ in texts), None, {"hidden_size": 16})
    if not (folder / "model").exists():
        model.save_pretrained(folder / "model")
        tokenizer.save_pretrained(folder / "model")
    for size in sizes:
        if (folder / f"{size}.jsonl").exists():
            continue
        with (folder / f"{size}.jsonl").open("w", encoding="utf-8") as file:
            for i in range(size):  # every text is another one: nothing is answered from memory
                text, label = texts[i % len(texts)]
                file.write(json.dumps({"id": str(i), "text": f"{text} {i}", "label": label}) + "\n")


def audited(folder: Path, size: int, method: str) -> dict[str, Any]:
    out = folder / f"run-{size}"
    chosen = ["--method", method, "--measure", MEASURE]
    command = ["audit", "--model", str(folder / "model"), "--data", str(folder / f"{size}.jsonl"), "--out", str(out), *chosen]
    started = time.perf_counter()
    child = subprocess.Popen([sys.executable, "-c", "from whence.cli import main; main()", *command], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    if status:
        raise SystemExit(f"the audit of {size} texts failed")
    seconds = time.perf_counter() - started
    scale = 1 if sys.platform == "darwin" else 1024  # Linux counts kilobytes
    written = sum(file.stat().st_size for file in out.rglob("*") if file.is_file())
    return {"texts": size, "seconds": seconds, "cpu": used.ru_utime + used.ru_stime, "peak": used.ru_maxrss * scale,
            "written": written}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--method", default=METHOD)
    parser.add_argument("--folder", type=Path, help="Keep everything here: a killed run of a large size continues.")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with tempfile.TemporaryDirectory() as away:
        place = asked.folder or Path(away)
        place.mkdir(parents=True, exist_ok=True)
        prepare(place, (1, *asked.sizes))
        shutil.rmtree(place / "run-1", ignore_errors=True)
        alone = audited(place, 1, asked.method)
        rows = [audited(place, size, asked.method) for size in asked.sizes]
    if asked.json:
        print(json.dumps({"start": alone, "rows": rows}, indent=1))
        return
    print(table(
        ["texts", "ms per text", "CPU ms per text", "peak MB", "above one text", "written MB"],
        [[f"{r['texts']:,}", f"{1000 * (r['seconds'] - alone['seconds']) / r['texts']:.2f}",
          f"{1000 * (r['cpu'] - alone['cpu']) / r['texts']:.2f}", f"{r['peak'] / 1e6:.0f}",
          f"{(r['peak'] - alone['peak']) / 1e6:.0f}", f"{r['written'] / 1e6:.0f}"] for r in rows],
    ))  # fmt: skip


if __name__ == "__main__":
    main()
