"""Examples as pairs of source and target ids, and what a model writes for a source."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad
from transformers import PreTrainedModel

from whence.data import Example, Template
from whence.models.text_ids import end_id, opening_ids, source_ids, source_limit

LONGEST = 200
"""Tokens of a target, and of what is written (Wiegreffe et al. 2021)."""
AT_ONCE = 50
"""Sources that are decoded together."""


@dataclass(frozen=True)
class Pair:
    """Token ids of one example. `label` is true for the target tokens that say the label."""

    source: Tensor
    target: Tensor
    label: Tensor
    cut: int
    """Source tokens beyond the model's limit, which are not read."""


def encode_pairs(model: PreTrainedModel, tokenizer: Any, template: Template, examples: Sequence[Example]) -> list[Pair]:
    sources = source_ids(model, tokenizer, [template.render(example).text for example in examples])
    targets = [template.answered(example) for example in examples]
    said = tokenizer([target.text for target in targets], add_special_tokens=False, return_offsets_mapping=True)
    opening, end, limit = opening_ids(model, tokenizer), end_id(tokenizer), source_limit(model, tokenizer)
    pairs = []
    for source, target, ids, offsets in zip(sources, targets, said["input_ids"], said["offset_mapping"], strict=True):
        first, last = next((span for name, span in target.fields.items() if name in ("label", "letter")), (0, 0))
        whole = [*opening, *ids[: LONGEST - 1 - len(opening)], end]
        label = [False] * len(opening) + [a < last and b > first for a, b in offsets]
        room = len(source) if limit is None else limit - (0 if model.config.is_encoder_decoder else len(whole))
        # what is cut is the text's end, not the token that closes it
        kept = source if len(source) <= room else [*source[: room - 1], source[-1]]
        marked = torch.tensor([*label[: len(whole) - 1], False])
        pairs.append(Pair(torch.tensor(kept), torch.tensor(whole), marked, max(0, len(source) - room)))
    return pairs


@torch.no_grad()
def written_by(model: PreTrainedModel, tokenizer: Any, sources: Sequence[Tensor]) -> list[str]:
    """Greedy decoding of up to `LONGEST` tokens, sources of about the same length together."""
    texts = [""] * len(sources)
    order = sorted(range(len(sources)), key=lambda i: len(sources[i]))
    end, nothing = end_id(tokenizer), next(i for i in (tokenizer.pad_token_id, end_id(tokenizer)) if i is not None)
    two = model.config.is_encoder_decoder
    for start in range(0, len(order), AT_ONCE):
        rows = order[start : start + AT_ONCE]
        width = len(sources[rows[-1]])
        # what a causal model writes must follow its source
        sides = [(0, width - len(sources[i])) if two else (width - len(sources[i]), 0) for i in rows]
        ids = torch.stack([pad(sources[i], side, value=nothing) for i, side in zip(rows, sides, strict=True)])
        mask = torch.stack([pad(torch.ones_like(sources[i]), side) for i, side in zip(rows, sides, strict=True)])
        done = model.generate(
            input_ids=ids.to(model.device), attention_mask=mask.to(model.device), max_new_tokens=LONGEST, do_sample=False,
            num_beams=1, eos_token_id=end, pad_token_id=nothing,
        )[:, 1 if two else width :]  # fmt: skip
        for i, row in zip(rows, done.tolist(), strict=True):
            ended = row[: row.index(end)] if end in row else row
            # sentinels stay visible: a parser cuts at them
            hidden = {nothing, *opening_ids(model, tokenizer)}
            texts[i] = tokenizer.decode([token for token in ended if token not in hidden], skip_special_tokens=False)
    return texts
