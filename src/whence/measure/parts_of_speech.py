"""Where importance goes, by part of speech: the mean over all words with a tag, for models side by side.

  importance(t) = mean over words w with tag t of n · |s(w)| / Σ_v |s(v)|,   n words in w's text, so that a text's mean is 1

(After Chrysostomou & Aletras 2021, appendix G; their code takes a softmax of each text's scores instead, which hardly tells
small numbers apart.) Words are tagged in their text, once for all models. A tagger is any function
from the words of a text to as many tags; `nltk_tagger` and `spacy_tagger` make one from what is installed. Cost: no passes.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from whence.errors import BadInput
from whence.explain import TokenScores
from whence.measure.measure import mean
from whence.measure.statistics import Estimate, bootstrap

Tagger = Callable[[Sequence[str]], Sequence[str]]


def tagger_named(name: str) -> Tagger:
    """ "nltk", or the name of a spaCy pipeline."""
    return nltk_tagger() if name == "nltk" else spacy_tagger(name)


def nltk_tagger() -> Tagger:
    """NLTK's perceptron with universal tags (ADJ, ADP, ADV, CONJ, DET, NOUN, NUM, PRT, PRON, VERB, ".", X)."""
    try:
        import nltk
    except ImportError as error:
        raise BadInput("part-of-speech tags need NLTK, which is not installed; expected: pip install 'whence[tags]'") from error

    def tag(words: Sequence[str]) -> list[str]:
        return [found for _, found in nltk.pos_tag(list(words), tagset="universal")]

    try:
        tag(["word"])
    except LookupError as error:
        raise BadInput(
            "NLTK finds no tagger: set NLTK_DATA to its folder, or fetch it with "
            "python -m nltk.downloader averaged_perceptron_tagger_eng universal_tagset"
        ) from error
    return tag


def spacy_tagger(pipeline: str) -> Tagger:
    """A spaCy pipeline by its name or folder; it tags our words, not its own."""
    try:
        import spacy
    except ImportError as error:
        raise BadInput(f"pipeline '{pipeline}' needs spaCy, which is not installed; expected: pip install spacy") from error
    try:
        loaded = spacy.load(pipeline)
    except OSError as error:
        raise BadInput(f"spaCy has no pipeline '{pipeline}'; expected its name, once downloaded, or its folder") from error

    def tag(words: Sequence[str]) -> list[str]:
        return [token.pos_ for token in loaded(spacy.tokens.Doc(loaded.vocab, words=list(words)))]

    return tag


@dataclass(frozen=True)
class TagImportance:
    """One tag under one model. The interval is of the mean over words, resampled by text."""

    model: str
    tag: str
    words: int
    importance: Estimate


def relative_importance(scores: Float[np.ndarray, " words"]) -> Float[np.ndarray, " words"]:
    """Shares of the total magnitude, 1 on average; scores that are all 0 say the same of every word."""
    total = np.abs(scores).sum()
    return np.abs(scores) * len(scores) / total if total > 0 else np.ones(len(scores))


def by_tag(explanations: Mapping[str, Sequence[TokenScores]], tagger: Tagger, seed: int = 0) -> list[TagImportance]:
    """`explanations` of the same texts under each model; tags with the most words first."""
    texts = [[(x.id, dict(x.texts)) for x in several] for several in explanations.values()]
    if any(other != texts[0] for other in texts[1:]):
        raise BadInput("the models' explanations are of different texts; expected the same texts in the same order")
    tags = [np.array([tag for words in _words_by_text(x) for tag in tagger(words)]) for x in next(iter(explanations.values()))]
    counted = Counter(str(tag) for its_tags in tags for tag in its_tags)
    found = []
    for tag in sorted(counted, key=lambda tag: (-counted[tag], tag)):
        for model, several in explanations.items():
            rows = []
            for x, its_tags in zip(several, tags, strict=True):
                here = its_tags == tag
                if here.any():
                    rows.append([relative_importance(np.array(x.scores))[here].sum(), here.sum()])
            found.append(TagImportance(model, tag, counted[tag], bootstrap(np.array(rows), _ratio, seed)))
    return found


def _ratio(rows: Float[np.ndarray, "*batch texts 2"]) -> Float[np.ndarray, " *batch"]:
    return mean(rows) / mean(rows[..., 1:])


def _words_by_text(explanation: TokenScores) -> list[list[str]]:
    return [[explanation.texts[name][a:b] for a, b in spans] for name, spans in explanation.spans.items()]
