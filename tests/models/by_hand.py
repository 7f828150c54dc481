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
from scipy.interpolate import make_interp_spline
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


class OneText:
    """One model that chooses a label for one example, whose words are places in its input."""

    model: Any
    ids: list[int]
    content: list[bool]
    """Tokens that belong to a text."""
    mask_id: int | None

    def place_words(self, words: list[tuple[int, int]], tokens: list[tuple[int, int]]) -> None:
        """`tokens` and `words` as intervals on one line; an empty token touches no word."""
        self.words = len(words)
        touched = [[i for i, (a, b) in enumerate(words) if a < end and b > start] for start, end in tokens]
        self.word = [here[0] if here else None for here in touched]
        first = {word: here[0] for here in reversed(touched) for word in here}
        self.unit = [i if i in self.word else first[i] for i in range(self.words)]

    def probabilities(self, keep: list[bool] | None = None) -> Tensor:
        """With only these words: the others are masked or, where there is no mask token, taken out."""
        hidden = [keep is not None and w is not None and not keep[w] for w in self.word]
        if self.mask_id is not None:
            return self.read([self.mask_id if h else i for i, h in zip(self.ids, hidden, strict=True)], [True] * len(hidden))
        return self.read([i for i, h in zip(self.ids, hidden, strict=True) if not h], [not h for h in hidden])

    def read(self, ids: list[int], there: list[bool]) -> Tensor:
        """Probabilities of the labels; `there` says which of the original tokens have a place among the ids."""
        raise NotImplementedError

    def slopes(self, target: int, path: str, scale: float = 1.0) -> tuple[Tensor, Tensor]:
        """(x, ∂p/∂x) where the first layer reads, the words scaled; float[tokens, width]."""
        raise NotImplementedError

    @torch.no_grad()
    def leave_one_out(self, target: int) -> np.ndarray:
        full = self.probabilities()[target]
        without = [self.probabilities([j != i for j in range(self.words)])[target] for i in range(self.words)]
        return self._shared(np.array([float(full - one) for one in without]))

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
        return self._shared(out)

    def gradients(self, target: int, path: str) -> dict[str, np.ndarray]:
        """L1, L2, sum and input × gradient of each token, summed over the tokens of a word."""
        x, g = self.slopes(target, path)
        reduced = {"gradient_l1": g.abs().sum(-1), "gradient_l2": g.norm(dim=-1), "gradient_sum": g.sum(-1),
                   "input_x_gradient": (x * g).sum(-1)}  # fmt: skip
        return {name: self.by_word(values) for name, values in reduced.items()}

    def integrated_gradients(self, target: int, steps: int, path: str) -> np.ndarray:
        """What the first layer reads of the words scaled from zero by t, all else as it is: the integral of a cubic spline
        through equal steps of u = √t, dt = 2u du."""
        ends = [k / steps for k in range(steps + 1)]
        points = [(u, *self.slopes(target, path, u**2)) for u in ends]
        values = torch.stack([2 * u * (x * g).sum(-1) for u, x, g in points]).double().numpy()
        return self.by_word(torch.from_numpy(make_interp_spline(ends, values, k=min(3, steps)).integrate(0, 1)))

    def by_word(self, values: Tensor) -> np.ndarray:
        out = np.zeros(self.words)
        for word, value in zip(self.word, values.tolist(), strict=True):
            if word is not None:
                out[word] += value
        return self._shared(out)

    def _shared(self, scores: np.ndarray) -> np.ndarray:
        return np.array([scores[unit] / self.unit.count(unit) for unit in self.unit])

    @contextmanager
    def changed(self, path: str, change: Callable[[Tensor], Tensor]) -> Iterator[None]:
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


class ByHand(OneText):
    """One classifier and one text (or pair)."""

    def __init__(self, model: Any, tokenizer: Any, texts: list[str]) -> None:
        self.model, self.tokenizer = model, tokenizer
        found = tokenizer(*texts, return_offsets_mapping=True, return_token_type_ids=True)
        self.ids = found["input_ids"]
        self.types = found["token_type_ids"] if "token_type_ids" in tokenizer.model_input_names else None
        self.content = [field is not None for field in found.sequence_ids()]
        starts = [0, len(texts[0])]
        words = [(starts[f] + a, starts[f] + b) for f, text in enumerate(texts) for a, b in word_spans(text)]
        places = zip(found.sequence_ids(), found["offset_mapping"], strict=True)
        self.place_words(words, [(0, 0) if f is None else (starts[f] + a, starts[f] + b) for f, (a, b) in places])
        self.mask_id = None if hasattr(model, "interventions") else tokenizer.mask_token_id

    def read(self, ids: list[int], there: list[bool]) -> Tensor:
        inputs = {"input_ids": torch.tensor([ids]), "attention_mask": torch.ones(1, len(ids), dtype=torch.long)}
        if self.types is not None:
            inputs["token_type_ids"] = torch.tensor([[t for t, here in zip(self.types, there, strict=True) if here]])
        return self.model(**inputs).logits[0].softmax(-1)

    def slopes(self, target: int, path: str, scale: float = 1.0) -> tuple[Tensor, Tensor]:
        """An encoder–decoder has two readers, whose widths are put side by side."""
        before: list[Tensor] = []
        leaves: list[Tensor] = []

        def read(tensor: Tensor) -> Tensor:
            flat = _flat(tensor.detach())
            inside = [False] * len(leaves) + self.content  # the second reader is a decoder: one place later
            inside = (inside + [False] * len(flat))[: len(flat)]
            before.append(flat)
            leaves.append(torch.where(torch.tensor(inside)[:, None], flat * scale, flat).requires_grad_())
            return leaves[-1][:, None] if flat.shape[:1] != tensor.shape[1:2] else leaves[-1][None]

        with self.changed(path, read):
            slopes = torch.autograd.grad(self.probabilities()[target], leaves)
        x, g = (torch.cat([self._own_tokens(t, i) for i, t in enumerate(several)], -1) for several in (before, slopes))
        return x, g

    def _own_tokens(self, rows: Tensor, reader: int) -> Tensor:
        """Of the text's tokens; the decoder reads token i at place i + 1, and the last not at all."""
        rows = rows.detach()
        return rows[: len(self.ids)] if reader == 0 else torch.cat([rows[1 : len(self.ids)], torch.zeros(1, rows.shape[1])])

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
        return self.by_word(weights.mean(0)[self.ids.index(cls) if cls is not None else -1])


def _flat(tensor: Tensor) -> Tensor:
    """float[tokens, width]; XLNet has the tokens first, all others the batch."""
    return tensor[:, 0] if tensor.shape[1] == 1 and tensor.shape[0] > 1 else tensor[0]


def _first(args: tuple[Any, ...], kwargs: dict[str, Any], change: Callable[[Tensor], Tensor]) -> tuple[Any, Any]:
    if args:
        return (change(args[0]), *args[1:]), kwargs
    return args, {**kwargs, "hidden_states": change(kwargs["hidden_states"])}
