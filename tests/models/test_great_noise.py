"""Noise on embeddings reaches every family: models that have learnt their labels by heart lose them at σ² = 1e4, in scoring and
in writing, and keep them at σ² = 1e-8. A hook that is ignored, or fires at the wrong place, would keep them at both.
A draw depends on seed, example and σ² only."""

from functools import cache

import numpy as np
import pytest
import torch
from tiny import LABELS
from zoo import CAUSAL, CLASSIFIERS, SEQ2SEQ

from whence.data import Example
from whence.data.template import Template
from whence.explain.text import noise_on
from whence.models import UNCHANGED, Causal, Classifier, Seq2Seq, TorchPort
from whence.models.reading import Kept, evaluating
from whence.run import Request, Result, Runner

SAID = (
    "good film",
    "bad cat",
    "old dog",
    "good cat sat",
    "a bad film",
    "the old mat",
    "good dog slept",
    "bad old storm",
    "old film",
)
DRAWS = 8
ANSWERS = ("yes", "not", "odd")
BUILDERS = {**{f"{name} classifier": (Classifier, build) for name, build in CLASSIFIERS.items()},
            **{f"{name} seq2seq": (Seq2Seq, build) for name, build in SEQ2SEQ.items()},
            **{f"{name} causal": (Causal, build) for name, build in CAUSAL.items()}}  # fmt: skip
PAIRS_ONLY = ("decomposable", "esim")


def examples(name: str, labels: tuple[str, ...]) -> list[Example]:
    pair = name.split()[0] in PAIRS_ONLY
    return [
        Example(str(i), {"premise": t, "hypothesis": "a film"} if pair else {"text": t}, labels[i % 3])
        for i, t in enumerate(SAID)
    ]


@cache
def learnt(name: str) -> tuple[TorchPort, list[Example]]:
    """Trained until it knows every label; the weights are large already, so that takes a few steps."""
    kind, build = BUILDERS[name]
    port: TorchPort = kind(*build()) if kind is Classifier else kind(*build(), Template("toy", "{text}:", "{label}"), ANSWERS)  # type: ignore[arg-type]
    known = examples(name, LABELS if kind is Classifier else ANSWERS)
    encoded = port.encode(known)
    optimiser = torch.optim.Adam(port.model.parameters(), lr=3e-3)
    for _ in range(300):
        loss = torch.zeros(())
        for rows in port._parts(encoded):
            batch = port._collate([encoded[i] for i in rows], [UNCHANGED] * len(rows), [None] * len(rows))
            with evaluating(port.model):
                scores = port._forward(batch, frozenset(), Kept())[0].float()
            loss = loss + torch.nn.functional.cross_entropy(scores, torch.tensor(rows) % 3, reduction="sum")
        if loss.item() < 0.3:
            break
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return port, known


def scored(port: TorchPort, known: list[Example], variance: float, seed: int, budget: int | None = None) -> list[Result]:
    changes = [noise_on(e, variance, seed) for e in known]
    return Runner(port, budget).run([Request(e, c) for e, c in zip(port.encode(known), changes, strict=True)])


@pytest.mark.parametrize("name", BUILDERS)
def test_great_noise_destroys_the_labels_and_a_trace_of_it_does_not(name: str) -> None:
    port, known = learnt(name)
    assert "noise" in port.honours
    accuracy = {
        variance: np.mean([[r.label == i % 3 for i, r in enumerate(scored(port, known, variance, d))] for d in range(DRAWS)])
        for variance in (0.0, 1e-8, 1e4)
    }
    assert accuracy[0.0] == accuracy[1e-8] == 1
    assert accuracy[1e4] < 0.6, accuracy  # a third is chance; 72 answers have a standard deviation of 0.06


@pytest.mark.parametrize("name", BUILDERS)
def test_a_draw_depends_on_seed_example_and_variance_only(name: str) -> None:
    port, known = learnt(name)
    assert "noise" in port.honours
    together, turned = scored(port, known, 1.0, 3), scored(port, known[::-1], 1.0, 3, budget=1)[::-1]
    for one, other in zip(together, turned, strict=True):
        np.testing.assert_allclose(one.logits, other.logits, rtol=2e-3, atol=2e-3 * np.abs(one.logits).max())
    for other_draw in (scored(port, known, 1.0, 4), scored(port, known, 1.01, 3)):
        assert max(np.abs(a.logits - b.logits).max() for a, b in zip(together, other_draw, strict=True)) > 1e-3


@pytest.mark.parametrize("name", [name for name in BUILDERS if not name.endswith("classifier")])
def test_great_noise_changes_what_is_written(name: str) -> None:
    port, known = learnt(name)
    encoded = port.encode(known)
    clean, noisy = (
        Runner(port).run([Request(e, noise_on(x, variance, 0), write=4) for e, x in zip(encoded, known, strict=True)])
        for variance in (0.0, 1e4)
    )
    assert np.mean([a.written == b.written for a, b in zip(clean, noisy, strict=True)]) < 0.5
