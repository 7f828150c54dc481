"""Rationales: parts of the output, the probabilities beside it, saved and shown."""

import io
from pathlib import Path

import numpy as np
import pytest
import torch
from rich.console import Console
from zoo import CAUSAL, SEQ2SEQ

from whence.data import Example
from whence.data.template import Template, open_template
from whence.errors import BadInput
from whence.explain.text import Rationale, load_rationales, noise_on, save_rationales, write_rationales
from whence.explain.text.write import token_parts
from whence.models import Causal, Seq2Seq
from whence.run import Request, Runner

PAIRS = [
    Example("a", {"premise": "the old cat sat", "hypothesis": "a dog slept"}, "yes"),
    Example("b", {"premise": "a good film", "hypothesis": "the film is good and old"}, "no"),
]


def writer(kind: str = "t5") -> Runner:
    build, adapter = (SEQ2SEQ[kind], Seq2Seq) if kind in SEQ2SEQ else (CAUSAL[kind], Causal)
    return Runner(adapter(*build(), "nli.i-or", ("yes", "no")))


@pytest.mark.parametrize(
    ("template", "tokens", "label", "expected"),
    [
        ("nli.i-or", ["neutral", " explanation", ":", " cats", " explanation", ":", " x"], "neutral", "L..RRRR"),
        ("nli.i-or", [" neu", "tral", " explanation: c", "ats"], "neutral", "LL.R"),
        ("nli.i-or", ["Neutral", "  explanation", ": ", "it", " is", "</s>", "more"], "neutral", "L..RR.."),
        ("nli.i-or", ["no", " idea"], None, ".."),
        ("nli.i-r", ["None", " explanation", ":", " cats"], None, "...R"),
        ("nli.i-o", ["neutral"], "neutral", "L"),
    ],
)
def test_parts(template: str, tokens: list[str], label: str | None, expected: str) -> None:
    text = "".join(tokens)
    ends = np.cumsum([len(token) for token in tokens]).tolist()
    parsed = open_template(template).parse(text, ("entailment", "neutral"))
    parts = token_parts(open_template(template), text, parsed, ends)
    assert parsed.label == label
    assert "".join({"label": "L", "rationale": "R", "": "."}[part] for part in parts) == expected


def test_parts_of_a_rationale_that_comes_first() -> None:
    template = Template("why-first", "{text}", "{rationale} so {label}")
    tokens = ["so", " good", " so", " yes"]
    parsed = template.parse("".join(tokens), ("yes", "no"))
    assert token_parts(template, "".join(tokens), parsed, [2, 7, 10, 14]) == ("rationale", "rationale", "", "label")


def test_a_model_that_writes_no_label_writes_rationales_of_labelled_examples_too() -> None:
    """I→R has nothing to choose between, so the corpus' labels, or the choices of a question, are not scored."""
    asked = Example("c", {"question": "the old cat"}, "A", ("a dog", "a film"), explanations=("good",))
    for template, examples, labels in (("nli.i-r", PAIRS, ("yes", "no")), ("cose.i-r", [asked], ("A", "B"))):
        found = write_rationales(Runner(Seq2Seq(*SEQ2SEQ["t5"](), template, labels)), examples, max_tokens=4)
        assert [(one.label, one.probabilities) for one in found] == [(None, {})] * len(examples)


@pytest.mark.parametrize("kind", ["t5", "llama"])
def test_written_as_the_runner_writes_and_scored_as_it_scores(kind: str, tmp_path: Path) -> None:
    runner = writer(kind)
    found = write_rationales(runner, PAIRS, max_tokens=6)
    for example, rationale in zip(PAIRS, found, strict=True):
        [item] = runner.classifier.encode([example])
        alone, scored = Runner(runner.classifier).run([Request(item, write=6), Request(item)])
        assert alone.written is not None
        assert rationale.ids == alone.written.ids
        assert rationale.written == alone.written.text
        assert list(rationale.probabilities) == ["yes", "no"]
        np.testing.assert_allclose(list(rationale.probabilities.values()), scored.probabilities, rtol=1e-4)
        assert rationale.model == runner.classifier.fingerprint
    save_rationales(tmp_path / "r.jsonl", found)
    assert load_rationales(tmp_path / "r.jsonl") == found


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        (" yes\nBecause: a cat.\n", True),
        (" yes\nBecause: a cat.", False),
        (" yes\nBecause:\n", False),
        (" yes\n", False),
        (" hm\nBecause: a cat\n\nIs", True),
    ],
)
def test_a_rationale_is_settled_once_its_stop_is_written(output: str, expected: bool) -> None:
    assert open_template("prompt.nli-why").settled(output, ("yes", "no")) is expected
    assert not open_template("nli.i-or").settled("yes explanation: a cat\n", ("yes", "no"))
    assert not open_template("prompt.nli").settled(" yes\n", ("yes", "no"))


def test_a_model_that_misses_its_end_is_stopped_where_its_rationale_is(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Causal(*CAUSAL["llama"](), "prompt.nli-why", ("yes", "no"))

    def written(text: str) -> Rationale:
        ids = model.target_ids(text, ended=False)
        steps = iter(ids)
        table = 9.0 * torch.eye(model.model.config.vocab_size)
        monkeypatch.setattr(model, "_writer", lambda batch: lambda last: table[[next(steps)]])
        return write_rationales(Runner(model), PAIRS[:1], max_tokens=len(ids))[0]

    short, long = written(" yes\nBecause: a cat\n\nIs the old dog"), written(" no idea at all, none")
    assert (short.label, short.text, short.ended) == ("yes", "a cat", True)
    assert short.written.endswith("a cat\n")
    assert not long.ended
    assert long.written.endswith("none")


def test_noise_depends_on_seed_example_and_variance_only() -> None:
    seeds = [noise_on(e, v, s).seed for e in PAIRS for v in (1.0, 2.0) for s in (0, 1)]
    assert len(set(seeds)) == len(seeds)
    assert noise_on(PAIRS[0], 1, 0).seed == seeds[0]
    assert not noise_on(PAIRS[0], 0.0, 0).changes()
    with pytest.raises(BadInput, match="variance"):
        noise_on(PAIRS[0], -1.0, 0)
    runner = writer()
    both, alone = (write_rationales(runner, some, noise=2.0, max_tokens=5) for some in (PAIRS, PAIRS[1:]))
    assert both[1].ids == alone[0].ids


def test_hostile_text_is_harmless_and_bad_rows_are_named(tmp_path: Path) -> None:
    evil = "<script>\x1b[31m\ud800"
    bad = Rationale(evil, {evil: evil}, evil, evil, (evil,), (1,), (-0.1,), ("rationale",), True, {evil: 0.5}, template=evil)
    page, out = bad._repr_html_(), io.StringIO()
    Console(file=out).print(bad)
    assert "<script>" not in page
    assert "\x1b[31m" not in page + out.getvalue()
    save_rationales(tmp_path / "r.jsonl", [bad])
    assert load_rationales(tmp_path / "r.jsonl") == [bad]
    (tmp_path / "r.jsonl").write_text('{"format": "whence.rationale@1", "id": 3}\n')
    with pytest.raises(BadInput, match="row 1"):
        load_rationales(tmp_path / "r.jsonl")
    with pytest.raises(BadInput, match="length"):
        Rationale("a", {}, None, "", ("x",), (), (), (), True)
