"""Training on attention: the adversary's loss is what the formula says and moves attention; guides are imposed throughout."""

from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.spatial.distance import jensenshannon
from scipy.stats import entropy
from test_training import job, quiet, toy_corpus
from tiny import LABELS, own_model, texts, tiny_bert, tiny_distilbert, tiny_roberta

from whence.errors import BadInput
from whence.models import Classifier, collate
from whence.run import Request, Runner, read_json
from whence.teach import run_job
from whence.teach.guide import imposed, uniform
from whence.teach.objectives import OBJECTIVES, CorpusFacts, Step

ATTENTION = frozenset({"attention"})


def saved(classifier: Classifier, folder: Path) -> str:
    classifier.model.save_pretrained(folder)
    classifier.tokenizer.save_pretrained(folder)
    return str(folder)


def step_of(classifier: Classifier, facts: CorpusFacts, rows: list[int]) -> Step:
    batch = collate([facts.encoded[i] for i in rows], classifier.pad_id, classifier.device)
    logits, attention = classifier.training_pass(batch, read_attention=True)
    return Step(batch, rows, facts.labels[rows], logits, attention)


@pytest.mark.parametrize(
    "make", [lambda: own_model("bilstm"), lambda: own_model("mlp"), tiny_bert, tiny_roberta, tiny_distilbert]
)
def test_the_loss_is_the_formula(tmp_path: Path, make: object) -> None:
    torch.manual_seed(0)
    base = make()  # type: ignore[operator]
    other = Classifier(type(base.model)(base.model.config).eval(), base.tokenizer)  # the same shape, other weights
    facts = CorpusFacts(texts(), other.encode(texts()), torch.tensor([0, 1, 2, 0, 1, 2]), other)
    term = OBJECTIVES["adversary"].build(facts, base=saved(base, tmp_path), divergence=0.3)
    rows = [3, 0, 4]
    found = term(step_of(other, facts, rows))
    expected = []
    for i in rows:
        requests = [Request(c.encode([texts()[i]])[0], want=ATTENTION) for c in (other, base)]
        a, b = (Runner(c).run([r])[0] for c, r in zip((other, base), requests, strict=True))
        on_text = requests[0].encoded.field >= 0
        ours, theirs = (r.extras["attention"][on_text] / r.extras["attention"][on_text].sum() for r in (a, b))
        tvd = np.abs(a.probabilities - b.probabilities).sum() / 2
        expected.append(tvd - 0.3 * entropy(ours, theirs))
    assert found.item() == pytest.approx(np.mean(expected), rel=1e-4, abs=1e-5)
    found.backward()
    gradients = [p.grad for p in other.model.parameters() if p.grad is not None]
    assert gradients
    assert all(torch.isfinite(g).all() for g in gradients)


def test_the_adversary_leaves_predictions_and_moves_attention(tmp_path: Path) -> None:
    corpus = toy_corpus()
    run_job(job("bilstm"), corpus, tmp_path / "base", quiet)
    training = {"objective": {"adversary": 1.0}, "select": "loss", "epochs": 12, "patience": 12}
    far = {"adversary": {"base": str(tmp_path / "base"), "divergence": 0.2}}
    results = run_job(job("bilstm", **training, options=far), corpus, tmp_path / "far", quiet)
    assert results["dev"]["loss"] == min(epoch["dev"]["loss"] for epoch in results["history"])
    near = {"adversary": {"base": str(tmp_path / "base"), "divergence": 0.0}}
    run_job(job("bilstm", **training, options=near), corpus, tmp_path / "near", quiet)
    examples = corpus.load("test")

    def read(name: str) -> tuple[list[np.ndarray], np.ndarray]:
        model = Classifier.load(tmp_path / name)
        found = Runner(model).run([Request(e, want=ATTENTION) for e in model.encode(examples)])
        return [r.extras["attention"] for r in found], np.stack([r.probabilities for r in found])

    attention, probabilities = read("base")
    distance = {}
    for name in ("near", "far"):
        theirs, predictions = read(name)
        assert np.abs(predictions - probabilities).max(1).mean() < 0.1
        distance[name] = np.mean([jensenshannon(a, b) ** 2 for a, b in zip(attention, theirs, strict=True)])
    assert distance["far"] > 0.3 > distance["near"]


def test_the_base_must_read_the_same_tokens(tmp_path: Path) -> None:
    base, other = own_model("bilstm"), tiny_bert()
    facts = CorpusFacts(texts(), other.encode(texts()), torch.tensor([0, 1, 2, 0, 1, 2]), other)
    with pytest.raises(BadInput, match="reads other tokens"):
        OBJECTIVES["adversary"].build(facts, base=saved(base, tmp_path), divergence=0.1)
    with pytest.raises(BadInput, match="reads other tokens"):
        imposed(saved(base, tmp_path))(other.encode(texts()))


def test_options_are_checked(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"needs a value; expected --set adversary\.base=VALUE"):
        run_job(job(objective={"adversary": 1.0}), toy_corpus(), tmp_path / "a", quiet)
    with pytest.raises(BadInput, match="unknown option of objective adversary 'bse'"):
        run_job(job(objective={"adversary": 1.0}, options={"adversary": {"bse": "x"}}), toy_corpus(), tmp_path / "b", quiet)
    with pytest.raises(BadInput, match="'adversary', which is not in use"):
        run_job(job(options={"adversary": {"base": "x"}}), toy_corpus(), tmp_path / "c", quiet)


def test_guides_are_distributions_over_the_text() -> None:
    classifier = tiny_bert()
    for e in classifier.encode(texts()):
        weights = uniform(e)
        assert weights.sum() == pytest.approx(1.0)
        assert set(np.unique(weights[e.field >= 0])) == {weights.max()}
        assert not weights[e.field < 0].any()
    assert len(LABELS) == len(classifier.labels)


def test_a_shuffled_guide_keeps_the_weights_and_loses_the_words(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = own_model("bilstm")
    encoded, folder = model.encode(texts()), saved(model, tmp_path / "guide")
    plain, shuffled, again = (imposed(folder, way)(encoded) for way in (False, True, True))
    for e, one, other, same in zip(encoded, plain, shuffled, again, strict=True):
        assert np.array_equal(np.sort(one.attention), np.sort(other.attention))
        assert not other.attention[e.field < 0].any()  # type: ignore[index]
        assert np.array_equal(other.attention, same.attention)
    assert any(not np.array_equal(a.attention, b.attention) for a, b in zip(plain, shuffled, strict=True))


def test_a_guide_is_imposed_in_training_and_afterwards(tmp_path: Path) -> None:
    """Attention that points at the deciding word lets a linear reading of words win; a guide that hides it does not."""
    corpus = toy_corpus()
    run_job(job("bilstm"), corpus, tmp_path / "base", quiet)
    guided = job("mlp", epochs=2).model_copy(update={"guide": str(tmp_path / "base")})
    results = run_job(guided, corpus, tmp_path / "guided", quiet)
    plain = run_job(job("mlp", epochs=2), corpus, tmp_path / "plain", quiet)
    assert results["history"] != plain["history"]
    assert results["test"]["macro_f1"] > 0.9
    model = Classifier.load(tmp_path / "guided")
    encoded = model.encode(corpus.load("test"))
    changes = imposed(str(tmp_path / "base"))(encoded)
    with_guide = Runner(model).run([Request(e, c) for e, c in zip(encoded, changes, strict=True)])
    stored = read_json(tmp_path / "guided" / "results.json")["test"]["accuracy"]
    right = [model.labels[r.label] == e.example.label for r, e in zip(with_guide, encoded, strict=True)]
    assert stored == pytest.approx(np.mean(right))


def test_uniform_guide_on_a_transformer(tmp_path: Path) -> None:
    guided = job("encoder", epochs=1).model_copy(update={"guide": "uniform"})
    results = run_job(guided, toy_corpus(40), tmp_path / "run", quiet)
    assert results["test"]["examples"] == 20
