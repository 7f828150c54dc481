"""What is opened is what was saved: no random head, no empty vocabulary, no foreign code; changed weights are noticed."""

import copy
import io
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from tiny import texts, tiny_bert, wordpiece_tokenizer
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertForSequenceClassification,
    BertForTokenClassification,
    BertModel,
)

from whence.errors import BadInput
from whence.models import Classifier
from whence.models.fingerprint import weights_key
from whence.run import Runner


def saved(model: torch.nn.Module, folder: Path) -> Path:
    model.save_pretrained(folder)
    wordpiece_tokenizer().save_pretrained(folder)
    return folder


def small(**more: object) -> BertConfig:
    return BertConfig(
        vocab_size=len(wordpiece_tokenizer()), hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
        **more,
    )  # fmt: skip


@pytest.mark.parametrize("kind", [BertModel, BertForMaskedLM, BertForTokenClassification])
def test_a_checkpoint_without_a_classification_head_is_refused(kind: type, tmp_path: Path) -> None:
    saved(kind(small(num_labels=3)), tmp_path)
    with pytest.raises(BadInput, match="has no weights for"):
        Classifier.load(tmp_path)


def test_weights_of_another_shape_are_refused(tmp_path: Path) -> None:
    saved(BertForSequenceClassification(small(num_labels=3)), tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    config |= {"id2label": {str(i): str(i) for i in range(4)}, "label2id": {str(i): i for i in range(4)}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(BadInput, match="of another shape"):
        Classifier.load(tmp_path)


def test_a_folder_without_tokenizer_files_is_refused(tmp_path: Path) -> None:
    BertForSequenceClassification(small(num_labels=3)).save_pretrained(tmp_path)
    with pytest.raises(BadInput, match="no tokenizer files"):
        Classifier.load(tmp_path)


def test_a_tokenizer_larger_than_the_embeddings_is_refused() -> None:
    model = BertForSequenceClassification(BertConfig(vocab_size=20, hidden_size=32, num_hidden_layers=1, num_attention_heads=2))
    with pytest.raises(BadInput, match="has 20 embeddings"):
        Classifier(model, wordpiece_tokenizer())


def test_truncated_weights_are_one_line(tmp_path: Path) -> None:
    saved(BertForSequenceClassification(small(num_labels=3)), tmp_path)
    weights = tmp_path / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:200])
    with pytest.raises(BadInput, match="cannot load model"):
        Classifier.load(tmp_path)


def test_a_repository_never_runs_its_own_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = tmp_path / "ran"
    (tmp_path / "evil.py").write_text(f"open({str(ran)!r}, 'w')\nclass EvilConfig: pass\nclass Evil: pass\n")
    auto = {"AutoConfig": "evil.EvilConfig", "AutoModelForSequenceClassification": "evil.Evil"}
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "no such type", "auto_map": auto}))
    monkeypatch.setattr("sys.stdin", io.StringIO("y\ny\ny\n"))
    with pytest.raises(BadInput, match="cannot load model"):
        Classifier.load(tmp_path)
    assert not ran.exists()
    assert capsys.readouterr().out == ""


def test_a_regression_head_is_refused() -> None:
    with pytest.raises(BadInput, match="regression"):
        Classifier(BertForSequenceClassification(small(num_labels=2, problem_type="regression")), wordpiece_tokenizer())


@pytest.mark.parametrize("edit", ["in place", "through .data", "by an optimiser", "by loading"])
def test_changed_weights_are_noticed(edit: str) -> None:
    classifier = tiny_bert()
    before, state = classifier.fingerprint, classifier.state
    weight = classifier.model.classifier.weight
    if edit == "in place":
        with torch.no_grad():
            weight += 1
    elif edit == "through .data":
        weight.data[0, 0] += 1
    elif edit == "by an optimiser":
        weight.grad = torch.ones_like(weight)
        torch.optim.AdamW([weight], lr=0.1, fused=True).step()
    else:
        classifier.model.load_state_dict(
            {k: v + 1 if "classifier" in k else v for k, v in classifier.model.state_dict().items()}
        )
    assert classifier.state != state
    assert classifier.fingerprint != before


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int8, torch.bool])
@pytest.mark.parametrize("offset", [0, 1, 3])
def test_every_number_of_a_tensor_counts(dtype: torch.dtype, offset: int) -> None:
    """Of any type, and wherever it begins in its storage: the checksum reads eight bytes at a time."""
    whole = torch.nn.Module()
    whole.register_buffer("numbers", torch.ones(20).to(dtype)[offset : offset + 13])
    before = weights_key(whole)
    for i in range(13):
        whole.numbers.data[i] = 0  # leaves the version alone
        assert weights_key(whole) != before
        whole.numbers.data[i] = 1
    assert weights_key(whole) == before


def test_the_fingerprint_knows_the_tokenizer_and_scalars() -> None:
    one = tiny_bert()
    other, third = (Classifier(copy.deepcopy(one.model), one.tokenizer) for _ in range(2))
    assert one.fingerprint == other.fingerprint
    one.encode(texts())  # a call leaves traces in a tokenizer; they are not part of it
    assert one.fingerprint == other.fingerprint
    one.model.register_buffer("scalar", torch.tensor(3.0))
    assert one.fingerprint != other.fingerprint
    from tokenizers import normalizers

    third.tokenizer.backend_tokenizer.normalizer = normalizers.Lowercase()
    assert third.fingerprint != other.fingerprint


def test_half_precision_gives_nearly_the_same_numbers() -> None:
    exact = tiny_bert()
    half = Classifier(copy.deepcopy(exact.model).to(torch.bfloat16), exact.tokenizer)
    a, b = (np.stack([r.probabilities for r in Runner(c).predict(c.encode(texts()))]) for c in (exact, half))
    assert b.dtype == np.float32
    assert np.abs(a - b).max() < 0.05


def test_a_model_that_was_trained_on_answers_anew() -> None:
    import whence

    model = whence.load(tiny_bert())
    before = model.predict("good")
    with torch.no_grad():
        model.classifier.model.classifier.bias += torch.tensor([3.0, 0.0, 0.0])
    assert model.predict("good") != before
