"""Role masks: what may align, worked by hand; and on HANS, how often there is something to go by."""

import os
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
import torch
from tiny import own_model

from whence.data import Example, open_corpus, words
from whence.data.roles import Argument, Predicate
from whence.errors import BadInput
from whence.explain.roles import has_match, predict_with_roles, role_mask, roles_from_parses
from whence.models import Intervention
from whence.run import Request, Runner

ACTIVE = "(S (NP (NNP Ann)) (VP (VBD saw) (NP (DT the) (NN dog))) (. .))"
PASSIVE = "(S (NP (DT The) (NN dog)) (VP (VBD was) (VP (VBN seen) (PP (IN by) (NP (NNP Ann))))) (. .))"
SWAPPED = "(S (NP (DT The) (NN dog)) (VP (VBD saw) (NP (NNP Ann))) (. .))"
OTHER = "(S (NP (NNP Ann)) (VP (VBD slept)) (. .))"


def pair(first: str, second: str) -> Example:
    texts = [" ".join(leaf.split(")")[0] for leaf in parse.split(" ") if ")" in leaf) for parse in (first, second)]
    return Example(
        "1",
        dict(zip(("premise", "hypothesis"), texts, strict=True)),
        meta={"sentence1_parse": first, "sentence2_parse": second},
    )


def mask_of(first: str, second: str) -> list[list[int]]:
    example = pair(first, second)
    return role_mask(*(words(text) for text in example.texts.values()), roles_from_parses(example)).astype(int).tolist()


def test_active_and_passive_align_by_role() -> None:
    #         The dog was seen by Ann .
    assert mask_of(ACTIVE, PASSIVE) == [
        [0, 0, 0, 0, 1, 1, 0],  # Ann
        [0, 0, 0, 1, 0, 0, 0],  # saw
        [1, 1, 0, 0, 0, 0, 0],  # the
        [1, 1, 0, 0, 0, 0, 0],  # dog
        [0, 0, 0, 0, 0, 0, 1],  # .
    ]


def test_a_swap_keeps_equal_words_apart() -> None:
    #         The dog saw Ann .
    assert mask_of(ACTIVE, SWAPPED) == [
        [1, 1, 0, 0, 0],  # Ann, who does it here as the dog does there
        [0, 0, 1, 0, 0],
        [1, 0, 0, 1, 0],  # an article has no role of its own
        [0, 0, 0, 1, 0],
        [0, 0, 0, 0, 1],
    ]


def test_without_a_common_predicate_everything_may_align() -> None:
    assert np.array(mask_of(ACTIVE, OTHER)).all()
    assert not has_match(*roles_from_parses(pair(ACTIVE, OTHER)))


def test_words_in_no_argument_align_with_equal_words_in_none() -> None:
    """ "was" with "Was"; not with a "was" that stands in an argument; several predicates add up."""
    first = (Predicate("see", 1), Predicate("be", 3, (Argument("ARG1", 4, 5),)))
    second = (Predicate("see", 0), Predicate("be", 2, (Argument("ARG1", 3, 4), Argument("ARG2", 4, 5))))
    mask = role_mask(["was", "seen", "was", "is", "x"], ["saw", "Was", "is", "x", "was"], (first, second))
    expected = np.zeros((5, 5))
    for cell in [(0, 1), (2, 1), (1, 0), (3, 2), (4, 3)]:
        expected[cell] = 1
    assert mask.tolist() == expected.tolist()


def test_words_of_other_frames_align_as_they_like() -> None:
    """Only the premise has Bob and his running; "and" is in no frame, and Ann is held to her role."""
    first = (Predicate("sleep", 1, (Argument("ARG0", 0, 1),)), Predicate("run", 4, (Argument("ARG0", 3, 4),)))
    mask = role_mask(["Ann", "slept", "and", "Bob", "ran"], ["Ann", "slept"], (first, first[:1]))
    assert mask.tolist() == [[1, 0], [0, 1], [0, 0], [1, 1], [1, 1]]


def test_the_frozen_model_reads_only_what_roles_allow() -> None:
    torch.manual_seed(0)
    classifier = own_model("decomposable")
    runner, example = Runner(classifier), pair(ACTIVE, PASSIVE)
    encoded = classifier.encode([example, pair(ACTIVE, OTHER)])
    roles = [roles_from_parses(e.example) for e in encoded]
    plain, masked = runner.predict(encoded), predict_with_roles(runner, encoded, roles)
    by_hand = runner.run([Request(encoded[0], Intervention(alignment=np.array(mask_of(ACTIVE, PASSIVE), dtype=np.float32)))])
    np.testing.assert_allclose(masked[0].logits, by_hand[0].logits, atol=1e-5)
    assert np.abs(masked[0].logits - plain[0].logits).max() > 1e-3
    np.testing.assert_allclose(masked[1].logits, plain[1].logits, atol=1e-6)


def test_a_pair_without_parses() -> None:
    with pytest.raises(BadInput, match="has no parses"):
        roles_from_parses(Example("1", {"premise": "a", "hypothesis": "b"}))


@pytest.mark.realdata
def test_every_pair_of_hans_has_a_common_predicate() -> None:
    """Coverage by heuristic and label; the masks of pairs with swapped arguments keep the equal nouns apart."""
    root = Path(os.environ.get("WHENCE_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data")
    if not root.is_dir():
        pytest.skip("the published corpora are not here: set WHENCE_DATA to their folder")
    covered: dict[tuple[str, str | None], list[bool]] = defaultdict(list)
    for example in open_corpus("hans", root=root).load("train", 3000):
        roles = roles_from_parses(example)
        covered[example.meta["heuristic"], example.label].append(has_match(*roles))
        if example.meta["subcase"] in ("ln_subject/object_swap", "ln_passive"):
            premise, hypothesis = (words(text) for text in example.texts.values())
            mask = role_mask(premise, hypothesis, roles)
            nouns = {w for w in premise if w in hypothesis and w.lower() not in ("the", ".")} - {hypothesis[2]}
            assert not any(mask[premise.index(w), hypothesis.index(w)] for w in nouns)
    assert len(covered) == 6
    assert all(np.mean(several) == 1.0 for several in covered.values())
