"""A zoo of tiny models, built in memory with a tokenizer of their kind: nothing is downloaded.

`CLASSIFIERS`, `SEQ2SEQ` and `CAUSAL` map a name to a function that builds (model, tokenizer), the same every time. Of the
families that matter most there are two: other sizes, other tokenizers, and with or without a padding token.

The weights are drawn large (initializer_range 0.3), so that every word moves the output.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import transformers
from tiny import LABELS, SENTENCES, bytelevel_tokenizer, own_model, wordpiece_tokenizer
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import PreTrainedModel, PreTrainedTokenizerFast

from whence.models import ARCHITECTURES

Made = tuple[PreTrainedModel, Any]
Build = Callable[[], Made]
NO_TYPES = ["input_ids", "attention_mask"]
TYPES = ["input_ids", "token_type_ids", "attention_mask"]


def _fast(tokenizer: Tokenizer, around: str, pair: str, inputs: list[str], **names: Any) -> PreTrainedTokenizerFast:
    """`around` and `pair` are templates of tokenizers' TemplateProcessing; `names` are special tokens by their role."""
    known = {token: tokenizer.token_to_id(token) for token in names.values() if isinstance(token, str) and token[0] in "<["}
    tokenizer.post_processor = processors.TemplateProcessing(around, pair, list(known.items()))
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_input_names=inputs, **names)


def unigram(special: list[str], around: str, pair: str, inputs: list[str] = NO_TYPES, **names: Any) -> PreTrainedTokenizerFast:
    """Sentence-piece Unigram: spaces become ▁, as in ALBERT, XLNet, T5, XLM-R, DeBERTa-v2. Cut by hand, as in `tiny`."""
    known = [f"▁{word}" for text in (*SENTENCES, *LABELS) for word in text.split()]
    letters = sorted({letter for word in known for letter in word})
    pieces = sorted({word[i : i + 3] for word in known for i in range(0, len(word), 3)} - set(letters))
    scored = [
        *((token, 0.0) for token in special),
        *((letter, -6.0) for letter in letters),
        *((piece, -4.0) for piece in pieces),
    ]
    tokenizer = Tokenizer(models.Unigram(scored, unk_id=special.index(names["unk_token"])))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    return _fast(tokenizer, around, pair, inputs, **names)


def bpe_with_bytes(pad: bool) -> PreTrainedTokenizerFast:
    """Sentence-piece BPE that falls back to bytes, with <s> before the text, as in Llama, Mistral and Gemma."""
    tokenizer = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    special = ["<unk>", "<s>", "</s>", *["<pad>"] * pad, *(f"<0x{byte:02X}>" for byte in range(256))]
    tokenizer.pre_tokenizer = pre_tokenizers.Split("▁", "merged_with_next")  # for training only: merges within words
    trainer = trainers.BpeTrainer(vocab_size=360, special_tokens=special, show_progress=False)
    tokenizer.train_from_iterator([*SENTENCES, *LABELS], trainer)
    tokenizer.pre_tokenizer = None
    names = {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>"} | ({"pad_token": "<pad>"} if pad else {})
    return _fast(tokenizer, "<s> $A", "<s> $A <s>:1 $B:1", NO_TYPES, **names)


def gpt_bytes(pad: bool) -> PreTrainedTokenizerFast:
    """Byte-level BPE with nothing around the text, as in GPT-2, Qwen2 and GPT-NeoX; often without a padding token."""
    tokenizer = bytelevel_tokenizer(decoder_only=True)
    if not pad:
        tokenizer.pad_token = None
    return tokenizer


def untyped(tokenizer: PreTrainedTokenizerFast) -> PreTrainedTokenizerFast:
    tokenizer.model_input_names = NO_TYPES
    return tokenizer


BERT_SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
BERT_NAMES = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]", "mask_token": "[MASK]"}
ROBERTA_NAMES = {"bos_token": "<s>", "eos_token": "</s>", "cls_token": "<s>", "sep_token": "</s>", "pad_token": "<pad>",
                 "unk_token": "<unk>", "mask_token": "<mask>"}  # fmt: skip
bert_unigram = partial(unigram, BERT_SPECIAL, "[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", TYPES, **BERT_NAMES)
roberta_unigram = partial(
    unigram, ["<s>", "<pad>", "</s>", "<unk>", "<mask>"], "<s> $A </s>", "<s> $A </s> </s> $B </s>", **ROBERTA_NAMES
)
xlnet_unigram = partial(
    unigram, ["<unk>", "<s>", "</s>", "<cls>", "<sep>", "<pad>", "<mask>"], "$A <sep> <cls>:2", "$A <sep> $B:1 <sep>:1 <cls>:2",
    TYPES, unk_token="<unk>", bos_token="<s>", eos_token="</s>", cls_token="<cls>", sep_token="<sep>", pad_token="<pad>",
    mask_token="<mask>", padding_side="left",
)  # fmt: skip
cased_wordpiece = partial(wordpiece_tokenizer, lowercase=False)


def t5_unigram(sentinels: int = 3) -> PreTrainedTokenizerFast:
    extra = [f"<extra_id_{i}>" for i in range(sentinels)]
    tokenizer = unigram(["<pad>", "</s>", "<unk>", *extra], "$A </s>", "$A </s> $B </s>", pad_token="<pad>", eos_token="</s>",
                        unk_token="<unk>")  # fmt: skip
    tokenizer.add_special_tokens({"additional_special_tokens": [AddedToken(token, special=True) for token in extra]})
    return tokenizer


SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48,
         "initializer_range": 0.3, "max_position_embeddings": 512}  # fmt: skip
OTHER = SMALL | {"hidden_size": 24, "num_hidden_layers": 3, "num_attention_heads": 2, "intermediate_size": 40}
ROBERTA_IDS = {"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2, "type_vocab_size": 1}
DECODER = SMALL | {"num_key_value_heads": 2, "head_dim": 8}
GPT2 = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 512, "initializer_range": 0.3, "bos_token_id": None}
BART = {"d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
        "encoder_ffn_dim": 48, "decoder_ffn_dim": 48, "init_std": 0.3, "max_position_embeddings": 512, "pad_token_id": 1,
        "bos_token_id": 0, "eos_token_id": 2, "decoder_start_token_id": 2, "forced_eos_token_id": 2}  # fmt: skip
T5 = {"d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4, "initializer_factor": 1.5, "pad_token_id": 0,
      "eos_token_id": 1, "decoder_start_token_id": 0}  # fmt: skip


def build(family: str, head: str, tokenizer: Callable[[], Any], seed: int = 0, **sizes: Any) -> Made:
    """`family` as transformers spells it: BertConfig, BertForSequenceClassification."""
    made = tokenizer()
    labels = {} if head != "ForSequenceClassification" else {
        "num_labels": len(LABELS), "id2label": dict(enumerate(LABELS)), "label2id": {name: i for i, name in enumerate(LABELS)}
    }  # fmt: skip
    config = getattr(transformers, f"{family}Config")(vocab_size=len(made), **sizes, **labels)
    torch.manual_seed(seed)
    return getattr(transformers, f"{family}{head}")(config).eval(), made


def classifier(family: str, tokenizer: Callable[[], Any], **sizes: Any) -> Build:
    return partial(build, family, "ForSequenceClassification", tokenizer, **sizes)


def own(name: str) -> Made:
    torch.manual_seed(0)
    made = own_model(name)
    return made.model, made.tokenizer


pad, no_pad = partial(gpt_bytes, True), partial(gpt_bytes, False)
llama_pad, llama_no_pad = partial(bpe_with_bytes, True), partial(bpe_with_bytes, False)

CLASSIFIERS: dict[str, Build] = {
    "bert": classifier("Bert", wordpiece_tokenizer, **SMALL),
    "bert-cased": classifier("Bert", cased_wordpiece, **OTHER),
    "roberta": classifier("Roberta", bytelevel_tokenizer, **SMALL, **ROBERTA_IDS),
    "roberta-other": classifier("Roberta", bytelevel_tokenizer, **OTHER, **ROBERTA_IDS),
    "distilbert": classifier("DistilBert", lambda: untyped(wordpiece_tokenizer()), dim=32, n_layers=2, n_heads=4, hidden_dim=48,
                             initializer_range=0.3),
    "distilbert-cased": classifier("DistilBert", lambda: untyped(cased_wordpiece()), dim=24, n_layers=3, n_heads=2,
                                   hidden_dim=40, initializer_range=0.3, sinusoidal_pos_embds=True),
    "albert": classifier("Albert", bert_unigram, **SMALL, embedding_size=16),
    "albert-other": classifier("Albert", bert_unigram, **OTHER, embedding_size=24),
    "electra": classifier("Electra", wordpiece_tokenizer, **SMALL, embedding_size=16),
    "electra-other": classifier("Electra", cased_wordpiece, **OTHER, embedding_size=24),
    "deberta": classifier("Deberta", lambda: untyped(bytelevel_tokenizer()), **SMALL, pad_token_id=1, type_vocab_size=0,
                          relative_attention=True, pos_att_type=["c2p", "p2c"]),
    "deberta-v2": classifier("DebertaV2", bert_unigram, **SMALL, type_vocab_size=0, relative_attention=True,
                             position_buckets=16, pos_att_type=["p2c", "c2p"], share_att_key=True, norm_rel_ebd="layer_norm",
                             position_biased_input=False),
    "deberta-v2-other": classifier("DebertaV2", bert_unigram, **OTHER, type_vocab_size=2, relative_attention=False),
    "xlnet": classifier("XLNet", xlnet_unigram, d_model=32, n_layer=2, n_head=4, d_inner=48, initializer_range=0.3,
                        pad_token_id=5),
    "xlnet-other": classifier("XLNet", xlnet_unigram, d_model=24, n_layer=3, n_head=2, d_inner=40, initializer_range=0.3,
                              pad_token_id=5, summary_type="mean"),
    "modernbert": classifier("ModernBert", lambda: untyped(wordpiece_tokenizer()), **SMALL, pad_token_id=0, bos_token_id=2,
                             eos_token_id=3, cls_token_id=2, sep_token_id=3, local_attention=8, global_attn_every_n_layers=2),
    "modernbert-other": classifier("ModernBert", lambda: untyped(cased_wordpiece()), **OTHER, pad_token_id=0, bos_token_id=2,
                                   eos_token_id=3, cls_token_id=2, sep_token_id=3, classifier_pooling="mean"),
    "mpnet": classifier("MPNet", lambda: untyped(wordpiece_tokenizer()), **SMALL, pad_token_id=0),
    "mpnet-other": classifier("MPNet", lambda: untyped(cased_wordpiece()), **OTHER, pad_token_id=0),
    "gpt2": classifier("GPT2", pad, **GPT2, pad_token_id=1, eos_token_id=2),
    "gpt2-no-pad": classifier("GPT2", no_pad, **GPT2 | {"n_embd": 24, "n_layer": 3, "n_head": 2}, eos_token_id=2),
    "llama": classifier("Llama", llama_pad, **DECODER, pad_token_id=3),
    "llama-no-pad": classifier("Llama", llama_no_pad, **OTHER, num_key_value_heads=2),
    "qwen2": classifier("Qwen2", pad, **SMALL, num_key_value_heads=2, pad_token_id=1),
    "qwen2-no-pad": classifier("Qwen2", no_pad, **OTHER, num_key_value_heads=1),
    "bart": classifier("Bart", bytelevel_tokenizer, **BART),
    "bart-other": classifier("Bart", bytelevel_tokenizer, **BART | {"d_model": 24, "encoder_layers": 3, "decoder_layers": 1,
                             "scale_embedding": True}),
    "t5": classifier("T5", t5_unigram, **T5),
    "t5-gated": classifier("T5", t5_unigram, **T5 | {"d_model": 24, "num_layers": 3}, feed_forward_proj="gated-gelu",
                           num_decoder_layers=1),
    "longformer": classifier("Longformer", bytelevel_tokenizer, **SMALL, **ROBERTA_IDS, attention_window=[8, 8]),
    "bigbird": classifier("BigBird", bert_unigram, **SMALL, attention_type="original_full", pad_token_id=0),
    "fnet": classifier("FNet", bert_unigram, **{k: v for k, v in SMALL.items() if k != "num_attention_heads"}, pad_token_id=0),
    "funnel": classifier("Funnel", wordpiece_tokenizer, block_sizes=[1, 1], d_model=32, n_head=4, d_head=8, d_inner=48,
                         num_decoder_layers=1, initializer_std=0.3),
    "xlm-roberta": classifier("XLMRoberta", roberta_unigram, **SMALL, **ROBERTA_IDS),
    "camembert": classifier("Camembert", roberta_unigram, **SMALL, **ROBERTA_IDS),
    "mobilebert": classifier("MobileBert", wordpiece_tokenizer, **SMALL, embedding_size=16, intra_bottleneck_size=16,
                             num_feedforward_networks=2, normalization_type="layer_norm"),
    "squeezebert": classifier("SqueezeBert", wordpiece_tokenizer, **SMALL, embedding_size=32),
    "opt": classifier("OPT", bytelevel_tokenizer, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, ffn_dim=48,
                      word_embed_proj_dim=32, init_std=0.3, max_position_embeddings=512, pad_token_id=1, bos_token_id=0,
                      eos_token_id=2),
    "gpt-neox": classifier("GPTNeoX", pad, **SMALL, pad_token_id=1, bos_token_id=0, eos_token_id=2),
    "mistral": classifier("Mistral", llama_pad, **DECODER, pad_token_id=3, sliding_window=24),
    "gemma": classifier("Gemma", llama_pad, **DECODER, pad_token_id=3),
    **{name: partial(own, name) for name in ARCHITECTURES},
}  # fmt: skip

SEQ2SEQ: dict[str, Build] = {
    "t5": partial(build, "T5", "ForConditionalGeneration", t5_unigram, **T5),
    "t5-gated": partial(build, "T5", "ForConditionalGeneration", t5_unigram,
                        **T5 | {"d_model": 24, "num_layers": 3, "initializer_factor": 0.5}, feed_forward_proj="gated-gelu",
                        tie_word_embeddings=False, num_decoder_layers=1),
    "bart": partial(build, "Bart", "ForConditionalGeneration", bytelevel_tokenizer, **BART),
    "bart-other": partial(build, "Bart", "ForConditionalGeneration", bytelevel_tokenizer,
                          **BART | {"d_model": 24, "encoder_layers": 3, "decoder_layers": 1, "scale_embedding": True}),
}  # fmt: skip

LONG = {"max_position_embeddings": 2048}
"""Byte by byte, a prompt with demonstrations is long."""

CAUSAL: dict[str, Build] = {
    "gpt2": partial(build, "GPT2", "LMHeadModel", pad, **GPT2 | {"n_positions": 2048}, pad_token_id=1, eos_token_id=2),
    "gpt2-no-pad": partial(build, "GPT2", "LMHeadModel", no_pad,
                           **GPT2 | {"n_positions": 2048, "n_embd": 24, "n_layer": 3, "n_head": 2}, eos_token_id=2),
    "llama": partial(build, "Llama", "ForCausalLM", llama_pad, **DECODER | LONG, pad_token_id=3),
    "llama-no-pad": partial(build, "Llama", "ForCausalLM", llama_no_pad, **OTHER | LONG, num_key_value_heads=2),
    "qwen2": partial(build, "Qwen2", "ForCausalLM", pad, **SMALL | LONG, num_key_value_heads=2, pad_token_id=1),
    "qwen2-no-pad": partial(build, "Qwen2", "ForCausalLM", no_pad, **OTHER | LONG, num_key_value_heads=1,
                            tie_word_embeddings=True),
}  # fmt: skip
