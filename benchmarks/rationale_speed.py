"""Written rationales: batched writing and attribution against one example at a time.

The plain way, as one would write it: for each example `model.generate` (greedy), then a forward pass and a backward pass for
each written token. Both ways write the same tokens and give the same numbers, which is checked. CPU seconds, the fastest of a
few runs that take turns, because other jobs may share the machine.
"""

import argparse
import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from common import corpus_and_texts, table
from token_gradients import WANT, one_at_a_time, small_t5

from whence.models import Encoded, Generated, Seq2Seq, Text
from whence.run import Request, Runner


def write_one_at_a_time(model: Seq2Seq, encoded: list[Encoded], tokens: int) -> list[tuple[int, ...]]:
    found = []
    for item in encoded:
        ids = torch.from_numpy(item.ids)[None]
        with torch.no_grad():
            out = model.model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=tokens, do_sample=False)
        found.append(tuple(out[0, 1:].tolist()))
    return found


def write_batched(model: Seq2Seq, encoded: list[Encoded], tokens: int) -> list[tuple[int, ...]]:
    written: list[Generated | None] = [r.written for r in Runner(model).run([Request(e, write=tokens) for e in encoded])]
    return [one.ids for one in written if one is not None]


def score_batched(model: Seq2Seq, encoded: list[Encoded], targets: list[Text]) -> list[np.ndarray]:
    results = Runner(model).run([Request(e, want=WANT, target=t) for e, t in zip(encoded, targets, strict=True)])
    return [r.extras["token_gradients"][:, : len(t.ids)] for r, t in zip(results, targets, strict=True)]


def in_turns(works: dict[str, Callable[[], Any]], repeats: int) -> tuple[dict[str, float], dict[str, Any]]:
    """CPU seconds of the fastest run of each, and what it gave; the first round is a warm-up."""
    seconds: dict[str, list[float]] = {name: [] for name in works}
    found = {}
    for _ in range(repeats + 1):
        for name, work in works.items():
            started = time.process_time()
            found[name] = work()
            seconds[name].append(time.process_time() - started)
    return {name: min(several[1:]) for name, several in seconds.items()}, found


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--examples", type=int, default=48)
    options.add_argument("--tokens", type=int, default=20, help="Of each text: nothing ends one before.")
    options.add_argument("--width", type=int, default=128)
    options.add_argument("--layers", type=int, default=3)
    options.add_argument("--vocabulary", type=int, default=32128, help="Rows of the word table, at least; T5 has 32128.")
    options.add_argument("--repeats", type=int, default=3)
    options.add_argument("--threads", type=int, default=1)
    options.add_argument("--json", action="store_true")
    given = options.parse_args()
    torch.set_num_threads(given.threads)
    _, examples = corpus_and_texts("scenes", given.examples)
    texts = [text for e in examples for text in (*e.texts.values(), *e.explanations)]
    texts.append("explain nli hypothesis: premise: neutral entailment contradiction")
    model = small_t5(texts, given.width, given.layers, given.vocabulary)
    model.ends, model.model.generation_config.eos_token_id = (), None  # an untrained model would end anywhere
    encoded = model.encode(examples)
    ids = write_batched(model, encoded, given.tokens)
    targets = [Text(one, (True,) * len(one)) for one in ids]
    seconds, found = in_turns(
        {
            "write plain": lambda: write_one_at_a_time(model, encoded, given.tokens),
            "write": lambda: write_batched(model, encoded, given.tokens),
            "score plain": lambda: one_at_a_time(model, encoded, targets),
            "score": lambda: score_batched(model, encoded, targets),
        },
        given.repeats,
    )
    same = np.mean([a == b for a, b in zip(found["write"], found["write plain"], strict=True)])
    gap = max(float(np.abs(a - b).max() / np.abs(b).max()) for a, b in zip(found["score"], found["score plain"], strict=True))
    plain, ours = ([seconds[f"write{way}"], seconds[f"score{way}"]] for way in (" plain", ""))
    result = {
        "examples": len(examples), "written tokens": sum(map(len, ids)), "width": given.width, "layers": given.layers,
        "vocabulary": model.model.config.vocab_size,
        "writing one at a time, CPU s": plain[0], "writing batched, CPU s": ours[0], "writing, ratio": plain[0] / ours[0],
        "gradients one at a time, CPU s": plain[1], "gradients batched, CPU s": ours[1], "gradients, ratio": plain[1] / ours[1],
        "both, ratio": sum(plain) / sum(ours), "same tokens written": same, "largest relative gap": gap,
    }  # fmt: skip
    print(json.dumps(result) if given.json else table(["", ""], [[name, f"{value:,.4g}"] for name, value in result.items()]))


if __name__ == "__main__":
    main()
