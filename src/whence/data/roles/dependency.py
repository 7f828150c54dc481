"""Semantic roles from a dependency parser that the user names: a spaCy pipeline ("en_core_web_sm"), or docs like its own.

Relations of both schemes that spaCy pipelines use are read (ClearNLP's dobj, nsubjpass, agent; Universal Dependencies' obj,
nsubj:pass, obl:agent). Roles are named as in `constituency.py`. An argument is the whole subtree of its head, except that the
noun which a clause modifies ends where that clause begins.
"""

from collections.abc import Iterable
from typing import Any

from whence.data.roles.roles import Argument, Predicate, Roles, ordered, words_in
from whence.data.words import Span, word_spans
from whence.errors import BadInput

_ACTIVE_SUBJECT = {"nsubj", "csubj"}
_PASSIVE_SUBJECT = {"nsubjpass", "csubjpass", "nsubj:pass", "csubj:pass"}
_OBJECT = {"dobj", "obj"}
_SECOND_OBJECT = {"dative", "iobj"}
_AGENT = {"agent", "obl:agent"}
_CLAUSE = {"ccomp", "xcomp"}
_COMPLEMENT = {"attr", "acomp"}
_ADVERBIAL = {"advmod", "advcl", "npadvmod", "obl:tmod"}
_OF_A_NOUN = {"relcl", "acl", "acl:relcl"}
_RELATIVE_PRONOUNS = {"who", "whom", "which", "that", "whose"}


def roles_by_parser(pipeline: str, sentences: Iterable[str]) -> list[Roles]:
    """Parse with the spaCy pipeline of that name and read the roles off."""
    try:
        import spacy
    except ImportError:
        raise BadInput(f"roles by the parser '{pipeline}' need spaCy, which is not installed (pip install spacy)") from None
    try:
        parser = spacy.load(pipeline)
    except OSError as error:
        raise BadInput(f"'{pipeline}' is not an installed spaCy pipeline ({str(error).splitlines()[0]})") from None
    return [roles_of_doc(doc) for doc in parser.pipe(sentences)]


def roles_of_doc(doc: Any) -> Roles:
    """The roles of a parsed sentence (a spaCy Doc)."""
    spans = word_spans(doc.text)
    verbs = [
        token for token in doc if token.pos_ in ("VERB", "AUX") and token.dep_ not in ("aux", "auxpass", "aux:pass", "cop")
    ]
    return ordered([p for verb in verbs if (p := _predicate(verb, spans)) is not None])


def _predicate(verb: Any, spans: list[Span]) -> Predicate | None:
    here = _in_words([verb], spans)
    if here is None:
        return None
    passive = any(c.dep_ in {"auxpass", "aux:pass"} | _PASSIVE_SUBJECT for c in verb.children)
    passive = passive or (verb.dep_ == "acl" and verb.tag_ == "VBN")
    found = [(role, _in_words(_phrase(child), spans)) for child in verb.children for role in _roles(child, verb, passive)]
    if not any(role in ("ARG0", "ARG1") and child.dep_ in _ACTIVE_SUBJECT | _PASSIVE_SUBJECT
               for child in verb.children for role in _roles(child, verb, passive)):  # fmt: skip
        subject = _borrowed_subject(verb)
        if subject is not None:
            found.append(("ARG1" if passive else "ARG0", _in_words(subject, spans)))
    found += _gap(verb, [role for role, _ in found], spans)
    return Predicate(verb.lemma_.lower(), here[0], tuple(Argument(role, *words) for role, words in found if words is not None))


def _roles(child: Any, verb: Any, passive: bool) -> list[str]:
    relation, relative = child.dep_, child.text.lower() in _RELATIVE_PRONOUNS and verb.dep_ in _OF_A_NOUN
    copula = verb.lemma_.lower() == "be"
    role = None
    if relation in _PASSIVE_SUBJECT or relation in _ACTIVE_SUBJECT:
        role = "ARG1" if passive or copula or relation in _PASSIVE_SUBJECT else "ARG0"
    elif relation in _OBJECT:
        role = "ARG1"
    elif relation in _SECOND_OBJECT or relation in _COMPLEMENT:
        role = "ARG2"
    elif relation in _AGENT:
        role = "ARG0"
    elif relation in _CLAUSE:
        role = "ARG2" if any(c.dep_ in _OBJECT for c in verb.children) else "ARG1"
    elif relation == "prep":
        role = f"PP-{child.text.lower()}"
    elif relation == "obl":
        case = next((c for c in child.children if c.dep_ == "case"), None)
        role = "ARGM-ADV" if case is None else "ARG0" if passive and case.text.lower() == "by" else f"PP-{case.text.lower()}"
    elif relation in _ADVERBIAL:
        role = "ARGM-ADV"
    if role is None:
        return []
    return [f"R-{role}"] if relative else [role]


def _phrase(head: Any) -> list[Any]:
    return list(head.subtree)


def _noun_before(verb: Any) -> list[Any]:
    """The noun that a clause modifies, up to where the clause begins."""
    clause = min(token.i for token in verb.subtree)
    return [token for token in verb.head.subtree if token.i < clause]


def _borrowed_subject(verb: Any) -> list[Any] | None:
    """The subject of a verb that has none: of the verb it is coordinated with, of the verb above, or the noun it modifies."""
    if verb.dep_ in _OF_A_NOUN:
        subjects = [c for c in verb.children if c.dep_ in _ACTIVE_SUBJECT | _PASSIVE_SUBJECT]
        own = any(c.text.lower() not in _RELATIVE_PRONOUNS for c in subjects)
        return None if own else _noun_before(verb)
    if verb.dep_ in ("conj", "xcomp"):
        wanted = [_OBJECT] if verb.dep_ == "xcomp" else []
        for relations in [*wanted, _ACTIVE_SUBJECT | _PASSIVE_SUBJECT]:
            for child in verb.head.children:
                if child.dep_ in relations:
                    return _phrase(child)
    return None


def _gap(verb: Any, filled: list[str], spans: list[Span]) -> list[tuple[str, Span | None]]:
    """A relative clause with a subject of its own: the noun is its object ("the dog that she saw"), unless it has one."""
    if verb.dep_ not in ("relcl", "acl:relcl") or "ARG1" in filled:
        return []
    own_subject = any(c.dep_ in _ACTIVE_SUBJECT and c.text.lower() not in _RELATIVE_PRONOUNS for c in verb.children)
    return [("ARG1", _in_words(_noun_before(verb), spans))] if own_subject else []


def _in_words(tokens: list[Any], spans: list[Span]) -> Span | None:
    if not tokens:
        return None
    first, last = min(tokens, key=lambda t: t.i), max(tokens, key=lambda t: t.i)
    return words_in(spans, first.idx, last.idx + len(last.text))
