"""Gradients of written tokens that are worked out by hand, against autograd's."""

from typing import Any

import numpy as np
import pytest
import torch
from transformers import T5Config, T5ForConditionalGeneration

from whence.data import Example
from whence.models import Intervention, Seq2Seq, Text, products, t5_slopes
from whence.models.text_tokenizer import build_text_tokenizer
from whence.run import Request, Runner

TEXTS = ["the film is good , really good and not long", "bad", "a play that nobody saw"]
WANT = frozenset({"token_gradients"})


def small(**options: Any) -> Seq2Seq:
    torch.manual_seed(0)
    tokenizer = build_text_tokenizer([*TEXTS, "explanation: yes no because it was"])
    config = T5Config(
        vocab_size=len(tokenizer), d_model=16, d_kv=6, d_ff=24, num_heads=3, num_layers=2, initializer_factor=2.0,
        pad_token_id=tokenizer.pad_token_id, eos_token_id=tokenizer.eos_token_id,
        decoder_start_token_id=tokenizer.pad_token_id, **options,
    )  # fmt: skip
    return Seq2Seq(T5ForConditionalGeneration(config).eval(), tokenizer, "text")


def asked(model: Seq2Seq, change: Intervention | None = None) -> list[dict[str, np.ndarray]]:
    encoded = model.encode([Example(str(i), {"text": text}) for i, text in enumerate(TEXTS)])
    written = [model.target_ids(t) for t in ("yes because it was good", "no", "because nobody saw it and it was not good")]
    targets = [Text(ids, tuple(k % 3 != 1 for k in range(len(ids)))) for ids in written]
    more = {} if change is None else {"change": change}
    found = Runner(model).run([Request(e, want=WANT, target=t, **more) for e, t in zip(encoded, targets, strict=True)])
    return [{**r.extras, "scores": r.logits} for r in found]


def same(found: list[dict[str, np.ndarray]], expected: list[dict[str, np.ndarray]]) -> None:
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.keys() == theirs.keys()
        for name, values in theirs.items():
            np.testing.assert_allclose(ours[name], values, rtol=1e-3, atol=1e-5 * max(1.0, np.abs(values).max()))


@pytest.mark.parametrize("together", [1, 24, 1024])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False},
        {"num_decoder_layers": 1},
        {"num_decoder_layers": 3},
    ],
)
def test_they_are_autograds(options: dict[str, Any], together: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(t5_slopes, "TOGETHER", together)
    model = small(**options)
    assert model.by_hand
    found = asked(model)
    vars(model)["by_hand"] = False
    same(found, asked(model))


def test_of_words_that_were_changed() -> None:
    model = small()
    change = Intervention(scale=0.5, noise=0.3, seed=7)
    found = asked(model, change)
    vars(model)["by_hand"] = False
    same(found, asked(model, change))


def test_with_the_processors_usual_products(monkeypatch: pytest.MonkeyPatch) -> None:
    model = small()
    found = asked(model)
    monkeypatch.setattr(products, "_pays", lambda: False)
    same(found, asked(model))


def test_a_forced_first_token_takes_a_place() -> None:
    model = small()
    model.model.generation_config.forced_bos_token_id = 3
    found = asked(model)
    vars(model)["by_hand"] = False
    same(found, asked(model))


def test_a_layer_that_somebody_changed_is_left_to_autograd(monkeypatch: pytest.MonkeyPatch) -> None:
    model = small()
    plain = asked(model)
    monkeypatch.setattr(Seq2Seq, "_slopes_by_hand", lambda *_: pytest.fail("not the model's own gradients"))
    model.model.encoder.block[0].layer[1].register_forward_hook(lambda _, __, out: out * 2)
    changed = asked(model)
    assert not np.allclose(plain[0]["token_gradients"], changed[0]["token_gradients"])


def test_another_computation_is_found_out() -> None:
    model = small()
    inner = model.model.decoder.block[1].layer[-1].DenseReluDense
    forward = inner.forward
    inner.forward = lambda x: forward(x) * 3
    assert not model.by_hand


def test_other_precisions_have_autograds() -> None:
    model = small()
    assert not Seq2Seq(model.model.to(torch.float64), model.tokenizer, "text").by_hand
