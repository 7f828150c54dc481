"""What the recurrence of a stepwise model costs in training: SIM against the same model without fusion, forward and backward.

Without fusion all steps of the decoder run at once; SIM goes step by step. The output layer runs once over all steps in both,
so the larger the vocabulary, the smaller the ratio. Random weights and texts: right for speed alone. CPU seconds, in turns.
"""

import argparse
import json
import time

import torch
from common import table
from torch.nn.functional import cross_entropy
from transformers import T5Config, T5ForConditionalGeneration

from whence.models.sim import Sim, sim_over


def model_of(width: int, heads: int, layers: int, vocabulary: int, fused: bool) -> Sim:
    torch.manual_seed(0)
    config = T5Config(
        vocab_size=vocabulary, d_model=width, d_kv=width // heads, d_ff=4 * width, num_layers=layers, num_heads=heads,
        dropout_rate=0.0, pad_token_id=0, eos_token_id=1, decoder_start_token_id=0,
    )  # fmt: skip
    base = T5ForConditionalGeneration(config)
    return sim_over(base, ("yes", "no", "maybe"), 0, 1, 0, label_to_text=fused, text_to_label=fused)


def step(model: Sim, source: torch.Tensor, target: torch.Tensor, labels: torch.Tensor) -> float:
    started = time.process_time()
    fed = torch.cat([torch.zeros_like(target[:, :1]), target[:, :-1]], 1)
    output = model(source, torch.ones_like(source), fed)
    loss = cross_entropy(output.logits.transpose(1, 2), target) + cross_entropy(output.states[:, -1], labels)
    loss.backward()
    model.zero_grad()
    return time.process_time() - started


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--width", type=int, default=384)
    options.add_argument("--heads", type=int, default=6)
    options.add_argument("--layers", type=int, default=2)
    options.add_argument("--vocabulary", type=int, default=10_822, help="that of e-SNLI's word pieces")
    options.add_argument("--batch", type=int, default=32)
    options.add_argument("--source", type=int, default=30, help="tokens")
    options.add_argument("--target", type=int, default=22, help="tokens")
    options.add_argument("--repeats", type=int, default=3)
    options.add_argument("--threads", type=int, default=1)
    options.add_argument("--json", action="store_true")
    given = options.parse_args()
    torch.set_num_threads(given.threads)
    models = [model_of(given.width, given.heads, given.layers, given.vocabulary, fused) for fused in (False, True)]
    source, target = (torch.randint(2, given.vocabulary, (given.batch, n)) for n in (given.source, given.target))
    labels = torch.randint(0, 3, (given.batch,))
    seconds: list[list[float]] = [[], []]
    for _ in range(given.repeats + 1):  # the first is thrown away
        for model, found in zip(models, seconds, strict=True):
            found.append(step(model, source, target, labels))
    plain, sim = (min(found[1:]) for found in seconds)
    tokens = given.batch * given.target
    result = {
        "width": given.width, "layers": given.layers, "vocabulary": given.vocabulary, "batch": given.batch,
        "target tokens": given.target, "without fusion, CPU s": plain, "SIM, CPU s": sim,
        "without fusion, tokens per CPU s": tokens / plain, "SIM, tokens per CPU s": tokens / sim, "ratio": sim / plain,
    }  # fmt: skip
    print(json.dumps(result) if given.json else table(["", ""], [[name, f"{value:,.4g}"] for name, value in result.items()]))


if __name__ == "__main__":
    main()
