"""More texts for an adversary to practise on: stretches of training texts, and beginnings of one joined to the end of another.

An adversary learns from the base model's predictions, not from labels, so any text will do. With the training texts alone it
imitates well where it has practised and half as well elsewhere; what a study wants to know is how far attention can go at equal
predictions, not how much text SST has. Neither paper does this: the rows of Tables 4 and 5 are without.
"""

import random
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from whence.data.corpus import Corpus
from whence.data.example import Example


def with_cuts(corpus: Corpus, copies: int, seed: int) -> Corpus:
    """The corpus of texts, with `copies` new training texts made from each one."""
    examples = corpus.load("train")
    return replace(corpus, splits={**corpus.splits, "train": partial(iter, examples + cuts(examples, copies, seed))})


def cuts(examples: Sequence[Example], copies: int, seed: int) -> list[Example]:
    """By turns a stretch of a text, and its beginning with the end of another; as long at most as the longer of the two."""
    random_ = random.Random(seed)
    words = [example.texts["text"].split() for example in examples]
    made = []
    for i, example in enumerate(examples):
        for copy in range(copies):
            here, there = words[i], random_.choice(words)
            if copy % 2:
                start = random_.randrange(len(here))
                chosen = here[start : start + random_.randint(1, len(here) - start)]
            else:
                chosen = here[: random_.randint(1, len(here))] + there[random_.randrange(len(there)) :]
            text = " ".join(chosen[: max(len(here), len(there))])
            # the label is the first text's and nobody reads it; what people marked there is not there any more
            made.append(replace(example, id=f"{example.id}-cut-{copy}", texts={"text": text}, highlights=(), explanations=()))
    return made
