"""Gradients of every written token: batched vector–Jacobian products against one backward pass for each token.

The plain way, as one would write it: for each example a forward pass, then a backward pass for each token.
"""

import argparse
import json
import time
from collections.abc import Callable

import numpy as np
import torch
import transformers
from common import corpus_and_texts, table

from whence.models import Encoded, Seq2Seq, Text
from whence.models.text_tokenizer import build_text_tokenizer
from whence.run import Request, Runner

WANT = frozenset({"token_gradients"})


def small_t5(texts: list[str], width: int, layers: int, vocabulary: int = 0) -> Seq2Seq:
    """Untrained: right for speed alone. `vocabulary`: at least so many rows in its tables."""
    torch.manual_seed(0)
    tokenizer = build_text_tokenizer(texts)
    config = transformers.T5Config(
        vocab_size=max(len(tokenizer), vocabulary), d_model=width, d_kv=width // 4, d_ff=2 * width, num_layers=layers,
        num_heads=4, pad_token_id=tokenizer.pad_token_id, eos_token_id=tokenizer.eos_token_id,
        decoder_start_token_id=tokenizer.pad_token_id,
    )  # fmt: skip
    return Seq2Seq(transformers.T5ForConditionalGeneration(config).eval(), tokenizer, "nli.i-or")


def one_at_a_time(model: Seq2Seq, encoded: list[Encoded], targets: list[Text]) -> list[np.ndarray]:
    found = []
    for item, target in zip(encoded, targets, strict=True):
        read = model.model.get_input_embeddings()(torch.from_numpy(item.ids)[None]).detach().requires_grad_()
        begun = torch.tensor([[model.start, *target.ids[:-1]]])
        logits = model.model(inputs_embeds=read, decoder_input_ids=begun).logits[0]
        norms = [torch.autograd.grad(logits[k, i], read, retain_graph=True)[0][0] for k, i in enumerate(target.ids)]
        found.append(torch.stack(norms, -1).abs().sum(1).numpy())
    return found


def timed(work: Callable[[], list[np.ndarray]], repeats: int) -> tuple[float, list[np.ndarray]]:
    """CPU seconds of the fastest of a few runs: other jobs may share the machine."""
    found, seconds = work(), []
    for _ in range(repeats):
        started = time.process_time()
        found = work()
        seconds.append(time.process_time() - started)
    return min(seconds), found


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--examples", type=int, default=32)
    options.add_argument("--width", type=int, default=128)
    options.add_argument("--layers", type=int, default=3)
    options.add_argument("--vocabulary", type=int, default=32128, help="Rows of the word table, at least; T5 has 32128.")
    options.add_argument("--repeats", type=int, default=2)
    options.add_argument("--threads", type=int, default=1)
    options.add_argument("--json", action="store_true")
    given = options.parse_args()
    torch.set_num_threads(given.threads)
    _, examples = corpus_and_texts("scenes", given.examples)
    texts = [
        text for e in examples for text in (*e.texts.values(), *e.explanations, "explain nli hypothesis: premise: neutral")
    ]
    model = small_t5([*texts, "entailment contradiction explanation:"], given.width, given.layers, given.vocabulary)
    encoded = model.encode(examples)
    written = [model.target_ids(f"{e.label} explanation: {e.explanations[0]}") for e in examples]
    targets = [Text(ids, (True,) * len(ids)) for ids in written]

    def batched() -> list[np.ndarray]:
        results = Runner(model).run([Request(e, want=WANT, target=t) for e, t in zip(encoded, targets, strict=True)])
        return [r.extras["token_gradients"][:, : len(t.ids)] for r, t in zip(results, targets, strict=True)]

    plain, expected = timed(lambda: one_at_a_time(model, encoded, targets), given.repeats)
    ours, found = timed(batched, given.repeats)
    gap = max(float(np.abs(a - b).max() / np.abs(b).max()) for a, b in zip(found, expected, strict=True))
    result = {
        "examples": len(examples), "written tokens": sum(map(len, written)), "width": given.width, "layers": given.layers,
        "one backward per token, CPU s": plain, "batched, CPU s": ours, "ratio": plain / ours, "largest relative gap": gap,
    }  # fmt: skip
    print(json.dumps(result) if given.json else table(["", ""], [[name, f"{value:,.4g}"] for name, value in result.items()]))


if __name__ == "__main__":
    main()
