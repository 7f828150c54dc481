"""The aligning T5: its comparison is the one written by hand, padding and company change nothing, and it saves."""

from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModelForSeq2SeqLM

from whence.data import Example
from whence.errors import BadInput
from whence.explain import METHODS, explain
from whence.models import Intervention, Label, Seq2Seq
from whence.models.aligning_t5 import AligningT5
from whence.models.sim_build import build_joint
from whence.models.text_models import build_text_model
from whence.run import Request, Runner

TEXTS = ["explain nli hypothesis: A dog sees a cat. premise: The cat sees the dog!", "Dogs sleep? Yes."]
LABELS = ("entailment", "neutral", "contradiction")
PAIRS = [
    Example("0", {"premise": "The cat sees the dog.", "hypothesis": "A dog sees a cat."}),
    Example("1", {"premise": "Dogs sleep.", "hypothesis": "Yes."}),
]


@pytest.fixture(scope="module")
def port() -> Seq2Seq:
    torch.manual_seed(0)
    model, tokenizer = build_text_model("aligning_t5", [*TEXTS, *LABELS], {"hidden_size": 32})
    return Seq2Seq(model.eval(), tokenizer, "nli.i-o", LABELS)


def test_a_word_is_compared_with_its_partner_in_the_other_sentences(port: Seq2Seq) -> None:
    encoder = port.model.get_encoder()
    ids = port.tokenizer([TEXTS[0]], return_tensors="pt")["input_ids"]
    tokens = port.tokenizer.convert_ids_to_tokens(ids[0])
    seen: dict[str, torch.Tensor] = {}
    handle = encoder.final_layer_norm.register_forward_hook(lambda _, __, out: seen.update(states=out))
    with torch.no_grad():
        found = encoder(input_ids=ids).last_hidden_state[0]
        handle.remove()
        aligner, read = encoder.aligner, encoder.aligner.reader(seen["states"], torch.tensor([ids.shape[1]]))[0]
        words = port.model.get_input_embeddings()(ids)[0]
        number, sentence = 0, []
        for token in tokens:
            sentence.append(number)
            number += token in (".", "?", "!")
        assert number == 2
        compared, nearest = [], {}
        for i, state in enumerate(read):
            others = [j for j in range(len(tokens)) if sentence[j] != sentence[i]]
            weights = torch.softmax(torch.stack([8 * torch.cosine_similarity(words[i], words[j], dim=0) for j in others]), 0)
            nearest[tokens[i], sentence[i]] = tokens[others[int(weights.argmax())]]
            partner = sum(w * read[j] for w, j in zip(weights, others, strict=True))
            compared.append(torch.relu(aligner.compare(torch.cat([state, partner, state - partner, state * partner]))))
        told = aligner.write(aligner.composer(torch.stack(compared)[None], torch.tensor([ids.shape[1]])))[0]
    assert torch.allclose(found, seen["states"][0] + told, atol=1e-5)
    assert told.abs().max() > 1e-3
    assert (nearest["▁dog", 1], nearest["▁cat", 0]) == ("▁dog", "▁cat"), "before any training"


def test_company_and_padding_change_nothing(port: Seq2Seq) -> None:
    encoded = port.encode(PAIRS)
    together = Runner(port, remembered=0).run([Request(e) for e in encoded])
    for one, expected in zip(encoded, together, strict=True):
        [alone] = Runner(port, remembered=0).run([Request(one)])
        assert np.allclose(alone.logits, expected.logits, atol=1e-5)


def test_gradients_go_through_the_comparison(port: Seq2Seq) -> None:
    """Σ x·∇x is the slope along the words' scale: of the whole encoder, comparison and all."""
    runner, [encoded] = Runner(port, remembered=0), port.encode(PAIRS[:1])
    [made] = explain(runner, [encoded], METHODS["input_x_gradient"], Label(1))
    step = 1e-2
    low, high = runner.run([Request(encoded, Intervention(scale=1 + sign * step)) for sign in (-1, 1)])
    slope = (high.score(Label(1)) - low.score(Label(1))) / (2 * step)
    assert sum(made.scores) == pytest.approx(slope, abs=1e-4, rel=0.02)
    assert abs(slope) > 1e-3


def test_nothing_of_the_words_is_left_at_the_beginning_of_their_path(port: Seq2Seq) -> None:
    """Scaled to zero (integrated gradients start there), texts of one form are the same text, for the comparison too."""
    forms = [("The cat sees the dog.", "A dog sees a cat."), ("Cat dog cat dog sees.", "The a The a dog.")]
    encoded = port.encode([Example(str(i), {"premise": p, "hypothesis": h}) for i, (p, h) in enumerate(forms)])
    assert len(encoded[0]) == len(encoded[1])
    for scale, same in ((0.0, True), (1.0, False)):
        one, other = Runner(port, remembered=0).run([Request(e, Intervention(scale=scale)) for e in encoded])
        assert np.allclose(one.logits, other.logits, atol=1e-6) is same


def test_saved_and_opened_it_is_the_same_model(port: Seq2Seq, tmp_path: Path) -> None:
    port.model.save_pretrained(tmp_path)
    again = AutoModelForSeq2SeqLM.from_pretrained(tmp_path).eval()
    batch = port.tokenizer(TEXTS, return_tensors="pt", padding=True)
    assert isinstance(again, AligningT5)
    with torch.no_grad():
        states = [model.get_encoder()(**batch).last_hidden_state for model in (port.model, again)]
    assert torch.equal(*states)


def test_a_label_that_begins_undecided_comes_from_the_steps_alone(port: Seq2Seq) -> None:
    options = {"base": "aligning_t5", "hidden_size": 32, "label_from_input": False}
    model, tokenizer = build_joint("sim", TEXTS, LABELS, False, port.template, options)
    batch = tokenizer(TEXTS, return_tensors="pt", padding=True)
    source = model.read(batch["input_ids"], batch["attention_mask"])
    now = model.begin(source, batch["attention_mask"])
    assert torch.equal(now.states[0], torch.zeros(2, 3))
    model.advance(now, model.words(torch.zeros(2, 1, dtype=torch.long)))
    assert now.states[1].abs().min() > 0
    with pytest.raises(BadInput, match="leave nothing that decides"):
        build_joint("sim", TEXTS, LABELS, False, port.template, {**options, "text_to_label": False})
