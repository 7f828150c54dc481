"""What the two adversarial fidelity regularisers (AFiRe, Liu et al. 2022) share: a second network that plays against the model.

A player sees the input X, a label L and an explanation E, true ones and those that the model makes (L', E'), and learns to tell
them apart; now and then it rewards the model for what looks true. (L', E') are distributions, so that gradients pass through
them: the model is fed its own expected words for as many steps as the true explanation has. With `straight_through` they are
one-hot at the best word and label, with the gradient of the distribution.

Stable by default. For `warmup` steps the model learns from the likelihood alone. Then, in turns: `own_steps` batches in which
the player learns (its gradients are clipped at 1), `reward_steps` batches in which the model is rewarded, and one with neither.
If the likelihood of the true explanation falls back (its running mean loss rises `tolerance` nats above the best so far) or a
number is not finite, the player stops for good, says so, and the likelihood goes on alone. Its weights, optimiser and counters
are part of a checkpoint. Cost: one free decoding for each step of the player or reward.
"""

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from whence.models import SimPort
from whence.models.reading import evaluating
from whence.models.sim import own_distribution
from whence.teach.objectives.objective import JointStep, Learner, TextFacts

CLIP, MEMORY, HEADS = 1.0, 0.98, 4
OPTIONS: dict[str, Any] = {
    "warmup": 500, "own_steps": 10, "reward_steps": 10, "straight_through": False, "learning_rate": 1e-4, "size": 64,
    "layers": 2, "tolerance": 0.5,
}  # fmt: skip
"""Of both. The released code: no warm-up, rate 1e-5, size 256, 3 layers, and turns of 10 and 10."""
WHY = ("", "a number was not finite", "the likelihood of the true explanations fell back")


class Player(Learner):
    """`told` are running means of what it learns, by name."""

    told: tuple[str, ...]
    counts: Tensor
    """Steps, those of the player, rewards; and why it stopped (a place in WHY)."""
    means: Tensor
    """Of the loss of the true explanations: running, and the best of it; then what is told."""

    def __init__(self, facts: TextFacts, options: dict[str, Any]) -> None:
        super().__init__()
        assert isinstance(facts.port, SimPort)
        self.options, self.port, size = options, facts.port, int(options["size"])
        self.words = nn.Embedding(facts.port.model.config.vocab_size, size)
        nn.init.normal_(self.words.weight, std=size**-0.5)
        self.labels = nn.Embedding(facts.port.model.config.num_labels, size)
        self.kinds = nn.Embedding(3, size)
        """Of the input, the label and the explanation."""
        self.register_buffer("counts", torch.zeros(4, dtype=torch.long))
        self.register_buffer("means", torch.full((2 + len(self.told),), float("inf"), dtype=torch.float64))

    def start(self) -> None:
        """Once all parts are there."""
        self.to(self.port.device)
        self.optimizer = torch.optim.Adam(self.parameters(), lr=self.options["learning_rate"])

    def forward(self, step: JointStep) -> Tensor:
        nothing = step.label_logits.sum() * 0
        if not self.port.model.training:
            return nothing
        self.counts[0] += 1
        self._watch(step)
        own, reward = int(self.options["own_steps"]), int(self.options["reward_steps"])
        turn = (int(self.counts[0]) - 1 - int(self.options["warmup"])) % (own + reward + 1)
        if int(self.counts[3]) or int(self.counts[0]) <= self.options["warmup"] or turn == own + reward:
            return nothing
        if turn < own:
            self._learn(step)
            return nothing
        self.counts[2] += 1
        with self._exactly(*self.made(step, self.port.model)) as made:
            value = self.reward(step, *made)
        return -value if bool(torch.isfinite(value)) else self._stop(1, nothing)

    def made(self, step: JointStep, model: Any) -> tuple[Tensor, Tensor]:
        """(L', E') as distributions: float[batch, labels], float[batch, tokens, vocabulary]."""
        hard = bool(self.options["straight_through"])
        begun = torch.full((len(step.targets), 1), self.port.start, device=step.targets.device)
        source = step.source if torch.is_grad_enabled() else step.source.detach()
        now = model.begin(source, step.batch.attention_mask, step.batch.places)
        output = model.wander(now, model.words(begun), step.targets.shape[1], hard)
        final = output.states[torch.arange(len(begun), device=begun.device), (step.targets >= 0).sum(1)]
        return own_distribution(final, hard), own_distribution(output.logits, hard)

    @contextmanager
    def _exactly(self, label: Tensor, text: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        """(L', E') in the player's own precision, also where the model learns in bfloat16: slopes of slopes need it."""
        with torch.autocast(text.device.type, enabled=False):
            own = self.words.weight.dtype
            yield label.to(own), text.to(own)

    def _learn(self, step: JointStep) -> None:
        with evaluating(self.port.model), torch.no_grad():
            made = self.made(step, self.port.model)
        with self._exactly(*made) as (label, text):
            loss, told = self.loss(step, label, text)
        if not bool(torch.isfinite(loss)):
            self._stop(1, loss)
            return
        self.optimizer.zero_grad()
        loss.backward(inputs=list(self.parameters()))
        nn.utils.clip_grad_norm_(self.parameters(), CLIP)
        self.optimizer.step()
        self.counts[1] += 1
        for place, value in enumerate(told, 2):
            self._remember(place, float(value.detach()))

    def _watch(self, step: JointStep) -> None:
        with torch.no_grad():
            self._remember(0, float(nn.functional.cross_entropy(step.token_logits.transpose(1, 2), step.targets)))
        self.means[1] = self.means[:2].min()
        if int(self.counts[0]) > self.options["warmup"] and self.means[0] > self.means[1] + self.options["tolerance"]:
            self._stop(2, step.label_logits)

    def _remember(self, place: int, value: float) -> None:
        old = float(self.means[place])
        self.means[place] = value if old == float("inf") else MEMORY * old + (1 - MEMORY) * value

    def _stop(self, why: int, like: Tensor) -> Tensor:
        self.counts[3] = self.counts[3] or why
        return torch.zeros_like(like.sum())

    def report(self) -> dict[str, Any]:
        steps, own, rewards, why = self.counts.tolist()
        seen = {name: float(value) for name, value in zip(self.told, self.means[2:], strict=True) if torch.isfinite(value)}
        return {"steps": steps, "own_steps": own, "rewards": rewards, "stopped": WHY[why], **seen}

    @abstractmethod
    def loss(self, step: JointStep, label: Tensor, text: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Of the player, on (L', E'); and what is told of it."""

    @abstractmethod
    def reward(self, step: JointStep, label: Tensor, text: Tensor) -> Tensor:
        """What the model should make large."""

    def spoken(self, step: JointStep, label: Tensor, text: Tensor) -> tuple[Float[Tensor, "b t size"], Bool[Tensor, "b t"]]:
        """(vectors of label and explanation, which of them are there). A choice is known by its words."""
        if not self.port.model.config.choices:
            said = label @ self.labels.weight
        else:
            where = step.batch.places.to(label.dtype)
            said = label[:, None] @ (where @ self.words(step.batch.input_ids) / where.sum(-1, keepdim=True).clamp(min=1))
            said = said[:, 0]
        vectors = torch.cat(
            [said[:, None] + self.kinds.weight[1], self.placed(text @ self.words.weight) + self.kinds.weight[2]], 1
        )
        there = step.targets >= 0
        return vectors, torch.cat([torch.ones_like(there[:, :1]), there], 1)

    @staticmethod
    def placed(vectors: Tensor) -> Tensor:
        """With sinusoidal positions."""
        length, size = vectors.shape[1:]
        at = torch.arange(length, device=vectors.device)[:, None]
        angle = at / 10_000 ** (torch.arange(0, size, 2, device=vectors.device) / size)
        return vectors + torch.cat([angle.sin(), angle.cos()], 1)[:, :size].to(vectors.dtype) * size**-0.5


def true_text(step: JointStep, like: Tensor) -> tuple[Tensor, Tensor]:
    """(L, E) as one-hot distributions."""
    label = nn.functional.one_hot(step.labels, step.label_logits.shape[1]).to(like.dtype)
    return label, nn.functional.one_hot(step.targets.clamp(min=0), like.shape[-1]).to(like.dtype)
