"""Which examples a training learns from, is selected on and is tested on; what was left out or held out is said."""

import random

from whence.data import Corpus, Example, Template
from whence.errors import BadInput

DEV_SHARE = 0.1
Splits = dict[str, list[Example]]


def training_splits(corpus: Corpus, limit: int | None, seed: int) -> tuple[Splits, list[str]]:
    """(train, dev and, where the corpus has one with labels, test; notes). Without a dev split, a part of train is held out."""
    notes = []
    if "train" not in corpus.splits:
        raise BadInput(f"{corpus.name} has no training split, only {', '.join(corpus.splits)}; expected a corpus with 'train'")
    splits = {"train": corpus.load("train", limit, seed)}
    if limit is not None:
        size = len(splits["train"])
        drawn = f"trained on {size} examples drawn with seed {seed} (limit)"
        notes.append(drawn if size == limit else f"limit {limit} is more than the {size} training examples there are")
    if "dev" in corpus.splits:
        splits["dev"] = corpus.load("dev")
    else:
        held_out = set(random.Random(seed).sample(range(len(splits["train"])), int(DEV_SHARE * len(splits["train"])) or 1))
        splits["dev"] = [e for i, e in enumerate(splits["train"]) if i in held_out]
        splits["train"] = [e for i, e in enumerate(splits["train"]) if i not in held_out]
        notes.append(f"{corpus.name} has no dev split: {len(splits['dev'])} training examples were held out instead")
    if "test" in corpus.splits:
        test = corpus.load("test")
        if all(example.label is not None for example in test):
            splits["test"] = test
        else:
            notes.append("the test split has no labels: no test score")
    return splits, notes


def explained(splits: Splits, template: Template) -> tuple[Splits, list[str]]:
    """Without the examples that lack the explanation that a template shows or asks for; one row of e-SNLI's has none."""
    if "{rationale}" not in template.source + template.target:
        return splits, []
    kept = {split: [e for e in examples if e.explanations] for split, examples in splits.items()}
    for split in ("train", "dev"):
        if not kept[split]:
            problem = f"no example of {split} has an explanation, which template '{template.name}' needs"
            raise BadInput(f"{problem}; expected a corpus with explanations")
    notes = []
    for split, examples in splits.items():
        if lacking := len(examples) - len(kept[split]):
            notes.append(f"{lacking} of {len(examples)} examples of {split} have no explanation and are left out")
    return {split: examples for split, examples in kept.items() if examples}, notes
