"""Does a stepwise model's label need its explanation, and its explanation the label? Exchange one and look at the other.

  cut      the label before the explanation, and after the first half of it
  another  the label after an explanation that the model wrote for an example with another label
  frozen   the explanation that is written if the label state stays what the encoder says
  swapped  the explanation, and the label, if the state before the first token is turned round: every label gets the logit of
           the one before it, the first that of the last

`kept`: the share of labels that stay; `same`: F1 of the words of the two explanations. A model whose label does not read the
explanation keeps all labels, one whose decoder does not read the label writes the same under any state. Liu et al. 2022 infer
the bond from better scores; this looks at it. The port is asked directly, since a label state is no part of an `Intervention`.
Cost: three generations and two passes for each example.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from whence.data import Example
from whence.errors import BadInput
from whence.measure.robustness import word_f1
from whence.models import UNCHANGED, Encoded, Generated, SimPort

MAX_TOKENS = 200


@dataclass(frozen=True)
class Exchanged:
    """Of one example. Labels by their numbers; None where no example has another label."""

    id: str
    label: int
    cut: int
    half: int
    another: int | None
    others_label: int | None
    """The label of the example whose explanation was read."""
    frozen_same: float
    swapped_same: float
    swapped: int
    """The label that is reached from the state that was turned round."""
    turned: int
    """What the turned state says before the explanation."""


def exchanged(port: SimPort, examples: Sequence[Example]) -> list[Exchanged]:
    encoded = port.encode(examples)
    own, frozen, swapped = (_written(port, encoded, edit) for edit in (None, _frozen(), _turned))
    labels = [_label(output) for output in own]
    said = [output.ids[len(item.candidates[label]) :] for item, output, label in zip(encoded, own, labels, strict=True)]
    others = [_other(labels, i) for i in range(len(labels))]
    halves = port.evolution(encoded, [ids[: len(ids) // 2] for ids in said])
    read = port.evolution(encoded, [said[i if j is None else j] for i, j in enumerate(others)])
    found = []
    for i, example in enumerate(examples):
        other, (why, cold, turned) = others[i], (_why(port, encoded[i], outputs[i]) for outputs in (own, frozen, swapped))
        found.append(Exchanged(
            example.id, labels[i], int(np.argmax(own[i].evolution[0])), int(halves[i][-1].argmax()),
            None if other is None else int(read[i][-1].argmax()), None if other is None else labels[other],
            word_f1(why, cold), word_f1(why, turned), _label(swapped[i]), int(np.argmax(swapped[i].evolution[0])),
        ))  # fmt: skip
    return found


def _written(port: SimPort, encoded: Sequence[Encoded], edit: Callable[[int, Tensor], Tensor] | None) -> list[Generated]:
    outputs = port.generate(encoded, [UNCHANGED] * len(encoded), MAX_TOKENS, edit)
    if not all(output.evolution for output in outputs):
        raise BadInput(f"{port.name} decides at once; expected a stepwise model, which has a label state")
    return outputs


def _frozen() -> Callable[[int, Tensor], Tensor]:
    first: list[Tensor] = []

    def edit(step: int, state: Tensor) -> Tensor:
        if step == 0:
            first[:] = [state]
        return first[0]

    return edit


def _turned(step: int, state: Tensor) -> Tensor:
    return state.roll(1, -1) if step == 0 else state


def _label(output: Generated) -> int:
    return int(np.argmax(output.evolution[-1]))


def _other(labels: Sequence[int], i: int) -> int | None:
    """The next example with another label."""
    return next((j % len(labels) for j in range(i + 1, i + len(labels)) if labels[j % len(labels)] != labels[i]), None)


def _why(port: SimPort, encoded: Encoded, output: Generated) -> str:
    return port.decode(output.ids[len(encoded.candidates[_label(output)]) :])
