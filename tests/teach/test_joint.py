"""Label and explanation learned together: the loss is the formula, it learns, a seed gives the same run, and it resumes."""

from pathlib import Path
from typing import Any

import pytest
import torch
from test_text2text import LEGS, WHY, legs, quiet
from torch.nn.functional import log_softmax
from typer.testing import CliRunner

import whence.teach.loop as loop
from whence.cli import app
from whence.data import Corpus, Example, open_template
from whence.errors import BadInput
from whence.models import UNCHANGED, SimPort, load_port
from whence.models.sim_build import build_joint
from whence.run import Request, Runner, read_json
from whence.teach import Job, Settings, default_settings, read_predictions, run_job
from whence.teach.job import task_for
from whence.teach.objectives import OBJECTIVES, JointStep


@pytest.fixture(autouse=True)
def _why_has_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    from whence.data.template.known import TEMPLATES

    monkeypatch.setitem(TEMPLATES, "why", WHY)


def job(template: str = "why", options: dict[str, Any] | None = None, **settings: Any) -> Job:
    given = default_settings("sim") | {"epochs": 25, "patience": 30, "batch_size": 8, "learning_rate": 5e-3} | settings
    shape = {"hidden_size": 32, "layers": 1} | (options or {})
    return Job(task="joint", template=template, data="legs", model="sim", options=shape, settings=Settings(**given))


def test_the_loss_is_the_formula() -> None:
    torch.manual_seed(1)
    targets = torch.tensor([[3, 1, 4, -100], [2, 0, -100, -100]])
    logits, states, final, gold = torch.randn(2, 4, 6), torch.randn(2, 5, 3), torch.randn(2, 3), torch.tensor([2, 0])
    guess = torch.randn(2, 3)
    term = OBJECTIVES["label_and_text"].build(
        None, label_weight=0.7, first_label_weight=0.2, every_label_weight=0.3, label_smoothing=0.1
    )
    no_label = torch.zeros(2, 4, dtype=torch.bool)
    step = JointStep([0, 1], targets, no_label, logits, states, guess, final, gold, None, torch.zeros(1))
    tokens = [(i, k) for i in range(2) for k in range(4) if targets[i, k] >= 0]
    lost = 0.0
    for i, k in tokens:
        logp = log_softmax(logits[i, k].double(), -1)
        lost -= (0.9 * logp[targets[i, k]] + 0.1 * logp.mean()).item() / len(tokens)
    for i in range(2):
        lost -= (0.7 * log_softmax(final[i], -1)[gold[i]] + 0.2 * log_softmax(guess[i], -1)[gold[i]]).item() / 2
    reached = [(i, k) for i, length in enumerate((3, 2)) for k in range(length + 1)]
    lost -= 0.3 * sum(log_softmax(states[i, k], -1)[gold[i]].item() for i, k in reached) / len(reached)
    assert term(step).item() == pytest.approx(lost, rel=1e-5)


def test_a_step_is_the_rationale_alone_and_the_label_after_its_end() -> None:
    task = task_for(job(), legs(), legs().load("train"))
    task.model.eval()
    split = task.prepare(legs().load("train"))
    rows = [0, 5, 11, 30]
    with torch.no_grad():
        step = split.step(rows, frozenset())
    for place, row in enumerate(rows):
        pair, example = split.facts.pairs[row], split.facts.examples[row]
        assert task.port.tokenizer.decode(pair.target[:-1]) == example.explanations[0]
        assert pair.target[-1] == task.port.tokenizer.eos_token_id
        assert legs().labels[step.labels[place]] == example.label
        [alone] = task.port.evolution([pair.encoded], [pair.target[:-1].tolist()])
        assert torch.allclose(step.label_logits[place].softmax(-1), torch.from_numpy(alone[-1]), atol=1e-5)


@pytest.mark.parametrize("fusion", [(True, True), (False, False)])
def test_learns_label_and_reason(tmp_path: Path, fusion: tuple[bool, bool]) -> None:
    options = {"label_to_text": fusion[0], "text_to_label": fusion[1]}
    results = run_job(job(options=options), legs(), tmp_path / "run", quiet)
    assert results["test"]["accuracy"] == 1.0
    assert results["test"]["exact_match"] == 1.0
    assert results["test"]["bleu"] == pytest.approx(100)
    rows = read_predictions(tmp_path / "run", "test")
    assert {row["output"] for row in rows} == {f"{n} explanation: A {a} has {n} legs." for a, n in LEGS.items()}
    port = load_port(tmp_path / "run")  # the template is in the folder
    assert isinstance(port, SimPort)
    encoded = port.encode(legs().load("test"))
    written = [r.written.text for r in Runner(port).run([Request(e, write=30) for e in encoded]) if r.written]
    assert written == [row["output"] for row in rows]


def test_questions_with_choices_are_decided_by_what_the_choices_say(tmp_path: Path) -> None:
    def rows(train: bool) -> list[Example]:
        kinds = [("two", "hen"), ("four", "cat"), ("six", "bee")]
        found = []
        for i in range(48 if train else 12):
            n, right = kinds[i % 3]
            wrong = kinds[(i + 1 + i // 3 % 2) % 3][1]
            place = i // 6 % 2
            why = (f"A {right} has {n} legs.",)
            found.append(Example(str(i), {"question": f"Who has {n} legs?"}, "AB"[place], (right, wrong)[:: 1 - 2 * place],
                                 explanations=why))  # fmt: skip
        return found

    corpus = Corpus("asked", "choice", ("A", "B"), {s: (lambda s=s: iter(rows(s == "train"))) for s in ("train", "dev")})
    results = run_job(job("cose.i-or", epochs=30), corpus, tmp_path / "run", quiet)
    assert results["dev"]["accuracy"] == 1.0
    assert results["dev"]["exact_match"] == 1.0
    assert {row["predicted"] for row in read_predictions(tmp_path / "run", "dev")} == {"hen", "cat", "bee"}


def test_killed_and_continued_ends_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class KilledError(Exception):
        pass

    # with dropout, and with batches that are fed their own words: both draw at random. Killed while nothing is fused yet
    whole = job(options={"dropout": 0.2, "own_words": 0.5, "early_steps": 16}, epochs=2, checkpoint_seconds=0.0)
    uninterrupted = run_job(whole, legs(), tmp_path / "whole", quiet)
    assert run_job(whole, legs(), tmp_path / "again", quiet)["history"] == uninterrupted["history"]
    saves, real_save = 0, loop.save_checkpoint

    def save_then_die(*args: Any) -> None:
        nonlocal saves
        real_save(*args)
        saves += 1
        if saves == 13:
            raise KilledError

    monkeypatch.setattr(loop, "save_checkpoint", save_then_die)
    with pytest.raises(KilledError):
        run_job(whole, legs(), tmp_path / "killed", quiet)
    monkeypatch.setattr(loop, "save_checkpoint", real_save)
    torch.manual_seed(999)
    continued = run_job(whole, legs(), tmp_path / "killed", quiet)
    assert continued["history"] == uninterrupted["history"]
    assert continued["test"] == uninterrupted["test"]


def test_from_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whence.api.work.open_corpus", lambda *_: legs())
    given = ["train", "--task", "joint", "--model", "sim", "--template", "why", "--data", "legs"]
    given += ["--epochs", "1", "--option", "hidden_size=16", "--option", "layers=1", "--option", "text_to_label=false"]
    done = CliRunner().invoke(app, [*given, "--out", str(tmp_path / "run")])
    assert done.exit_code == 0, done.output
    config = read_json(tmp_path / "run" / "model" / "config.json")
    assert config["text_to_label"] is False
    assert config["base"]["d_model"] == 16
    assert config["id2label"] == {"0": "two", "1": "four", "2": "six"}


def pairs() -> Corpus:
    """A hypothesis follows from its premise where both name the same animal; the reason says so."""

    def rows(split: str) -> list[Example]:
        names, found = sorted(LEGS), []
        for i in range(72 if split == "train" else 12):
            one, other = names[i % 6], names[(i + (i // 6) % 2 * (1 + i % 5)) % 6]
            label = "entailment" if one == other else "contradiction"
            why = f"{one} is {other}." if one == other else f"{one} is not {other}."
            texts = {"premise": f"a {one} sat", "hypothesis": f"a {other}"}
            found.append(Example(f"{split}{i}", texts, label, explanations=(why,)))
        return found

    splits = {split: (lambda split=split: iter(rows(split))) for split in ("train", "dev", "test")}
    return Corpus("animals", "pair", ("entailment", "contradiction"), splits)


def test_infersent_knows_its_label_first_and_reads_each_sentence_on_its_own(tmp_path: Path) -> None:
    shape = {"hidden_size": 16, "embedding_dim": 16, "decoder_size": 32, "classifier_size": 16}
    asked = Job(
        task="joint", template="nli.i-or", data="animals", model="infersent", options=shape,
        settings=Settings(epochs=40, patience=40, batch_size=12, learning_rate=1e-2),
    )  # fmt: skip
    results = run_job(asked, pairs(), tmp_path / "run", quiet)
    assert results["test"]["accuracy"] == 1.0
    assert results["test"]["exact_match"] >= 0.9
    port = load_port(tmp_path / "run")
    assert isinstance(port, SimPort)
    encoded = port.encode(pairs().load("test"))
    [written, *_] = port.generate(encoded[:1], [UNCHANGED], 9)
    assert len(set(written.evolution)) == 1, "the label does not change while it explains"
    # a sentence vector by hand: torch's own LSTM over the premise's words alone
    model, item = port.model, encoded[0]
    batch = port._collate(encoded[:3], [UNCHANGED] * 3, [])
    with torch.no_grad():
        words = model.words(torch.from_numpy(item.ids[item.field == item.fields.index("premise")])[None])
        u = model.sentence.lstm(words)[0].max(1).values[0]
        features = model.begin(model.words(batch.input_ids), batch.attention_mask, batch.places).choices
    assert torch.allclose(features[0, : len(u)], u, atol=1e-5)
    assert {"gradient", "noise", "token_gradients"} <= port.honours
    with pytest.raises(BadInput, match="compares a premise with a hypothesis"):
        run_job(asked.model_copy(update={"template": "why"}), legs(), tmp_path / "legs", quiet)


def test_bad_input(tmp_path: Path) -> None:
    def run(**changes: Any) -> None:
        run_job(job().model_copy(update=changes), legs(), tmp_path / "run", quiet)

    with pytest.raises(BadInput, match="joint needs a template"):
        run(template=None)
    with pytest.raises(BadInput, match="expected --task joint with --model sim or infersent"):
        run(model="small_t5")
    with pytest.raises(BadInput, match="expected --task joint with --model sim"):
        run(task="text2text")
    with pytest.raises(BadInput, match="has no encoder; expected an encoder–decoder"):
        run(options={"base": "small_gpt2"})
    with pytest.raises(BadInput, match="'label_heads' is for fixed labels"):
        build_joint("sim", ["a b"], ("A", "B"), True, open_template("cose.i-or"), {"label_heads": 2})
    with pytest.raises(BadInput, match=r"own_words' is 1\.5; expected a share"):
        run(options={"own_words": 1.5})
    with pytest.raises(BadInput, match="objective 'cross_entropy' reads logits"):
        run(settings=Settings(objective={"cross_entropy": 1.0}))


def test_an_epoch_in_which_nothing_was_fused_is_never_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dev speaks for the early epochs here, and patience is shorter than they are; the kept one is the best of those after."""
    losses = iter([0.1, 0.2, 0.3, 0.9, 0.8, 0.85])
    monkeypatch.setattr(loop, "mean_loss", lambda *_: next(losses))
    batches = len(legs().load("train")) // 8
    asked = job(options={"early_steps": 3 * batches}, epochs=6, patience=1)
    results = run_job(asked, legs(), tmp_path / "run", quiet)
    assert results["best_epoch"] == 5
    assert results["dev"]["loss"] == 0.8
    never = job(options={"early_steps": 6 * batches}, epochs=6)
    with pytest.raises(BadInput, match=f"{6 * batches} batches of training end before any model that could be kept"):
        run_job(never, legs(), tmp_path / "never", quiet)
