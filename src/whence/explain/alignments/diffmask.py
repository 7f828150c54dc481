"""DiffMask for alignments (De Cao et al. 2020, in the variant of Jiang et al. 2021, appendix C): a trained gate.

  log α_ij = FFN([p_i; h_j; p_i − h_j; p_i ⊙ h_j])       p, h: input word vectors of the model, without context

The FFN has one hidden tanh layer and is trained on training pairs with AREC's losses (objective.py), one sampled mask for each
pair and step; the model stays frozen. Sub-words: a word's vector is the mean of its pieces. A gate belongs to one model and is
kept as safetensors (`trained_gate`); explaining is one pass through it. The last layer starts at log α = 1: gates start open.

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
from whence.explain.alignments.descent import padded
from whence.explain.alignments.method import AlignmentMethod, Cells, PairAsk, pair_asks
from whence.explain.alignments.objective import GATES, WEIGHT, fidelity, size
from whence.models import Classifier, Encoded
from whence.models.alignment import MaskedPairs
from whence.run import Tick, cache_folder, digest, read_json, whole, write_atomically
from whence.run.masks import MaskRunner

OPEN = 1.0


@dataclass(frozen=True)
class GateSettings:
    """The papers give no sizes; these are ours."""

    hidden: int = 200
    epochs: int = 2
    batch_size: int = 32
    learning_rate: float = 1e-3
    seed: int = 0


class Gate(nn.Module):
    def __init__(self, dim: int, hidden: int) -> None:
        super().__init__()
        self.premise, self.hypothesis = nn.Linear(dim, hidden), nn.Linear(dim, hidden, bias=False)
        self.product, self.out = nn.Linear(dim, hidden, bias=False), nn.Linear(hidden, 1)
        nn.init.constant_(self.out.bias, OPEN)

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
    key = {"model": classifier.fingerprint, "pairs": digest([e.example for e in encoded]), **asdict(settings)}
    folder = cache_folder("diffmask", key)
    if not (folder / "gate.json").exists():
        gate = train_gate(classifier, encoded, settings)
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(folder / "gate.safetensors", lambda path: save_file(gate.state_dict(), path))
        write_atomically(folder / "gate.json", lambda path: path.write_text(json.dumps(key), encoding="utf-8"))
    return folder


def train_gate(classifier: Classifier, encoded: Sequence[Encoded], settings: GateSettings) -> Gate:
    asks = [ask for ask in pair_asks(classifier, encoded) if ask.read.any()]
    torch_random, draw = torch.Generator().manual_seed(settings.seed), np.random.default_rng(settings.seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        gate = Gate(classifier.embedding_dim, settings.hidden).to(classifier.device)
    adam = torch.optim.Adam(gate.parameters(), lr=settings.learning_rate)
    for _ in range(settings.epochs):
        order = draw.permutation(len(asks))
        for start in range(0, len(order), settings.batch_size):
            batch = [asks[i] for i in order[start : start + settings.batch_size]]
            pairs = MaskedPairs.of(classifier, [ask.encoded for ask in batch])
            log_alpha = gate_log_alpha(gate, classifier, pairs.encoded)
            uniform = torch.rand(log_alpha.shape, generator=torch_random).to(log_alpha.device)
            logits = pairs.logits(GATES.sample(log_alpha, uniform)[:, None])[:, 0]
            base = torch.tensor(np.stack([ask.logits for ask in batch]), dtype=torch.float32, device=logits.device)
            kept = (logits.argmax(-1) == base.argmax(-1)).float()
            read = padded([ask.read for ask in batch], pairs)
            loss = (fidelity(logits, base) + WEIGHT * kept * size(log_alpha, read)).mean()
            adam.zero_grad()
            loss.backward()
            adam.step()
    return gate.eval()


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


def diffmask_cells(asks: Sequence[PairAsk], masks: MaskRunner, tick: Tick | None, gate: str) -> list[Cells]:
    if not gate:
        raise BadInput("diffmask needs a trained gate; expected the parameter 'gate': a folder that trained_gate made")
    loaded = load_gate(Path(gate), masks.classifier)
    found = [Cells(np.zeros(ask.shape), np.zeros(ask.shape, dtype=bool)) for ask in asks]
    for numbers, pairs in masks.groups():
        with torch.no_grad():
            log_alpha = gate_log_alpha(loaded, masks.classifier, pairs.encoded).double().cpu().numpy()
        for row, i in enumerate(numbers):
            scores = log_alpha[row, : asks[i].shape[0], : asks[i].shape[1]] * asks[i].read
            found[i] = Cells(scores, scores > 0)
        if tick:
            tick(len(numbers))
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
        passes=lambda p, h, given: (0, 0),
    )
]
