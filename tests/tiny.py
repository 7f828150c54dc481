"""Tiny models with real tokenizers, built in memory: nothing is downloaded."""

import os

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

from collections.abc import Callable

import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    DistilBertConfig,
    DistilBertForSequenceClassification,
    GPT2Config,
    GPT2ForSequenceClassification,
    PreTrainedTokenizerFast,
    RobertaConfig,
    RobertaForSequenceClassification,
)

from whence.data import Example
from whence.models import ARCHITECTURES, Classifier
from whence.models.word_tokenizer import build_word_tokenizer

torch.set_num_threads(1)  # the models are tiny: more threads only wait for each other

SENTENCES = (
    "The old cat sat quietly on a very small mat.",
    "A dog wasn't running; it slept through the unbelievable storm!",
    "Nobody expected such a wonderful, re-imagined film about 3.5 elephants.",
    "She said (twice) that the performances were dreadful...",
    "good",
    "Über große Straßen läuft der Hund.",
)
LABELS = ("negative", "neutral", "positive")


def texts() -> list[Example]:
    return [Example(str(i), {"text": s}, LABELS[i % 3]) for i, s in enumerate(SENTENCES)]


def pairs() -> list[Example]:
    both = zip(SENTENCES, reversed(SENTENCES), strict=True)
    return [Example(str(i), {"premise": p, "hypothesis": h}, LABELS[i % 3]) for i, (p, h) in enumerate(both)]


def wordpiece_tokenizer(lowercase: bool = True) -> PreTrainedTokenizerFast:
    """Most words fall into several pieces, as in BERT. The pieces are cut by hand: the trainer's choice differs every time."""
    normalizer, splitter = normalizers.BertNormalizer(lowercase=lowercase), pre_tokenizers.BertPreTokenizer()
    known = [word for s in SENTENCES for word, _ in splitter.pre_tokenize_str(normalizer.normalize_str(s))]
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    letters = sorted({letter for word in known for letter in word})
    pieces = [piece for word in known for piece in (word[:3], *(f"##{word[i : i + 3]}" for i in range(3, len(word), 3)))]
    vocabulary = dict.fromkeys([*special, *letters, *(f"##{letter}" for letter in letters), *pieces])
    tokenizer = Tokenizer(models.WordPiece({piece: i for i, piece in enumerate(vocabulary)}, unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizer, splitter
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    names = dict(zip(("pad_token", "unk_token", "cls_token", "sep_token", "mask_token"), special, strict=True))
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, model_input_names=["input_ids", "token_type_ids", "attention_mask"], **names
    )


def bytelevel_tokenizer(decoder_only: bool = False) -> PreTrainedTokenizerFast:
    """Byte-level BPE with RoBERTa's special tokens, or with GPT-2's (none around the text)."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=320, special_tokens=special, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(SENTENCES, trainer)
    if decoder_only:
        tokenizer.post_processor = processors.ByteLevel(trim_offsets=True)
        return PreTrainedTokenizerFast(
            tokenizer_object=tokenizer, pad_token="<pad>", eos_token="</s>", model_input_names=["input_ids", "attention_mask"]
        )
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), trim_offsets=True, add_prefix_space=False)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", cls_token="<s>", sep_token="</s>", pad_token="<pad>",
        unk_token="<unk>", mask_token="<mask>", model_input_names=["input_ids", "attention_mask"],
    )  # fmt: skip


def _labels() -> dict[str, object]:
    return {"num_labels": 3, "id2label": dict(enumerate(LABELS)), "label2id": {n: i for i, n in enumerate(LABELS)}}


def tiny_bert() -> Classifier:
    tokenizer = wordpiece_tokenizer()
    config = BertConfig(
        vocab_size=len(tokenizer), hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48,
        initializer_range=0.3, max_position_embeddings=4096, **_labels(),
    )  # fmt: skip
    return Classifier(BertForSequenceClassification(config).eval(), tokenizer)


def tiny_roberta() -> Classifier:
    tokenizer = bytelevel_tokenizer()
    config = RobertaConfig(
        vocab_size=len(tokenizer), hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48,
        initializer_range=0.3, max_position_embeddings=8194, type_vocab_size=1, pad_token_id=1, bos_token_id=0, eos_token_id=2,
        **_labels(),
    )  # fmt: skip
    return Classifier(RobertaForSequenceClassification(config).eval(), tokenizer)


def tiny_distilbert() -> Classifier:
    tokenizer = wordpiece_tokenizer()
    tokenizer.model_input_names = ["input_ids", "attention_mask"]
    config = DistilBertConfig(
        vocab_size=len(tokenizer), dim=32, n_layers=2, n_heads=4, hidden_dim=48, initializer_range=0.3,
        max_position_embeddings=4096, **_labels(),
    )  # fmt: skip
    return Classifier(DistilBertForSequenceClassification(config).eval(), tokenizer)


def tiny_gpt2() -> Classifier:
    tokenizer = bytelevel_tokenizer(decoder_only=True)
    config = GPT2Config(
        vocab_size=len(tokenizer), n_embd=32, n_layer=2, n_head=4, n_positions=8192, initializer_range=0.3,
        pad_token_id=tokenizer.pad_token_id, bos_token_id=None, eos_token_id=2, **_labels(),
    )  # fmt: skip
    return Classifier(GPT2ForSequenceClassification(config).eval(), tokenizer)


def own_model(name: str) -> Classifier:
    tokenizer = build_word_tokenizer(SENTENCES)
    architecture = ARCHITECTURES[name]
    config = architecture.config_class(vocab_size=len(tokenizer), embedding_dim=16, hidden_size=12, **_labels())
    return Classifier(architecture(config).eval(), tokenizer)


MODELS: dict[str, Callable[[], Classifier]] = {
    "bert": tiny_bert, "roberta": tiny_roberta, "distilbert": tiny_distilbert, "gpt2": tiny_gpt2,
    **{name: (lambda name=name: own_model(name)) for name in ARCHITECTURES},
}  # fmt: skip


def examples_for(classifier: Classifier) -> list[Example]:
    """What the model reads: pairs for co-attention models, single texts for all others."""
    return pairs() if classifier.own and classifier.model.reads_pairs else texts()
