"""Collapse, distance and coupling where they are known by hand."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from tiny import SENTENCES
from zoo import SEQ2SEQ

from whence.data import Example
from whence.errors import BadInput
from whence.explain.text import Rationale, write_rationales
from whence.measure.robustness import collapse_place, coupling, robustness, word_f1, written_under_noise
from whence.models import Seq2Seq
from whence.run import Runner

GRID = (0.0, 1.0, 2.0, 3.0, 4.0)


def said(i: int, noise: float, label: str, text: str) -> Rationale:
    return Rationale(str(i), {}, label, text, (), (), (), (), True, noise=noise)


def outputs(breaks: tuple[float, float], joint: bool, examples: int = 40, draws: int = 4) -> list[list[list[Rationale]]]:
    """Labels and rationales break with a chance that rises from 0 to 1 around `breaks`; in the joint kind on the same draws."""
    draw = np.random.default_rng(0)
    found = []
    for variance in GRID:
        by_draw = []
        for _ in range(draws):
            row = []
            for i in range(examples):
                chances = [np.clip(variance - at + 0.5, 0, 1) for at in breaks]
                luck = [draw.random()] * 2 if joint else draw.random(2).tolist()
                label = "xy"[i % 2] if luck[0] >= chances[0] else "z"
                row.append(said(i, variance, label, f"word{i}" if luck[1] >= chances[1] else "noise"))
            by_draw.append(row)
        found.append(by_draw)
    return found


def test_half_way_to_the_floor_by_hand() -> None:
    curves = np.array([[1.0, 1.0, 0.5, 0.2], [1.0, 0.9, 0.8, 0.7], [1.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0]])
    # half-way is 0.6, between 1.0 and 0.5 at 0.8 of a step; never; 0.5, as the curve goes below chance; a curve at its floor
    np.testing.assert_allclose(collapse_place(curves, np.array([0.2, 0.2, 0.2, 1.0])), [1.8, np.nan, 0.5, np.nan])


def test_words_in_common() -> None:
    assert word_f1("A dog is an animal", "a dog is not an animal") == pytest.approx(2 * 5 / 11)
    assert (word_f1("", ""), word_f1("a", ""), word_f1("a a b", "a")) == (1, 0, 0.5)


def test_coupling_is_the_correlation_within_cells() -> None:
    draw = np.random.default_rng(0)
    stable = (draw.random((2, 4, 30)) < 0.5).astype(float)
    value, p = coupling(stable, stable)
    assert (value, p) == (pytest.approx(1), pytest.approx(1 / 2001))
    level = np.repeat(draw.random((2, 1, 30)), 4, axis=1)  # examples differ, draws do not: nothing to couple
    assert coupling(stable, level) == (0, 1)
    other = draw.random((2, 4, 30))
    value, p = coupling(stable, other)
    centred = [(v - v.mean(1, keepdims=True)).ravel() for v in (stable, other)]
    assert value == pytest.approx(np.corrcoef(*centred)[0, 1])
    assert p > 0.05


def test_one_model_fails_together() -> None:
    found = robustness(outputs((2, 2), joint=True))
    assert found.verdict == "together"
    assert abs(found.distance.value) < 0.1
    assert found.coupling > 0.9
    assert "fail together" in found.told()


def test_two_networks_of_one_kind_are_told_apart_though_they_collapse_at_the_same_noise() -> None:
    found = robustness(outputs((2, 2), joint=False))
    assert abs(found.steps.value) <= 1
    assert found.verdict == "apart"


def test_next_to_no_coupling_is_none_however_small_its_p() -> None:
    """Of twenty pairs of independent networks one has p < 0.05; a control of the study had 0.08 (0.01 to 0.16), p = 0.04."""
    found = replace(robustness(outputs((2, 2), joint=False)), coupling=0.08, p=0.04, coupling_interval=(0.01, 0.16))
    assert found.verdict == "apart"
    assert "are not seen to break both" in found.told()
    assert replace(found, coupling=0.5, coupling_interval=(0.4, 0.6)).verdict == "together"


def test_few_examples_leave_it_undecided() -> None:
    few = [[row[:3] for row in draws[:2]] for draws in outputs((2, 2), joint=False)]
    found = robustness(few)
    assert found.verdict == "undecided"
    assert "is undecided" in found.told()


def test_where_the_first_level_breaks_everything_nothing_is_known_of_coupling() -> None:
    found = robustness([draws[:2] for draws in outputs((0.5, 0.5), joint=True)])
    assert found.label_collapse is not None
    assert found.coupling_interval == (-1, 1)
    assert found.verdict == "undecided"


def test_the_interval_of_the_coupling_is_a_bootstrap_of_the_correlation() -> None:
    for joint in (True, False):
        found = robustness(outputs((2, 2), joint=joint))
        low, high = found.coupling_interval
        assert low <= found.coupling <= high
        draw = np.random.default_rng(3)
        again = []
        for _ in range(500):
            which = draw.integers(0, 40, 40)
            again.append(coupling_value(found.stable[..., which], found.similar[..., which]))
        np.testing.assert_allclose((low, high), np.quantile(again, [0.025, 0.975]), atol=0.03)


def coupling_value(stable: np.ndarray, similar: np.ndarray) -> float:
    one, other = ((v - v.mean(1, keepdims=True)).ravel() for v in (stable, similar))
    return float(np.corrcoef(one, other)[0, 1])


def test_other_noise_levels_are_apart_by_their_distance() -> None:
    found = robustness(outputs((1, 3), joint=True))
    assert found.label_collapse is not None
    assert found.distance.low > 1
    assert found.distance.value == pytest.approx(3 - 1, abs=0.3)
    assert found.verdict == "apart"


def test_a_rationale_that_never_changes_never_collapses() -> None:
    same = [[[replace(r, text="it is so") for r in row] for row in draws] for draws in outputs((2, 2), joint=True)]
    found = robustness(same)
    assert found.rationale_collapse is None
    assert found.coupling == 0
    assert found.verdict == "apart"
    assert "do not collapse" in found.told()


def test_noise_of_the_size_of_the_embeddings_destroys_what_a_model_writes() -> None:
    model = Seq2Seq(*SEQ2SEQ["t5"](), "text", ("yes", "no"))
    table = model.model.get_input_embeddings().weight.detach().numpy()
    assert model.embedding_variance == pytest.approx(table.var(ddof=1), rel=1e-4)
    examples = [Example(str(i), {"text": text}) for i, text in enumerate(SENTENCES[:4])]
    written = written_under_noise(Runner(model), examples, (0, 1e4), draws=2, max_tokens=4)
    assert [row[0].noise for row, _ in written] == [0, pytest.approx(1e4 * model.embedding_variance)]
    assert written[0][0] == written[0][1]
    assert all(a.ids != b.ids for a, b in zip(written[0][0], written[1][0], strict=True))
    assert [a.ids for a in written[1][0]] != [a.ids for a in written[1][1]]


def test_all_noise_at_once_is_what_one_level_after_the_other_gives() -> None:
    runner = Runner(Seq2Seq(*SEQ2SEQ["t5"](), "nli.i-or", ("yes", "no")))
    examples = [Example(str(i), {"premise": text, "hypothesis": "a cat"}) for i, text in enumerate(SENTENCES[:3])]
    unit = runner.classifier.embedding_variance  # type: ignore[attr-defined]
    together = written_under_noise(runner, examples, (0, 0.5, 2), draws=2, seed=1, max_tokens=4)
    for v, number in enumerate((0, 0.5, 2)):
        for d in range(2):
            alone = write_rationales(runner, examples, unit * number, 2 + d if number else 2, max_tokens=4)
            assert [(r.ids, r.noise, r.seed) for r in together[v][d]] == [(r.ids, r.noise, r.seed) for r in alone]


def test_the_grid_begins_without_noise() -> None:
    with pytest.raises(BadInput, match="expected 0"):
        robustness(outputs((2, 2), joint=True)[1:])


def test_the_grid_is_finer_for_a_model_that_breaks_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Labels that hold up to 0.01 of the variance: half of it times 1/64 is the first of the eighths below."""
    import whence.measure.robustness as tested

    unit, asked = 4.0, []

    def write(runner: object, examples: list[str], noise: float = 0.0, *_: object, **__: object) -> list[SimpleNamespace]:
        asked.append((len(examples), noise / unit))
        return [SimpleNamespace(label=None if e == "mute" else "no" if noise > 0.01 * unit else "yes") for e in examples]

    monkeypatch.setattr(tested, "write_rationales", write)
    monkeypatch.setattr(tested, "generator_of", lambda _: SimpleNamespace(embedding_variance=unit))
    assert tested.fitting_scale(None, ["mute", *"abcdefghij"]) == 1 / 64  # type: ignore[arg-type]
    assert asked == [(8, 0), (7, 0.5), (7, 0.5 / 8), (7, 0.5 / 64)]
    assert tested.fitting_scale(None, ["mute"]) == 1  # type: ignore[arg-type]
