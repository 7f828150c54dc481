"""Corpora read as one: `open_corpus("esnli+snli")`.

Train is all their training splits, one after the other; the other splits are those of the first. A training example whose texts
also stand in another split of any of them is dropped, so that nothing that is tested was learned.
"""

from collections.abc import Sequence
from dataclasses import replace

from whence.data.corpus import BadRow, Corpus, Rows
from whence.errors import BadInput

SIGN = "+"


def joined(corpora: Sequence[Corpus]) -> Corpus:
    first = corpora[0]
    for other in corpora[1:]:
        if (other.task, other.labels) != (first.task, first.labels):
            raise BadInput(
                f"{first.name} ({first.task}: {', '.join(first.labels)}) and {other.name} ({other.task}: "
                f"{', '.join(other.labels)}) cannot be joined; expected the same task and labels"
            )
        if "train" not in other.splits:
            raise BadInput(f"{other.name} has no training split to join; it has {', '.join(other.splits)}")

    def train() -> Rows:
        held_out = {
            tuple(row.texts.values())
            for corpus in corpora for split in corpus.splits if split != "train"
            for row in corpus.rows(split) if not isinstance(row, BadRow)
        }  # fmt: skip
        for corpus in corpora:
            for row in corpus.rows("train"):
                if isinstance(row, BadRow):
                    yield row
                elif tuple(row.texts.values()) not in held_out:
                    yield replace(row, id=f"{corpus.name}/{row.id}")

    name = SIGN.join(corpus.name for corpus in corpora)
    rest = {split: rows for split, rows in first.splits.items() if split != "train"}
    about = f"the training splits of {name.replace(SIGN, ' and ')}; the other splits are those of {first.name}"
    return Corpus(name, first.task, first.labels, {"train": train, **rest}, about)
