"""Batch size, padding, order and deduplication change no number; every pass is counted."""

from dataclasses import replace

import numpy as np
import pytest
from tiny import examples_for

from whence.models import Classifier, Intervention, Label
from whence.run import Request, Rounds, Runner

CLOSE = 1e-5


def requests(classifier: Classifier) -> list[Request]:
    encoded = classifier.encode(examples_for(classifier))
    plain = [Request(e) for e in encoded]
    hidden = [Request(e, Intervention(keep=np.arange(len(e)) != 1, hide="delete")) for e in encoded if len(e) > 3]
    gradients = [Request(e, want=frozenset({"gradient"}), target=Label(i % 3)) for i, e in enumerate(encoded)]
    return plain + hidden + gradients


@pytest.mark.parametrize("budget", [1, 64, 100_000])
def test_batch_size_changes_nothing(classifier: Classifier, budget: int) -> None:
    asked = requests(classifier)
    together = Runner(classifier).run(asked)
    otherwise = Runner(classifier, token_budget=budget).run(asked)
    for a, b in zip(together, otherwise, strict=True):
        assert np.abs(a.logits - b.logits).max() < CLOSE
        assert a.extras.keys() == b.extras.keys()
        assert all(np.allclose(a.extras[k], b.extras[k], atol=CLOSE, rtol=1e-4) for k in a.extras)


def test_order_and_company_change_nothing(classifier: Classifier) -> None:
    asked = requests(classifier)
    shuffled = np.random.default_rng(0).permutation(len(asked))
    together = Runner(classifier).run(asked)
    in_disorder = Runner(classifier).run([asked[i] for i in shuffled])
    assert all(np.abs(together[i].logits - r.logits).max() < CLOSE for i, r in zip(shuffled, in_disorder, strict=True))


def test_equal_requests_are_asked_once(bert: Classifier) -> None:
    runner = Runner(bert)
    encoded = bert.encode(examples_for(bert))
    again = bert.encode(examples_for(bert))
    answered: list[int] = []
    first = runner.run([Request(e) for e in encoded + again], answered.append)
    assert runner.paid.forward == len(encoded)
    assert sum(answered) == 2 * len(encoded)
    assert all((a.logits == b.logits).all() for a, b in zip(first[: len(encoded)], first[len(encoded) :], strict=True))
    before = replace(runner.paid)
    runner.predict(encoded)  # remembered
    assert runner.paid == replace(before, requests=before.requests + len(encoded))


def test_memory_is_bounded_and_keeps_gradients(bert: Classifier) -> None:
    encoded = bert.encode(examples_for(bert))
    runner = Runner(bert, remembered=3)
    asked = [Request(e, want=frozenset({"gradient"}), target=Label(0)) for e in encoded]
    first = runner.run(asked)
    assert len(runner._memory) == 3
    for a, b in zip(first, runner.run(asked), strict=True):
        assert np.allclose(a.extras["gradient"], b.extras["gradient"], atol=CLOSE, rtol=1e-4)
    assert runner.paid.backward < 2 * len(encoded)


def test_requests_that_differ_are_not_confused(bert: Classifier) -> None:
    [e] = bert.encode(examples_for(bert)[:1])
    keep = np.arange(len(e)) != 2
    changes = [
        Intervention(),
        Intervention(keep=keep, hide="mask"),
        Intervention(keep=keep, hide="pad"),
        Intervention(keep=keep, hide="delete"),
        Intervention(scale=0.5),
        Intervention(noise=0.1, seed=0),
        Intervention(noise=0.1, seed=1),
        Intervention(attention=np.full(len(e), 1 / len(e), dtype=np.float32)),
    ]
    runner = Runner(bert)
    runner.run([Request(e, c) for c in changes])
    assert runner.paid.forward == len(changes)
    gradients = runner.run([Request(e, want=frozenset({"gradient"}), target=Label(t)) for t in (0, 1)])
    assert runner.paid.backward == 2
    assert not np.allclose(gradients[0].extras["gradient"], gradients[1].extras["gradient"])


def test_generators_run_side_by_side(bert: Classifier) -> None:
    encoded = bert.encode(examples_for(bert))

    def hide_until_short(e: int) -> Rounds[int]:
        """Adaptive: asks for one more pass per round, a different number of rounds for each example."""
        rounds = 0
        for n in range(e + 1):
            [result] = yield [Request(encoded[e], Intervention(keep=np.arange(len(encoded[e])) != n + 1))]
            assert result.logits.shape == (3,)
            rounds += 1
        return rounds

    finished: list[int] = []
    assert Runner(bert).drive((hide_until_short(i) for i in range(3)), finished.append) == [1, 2, 3]
    assert sum(finished) == 3
    assert Runner(bert).drive([]) == []


def test_no_requests(bert: Classifier) -> None:
    assert Runner(bert).run([]) == []


def test_generators_are_opened_as_others_end(bert: Classifier, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many there are, no more wait than fill the window; the answers are those of each alone."""
    monkeypatch.setattr("whence.run.runner.WAITING", 10)
    encoded = bert.encode(examples_for(bert))
    open_, most = 0, 0

    def two_rounds(i: int) -> Rounds[tuple[int, float]]:
        nonlocal open_, most
        open_ += 1
        most = max(most, open_)
        item = encoded[i % len(encoded)]
        for n in range(i % 3):
            [_, result] = yield [Request(item), Request(item, Intervention(keep=np.arange(len(item)) != n + 1))]
        open_ -= 1
        return i, float(result.logits[0]) if i % 3 else 0.0

    found = Runner(bert).drive(two_rounds(i) for i in range(60))
    assert [i for i, _ in found] == list(range(60))
    assert most <= 6, "five wait for two passes each, and one more that asks for nothing"
    assert found[4] == (4, pytest.approx(Runner(bert).drive([two_rounds(4)])[0][1], abs=1e-5))
