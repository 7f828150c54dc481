"""Jain & Wallace's tests: what is batched equals what a plain loop finds, and is right on models with known answers."""

import numpy as np
import pytest
import torch
from scipy.stats import kendalltau
from tiny import own_model, texts, tiny_bert

from whence.data import Example
from whence.errors import BadInput
from whence.measure.attention_correlation import correlation_rounds
from whence.measure.attention_permutation import permuted_change
from whence.measure.attention_search import search_attention
from whence.measure.divergence import jsd, tvd
from whence.models import Classifier, Intervention
from whence.run import Request, Runner
from whence.run.readout import Readout, read_out


@pytest.fixture(params=["bilstm", "mlp"])
def model(request: pytest.FixtureRequest) -> Classifier:
    torch.manual_seed(3)
    classifier = own_model(request.param)
    classifier.model.classifier.weight.data *= 8  # predictions that move
    return classifier


def test_readout_equals_imposed_attention(model: Classifier) -> None:
    encoded = model.encode([*texts(), Example("empty", {"text": ""})])
    readout = read_out(Runner(model), encoded)
    draw = np.random.default_rng(0)
    imposed = []
    for e in encoded:
        weights = draw.random(len(e)) * (e.field >= 0)
        imposed.append((weights / max(weights.sum(), 1e-30)).astype(np.float32))
    padded = np.zeros(readout.mask.shape, dtype=np.float32)
    for row, weights in zip(padded, imposed, strict=True):
        row[: len(weights)] = weights
    expected = Runner(model).run([Request(e, Intervention(attention=w)) for e, w in zip(encoded, imposed, strict=True)])
    found = readout.probabilities(torch.from_numpy(padded))
    assert np.allclose(found, [r.probabilities for r in expected], atol=1e-6)
    own = readout.probabilities(readout.attention)
    assert np.allclose(own, [r.probabilities for r in Runner(model).predict(encoded)], atol=1e-6)


def test_readout_refuses_what_it_cannot_read() -> None:
    classifier = tiny_bert()
    with pytest.raises(BadInput, match="does not offer its readout"):
        read_out(Runner(classifier), classifier.encode(texts()))


def test_search_in_batches_equals_one_text_at_a_time(model: Classifier) -> None:
    examples = texts()
    encoded, ids = model.encode(examples), [e.id for e in examples]
    together = search_attention(read_out(Runner(model), encoded), ids, seed=1, steps=60)
    backwards = search_attention(read_out(Runner(model), encoded[::-1]), ids[::-1], seed=1, steps=60)
    for i in range(len(ids)):
        alone = search_attention(read_out(Runner(model), encoded[i : i + 1]), ids[i : i + 1], seed=1, steps=60)
        assert together.jsd[i] == pytest.approx(alone.jsd[0], abs=1e-4)
        assert together.jsd[i] == pytest.approx(backwards.jsd[-1 - i], abs=1e-4)
        assert np.allclose(together.attention[i, : alone.attention.shape[1]], alone.attention[0], atol=1e-3)
    assert not np.allclose(together.jsd, search_attention(read_out(Runner(model), encoded), ids, seed=2, steps=60).jsd)


def test_what_the_search_found_is_true(model: Classifier) -> None:
    examples = texts()
    encoded = model.encode(examples)
    readout = read_out(Runner(model), encoded)
    found = search_attention(readout, [e.id for e in examples], steps=200)
    base = Runner(model).predict(encoded)
    for i, e in enumerate(encoded):
        weights = found.attention[i, : len(e)]
        assert weights.sum() == pytest.approx(1.0, abs=1e-5)
        assert not weights[e.field < 0].any()
        [result] = Runner(model).run([Request(e, Intervention(attention=weights))])
        assert tvd(result.probabilities, base[i].probabilities) == pytest.approx(found.tvd[i], abs=1e-5)
        assert found.tvd[i] <= 0.05
        assert jsd(weights, readout.attention[i, : len(e)].numpy()) == pytest.approx(found.jsd[i], abs=1e-5)


def flat(values: list[list[float]], attention: list[float]) -> Readout:
    """One text whose tokens say `values` (two labels)."""
    n = len(values)
    return Readout(torch.tensor([values]), torch.zeros(2), torch.ones(1, n, dtype=torch.bool), torch.tensor([attention]))


def test_where_all_words_say_the_same_attention_is_free() -> None:
    readout = flat([[1.0, -1.0]] * 6, [0.95, 0.01, 0.01, 0.01, 0.01, 0.01])
    assert search_attention(readout, ["a"]).jsd[0] > 0.6
    assert permuted_change(readout, ["a"])[0] == pytest.approx(0.0, abs=1e-6)


def test_where_one_word_decides_attention_is_not_free() -> None:
    readout = flat([[0.0, 9.0], *[[9.0, 0.0]] * 5], [0.95, 0.01, 0.01, 0.01, 0.01, 0.01])
    found = search_attention(readout, ["a"])
    assert found.jsd[0] < 0.1
    assert permuted_change(readout, ["a"])[0] > 0.9


def test_permutation_equals_a_plain_loop(model: Classifier) -> None:
    example = texts()[0]
    [encoded] = model.encode([example])
    readout = read_out(Runner(model), [encoded])
    import zlib

    draw = np.random.default_rng([4, zlib.crc32(example.id.encode())])
    text = encoded.field >= 0
    own = readout.attention[0, : len(encoded)].numpy()
    shuffles = draw.permuted(np.tile(own[text], (20, 1)), axis=1)
    changes = []
    base = Runner(model).predict([encoded])[0].probabilities
    for shuffled in shuffles:
        weights = np.zeros(len(encoded), dtype=np.float32)
        weights[text] = shuffled
        [result] = Runner(model).run([Request(encoded, Intervention(attention=weights))])
        changes.append(float(tvd(result.probabilities, base)))
    lower_median = sorted(changes)[(len(changes) - 1) // 2]
    assert permuted_change(readout, [example.id], seed=4, permutations=20)[0] == pytest.approx(lower_median, abs=1e-6)


def test_correlation_by_hand(model: Classifier) -> None:
    """Gradients by autograd with detached attention; leave-one-out by deleting words from the text."""
    example = texts()[1]
    [encoded] = model.encode([example])
    [found] = Runner(model).drive([correlation_rounds(encoded)])
    network = model.model
    ids = torch.from_numpy(encoded.ids)[None]
    embedded = network.embeddings(ids).detach().requires_grad_()
    hook = network.embeddings.register_forward_hook(lambda *_: embedded)
    plain = network(ids, torch.ones_like(ids))
    fixed = network(ids, torch.ones_like(ids), attention=plain.attentions[0].detach())
    probabilities = fixed.logits.softmax(-1)[0]
    probabilities[int(probabilities.argmax())].backward()
    hook.remove()
    text = np.flatnonzero(encoded.field >= 0)
    alpha = plain.attentions[0][0].detach().numpy()[text]
    gradient = (embedded.grad * embedded).sum(-1).abs()[0].detach().numpy()[text]  # type: ignore[operator]
    words = encoded.words
    without = [Example(f"{i}", {"text": " ".join(words[:i] + words[i + 1 :])}) for i in range(len(words))]
    results = Runner(model).predict(model.encode(without))
    effect = [np.abs(r.probabilities - probabilities.detach().numpy()).mean() for r in results]
    for couple, pair in zip(found, ((alpha, gradient), (alpha, effect), (gradient, effect)), strict=False):
        assert couple is not None
        expected = kendalltau(*pair)
        assert couple[0] == pytest.approx(expected.statistic, abs=1e-6)
        assert couple[1] == pytest.approx(expected.pvalue, abs=1e-6)


def test_correlation_is_not_defined_for_one_word(model: Classifier) -> None:
    [found] = Runner(model).drive([correlation_rounds(e) for e in model.encode([Example("1", {"text": "good"})])])
    assert found[:3] == (None, None, None)
