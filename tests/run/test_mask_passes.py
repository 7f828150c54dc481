"""Passes under alignment masks go through the one runner: counted, bounded, planned, and the same numbers however packed."""

import numpy as np
import pytest
import torch
from tiny import MODELS, pairs

import whence
from whence.data import Example
from whence.explain.alignments import ALIGNMENT_METHODS, GateSettings, explain_alignments
from whence.explain.alignments.diffmask import train_gate
from whence.models import Classifier, Encoded
from whence.models.alignment import MaskedPairs, pair_shape
from whence.run import DryRunner, Request, Runner
from whence.run.masks import CO_ATTENTION, Masked, Pass, Slopes, drive_masks, on_pair

PARAMETERS = {"lime": {"n_samples": 9}, "integrated_gradients": {"n_steps": 5}}


@pytest.fixture(scope="module", params=["bert", "decomposable", "esim"])
def reader(request: pytest.FixtureRequest) -> Classifier:
    torch.manual_seed(0)
    return MODELS[request.param]()


@pytest.fixture(scope="module")
def encoded(reader: Classifier) -> list[Encoded]:
    cut = [{name: " ".join(text.split()[:3]) for name, text in e.texts.items()} for e in pairs()[:3]]
    return reader.encode([Example(str(i), texts) for i, texts in enumerate(cut)])


def cells(encoded: list[Encoded]) -> list[int]:
    return [int(np.prod(pair_shape(e))) for e in encoded]


def test_every_pass_is_counted(reader: Classifier, encoded: list[Encoded]) -> None:
    n = cells(encoded)
    expected = {
        "leave_one_out": (sum(n), 0), "back_select": (sum(k * (k + 1) // 2 - 1 for k in n), 0), "co_attention": (3, 0),
        "lime": (27, 0), "gradient": (3, 3), "integrated_gradients": (18, 15), "random": (0, 0),
    }  # fmt: skip
    for name, (forward, backward) in expected.items():
        runner = Runner(reader)
        explain_alignments(runner, encoded, ALIGNMENT_METHODS[name], parameters=PARAMETERS.get(name))
        base_and_cut = 6
        assert (runner.paid.forward, runner.paid.backward) == (forward + base_and_cut, backward), name
        assert runner.paid.tokens >= runner.paid.forward * min(map(len, encoded))
        assert runner.paid.model_seconds > 0
        dry = DryRunner(reader)
        explain_alignments(dry, encoded, ALIGNMENT_METHODS[name], parameters=PARAMETERS.get(name))
        assert (dry.paid.forward, dry.paid.backward) == (runner.paid.forward, runner.paid.backward), name


def test_a_dry_runner_asks_no_model_and_counts_a_search(
    reader: Classifier, encoded: list[Encoded], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the model was asked")

    monkeypatch.setattr(MaskedPairs, "of", refuse)
    for name in ("arec", "fewest_cuts"):
        dry = DryRunner(reader)
        explain_alignments(dry, encoded, ALIGNMENT_METHODS[name])
        assert dry.paid.forward > sum(cells(encoded))
        assert dry.paid.backward > 0


def test_training_a_gate_is_counted(reader: Classifier, encoded: list[Encoded]) -> None:
    runner = Runner(reader)
    _, losses = train_gate(runner, encoded, GateSettings(hidden=4, epochs=2))
    assert len(losses) == 2
    assert (runner.paid.forward, runner.paid.backward) == (3 + 2 * 3, 2 * 3)


def test_a_gate_stops_when_its_loss_is_flat(reader: Classifier, encoded: list[Encoded]) -> None:
    """A rate of almost nothing: the loss moves by noise alone, and three epochs without a gain of half are the end."""
    _, losses = train_gate(Runner(reader), encoded, GateSettings(hidden=4, epochs=30, learning_rate=1e-9, flat=0.5))
    assert len(losses) == 4


def test_the_budget_bounds_every_pass_and_changes_no_number(
    reader: Classifier, encoded: list[Encoded], monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = np.random.default_rng(0)
    masks = [draw.random((5, *pair_shape(e))).astype(np.float32) for e in encoded]

    def ask(several: np.ndarray):  # type: ignore[no-untyped-def]
        plain = yield several
        sloped = yield Slopes(several, lambda logits, which: logits[:, 0] * (which + 1))
        weights = yield CO_ATTENTION
        return plain, *sloped, weights

    found = {}
    for budget in (1, 60, 10_000):
        runner, sizes = Runner(reader, token_budget=budget), []
        run = runner._execute_masks
        monkeypatch.setattr(runner, "_execute_masks", lambda one, run=run, sizes=sizes: (sizes.append(one), run(one))[1])
        found[budget] = drive_masks(runner, encoded, [ask(m) for m in masks])
        assert all(one.tokens <= budget or one.count == 1 for one in sizes if isinstance(one, Pass))
    for small, medium, large in zip(*found.values(), strict=True):
        for a, b, c in zip(small, medium, large, strict=True):
            assert np.abs(a - c).max() < 2e-5
            assert np.abs(b - c).max() < 2e-5
    plain, logits, slopes, _ = found[10_000][0]
    assert np.abs(plain - logits).max() < 2e-5
    pair = MaskedPairs.of(reader, [encoded[0]])
    for number in range(5):  # `which` names the mask, however they were cut into passes
        leaf = torch.from_numpy(masks[0][None, number : number + 1]).requires_grad_()
        [by_hand] = torch.autograd.grad(pair.logits(leaf)[0, 0, 0] * (number + 1), [leaf])
        assert np.abs(slopes[number] - by_hand[0, 0].numpy()).max() < 2e-5


def test_co_attention_of_some_pairs_is_that_of_all(reader: Classifier) -> None:
    """Pairs of unlike length: what is padding in the group lies beyond the end of those that are taken."""
    encoded = reader.encode(pairs())
    whole = MaskedPairs.of(reader, encoded)
    for rows in ([4], [0, 4], [4, 3]):
        for found, row in zip(whole.take(rows).co_attention(), rows, strict=True):
            [alone] = MaskedPairs.of(reader, [encoded[row]]).co_attention()
            assert np.abs(found - alone).max() < 1e-5


def test_both_kinds_of_requests_in_one_generator(reader: Classifier, encoded: list[Encoded]) -> None:
    def both(e: Encoded):  # type: ignore[no-untyped-def]
        plain, masked = yield [Request(e), Masked(e, np.ones((1, *pair_shape(e)), dtype=np.float32))]
        return plain.logits, masked.answer[0]

    def under_masks(e: Encoded):  # type: ignore[no-untyped-def]
        return (yield np.ones((1, *pair_shape(e)), dtype=np.float32))[0]

    runner = Runner(reader)
    for plain, masked in runner.drive([both(e) for e in encoded]):
        assert np.abs(plain - masked).max() < 1e-5
    with runner.ledger() as needed:
        runner.drive([on_pair(e, under_masks(e)) for e in encoded] * 1)
        assert needed() == (3, 0)


def test_weights_that_changed_are_read_anew(encoded: list[Encoded]) -> None:
    torch.manual_seed(0)
    esim = MODELS["esim"]()
    again, runner = esim.encode([e.example for e in encoded]), Runner(esim)

    def ask(e: Encoded):  # type: ignore[no-untyped-def]
        return (yield np.ones((1, *pair_shape(e)), dtype=np.float32))[0]

    before = drive_masks(runner, again, [ask(e) for e in again])
    with torch.no_grad():
        for weight in esim.model.parameters():
            weight.mul_(1.5)
    runner.forget()
    after = drive_masks(runner, again, [ask(e) for e in again])
    assert np.abs(np.stack(before) - np.stack(after)).max() > 1e-4


def test_plan_counts_with_the_dry_runner(reader: Classifier, encoded: list[Encoded]) -> None:
    model = whence.load(reader.model, reader.tokenizer)
    plan = whence.plan("align", model=model, data=[e.example for e in encoded], methods=["leave_one_out", "gradient"])
    runner = Runner(reader)
    for name in ("leave_one_out", "gradient"):
        explain_alignments(runner, encoded, ALIGNMENT_METHODS[name])
    assert plan["backward"] == runner.paid.backward
    assert plan["forward"] == runner.paid.forward + len(encoded)  # each method alone asks for the base prediction
