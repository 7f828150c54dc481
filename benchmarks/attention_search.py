"""Jain & Wallace's per-instance adversary: all texts at once against one text at a time, from the same starting points.

    python benchmarks/attention_search.py [--model RUN] [--data sst] [--texts 64]

The plain loop does what the procedure says: for each text, encode it, then 500 steps of Adam on its five candidates, pooling
the encoder's states by the candidates and reading the pooled vectors at every step. Both must find the same: the mean ε-max JSD
of each is printed with the largest difference. RUN is a trained bilstm; without it, one with random weights, for speed alone.
"""

import argparse
import time

import numpy as np
import torch
from common import PLANTED, corpus_and_texts, settings, table

from whence.measure.attention_search import MARGIN, PENALTY, SPREAD, search_attention, starting_noise
from whence.measure.divergence import jsd, tvd
from whence.models import Classifier, Encoded, collate
from whence.models.build import build_model
from whence.run import Runner
from whence.run.readout import read_out


def plain_search(classifier: Classifier, encoded: Encoded, seed: int, candidates: int, steps: int) -> float:
    """ε-max JSD of one text."""
    model = classifier.model
    batch = collate([encoded], classifier.pad_id, classifier.device)
    with torch.no_grad():
        output = model(**batch.inputs())
    states, own, real = output.hidden_states[0][0], output.attentions[0], batch.content
    prediction = output.logits.softmax(-1)
    length = int(real[0].nonzero().max()) + 1 if real.any() else 1
    logits = SPREAD * starting_noise(encoded.example.id, seed, candidates, length, len(encoded))
    logits.requires_grad_()
    optimizer = torch.optim.Adam([logits], lr=0.01, amsgrad=True)

    def look() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        weights = logits.masked_fill(~real, float("-inf")).softmax(-1)
        moved = tvd(model.classifier(weights @ states).softmax(-1), prediction)
        return weights, jsd(weights, own), moved

    for _ in range(steps):
        weights, far, moved = look()
        apart = jsd(weights[:, None], weights[None]).mean()
        loss = (-far + PENALTY * (moved - MARGIN).relu()).sum() - apart
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        _, far, moved = look()
    return float(far[moved <= 0.05].max()) if (moved <= 0.05).any() else 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model")
    parser.add_argument("--data", default=PLANTED)
    parser.add_argument("--texts", type=int, default=64)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--candidates", type=int, default=5)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    corpus, examples = corpus_and_texts(given.data, given.texts)
    if given.model:
        classifier = Classifier.load(given.model)
    else:
        torch.manual_seed(0)
        classifier = Classifier(*build_model("bilstm", corpus.labels, (e.texts["text"] for e in examples)))
    classifier.model.eval().requires_grad_(False)
    encoded = classifier.encode(examples)
    started = time.perf_counter()
    found = search_attention(read_out(Runner(classifier), encoded), [e.id for e in examples], 0, given.candidates, given.steps)
    together = time.perf_counter() - started
    started = time.perf_counter()
    plain = np.array([plain_search(classifier, e, 0, given.candidates, given.steps) for e in encoded])
    alone = time.perf_counter() - started
    print(settings(classifier, given.model, "bilstm, random weights", given.data))
    rows = [["all at once", f"{together:.2f}", f"{len(encoded) / together:.1f}", f"{found.jsd.mean():.4f}"],
            ["one at a time", f"{alone:.2f}", f"{len(encoded) / alone:.1f}", f"{plain.mean():.4f}"]]  # fmt: skip
    print(table(["", "seconds", "texts per second", "mean ε-max JSD"], rows))
    print(f"{alone / together:.1f} times as fast; means of ε-max JSD differ by {abs(found.jsd.mean() / plain.mean() - 1):.2%}, "
          f"those of one text by at most {np.abs(found.jsd - plain).max():.4f}.")  # fmt: skip


if __name__ == "__main__":
    main()
