"""What the last layer computes for tokens that nobody reads is left out: no number changes, and only where nobody reads."""

import pytest
import torch
from tiny import MODELS, pairs, texts, tiny_bert
from torch import nn

from whence.models import UNCHANGED, Classifier, Intervention, Label
from whence.models.last_layer import first_token_only

GRADIENT = frozenset({"gradient"})


def rows_after_attention(classifier: Classifier, run: object) -> list[int]:
    """How many tokens the last layer's feed-forward part reads in each pass."""
    seen: list[int] = []
    last = classifier.model.base_model.encoder.layer[-1]
    handle = last.intermediate.register_forward_pre_hook(lambda _, given: seen.append(given[0].shape[1]))
    run()  # type: ignore[operator]
    handle.remove()
    return seen


@pytest.mark.parametrize("make", [texts, pairs])
@pytest.mark.parametrize("name", ["bert", "roberta"])
def test_scores_and_gradients_are_those_of_the_whole_layer(name: str, make: object) -> None:
    torch.manual_seed(1)
    classifier = MODELS[name]()
    encoded = classifier.encode(make())  # type: ignore[operator]
    changes, targets = [Intervention(scale=0.7)] * len(encoded), [Label(1)] * len(encoded)
    short = classifier.run(encoded, changes, GRADIENT, targets)
    assert rows_after_attention(classifier, lambda: classifier.run(encoded, changes, GRADIENT, targets)) == [1]
    classifier.__dict__["_unread"] = None
    whole = classifier.run(encoded, changes, GRADIENT, targets)
    assert short["scores"] == pytest.approx(whole["scores"], abs=1e-6)
    assert short["gradient"] == pytest.approx(whole["gradient"], abs=1e-6)


class MeanHead(nn.Module):
    """Reads all tokens, as some classifiers do, in the place of BERT's pooler."""

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        return states.mean(1)


def test_a_model_that_reads_all_tokens_keeps_them() -> None:
    torch.manual_seed(2)
    classifier = tiny_bert()
    classifier.model.bert.pooler = MeanHead()
    encoded = classifier.encode(texts())
    seen = rows_after_attention(classifier, lambda: classifier.run(encoded[:1], [UNCHANGED], frozenset(), [None]))
    assert seen[-1] == len(encoded[0])
    whole = classifier.run(encoded[:1], [UNCHANGED], frozenset(), [None])["scores"]
    with first_token_only(classifier.model.bert.encoder.layer[-1].attention.output):
        assert abs(classifier.run(encoded[:1], [UNCHANGED], frozenset(), [None])["scores"] - whole).max() > 1e-4


def test_training_passes_are_whole() -> None:
    """Dropout must draw the same numbers as it always did."""
    classifier = tiny_bert()
    batch = classifier._collate(classifier.encode(texts()), [UNCHANGED] * 6, [None] * 6)
    seen = rows_after_attention(classifier, lambda: classifier.training_pass(batch, False))
    assert seen == [batch.input_ids.shape[1]]
