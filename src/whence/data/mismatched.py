"""Explanations that do not belong: every example with its own explanation and with another example's, to be told apart.

The other explanation is one that could be mistaken for the own (Liu et al. 2022, §3.6): that of an example which shares the
premise or the hypothesis, or one of the choices. Planted scenes are rarely told twice; there the other example may share a
deciding word instead. What was planted is known, so there the other example also has a deciding word that this one's texts
lack: an explanation that says nothing new could be true of this example as well. Of explanations by people that is not known.
An example for which there is none is left out.

A triple of input, label and explanation becomes a pair of texts that any classifier of pairs can read: input and label in
words, and the explanation.
"""

import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from whence.data.corpus import Corpus
from whence.data.example import Example
from whence.data.words import words
from whence.errors import BadInput

LABELS = ("mismatch", "match")
Key = tuple[str, str]


def triple(example: Example, answer: str | None, explanation: str, label: str | None = None, name: str = "") -> Example:
    """As a classifier of pairs reads it, in small letters; `answer` is the label in words, or what a model took for it."""
    said = " / ".join([*example.texts.values(), *example.choices, answer or "no label"])
    # a word at the beginning of an explanation is the same word
    return Example(name or example.id, {"premise": said.lower(), "hypothesis": explanation.lower()}, label)


def with_mismatches(splits: Mapping[str, Sequence[Example]], seed: int = 0) -> Corpus:
    """Of every split the matches and as many mismatches."""
    made = {split: _both(examples, random.Random(f"{seed}/{split}")) for split, examples in splits.items()}
    for split, examples in made.items():
        if not examples:
            problem = f"no two examples of {split} with different explanations share a sentence, a choice or a deciding word"
            raise BadInput(f"{problem}; expected a corpus in which some do")
    about = "explanations of their own example and of another one"
    return Corpus("mismatched", "pair", LABELS, {split: partial(iter, examples) for split, examples in made.items()}, about)


def _both(examples: Sequence[Example], rng: random.Random) -> list[Example]:
    told = [example for example in examples if example.explanations]
    found: list[Example] = []
    for example, other in zip(told, _others(told, rng), strict=True):
        if other is not None:
            own = example.explanations[0]
            found.append(triple(example, example.answer, own, "match", f"{example.id}-match"))
            found.append(triple(example, example.answer, other.explanations[0], "mismatch", f"{example.id}-mismatch"))
    return found


def _others(examples: Sequence[Example], rng: random.Random) -> Iterator[Example | None]:
    """For each example another that shares something with it, a sentence or choice before a word."""
    sentences, by_word = _sharing(examples, _sentences), _sharing(examples, _words)
    for example in examples:
        here = {word.casefold() for text in example.texts.values() for word in words(text)}
        near: list[Example] = []
        for sharing, keys in ((sentences, _sentences(example)), (by_word, _words(example))):
            near = near or [other for other in _different(example, sharing, keys) if _tells_more(other, here)]
        yield rng.choice(near) if near else None


def _tells_more(other: Example, here: set[str]) -> bool:
    """One of its deciding words is none of these words; of what was not planted, nobody knows, and it counts."""
    return not other.pairs or any(word not in here for _, said in _words(other) for word in words(said))


def _sharing(examples: Sequence[Example], keys_of: Callable[[Example], list[Key]]) -> dict[Key, list[Example]]:
    found: dict[Key, list[Example]] = defaultdict(list)
    for example in examples:
        for key in keys_of(example):
            found[key].append(example)
    return found


def _different(example: Example, sharing: Mapping[Key, Sequence[Example]], keys: Sequence[Key]) -> list[Example]:
    own = example.explanations[0]
    return [other for key in keys for other in sharing[key] if other.explanations[0] != own]


def _sentences(example: Example) -> list[Key]:
    return [*example.texts.items(), *(("choice", choice) for choice in example.choices)]


def _words(example: Example) -> list[Key]:
    """Words of the planted alignment; corpora that people annotated have none."""
    sides = zip(example.texts, zip(*example.pairs, strict=True), strict=False)
    return [("word", example.texts[name][a:b].casefold()) for name, spans in sides for a, b in spans]
