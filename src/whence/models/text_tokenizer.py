"""A word-level tokenizer for models that write: one word (data/words.py) is one token, and what is decoded is the text again.

A word that follows a space is another token than the same word without one ("▁dog" and "dog"), as in T5, and case is kept; so
"A dog." and its ids are the same thing said twice, but for runs of spaces and words that training never showed (`<unk>`).
Special tokens are T5's: `<pad>`, `</s>`, `<unk>`, and the sentinels `<extra_id_0>`, … that stand for what was taken out.
"""

from collections import Counter
from collections.abc import Iterable

from tokenizers import Regex, Tokenizer, decoders, normalizers, pre_tokenizers, processors
from tokenizers.models import WordLevel
from transformers import PreTrainedTokenizerFast

from whence.data.words import WORD_PATTERN

SPECIAL = ("<pad>", "</s>", "<unk>")
SENTINELS = tuple(f"<extra_id_{i}>" for i in range(100))


def build_text_tokenizer(texts: Iterable[str], ends: bool = True, min_count: int = 1) -> PreTrainedTokenizerFast:
    """Vocabulary from `texts`. `ends`: close what is encoded with `</s>`, as encoders expect and causal models do not."""
    tokenizer = Tokenizer(WordLevel({"<unk>": 0}, unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Replace(Regex(r"\s+"), " ")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Metaspace(prepend_scheme="first"),
        pre_tokenizers.Split(Regex(f"▁?(?!▁)(?:{WORD_PATTERN})"), behavior="removed", invert=True),
    ])  # fmt: skip
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="first")
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(piece for piece, _ in tokenizer.pre_tokenizer.pre_tokenize_str(tokenizer.normalizer.normalize_str(text)))
    ranked = sorted((piece for piece, n in counts.items() if n >= min_count), key=lambda piece: (-counts[piece], piece))
    vocabulary = {token: i for i, token in enumerate(dict.fromkeys([*SPECIAL, *ranked, *SENTINELS]))}
    tokenizer.model = WordLevel(vocabulary, unk_token="<unk>")
    if ends:
        end = [("</s>", vocabulary["</s>"])]
        tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", pair="$A </s> $B </s>", special_tokens=end)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", eos_token="</s>", unk_token="<unk>",
        extra_special_tokens=list(SENTINELS), model_input_names=["input_ids", "attention_mask"],
        clean_up_tokenization_spaces=False,
    )  # fmt: skip
