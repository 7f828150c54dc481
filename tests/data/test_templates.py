"""Templates: published formats letter by letter, fields that keep their offsets, outputs that give back label and rationale."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from whence.data import TEMPLATES, Example, Parsed, Template, open_corpus, open_template
from whence.data.planted import choices, scenes
from whence.errors import BadInput

NLI = ("entailment", "neutral", "contradiction")
PAIR = Example("p", {"premise": "A man naps.", "hypothesis": "He sleeps."}, "entailment", explanations=("To nap is to sleep.",))
QUESTION = Example(
    "q", {"question": "Where is it?"}, "C", ("oven", "river", "sea", "bus", "sky"), explanations=("It is at sea.",)
)
THREE = replace(QUESTION, choices=QUESTION.choices[:3])
TEXT = Example("t", {"text": "A charming film."}, "positive")
FIVE = "choice: oven choice: river choice: sea choice: bus choice: sky"

BOTH = "hypothesis: He sleeps. premise: A man naps."

PUBLISHED = [
    ("nli.i-or", PAIR, f"explain nli {BOTH}", "entailment explanation: To nap is to sleep."),
    ("nli.i-r", PAIR, f"explain nli {BOTH}", "None explanation: To nap is to sleep."),
    ("nli.i-o", PAIR, f"explain nli {BOTH}", "entailment"),
    ("nli.r-o", PAIR, "nli explanation: To nap is to sleep.", "entailment"),
    ("nli.ir-o", PAIR, f"nli {BOTH} explanation: To nap is to sleep.", "entailment"),
    ("cose.i-or", QUESTION, f"explain cos_e question: Where is it? {FIVE}", "sea explanation: It is at sea."),
    ("cose.i-or", THREE, "explain cos_e question: Where is it? choice: oven choice: river choice: sea",
     "sea explanation: It is at sea."),
    ("cose.i-r", QUESTION, f"explain cos_e question: Where is it? {FIVE}", "None explanation: It is at sea."),
    ("cose.i-o", QUESTION, f"explain cos_e question: Where is it? {FIVE}", "sea"),
    ("cose.r-o", THREE, "cos_e choice: oven choice: river choice: sea explanation: It is at sea.", "sea"),
    ("cose.ir-o", QUESTION, f"cos_e question: Where is it? {FIVE} explanation: It is at sea.", "sea"),
    ("t5.sst2", TEXT, "sst2 sentence: A charming film.", "positive"),
]  # fmt: skip

PARTS = ["a", "B ", " explanation: ", "explanation:", "Explanation :", "{", "}", "{label}", "{0}", "\n", "|", ".", "U.S. ",
         "Because: ", "ı", "ß", "中", "neutral", " choice: "]  # fmt: skip
HOSTILE = st.lists(st.sampled_from(PARTS) | st.text(max_size=3), max_size=6).map("".join)


@pytest.mark.parametrize(("name", "example", "source", "target"), PUBLISHED)
def test_published_formats(name: str, example: Example, source: str, target: str) -> None:
    template = open_template(name)
    assert template.render(example).text == source
    assert template.render_target(example) == target


def test_a_given_rationale_replaces_the_gold_one() -> None:
    assert open_template("nli.r-o").render(PAIR, "Men | nap.").text == "nli explanation: Men | nap."
    assert open_template("nli.r-o").render(PAIR, "").text == "nli explanation: "


def _example(template: Template, texts: list[str], offered: list[str], label: str, rationale: str) -> Example:
    if "choices" in template.needs or template.name.startswith("cose"):
        return Example("x", {"question": texts[0]}, label, tuple(offered), explanations=(rationale,))
    if "text" in template.needs:
        return Example("x", {"text": texts[0]}, "neutral", explanations=(rationale,))
    return Example("x", {"premise": texts[0], "hypothesis": texts[1]}, "neutral", explanations=(rationale,))


@given(
    st.sampled_from(sorted(TEMPLATES)), st.lists(HOSTILE, min_size=2, max_size=2),
    st.lists(HOSTILE, min_size=3, max_size=3, unique=True), st.sampled_from("ABC"), HOSTILE,
)  # fmt: skip
def test_any_texts_keep_their_places_and_come_back(
    name: str, texts: list[str], offered: list[str], label: str, rationale: str
) -> None:
    template = TEMPLATES[name]
    example = _example(template, texts, offered, label, rationale)
    rendered = template.render(example)
    values = {**example.texts, **{f"choice {i}": c for i, c in enumerate(offered)}, "rationale": rationale}
    assert {field: rendered.text[a:b] for field, (a, b) in rendered.fields.items()} == {f: values[f] for f in rendered.fields}
    assert {"question", *(f"choice {i}" for i in range(3))} <= set(rendered.fields) or template.needs != (
        "question",
        "choices",
    )
    candidates = template.candidates(example, "ABC" if example.choices else NLI)
    right = example.label if "{letter}" in template.target else example.answer
    for delimiter in (
        " explanation: ",
        "\nBecause: ",
    ):  # ambiguous: the first is taken
        assume(not any(right.startswith(other + delimiter) for other in candidates))
    assume(not template.stop or template.stop not in rationale)
    parsed = template.parse(template.render_target(example), candidates)
    assert parsed.label == (right if "{l" in template.target else None)
    assert parsed.rationale == (rationale.strip() if "{rationale}" in template.target else None)
    assert parsed.label is None or template.answer(parsed.label) in template.render_target(example)


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("entailment explanation: A man naps.</s><pad>", Parsed("entailment", "A man naps.")),
        ("<pad> entailment explanation: A man naps.", Parsed("entailment", "A man naps.")),
        ("  Entailment   EXPLANATION:A man naps. ", Parsed("entailment", "A man naps.")),
        ("entailment explanation: so explanation: twice", Parsed("entailment", "so explanation: twice")),
        ("entailment explanation: it <extra_id_0> naps", Parsed("entailment", "it")),
        ("entailment explanation: it naps [EOS] more", Parsed("entailment", "it naps")),
        ("entailment. explanation: it naps", Parsed("entailment", "it naps")),
        ("entailment explanation:", Parsed("entailment", "")),
        ("perhaps explanation: it naps", Parsed(None, "it naps")),
        ("entailment", Parsed("entailment", None)),
        ("entailment A man naps", Parsed(None, None)),
        ("entailments explanation: it naps", Parsed(None, "it naps")),
        ("not entailment explanation: it naps", Parsed(None, "it naps")),
        ("<extra_id_0> explanation: <extra_id_1>", Parsed(None, "")),
        ("", Parsed(None, None)),
    ],
)
def test_outputs_with_a_rationale(output: str, expected: Parsed) -> None:
    assert open_template("nli.i-or").parse(output, NLI) == expected


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("oven</s>", "oven"), ("<pad> Oven ", "oven"), ("oven. And then", "oven"), ("oven\nQuestion: x", "oven"),
        ("u.s. army base. It", "U.S. army base"), ("U.S.", "U.S."), ("U.S. and", "U.S."), ("oven<extra_id_3>", "oven"),
        ("oven door", None), ("the oven", None), ("", None), ("explanation: x", "explanation: x"), ("us", "us"), ("US", "US"),
    ],
)  # fmt: skip
def test_labels_alone(output: str, expected: str | None) -> None:
    offered = ("oven", "U.S.", "U.S. army base", "explanation: x", "US", "us")
    assert open_template("cose.i-o").parse(output, offered) == Parsed(expected, None)


def test_a_choice_that_holds_the_delimiter_is_found() -> None:
    offered = ("an explanation: long", "a sentence")
    parsed = open_template("cose.i-or").parse("an explanation: long explanation: because", offered)
    assert parsed == Parsed("an explanation: long", "because")


@pytest.mark.parametrize(
    ("output", "expected"),
    [("None explanation: it", "it"), ("explanation: it", "it"), ("neutral explanation: it", "it"), ("it", None)],
)
def test_rationales_alone(output: str, expected: str | None) -> None:
    assert open_template("nli.i-r").parse(output, NLI) == Parsed(None, expected)


def test_a_causal_model_that_goes_on_is_cut() -> None:
    output = " neutral\nBecause: Boys do.\n\nPremise: A dog"
    assert open_template("prompt.nli-why").parse(output, NLI) == Parsed("neutral", "Boys do.")


def test_a_rationale_may_come_first() -> None:
    template = Template("own", "{text}", "{rationale} So: {label}.")
    assert template.parse("It is So: so. So: Positive. And", ("negative", "positive")) == Parsed("positive", "It is So: so.")
    with pytest.raises(BadInput, match="does not begin with a label"):
        template.answer("positive")


def test_highlights_of_choice_corpora_keep_their_offsets() -> None:
    for name in ("cose.i-or", "prompt.choice-few"):
        for example in choices(0, 5).load("dev", 20):
            rendered = open_template(name).render(example)
            [span] = example.highlights[0]["question"]
            a, b = rendered.place("question", span)
            assert rendered.text[a:b] == example.texts["question"][slice(*span)]
            assert open_template(name).candidates(example, "ABCDE") == example.choices
            assert example.answer == example.meta["answer"]


def test_few_shot_prompts_show_the_demonstrations_first() -> None:
    few, zero = open_template("prompt.nli-few"), open_template("prompt.nli")
    example = scenes(0).load("dev", 1)[0]
    text = few.render(example).text
    assert text.endswith(zero.render(example).text)
    shown = [zero.render(e).text + f" {e.label}" for e in few.demonstrations]
    assert text == "\n\n".join([*shown, zero.render(example).text])
    assert {e.label for e in few.demonstrations} == set(NLI)


@pytest.mark.parametrize("ending", ["json", "toml"])
def test_a_file_of_ones_own(tmp_path: Path, ending: str) -> None:
    shown = {"text": "A {dull} film.", "label": "negative"}
    given = {"source": "Review: {text}\nSentiment:", "target": " {label}", "stop": "\n", "demonstrations": [shown]}
    path = tmp_path / f"mine.{ending}"
    tables = "\n".join(f"{k} = {json.dumps(v)}" for k, v in given.items() if k != "demonstrations")
    rows = "[[demonstrations]]\n" + "\n".join(f"{k} = {json.dumps(v)}" for k, v in shown.items())
    path.write_text(json.dumps(given) if ending == "json" else f"{tables}\n{rows}")
    template = open_template(str(path))
    assert template.render(TEXT).text == "Review: A {dull} film.\nSentiment: negative\n\nReview: A charming film.\nSentiment:"
    assert template.parse(" Positive\nReview", ("negative", "positive")).label == "positive"


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("[]", "expected a table"),
        ("{", "not JSON"),
        ('{"source": "{text}"}', "no target"),
        ('{"source": 3, "target": "{label}"}', "source is 3"),
        ('{"source": "{text}", "target": "{label}", "x": 1}', "unknown key 'x'"),
        ('{"source": "{text", "target": "{label}"}', "cannot be read"),
        ('{"source": "{body}", "target": "{label}"}', "field 'body'"),
        ('{"source": "{text:>9}", "target": "{label}"}', "cannot be read"),
        ('{"source": "{}", "target": "{label}"}', "field ''"),
        ('{"source": "hello", "target": "{label}"}', "no field"),
        ('{"source": "{text}{text}", "target": "{label}"}', "twice"),
        ('{"source": "{text}", "target": "{label}{rationale}"}', "nothing between"),
        ('{"source": "{text}", "target": "{label} {letter}"}', "both label and letter"),
        ('{"source": "{text}", "target": "{label}", "demonstrations": 3}', "list of tables"),
        ('{"source": "{text}", "target": "{label}", "demonstrations": [3]}', "demonstration 1: 3"),
        ('{"source": "{text}", "target": "{label}", "demonstrations": [{"text": "a"}]}', "needs the field 'label'"),
        ('{"source": "{text}", "target": "{label}", "demonstrations": [{"body": "a"}]}', "unknown key 'body'"),
        ('{"source": "{text}", "target": "{label}", "demonstrations": [{"choices": [1]}]}', "list of texts"),
    ],
)
def test_bad_files_are_one_line(tmp_path: Path, written: str, message: str) -> None:
    path = tmp_path / "bad.json"
    path.write_text(written)
    with pytest.raises(BadInput, match=message) as caught:
        open_template(str(path))
    assert "\n" not in str(caught.value)


def test_unknown_names_and_missing_files() -> None:
    with pytest.raises(BadInput, match=r"unknown template 'nope'.*nli\.i-or"):
        open_template("nope")
    with pytest.raises(BadInput, match="No such file"):
        open_template("none/here.toml")


def test_fields_that_the_example_lacks() -> None:
    for name, example, field in (
        ("nli.i-or", TEXT, "hypothesis"), ("cose.i-o", PAIR, "question"),
        ("nli.r-o", replace(PAIR, explanations=()), "rationale"), ("choice", replace(QUESTION, choices=()), "choices"),
    ):  # fmt: skip
        with pytest.raises(BadInput, match=f"template '{name}' needs the field '{field}'"):
            open_template(name).render(example)
    with pytest.raises(BadInput, match="needs the field 'label'"):
        open_template("nli.i-o").render_target(replace(PAIR, label=None))
    with pytest.raises(BadInput, match="has the label 'E'"):
        open_template("cose.i-o").render_target(replace(THREE, label="E"))
    with pytest.raises(BadInput, match="has 3 choices; expected 5"):
        open_template("cose.i-o").candidates(THREE, "ABCDE")


@pytest.mark.realdata
@pytest.mark.parametrize(("corpus", "name"), [("esnli", "nli.i-or"), ("cose_v1.0", "cose.i-or"), ("cose_v1.11", "cose.i-or")])
def test_every_published_row_comes_back(data_root: Path, corpus: str, name: str) -> None:
    template, opened = open_template(name), open_corpus(corpus, data_root)
    for example in opened.load("dev"):
        parsed = template.parse(template.render_target(example), template.candidates(example, opened.labels))
        assert parsed == Parsed(example.answer, example.explanations[0].strip())
