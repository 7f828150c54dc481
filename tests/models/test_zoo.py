"""The zoo itself: every model is built the same twice, reads its text, and its tokenizer gives places in the text."""

import pytest
import torch
from tiny import SENTENCES
from zoo import CAUSAL, CLASSIFIERS, SEQ2SEQ, Build, Made


def logits(made: Made, text: str) -> torch.Tensor:
    model, tokenizer = made
    second = [SENTENCES[1]] if getattr(model, "reads_pairs", False) else []
    found = tokenizer(text, *second, return_tensors="pt")
    inputs = {name: found[name] for name in tokenizer.model_input_names if name in found}
    if model.config.is_encoder_decoder and "Conditional" in type(model).__name__:
        inputs["decoder_input_ids"] = torch.tensor([[model.config.decoder_start_token_id]])
    with torch.no_grad():
        out = model(**inputs).logits
    return out[0, -1] if out.ndim == 3 else out[0]


@pytest.mark.parametrize("build", [*CLASSIFIERS.values(), *SEQ2SEQ.values(), *CAUSAL.values()],
                         ids=[*CLASSIFIERS, *(f"{n} writes" for n in SEQ2SEQ), *(f"{n} writes" for n in CAUSAL)])  # fmt: skip
def test_every_model_reads_its_words(build: Build) -> None:
    text = SENTENCES[0]
    first, again, changed = logits(build(), text), logits(build(), text), logits(build(), text.replace("cat", "mat"))
    assert torch.equal(first, again)
    assert (first - changed).abs().max() > 1e-3
    tokenizer = build()[1]
    places = tokenizer(text, return_offsets_mapping=True)["offset_mapping"]
    assert max(end for _, end in places) == len(text)
    assert "cat" in "".join(text[a:b] for a, b in places)


def test_there_are_two_of_each_family_and_twenty_architectures() -> None:
    for family in ("bert", "roberta", "distilbert", "albert", "electra", "deberta-v2", "xlnet", "modernbert", "mpnet", "gpt2",
                   "llama", "qwen2", "bart", "t5"):  # fmt: skip
        assert sum(name == family or name.startswith(f"{family}-") for name in CLASSIFIERS) >= 2, family
    assert len({type(build()[0]) for build in CLASSIFIERS.values()}) >= 30
