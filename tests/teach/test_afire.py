"""AFiRe: the penalty against finite differences, the losses against their formulas, turns, divergence, and exact resume."""

from pathlib import Path
from typing import Any

import pytest
import torch
from test_joint import job
from test_text2text import WHY, legs, quiet
from torch import Tensor

import whence.teach.loop as loop
from whence.models.sim import own_distribution
from whence.run import read_json
from whence.teach import run_job
from whence.teach.job import task_for
from whence.teach.objectives import OBJECTIVES, JointStep, TextFacts
from whence.teach.objectives.afire import true_text
from whence.teach.objectives.backward import Backward
from whence.teach.objectives.critic import Critic, gradient_penalty

TINY = {"size": 8, "layers": 1, "warmup": 0, "own_steps": 2, "reward_steps": 1, "learning_rate": 1e-2}
ROWS = [0, 5, 11, 30]


@pytest.fixture(autouse=True)
def _why_has_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    from whence.data.template.known import TEMPLATES

    monkeypatch.setitem(TEMPLATES, "why", WHY)


def begun(name: str, **options: Any) -> tuple[Any, JointStep, Any]:
    """(player, a step, the split that it is of)."""
    torch.manual_seed(0)
    subject = task_for(job(options={"hidden_size": 16}), legs(), legs().load("train"))
    split = subject.prepare(legs().load("train"))
    player = OBJECTIVES[name].build(split.facts, **{**OBJECTIVES[name].options, **TINY, **options})
    subject.model.train()
    return player, split.step(ROWS, frozenset()), split


def made(player: Any, step: JointStep) -> tuple[Tensor, Tensor]:
    with torch.no_grad():
        return player.made(step, player.port.model)


def test_the_gradient_penalty_is_that_of_finite_differences() -> None:
    torch.manual_seed(0)
    weights, mix = torch.randn(5, 4, dtype=torch.double), torch.randn(3, 4, dtype=torch.double)

    def score(texts: Tensor) -> Tensor:
        return (texts @ weights).tanh().mul(mix).sum((1, 2)) ** 2

    true, fake = torch.rand(2, 3, 5, dtype=torch.double), torch.rand(2, 3, 5, dtype=torch.double)
    share, there = torch.rand(2, 1, 1, dtype=torch.double), torch.tensor([[True, True, True], [True, False, False]])
    found = gradient_penalty(score, true, fake, share, there)
    between, expected = share * true + (1 - share) * fake, []
    for b, k in there.nonzero().tolist():
        slope = torch.zeros(5, dtype=torch.double)
        for v in range(5):
            step = torch.zeros_like(between)
            step[b, k, v] = 1e-6
            slope[v] = (score(between + step)[b] - score(between - step)[b]) / 2e-6
        expected.append((slope.norm() - 1) ** 2)
    assert found.item() == pytest.approx(float(torch.stack(expected).mean()), rel=1e-6)


def test_the_critics_own_slopes_through_the_penalty_are_those_of_finite_differences() -> None:
    """It differentiates twice, through attention as well."""
    player, step, _ = begun("critic")
    player.double()
    label, text = (part.double() for part in made(player, step))

    def lost() -> Tensor:
        torch.manual_seed(3)  # the point between true and made is drawn
        return player.loss(step, label, text)[0]

    parameters = [player.words.weight, player.encoder.layers[0].self_attn.in_proj_weight, player.score[0].weight]
    for parameter, slope in zip(parameters, torch.autograd.grad(lost(), parameters), strict=True):
        place = int(slope.abs().argmax())
        value, ends = parameter.detach().clone(), []
        for by in (1e-5, -1e-5):
            with torch.no_grad():
                parameter.copy_(value).view(-1)[place] += by
            ends.append(float(lost()))
        with torch.no_grad():
            parameter.copy_(value)
        assert float(slope.view(-1)[place]) == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-4)


def test_a_critic_learns_to_tell_true_from_made_and_padding_counts_for_nothing() -> None:
    player, step, split = begun("critic", own_steps=1000)
    first = player.loss(step, *made(player, step))[1][0]
    for _ in range(30):
        assert player(step).item() == 0.0
    assert player.loss(step, *made(player, step))[1][0] > first + 0.1
    label, text = true_text(step, made(player, step)[1])
    together = player.scored(step, label, text)
    for place, row in enumerate(ROWS):
        with torch.no_grad():
            alone = split.step([row], frozenset())
            assert torch.allclose(player.scored(alone, *true_text(alone, text))[0], together[place], atol=1e-5)


@pytest.mark.parametrize("name", ["critic", "backward"])
def test_a_player_keeps_its_precision_where_the_model_learns_in_bfloat16(name: str) -> None:
    player, step, _ = begun(name, warmup=0, own_steps=1, reward_steps=1)
    seen: list[torch.dtype] = []
    player.encoder.layers[0].linear1.register_forward_hook(lambda _, __, output: seen.append(output.dtype))
    with torch.autocast("cpu", torch.bfloat16):
        player(step)  # the player learns
        reward = player(step)  # the model is rewarded
    assert set(seen) == {torch.float32}
    assert reward.item() != 0.0
    assert player.report()["rewards"] == player.report()["own_steps"] == 1


def test_a_negative_counts_up_to_the_margin_and_no_further() -> None:
    player, step, _ = begun("backward", margin=0.5, negatives=1.0)
    label, text = made(player, step)
    gold, real = true_text(step, text)
    true, fake, mixed = (player.lost(step, *pair) for pair in ((gold, real), (label, text), (gold, text)))
    most = true.detach() + 0.5
    expected = (true - (torch.minimum(fake, most) + torch.minimum(mixed, most)) / 2).mean()
    assert player.loss(step, label, text)[0].item() == pytest.approx(expected.item(), rel=1e-6)
    # by hand: the mean over the tokens of X of −log p(token | tokens before it)
    with torch.no_grad():
        said, there = player.spoken(step, gold, real)
        ids, size = step.batch.input_ids, int(step.batch.attention_mask[1].sum())
        memory = player.encoder(said[1:2, : int(there[1].sum())])
        lost = 0.0
        for k in range(size):
            before = torch.cat([player.begin[None], player.words(ids[1, :k])])[None]
            state = player.decoder(player.placed(before), memory, tgt_mask=torch.full((k + 1, k + 1), -torch.inf).triu(1))
            lost -= float(player.output(state)[0, -1].log_softmax(-1)[ids[1, k]]) / size
    assert true[1].item() == pytest.approx(lost, rel=1e-4)
    for margin, expected in ((-50.0, true.mean()), (50.0, (true - (fake + mixed) / 2).mean())):
        player.options["margin"] = margin  # all negatives are beyond it, or none is
        slopes = torch.autograd.grad(player.loss(step, label, text)[0], player.output.weight)[0]
        assert torch.allclose(slopes, torch.autograd.grad(expected, player.output.weight, retain_graph=True)[0], atol=1e-6)


@pytest.mark.parametrize("name", ["critic", "backward"])
@pytest.mark.parametrize("hard", [False, True])
def test_rewards_reach_the_model_and_follow_the_finite_difference(name: str, hard: bool) -> None:
    player, _, split = begun(name, own_steps=0, reward_steps=5, straight_through=hard)
    player.double()
    player.port.model.double()
    step = split.step(ROWS, frozenset())
    label, text = player.made(step, player.port.model)
    one_hot = bool(((text.detach() - text.detach().round()).abs().max() < 1e-6) & (label.detach().max(-1).values > 0.999).all())
    assert one_hot is hard
    term = player(step)
    parameter = player.port.model.gate[5].bias
    [slope] = torch.autograd.grad(term, parameter)
    assert float(slope.abs().sum()) > 0
    assert float(term.detach()) == pytest.approx(-float(player.reward(step, label, text).detach()), rel=1e-4)
    if not hard:  # straight-through slopes are not those of the value
        model, ends = player.port.model, []
        for by in (1e-3, -2e-3):
            with torch.no_grad():
                parameter[0] += by
            ends.append(-float(player.reward(step, *player.made(step, model)).detach()))
        assert float(slope[0]) == pytest.approx((ends[0] - ends[1]) / 2e-3, rel=0.02, abs=1e-5)


def test_turns_are_warm_up_then_own_then_reward_then_neither(monkeypatch: pytest.MonkeyPatch) -> None:
    player, step, _ = begun("critic", warmup=3)
    seen: list[str] = []
    monkeypatch.setattr(player, "_learn", lambda _: seen.append("own"))
    monkeypatch.setattr(player, "reward", lambda *_: seen.append("reward") or step.label_logits.sum())
    for _ in range(12):
        before = len(seen)
        player(step)
        if len(seen) == before:
            seen.append("-")
    assert seen == ["-", "-", "-", "own", "own", "reward", "-", "own", "own", "reward", "-", "own"]
    player.port.model.eval()
    assert player(step).item() == 0.0
    assert int(player.counts[0]) == 12, "an evaluation is no step"


def test_a_likelihood_that_falls_back_ends_the_game_and_is_told() -> None:
    player, step, _ = begun("backward", tolerance=0.1)
    for _ in range(3):
        player(step)
    assert player.report()["stopped"] == ""
    worse = JointStep(**{**vars(step), "token_logits": -40 * step.token_logits.detach()})
    for _ in range(40):
        player(worse)
    report = player.report()
    assert report["stopped"] == "the likelihood of the true explanations fell back"
    own = report["own_steps"]
    assert player(step).item() == 0.0
    assert player.report()["own_steps"] == own
    broken, step, _ = begun("critic")
    with torch.no_grad():
        broken.score[4].bias.fill_(float("nan"))
    broken(step)
    assert broken.report()["stopped"] == "a number was not finite"


@pytest.mark.parametrize("name", ["critic", "backward"])
def test_killed_and_continued_ends_the_same_with_its_player(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    class KilledError(Exception):
        pass

    whole = job(options={"hidden_size": 16}, epochs=2, checkpoint_seconds=0.0, batch_size=16)
    whole.settings.objective = {"label_and_text": 1.0, name: 0.1}
    whole.settings.options = {name: {**TINY, "warmup": 2}}
    uninterrupted = run_job(whole, legs(), tmp_path / "whole", quiet)
    report = uninterrupted["history"][-1]["terms"][name]
    assert (report["steps"], report["stopped"]) == (12, "")
    assert report["own_steps"] == 6
    assert report["rewards"] == 2
    saves, real_save = 0, loop.save_checkpoint

    def save_then_die(*args: Any) -> None:
        nonlocal saves
        real_save(*args)
        saves += 1
        if saves == 5:
            raise KilledError

    monkeypatch.setattr(loop, "save_checkpoint", save_then_die)
    with pytest.raises(KilledError):
        run_job(whole, legs(), tmp_path / "killed", quiet)
    monkeypatch.setattr(loop, "save_checkpoint", real_save)
    assert (tmp_path / "killed" / "checkpoint" / f"{name}-optimizer.safetensors").exists()
    torch.manual_seed(999)
    continued = run_job(whole, legs(), tmp_path / "killed", quiet)
    assert continued["history"] == uninterrupted["history"]
    assert continued["test"] == uninterrupted["test"]
    assert read_json(tmp_path / "killed" / "results.json")["notes"] == []


def test_dev_is_judged_by_the_likelihood_alone() -> None:
    _, step, split = begun("critic")
    facts = TextFacts(split.facts.examples, split.facts.pairs, split.facts.port, training=split.facts)
    for name in ("critic", "backward"):
        term = OBJECTIVES[name].build(facts, **OBJECTIVES[name].options)
        assert not isinstance(term, Critic | Backward)
        assert term(step).item() == 0.0
    assert own_distribution(step.label_logits, True).sum(-1).allclose(torch.ones(4))
