"""Planted corpora: English text from a seed, whose reason is known because we put it there.

`PLANTED[name](seed)` is a `Corpus` with the splits train, dev and test. docs/planted.md has an example of each.
"""

from collections.abc import Callable

from whence.data.corpus import Corpus
from whence.data.planted.choices import choices
from whence.data.planted.reviews import reviews
from whence.data.planted.scenes import scenes
from whence.data.planted.shortcuts import shortcuts

PLANTED: dict[str, Callable[[int], Corpus]] = {
    "scenes": scenes,
    "reviews": reviews,
    "choices": choices,
    "shortcuts": shortcuts,
}

__all__ = ["PLANTED", "choices", "reviews", "scenes", "shortcuts"]
