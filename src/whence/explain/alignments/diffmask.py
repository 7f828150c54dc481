"""DiffMask for alignments (De Cao et al. 2020, in the variant of Jiang et al. 2021, appendix C): a trained gate.

  log α_ij = FFN([p_i; h_j; p_i − h_j; p_i ⊙ h_j])       p, h: input word vectors of the model, without context

The FFN has one hidden tanh layer and is trained on training pairs with AREC's losses (objective.py), one sampled mask for each
pair and step; the model stays frozen. Sub-words: a word's vector is the mean of its pieces. A gate belongs to one model and is
kept as safetensors (`trained_gate`); explaining is one pass through it. The last layer starts at log α = 0.

**When it stops.** The papers do not say. Here: when its own loss is flat, that is when for `patience` epochs the mean loss of
an epoch has not been below 0.99 × the best before (`flat` = 0.01), or after `epochs`. The losses are kept beside the gate.

Cost: no pass of the model; training: epochs × (forward + backward) of every training pair.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from whence.errors import BadInput
from whence.explain.alignments.method import AlignmentMethod, Cells, PairAsk, pair_asks
from whence.explain.alignments.objective import GATES, WEIGHT, fidelity, size
from whence.models import Classifier, Encoded
from whence.run import Runner, Tick, cache_folder, digest, progress, read_json, whole, write_atomically
from whence.run.masks import Loss, Masked, Slopes

START = 0.0
"""log α of every cell at first. From 1 on, long pairs never leave the open mask: their fidelity is a wall around it."""


@dataclass(frozen=True)
class GateSettings:
    """The papers give no sizes; these are ours."""

    hidden: int = 200
    epochs: int = 40
    """At most."""
    flat: float = 0.01
    patience: int = 3
    batch_size: int = 32
    learning_rate: float = 1e-3
    seed: int = 0


class Gate(nn.Module):
    def __init__(self, dim: int, hidden: int) -> None:
        super().__init__()
        self.premise, self.hypothesis = nn.Linear(dim, hidden), nn.Linear(dim, hidden, bias=False)
        self.product, self.out = nn.Linear(dim, hidden, bias=False), nn.Linear(hidden, 1)
        nn.init.constant_(self.out.bias, START)

    def forward(
        self, premise: Float[Tensor, "pairs premise dim"], hypothesis: Float[Tensor, "pairs hypothesis dim"]
    ) -> Float[Tensor, "pairs premise hypothesis"]:
        """log α. The part for p − h is contained in those for p and h, since it is linear."""
        product = premise[:, :, None] * hypothesis[:, None]
        inside = self.premise(premise)[:, :, None] + self.hypothesis(hypothesis)[:, None] + self.product(product)
        return self.out(torch.tanh(inside))[..., 0]


def word_vectors(classifier: Classifier, encoded: Encoded) -> tuple[Tensor, Tensor]:
    """Of the premise's and the hypothesis' words: float[words, dim]; 0 for words that the model did not read."""
    table = classifier.model.get_input_embeddings().weight.detach()
    inside = np.flatnonzero(encoded.word >= 0)
    of = torch.from_numpy(encoded.word[inside]).to(table.device)
    pieces = table[torch.from_numpy(encoded.ids[inside]).to(table.device)].float()
    total = pieces.new_zeros(encoded.word_count, table.shape[1]).index_add_(0, of, pieces)
    mean = total / torch.bincount(of, minlength=encoded.word_count).clamp(min=1)[:, None]
    first, second = mean.split([len(spans) for spans in encoded.spans])
    return first, second


def gate_log_alpha(gate: Gate, classifier: Classifier, encoded: Sequence[Encoded]) -> Float[Tensor, "pairs premise hypothesis"]:
    both = [word_vectors(classifier, e) for e in encoded]
    premise, hypothesis = (nn.utils.rnn.pad_sequence(list(side), batch_first=True) for side in zip(*both, strict=True))
    return gate(premise, hypothesis)


def trained_gate(classifier: Classifier, encoded: Sequence[Encoded], settings: GateSettings | None = None) -> Path:
    """The folder of the gate for this model, trained on these pairs now if it is not in the cache."""
    settings = settings or GateSettings()
    key = {
        "model": classifier.fingerprint, "pairs": digest([e.example for e in encoded]), "start": START, **asdict(settings),
    }  # fmt: skip
    folder = cache_folder("diffmask", key)
    if not (folder / "gate.json").exists():
        gate, losses = train_gate(Runner(classifier), encoded, settings)
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(folder / "gate.safetensors", lambda path: save_file(gate.state_dict(), path))
        write_atomically(
            folder / "gate.json", lambda path: path.write_text(json.dumps({**key, "losses": losses}), encoding="utf-8")
        )
    return folder


def train_gate(runner: Runner, encoded: Sequence[Encoded], settings: GateSettings) -> tuple[Gate, list[float]]:
    """The gate, and its mean loss in every epoch."""
    classifier = runner.classifier
    assert isinstance(classifier, Classifier)
    asks = [ask for ask in pair_asks(runner, encoded) if ask.read.any()]
    torch_random, draw = torch.Generator().manual_seed(settings.seed), np.random.default_rng(settings.seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        gate = Gate(classifier.embedding_dim, settings.hidden).to(classifier.device)
    adam = torch.optim.Adam(gate.parameters(), lr=settings.learning_rate)
    losses: list[float] = []
    with progress("DiffMask's gate (pairs, at most)", settings.epochs * len(asks)) as tick:
        while asks and len(losses) < settings.epochs and not _flat(losses, settings):
            order, total = draw.permutation(len(asks)), 0.0
            for start in range(0, len(order), settings.batch_size):
                batch = [asks[i] for i in order[start : start + settings.batch_size]]
                total += _train_step(runner, classifier, gate, adam, batch, torch_random) * len(batch)
                tick(len(batch))
            losses.append(total / len(asks))
    return gate.eval(), losses


def _flat(losses: Sequence[float], settings: GateSettings) -> bool:
    recent = settings.patience
    return len(losses) > recent and min(losses[-recent:]) > (1 - settings.flat) * min(losses[:-recent])


def _train_step(
    runner: Runner, classifier: Classifier, gate: Gate, adam: torch.optim.Adam, batch: list[PairAsk], draw: torch.Generator
) -> float:
    log_alpha = gate_log_alpha(gate, classifier, [ask.encoded for ask in batch])
    masks = GATES.sample(log_alpha, torch.rand(log_alpha.shape, generator=draw).to(log_alpha.device))
    inside = [tuple(slice(0, n) for n in ask.shape) for ask in batch]
    asked = masks.detach().cpu().numpy()
    found = runner.run_masks(
        [
            Masked(ask.encoded, Slopes(asked[row][cells][None], _distance(ask)))
            for row, (ask, cells) in enumerate(zip(batch, inside, strict=True))
        ]
    )
    loss = log_alpha.new_zeros(())
    value = 0.0
    for row, (ask, cells, result) in enumerate(zip(batch, inside, found, strict=True)):
        logits, slopes = result.answer
        kept = float(logits[0].argmax() == ask.target)
        small = WEIGHT * kept * size(log_alpha[row][cells], torch.from_numpy(ask.read).to(log_alpha))
        loss = loss + (masks[row][cells] * torch.from_numpy(slopes[0]).to(log_alpha)).sum() + small
        value += float(np.linalg.norm(logits[0] - ask.logits)) + float(small.detach())
    adam.zero_grad()
    (loss / len(batch)).backward()
    adam.step()
    return value / len(batch)


def _distance(ask: PairAsk) -> Loss:
    base = torch.from_numpy(ask.logits).float()
    return lambda logits, _: fidelity(logits.float(), base.to(logits.device))


def load_gate(folder: Path, classifier: Classifier) -> Gate:
    if not (folder / "gate.json").exists():
        raise BadInput(f"diffmask: '{folder}' holds no gate; expected a folder that trained_gate made for this model")
    about = read_json(folder / "gate.json")
    if about["model"] != classifier.fingerprint:
        raise BadInput(f"diffmask: the gate in '{folder}' was trained for another model; expected one for this model")
    gate = Gate(classifier.embedding_dim, about["hidden"])
    with whole(folder / "gate.safetensors", f"remove {folder} and run the same command again"):
        gate.load_state_dict(load_file(folder / "gate.safetensors"))
    return gate.to(classifier.device).eval()


def diffmask_cells(asks: Sequence[PairAsk], runner: Runner, tick: Tick | None, gate: str) -> list[Cells]:
    if not gate:
        raise BadInput("diffmask needs a trained gate; expected the parameter 'gate': a folder that trained_gate made")
    if any(ask.sealed for ask in asks):
        raise BadInput("diffmask knows no sealed masks: its gate reads words, and special tokens are none")
    classifier = runner.classifier
    assert isinstance(classifier, Classifier)
    loaded, found = load_gate(Path(gate), classifier), []
    for ask in asks:
        scores = np.zeros(ask.shape)
        if ask.read.any():
            with torch.no_grad():
                scores = gate_log_alpha(loaded, classifier, [ask.encoded])[0].double().cpu().numpy() * ask.read
        found.append(Cells(scores, scores > 0))
        if tick:
            tick(1)
    return found


METHODS = [
    AlignmentMethod(
        "diffmask",
        "DiffMask",
        "A gate, trained to make small masks that keep predictions, says which word pairs to keep.",
        "De Cao et al. 2020",
        "none (training: epochs × (forward + backward) of every training pair)",
        diffmask_cells,
        {"gate": ""},
        makes_mask=True,
    )
]
