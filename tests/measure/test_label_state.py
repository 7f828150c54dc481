"""Label and explanation exchanged: models in which one does not read the other keep it, by construction."""

import pytest
import torch

from whence.data import open_corpus, open_template
from whence.measure.text.label_state import _other, exchanged
from whence.models import SimPort
from whence.models.sim_build import SIM, build_joint

EXAMPLES = open_corpus("scenes", None).load("dev", 6)


def port(**options: bool) -> SimPort:
    torch.manual_seed(3)
    template = open_template("nli.i-or")
    texts = [text for e in EXAMPLES for text in (template.render(e).text, template.render_target(e))]
    small = {"hidden_size": 16, "layers": 1, "longest": 8}
    labels = ("entailment", "neutral", "contradiction")
    model, tokenizer = build_joint(SIM, texts, labels, False, template, {**small, **options})
    with torch.no_grad():  # so that labels differ between examples and states matter
        for parameter in model.labels.parameters():
            parameter.mul_(4)
    return SimPort(model.eval(), tokenizer, template)


def test_without_fusion_nothing_depends_on_the_other() -> None:
    for one in exchanged(port(label_to_text=False, text_to_label=False), EXAMPLES):
        assert one.label == one.cut == one.half
        assert one.another in (None, one.label)
        assert one.frozen_same == one.swapped_same == 1
        assert one.swapped == one.turned


def test_without_interpretation_the_label_stays_and_without_inference_the_explanation_does() -> None:
    deaf = exchanged(port(text_to_label=False), EXAMPLES)
    assert all(one.label == one.cut == one.half for one in deaf)
    mute = exchanged(port(label_to_text=False), EXAMPLES)
    assert all(one.frozen_same == one.swapped_same == 1 for one in mute)


def test_the_turned_state_is_the_first_one_rolled() -> None:
    model = port()
    found = exchanged(model, EXAMPLES)
    assert [one.id for one in found] == [example.id for example in EXAMPLES]
    assert all(one.turned == (one.cut + 1) % 3 for one in found)
    alone = exchanged(model, EXAMPLES[:1])
    assert alone[0].another is None
    assert (alone[0].label, alone[0].cut, alone[0].half) == (found[0].label, found[0].cut, found[0].half)
    assert alone[0].swapped_same == pytest.approx(found[0].swapped_same)


def test_the_other_example_is_the_next_with_another_label() -> None:
    assert [_other([0, 0, 1, 0], i) for i in range(4)] == [2, 2, 3, 2]
    assert _other([1, 1], 0) is None
