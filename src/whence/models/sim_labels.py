"""The label state of a stepwise model: how it begins, what the decoder reads of it, and what a step adds to it.

  fixed labels        l₀ = MLP(h₀)          v = MLP(l)                 Δ = MLP(o)             h₀ the encoder's first state
  one for each choice l₀[c] = MLP(h₀ × h_c) v = MLP(Σ_c softmax(l)_c · h_c)   Δ[c] = MLP(o × h_c)    a × b = [a; b; a ∘ b]

Fixed labels are those of Liu et al. 2022 (released code). For questions their paper only says that there is one label for each
choice; ours scores the choices themselves (h_c is the mean of the encoder's states over a choice's tokens), so that what a
choice says counts, and not the place at which it stands. The product lets a word that is written be matched with the choice
that says it.

h₀ is what a pretrained encoder was taught to read first. In one from scratch nothing makes it hold the sentence, so with
`heads` K > 0 fixed labels begin with what K heads read of all states, and not with h₀ (ours):

  l₀ = MLP([Σ_i softmax_i(w_k · h_i) h_i; k = 1 … K])
"""

from abc import abstractmethod

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

Logits = Float[Tensor, "batch labels"]
States = Float[Tensor, "batch choices size"]
"""h_c; without choices there are none."""


def perceptron(inputs: int, outputs: int, size: int, bias: float = 0.0, slope: float = 0.0) -> nn.Sequential:
    """Norm, then three linear layers with ReLU between them, Glorot-uniform as in the released code; `bias`: of the last,
    `slope`: of the ReLU below 0."""
    last = nn.Linear(size, outputs)
    first, second = (nn.LeakyReLU(slope) if slope else nn.ReLU() for _ in range(2))
    layers = nn.Sequential(nn.LayerNorm(inputs), nn.Linear(inputs, size), first, nn.Linear(size, size), second, last)
    for layer in layers:
        if isinstance(layer, nn.Linear):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)
    nn.init.constant_(last.bias, bias)
    return layers


LEAK = 0.1


class LabelSpace(nn.Module):
    """What the labels of a model are."""

    @abstractmethod
    def start(
        self, source: Float[Tensor, "batch tokens size"], mask: Bool[Tensor, "batch tokens"], choices: States | None
    ) -> Logits:
        """l₀, from the encoder's states."""

    @abstractmethod
    def vector(self, labels: Logits, choices: States | None) -> Float[Tensor, "batch size"]:
        """v: of the logits themselves, not of the best label."""

    @abstractmethod
    def change(self, output: Float[Tensor, "batch size"], choices: States | None) -> Logits:
        """Δ, before its gate."""


class FixedLabels(LabelSpace):
    def __init__(self, count: int, size: int, heads: int = 0) -> None:
        super().__init__()
        # what heads read of a text is nearly the same for all texts at first: ReLUs died of it and never came back
        self.first = perceptron(max(1, heads) * size, count, size, slope=LEAK if heads else 0.0)
        self.embed = perceptron(count, size, size)
        self.step = perceptron(size, count, size)
        self.heads = nn.Linear(size, heads, bias=False) if heads else None

    def start(self, source: Tensor, mask: Tensor, choices: States | None) -> Logits:
        if self.heads is None:
            return self.first(source[:, 0])
        share = self.heads(source).masked_fill(~mask[..., None], float("-inf")).softmax(1)
        return self.first((share.transpose(1, 2) @ source).flatten(1))

    def vector(self, labels: Logits, choices: States | None) -> Tensor:
        return self.embed(labels)

    def change(self, output: Tensor, choices: States | None) -> Logits:
        return self.step(output)


class ChoiceLabels(LabelSpace):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.first, self.embed = perceptron(3 * size, 1, size), perceptron(size, size, size)
        self.step = perceptron(3 * size, 1, size)

    def start(self, source: Tensor, mask: Tensor, choices: States | None) -> Logits:
        return self._scored(self.first, source[:, 0], choices)

    def vector(self, labels: Logits, choices: States | None) -> Tensor:
        assert choices is not None
        return self.embed((labels.softmax(-1)[:, None] @ choices)[:, 0])

    def change(self, output: Tensor, choices: States | None) -> Logits:
        return self._scored(self.step, output, choices)

    @staticmethod
    def _scored(scorer: nn.Module, state: Tensor, choices: States | None) -> Logits:
        assert choices is not None
        state = state[:, None].expand_as(choices)
        return scorer(torch.cat([state, choices, state * choices], -1))[..., 0]


def choice_states(
    source: Float[Tensor, "batch tokens size"], places: Bool[Tensor, "batch choices tokens"] | None
) -> States | None:
    """The mean state of each choice's tokens; zeros for one without any."""
    if places is None:
        return None
    where = places.to(source.dtype)
    return where @ source / where.sum(-1, keepdim=True).clamp(min=1)
