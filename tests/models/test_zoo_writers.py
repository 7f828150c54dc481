"""Every model of the zoo that writes, as a chooser of labels: predictions and explanations equal to a computation by hand."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from tiny import SENTENCES
from writer_by_hand import WriterByHand
from zoo import CAUSAL, SEQ2SEQ

import whence
from whence.data import Example, open_template, words
from whence.data.planted import choices
from whence.data.planted.counterparts import planted_pairs
from whence.explain import METHODS, TokenScores, explain
from whence.models import Causal, Seq2Seq
from whence.run import Runner

LABELS = ("yes", "not", "odd")
"""Of equal length: otherwise the shortest would always win."""
SAID = ((SENTENCES[0], "A cat sat."), ("A dog slept.", "The dog was running on a mat."), ("good", "bad cat"))
PAIRS = [Example(str(i), {"premise": p, "hypothesis": h}, LABELS[i]) for i, (p, h) in enumerate(SAID)]
MODELS = {**{f"{name} seq2seq": (Seq2Seq, build) for name, build in SEQ2SEQ.items()},
          **{f"{name} causal": (Causal, build) for name, build in CAUSAL.items()}}  # fmt: skip
EMBEDDED = {"t5": "encoder.block.0 in", "bart": "model.encoder.layernorm_embedding", "gpt2": "transformer.drop",
            "llama": "model.embed_tokens", "qwen2": "model.embed_tokens"}  # fmt: skip
TEMPLATES = {"Seq2Seq": {"nli.i-o": "", "nli.i-or": " explanation:"}, "Causal": {"prompt.nli": "\n", "prompt.nli-few": "\n"}}
"""Template → what must follow a label."""
CASES = [(name, template) for name, (kind, _) in MODELS.items() for template in TEMPLATES[kind.__name__]]
FEW = {"lime": {"n_samples": 12}, "kernel_shap": {"n_samples": 32}, "integrated_gradients": {"n_steps": 3, "max_steps": 3}}
every_case = pytest.mark.parametrize(("name", "template"), CASES)


@cache
def runner(name: str, template: str) -> Runner:
    kind, build = MODELS[name]
    return Runner(kind(*build(), template, LABELS))


@cache
def by_hand(name: str, template: str, number: int) -> WriterByHand:
    kind, build = MODELS[name]
    return WriterByHand(*build(), open_template(template), PAIRS[number], LABELS, TEMPLATES[kind.__name__][template])


@cache
def explained(name: str, template: str, method: str) -> list[TokenScores]:
    asked = runner(name, template)
    return explain(asked, asked.classifier.encode(PAIRS), METHODS[method], parameters=FEW.get(method))


def embedded(name: str) -> str:
    return EMBEDDED[name.split()[0].split("-")[0]]


def agree(found: TokenScores, truth: np.ndarray) -> None:
    assert np.abs(np.array(found.scores) - truth).max() < 3e-5 + 3e-4 * np.abs(truth).max()


@every_case
def test_probabilities_in_padded_batches(name: str, template: str) -> None:
    asked = runner(name, template)
    for number, result in enumerate(asked.predict(asked.classifier.encode(PAIRS))):
        truth = by_hand(name, template, number).probabilities().detach().numpy()
        assert np.abs(result.probabilities - truth).max() < 2e-5


@every_case
def test_leave_one_out(name: str, template: str) -> None:
    for number, made in enumerate(explained(name, template, "leave_one_out")):
        agree(made, by_hand(name, template, number).leave_one_out(LABELS.index(made.target)))


@every_case
def test_gradients(name: str, template: str) -> None:
    path = embedded(name)
    for number in range(len(PAIRS)):
        target = LABELS.index(explained(name, template, "gradient_l2")[number].target)
        for method, truth in by_hand(name, template, number).gradients(target, path).items():
            agree(explained(name, template, method)[number], truth)


@every_case
def test_integrated_gradients(name: str, template: str) -> None:
    for number, made in enumerate(explained(name, template, "integrated_gradients")):
        steps, goal = int(made.notes["steps"]), LABELS.index(made.target)
        agree(made, by_hand(name, template, number).integrated_gradients(goal, steps, embedded(name)))


@every_case
def test_methods_that_draw(name: str, template: str) -> None:
    for method in ("lime", "kernel_shap", "random"):
        assert all(np.isfinite(made.scores).all() and any(made.scores) for made in explained(name, template, method))


@pytest.mark.parametrize(
    ("name", "template", "follows"),
    [
        ("t5 seq2seq", "cose.i-o", ""),
        ("bart seq2seq", "cose.i-or", " explanation:"),
        ("qwen2-no-pad causal", "prompt.choice", "\n"),
    ],
)
def test_questions_with_choices(name: str, template: str, follows: str) -> None:
    kind, build = MODELS[name]
    model = kind(*build(), template, "ABC")
    examples = choices(0, 3).load("dev", 3)
    encoded = model.encode(examples)
    made = explain(Runner(model), encoded, METHODS["leave_one_out"])
    for example, read, one in zip(examples, encoded, made, strict=True):
        hand = WriterByHand(*build(), open_template(template), example, example.choices, follows)
        agree(one, hand.leave_one_out("ABC".index(one.target)))
        assert one.texts["question"] == example.texts["question"]
        marked = read.example.highlighted_words("question")
        deciding = [word for word, hit in zip(words(example.texts["question"]), marked, strict=True) if hit]
        assert deciding == words(example.texts["question"][slice(*example.highlights[0]["question"][0])])


def test_edits_stay_with_the_example() -> None:
    pair = planted_pairs("scenes").load("dev", 1)[0]
    [encoded] = runner("t5 seq2seq", "nli.i-o").classifier.encode([pair])
    assert encoded.example.edits == pair.edits
    assert encoded.example.meta == pair.meta


@pytest.mark.parametrize(("name", "template"), [("t5 seq2seq", "nli.i-or"), ("gpt2-no-pad causal", "prompt.nli")])
def test_a_small_audit_of_pairs_that_turn_their_label(name: str, template: str, tmp_path: Path) -> None:
    model = whence.load(MODELS[name][1](), candidates=("entailment", "neutral", "contradiction"), template=template)
    methods = ["leave_one_out", "gradient_l2", "random"]
    report = whence.audit(model, planted_pairs("scenes").load("dev", 3), tmp_path, methods=methods, say=lambda _: None)
    told = {(row["method"], row["measure"]): row["value"] for row in report.results["table"]}
    assert {method for method, _ in told} == set(methods)
    assert all(0 <= told[method, "edit"] <= 1 and np.isfinite(told[method, "comprehensiveness"]) for method in methods)
