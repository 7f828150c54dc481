"""What explainers should say of a classifier, computed the slow and plain way: one unpadded text at a time, no batches.

Nothing here calls Whence but for the rule of what a word is. `EMBEDDED` names, by model, what its first layer reads: the output
of a module or, with "in", its first input. An encoder–decoder classifier reads its text twice, in the decoder one place later.
A token belongs to the first word that it touches. A word without a token of its own shares the score of the one that has it.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import product
from math import factorial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from whence.data import word_spans

EMBEDDED = {
    "bert": "bert.embeddings", "roberta": "roberta.embeddings", "distilbert": "distilbert.embeddings",
    "albert": "albert.embeddings", "electra": "electra.embeddings", "deberta": "deberta.embeddings",
    "deberta-v2": "deberta.embeddings", "xlnet": "transformer.layer.0 in", "modernbert": "model.embeddings",
    "mpnet": "mpnet.embeddings", "gpt2": "transformer.drop", "llama": "model.embed_tokens", "qwen2": "model.embed_tokens",
    "bart": "model.encoder.layernorm_embedding, model.decoder.layernorm_embedding",
    "t5": "transformer.encoder.block.0 in, transformer.decoder.block.0 in",
    "longformer": "longformer.embeddings", "bigbird": "bert.embeddings", "fnet": "fnet.embeddings",
    "funnel": "funnel.embeddings", "xlm": "roberta.embeddings", "camembert": "roberta.embeddings",
    "mobilebert": "mobilebert.embeddings", "squeezebert": "transformer.embeddings", "opt": "model.decoder.layers.0 in",
    "gpt-neox": "gpt_neox.emb_dropout", "mistral": "model.embed_tokens", "gemma": "model.layers.0 in", "bilstm": "embeddings",
    "mlp": "embeddings", "decomposable": "embeddings", "esim": "embeddings",
}  # fmt: skip


def embedded_path(name: str) -> str:
    """Of a model of the zoo; the longest name that fits."""
    return EMBEDDED[max((known for known in EMBEDDED if name == known or name.startswith(f"{known}-")), key=len)]


class ByHand:
    """One classifier and one text (or pair)."""

    def __init__(self, model: Any, tokenizer: Any, texts: list[str]) -> None:
        self.model, self.tokenizer = model, tokenizer
        found = tokenizer(*texts, return_offsets_mapping=True, return_token_type_ids=True)
        self.ids = found["input_ids"]
        self.types = found["token_type_ids"] if "token_type_ids" in tokenizer.model_input_names else None
        self.content = [field is not None for field in found.sequence_ids()]
        spans = [word_spans(text) for text in texts]
        self.words = sum(map(len, spans))
        self.word: list[int | None] = []
        held: list[tuple[int, int]] = []
        for field, (start, end) in zip(found.sequence_ids(), found["offset_mapping"], strict=True):
            here = [] if field is None else [i for i, (a, b) in enumerate(spans[field]) if a < end and b > start]
            before = sum(map(len, spans[:field]))
            self.word.append(here[0] + before if here else None)
            held += [(word + before, here[0] + before) for word in here]
        own = {word for word in self.word if word is not None}
        self.unit = [i if i in own else next(first for word, first in held if word == i) for i in range(self.words)]
        self.mask_id = None if hasattr(model, "interventions") else tokenizer.mask_token_id

    def probabilities(self, keep: list[bool] | None = None) -> Tensor:
        """With only these words: the others are masked or, where there is no mask token, taken out."""
        hidden = [keep is not None and w is not None and not keep[w] for w in self.word]
        if self.mask_id is not None:
            ids, types = [self.mask_id if h else i for i, h in zip(self.ids, hidden, strict=True)], self.types
        else:
            ids = [i for i, h in zip(self.ids, hidden, strict=True) if not h]
            types = None if self.types is None else [t for t, h in zip(self.types, hidden, strict=True) if not h]
        return self._forward(ids, types)

    def _forward(self, ids: list[int], types: list[int] | None) -> Tensor:
        inputs = {"input_ids": torch.tensor([ids]), "attention_mask": torch.ones(1, len(ids), dtype=torch.long)}
        if types is not None:
            inputs["token_type_ids"] = torch.tensor([types])
        return self.model(**inputs).logits[0].softmax(-1)

    @torch.no_grad()
    def leave_one_out(self, target: int) -> np.ndarray:
        full = self.probabilities()[target]
        without = [self.probabilities([j != i for j in range(self.words)])[target] for i in range(self.words)]
        return self._shared(np.array([float(full - one) for one in without]))

    def _shared(self, scores: np.ndarray) -> np.ndarray:
        return np.array([scores[unit] / self.unit.count(unit) for unit in self.unit])

    @torch.no_grad()
    def shapley(self, target: int) -> np.ndarray:
        """By the definition, from all subsets of the words."""
        n = self.words
        value = {keep: float(self.probabilities(list(keep))[target]) for keep in product((False, True), repeat=n)}
        out = np.zeros(n)
        for keep, v in value.items():
            for i in range(n):
                if not keep[i]:
                    weight = factorial(sum(keep)) * factorial(n - sum(keep) - 1) / factorial(n)
                    out[i] += weight * (value[(*keep[:i], True, *keep[i + 1 :])] - v)
        return out

    def _by_word(self, values: Tensor) -> np.ndarray:
        out = np.zeros(self.words)
        for word, v in zip(self.word, values.tolist(), strict=True):
            if word is not None:
                out[word] += v
        return self._shared(out)

    def gradients(self, target: int, path: str) -> dict[str, np.ndarray]:
        """At what the first layer reads: L1, L2, sum and input × gradient of each token, summed over the tokens of a word."""
        leaves: list[Tensor] = []

        def leaf(tensor: Tensor) -> Tensor:
            leaves.append(tensor.detach().clone().requires_grad_())
            return leaves[-1]

        with self._changed(path, leaf):
            slopes = torch.autograd.grad(self.probabilities()[target], leaves)
        x, g = (torch.cat([self._own_tokens(t, i) for i, t in enumerate(several)], -1) for several in (leaves, slopes))
        reduced = {"gradient_l1": g.abs().sum(-1), "gradient_l2": g.norm(dim=-1), "gradient_sum": g.sum(-1),
                   "input_x_gradient": (x * g).sum(-1)}  # fmt: skip
        return {name: self._by_word(values) for name, values in reduced.items()}

    def _own_tokens(self, tensor: Tensor, reader: int) -> Tensor:
        """float[tokens, width] of the text's tokens; the decoder reads token i at place i + 1, and the last not at all."""
        rows = tensor.detach()
        rows = rows.transpose(0, 1) if rows.shape[1] == 1 and rows.shape[0] > 1 else rows
        rows = rows[0].clone()
        return rows[: len(self.ids)] if reader == 0 else torch.cat([rows[1 : len(self.ids)], torch.zeros(1, rows.shape[1])])

    def integrated_gradients(self, target: int, steps: int, path: str) -> np.ndarray:
        """What the first layer reads of the words, scaled from zero (midpoint rule); special tokens as they are."""
        total = torch.zeros(len(self.ids))
        for k in range(steps):
            read: list[Tensor] = []
            leaves: list[Tensor] = []

            def leaf(tensor: Tensor, k: int = k, read: list[Tensor] = read, leaves: list[Tensor] = leaves) -> Tensor:
                tensor = tensor.detach()
                turned = tensor.shape[1] == 1 and tensor.shape[0] > 1
                length = tensor.shape[0] if turned else tensor.shape[1]
                content = ([False] * len(read) + self.content + [False] * length)[:length]  # a decoder is one place behind
                inside = torch.tensor(content)[:, None, None] if turned else torch.tensor(content)[None, :, None]
                read.append(tensor)
                leaves.append(torch.where(inside, tensor * (k + 0.5) / steps, tensor).requires_grad_())
                return leaves[-1]

            with self._changed(path, leaf):
                slopes = torch.autograd.grad(self.probabilities()[target], leaves)
            x, g = (torch.cat([self._own_tokens(t, i) for i, t in enumerate(several)], -1) for several in (read, slopes))
            total += (x * g).sum(-1) / steps
        return self._by_word(total)

    def attention(self) -> np.ndarray:
        """The last layer's attention at [CLS], or at the last token where there is none, mean over heads."""
        before = self.model.config._attn_implementation
        self.model.set_attn_implementation("eager")
        inputs = {"input_ids": torch.tensor([self.ids])} | (
            {} if self.types is None else {"token_type_ids": torch.tensor([self.types])}
        )
        with torch.no_grad():
            weights = self.model(**inputs, output_attentions=True).attentions[-1][0]
        self.model.set_attn_implementation(before)
        cls = self.tokenizer.cls_token_id
        return self._by_word(weights.mean(0)[self.ids.index(cls) if cls is not None else -1])

    @contextmanager
    def _changed(self, path: str, change: Callable[[Tensor], Tensor]) -> Iterator[None]:
        handles = []
        for place in path.split(", "):
            module = self.model.get_submodule(place.removesuffix(" in"))
            if place.endswith(" in"):
                handles.append(
                    module.register_forward_pre_hook(lambda _, args, kwargs: _first(args, kwargs, change), with_kwargs=True)
                )
            else:
                handles.append(module.register_forward_hook(lambda _, __, out: change(out)))
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()


def _first(args: tuple[Any, ...], kwargs: dict[str, Any], change: Callable[[Tensor], Tensor]) -> tuple[Any, Any]:
    if args:
        return (change(args[0]), *args[1:]), kwargs
    return args, {**kwargs, "hidden_states": change(kwargs["hidden_states"])}
