"""One test for each correctness trap that was found by reading ten other tools: each fails on the tool that it is about."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from tiny import pairs, texts
from transformers import FNetConfig, FNetForSequenceClassification, XLNetConfig, XLNetForSequenceClassification

from whence.data import Example
from whence.errors import BadInput
from whence.explain import METHODS, TokenScores, choose_methods, explain, load_explanations, save_explanations
from whence.explain.eraser_file import load_eraser
from whence.measure.erasure import MEASURES
from whence.measure.measure import Judged
from whence.models import UNCHANGED, Classifier, Intervention, Label, collate
from whence.run import Request, Runner

FEW = {"lime": {"n_samples": 8}, "kernel_shap": {"n_samples": 8}, "integrated_gradients": {"n_steps": 2}}


class Spy(Runner):
    """Keeps what is asked for."""

    def __init__(self, classifier: Classifier) -> None:
        super().__init__(classifier)
        self.asked: list[Request] = []

    def run(self, requests, tick=None):  # type: ignore[no-untyped-def]
        self.asked += requests
        return super().run(requests, tick)


def read_ids(classifier: Classifier, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, torch.Tensor]]:
    """Everything that the model is called with from now on."""
    seen: list[dict[str, torch.Tensor]] = []
    plain = classifier.model.forward

    def forward(**inputs: torch.Tensor) -> object:
        seen.append(inputs)
        return plain(**inputs)

    monkeypatch.setattr(classifier.model, "forward", forward)
    return seen


def made(classifier: Classifier, example: Example, method: str) -> TokenScores:
    [found] = explain(Runner(classifier), classifier.encode([example]), METHODS[method], parameters=FEW.get(method))
    return found


def test_trap_1_nothing_is_decoded_and_tokenised_again(bert: Classifier, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tokenizer is called once, before any word is hidden, and never asked to decode; what the model reads are old ids."""
    [encoded] = bert.encode([Example("x", {"text": "Nobody expected unbelievable elephants"})])
    explain(Runner(bert), [encoded], METHODS["leave_one_out"])  # what the model does is tried out on texts of its own, before
    seen = read_ids(bert, monkeypatch)

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the text was tokenised or decoded again")

    for name in ("decode", "batch_decode", "convert_ids_to_tokens", "_encode_plus"):
        monkeypatch.setattr(bert.tokenizer, name, refuse, raising=False)
    monkeypatch.setattr(type(bert.tokenizer), "__call__", refuse)
    for method in ("leave_one_out", "lime", "kernel_shap"):
        explain(Runner(bert), [encoded], METHODS[method], hide="mask", parameters=FEW.get(method))
    known = torch.tensor(encoded.ids)
    for inputs in seen:
        assert all(bool(((row == known) | (row == bert.tokenizer.mask_token_id)).all()) for row in inputs["input_ids"])


def test_trap_2_pairs_keep_their_segments_when_words_are_hidden(bert: Classifier, monkeypatch: pytest.MonkeyPatch) -> None:
    """Segment ids reach the model in every pass, and a deleted word takes its own segment id with it."""
    [encoded] = bert.encode(pairs()[:1])
    assert encoded.types is not None
    seen = read_ids(bert, monkeypatch)
    keep = encoded.tokens_of(np.arange(encoded.word_count) != 2)
    Runner(bert).run([Request(encoded, Intervention(keep=keep, hide="delete")), Request(encoded)])
    rows = [row for inputs in seen for row in zip(inputs["attention_mask"], inputs["token_type_ids"], strict=True)]
    lengths = {int(mask.sum()): types for mask, types in rows}
    assert lengths[len(encoded)].tolist() == encoded.types.tolist()
    assert lengths[int(keep.sum())][: int(keep.sum())].tolist() == encoded.types[keep].tolist()


@pytest.mark.parametrize("text", ["Well,really ?!  ok", " ends ", "tab\tand\nline", "ＦＵＬＬ ｗｉｄｔｈ café", "a\ud800b"])
def test_trap_3_the_text_is_never_edited(bert: Classifier, text: str) -> None:
    for name in METHODS:
        explanation = made(bert, Example("x", {"text": text}), name)
        assert explanation.texts == {"text": text}
        assert all(text[a:b] == word for (a, b), word in zip(explanation.spans["text"], explanation.words, strict=True))
        gaps = text
        for a, b in reversed(explanation.spans["text"]):
            gaps = gaps[:a] + gaps[b:]
        assert not gaps.strip()  # every character but white space belongs to a word


def test_trap_4_segment_ids_are_the_tokenizers(bert: Classifier, monkeypatch: pytest.MonkeyPatch) -> None:
    """A single text is segment 0 to its end: its last [SEP] too. That of a pair is segment 1."""
    seen = read_ids(bert, monkeypatch)
    single, pair = texts()[0], pairs()[0]
    Runner(bert).predict(bert.encode([single]))
    Runner(bert).predict(bert.encode([pair]))
    expected = [bert.tokenizer(single.texts["text"]), bert.tokenizer(pair.texts["premise"], pair.texts["hypothesis"])]
    for inputs, wanted in zip(seen, expected, strict=True):
        assert inputs["input_ids"][0].tolist() == wanted["input_ids"]
        assert inputs["token_type_ids"][0].tolist() == wanted["token_type_ids"]
    assert [int(inputs["token_type_ids"][0, -1]) for inputs in seen] == [0, 1]


def test_trap_5_the_attention_mask_is_always_passed(classifier: Classifier) -> None:
    """Also without segment ids: a short text reads the same beside a long one, whatever the padding holds."""
    pair = classifier.own and classifier.model.reads_pairs
    short = {"premise": "good cat", "hypothesis": "a dog"} if pair else {"text": "good cat"}
    longer = {"premise": "the old dog slept " * 9, "hypothesis": "it sat"} if pair else {"text": "the old dog slept " * 9}
    encoded = classifier.encode([Example("short", short), Example("long", longer)])
    batch = collate(encoded, classifier.pad_id, classifier.device)
    assert batch.inputs()["attention_mask"].sum(1).tolist() == [len(e) for e in encoded]
    alone = classifier.model(**collate(encoded[:1], classifier.pad_id, classifier.device).inputs()).logits[0]
    together = torch.from_numpy(classifier.run(encoded, [UNCHANGED] * 2, frozenset(), [None] * 2)["scores"][0])
    assert torch.allclose(alone, together, atol=1e-5)
    if classifier.tokenizer.cls_token_id is not None:  # a decoder finds its last token by the padding id itself
        batch.input_ids[0, len(encoded[0]) :] = int(encoded[1].ids[1])  # another padding: it is masked, so nobody sees it
        assert torch.allclose(alone, classifier.model(**batch.inputs()).logits[0], atol=1e-5)


def test_trap_6_integrated_gradients_go_from_end_to_end(bert: Classifier) -> None:
    """The points are k/m, the text itself among them; at 0 the slope in √t is 0. (Values: explain/test_token_methods.py.)"""
    spy = Spy(bert)
    explain(spy, bert.encode(texts()[:1]), METHODS["integrated_gradients"], parameters={"n_steps": 5, "max_steps": 5})
    points = [1.0 if request.change.scale is None else request.change.scale for request in spy.asked if request.want]
    assert np.sqrt(points) == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0])  # steps are equal in √t
    counts = [{"n_steps": n, "max_steps": n} for n in (2, 8, 128)]
    errors = [explain(Runner(bert), bert.encode(texts()[:1]), METHODS["integrated_gradients"], parameters=given)[0]
              .notes["completeness_error"] for given in counts]  # fmt: skip
    assert errors[2] < 1e-3
    assert errors[2] < errors[0]


def test_trap_7_all_five_bins_are_asked_for_and_averaged(bert: Classifier) -> None:
    """Negative drops and repeated sets count: the mean over fixed 1, 5, 10, 20, 50 %."""
    [encoded] = bert.encode(texts()[:1])
    for name in ("comprehensiveness", "sufficiency"):
        measure = next(m for m in MEASURES if m.name == name)
        case = Judged(encoded, made(bert, texts()[0], "random"), "mask", Label(0))
        spy = Spy(bert)
        [value] = spy.drive([measure.rounds(case)])
        base, *changed = spy.run(spy.asked[:6])
        assert len(spy.asked) == 6 + 6
        drops = [float(base.probabilities[0]) - float(result.probabilities[0]) for result in changed]
        assert value == (pytest.approx(np.mean(drops)),)


@pytest.mark.parametrize("budget", [1, 4096])
def test_trap_8_ids_in_a_saved_file_are_those_of_the_examples(bert: Classifier, tmp_path: Path, budget: int) -> None:
    """Every row has its own id and its own text, however many rows a batch holds."""
    examples = [Example(f"row-{i}", e.texts) for i, e in enumerate(texts() * 3)]
    found = explain(Runner(bert, token_budget=budget), bert.encode(examples), METHODS["gradient_l2"])
    save_explanations(tmp_path / "out.jsonl", found)
    loaded = load_explanations(tmp_path / "out.jsonl")
    assert [e.id for e in loaded] == [e.id for e in examples]
    assert len({e.id for e in loaded}) == len(examples)
    assert [e.texts for e in loaded] == [e.texts for e in examples]
    assert all(
        a.scores == pytest.approx(b.scores, abs=1e-5, rel=1e-5) for a, b in zip(loaded, loaded[len(texts()) :], strict=False)
    )


def test_trap_9_an_unknown_document_is_refused(tmp_path: Path) -> None:
    """ERASER asks `if docid not in docid`, which never holds. (All other errors: tests/explain/test_eraser_file.py.)"""
    rationale = {"docid": "nowhere", "soft_rationale_predictions": [1.0]}
    (tmp_path / "x.jsonl").write_text(json.dumps({"annotation_id": "a", "rationales": [rationale], "classification": "no"}))
    with pytest.raises(BadInput, match="row 1: docid 'nowhere'; expected a"):
        load_eraser(tmp_path / "x.jsonl", [Example("a", {"text": "good"})])


@pytest.mark.parametrize("implementation", ["sdpa", "eager"])
def test_trap_10_attention_is_found_whatever_the_implementation(bert: Classifier, implementation: str) -> None:
    """Under SDPA a model returns no weights; ours come through the attention interface and are the eager ones."""
    before = bert.model.config._attn_implementation
    reference = made(bert, texts()[0], "attention")
    bert.model.set_attn_implementation(implementation)
    try:
        found = made(bert, texts()[0], "attention")
        assert bert.model.config._attn_implementation == implementation
    finally:
        bert.model.set_attn_implementation(before)
    assert found.scores == pytest.approx(reference.scores, abs=1e-6)
    assert 0 < sum(found.scores) < 1  # special tokens have the rest


def test_trap_10_a_model_without_reachable_attention_is_refused(bert: Classifier) -> None:
    """XLNet has attention of its own making, FNet has none: both are told apart from "no attention weight"."""
    vocabulary = len(bert.tokenizer)
    small = XLNetConfig(vocab_size=vocabulary, d_model=16, n_layer=1, n_head=2, d_inner=16, num_labels=2)
    xlnet = XLNetForSequenceClassification(small)
    with pytest.raises(BadInput, match=r"method 'attention' needs the model's attention: XLNet.* gives none"):
        choose_methods(Classifier(xlnet.eval(), bert.tokenizer), ["attention"])
    fnet = FNetForSequenceClassification(
        FNetConfig(vocab_size=vocabulary, hidden_size=16, num_hidden_layers=1, intermediate_size=16, num_labels=2)
    )
    with pytest.raises(BadInput, match=r"FNet.* does not offer its attention"):
        made(Classifier(fnet.eval(), bert.tokenizer), texts()[0], "attention")
