"""A template: example → source text, target text, and where each field stands in the source.

  source fields  the names in `Example.texts` (text; premise, hypothesis; question), {choices}, {rationale}
  target fields  {label} (of a question: the text of the right choice), {letter} (of a question: its letter), {rationale}
  choice fields  {choice}, {letter}; the choice pattern is written once for each choice where the source says {choices}

Texts are inserted as they are, so a brace or a delimiter inside a text changes nothing. Demonstrations are examples whose
source and target are written before the source, each followed by `between`.
"""

import string
from collections.abc import Sequence
from dataclasses import dataclass

from whence.data.example import FIELDS, Example
from whence.data.template.parse import Parsed, parse_output
from whence.data.template.pattern import Rendered, fields_of, filled, slots_of
from whence.errors import BadInput

SOURCE = (*(name for names in FIELDS.values() for name in names), "choices", "rationale")
TARGET = ("label", "letter", "rationale")
CHOICE = ("choice", "letter")


@dataclass(frozen=True)
class Template:
    """`stop` ends a rationale in a model's output, for models that go on writing; empty: nothing does but an end mark."""

    name: str
    source: str
    target: str
    choice: str = " choice: {choice}"
    demonstrations: tuple[Example, ...] = ()
    between: str = "\n\n"
    stop: str = ""

    def __post_init__(self) -> None:
        self._check("source", self.source, SOURCE)
        self._check("target", self.target, TARGET)
        self._check("choice", self.choice, CHOICE)
        answered = fields_of(self.target)
        if {"label", "letter"} <= set(answered):
            raise BadInput(f"template '{self.name}': target has both label and letter; expected one of them")
        if len(answered) > 1 and not slots_of(self.target)[1][0]:
            raise BadInput(f"template '{self.name}': target has two fields with nothing between them; expected text or a space")
        for example in self.demonstrations:
            self._demonstrated(example)

    def _check(self, part: str, pattern: str, known: Sequence[str]) -> None:
        try:
            found = fields_of(pattern)
        except ValueError as problem:
            what = f"template '{self.name}': {part} '{pattern}' cannot be read ({problem})"
            raise BadInput(f"{what}; expected fields like {{{known[0]}}}, and {{{{ or }}}} for a brace") from None
        if wrong := [field for field in found if field not in known]:
            raise BadInput(f"template '{self.name}': {part} has the field '{wrong[0]}'; expected {', '.join(known)}")
        if not found or len(found) > len(set(found)):
            count = "a field twice" if found else "no field"
            raise BadInput(f"template '{self.name}': {part} has {count}; expected {', '.join(known)}, each at most once")

    @property
    def needs(self) -> tuple[str, ...]:
        """The fields that the source shows, in order."""
        return fields_of(self.source)

    def render(self, example: Example, rationale: str | None = None) -> Rendered:
        """The model's input; `rationale` for templates that show one (default: the example's first explanation)."""
        before = "".join(self._demonstrated(shown) + self.between for shown in self.demonstrations)
        return self._shown(example, rationale).after(before)

    def _demonstrated(self, example: Example) -> str:
        return self._shown(example, None).text + self.render_target(example)

    def render_target(self, example: Example) -> str:
        """What a model should answer: with the right label, and the first explanation as rationale."""
        return self.answered(example).text

    def answered(self, example: Example) -> Rendered:
        """The target, with the places of label (or letter) and rationale in it."""
        return filled(self.target, lambda field: self._answer(example, field))

    def candidates(self, example: Example, labels: Sequence[str]) -> tuple[str, ...]:
        """The label texts, in the order of the corpus' labels: the labels themselves, or the example's choices."""
        if not example.choices:
            return tuple(labels)
        if len(labels) != len(example.choices):
            offered, expected = len(example.choices), len(labels)
            raise BadInput(
                f"example '{example.id}' has {offered} choices; expected {expected}, one for each label of the corpus"
            )
        return tuple(labels) if "letter" in fields_of(self.target) else example.choices

    def answer(self, candidate: str) -> str:
        """The target up to the end of the label `candidate`: the text that is scored when a model chooses a label."""
        (lead, field), *_ = slots_of(self.target)
        if field not in ("label", "letter"):
            raise BadInput(
                f"template '{self.name}': its target '{self.target}' does not begin with a label, so none can be scored"
            )
        return lead + candidate

    @property
    def says_label(self) -> bool:
        """False where the model is asked for a rationale alone."""
        return any(field in ("label", "letter") for field in fields_of(self.target))

    @property
    def after_label(self) -> str:
        """What must follow a label in the target: the delimiter before the rationale, or `stop`; "" is the end of the text."""
        slots = slots_of(self.target)
        return slots[1][0].rstrip() if slots[1][1] is not None else slots[1][0] or self.stop

    def parse(self, output: str, candidates: Sequence[str]) -> Parsed:
        """Label and rationale of a model's output; the rules are in `parse.py`."""
        return parse_output(output, slots_of(self.target), candidates, self.stop)

    def settled(self, output: str, candidates: Sequence[str]) -> bool:
        """Whether `stop` has ended the rationale, so that a model need not go on writing."""
        if self.stop not in output or not self.stop or not self.writes_rationale:
            return False
        parsed = self.parse(output, candidates)
        return bool(parsed.rationale) and self.parse(output + "x", candidates) == parsed

    @property
    def writes_rationale(self) -> bool:
        """Whether the target is a label, then a rationale."""
        return fields_of(self.target) in (("label", "rationale"), ("letter", "rationale"))

    def _shown(self, example: Example, rationale: str | None) -> Rendered:
        return filled(self.source, lambda field: self._value(example, field, rationale))

    def _value(self, example: Example, field: str, rationale: str | None) -> str | Rendered:
        if field == "choices":
            if not example.choices:
                raise self._lacks(example, "choices")
            return self._choices(example)
        if field == "rationale":
            return self._rationale(example) if rationale is None else rationale
        if field not in example.texts:
            raise self._lacks(example, field)
        return example.texts[field]

    def _choices(self, example: Example) -> Rendered:
        if len(example.choices) > len(string.ascii_uppercase):
            raise BadInput(f"example '{example.id}' has {len(example.choices)} choices; expected at most one for each letter")
        done = Rendered("", {})
        for number, (choice, letter) in enumerate(zip(example.choices, string.ascii_uppercase, strict=False)):
            written = filled(self.choice, {"choice": choice, "letter": letter}.__getitem__).after(done.text)
            place = {f"choice {number}": written.fields["choice"]} if "choice" in written.fields else {}
            done = Rendered(written.text, {**done.fields, **place})
        return done

    def _answer(self, example: Example, field: str) -> str:
        if field == "rationale":
            return self._rationale(example)
        if example.label is None:
            raise self._lacks(example, "label")
        if field == "letter" and not example.choices:
            raise self._lacks(example, "choices")
        if example.choices and example.answer not in example.choices:
            raise BadInput(f"example '{example.id}' has the label '{example.label}'; expected the letter of one of its choices")
        return example.label if field == "letter" else str(example.answer)

    def _rationale(self, example: Example) -> str:
        if not example.explanations:
            raise self._lacks(example, "rationale")
        return example.explanations[0]

    def _lacks(self, example: Example, field: str) -> BadInput:
        has = [*example.texts, *["choices"] * bool(example.choices), *["rationale"] * bool(example.explanations)]
        has += ["label"] * (example.label is not None)
        return BadInput(f"template '{self.name}' needs the field '{field}': example '{example.id}' has {', '.join(has)}")
