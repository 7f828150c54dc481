"""What every planted corpus shares: text from marked parts, and splits of distinct examples from a seed.

Text is written part by part, and a part may carry a mark; so the place of every planted word is known when it is written,
never searched for afterwards. Randomness comes only from `random.Random(f"{seed}/{corpus}/{split}")`, which Python
seeds from the bytes of that string: the same seed gives the same examples in every process.
"""

import random
import zlib
from collections.abc import Callable, Iterable, Iterator

from whence.data.corpus import Corpus, Rows
from whence.data.example import Example, Task
from whence.data.words import Span

Marked = tuple[str, str]
"""(mark, text); an empty mark says that nobody will ask where the part went, an empty text writes nothing."""


def write(parts: Iterable[Marked]) -> tuple[str, dict[str, Span]]:
    """Join the parts with spaces, punctuation closed up, first letter large → the text and where each mark is."""
    text, marks = "", {}
    for mark, part in parts:
        if not part:
            continue
        if text and part[0] not in ",.;?!":
            text += " "
        if mark:
            marks[mark] = (len(text), len(text) + len(part))
        text += part
    return text[:1].upper() + text[1:], marks


def article(word: str) -> str:
    return "an" if word[0] in "aeiou" else "a"


def listed(words: Iterable[str]) -> str:
    """'a', 'a' and 'b', or 'a', 'b' and 'c', each in quotation marks."""
    quoted = [f"'{word}'" for word in words]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"


Make = Callable[[random.Random, str, bool], Example | None]
"""(randomness, label, held out) → an example without its id, or None for a draw that broke a rule."""


def planted(name: str, task: Task, labels: tuple[str, ...], sizes: dict[str, int], seed: int, make: Make, about: str) -> Corpus:
    """A corpus whose `train` split asks `make` for seen combinations and whose other splits ask for held-out ones."""

    def split(part: str) -> Callable[[], Rows]:
        return lambda: _distinct(f"{seed}/{name}/{part}", f"{name}-{part}", labels, sizes[part], part, make)

    return Corpus(name, task, labels, {part: split(part) for part in sizes}, about, dict(sizes))


def _distinct(source: str, prefix: str, labels: tuple[str, ...], size: int, part: str, make: Make) -> Iterator[Example]:
    rng = random.Random(source)
    seen: set[tuple[str, ...]] = set()
    while len(seen) < size:
        label = labels[len(seen) % len(labels)]
        made = make(rng, label, part != "train")
        if made is None:
            continue
        key = (*made.texts.values(), *sorted(made.choices))
        # dev and test draw from the same held-out combinations; the checksum's parity deals each possible text to one of them
        parity = zlib.crc32("\n".join(key).encode()) % 2
        if key in seen or (part == "dev" and parity) or (part == "test" and not parity):
            continue
        seen.add(key)
        yield Example(
            f"{prefix}-{len(seen):05d}", made.texts, made.label, made.choices, made.highlights, made.explanations, made.pairs,
            made.meta,
        )  # fmt: skip
