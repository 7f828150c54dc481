"""The controls of both association tests: small T5s, trained here, of which it is known whether label and rationale belong
together. Robustness tells all of them apart. Agreement only orders them: it is above chance for some that are not associated.

joint     one model; its rationale names the animal from which the label follows
glued     the label of one joint model, the rationale of another, independent one: same task, same words
foreign   the label of a joint model, the rationale of an independent network that names the colour, which decides nothing
constant  one model; it writes the same rationale for every text
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch

from whence.data import Example
from whence.data.template import Template
from whence.explain.text import Rationale
from whence.explain.text.importance import importances
from whence.measure.agreement import Agreement, agreement
from whence.measure.rationale_quality import quality
from whence.measure.robustness import Robustness, robustness, written_under_noise
from whence.models import Seq2Seq
from whence.models.text_models import build_text_model
from whence.run import Runner

ANIMALS = {"cat": "pet", "dog": "pet", "cow": "farm", "pig": "farm", "fox": "wild", "bear": "wild"}
COLOURS = ["red", "blue", "green", "black", "white", "brown"]
OTHERS = ["some", "near", "very", "old", "house", "with", "new", "road", "and", "tree", "over", "there"]
TEMPLATE = Template("toy", "{text}", "{label} explanation: {rationale}")
WHY: dict[str, Callable[[str, str], str]] = {
    "animal": lambda animal, colour: f"the animal is {animal}",
    "colour": lambda animal, colour: f"it looks {colour}",
    "constant": lambda animal, colour: "it is so",
}
SEEDS = (0, 1, 2)
Written = list[list[list[Rationale]]]


def corpus(n: int, seed: int, why: str = "animal") -> list[Example]:
    draw = np.random.default_rng(seed)
    found = []
    for i in range(n):
        animal, colour = str(draw.choice(list(ANIMALS))), str(draw.choice(COLOURS))
        text = draw.permutation([*draw.choice(OTHERS, 5, replace=False), animal, colour])
        found.append(Example(str(i), {"text": " ".join(text)}, ANIMALS[animal], explanations=(WHY[why](animal, colour),)))
    return found


TEST = corpus(40, 1)


@cache
def trained(why: str, seed: int) -> Seq2Seq:
    torch.manual_seed(seed)
    examples = corpus(120 * 32, 100 + seed, why)
    texts = [text for e in examples[:500] for text in (TEMPLATE.render(e).text, TEMPLATE.render_target(e))]
    model, tokenizer = build_text_model("small_t5", texts)
    found = Seq2Seq(model, tokenizer, TEMPLATE, ("pet", "farm", "wild"))
    optimiser = torch.optim.AdamW(model.parameters(), lr=2e-3)
    model.train()
    for start in range(0, len(examples), 32):
        batch = examples[start : start + 32]
        read = tokenizer([TEMPLATE.render(e).text for e in batch], padding=True, return_tensors="pt")
        write = tokenizer([TEMPLATE.render_target(e) for e in batch], padding=True, return_tensors="pt")["input_ids"]
        write = write.masked_fill(write == tokenizer.pad_token_id, -100)
        scores = found.training_pass(dict(read), write)
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(scores.flatten(0, 1), write.flatten(), ignore_index=-100).backward()
        optimiser.step()
    model.eval()
    return found


@cache
def written(why: str, seed: int) -> Written:
    return written_under_noise(Runner(trained(why, seed)), TEST, (0, 0.5, 1, 2, 4, 8), draws=3, max_tokens=8)


def both_tests(labels: tuple[str, int], rationales: tuple[str, int]) -> tuple[Robustness, Agreement]:
    """Of the labels of one model and the rationales of another, or of the same."""
    several = [
        [[replace(a, text=b.text) for a, b in zip(one, other, strict=True)] for one, other in zip(*draws, strict=True)]
        for draws in zip(written(*labels), written(*rationales), strict=True)
    ]
    ours, theirs = (importances(Runner(trained(*kind)), TEST, written(*kind)[0][0]) for kind in (labels, rationales))
    words = [None if a is None or b is None else replace(a, rationale=b.rationale) for a, b in zip(ours, theirs, strict=True)]
    agreed = agreement(words)
    assert agreed is not None
    return robustness(several), agreed


@pytest.mark.parametrize("seed", SEEDS)
def test_one_model_fails_together_and_its_words_agree(seed: int) -> None:
    assert [r.label for r in written("animal", seed)[0][0]] == [e.label for e in TEST]
    failing, agreed = both_tests(("animal", seed), ("animal", seed))
    assert failing.verdict == "together"
    assert agreed.above_chance


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("control", ["foreign", "glued"])
def test_rationales_of_an_independent_network_fail_apart_and_agree_less(control: str, seed: int) -> None:
    own = ("animal", seed)
    failing, agreed = both_tests(own, ("colour", seed + 10) if control == "foreign" else ("animal", (seed + 1) % 3))
    assert failing.verdict == "apart"
    assert agreed.value.value < both_tests(own, own)[1].value.value


def test_a_constant_rationale_fails_apart() -> None:
    failing, _ = both_tests(("constant", 0), ("constant", 0))
    assert failing.rationale_collapse is None
    assert failing.verdict == "apart"


def test_a_constant_rationale_has_no_quality() -> None:
    """Readers in closed form: I→O has seen no animal; IR→O believes an animal that the rationale names."""
    gold, i_o = [e.label for e in TEST], ["pet"] * len(TEST)

    def ir_o(kind: str) -> list[str]:
        said = [r.text.split()[-1] for r in written(kind, 0)[0][0]]
        return [ANIMALS.get(word, guess) for word, guess in zip(said, i_o, strict=True)]

    assert quality(gold, ir_o("animal"), i_o).low > 0
    assert quality(gold, ir_o("constant"), i_o).value == 0
