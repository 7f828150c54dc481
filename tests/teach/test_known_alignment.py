"""The objective with known word pairs: its value by separate passes, and a model that learns to need the pair."""

import itertools
from pathlib import Path

import numpy as np
import pytest
import torch
from tiny import own_model, texts
from torch.nn.functional import cross_entropy

from whence.data import Corpus, Example
from whence.errors import BadInput
from whence.models import Classifier, Intervention, collate
from whence.models.alignment import known_cells
from whence.run import Request, Runner
from whence.teach import Job, Settings, run_job
from whence.teach.objectives import CorpusFacts, Step, total

PAIRS = [
    Example("1", {"premise": "the cat sat", "hypothesis": "the dog sat"}, "contradiction", pairs=(((4, 7), (4, 7)),)),
    Example("2", {"premise": "a dog ran", "hypothesis": "a dog sat here"}, "neutral"),  # nothing known: no part of the term
    Example("3", {"premise": "the dog ran", "hypothesis": "a cat ran"}, "contradiction", pairs=(((4, 7), (2, 5)),)),
]


def facts_of(classifier: Classifier, examples: list[Example]) -> CorpusFacts:
    labels = torch.tensor([classifier.labels.index(e.label) if e.label in classifier.labels else 0 for e in examples])
    return CorpusFacts(examples, classifier.encode(examples), labels, classifier)


def test_value_is_that_of_separate_passes() -> None:
    classifier = own_model("esim")
    facts = facts_of(classifier, PAIRS)
    without = classifier.labels[1]
    term = total({"known_alignment": 1.0}, {"known_alignment": {"without": without}}, facts)
    step = Step(collate(facts.encoded, classifier.pad_id, torch.device("cpu")), [0, 1, 2], facts.labels, torch.zeros(3, 3))
    torch.manual_seed(0)
    value = term(step).item()

    torch.manual_seed(0)
    losses = []
    for row in (0, 2):
        known = known_cells(facts.encoded[row])
        drawn = (torch.rand(known.shape) < torch.rand(())).numpy()
        for mask, label in ((drawn | known, facts.labels[row]), (drawn & ~known, torch.tensor(1))):
            (result,) = Runner(classifier).run([Request(facts.encoded[row], Intervention(alignment=mask.astype(np.float32)))])
            losses.append(cross_entropy(torch.tensor(result.logits), label).item())
    assert value == pytest.approx(np.mean(losses), abs=1e-6)


def colours() -> Corpus:
    """Contradiction if the colours differ, else neutral; the pair of colours is known to decide."""
    words = ["red", "blue", "green", "black"]
    examples = []
    for number, (first, second, animal) in enumerate(itertools.product(words, words, ["cat", "dog", "horse"])):
        texts = {"premise": f"a {first} {animal} sat", "hypothesis": f"the {animal} was {second}"}
        span = (len(texts["hypothesis"]) - len(second), len(texts["hypothesis"]))
        label = "neutral" if first == second else "contradiction"
        # as many of both labels
        for copy in range(3 if first == second else 1):
            examples.append(Example(f"{number}-{copy}", texts, label, pairs=(((2, 2 + len(first)), span),)))
    return Corpus("colours", "pair", ("neutral", "contradiction"), dict.fromkeys(("train", "dev"), lambda: iter(examples)), "")


def test_the_model_learns_to_need_the_pair(tmp_path: Path) -> None:
    """Contradictions become neutral without their pair and stay with the pair alone; not so after training for labels only."""
    corpus, share = colours(), {}
    for name, objective in (("labels", {"cross_entropy": 1.0}), ("both", {"cross_entropy": 1.0, "known_alignment": 1.0})):
        settings = Settings(objective=objective, epochs=40, patience=40, batch_size=12, learning_rate=5e-3, select="loss")
        options = {"hidden_size": 16, "embedding_dim": 16, "dropout": 0.0}
        run_job(Job(data="colours", model="esim", options=options, settings=settings), corpus, tmp_path / name, lambda _: None)
        classifier = Classifier.load(tmp_path / name)
        encoded = classifier.encode([e for e in corpus.load("dev") if e.label == "contradiction"])
        cells = [known_cells(e).astype(np.float32) for e in encoded]
        only, lacking = (
            Runner(classifier).run([Request(e, Intervention(alignment=mask)) for e, mask in zip(encoded, masks, strict=True)])
            for masks in (cells, [1 - c for c in cells])
        )
        share[name] = np.mean([(a.label, b.label) == (1, 0) for a, b in zip(only, lacking, strict=True)])
    assert share["both"] > 0.9
    assert share["labels"] < 0.5


def test_bad_input() -> None:
    classifier = own_model("esim")
    with pytest.raises(BadInput, match="no example has known word pairs"):
        total(
            {"known_alignment": 1.0}, {"known_alignment": {"without": classifier.labels[0]}}, facts_of(classifier, PAIRS[1:2])
        )
    with pytest.raises(BadInput, match=r"unknown label of known_alignment\.without 'x'"):
        total({"known_alignment": 1.0}, {"known_alignment": {"without": "x"}}, facts_of(classifier, PAIRS))
    single = own_model("bilstm")
    with pytest.raises(BadInput, match="alignment"):
        total({"known_alignment": 1.0}, {"known_alignment": {"without": single.labels[0]}}, facts_of(single, texts()))
