"""Semantic roles: hand-worked sentences by the rules, files of SRL systems, and docs of a dependency parser."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from whence.data import open_corpus, words
from whence.data.roles import Roles, lemma, read_roles, roles_by_parser, roles_of_doc, roles_of_parse
from whence.errors import BadInput


def told(roles: Roles, sentence: str) -> dict[str, dict[str, str]]:
    """Lemma → role → phrase, for reading."""
    found = words(sentence)
    return {p.lemma: {a.role: " ".join(found[a.start : a.end]) for a in p.arguments} for p in roles}


def of(parse: str) -> dict[str, dict[str, str]]:
    sentence = " ".join(part.split()[-1] for part in parse.replace(")", " ) ").split(")") if part.strip())
    return told(roles_of_parse(parse, sentence), sentence)


CASES = {
    "active": (
        "(ROOT (S (NP (DT The) (NN doctor)) (VP (VBD saw) (NP (DT the) (NN lawyer))) (. .)))",
        {"see": {"ARG0": "The doctor", "ARG1": "the lawyer"}},
    ),
    "passive": (
        "(S (NP (NNS Artists)) (VP (VBD were) (VP (VBN admired) (PP (IN by) (NP (NNS judges))) (PP (IN in) (NP (NNP Rome))))))",
        {"admire": {"ARG1": "Artists", "ARG0": "by judges", "PP-in": "in Rome"}},
    ),
    "perfect is no passive": (
        "(S (NP (NNS Artists)) (VP (VBP have) (VP (VBN admired) (NP (NNS judges)))))",
        {"admire": {"ARG0": "Artists", "ARG1": "judges"}},
    ),
    "long auxiliary": (
        "(S (NP (PRP It)) (VP (MD might) (RB not) (VP (VB have) (VP (VBN been) (VP (VBN stolen))))))",
        {"steal": {"ARG1": "It"}},
    ),
    "subject relative": (
        "(S (NP (NP (DT The) (NN man)) (SBAR (WHNP (WP who)) (S (VP (VBD helped) (NP (NNP Ann)))))) (VP (VBD slept)))",
        {"help": {"ARG0": "The man", "R-ARG0": "who", "ARG1": "Ann"}, "sleep": {"ARG0": "The man who helped Ann"}},
    ),
    "object relative": (
        "(S (NP (NP (DT The) (NN man)) (SBAR (WHNP (WDT that)) (S (NP (NNP Ann)) (VP (VBD helped))))) (VP (VBD slept)))",
        {"help": {"ARG1": "The man", "R-ARG1": "that", "ARG0": "Ann"}, "sleep": {"ARG0": "The man that Ann helped"}},
    ),
    "relative without pronoun": (
        "(S (NP (PRP I)) (VP (VBP know) (NP (NP (DT the) (NN man)) (SBAR (S (NP (NNP Ann)) (VP (VBD helped)))))))",
        {"know": {"ARG0": "I", "ARG1": "the man Ann helped"}, "help": {"ARG0": "Ann", "ARG1": "the man"}},
    ),
    "stranded preposition": (
        "(NP (NP (DT the) (NN man)) (SBAR (WHNP (WDT that)) (S (NP (PRP she)) (VP (VBD talked) (PP (TO to))))))",
        {"talk": {"ARG0": "she", "PP-to": "the man"}},
    ),
    "passive relative": (
        "(S (NP (NP (NNS Men)) (SBAR (WHNP (WP who)) (S (VP (VBD were) (VP (VBN paid)))))) (VP (VBD left)))",
        {"pay": {"ARG1": "Men", "R-ARG1": "who"}, "leave": {"ARG0": "Men who were paid"}},
    ),
    "reduced relative": (
        "(S (NP (NP (NNS Men)) (VP (VBN paid) (PP (IN in) (NP (NNP Rome))))) (VP (VBD left)))",
        {"pay": {"ARG1": "Men", "PP-in": "in Rome"}, "leave": {"ARG0": "Men paid in Rome"}},
    ),
    "participle": (
        "(S (NP (NP (NNS Men)) (VP (VBG paying) (NP (NNP Ann)))) (VP (VBD left)))",
        {"pay": {"ARG0": "Men", "ARG1": "Ann"}, "leave": {"ARG0": "Men paying Ann"}},
    ),
    "coordinated verbs": (
        "(S (NP (NNP Ann)) (VP (VP (VBD sang)) (CC and) (VP (VBD saw) (NP (NNP Bob)))))",
        {"sing": {"ARG0": "Ann"}, "see": {"ARG0": "Ann", "ARG1": "Bob"}},
    ),
    "coordinated nouns": (
        "(S (NP (NP (NNP Ann)) (CC and) (NP (NNP Eve))) (VP (VBD saw) (NP (NNP Bob))))",
        {"see": {"ARG0": "Ann and Eve", "ARG1": "Bob"}},
    ),
    "clause as object": (
        "(S (NP (NNP Ann)) (VP (VBD said) (SBAR (IN that) (S (NP (NNP Bob)) (VP (VBD slept))))))",
        {"say": {"ARG0": "Ann", "ARG1": "that Bob slept"}, "sleep": {"ARG0": "Bob"}},
    ),
    "adverbial clauses": (
        "(S (SBAR (IN Before) (S (NP (NNP Ann)) (VP (VBD studied)))) (NP (NNP Bob)) (VP (VBD left) "
        "(SBAR (IN because) (S (NP (NNP Eve)) (VP (VBD slept))))))",
        {"study": {"ARG0": "Ann"}, "leave": {"ARG0": "Bob", "ARGM-ADV": "because Eve slept"}, "sleep": {"ARG0": "Eve"}},
    ),
    "two objects": (
        "(S (NP (NNP Ann)) (VP (VBD gave) (NP (NNP Bob)) (NP (NNS flowers))))",
        {"give": {"ARG0": "Ann", "ARG2": "Bob", "ARG1": "flowers"}},
    ),
    "control": (
        "(S (NP (NNP Ann)) (VP (VBD wanted) (S (VP (TO to) (VP (VB see) (NP (NNP Bob)))))))",
        {"want": {"ARG0": "Ann", "ARG1": "to see Bob"}, "see": {"ARG0": "Ann", "ARG1": "Bob"}},
    ),
    "copula": (
        "(S (NP (NNP Ann)) (VP (VBZ is) (NP (DT a) (NN judge))))",
        {"be": {"ARG1": "Ann", "ARG2": "a judge"}},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_roles_by_the_rules(name: str) -> None:
    parse, expected = CASES[name]
    assert of(parse) == expected


def test_a_word_of_two_leaves_and_a_leaf_of_two_words() -> None:
    parse = "(S (NP (PRP I)) (VP (VBD did) (RB n't) (VP (VB eat) (NP (DT the) (NN ice cream)))))"
    (eat,) = roles_of_parse(parse, "I didn't eat the ice cream")
    assert eat.word == 2
    assert {(a.role, a.start, a.end) for a in eat.arguments} == {("ARG0", 0, 1), ("ARG1", 3, 6)}


@pytest.mark.parametrize(
    ("parse", "problem"),
    [
        ("(S (NP (NN dog))", "never closed"),
        ("(S (NN dog)))", "never opened"),
        ("", "there is no tree"),
        ("(S (NN cat))", "'cat'"),
    ],
)
def test_bad_parses(parse: str, problem: str) -> None:
    with pytest.raises(BadInput, match=problem):
        roles_of_parse(parse, "dog")


@pytest.mark.parametrize(
    ("forms", "expected"),
    [
        ("support supports supported supporting", "support"), ("admires admired admiring", "admire"),
        ("stops stopped stopping", "stop"), ("studies studied studying", "study"), ("calls called calling", "call"),
        ("watches watched watching", "watch"), ("hopes hoped hoping", "hope"), ("hops hopped hopping", "hop"),
        ("investigates investigated investigating", "investigate"), ("saw seen sees seeing", "see"), ("IS were been", "be"),
        ("dances danced dancing", "dance"), ("visits visited visiting", "visit"), ("opens opened opening", "open"),
        ("avoids avoided avoiding", "avoid"), ("recognizes recognized recognizing", "recognize"), ("rinses rinsed", "rinse"),
    ],
)  # fmt: skip
def test_lemmas(forms: str, expected: str) -> None:
    assert {lemma(form) for form in forms.split()} == {expected}


def write(path: Path, *rows: Any) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_files_by_characters_and_by_tags(tmp_path: Path) -> None:
    text = "The dogs saw a cat."
    spans = {"text": text, "predicates": [
        {"span": [9, 12], "arguments": [{"role": "ARG1", "span": [13, 18]}, {"role": "ARG0", "span": [0, 8]}]}
    ]}  # fmt: skip
    tags = {"words": ["The", "dogs", "saw", "a", "cat", "."], "text": text, "verbs": [
        {"verb": "saw", "tags": ["B-ARG0", "I-ARG0", "B-V", "B-ARG1", "I-ARG1", "O"]}, {"verb": "x", "tags": ["O"] * 6}
    ]}  # fmt: skip
    expected = {"see": {"ARG0": "The dogs", "ARG1": "a cat"}}
    by_characters, by_tags = (read_roles(write(tmp_path / f"{i}.jsonl", row)) for i, row in enumerate((spans, tags)))
    assert told(by_characters[text], text) == told(by_tags[text], text) == expected
    assert by_characters == by_tags
    named = read_roles(write(tmp_path / "c.jsonl", {"text": text, "predicates": [{"span": [9, 12], "lemma": "Behold"}]}))
    assert named[text][0].lemma == "behold"


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"text": "a"}, "row 2: no 'text' with a list 'predicates'"),
        ({"text": "a", "predicates": [{"span": [0, 9]}]}, r"row 2: span \[0, 9\] is not inside"),
        ({"text": "a", "predicates": [{"span": "0-1"}]}, "row 2: span '0-1'"),
        ({"text": "a b", "predicates": [{"span": [0, 1], "arguments": [{"span": [2, 3]}]}]}, "row 2: role None"),
        ({"text": "a b", "predicates": [{"span": [1, 2]}]}, "holds no word"),
        ({"words": ["a"], "verbs": [{"tags": []}]}, "row 2: a verb has 0 tags; expected one for each of the 1 words"),
        ({"words": ["a"], "text": "b", "verbs": []}, "'a' does not come next"),
    ],
)
def test_bad_rows_are_named(tmp_path: Path, row: Any, problem: str) -> None:
    with pytest.raises(BadInput, match=problem):
        read_roles(write(tmp_path / "roles.jsonl", {"text": "fine", "predicates": []}, row))


def doc(text: str, *rows: tuple[str, str, str, int]) -> Any:
    """A stand-in for a spaCy Doc: (tag, lemma, relation, head) of every word."""
    tokens: list[Any] = []
    at = 0
    for i, (word, (tag, base, relation, _)) in enumerate(zip(text.split(), rows, strict=True)):
        pos = "AUX" if relation.startswith("aux") else "VERB" if tag.startswith("VB") else "X"
        tokens.append(SimpleNamespace(i=i, idx=text.index(word, at), text=word, tag_=tag, lemma_=base, dep_=relation, pos_=pos))
        at = tokens[-1].idx + len(word)
    for token, (*_, head) in zip(tokens, rows, strict=True):
        token.head = tokens[head]
        token.children = [tokens[j] for j, row in enumerate(rows) if row[3] == token.i and j != token.i]
    for token in tokens:
        inside, queue = [], [token]
        while queue:
            inside.append(queue.pop())
            queue += inside[-1].children
        token.subtree = sorted(inside, key=lambda t: t.i)

    class Doc(list):  # a Doc is a sequence of tokens with a text
        pass

    made = Doc(tokens)
    made.text = text  # type: ignore[attr-defined]
    return made


def test_roles_of_a_dependency_parse() -> None:
    text = "The man that Ann helped was paid by Bob"
    parsed = doc(
        text, ("DT", "the", "det", 1), ("NN", "man", "nsubjpass", 6), ("WDT", "that", "dobj", 4), ("NNP", "Ann", "nsubj", 4),
        ("VBD", "help", "relcl", 1), ("VBD", "be", "auxpass", 6), ("VBN", "pay", "ROOT", 6), ("IN", "by", "agent", 6),
        ("NNP", "Bob", "pobj", 7),
    )  # fmt: skip
    assert told(roles_of_doc(parsed), text) == {
        "help": {"ARG0": "Ann", "R-ARG1": "that", "ARG1": "The man"},
        "pay": {"ARG1": "The man that Ann helped", "ARG0": "by Bob"},
    }


def test_universal_dependencies_and_shared_subjects() -> None:
    text = "Ann sang and met Bob in Rome"
    parsed = doc(
        text, ("NNP", "Ann", "nsubj", 1), ("VBD", "sing", "ROOT", 1), ("CC", "and", "cc", 3), ("VBD", "meet", "conj", 1),
        ("NNP", "Bob", "obj", 3), ("IN", "in", "case", 6), ("NNP", "Rome", "obl", 3),
    )  # fmt: skip
    assert told(roles_of_doc(parsed), text) == {
        "sing": {"ARG0": "Ann"},
        "meet": {"ARG0": "Ann", "ARG1": "Bob", "PP-in": "in Rome"},
    }


def test_a_parser_that_is_not_there() -> None:
    with pytest.raises(BadInput, match="spaCy"):
        roles_by_parser("no_such_pipeline", ["A dog ."])


@pytest.mark.realdata
def test_every_sentence_of_hans_has_its_predicates(data_root: Path) -> None:
    """Every verb in the past tense that is no auxiliary is a predicate with a subject."""
    for example in open_corpus("hans", root=data_root).load("train", 2000):
        for number, text in enumerate(example.texts.values(), 1):
            parse = example.meta[f"sentence{number}_parse"]
            verbs = parse.count("(VBD ") + parse.count("(VBN ") - parse.count("(VBD was)") - parse.count("(VBD were)")
            roles = roles_of_parse(parse, text)
            assert len(roles) == verbs
            assert all({"ARG0", "ARG1"} & {a.role for a in p.arguments} for p in roles)
