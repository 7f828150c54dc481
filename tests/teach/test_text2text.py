"""Text to text: the loss is the formula, padding changes nothing, and training learns and continues exactly."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sacrebleu import sentence_bleu
from torch.nn.functional import log_softmax

import whence.teach.loop as loop
from whence.data import Corpus, Example, Template, open_template
from whence.errors import BadInput
from whence.explain.text import read_rationales
from whence.models import Seq2Seq, load_port
from whence.models.text_models import build_text_model
from whence.run import Request, RunFolder, Runner, read_json
from whence.teach import Job, Settings, default_settings, read_predictions, run_job
from whence.teach.objectives import OBJECTIVES, TextStep
from whence.teach.tasks import Text2Text
from whence.teach.tasks.text_scores import exact_match, rationale_bleu
from whence.teach.tasks.written import written_by

WHY = Template("why", "animal: {text}", "{label} explanation: {rationale}")
LEGS = {"cat": "four", "dog": "four", "hen": "two", "owl": "two", "ant": "six", "bee": "six"}


def legs(count: int = 96) -> Corpus:
    """How many legs; the reason names the animal, which stands somewhere in the text."""

    def rows(split: str) -> Iterator[Example]:
        draw = np.random.default_rng(["train", "dev", "test"].index(split))
        for i in range(count if split == "train" else 12):
            animal = sorted(LEGS)[i % len(LEGS)]
            words = [animal, *draw.choice(["the", "big", "old", "red"], size=draw.integers(0, 4))]
            draw.shuffle(words)
            why = (f"A {animal} has {LEGS[animal]} legs.", f"{LEGS[animal]} legs")
            yield Example(f"{split}{i}", {"text": " ".join(words)}, LEGS[animal], explanations=why)

    splits = {split: (lambda split=split: rows(split)) for split in ("train", "dev", "test")}
    return Corpus("legs", "text", ("two", "four", "six"), splits)


def task(name: str = "small_t5", template: Template = WHY, generated: int | None = None) -> Text2Text:
    examples = legs().load("train")
    texts = [text for e in examples for text in (template.render(e).text, template.render_target(e))]
    torch.manual_seed(0)
    model, tokenizer = build_text_model(name, texts, {"hidden_size": 16, "layers": 1})
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.1)
    return Text2Text(model.eval(), tokenizer, template, legs().labels, generated)


@pytest.mark.parametrize("name", ["small_t5", "small_gpt2"])
def test_padding_changes_no_logit(name: str) -> None:
    """Against one text at a time, given to the model as its own forward pass expects it."""
    subject = task(name)
    split = subject.prepare(legs().load("train"))
    rows = [0, 5, 11, 30]
    with torch.no_grad():
        step = split.step(rows, frozenset())
        assert len(set(step.targets.ge(0).sum(1).tolist())) == 1 or step.targets.min() == -100
        for place, row in enumerate(rows):
            pair = split.facts.pairs[row]
            size = len(pair.target)
            if name == "small_t5":
                alone = subject.model(input_ids=pair.source[None], labels=pair.target[None]).logits[0]
            else:
                alone = subject.model(input_ids=torch.cat([pair.source, pair.target])[None]).logits[
                    0, len(pair.source) - 1 : -1
                ]
            torch.testing.assert_close(step.token_logits[place, :size], alone, atol=1e-5, rtol=1e-5)


def test_targets_end_and_label_tokens_are_those_of_the_label() -> None:
    subject = task()
    split = subject.prepare(legs().load("train"))
    for example, pair in zip(split.facts.examples, split.facts.pairs, strict=True):
        said = subject.port.tokenizer.decode(pair.target[pair.label])
        assert said == example.label
        assert pair.target[-1] == subject.port.tokenizer.eos_token_id
        assert subject.port.tokenizer.decode(pair.target[:-1]) == WHY.render_target(example)
    silent = Template("none", "animal: {text}", "None explanation: {rationale}")
    assert not any(pair.label.any() for pair in task(template=silent).prepare(legs().load("dev")).facts.pairs)


@pytest.mark.parametrize(("weight", "smoothing"), [(1.0, 0.0), (3.0, 0.0), (3.0, 0.1), (0.0, 0.2)])
def test_the_loss_is_the_formula(weight: float, smoothing: float) -> None:
    torch.manual_seed(1)
    targets = torch.tensor([[3, 1, 4, -100], [2, 0, -100, -100]])
    label = torch.tensor([[True, False, False, False], [True, True, False, False]])
    logits = torch.randn(2, 4, 6)
    term = OBJECTIVES["token_cross_entropy"].build(None, label_weight=weight, label_smoothing=smoothing)
    found = term(TextStep([0, 1], targets, label, logits))
    above, below = 0.0, 0.0
    for i in range(2):
        for k in range(4):
            if targets[i, k] >= 0:
                w = weight if label[i, k] else 1.0
                logp = log_softmax(logits[i, k].double(), -1)
                above += w * -((1 - smoothing) * logp[targets[i, k]] + smoothing * logp.mean()).item()
                below += w
    assert found.item() == pytest.approx(above / below, rel=1e-5)


def test_the_plain_loss_is_that_of_the_model_itself() -> None:
    subject = task()
    split = subject.prepare(legs().load("train"))
    rows = [0, 1, 2, 3]
    step = split.step(rows, frozenset())
    term = OBJECTIVES["token_cross_entropy"].build(split.facts, label_weight=1.0, label_smoothing=0.0)
    texts = [WHY.render(split.facts.examples[i]).text for i in rows]
    sources = subject.port.tokenizer(texts, padding=True, return_tensors="pt")
    expected = subject.model(**sources, labels=step.targets).loss
    assert term(step).item() == pytest.approx(expected.item(), rel=1e-5)


@pytest.mark.parametrize("name", ["small_t5", "small_gpt2"])
def test_writing_in_batches_is_writing_one_at_a_time(name: str) -> None:
    subject = task(name)
    facts = subject.prepare(legs().load("train")[:8]).facts
    together = written_by(subject.port, facts.examples, facts.pairs)
    alone = [written_by(subject.port, [e], [pair])[0] for e, pair in zip(facts.examples, facts.pairs, strict=True)]
    assert together == alone
    assert len(set(together)) > 1


def test_scores() -> None:
    assert exact_match([("A  cat.", "a cat."), ("a cat", "a cat.")]) == 0.5
    one = "A woman is a person and so is a man."
    assert rationale_bleu([(one.upper(), [one])]) == pytest.approx(100)
    assert rationale_bleu([(None, [one])]) == 0
    # the second reference counts, a third does not; of one sentence the corpus' BLEU is the sentence's
    written, others = (
        "the dog sleeps on the old red mat",
        ["a bird", "the dog sleeps on a red mat", "the dog sleeps on the old red mat"],
    )
    found = rationale_bleu([(written, others)])
    assert found == pytest.approx(sentence_bleu(written, others[:2], smooth_method="exp").score)
    assert 0 < found < 100
    assert rationale_bleu([(written, others[:1]), (one, [one, one])]) > 0  # not all have as many references


def legs_job(model: str = "small_t5", template: str = "why", **settings: Any) -> Job:
    given = default_settings(model) | {"epochs": 30, "patience": 30, "batch_size": 8, "learning_rate": 5e-3} | settings
    options = {"hidden_size": 32, "layers": 1 if model == "small_t5" else 2}
    return Job(task="text2text", template=template, data="legs", model=model, options=options, settings=Settings(**given))


@pytest.fixture(autouse=True)
def _why_has_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    from whence.data.template.known import TEMPLATES

    monkeypatch.setitem(TEMPLATES, "why", WHY)


def quiet(_: str) -> None:
    return None


@pytest.mark.parametrize("model", ["small_t5", "small_gpt2"])
def test_learns_label_and_reason(tmp_path: Path, model: str) -> None:
    results = run_job(legs_job(model), legs(), tmp_path / "run", quiet)
    assert results["test"]["accuracy"] == 1.0
    assert results["test"]["exact_match"] == 1.0
    assert results["test"]["bleu"] == pytest.approx(100)
    rows = read_predictions(tmp_path / "run", "test")
    assert {row["output"] for row in rows} == {f"{n} explanation: A {a} has {n} legs." for a, n in LEGS.items()}
    # opened again, it chooses labels and writes as it did
    port = load_port(tmp_path / "run", candidates=legs().labels, template="why")
    examples = legs().load("test")
    encoded = port.encode(examples)
    assert [port.labels[r.label] for r in Runner(port).run([Request(e) for e in encoded])] == [e.label for e in examples]
    written = [r.written.text for r in Runner(port).run([Request(e, write=30) for e in encoded]) if r.written]
    assert written == [row["output"] for row in rows]


@pytest.mark.parametrize("kill_at", [2, 13])
def test_killed_and_continued_ends_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kill_at: int) -> None:
    class KilledError(Exception):
        pass

    whole = legs_job(epochs=3, checkpoint_seconds=0.0, decoder_learning_rate=1e-2)
    whole.options["dropout"] = 0.2
    uninterrupted = run_job(whole, legs(), tmp_path / "whole", quiet)
    saves, real_save = 0, loop.save_checkpoint

    def save_then_die(*args: Any) -> None:
        nonlocal saves
        real_save(*args)
        saves += 1
        if saves == kill_at:
            raise KilledError

    monkeypatch.setattr(loop, "save_checkpoint", save_then_die)
    with pytest.raises(KilledError):
        run_job(whole, legs(), tmp_path / "killed", quiet)
    monkeypatch.setattr(loop, "save_checkpoint", real_save)
    torch.manual_seed(999)
    continued = run_job(whole, legs(), tmp_path / "killed", quiet)
    assert continued["history"] == uninterrupted["history"]
    assert continued["test"] == uninterrupted["test"]


def test_the_decoder_may_learn_faster() -> None:
    subject = task()
    slow, fast = subject.groups(Settings(learning_rate=1e-4, decoder_learning_rate=5e-4))
    assert (slow["lr"], fast["lr"]) == (1e-4, 5e-4)
    encoder = {id(p) for p in subject.model.get_encoder().parameters()}
    assert {id(p) for p in slow["params"]} == encoder
    assert {id(p) for p in (*slow["params"], *fast["params"])} == {id(p) for p in subject.model.parameters()}
    with pytest.raises(BadInput, match="GPT2LMHeadModel has no encoder"):
        task("small_gpt2").groups(Settings(decoder_learning_rate=1e-3))


def test_selection_and_how_many_are_written(tmp_path: Path) -> None:
    results = run_job(legs_job(epochs=3, select="bleu", generated=5), legs(), tmp_path / "run", quiet)
    assert results["dev"]["bleu"] == max(epoch["dev"]["bleu"] for epoch in results["history"])
    assert (results["test"]["written"], results["test"]["examples"]) == (5, 12)
    assert len(read_predictions(tmp_path / "run", "test")) == 5
    settings = read_json(tmp_path / "run" / "config.json")["settings"]
    assert settings["objective"] == {"token_cross_entropy": 1.0}


def test_questions_with_choices(tmp_path: Path) -> None:
    rows = [
        Example(
            str(i), {"question": f"Who has {n} legs?"}, "AB"[i % 2], ("cat", "hen") if i % 2 == (n == "two") else ("hen", "cat")
        )
        for i, n in enumerate(["two", "four", "four", "two"] * 6)
    ]
    corpus = Corpus("asked", "choice", ("A", "B"), dict.fromkeys(("train", "dev"), lambda: iter(rows)))
    results = run_job(legs_job(template="choice", epochs=1), corpus, tmp_path / "run", quiet)
    assert set(results["dev"]) >= {"accuracy", "exact_match", "loss"}
    assert "bleu" not in results["dev"]
    assert {row["label"] for row in read_predictions(tmp_path / "run", "dev")} == {"cat", "hen"}


def test_examples_without_an_explanation_are_left_out_and_counted(tmp_path: Path) -> None:
    whole = legs()
    silent = [replace(e, explanations=()) if i == 3 else e for i, e in enumerate(whole.load("train"))]
    mute = [replace(e, explanations=()) for e in whole.load("test")]
    corpus = replace(whole, splits={**whole.splits, "train": lambda: iter(silent), "test": lambda: iter(mute)})
    results = run_job(legs_job(epochs=1), corpus, tmp_path / "run", quiet)
    assert results["train_examples"] == 95
    assert "test" not in results
    assert results["notes"] == [
        "1 of 96 examples of train have no explanation and are left out",
        "12 of 12 examples of test have no explanation and are left out",
    ]
    none = replace(whole, splits={**whole.splits, "train": lambda: iter(mute)})
    with pytest.raises(BadInput, match="no example of train has an explanation, which template 'why' needs"):
        run_job(legs_job(epochs=1), none, tmp_path / "none", quiet)


def test_bad_input(tmp_path: Path) -> None:
    def run(**changes: Any) -> None:
        run_job(legs_job().model_copy(update=changes), legs(), tmp_path / "run", quiet)

    with pytest.raises(BadInput, match="unknown task 'translate': expected one of classification, joint, text2text"):
        run(task="translate")
    with pytest.raises(BadInput, match="text2text needs a template"):
        run(template=None)
    with pytest.raises(BadInput, match="unknown template 'whi'"):
        run(template="whi")
    with pytest.raises(BadInput, match="go with classifiers"):
        run(guide="uniform")
    with pytest.raises(BadInput, match="expected --task text2text"):
        run(task="classification")
    with pytest.raises(BadInput, match="needs the field 'hypothesis'"):
        run(template="nli.i-or")
    with pytest.raises(BadInput, match="objective 'saloss' reads attention"):
        run(settings=Settings(objective={"saloss": 1.0}))
    assert open_template("why") is WHY


def test_a_reader_follows_the_rationale_that_it_is_given(tmp_path: Path) -> None:
    """R→O learned from people's rationales says what another rationale says, and several together say what each says alone."""
    reads = Template("reads", "legs: {rationale}", "{label}")
    subject = task(template=reads)
    settings = Settings(**default_settings("small_t5") | {"epochs": 12, "batch_size": 8, "learning_rate": 1e-2, "patience": 12})
    with RunFolder(tmp_path / "run", {}, quiet) as folder:
        loop.train(subject, legs().load("train"), legs().load("dev"), settings, folder.path, quiet)
    reader = Seq2Seq(subject.model, subject.port.tokenizer, reads, legs().labels)
    examples = legs().load("test")
    own = read_rationales(reader, examples)
    assert own == [example.label for example in examples]
    others = [example.explanations[0] for example in (*examples[2:], *examples[:2])]
    swapped = read_rationales(reader, examples, others)
    assert swapped == [*own[2:], *own[:2]]
    assert swapped != own
    assert [read_rationales(reader, [e], [r])[0] for e, r in zip(examples, others, strict=True)] == swapped
