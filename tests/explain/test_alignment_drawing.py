"""Pictures of alignments: everything is readable, nothing of a text is markup, and what is outlined is what is kept."""

import re
import struct
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from rich.console import Console

from whence.data import word_spans
from whence.errors import BadInput
from whence.explain.alignment import Alignment, mask_rows, score_rows
from whence.explain.alignments.draw import letters, matrix_html, matrix_svg, matrix_text, save_matrix, shading

HOSTILE = 'A <script>alert("1")</script> & $x$ [red]man[/red] \x1b[31m walks'
SVG = "{http://www.w3.org/2000/svg}"


def aligned(premise: str, hypothesis: str, kept: list[tuple[int, int]] | None = None) -> Alignment:
    texts = {"premise": premise, "hypothesis": hypothesis}
    spans = {name: tuple(word_spans(text)) for name, text in texts.items()}
    shape = tuple(len(s) for s in spans.values())
    scores = np.linspace(-1, 1, shape[0] * shape[1]).reshape(shape)
    mask = None
    if kept is not None:
        mask = np.zeros(shape, dtype=bool)
        for i, j in kept:
            mask[i, j] = True
    return Alignment(
        "7", texts, spans, score_rows(scores), "arec", "contradiction", 0.9, None if mask is None else mask_rows(mask)
    )


def printed(alignment: Alignment) -> str:
    console = Console(width=100, record=True, force_terminal=True, file=open("/dev/null", "w"))  # noqa: SIM115
    console.print(matrix_text(alignment))
    return console.export_text()


def test_the_terminal_shows_words_letters_and_phrase_pairs() -> None:
    shown = printed(aligned("People walk through town .", "Two people drive a car .", [(0, 1), (1, 2), (1, 3), (2, 2), (2, 3)]))
    lines = shown.splitlines()
    assert re.search(r"Two people drive a\s+car", lines[1])
    assert re.match(r" People\s+·\s+A\s", lines[2])
    assert "A “People” – “people”" in shown
    assert "B “walk through” – “drive a”" in shown


def test_a_wide_pair_stays_within_a_hundred_columns() -> None:
    shown = printed(
        aligned("A supercalifragilisticexpialidocious word " * 3, "many words that go on and on and on " * 6, [(0, 0)])
    )
    assert max(map(len, shown.splitlines())) <= 100
    assert shown.count("many") >= 6


def test_without_a_mask_the_highest_pairs_are_told() -> None:
    shown = printed(aligned("a b", "c d"))
    assert "highest “b” – “d”" in shown
    assert "▓" in shown


def test_an_empty_mask_says_so() -> None:
    alignment = aligned("a b", "c d", [])
    assert "no word pair is kept" in printed(alignment)
    assert "no word pair is kept" in matrix_html(alignment)


def test_the_svg_is_valid_and_escapes_what_it_shows() -> None:
    alignment = aligned(HOSTILE, HOSTILE, [(0, 0), (1, 1), (1, 2)])
    root = ElementTree.fromstring(matrix_svg(alignment))
    allowed = {f"{SVG}{tag}" for tag in ("svg", "text", "rect", "title")}
    assert {element.tag for element in root.iter()} <= allowed
    texts = [element.text for element in root.iter(f"{SVG}text")]
    premise, hypothesis = alignment.words
    for word in premise + hypothesis:
        assert word.replace("\x1b", " ") in texts
    outlines = [r for r in root.iter(f"{SVG}rect") if r.get("fill") == "none"]
    assert [(r.get("width"), r.get("height")) for r in outlines] == [("22", "22"), ("46", "22")]
    cells = [r for r in root.iter(f"{SVG}rect") if r.get("fill") != "none"]
    assert len(cells) == len(premise) * len(hypothesis)


def test_the_html_has_no_tag_of_a_text() -> None:
    tags: list[str] = []

    class Tags(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            tags.append(tag)
            assert not any(name.startswith("on") for name, _ in attrs)

    Tags().feed(matrix_html(aligned(HOSTILE, HOSTILE, [(0, 0)])))
    assert not {"script", "red"} & set(tags)


def test_shading() -> None:
    free, masked = aligned("a b", "c d"), aligned("a b", "c d", [(0, 0)])
    assert shading(free).tolist() == free.matrix.tolist()  # the largest magnitude is 1 already
    assert (shading(masked) >= 0).all()
    assert shading(masked)[0, 0] == 0.25, "kept, so it is never quite empty, though its score is negative"


def test_letters_never_run_out() -> None:
    assert letters(3) == ["A", "B", "C"]
    assert len(letters(60)) == 60


def test_files(tmp_path: Path) -> None:
    alignment = aligned("Ein Hund läuft über <Straßen>", "犬 が 走る", [(0, 0)])
    save_matrix(alignment, tmp_path / "a.svg")
    drawn = (tmp_path / "a.svg").read_text(encoding="utf-8")
    ElementTree.fromstring(drawn)
    assert "prefers-color-scheme: dark" in drawn
    save_matrix(aligned("A $man$ walks", "A $x$ runs", [(0, 0), (1, 1)]), tmp_path / "a.png")
    head = (tmp_path / "a.png").read_bytes()[:24]
    assert head.startswith(b"\x89PNG")
    assert min(struct.unpack(">II", head[16:])) > 200
    with pytest.raises(BadInput, match=r"\.svg, \.png or \.pdf"):
        save_matrix(alignment, tmp_path / "a.gif")


@pytest.mark.parametrize("ending", ["svg", "png", "pdf"])
def test_a_pair_without_words_has_no_picture(ending: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="one text of '7' has no words"):
        save_matrix(aligned("bad", "   "), tmp_path / f"x.{ending}")
    assert not list(tmp_path.iterdir())
