"""The same numbers as captum and as Hugging Face's own attention output, on a tiny BERT and on the bag of words."""

import copy
from typing import Any

import numpy as np
import pytest
import torch
from bag_model import bag_classifier
from captum._utils.models.linear_model import SkLearnRidge
from captum.attr import IntegratedGradients, KernelShap, LayerGradientXActivation, LimeBase
from tiny import pairs, texts
from torch import Tensor

from whence.data import Example
from whence.explain import METHODS, explain
from whence.explain.tokens import Ask
from whence.explain.tokens.lime import hidings
from whence.models import Classifier, Encoded, Label
from whence.run import Runner

TARGET = 2
"""The label that is explained."""


@pytest.fixture(scope="module", params=["text", "pair"])
def encoded(request: pytest.FixtureRequest, bert: Classifier) -> Encoded:
    return bert.encode([texts()[1] if request.param == "text" else pairs()[0]])[0]


def ours(classifier: Classifier, encoded: Encoded, method: str, **parameters: Any) -> np.ndarray:
    [made] = explain(Runner(classifier), [encoded], METHODS[method], target=Label(TARGET), parameters=parameters)
    return np.array(made.scores)


def tensors(encoded: Encoded) -> dict[str, Tensor]:
    ids = torch.tensor(encoded.ids)[None]
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids), "token_type_ids": torch.tensor(encoded.types)[None]}


def by_word(encoded: Encoded, values: Tensor) -> np.ndarray:
    """Independent of `sum_to_words`: a plain loop."""
    found = np.zeros(encoded.word_count)
    for word, value in zip(encoded.word, values.detach().flatten().tolist(), strict=True):
        if word >= 0:
            found[word] += value
    return found


def probability(model: Any, encoded: Encoded) -> Any:
    rest = {name: value for name, value in tensors(encoded).items() if name != "input_ids"}

    def forward(ids: Tensor) -> Tensor:
        return model(input_ids=ids, **{k: v.expand(len(ids), -1) for k, v in rest.items()}).logits.softmax(-1)[:, TARGET]

    return forward


def test_integrated_gradients(bert: Classifier, encoded: Encoded) -> None:
    """From zero to what the first layer reads, at the words. Two rules for one integral, each with points enough."""
    inputs = tensors(encoded)
    model, mask = bert.model, inputs["attention_mask"]
    x = model.bert.embeddings(input_ids=inputs["input_ids"], token_type_ids=inputs["token_type_ids"]).detach()

    def forward(embedded: Tensor) -> Tensor:
        hidden = model.bert.encoder(embedded, attention_mask=torch.zeros(len(embedded), 1, 1, mask.shape[1])).last_hidden_state
        return model.classifier(model.bert.pooler(hidden)).softmax(-1)[:, TARGET]

    baseline = torch.where(torch.tensor(encoded.field >= 0)[None, :, None], torch.zeros_like(x), x)
    values = IntegratedGradients(forward).attribute(x, baseline, n_steps=50, method="gausslegendre", internal_batch_size=8)
    assert ours(bert, encoded, "integrated_gradients", n_steps=200, max_steps=200) == pytest.approx(
        by_word(encoded, values.sum(-1)), abs=1e-5, rel=1e-3
    )


def test_input_x_gradient(bert: Classifier, encoded: Encoded) -> None:
    layer = bert.model.bert.embeddings  # after position, type and norm
    values = LayerGradientXActivation(probability(bert.model, encoded), layer).attribute(tensors(encoded)["input_ids"])
    assert ours(bert, encoded, "input_x_gradient") == pytest.approx(by_word(encoded, values.sum(-1)), abs=1e-5, rel=1e-5)


def test_gradients(bert: Classifier, encoded: Encoded) -> None:
    oracle = LayerGradientXActivation(probability(bert.model, encoded), bert.model.bert.embeddings, multiply_by_inputs=False)
    gradient = oracle.attribute(tensors(encoded)["input_ids"])
    expected = {"gradient_sum": gradient.sum(-1), "gradient_l1": gradient.abs().sum(-1), "gradient_l2": gradient.norm(dim=-1)}
    for name, values in expected.items():
        assert ours(bert, encoded, name) == pytest.approx(by_word(encoded, values), abs=1e-5, rel=1e-5)


def test_input_x_gradient_is_not_taken_below_a_norm(bert: Classifier, encoded: Encoded) -> None:
    """Below BERT's LayerNorm the whole input times its gradient is zero, so a word's share is minus that of its position."""
    embeddings, seen = bert.model.bert.embeddings, {}
    hook = embeddings.LayerNorm.register_forward_pre_hook(lambda _, given: seen.update(whole=given[0]))
    word = embeddings.word_embeddings.register_forward_hook(lambda _, __, output: seen.update(word=output))
    score = probability(bert.model, encoded)(tensors(encoded)["input_ids"])
    hook.remove(), word.remove()
    [gradient] = torch.autograd.grad(score.sum(), [seen["whole"]])
    of_words = by_word(encoded, (seen["word"] * gradient).sum(-1))
    assert np.abs(by_word(encoded, (seen["whole"] * gradient).sum(-1))).max() < 1e-4 * np.abs(of_words).max()
    assert np.abs(ours(bert, encoded, "input_x_gradient") - of_words).max() > 0.1 * np.abs(of_words).max()


def eager(classifier: Classifier, encoded: Encoded) -> tuple[Tensor, Tensor]:
    """(probability of the target, last layer's attention in the graph) by the model's own eager attention."""
    model = copy.deepcopy(classifier.model)
    model.set_attn_implementation("eager")
    output = model(**tensors(encoded), output_attentions=True)
    return output.logits.softmax(-1)[0, TARGET], output.attentions[-1]


def test_attention(bert: Classifier, encoded: Encoded) -> None:
    _, weights = eager(bert, encoded)
    assert ours(bert, encoded, "attention") == pytest.approx(by_word(encoded, weights[0].mean(0)[0]), abs=1e-6)


def test_attention_gradient(bert: Classifier, encoded: Encoded) -> None:
    """α∇α by hand: heads averaged, at [CLS], times the averaged gradient there."""
    probability, weights = eager(bert, encoded)
    gradient = torch.autograd.grad(probability, weights)[0]
    expected = weights[0].mean(0)[0] * gradient[0].mean(0)[0]
    assert ours(bert, encoded, "attention_gradient") == pytest.approx(by_word(encoded, expected), abs=1e-6)


WEIGHTS = {"good": 2.5, "bad": -2.0, "film": 0.25, "very": 0.75, "not": -1.0}
BAG_TEXT = "very good film not bad"


def bag_probability(kept: Tensor) -> Tensor:
    """float[batch, words] of 0/1 → p, in closed form."""
    return (kept.double() @ torch.tensor([WEIGHTS[w] for w in BAG_TEXT.split()], dtype=torch.float64)).sigmoid()


def bag_scores(method: str, **parameters: Any) -> tuple[Encoded, np.ndarray]:
    classifier = bag_classifier(WEIGHTS)
    [item] = classifier.encode([Example("x", {"text": BAG_TEXT})])
    [made] = explain(Runner(classifier), [item], METHODS[method], target=Label(1), hide="delete", parameters=parameters)
    return item, np.array(made.scores)


def test_kernel_shap() -> None:
    torch.manual_seed(0)
    full, none = torch.ones(1, 5), torch.zeros(1, 5)
    oracle = KernelShap(bag_probability).attribute(full, baselines=none, n_samples=3000, perturbations_per_eval=64)
    _, found = bag_scores("kernel_shap", n_samples=256)
    assert found == pytest.approx(oracle[0].numpy(), abs=0.01)  # captum's is sampled, ours is exact here


def test_lime() -> None:
    """Captum's LIME, given our masks one after the other and LIME's released kernel, fits the same line."""
    item, found = bag_scores("lime", n_samples=100)
    drawn, counts, _ = hidings(5, 100, *(Ask(item, Label(1)).generator(name) for name in ("kernel_shap", "lime")))
    masks, often = iter(torch.tensor(drawn)), {tuple(mask.tolist()): count for mask, count in zip(drawn, counts, strict=True)}

    def kernel(_: Tensor, __: Tensor, mask: Tensor, **___: Any) -> Tensor:
        full = torch.ones_like(mask, dtype=torch.float64)
        cosine = torch.nn.functional.cosine_similarity(mask.double(), full, dim=-1)
        return often[tuple(mask[0].bool().tolist())] * torch.exp(-((100 * (1 - cosine)) ** 2) / 25**2).sqrt()

    oracle = LimeBase(
        bag_probability, SkLearnRidge(alpha=1.0), similarity_func=kernel, perturb_func=lambda *_, **__: next(masks)[None],
        perturb_interpretable_space=True, from_interp_rep_transform=lambda mask, *_, **__: mask.double(),
        to_interp_rep_transform=None,
    )  # fmt: skip
    values = oracle.attribute(torch.ones(1, 5, dtype=torch.float64), n_samples=len(drawn))
    assert found == pytest.approx(values[0].numpy(), abs=1e-4)
