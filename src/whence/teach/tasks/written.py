"""Examples as pairs of source and target ids, and what a model writes for a source."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from whence.data import Example, Template
from whence.errors import BadInput
from whence.models import Causal, Encoded, Seq2Seq
from whence.models.encoding import PROMPT, storable
from whence.run import Request, Runner

LONGEST = 200
"""Tokens of a target, and of what is written (Wiegreffe et al. 2021)."""


@dataclass(frozen=True)
class Pair:
    """Token ids of one example. `label` is true for the target tokens that say the label."""

    source: Tensor
    target: Tensor
    label: Tensor
    cut: int
    """Source tokens beyond the model's limit, which are not read."""


def encode_pairs(port: Seq2Seq | Causal, template: Template, examples: Sequence[Example]) -> list[Pair]:
    """A target is its text and the end of text; of a causal model, both must fit what it reads at once."""
    if not port.ends:
        raise BadInput(f"{port.name} has no token for the end of a text; expected one, so that it can learn to stop")
    sources = port.tokenizer([storable(template.render(example).text) for example in examples])["input_ids"]
    targets = [template.answered(example) for example in examples]
    said = port.tokenizer([storable(target.text) for target in targets], add_special_tokens=False, return_offsets_mapping=True)
    pairs = []
    for source, target, ids, offsets in zip(sources, targets, said["input_ids"], said["offset_mapping"], strict=True):
        first, last = next((span for name, span in target.fields.items() if name in ("label", "letter")), (0, 0))
        whole = [*ids[: LONGEST - 1], port.ends[0]]
        label = [*(a < last and b > first for a, b in offsets[: LONGEST - 1]), False]
        limit = len(source) if port.max_tokens is None else port.max_tokens - (len(whole) if isinstance(port, Causal) else 0)
        # what is cut is the text's end, not the token that closes it
        kept = source if len(source) <= limit else [*source[: limit - 1], source[-1]]
        pairs.append(Pair(torch.tensor(kept), torch.tensor(whole), torch.tensor(label), max(0, len(source) - limit)))
    return pairs


def written_by(port: Seq2Seq | Causal, examples: Sequence[Example], pairs: Sequence[Pair]) -> list[str]:
    """Greedy decoding of up to `LONGEST` tokens for each source."""
    requests = [
        Request(_bare(example, pair.source.numpy()), write=LONGEST) for example, pair in zip(examples, pairs, strict=True)
    ]
    return [result.written.text if result.written else "" for result in Runner(port, remembered=0).run(requests)]


def _bare(example: Example, ids: np.ndarray) -> Encoded:
    """A source of which nothing will be hidden: no word needs its place."""
    nowhere = np.full(len(ids), PROMPT, dtype=np.int64)
    return Encoded(example, (), (), ids, None, nowhere, np.full(len(ids), -1, dtype=np.int64), np.zeros(0, dtype=np.int64))
