"""Some pairs, read under many alignment masks, with gradients in the mask.

A mask has one cell per word pair and multiplies every co-attention weight between tokens of the two words (both directions; all
layers and heads of a transformer). Models with a co-attention of their own (`CoAttentionModel`) do what the mask cannot change
once; in a transformer every layer depends on the mask, so there each mask is a row of the batch.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from whence.data import covered
from whence.models.attention import Tap, tapped
from whence.models.batch import Batch, collate
from whence.models.classifier import Classifier
from whence.models.encoding import Encoded
from whence.models.pairs import Attended, CoAttentionModel, block


def pair_shape(encoded: Encoded) -> tuple[int, int]:
    """(words of the premise, words of the hypothesis)"""
    premise, hypothesis = (len(spans) for spans in encoded.spans)
    return premise, hypothesis


def read_cells(encoded: Encoded) -> Bool[np.ndarray, "premise hypothesis"]:
    """Word pairs of which the model reads both words; the mask of any other changes nothing."""
    seen, premise = encoded.seen, len(encoded.spans[0])
    return np.outer(seen[:premise], seen[premise:])


def known_cells(encoded: Encoded) -> Bool[np.ndarray, "premise hypothesis"]:
    """The word pairs of the phrase pairs that are known to decide the label."""
    first, second = encoded.spans
    cells = np.zeros((len(first), len(second)), dtype=bool)
    for premise, hypothesis in encoded.example.pairs:
        cells |= covered(first, [premise])[:, None] & covered(second, [hypothesis])[None, :]
    return cells


def _cells_of_tokens(encoded: Encoded, width: int, tokens: int, none: int) -> Int[np.ndarray, "tokens tokens"]:
    """The number of the cell (premise word × width + hypothesis word) that each token pair belongs to, in both directions."""
    premise = len(encoded.spans[0])
    first = np.flatnonzero((encoded.word >= 0) & (encoded.field == 0))
    second = np.flatnonzero((encoded.word >= 0) & (encoded.field == 1))
    cells = np.full((tokens, tokens), none, dtype=np.int64)
    number = encoded.word[first][:, None] * width + (encoded.word[second] - premise)[None, :]
    cells[np.ix_(first, second)] = number
    cells[np.ix_(second, first)] = number.T
    return cells


@dataclass
class MaskedPairs:
    """A batch of pairs. Masks are padded to `shape`, the longest premise and hypothesis; padded cells have no effect."""

    classifier: Classifier
    encoded: Sequence[Encoded]
    shape: tuple[int, int]
    batch: Batch
    cells: Int[Tensor, "pairs tokens tokens"]
    state: Attended | None

    @classmethod
    def of(cls, classifier: Classifier, encoded: Sequence[Encoded]) -> "MaskedPairs":
        classifier.check(frozenset({"alignment"}))
        premise, hypothesis = np.array([pair_shape(e) for e in encoded]).max(axis=0).tolist()
        batch = collate(encoded, classifier.pad_id, classifier.device)
        tokens = batch.input_ids.shape[1]
        rows = [_cells_of_tokens(e, hypothesis, tokens, premise * hypothesis) for e in encoded]
        cells, state = torch.from_numpy(np.stack(rows)).to(classifier.device), None
        if isinstance(classifier.model, CoAttentionModel):
            with as_it_is(classifier.model), torch.no_grad():
                state = classifier.model.before_alignment(**batch.inputs())
            cells = block(cells, state.pair)
        return cls(classifier, encoded, (premise, hypothesis), batch, cells, state)

    def __len__(self) -> int:
        return len(self.encoded)

    def take(self, rows: Sequence[int]) -> "MaskedPairs":
        """Some of the pairs, padded no further than they need; masks keep their shape."""
        index = torch.tensor(rows, dtype=torch.long, device=self.cells.device)
        tokens = max(len(self.encoded[i]) for i in rows)
        types = self.batch.token_type_ids
        batch = Batch(
            self.batch.input_ids[index, :tokens], self.batch.attention_mask[index, :tokens],
            None if types is None else types[index, :tokens], self.batch.content[index, :tokens],
        )  # fmt: skip
        state = None if self.state is None else self.state.take(index)
        first, second = (tokens, tokens) if state is None else state.to_b.shape[1:]
        cells = self.cells[index, :first, :second]
        return MaskedPairs(self.classifier, [self.encoded[i] for i in rows], self.shape, batch, cells, state)

    def logits(self, masks: Float[Tensor, "pairs masks premise hypothesis"]) -> Float[Tensor, "pairs masks labels"]:
        """Every pair under each of its masks; differentiable in the masks, never in the weights."""
        by_token = self._by_token(masks)
        model = self.classifier.model
        with as_it_is(model):
            if self.state is not None:
                assert isinstance(model, CoAttentionModel)
                return model.after_alignment(self.state, by_token)
            count = masks.shape[1]
            inputs = {name: values.repeat_interleave(count, 0) for name, values in self.batch.inputs().items()}
            with tapped(model, Tap(model.config.num_hidden_layers, multiply=by_token.flatten(0, 1)[:, None])):
                return model(**inputs).logits.unflatten(0, (-1, count))

    def _by_token(self, masks: Tensor) -> Float[Tensor, "pairs masks a_tokens b_tokens"]:
        flat = nn.functional.pad(masks.flatten(2), (0, 1), value=1.0)  # the last: token pairs that belong to no cell
        index = self.cells.flatten(1)[:, None].expand(-1, masks.shape[1], -1)
        return flat.gather(2, index).unflatten(2, self.cells.shape[1:])

    def co_attention(self) -> list[Float[np.ndarray, "premise hypothesis"]]:
        """Mean over both directions (and over layers and heads) of the weight from a word to a word of the other text.

        Sub-words: a word attends as the mean of its pieces and is attended to as their sum, so that weights stay shares.
        """
        if self.state is not None:
            first, second = self.state.to_b, self.state.to_a.transpose(1, 2)
            a_at, b_at = self.state.pair.a_at, self.state.pair.b_at
            tokens = self.batch.input_ids.shape[1]
            weights = first.new_zeros(len(self), tokens, tokens)
            rows = torch.arange(len(self))[:, None, None]
            # padded places repeat the last real one with weight 0
            weights.index_put_((rows, a_at[:, :, None], b_at[:, None, :]), first, accumulate=True)
            weights.index_put_((rows, b_at[:, :, None], a_at[:, None, :]), second, accumulate=True)
        else:
            tap = _EveryLayer(self.classifier.model.config.num_hidden_layers)
            with as_it_is(self.classifier.model), torch.no_grad(), tapped(self.classifier.model, tap):
                self.classifier.model(**self.batch.inputs())
            weights = torch.stack(tap.seen).mean(0)
        return [_between_words(e, w.cpu().double().numpy()) for e, w in zip(self.encoded, weights, strict=True)]


def _between_words(encoded: Encoded, weights: Float[np.ndarray, "tokens tokens"]) -> Float[np.ndarray, "premise hypothesis"]:
    of = (encoded.word[:, None] == np.arange(encoded.word_count)).astype(np.float64)  # tokens × words
    pieces = np.maximum(of.sum(0), 1)
    by_word = (of.T / pieces[:, None]) @ weights[: len(encoded), : len(encoded)] @ of
    premise = len(encoded.spans[0])
    return (by_word[:premise, premise:] + by_word[premise:, :premise].T) / 2


@dataclass
class _EveryLayer(Tap):
    """Keeps every layer's weights, averaged over heads."""

    seen: list[Tensor] = field(default_factory=list)

    def change(self, weights: Tensor) -> Tensor:
        self.seen.append(weights.mean(1))
        return super().change(weights)


@contextmanager
def as_it_is(model: nn.Module) -> Iterator[None]:
    """For the time of a pass: evaluation mode, and no gradients in the weights. Both are put back."""
    training = [module for module in model.modules() if module.training]
    learning = [weight for weight in model.parameters() if weight.requires_grad]
    for module in training:
        module.training = False
    for weight in learning:
        weight.requires_grad_(False)
    try:
        yield
    finally:
        for module in training:
            module.training = True
        for weight in learning:
            weight.requires_grad_(True)
