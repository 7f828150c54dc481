"""Tokens of several words, words without a token, texts that are cut, special tokens in a text, padding ids that disagree."""

import numpy as np
import pytest
from tiny import LABELS
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    GPT2Config,
    GPT2ForSequenceClassification,
    PreTrainedTokenizerFast,
)
from zoo import CLASSIFIERS

from whence.data import Example
from whence.explain import METHODS, explain
from whence.models import Classifier
from whence.run import Runner


def classifier(words: list[str], drop: str | None = None, longest: int = 64) -> Classifier:
    """Whole words of a list, also of several characters; `drop` is taken out before."""
    vocabulary = {word: i for i, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    if drop:
        tokenizer.normalizer = normalizers.Replace(drop, "")
    tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", behavior="removed")
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]",
        mask_token="[MASK]", model_max_length=longest,
    )  # fmt: skip
    config = BertConfig(vocab_size=len(fast), hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
                        initializer_range=0.5, num_labels=3, id2label=dict(enumerate(LABELS)))  # fmt: skip
    return Classifier(BertForSequenceClassification(config).eval(), fast)


def test_words_in_one_token_are_hidden_together_and_share_its_score() -> None:
    """Each Chinese character is a word of ours; the tokenizer knows the two as one."""
    port = classifier(["电影", "很", "好"])
    [encoded] = port.encode([Example("x", {"text": "电影 很 好"})])
    assert encoded.words == ["电", "影", "很", "好"]
    assert (encoded.unseen, encoded.dropped) == (0, 0)
    [made] = explain(Runner(port), [encoded], METHODS["leave_one_out"])
    assert made.scores[0] == made.scores[1] != 0
    assert "unseen_words" not in made.notes
    full, without = (
        r.probabilities
        for r in Runner(port).predict(port.encode([Example("f", {"text": t}) for t in ("电影 很 好", "[MASK] 很 好")]))
    )
    target = LABELS.index(made.target)
    assert sum(made.scores[:2]) == pytest.approx(float(full[target] - without[target]), abs=1e-6)


def test_a_word_that_the_normaliser_drops_is_not_called_too_long() -> None:
    port = classifier(["good", "film"], drop="…")
    [encoded] = port.encode([Example("x", {"text": "good … film"})])
    assert (encoded.unseen, encoded.dropped) == (0, 1)
    [made] = explain(Runner(port), [encoded], METHODS["leave_one_out"])
    assert made.scores[1] == 0
    assert made.notes == {"dropped_words": 1.0}
    assert made.scores[0] != 0 != made.scores[2]


def test_a_text_that_is_cut_says_so() -> None:
    port = classifier(["good"], longest=6)
    [made] = explain(Runner(port), port.encode([Example("x", {"text": "good " * 10})]), METHODS["leave_one_out"])
    assert made.notes["unseen_words"] == 6.0
    assert not any(made.scores[4:])


@pytest.mark.parametrize("name", ["bart", "t5", "roberta", "bert"])
def test_a_special_token_in_a_text(name: str) -> None:
    port = Classifier(*CLASSIFIERS[name]())
    examples = [
        Example("x", {"text": "A dog </s> slept."}),
        Example("y", {"text": "A cat [SEP] sat quietly."}),
        Example("z", {"text": "good"}),
    ]
    encoded = port.encode(examples)
    together = Runner(port).predict(encoded)
    for e, found in zip(encoded, together, strict=True):
        assert found.logits == pytest.approx(Runner(port).predict([e])[0].logits, abs=1e-4)
    for method in ("leave_one_out", "gradient_l2", "integrated_gradients"):
        assert all(np.isfinite(made.scores).all() for made in explain(Runner(port), encoded, METHODS[method]))


def test_padding_ids_that_disagree_change_no_number() -> None:
    """GPT-2 looks for its last token by the config's padding id; the tokenizer names another one."""
    source, tokenizer = CLASSIFIERS["gpt2"]()
    assert tokenizer.pad_token_id == 1
    config = GPT2Config(**{**source.config.to_dict(), "pad_token_id": 3})
    model = GPT2ForSequenceClassification(config).eval()
    model.load_state_dict(source.state_dict())
    port = Classifier(model, tokenizer)
    encoded = port.encode(
        [Example("a", {"text": "good"}), Example("b", {"text": "The old cat sat quietly on a very small mat."})]
    )
    for e, found in zip(encoded, Runner(port).predict(encoded), strict=True):
        assert found.logits == pytest.approx(Runner(port).predict([e])[0].logits, abs=1e-5)
