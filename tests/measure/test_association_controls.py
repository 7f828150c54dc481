"""The controls of both association tests: small T5s, trained here, of which it is known whether label and rationale belong
together. Both tests tell one model from two. The rules were chosen on seeds 0–2 and confirmed once on seeds 3–5
(docs/association.md has both); plain rank agreement, the rule before, is above chance for some that are not associated.

joint     one model; its rationale names the animal from which the label follows
glued     the label of one joint model, the rationale of another, independent one: same task, same words, same noise
foreign   the label of a joint model, the rationale of an independent network that names the colour, which decides nothing
constant  one model; it writes the same rationale for every text
unrelated one model; its rationale names the colour
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch

from whence.data import Example
from whence.data.template import Template
from whence.explain.text import Rationale, write_rationales
from whence.explain.text.importance import Importance, importances, shaken_importances, text_shares
from whence.measure.agreement import Agreement, agreement
from whence.measure.rationale_quality import quality
from whence.measure.robustness import Robustness, robustness
from whence.measure.shared_importance import SharedImportance, depending, shared_importance
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
    """In plain variances (a word table has about 1), so that two models get the very same noise."""
    runner = Runner(trained(why, seed))
    clean = write_rationales(runner, TEST, max_tokens=8)
    return [[clean] * 3] + [[write_rationales(runner, TEST, v, d, 8) for d in range(3)] for v in (0.5, 1.0, 2.0, 4.0, 8.0)]


@cache
def important(why: str, seed: int) -> tuple[list[Importance | None], list[list[Importance | None]], float]:
    """(as the paper has them, under a little noise, the share of rationales that depend on the text)."""
    runner, clean = Runner(trained(why, seed)), written(why, seed)[0][0]
    shares = text_shares(runner, TEST, clean)
    shaken = shaken_importances(runner, TEST, clean, shares, noise=0.25)
    return importances(runner, TEST, clean), shaken, depending(clean, shares)


def both_tests(labels: tuple[str, int], rationales: tuple[str, int]) -> tuple[Robustness, SharedImportance, Agreement]:
    """Of the labels of one model and the rationales of another, or of the same."""
    several = [
        [[replace(a, text=b.text) for a, b in zip(one, other, strict=True)] for one, other in zip(*draws, strict=True)]
        for draws in zip(written(*labels), written(*rationales), strict=True)
    ]
    plain, shaken, _ = important(*labels)
    other_plain, other_shaken, depends = important(*rationales)
    agreed = agreement(glued(plain, other_plain))
    assert agreed is not None
    shared = shared_importance([glued(a, b) for a, b in zip(shaken, other_shaken, strict=True)], depends)
    return robustness(several), shared, agreed


def glued(ours: list[Importance | None], theirs: list[Importance | None]) -> list[Importance | None]:
    return [None if a is None or b is None else replace(a, rationale=b.rationale) for a, b in zip(ours, theirs, strict=True)]


def control(kind: str, seed: int) -> tuple[tuple[str, int], tuple[str, int]]:
    """Whose labels and whose rationales."""
    own = ("animal", seed)
    after = seed // 3 * 3 + (seed + 1) % 3
    return {"joint": (own, own), "glued": (own, ("animal", after)), "foreign": (own, ("colour", seed + 10)),
            "constant": (("constant", seed),) * 2, "unrelated": (("colour", seed + 10),) * 2}[kind]  # fmt: skip


@pytest.mark.parametrize("seed", SEEDS)
def test_one_model_is_associated(seed: int) -> None:
    assert [r.label for r in written("animal", seed)[0][0]] == [e.label for e in TEST]
    failing, shared, agreed = both_tests(*control("joint", seed))
    assert failing.verdict == "together"
    assert shared.verdict == "associated"
    assert agreed.above_chance


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", ["foreign", "glued"])
def test_rationales_of_an_independent_network_are_not_associated(kind: str, seed: int) -> None:
    failing, shared, agreed = both_tests(*control(kind, seed))
    assert failing.verdict == "apart"
    assert shared.verdict == "not associated"
    assert shared.depends > 0.9
    assert agreed.value.value < both_tests(*control("joint", seed))[2].value.value


def test_plain_rank_agreement_calls_two_networks_alike() -> None:
    """The rule before: why it was left."""
    assert all(both_tests(*control("glued", seed))[2].above_chance for seed in SEEDS)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_constant_rationale_is_not_associated(seed: int) -> None:
    failing, shared, agreed = both_tests(*control("constant", seed))
    assert failing.rationale_collapse is None
    assert failing.verdict == "apart"
    assert shared.depends == 0
    assert shared.verdict == "not associated"
    assert agreed.above_chance  # the rule before


@pytest.mark.parametrize("seed", SEEDS)
def test_one_model_that_writes_about_something_else_is_not_called_associated(seed: int) -> None:
    failing, shared, _ = both_tests(*control("unrelated", seed))
    assert failing.verdict == "apart"
    assert shared.verdict == "undecided"  # its label and its rationale do share an encoder


def test_a_constant_rationale_has_no_quality() -> None:
    """Readers in closed form: I→O has seen no animal; IR→O believes an animal that the rationale names."""
    gold, i_o = [e.label for e in TEST], ["pet"] * len(TEST)

    def ir_o(kind: str) -> list[str]:
        said = [r.text.split()[-1] for r in written(kind, 0)[0][0]]
        return [ANIMALS.get(word, guess) for word, guess in zip(said, i_o, strict=True)]

    assert quality(gold, ir_o("animal"), i_o).low > 0
    assert quality(gold, ir_o("constant"), i_o).value == 0
