"""Some pairs, read under many alignment masks, with gradients in the mask.

A mask has one cell per word pair and multiplies every co-attention weight between tokens of the two words (both directions; all
layers and heads of a transformer). Models with a co-attention of their own (`CoAttentionModel`) do what the mask cannot change
once; in a transformer every layer depends on the mask, so there each mask is a row of the batch.

**Sealed masks.** An ordinary mask leaves special tokens ([CLS], [SEP]) open, and by them information passes from sentence to
sentence. A sealed mask has one more row and column, both first: cell (0, j) is what hypothesis word j gets from special tokens,
cell (i, 0) what premise word i gets from them, cell (0, 0) what special tokens of the two sentences exchange where they belong
to one (DA, ESIM). Under a sealed mask of zeros

- *transformers*: a word computes from the words of its own sentence and from nothing else, in every layer. What special tokens
  read stays open, for that is how [CLS] gathers what it classifies; but no word reads it back. The mask acts before the softmax
  (multiplied and renormalised), because a weight that is cut after it still sits in the denominators of the others. Positions
  stay as they are, so the hypothesis still shows how long the premise is.
- *DA, ESIM*: neither sentence receives anything from the other before the classifier compares their summaries. The mask acts
  after the softmax as ever: without a partner there is nothing to renormalise. So where some cell of a word is kept, how much
  weight it has still depends on the words that are cut.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

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


def pair_shape(encoded: Encoded, sealed: bool = False) -> tuple[int, int]:
    """(words of the premise, words of the hypothesis), one more of each in a sealed mask."""
    premise, hypothesis = (len(spans) + sealed for spans in encoded.spans)
    return premise, hypothesis


def read_cells(encoded: Encoded, sealed: bool = False) -> Bool[np.ndarray, "premise hypothesis"]:
    """Word pairs of which the model reads both words; the mask of any other changes nothing."""
    seen, premise = encoded.seen, len(encoded.spans[0])
    first, second = seen[:premise], seen[premise:]
    if sealed and first.any() and second.any():
        first, second = np.append(True, first), np.append(True, second)
    elif sealed:
        return np.zeros(pair_shape(encoded, sealed), dtype=bool)
    return np.outer(first, second)


def known_cells(encoded: Encoded) -> Bool[np.ndarray, "premise hypothesis"]:
    """The word pairs of the phrase pairs that are known to decide the label."""
    first, second = encoded.spans
    cells = np.zeros((len(first), len(second)), dtype=bool)
    for premise, hypothesis in encoded.example.pairs:
        cells |= covered(first, [premise])[:, None] & covered(second, [hypothesis])[None, :]
    return cells


def _cells_of_tokens(encoded: Encoded, width: int, tokens: int, none: int, sealed: bool, own: bool) -> Int[np.ndarray, "t t"]:
    """The number of the cell (row × width + column) that each token pair belongs to: query × key.

    Sealed: the special tokens are row and column 0. In models with a co-attention of their own (`own`) they have a side, and
    token pairs across are cells in both directions; in transformers only what words read is a cell.
    """
    premise, column = len(encoded.spans[0]), int(sealed)
    first = np.flatnonzero((encoded.word >= 0) & (encoded.field == 0))
    second = np.flatnonzero((encoded.word >= 0) & (encoded.field == 1))
    rows, columns = encoded.word[first] + column, encoded.word[second] - premise + column
    cells = np.full((tokens, tokens), none, dtype=np.int64)
    number = rows[:, None] * width + columns[None, :]
    cells[np.ix_(first, second)] = number
    cells[np.ix_(second, first)] = number.T
    if sealed:
        special = np.flatnonzero(encoded.word < 0)
        if own:
            side = np.zeros(len(encoded), dtype=int) if encoded.types is None else encoded.types
            first_special, second_special = special[side[special] == 0], special[side[special] == 1]
            cells[np.ix_(first_special, second_special)] = 0
            cells[np.ix_(first, second_special)] = rows[:, None] * width
            cells[np.ix_(first_special, second)] = columns[None, :]
        else:
            cells[np.ix_(first, special)] = rows[:, None] * width
            cells[np.ix_(second, special)] = columns[:, None]
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
    sealed: bool = False

    @classmethod
    def of(cls, classifier: Classifier, encoded: Sequence[Encoded], sealed: bool = False) -> "MaskedPairs":
        classifier.check(frozenset({"alignment"}))
        premise, hypothesis = np.array([pair_shape(e, sealed) for e in encoded]).max(axis=0).tolist()
        batch = collate(encoded, classifier.pad_id, classifier.device)
        tokens, own = batch.input_ids.shape[1], isinstance(classifier.model, CoAttentionModel)
        rows = [_cells_of_tokens(e, hypothesis, tokens, premise * hypothesis, sealed, own) for e in encoded]
        cells, state = torch.from_numpy(np.stack(rows)).to(classifier.device), None
        if isinstance(classifier.model, CoAttentionModel):
            with as_it_is(classifier.model), torch.no_grad():
                state = classifier.model.before_alignment(**batch.inputs())
            cells = block(cells, state.pair)
        return cls(classifier, encoded, (premise, hypothesis), batch, cells, state, sealed)

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
        return replace(self, encoded=[self.encoded[i] for i in rows], batch=batch, cells=cells, state=state)

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
            tap = Tap(model.config.num_hidden_layers, by_token.flatten(0, 1)[:, None], renormalise=self.sealed)
            with tapped(model, tap):
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
            tokens = self.batch.input_ids.shape[1]
            # padded places have weight 0; after `take` they may lie beyond the longest pair
            a_at, b_at = (at.clamp(max=tokens - 1) for at in (self.state.pair.a_at, self.state.pair.b_at))
            weights = first.new_zeros(len(self), tokens, tokens)
            rows = torch.arange(len(self))[:, None, None]
            weights.index_put_((rows, a_at[:, :, None], b_at[:, None, :]), first, accumulate=True)
            weights.index_put_((rows, b_at[:, :, None], a_at[:, None, :]), second, accumulate=True)
        else:
            tap = _EveryLayer(self.classifier.model.config.num_hidden_layers)
            with as_it_is(self.classifier.model), torch.no_grad(), tapped(self.classifier.model, tap):
                self.classifier.model(**self.batch.inputs())
            weights = torch.stack(tap.seen).mean(0)
        return [_between_words(e, w.cpu().double().numpy(), self.sealed) for e, w in zip(self.encoded, weights, strict=True)]


def _between_words(
    encoded: Encoded, weights: Float[np.ndarray, "tokens tokens"], sealed: bool
) -> Float[np.ndarray, "premise hypothesis"]:
    """Sealed: in row and column 0 what words give to special tokens, which are read by words and not the other way round."""
    of = (encoded.word[:, None] == np.arange(encoded.word_count)).astype(np.float64)  # tokens × words
    shares, weights = of.T / np.maximum(of.sum(0), 1)[:, None], weights[: len(encoded), : len(encoded)]
    by_word, premise = shares @ weights @ of, len(encoded.spans[0])
    both = (by_word[:premise, premise:] + by_word[premise:, :premise].T) / 2
    if not sealed:
        return both
    to_special = shares @ weights[:, encoded.word < 0].sum(1)
    return np.block([[np.zeros((1, 1)), to_special[None, premise:]], [to_special[:premise, None], both]])


@dataclass
class _EveryLayer(Tap):
    """Keeps every layer's weights, averaged over heads."""

    seen: list[Tensor] = field(default_factory=list)

    def change(self, module: nn.Module, weights: Tensor) -> Tensor:
        self.seen.append(weights.mean(1))
        return super().change(module, weights)


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
