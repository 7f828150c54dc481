"""Our word-level tokenizer, as a Hugging Face fast tokenizer: one word (data/words.py) is one token, lower-cased.

It saves itself as tokenizer.json beside the model, so `from_pretrained` opens both.
"""

from collections import Counter
from collections.abc import Iterable

from tokenizers import Regex, Tokenizer, normalizers, pre_tokenizers, processors
from tokenizers.models import WordLevel
from transformers import PreTrainedTokenizerFast

from whence.data import words
from whence.data.words import WORD_PATTERN

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def build_word_tokenizer(
    texts: Iterable[str], min_count: int = 1, max_words: int | None = None, more: Iterable[str] = ()
) -> PreTrainedTokenizerFast:
    """Vocabulary from `texts`: words seen at least `min_count` times, the most frequent first; then `more` words."""
    counts = Counter(word.lower() for text in texts for word in words(text))
    ranked = sorted((word for word, n in counts.items() if n >= min_count), key=lambda word: (-counts[word], word))
    vocabulary = {word: i for i, word in enumerate(dict.fromkeys([*SPECIAL, *ranked[:max_words], *more]))}
    tokenizer = Tokenizer(WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(WORD_PATTERN), behavior="removed", invert=True)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[(s, vocabulary[s]) for s in SPECIAL[2:4]]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    )
