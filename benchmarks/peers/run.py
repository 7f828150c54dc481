"""Whence beside ferret-xai, captum, shap and lime: seconds at equal samples, and seconds to equal error.

Each peer is installed from PyPI into an environment of its own under WORK/envs and runs in a process of its own, on one thread,
with the same weights and sentences (game.py). Seconds are CPU seconds for one sentence, so other jobs on the machine matter
little. What is there already in WORK is not done again: delete a file to repeat it.

Two sets of sentences: short ones (9 words, each one token for all tools), and usual ones, spread evenly over the test split.
The truth that errors are measured against is in truth.py; of usual ones it is sampled, and how far it may be off is printed.
Tools are compared with the truth of their own players: words in Whence, tokens in ferret, captum and shap. Ferret's LIME also
hides the two special tokens, so it has a truth of its own.

  error     Σ |score − truth| / Σ |truth| over the players of all sentences
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from game import Game, Sentence
from truth import Players, Truth

from whence.data import Example, open_corpus
from whence.models import Classifier, Encoded
from whence.models.products import fast_products

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
from common import table  # noqa: E402

TORCH = "torch==2.13.0"
PEERS = {
    # pyarrow 17 is the last that goes with the numpy that ferret asks for
    "ferret": [TORCH, "ferret-xai==0.4.2", "pyarrow==17.0.0", "transformers==4.57.6"],
    # of which captum's Kernel SHAP and LIME need scikit-learn, without asking for it
    "captum": [TORCH, "captum==0.9.0", "scikit-learn==1.9.1", "transformers==5.23.0"],
    "shap": [TORCH, "shap==0.51.0", "transformers==5.23.0"],
    "lime": [TORCH, "lime==0.2.0.1", "transformers==5.23.0"],
}
WORDS = (9, 9)
SETS = ("short", "usual")
KINDS = {"SHAP": "Kernel SHAP", "LIME": "LIME", "Integrated Gradient (x": "Integrated gradients"}
"""Of a peer's method, by a part of its name, what is compared with it."""
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


def truths(model: str, texts: list[str]) -> dict[str, Any]:
    """Of words, of tokens, and of tokens with the two special ones among the players, as ferret's LIME has them."""
    game, classifier = Game(model), Classifier.load(model)
    found: dict[str, list[Truth]] = {"shapley, words": [], "lime, words": [], "shapley, tokens": [], "lime, all tokens": []}
    for text in texts:
        [encoded], one = classifier.encode([Example("", {"text": text})]), game.read(text)
        assert (encoded.ids == one.ids.numpy()).all()

        def of_words(masks: np.ndarray, encoded: Encoded = encoded, one: Sentence = one) -> np.ndarray:
            return one.worth(np.stack([encoded.tokens_of(row) for row in masks]))

        with fast_products():
            words = Players(encoded.word_count, of_words)
            found["shapley, words"].append(words.shapley())
            found["lime, words"].append(words.lime())
            found["shapley, tokens"].append(Players(one.words, one.worth).shapley())
            found["lime, all tokens"].append(_inner(Players(one.words + 2, one.worth).lime()))
        print("truth of:", text, file=sys.stderr, flush=True)
    return {name: {"scores": [t.scores.tolist() for t in several], "doubt": sum(t.doubt for t in several)}
            for name, several in found.items()}  # fmt: skip


def _inner(truth: Truth) -> Truth:
    return Truth(truth.scores[1:-1], truth.doubt)


def error(scores: list[list[float]], truth: list[list[float]]) -> float:
    """Σ |score − truth| / Σ |truth|. Scores of special tokens, around the others, have no truth."""
    gaps = [np.abs(np.array(s[1:-1] if len(s) == len(t) + 2 else s) - np.array(t)).sum()
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
        known.write_text(json.dumps({name: truths(args.model, task[name]) for name in SETS}))
    truth = json.loads(known.read_text())
    lines = run("whence", args.work, task, "whence.json", sys.executable)
    for name in args.peer or PEERS:
        lines += run(name, args.work, task, f"{name}.json", environment(name, args.work))
    for line in lines:
        line["error"] = error_of(line, truth[line["texts"]], lines)
    settings = {}
    for texts in SETS:
        of_set = [x for x in lines if x["texts"] == texts]
        print(f"## {texts} sentences\n\n{equal_samples(of_set)}\n\n{equal_error(of_set)}\n\n{doubts(truth[texts])}\n")
        settings[texts] = readings(of_set)
    if any(x["tool"].startswith("ferret") for x in lines):
        whole = run("whence", args.work, {**task, "whole": settings}, "whence-whole.json", sys.executable)
        print(totals(lines, whole), "\n", json.dumps(settings, indent=1))


def error_of(line: Line, truth: dict[str, Any], lines: list[Line]) -> float | None:
    """By the truth of a tool's own players; of integrated gradients, against the tool's own limit. None without a truth."""
    tool, method = line["tool"].split()[0], line["method"]
    other_words = tool == "lime" and line["texts"] == "usual"  # split at spaces: neither ours nor tokens
    if line["scores"] is None or other_words or (tool == "captum" and method == "LIME"):  # which has another kernel
        return None
    if method.endswith("SHAP"):
        return error(line["scores"], truth["shapley, words" if tool == "Whence" else "shapley, tokens"]["scores"])
    if method == "LIME":
        return error(line["scores"], truth["lime, all tokens" if tool == "ferret-xai" else "lime, words"]["scores"])
    same = [x for x in lines if all(x[key] == line[key] for key in ("texts", "method", "tool"))]
    limit = next((x for x in same if _is_limit(x)), None)
    return None if limit is None else error(line["scores"], limit["scores"])


def _is_limit(line: Line) -> bool:
    return line["setting"] == "limit" or (isinstance(line["setting"], dict) and line["setting"].get("n_steps") == 100)


def equal_samples(lines: list[Line]) -> str:
    rows = [
        [x["method"], x["tool"], _setting(x), f"{x['seconds']:.3f}", f"{x['passes']:.0f}",
         f"{1000 * x['seconds'] / max(1, x['passes']):.1f}"]
        for x in sorted(lines, key=lambda x: (x["method"], x["seconds"]))
    ]  # fmt: skip
    return table(["method", "tool", "setting", "CPU s", "passes", "ms a pass"], rows)


def as_good(lines: list[Line], kind: str, most: float) -> Line | None:
    """The cheapest of ours with an error of at most so much."""
    ours = [w for w in lines if w["tool"].startswith("Whence") and w["method"] == kind and w["error"] is not None]
    return min((w for w in ours if w["error"] <= most and not _is_limit(w)), key=lambda w: w["seconds"], default=None)


def equal_error(lines: list[Line]) -> str:
    """For each peer's line the cheapest of ours that is at least as good; then all of ours."""
    rows = []
    for x in lines:
        kind = next((ours for part, ours in KINDS.items() if part in x["method"]), None)
        if x["tool"].startswith("Whence") or x["error"] is None or kind is None or _is_limit(x):
            continue
        best = as_good(lines, kind, x["error"])
        ours = ["none as good", "", "", ""] if best is None else _shown(best)[1:]
        rows.append([*_shown(x), *ours, "" if best is None else f"{x['seconds'] / best['seconds']:.1f}"])
    head = ["peer", "setting", "error", "CPU s", "passes", "Whence", "error", "CPU s", "passes", "times faster"]
    all_ours = [_shown(w) for w in lines if w["tool"].startswith("Whence") and w["error"] is not None]
    return table(head, rows) + "\n\n" + table(["ours", "setting", "error", "CPU s", "passes"], all_ours)


def readings(lines: list[Line]) -> dict[str, Line]:
    """Settings of ours for the whole set, by how "equal error" is read of integrated gradients: within 1 % of the limit, or as
    near to it as ferret's are to theirs. A reading that no setting meets is left out."""
    theirs = {kind: x["error"] for x in lines if x["tool"].startswith("ferret") and x["setting"] == "default"
              for part, kind in KINDS.items() if part in x["method"] and x["error"] is not None}  # fmt: skip
    found = {}
    for reading, most in (("within 1 %", 0.01), ("as near as ferret", theirs.get("Integrated gradients", 0.0))):
        best = {kind: as_good(lines, kind, error) for kind, error in {**theirs, "Integrated gradients": most}.items()}
        if all(best.get(kind) is not None for kind in KINDS.values()):
            needed = {kind.lower().replace(" ", "_"): line["setting"] for kind, line in best.items() if line is not None}
            # with as many samples they ask about the same masks of a short text
            both = max((needed[name] for name in ("kernel_shap", "lime")), key=lambda setting: setting["n_samples"])
            found[reading] = needed | {"kernel_shap": both, "lime": both}
    return found


def doubts(truth: dict[str, Any]) -> str:
    """How far the truths themselves may be off."""
    rows = [[name, f"{of['doubt'] / sum(np.abs(s).sum() for s in of['scores']):.4f}"] for name, of in truth.items()]
    return table(["truth", "estimated error of its own"], rows)


def totals(lines: list[Line], whole: list[Line]) -> str:
    rows = []
    for texts in SETS:
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
