"""Whence beside ferret-xai, captum, shap and lime: seconds at equal samples, and seconds to equal error.

Each peer is installed from PyPI into an environment of its own under WORK/envs and runs in a process of its own, on one thread,
with the same weights and sentences (game.py). Seconds are CPU seconds for one sentence, so other jobs on the machine matter
little. What is there already in WORK is not done again: delete a file to repeat it.

Errors are of short sentences (9 words, each one token for all tools), where the truth can be computed from all 2ⁿ masks:

  Shapley   φ_i = Σ_S |S|! (n−|S|−1)!/n! (v(S ∪ i) − v(S))
  LIME      what LIME with 10,000 samples comes to: its weighted ridge regression over all masks, each counted as often as
            10,000 draws bring it on average. Ferret also hides the two special tokens, so it has a truth of its own.
  error     Σ |score − truth| / Σ |truth| over the words of all sentences
"""

import argparse
import json
import os
import subprocess
import sys
from itertools import product
from math import comb, factorial
from pathlib import Path
from typing import Any

import numpy as np
from game import Game, Sentence
from sklearn.linear_model import Ridge

from whence.data import open_corpus
from whence.models import Classifier

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
from common import table  # noqa: E402

TORCH = "torch==2.13.0"
PEERS = {
    # pyarrow 17 is the last that goes with the numpy that ferret asks for
    "ferret": [TORCH, "ferret-xai==0.4.2", "pyarrow==17.0.0", "transformers==4.57.6"],
    "captum": [TORCH, "captum==0.9.0", "transformers==5.23.0"],
    "shap": [TORCH, "shap==0.51.0", "transformers==5.23.0"],
    "lime": [TORCH, "lime==0.2.0.1", "transformers==5.23.0"],
}
WORDS = (9, 9)
DRAWS = 10_000
Line = dict[str, Any]


def sentences(model: str, data: str, short: int, usual: int) -> dict[str, list[str]]:
    """Short ones in which every word is one token, and as many of any length, evenly spread over the test split."""
    classifier, examples = Classifier.load(model), open_corpus(data).load("test")
    texts = [e.texts["text"] for e in examples]
    encoded = classifier.encode([e for e in examples if WORDS[0] <= len(e.texts["text"].split(" ")) <= WORDS[1]])
    plain = [
        text
        for e in encoded
        for text in [e.example.texts["text"]]
        if e.word_count == len(e) - 2 == len(text.split(" ")) and (e.word[1:-1] == np.arange(len(e) - 2)).all()
    ]
    return {"short": plain[:short], "usual": texts[:: max(1, len(texts) // usual)][:usual]}


def run(name: str, work: Path, task: Line, out: str, python: str) -> list[Line]:
    found = work / out
    if not found.exists():
        given = work / f"{out}.task"
        given.write_text(json.dumps(task))
        single = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
        command = [python, str(HERE / f"with_{name}.py"), str(given), str(found)]
        subprocess.run(command, check=True, env={**os.environ, **single})
    lines: list[Line] = json.loads(found.read_text())
    return lines


def environment(name: str, work: Path) -> str:
    folder = work / "envs" / name
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *PEERS[name]], check=True)
    return str(python)


def shapley(values: np.ndarray, n: int) -> np.ndarray:
    """`values` by mask, word i being bit n − 1 − i."""
    found = np.zeros(n)
    for mask in range(2**n):
        size = mask.bit_count()
        for i in range(n):
            bit = 1 << (n - 1 - i)
            if not mask & bit:
                found[i] += factorial(size) * factorial(n - size - 1) / factorial(n) * (values[mask | bit] - values[mask])
    return found


def lime_limit(masks: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The released kernel and draw: 1 to n words hidden, each number as likely; the whole text once."""
    n = masks.shape[1]
    hidden = n - masks.sum(1)
    often = np.array([1.0 if h == 0 else (DRAWS - 1) / n / comb(n, int(h)) for h in hidden])
    distance = 100 * (1 - np.sqrt(masks.mean(1)))
    weights = often * np.sqrt(np.exp(-(distance**2) / 25**2))
    return Ridge(alpha=1.0).fit(masks, values, sample_weight=weights).coef_


def truths(game: Game, texts: list[str]) -> dict[str, list[np.ndarray]]:
    found: dict[str, list[np.ndarray]] = {"shapley": [], "lime": [], "lime, special tokens too": []}
    for text in texts:
        one: Sentence = game.read(text)
        n = one.words
        masks = np.array(list(product((0, 1), repeat=n + 2)))
        values = one.worth(masks).astype(np.float64)
        inner = masks[:, 0].astype(bool) & masks[:, -1].astype(bool)
        found["shapley"].append(shapley(values[inner], n))
        found["lime"].append(lime_limit(masks[inner][:, 1:-1], values[inner]))
        found["lime, special tokens too"].append(lime_limit(masks, values)[1:-1])
    return found


def error(scores: list[list[float]], truth: list[np.ndarray]) -> float:
    gaps = [np.abs(np.array(s)[-len(t) - 1 : -1] - t if len(s) == len(t) + 2 else np.array(s) - t).sum()
            for s, t in zip(scores, truth, strict=True)]  # fmt: skip
    return float(sum(gaps) / sum(np.abs(t).sum() for t in truth))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", required=True, help="folder of a classifier, such as a MiniLM trained on SST")
    parser.add_argument("--data", default="sst")
    parser.add_argument("--work", type=Path, required=True, help="where environments and results are kept")
    parser.add_argument("--short", type=int, default=10, help="sentences with exact values")
    parser.add_argument("--usual", type=int, default=8, help="sentences of any length")
    parser.add_argument("--peer", choices=list(PEERS), action="append", help="only these; default: all")
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    chosen = args.work / "sentences.json"
    if not chosen.exists():
        chosen.write_text(json.dumps(sentences(args.model, args.data, args.short, args.usual)))
    task = {"model": args.model, "whole": None, **json.loads(chosen.read_text())}
    known = args.work / "truth.json"
    if not known.exists():
        found = truths(Game(args.model), task["short"])
        known.write_text(json.dumps({name: [v.tolist() for v in several] for name, several in found.items()}))
    truth = {name: [np.array(v) for v in several] for name, several in json.loads(known.read_text()).items()}
    lines = run("whence", args.work, task, "whence.json", sys.executable)
    for name in args.peer or PEERS:
        lines += run(name, args.work, task, f"{name}.json", environment(name, args.work))
    for line in lines:
        line["error"] = error_of(line, truth, lines)
    for texts in ("short", "usual"):
        print(f"{texts} sentences\n\n{equal_samples([x for x in lines if x['texts'] == texts])}\n")
    rows, needed = equal_error([x for x in lines if x["texts"] == "short"])
    print(rows, "\n")
    if any(x["tool"].startswith("ferret") for x in lines):
        # of long sentences the truth is not known: LIME takes as many samples as ferret's does
        settings = {"short": needed, "usual": {**needed, "lime": {"n_samples": _ferret_draws(lines, "usual")}}}
        whole = run("whence", args.work, {**task, "whole": settings}, "whence-whole.json", sys.executable)
        print(totals(lines, whole), "\n", json.dumps(settings))


def error_of(line: Line, truth: dict[str, list[np.ndarray]], lines: list[Line]) -> float | None:
    """Of short sentences, where a truth is known; None elsewhere."""
    if line["texts"] != "short" or line["scores"] is None:
        return None
    if line["method"].endswith("SHAP"):
        return error(line["scores"], truth["shapley"])
    if line["method"] == "LIME":
        return error(line["scores"], truth["lime, special tokens too" if line["tool"].startswith("ferret") else "lime"])
    same = [x for x in lines if x["texts"] == "short" and x["method"] == line["method"] and x["tool"] == line["tool"]]
    limit = next((x for x in same if x["setting"] == "limit" or _tolerance(x) == 0.002), None)
    return None if limit is None else error(line["scores"], [np.array(s) for s in limit["scores"]])


def _tolerance(line: Line) -> float | None:
    return line["setting"].get("tolerance") if isinstance(line["setting"], dict) else None


def _ferret_draws(lines: list[Line], texts: str) -> int:
    return round(next(x["passes"] for x in lines if x["tool"].startswith("ferret") and x["method"] == "LIME"
                      and x["texts"] == texts and x["setting"] == "default"))  # fmt: skip


def equal_samples(lines: list[Line]) -> str:
    rows = [
        [x["method"], x["tool"], _setting(x), f"{x['seconds']:.3f}", f"{x['passes']:.0f}",
         f"{1000 * x['seconds'] / max(1, x['passes']):.1f}"]
        for x in sorted(lines, key=lambda x: (x["method"], x["seconds"]))
    ]  # fmt: skip
    return table(["method", "tool", "setting", "CPU s", "passes", "ms a pass"], rows)


def equal_error(lines: list[Line]) -> tuple[str, Line]:
    """For each peer's line the cheapest of ours that is at least as good; and the settings that equal ferret's."""
    kinds = {"SHAP": "Kernel SHAP", "LIME": "LIME", "Integrated Gradient (x": "Integrated gradients"}
    rows, needed = [], {}
    for x in lines:
        kind = next((ours for part, ours in kinds.items() if part in x["method"]), None)
        if x["tool"].startswith("Whence") or x["error"] is None or kind is None or x["setting"] == "limit":
            continue
        as_good = [w for w in lines if w["tool"].startswith("Whence") and w["method"] == kind and w["error"] is not None
                   and w["error"] <= x["error"] and _tolerance(w) != 0.002]  # fmt: skip
        best = min(as_good, key=lambda w: w["seconds"], default=None)
        theirs = _shown(x)
        if best is None:
            rows.append([*theirs, "none as good", "", "", "", ""])
            continue
        rows.append([*theirs, *_shown(best)[1:], f"{x['seconds'] / best['seconds']:.1f}"])
        if x["tool"].startswith("ferret") and x["setting"] == "default":
            needed[kind.lower().replace(" ", "_")] = best["setting"]
    if {"kernel_shap", "lime"} <= set(needed):  # with as many samples they ask about the same masks of a short text
        both = max((needed[name] for name in ("kernel_shap", "lime")), key=lambda setting: setting["n_samples"])
        needed |= {"kernel_shap": both, "lime": both}
    head = ["peer", "setting", "error", "CPU s", "passes", "Whence", "error", "CPU s", "passes", "times faster"]
    ours = [_shown(w) for w in lines if w["tool"].startswith("Whence") and w["error"] is not None]
    return table(head, rows) + "\n\n" + table(["ours", "setting", "error", "CPU s", "passes"], ours), needed


def totals(lines: list[Line], whole: list[Line]) -> str:
    rows = []
    for texts in ("short", "usual"):
        ferret = [x for x in lines if x["tool"].startswith("ferret") and x["texts"] == texts and x["setting"] == "default"]
        seconds, passes = (sum(x[key] for x in ferret) for key in ("seconds", "passes"))
        rows.append([texts, ferret[0]["tool"], f"{seconds:.2f}", f"{passes:.0f}", ""])
        for x in (x for x in whole if x["texts"] == texts):
            name, times = f"{x['tool']}, {x['method']}", f"{seconds / x['seconds']:.1f}"
            rows.append([texts, name, f"{x['seconds']:.2f}", f"{x['passes']:.0f}", times])
    return table(["sentences", "six explanations and three measures", "CPU s", "forward passes", "times faster"], rows)


def _shown(line: Line) -> list[str]:
    name = f"{line['tool']}, {line['method']}"
    return [name, _setting(line), f"{line['error']:.3f}", f"{line['seconds']:.3f}", f"{line['passes']:.0f}"]


def _setting(line: Line) -> str:
    setting = line["setting"]
    if isinstance(setting, dict):
        return ", ".join(f"{name} {value}" for name, value in setting.items())
    return "" if setting is None else str(setting)


if __name__ == "__main__":
    main()
