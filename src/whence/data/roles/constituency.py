"""Semantic roles from a phrase-structure tree, by head and voice rules.

A predicate is the main verb of a verb phrase: auxiliaries (a verb whose sister is a verb phrase) are none. Its roles:

  ARG0       subject of an active verb; the by-phrase of a passive one
  ARG1       object of an active verb, or else its clause ("said that …"); subject of a passive verb; subject of be
  ARG2       the first of two objects; the clause beside an object; what follows be
  PP-in …    a prepositional phrase, by its preposition
  ARGM-ADV   an adverb or adverbial clause of the same clause
  R-…        a relative pronoun, with the role of the noun that it stands for

Passive: a participle (VBN) under a form of be or get, or one that modifies a noun ("the senator investigated in the lab"). A
noun with a relative clause fills the role that is empty there: subject, else the stranded preposition, else object. Coordinated
verb phrases share their subject. An infinitive or participle without a subject of its own takes the object of the verb above,
or else its subject. An argument is the whole phrase with its modifiers; the noun of a relative clause is the phrase before it.

Every subject of an active verb is ARG0, whatever the verb: "the vase broke" and "she broke the vase" are told apart, where
PropBank gives the vase the same role.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from whence.data.roles.lemmas import lemma
from whence.data.roles.roles import Argument, Predicate, Roles, ordered
from whence.data.roles.trees import Tree, read_tree

_VERBS = ("VB", "VBD", "VBG", "VBN", "VBP", "VBZ", "MD", "TO", "AUX")
_CLAUSES = ("S", "SINV", "SQ", "SBARQ")
_Words = tuple[int, int]


@dataclass(frozen=True)
class _Above:
    """What a verb phrase gets from outside: its subject, whether a passive auxiliary stands before it, a noun with a gap."""

    subject: _Words | None = None
    passive: bool = False
    gap: _Words | None = None
    adverbs: tuple[_Words, ...] = ()
    pronoun: _Words | None = None


def roles_of_parse(parse: str, sentence: str) -> Roles:
    """The roles of a sentence with its bracketed parse, e.g. HANS' `sentence1_parse`."""
    top = Tree("TOP", [read_tree(parse, sentence)])  # captions are often a noun phrase alone
    return ordered(list(_clause(top, _Above())))


def _words(tree: Tree) -> _Words:
    return tree.start, tree.end


def _clause(tree: Tree, above: _Above) -> Iterator[Predicate]:
    """A clause or anything that may hold one; `above` has the subject for a clause that has none."""
    verb_phrases = [child for child in tree.children if child.category == "VP"]
    subject = _subject(tree, verb_phrases[0]) if verb_phrases else None
    adverbs = tuple(_words(c) for c in tree.children if verb_phrases and c.category in ("ADVP", "SBAR"))
    for child in tree.children:
        if child.category == "VP":
            yield from _verb_phrase(child, _Above(subject or above.subject, above.passive, above.gap if subject else None,
                                                  adverbs, above.pronoun))  # fmt: skip
        elif child.category == "NP":
            yield from _noun_phrase(child)
        elif child.category in (*_CLAUSES, "SBAR", "ROOT", "TOP") and not verb_phrases:
            yield from _clause(child, above)
        elif child.children:
            yield from _clause(child, _Above())


def _subject(clause: Tree, verb_phrase: Tree) -> _Words | None:
    before = [c for c in clause.children[: clause.children.index(verb_phrase)] if c.category in ("NP", "SBAR", "S")]
    nouns = [c for c in before if c.category == "NP"]
    return _words(nouns[-1]) if nouns else None


def _noun_phrase(tree: Tree) -> Iterator[Predicate]:
    """Relative clauses and participles after a noun: the noun is what came before them."""
    for number, child in enumerate(tree.children):
        noun = (tree.start, child.start)
        if number and child.category == "SBAR" and _is_relative(child):
            yield from _relative(child, noun)
        elif number and child.category in ("VP", "RRC"):
            yield from _verb_phrase(child, _Above(subject=noun, passive=True))
        elif child.children:
            yield from _noun_phrase(child) if child.category == "NP" else _clause(child, _Above())


def _is_relative(clause: Tree) -> bool:
    """ "who left", "she saw"; not "that she left" after "the fact"."""
    return clause.child("WHNP", "WHPP") is not None or clause.children[0].category in _CLAUSES


def _relative(clause: Tree, noun: _Words) -> Iterator[Predicate]:
    opening = clause.child("WHNP", "WHPP")
    pronoun = _words(opening) if opening is not None else None
    inner = clause.child(*_CLAUSES)
    if inner is None:
        return
    yield from _clause(inner, _Above(subject=noun, gap=noun, pronoun=pronoun))


def _verb_phrase(tree: Tree, above: _Above) -> Iterator[Predicate]:
    inner = [child for child in tree.children if child.category == "VP"]
    verbs = [child for child in tree.children if child.text and child.category in _VERBS]
    if inner:  # coordinated, or under an auxiliary
        passive = above.passive if not verbs else lemma(verbs[-1].text) in ("be", "get")
        own = tuple(_words(child) for child in tree.children if child.category == "ADVP")
        for child in tree.children:
            if child.category == "VP":
                yield from _verb_phrase(child, _Above(above.subject, passive, above.gap, above.adverbs + own, above.pronoun))
            elif child.children:
                yield from _clause(child, _Above())
        return
    if verbs:
        yield from _predicate(tree, verbs[-1], above)


def _predicate(tree: Tree, verb: Tree, above: _Above) -> Iterator[Predicate]:
    name = lemma(verb.text)
    passive = above.passive and verb.category == "VBN"
    copula = name == "be"
    found: list[Argument] = [Argument("ARGM-ADV", *words) for words in above.adverbs]
    after = [child for child in tree.children[tree.children.index(verb) + 1 :] if child.children or child.category == "NP"]
    objects = [child for child in after if child.category == "NP"]
    clauses = [child for child in after if child.category in ("S", "SBAR")]
    gap_filled = False
    if above.subject is not None:
        role = "ARG1" if passive or copula else "ARG0"
        found += [Argument(role, *above.subject)]
        if above.pronoun and above.gap is None:
            found += [Argument(f"R-{role}", *above.pronoun)]
    for number, child in enumerate(objects):
        second = "ARG2" if copula or (len(objects) > 1 and number == 0) or passive else "ARG1"
        found.append(Argument(second, *_words(child)))
    for child in after:
        if child.category == "PP":
            preposition = next(child.leaves()).text.lower()
            role = "ARG0" if passive and preposition == "by" else f"PP-{preposition}"
            stranded = child.child("NP", "S", "PP", "ADVP") is None
            if stranded and above.gap is not None:
                found.append(Argument(role, *above.gap))
                gap_filled = True
            else:
                found.append(Argument(role, *_words(child)))
        elif child.category in ("ADJP", "ADVP", "PRT"):
            found.append(Argument("ARG2" if copula else "ARGM-ADV", *_words(child)))
    for child in clauses:
        adverbial = child.category == "SBAR" and child.children[0].category == "IN" and not _opens_complement(child)
        found.append(Argument("ARGM-ADV" if adverbial else "ARG2" if objects or copula else "ARG1", *_words(child)))
    if above.gap is not None and not gap_filled and not passive:
        role = "ARG2" if objects else "ARG1"
        found.append(Argument(role, *above.gap))
        if above.pronoun:
            found.append(Argument(f"R-{role}", *above.pronoun))
    yield Predicate(name, verb.start, tuple(found))
    controller = _words(objects[-1]) if objects else above.subject
    for child in tree.children:
        if child.category == "NP":
            yield from _noun_phrase(child)
        elif child.children:
            yield from _clause(child, _Above(subject=controller) if child.category == "S" else _Above())


def _opens_complement(clause: Tree) -> bool:
    return clause.children[0].text.lower() in ("that", "whether")
