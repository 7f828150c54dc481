"""Role masks: alignments that semantic roles allow, imposed on a frozen model at inference (Jiang et al. 2021, section 4.2.3).

For every premise predicate and hypothesis predicate with the same lemma, Z has ones at the two verbs and in the block of every
two arguments with the same role name (all words of the one phrase by all of the other). Besides:

- words of frames whose predicate the other sentence lacks align as they like: roles say nothing of them;
- a word that is no predicate and in no argument may align with the same word, lower-cased, that is in none either: auxiliaries,
  full stops;
- equal articles may align wherever they stand: "the" has no role of its own.

Everything else is 0. Without two equal predicates there is nothing to go by: all ones. The paper leaves all of this open but
"identical predicates and phrases with the same role"; our choices were made on the training part of HANS (docs/alignments.md).
Cost: one forward pass for a prediction.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from whence.data import Example, words
from whence.data.roles import Predicate, Roles, roles_of_parse
from whence.errors import BadInput
from whence.models import Encoded, Intervention
from whence.run import Request, Result, Runner

ARTICLES = ("a", "an", "the")
PairRoles = tuple[Roles, Roles]
"""The roles of premise and hypothesis."""


def has_match(premise: Roles, hypothesis: Roles) -> bool:
    """Whether the sentences share a predicate, so that roles say anything about how they align."""
    return bool({p.lemma for p in premise} & {h.lemma for h in hypothesis})


def role_mask(premise: Sequence[str], hypothesis: Sequence[str], roles: PairRoles) -> Float[np.ndarray, "premise hypothesis"]:
    """Z from the words of both sentences and their roles."""
    first, second = roles
    if not has_match(first, second):
        return np.ones((len(premise), len(hypothesis)), dtype=np.float32)
    mask = np.zeros((len(premise), len(hypothesis)), dtype=np.float32)
    for p in first:
        for h in second:
            if p.lemma == h.lemma:
                mask[p.word, h.word] = 1
                for a in p.arguments:
                    for b in h.arguments:
                        if a.role == b.role:
                            mask[a.start : a.end, b.start : b.end] = 1
    equal = np.array([[a.lower() == b.lower() for b in hypothesis] for a in premise], dtype=bool).reshape(mask.shape)
    in_frame = [_in_frames(len(several), roles) for several, roles in ((premise, first), (hypothesis, second))]
    shared = {p.lemma for p in first} & {h.lemma for h in second}
    matched = [
        _in_frames(len(several), [r for r in roles if r.lemma in shared])
        for several, roles in ((premise, first), (hypothesis, second))
    ]
    mask[in_frame[0] & ~matched[0]] = 1
    mask[:, in_frame[1] & ~matched[1]] = 1
    mask[equal & ~in_frame[0][:, None] & ~in_frame[1]] = 1
    mask[equal & np.array([word.lower() in ARTICLES for word in premise], dtype=bool)[:, None]] = 1
    return mask


def _in_frames(count: int, roles: Sequence[Predicate]) -> np.ndarray:
    """Which words are predicates or stand in an argument of any → bool[words]."""
    inside = np.zeros(count, dtype=bool)
    for predicate in roles:
        inside[predicate.word] = True
        for argument in predicate.arguments:
            inside[argument.start : argument.end] = True
    return inside


def roles_from_parses(example: Example) -> PairRoles:
    """From the parses that come with the pair (HANS)."""
    try:
        parses = example.meta["sentence1_parse"], example.meta["sentence2_parse"]
    except KeyError:
        raise BadInput(
            f"example '{example.id}' has no parses; expected a corpus that ships them (HANS), or roles from a file"
        ) from None
    premise, hypothesis = (roles_of_parse(parse, text) for parse, text in zip(parses, example.texts.values(), strict=True))
    return premise, hypothesis


def predict_with_roles(runner: Runner, encoded: Sequence[Encoded], roles: Sequence[PairRoles]) -> list[Result]:
    """The frozen model's prediction on every pair, with only the alignments that its roles allow."""
    requests = []
    for pair, pair_roles in zip(encoded, roles, strict=True):
        premise, hypothesis = (words(text) for text in pair.example.texts.values())
        requests.append(Request(pair, Intervention(alignment=role_mask(premise, hypothesis, pair_roles))))
    return runner.run(requests)
