"""Max-F1, Exact-Inc and Soft-Inc on masks worked by hand, and through a model."""

import numpy as np
import pytest
import torch
from tiny import own_model

from whence.data import Example
from whence.measure.alignments.breaking_nli import FoundPair, f1, found_pair_rounds
from whence.measure.alignments.plausibility import iou_row, token_f1_row, touched_words
from whence.models.alignment import known_cells
from whence.run import Runner
from whence.run.masks import drive_masks

TEXTS = {"premise": "A man eats a red apple", "hypothesis": "A man eats an orange"}
EXAMPLE = Example("1", TEXTS, "contradiction", pairs=(((13, 22), (14, 20)),))  # "red apple" – "orange"


def played(kept: np.ndarray, gold: np.ndarray, effects: list[float]) -> FoundPair | None:
    """The steps with logits that say how much each component matters."""
    steps = found_pair_rounds(kept, gold, np.zeros(3))
    try:
        masks = next(steps)
    except StopIteration as stop:
        return stop.value
    assert len(masks) == len(effects)
    with pytest.raises(StopIteration) as stop:
        steps.send(np.array([[effect, 0.0, 0.0] for effect in effects]))
    return stop.value.value


def cells(shape: tuple[int, int], *kept: tuple[int, int]) -> np.ndarray:
    mask = np.zeros(shape, dtype=bool)
    for cell in kept:
        mask[cell] = True
    return mask


def test_known_cells_are_the_annotated_words() -> None:
    (encoded,) = own_model("decomposable").encode([EXAMPLE])
    assert np.argwhere(known_cells(encoded)).tolist() == [[4, 4], [5, 4]]


def test_the_component_that_matters_most_is_scored() -> None:
    """Components: {(0,0)} and {(1,1), (1,2)}; gold (1,1). The second has precision 1/2 and recall 1: F1 = 2/3."""
    kept, gold = cells((2, 3), (0, 0), (1, 1), (1, 2)), cells((2, 3), (1, 1))
    assert played(kept, gold, [0.1, 0.5]) == FoundPair(2 / 3, 1.0, 1.0)
    assert played(kept, gold, [0.5, -0.1]) == FoundPair(0.0, 1.0, 1.0)


def test_half_of_the_annotation() -> None:
    """Gold (0,0), (0,1); kept (0,0) and, apart from it, (1,2): half is included; F1 of the right component is 2·1/(1+2)."""
    kept, gold = cells((2, 3), (0, 0), (1, 2)), cells((2, 3), (0, 0), (0, 1))
    assert played(kept, gold, [2.0, 1.0]) == FoundPair(2 / 3, 0.0, 0.5)


def test_nothing_kept_and_nothing_annotated() -> None:
    empty, gold = cells((2, 2)), cells((2, 2), (0, 0))
    assert played(empty, gold, []) == FoundPair(0.0, 0.0, 0.0)
    assert played(gold, empty, []) is None
    assert f1(empty, empty) == 0.0


def test_through_a_model_it_is_the_removal_that_moves_the_logits_most() -> None:
    torch.manual_seed(1)
    classifier = own_model("decomposable")
    encoded = classifier.encode([EXAMPLE])
    kept = cells((6, 5), (0, 0), (4, 4), (5, 4))
    base = Runner(classifier).predict(encoded)[0].logits
    runner, pairs_asked = Runner(classifier), encoded
    (found,) = drive_masks(runner, pairs_asked, [found_pair_rounds(kept, known_cells(encoded[0]), base)])
    parts = [cells((6, 5), (0, 0)), cells((6, 5), (4, 4), (5, 4))]

    def logits_of(mask: np.ndarray):  # one mask at a time, as the definition says
        answer = yield mask[None].astype(np.float32)
        return answer[0]

    moved = [np.linalg.norm(drive_masks(runner, pairs_asked, [logits_of(1.0 - part)])[0] - base) for part in parts]
    assert found is not None
    assert found.max_f1 == (1.0 if moved[1] > moved[0] else 0.0)
    assert (found.exact_inc, found.soft_inc) == (1.0, 1.0)


def test_words_that_a_mask_touches_against_words_that_people_marked() -> None:
    """Premise: touched 0 and 4–5, marked 4–5: precision 1/2, recall 1, F1 = 2·2/(3+2). Hypothesis: nothing marked, no key."""
    marked = Example("1", TEXTS, "contradiction", highlights=({"premise": ((13, 22),)},))
    (encoded,) = own_model("decomposable").encode([marked])
    keys = touched_words(cells((6, 5), (0, 0), (4, 4), (5, 4)), encoded)
    assert len(keys) == 1
    assert iou_row(keys) == (0.5, 1.0, 1.0, 1.0)
    assert token_f1_row(keys) == (pytest.approx(4 / 5), 1.0)
    nothing = touched_words(cells((6, 5)), encoded)
    assert iou_row(nothing) == (0.0, 0.0, 0.0, 1.0)
    assert token_f1_row(nothing) == (0.0, 1.0)
