"""Are there cheaper passes on a CPU? One batch through the same weights in several ways: CPU time, and how far the logits move.

Batches are as the runner packs them: rows of one length, 2,048 tokens in all. A way that pays must be faster than torch's own
fused attention, which is what transformers takes by default, and must not move logits. `compiled` is told the shape (no dynamic
sizes); what compiling costs is for all shapes together. `last layer at the first token` and `oneDNN's matrix products` are what
Whence does (models/last_layer.py, models/products.py); the other ways are without them.
"""

import argparse
import copy
import json
import time
from collections.abc import Callable
from typing import Any

import torch
import transformers
from common import PLANTED, corpus_and_texts, settings, table, untrained_minilm
from torch import Tensor, nn

from whence.models import Classifier
from whence.models.last_layer import first_token_only
from whence.models.products import fast_products
from whence.run.runner import BATCH_TOKENS

Way = Callable[[Tensor], Tensor]


def ways(model: nn.Module) -> dict[str, Callable[[], Way]]:
    """Each by name; what it returns was made ready when it is called."""

    def plain(changed: nn.Module) -> Way:
        return lambda ids: changed(input_ids=ids, attention_mask=torch.ones_like(ids)).logits

    def attention(kind: str) -> Way:
        other = copy.deepcopy(model)
        other.set_attn_implementation(kind)
        return plain(other)

    def int8() -> Way:
        return plain(torch.ao.quantization.quantize_dynamic(copy.deepcopy(model), {nn.Linear}, dtype=torch.qint8))

    def compiled() -> Way:
        return plain(torch.compile(copy.deepcopy(model), dynamic=False))

    def unmasked() -> Way:
        return lambda ids: model(input_ids=ids).logits

    def first_token() -> Way:
        whole = plain(model)

        def short(ids: Tensor) -> Tensor:
            with first_token_only(model.base_model.encoder.layer[-1].attention.output):
                return whole(ids)

        return short

    def products() -> Way:
        whole = plain(model)

        def fast(ids: Tensor) -> Tensor:
            with fast_products():
                return whole(ids)

        return fast

    return {
        "sdpa (default)": lambda: attention("sdpa"), "eager": lambda: attention("eager"), "sdpa, no mask given": unmasked,
        "last layer at the first token": first_token, "oneDNN's matrix products": products,
        "int8 weights (dynamic)": int8, "compiled": compiled, "bfloat16": lambda: plain(copy.deepcopy(model).bfloat16()),
    }  # fmt: skip


def measure(model: nn.Module, lengths: list[int], repeats: int, only: list[str] | None) -> list[dict[str, Any]]:
    draw = torch.Generator().manual_seed(0)
    batches = {n: torch.randint(1000, model.config.vocab_size, (BATCH_TOKENS // n, n), generator=draw) for n in lengths}
    found, reference = [], {}
    for name, make in ways(model).items():
        if only and name.split(" (")[0] not in only and not name.startswith("sdpa (default)"):
            continue
        started = time.process_time()
        try:
            way = make()
            first = {n: way(ids).float() for n, ids in batches.items()}  # a warm-up; the compiler works here
        except (RuntimeError, NotImplementedError, AttributeError, ImportError) as error:
            found.append({"way": name, "error": str(error).splitlines()[0][:100]})
            continue
        ready = time.process_time() - started
        reference = reference or first
        for n, ids in batches.items():
            seconds = []
            for _ in range(repeats):
                started = time.process_time()
                way(ids)
                seconds.append(time.process_time() - started)
            gap = float((first[n] - reference[n]).abs().max())
            found.append({"way": name, "tokens": n, "rows": len(ids), "ms a row": 1000 * min(seconds) / len(ids),
                          "largest gap of a logit": gap, "getting ready, s": ready})  # fmt: skip
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", help="a transformers classifier; default: MiniLM's size, random weights")
    parser.add_argument("--lengths", type=int, nargs="+", default=[12, 24, 64])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", nargs="+", help="these ways beside the default")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    transformers.utils.logging.set_verbosity_error()
    corpus, _ = corpus_and_texts(PLANTED, 1)
    classifier = Classifier.load(args.model) if args.model else untrained_minilm(corpus)
    with torch.inference_mode():
        found = measure(classifier.model.eval(), args.lengths, args.repeats, args.only)
    if args.json:
        print(json.dumps({"settings": settings(classifier, args.model, "MiniLM's size", PLANTED), "ways": found}, indent=1))
        return
    base = {x["tokens"]: x["ms a row"] for x in found if x["way"].startswith("sdpa (default)")}
    rows = [[x["way"], str(x["tokens"]), f"{x['ms a row']:.2f}", f"{base[x['tokens']] / x['ms a row']:.2f}",
             f"{x['largest gap of a logit']:.1e}", f"{x['getting ready, s']:.1f}"]
            for x in found if "error" not in x]  # fmt: skip
    head = ["way", "tokens", "CPU ms a row", "times faster", "largest gap of a logit", "getting ready, s"]
    print(table(head, rows))
    for x in found:
        if "error" in x:
            print(f"{x['way']}: {x['error']}")


if __name__ == "__main__":
    main()
