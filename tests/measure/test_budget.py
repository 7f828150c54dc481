"""What fits into a time: the choice is a function of measured speed alone, it stays when a run continues, and it is said."""

import json
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest
import torch
from tiny import texts, tiny_bert

import whence
from whence.api import audits
from whence.api.inputs import check_budget
from whence.data import Example
from whence.errors import BadInput
from whence.measure import audit_plan
from whence.measure.audit_budget import LEVELS, Budget, fit_budget, fitting_choice, merged
from whence.measure.audited import Audit
from whence.models import Classifier

METHODS = ["lime", "integrated_gradients"]


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Examples that stand for all."""
    monkeypatch.setattr(audit_plan, "SAMPLED", 4)


@pytest.fixture(scope="module")
def bert() -> Classifier:
    torch.manual_seed(0)
    return tiny_bert()


def films(n: int) -> list[Example]:
    some = texts()
    return [Example(str(i), some[i % len(some)].texts, some[i % len(some)].label) for i in range(n)]


def job(n: int, **more: dict[str, dict[str, int]]) -> Audit:
    return Audit("m", "d", "test", films(n), METHODS, ["sufficiency"], **more)  # type: ignore[arg-type]


def ticking(seconds: float) -> Callable[[], tuple[float, float]]:
    """A clock that moves by as much each time it is looked at: a machine whose speed is known."""
    times = count()
    return lambda: (seconds * next(times),) * 2


def test_the_order_in_which_things_are_given_up() -> None:
    """An example at level L takes L milliseconds; what fits is by hand."""
    costs = {level: level / 1000 for level in LEVELS}

    def choice(total: int, seconds: float) -> tuple[int, int]:
        return fitting_choice(costs, total, seconds, lambda n, cost: n * cost)

    assert choice(1000, 1e9) == (1024, 1000), "more than enough"
    assert choice(1000, 600) == (512, 1000)
    assert choice(1000, 256) == (256, 1000)
    assert choice(1000, 255.9) == (256, 999), "fewer examples before fewer samples"
    assert choice(1000, 25.6) == (256, 100)
    assert choice(1000, 25.5) == (128, 199), "fewer samples before fewer than a hundred examples"
    assert choice(1000, 3.2) == (32, 100)
    assert choice(1000, 1) == (32, 31)
    assert choice(1000, 0.3) == (32, 0), "nine examples are no audit"
    assert choice(50, 6.4) == (128, 50), "a small corpus is enough as a whole"
    assert choice(4, 0.13) == (32, 4)
    assert fitting_choice({256: 1.0}, 1000, 40, lambda n, cost: n * cost) == (256, 40), "no method that samples"


def test_the_same_speed_gives_the_same_choice(bert: Classifier) -> None:
    found = [fit_budget(job(300), bert, 60, ticking(0.01), 0.05) for _ in range(2)]
    assert found[0] == found[1]
    slower = fit_budget(job(300), bert, 60, ticking(1.0), 20)
    assert (slower.examples, slower.parameters) != (found[0].examples, found[0].parameters)
    assert slower.planned <= 0.8 * 60
    generous = fit_budget(job(300), bert, 1e6, ticking(0.01), 0.05)
    assert generous.examples == 300
    assert generous.parameters == {"lime": {"n_samples": 1024}}
    with pytest.raises(BadInput, match=r"a budget of 1 s: even 10 examples take about .*; expected at least .*, or fewer"):
        fit_budget(job(300), bert, 1, ticking(10.0), 0.5)


def test_what_was_set_by_hand_stays(bert: Classifier) -> None:
    given = {"lime": {"n_samples": 77}, "integrated_gradients": {"max_steps": 60}}
    found = fit_budget(job(300, parameters=given), bert, 60, ticking(1.0), 20)
    assert found.parameters == {}
    assert found.examples < 300
    assert merged(given, {"lime": {"width": 1}}) == {**given, "lime": {"n_samples": 77, "width": 1}}


def test_a_run_that_continues_keeps_its_choice(tmp_path: Path, bert: Classifier, monkeypatch: pytest.MonkeyPatch) -> None:
    picked = Budget(60.0, 41.5, 5, 12, {"lime": {"n_samples": 32}, "integrated_gradients": {"max_steps": 20}})
    calls: list[float] = []

    def fit(asked: Audit, classifier: Classifier, seconds: float) -> Budget:
        calls.append(seconds)
        return picked

    monkeypatch.setattr(audits, "fit_budget", fit)
    said: list[str] = []
    data, out = films(12), tmp_path / "run"
    report = whence.audit(bert, data, out, methods=METHODS, measures=["sufficiency"], budget="1m", say=said.append)
    config = json.loads((out / "config.json").read_text())
    assert config["budget"] == picked.to_dict()
    assert config["methods"]["lime"]["n_samples"] == 32
    assert report.results["audit"]["examples"] == 5
    assert picked.note in said
    assert picked.note in report.results["notes"]
    assert "5 of 12 examples" in picked.note
    assert "lime.n_samples = 32" in (out / "report.html").read_text()
    (out / "results.json").unlink()
    again = whence.audit(bert, data, out, methods=METHODS, measures=["sufficiency"], budget=60, say=said.append)
    assert again.results == report.results
    assert calls == [60.0], "measured once"
    with pytest.raises(BadInput, match="holds another run: 'budget' is"):
        whence.audit(bert, data, out, methods=METHODS, measures=["sufficiency"], say=said.append)


@pytest.mark.parametrize(
    "wrong", ["", "30", "m", "30 minutes", "-5m", "1e9h", "nanm", "0s", 0, -1, float("inf"), True, [], "９m"]
)
def test_a_budget_that_is_none_is_one_line(wrong: object) -> None:
    with pytest.raises(BadInput, match=r"budget is .*; expected a number with its unit, such as 90s, 30m or 1\.5h"):
        check_budget(wrong)


def test_budgets() -> None:
    assert [check_budget(given) for given in ("90s", "30m", "1.5h", " 2 h ", 7.5)] == [90, 1800, 5400, 7200, 7.5]


def test_where_nothing_can_be_measured_a_budget_is_refused(tmp_path: Path, bert: Classifier) -> None:
    with pytest.raises(BadInput, match="a budget with engine 'ray'"):
        whence.audit(bert, films(2), tmp_path / "run", budget="1m", engine="ray")
