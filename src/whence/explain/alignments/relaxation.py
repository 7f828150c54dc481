"""AREC's relaxation: minimise E[L0] + λ E[L1 + L2] over log α, one number for each word pair (objective.py, hard_concrete.py).

The paper gives no optimiser. Here: Adam on log α (from `start` for every cell, kept in ±10), `samples` masks per step, drawn in
pairs U and 1 − U, whose errors partly cancel. It ends when Z̃ = 1[log α > 0] has kept the label and not changed for `patience`
steps, or after `steps`. Of the Z̃ on the way (every fifth step), the log α whose Z̃ keeps the label with the least objective is
returned beside the last one.

Cost: at most steps × samples forward and backward passes, and steps / 5 forward.
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float

from whence.explain.alignments.method import PairAsk
from whence.explain.alignments.objective import GATES, WEIGHT, fidelity, mask_size, size
from whence.run.masks import MaskRounds, Slopes

LOOK_EVERY = 5
BOUND = 10.0
DECAY = (0.9, 0.999)
LEAST_GAIN = 1e-4


@dataclass
class Relaxed:
    best: Float[np.ndarray, "premise hypothesis"]
    """log α; Z̃ keeps the label, if any on the way did."""
    last: Float[np.ndarray, "premise hypothesis"]
    steps: int


def relax_rounds(
    ask: PairAsk, steps: int, samples: int, learning_rate: float, start: float, patience: int
) -> MaskRounds[Relaxed]:
    noise, base = ask.generator("arec"), torch.from_numpy(ask.logits).float()
    read = torch.from_numpy(ask.read).float()
    log_alpha = torch.full(ask.shape, start)
    first, second = torch.zeros(ask.shape), torch.zeros(ask.shape)
    shown, unchanged = GATES.more_often_one(log_alpha), 0
    best, least = log_alpha * read, np.inf
    for step in range(1, steps + 1):
        log_alpha = log_alpha.requires_grad_()
        masks = GATES.sample(log_alpha, torch.from_numpy(_uniform(noise, samples, ask.shape)))
        logits, slopes = yield Slopes(masks.detach().numpy(), lambda out, _: fidelity(out, base.to(out.device)))
        kept = float((logits.argmax(1) == ask.target).mean())
        loss = (masks * torch.from_numpy(slopes).float()).sum() / samples + WEIGHT * kept * size(log_alpha, read)
        [slope] = torch.autograd.grad(loss, [log_alpha])
        with torch.no_grad():
            first = DECAY[0] * first + (1 - DECAY[0]) * slope
            second = DECAY[1] * second + (1 - DECAY[1]) * slope.square()
            mean, spread = first / (1 - DECAY[0] ** step), (second / (1 - DECAY[1] ** step)).sqrt()
            log_alpha = (log_alpha - learning_rate * mean / (spread + 1e-8)).clamp(-BOUND, BOUND)
            now = GATES.more_often_one(log_alpha)
            unchanged = unchanged + 1 if bool(((now == shown) | (read == 0)).all()) else 0
            shown = now
        if step % LOOK_EVERY == 0 or step == steps:
            mask = shown * read
            [logits] = yield mask[None].numpy()
            keeps = int(logits.argmax()) == ask.target
            value = float(np.linalg.norm(logits - ask.logits)) + WEIGHT * float(mask_size(mask))
            if least == np.inf or (keeps and value < least - LEAST_GAIN):
                best, least = log_alpha * read, value if keeps else np.inf
            if keeps and unchanged >= patience:
                break
    return Relaxed(best.double().numpy(), (log_alpha * read).detach().double().numpy(), step if steps else 0)


def _uniform(noise: np.random.Generator, samples: int, shape: tuple[int, int]) -> Float[np.ndarray, "samples p h"]:
    ones = noise.random((-(-samples // 2), *shape), dtype=np.float32)
    return np.concatenate([ones, 1 - ones])[:samples]
