"""Marks become character spans: stars, quoted parts, differing words."""

import pytest

from whence.data.readers.published import RowError
from whence.data.readers.spans import bare, differing, locate, star_spans


def marked(text: str, stars: str) -> list[str]:
    return [text[start:end] for start, end in star_spans(text, stars)]


@pytest.mark.parametrize(
    ("text", "stars", "expected"),
    [
        ("The cook ate soup.", " The cook *ate* *soup.*", ["ate", "soup"]),
        ("The cook ate soup.", "The cook ate soup.", []),
        ("Two  cats sit", " *Two*  cats *sit*", ["Two", "sit"]),
        ("Two  cats sit", " *Two* ** cats sit", ["Two"]),
        ("A 5 * hotel", "A *5* * hotel", ["5"]),
        ("A 5 * hotel", "A 5 *** hotel", ["*"]),
        ("so *very* nice", "so **very** nice", ["very"]),
        ("so *very* nice", "so *very* nice", []),
        (" leading space", "  leading *space*", ["space"]),
        ('He said "no!"', 'He said *"no!"*', ["no"]),
        ("well ... yes", "well *...* yes", ["..."]),
        ("a  b", "*a* b", ["a"]),
    ],
)
def test_stars(text: str, stars: str, expected: list[str]) -> None:
    assert marked(text, stars) == expected


@pytest.mark.parametrize("stars", ["The *cook", "The *baker*", "The", "The cook cook"])
def test_stars_that_do_not_fit(stars: str) -> None:
    with pytest.raises(RowError, match="expected"):
        star_spans("The cook", stars)


def test_bare_keeps_a_span_of_punctuation() -> None:
    assert bare("(lunch).", (0, 8)) == (1, 6)
    assert bare("...", (0, 3)) == (0, 3)


def test_locate() -> None:
    assert locate("he", "the man, he ran") == (9, 11)
    assert locate("a,b c", "x a, b  c y") == (2, 9)
    assert locate("zebra", "the man") is None
    assert locate("  ", "the man") is None


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("A red hat.", "A blue hat.", [("red", "blue")]),
        ("He eats lunch.", "He eats dinner.", [("lunch", "dinner")]),
        ("An Irish man", "A South Korean man", [("An Irish", "A South Korean")]),
        ("two men and two dogs", "six men and six dogs", [("two", "six"), ("two", "six")]),
        ("I can not go", "I can go", []),
        ("same", "same", []),
        ("", "a", []),
    ],
)
def test_differing(first: str, second: str, expected: list[tuple[str, str]]) -> None:
    assert [(first[slice(*x)], second[slice(*y)]) for x, y in differing(first, second)] == expected
