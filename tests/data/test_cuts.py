"""Texts cut from training texts."""

from whence.data import Corpus, Example
from whence.data.cuts import cuts, with_cuts


def test_cut_texts_are_made_of_training_texts_alone() -> None:
    texts = ["a b c d e f", "one", "u v w"]
    examples = [Example(str(i), {"text": text}, "x", highlights=({"text": ((0, 1),)},)) for i, text in enumerate(texts)]
    made = cuts(examples, copies=40, seed=0)
    assert made == cuts(examples, 40, 0) != cuts(examples, 40, 1)
    assert len({e.id for e in made}) == len(made) == 3 * 40
    assert not any(e.highlights for e in made)
    stretches = {" ".join(t.split()[a:b]) for t in texts for a in range(6) for b in range(a + 1, 7)} - {""}
    joined = {f"{head} {tail}" for head in stretches for tail in stretches}
    found = {e.texts["text"] for e in made}
    assert found <= stretches | joined
    assert found & (joined - stretches)
    assert found & stretches
    assert max(len(text.split()) for text in found) <= 6
    corpus = with_cuts(Corpus("c", "text", ("x",), {"train": lambda: iter(examples), "dev": lambda: iter(examples)}), 2, 0)
    assert len(corpus.load("train")) == 9
    assert corpus.load("dev") == examples
