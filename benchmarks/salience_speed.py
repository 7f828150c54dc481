"""How long salience priors take for a whole corpus, and how far the paper's 10 steps of TextRank are from convergence.

    python benchmarks/salience_speed.py [--texts 100000] [--tokens 40] [--data sst]

Texts are drawn from Zipf's law over 30,000 token types (texts repeat their frequent tokens, and repeats make the graph);
`--data` takes the training split of a corpus instead, cut by our word-level tokenizer. One thread, nothing from the cache.
"""

import argparse
import time

import numpy as np
from common import table

from whence.data import Example, open_corpus
from whence.models import Encoded, encode
from whence.models.word_tokenizer import build_word_tokenizer
from whence.teach.salience import PRIORS, Tokens
from whence.teach.salience.prior import normalised

VOCABULARY = 30_000


def drawn(texts: int, tokens: int, seed: int = 0) -> Tokens:
    """Lengths are spread by a third around `tokens`; special tokens 1 and 2 at the ends."""
    draw = np.random.default_rng(seed)
    ids = 3 + draw.zipf(1.3, size=4 * texts * tokens)
    ids = ids[ids < VOCABULARY]
    lengths = np.maximum(1, draw.normal(tokens, tokens / 3, size=texts).astype(int))
    ends = np.cumsum(lengths)
    example = Example("", {"text": ""}, "0")
    encoded = []
    for end, length in zip(ends, lengths, strict=True):
        field = np.concatenate([[-1], np.zeros(length, dtype=np.int64), [-1]])
        row = np.concatenate([[1], ids[end - length : end], [2]])
        encoded.append(Encoded(example, ("text",), ((),), row, None, field, np.full(length + 2, -1)))
    return Tokens(encoded, np.arange(texts) % 2)


def from_corpus(name: str) -> Tokens:
    corpus = open_corpus(name)
    examples = corpus.load("train")
    tokenizer = build_word_tokenizer(text for e in examples for text in e.texts.values())
    labels = np.array([corpus.labels.index(e.label or "") for e in examples])
    return Tokens(encode(tokenizer, examples, 512), labels)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=int, default=100_000)
    parser.add_argument("--tokens", type=int, default=40)
    parser.add_argument("--data")
    given = parser.parse_args()
    tokens = from_corpus(given.data) if given.data else drawn(given.texts, given.tokens)
    assert len(tokens.ids) == len(tokens.fields) == len(tokens.text)  # the flat form is made once, before the clock starts
    rows, found = [], {}
    for name, prior in PRIORS.items():
        if name == "planted":
            continue  # reads highlights, which these texts do not have
        started = time.perf_counter()
        found[name] = normalised(prior.score(tokens, tokens, **prior.options), tokens)
        rows.append([name, f"{time.perf_counter() - started:.1f}"])
    print(f"{len(tokens.encoded):,} texts, {len(tokens.ids):,} tokens, one thread\n")
    print(table(["prior", "seconds"], rows))
    converged = normalised(PRIORS["textrank"].score(tokens, tokens, steps=500, tolerance=1e-12), tokens)
    steps = []
    for count in (1, 2, 5, 10, 20):
        gap = np.abs(normalised(PRIORS["textrank"].score(tokens, tokens, steps=count, tolerance=0.0), tokens) - converged)
        by_text = np.bincount(tokens.text, gap, len(tokens.encoded)) / 2
        steps.append([str(count), f"{by_text.mean():.2e}", f"{by_text.max():.2e}"])
    print("\nTextRank after so many steps against its fixed point, total variation distance of σ for each text:\n")
    print(table(["steps", "mean", "largest"], steps))


if __name__ == "__main__":
    main()
