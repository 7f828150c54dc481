"""Let a model write its rationales: greedy decoding, parsed by the template, with the candidates' probabilities beside it.

Cost for each example: one generation, and one pass over the candidates where the template begins with a label.
"""

import hashlib
from collections.abc import Sequence

import numpy as np
import regex

from whence.data import Example, Span
from whence.data.template import Parsed, Template
from whence.data.template.pattern import slots_of
from whence.errors import BadInput
from whence.explain.text.rationale import Part, Rationale
from whence.models import UNCHANGED, Encoded, Generated, Intervention
from whence.models.generator import Generator
from whence.run import Request, Result, Runner

MAX_TOKENS = 200


def write_rationales(
    runner: Runner, examples: Sequence[Example], noise: float = 0.0, seed: int = 0, max_tokens: int = MAX_TOKENS
) -> list[Rationale]:
    """What the model writes for each example; `noise` is a variance on its input embeddings, drawn anew for each example."""
    return write_each(runner, [(example, noise, seed) for example in examples], max_tokens)


def write_each(runner: Runner, asked: Sequence[tuple[Example, float, int]], max_tokens: int = MAX_TOKENS) -> list[Rationale]:
    """The same for (example, noise, seed) of many kinds at once, in full batches."""
    model = generator_of(runner)
    examples = [example for example, _, _ in asked]
    encoded = model.encode(examples)
    changes = [noise_on(*one) for one in asked]
    written = runner.run([Request(e, c, write=max_tokens) for e, c in zip(encoded, changes, strict=True)])
    chances = _chances(runner, model, examples, encoded, changes, written)
    whose = model.fingerprint
    found = []
    for (example, noise, seed), item, result, probabilities in zip(asked, encoded, written, chances, strict=True):
        template, output = model.template_for(example), result.written
        assert output is not None
        parsed = template.parse(output.text, template.candidates(example, model.labels))
        ends = _ends(model, output)
        found.append(Rationale(
            id=example.id, texts=dict(item.example.texts), label=parsed.label, text=parsed.rationale or "",
            tokens=tuple(output.text[a:b] for a, b in zip([0, *ends], ends, strict=False)), ids=output.ids,
            log_probabilities=output.log_probabilities, parts=token_parts(template, output.text, parsed, ends),
            ended=output.ended, probabilities=probabilities, evolution=output.evolution, template=template.name, noise=noise,
            model=whose, seed=seed,
        ))  # fmt: skip
    return found


def generator_of(runner: Runner) -> Generator:
    if not isinstance(runner.classifier, Generator):
        raise BadInput(f"{runner.classifier.name} writes no text; expected a sequence-to-sequence or causal model")
    return runner.classifier


def noise_on(example: Example, variance: float, seed: int) -> Intervention:
    """The same for the same seed, example and variance, whatever else is in the batch."""
    if not 0 <= variance < float("inf"):
        raise BadInput(f"noise is {variance}; expected a variance, 0 or more")
    if variance == 0:
        return UNCHANGED
    drawn = hashlib.blake2b(repr((seed, example.id, float(variance))).encode(errors="surrogatepass"), digest_size=8).digest()
    return Intervention(noise=float(variance), seed=int.from_bytes(drawn, "big"))


def _chances(
    runner: Runner, model: Generator, examples: Sequence[Example], encoded: Sequence[Encoded], changes: Sequence[Intervention],
    written: Sequence[Result],
) -> list[dict[str, float]]:  # fmt: skip
    """A model that decides while it explains has said them already."""
    first = slots_of(model.template_for(examples[0]).target)[0][1] if examples else None
    if first not in ("label", "letter") or not model.labels:
        return [{} for _ in examples]
    found = [output.evolution[-1] for output in (r.written for r in written) if output is not None and output.evolution]
    if len(found) < len(examples):
        results = runner.run([Request(e, c) for e, c in zip(encoded, changes, strict=True)])
        found = [tuple(map(float, r.probabilities)) for r in results]
    names = [model.template_for(e).candidates(e, model.labels) for e in examples]
    return [dict(zip(n, p, strict=True)) for n, p in zip(names, found, strict=True)]


def _ends(model: Generator, output: Generated) -> list[int]:
    """Where each token ends in the text. A character of several tokens ends with the first of them."""
    ends = [len(model.decode(output.ids[: k + 1])) for k in range(len(output.ids))]
    ends = np.minimum(np.maximum.accumulate(np.array(ends, dtype=int)), len(output.text)).tolist() if ends else []
    return [*ends[:-1], len(output.text)] if ends else []


def token_parts(template: Template, text: str, parsed: Parsed, ends: Sequence[int]) -> tuple[Part, ...]:
    """Label tokens, rationale tokens, and neither: the delimiter, and tokens that hold some of it."""
    places = _places(template, text, parsed)
    parts: list[Part] = []
    for start, end in zip([0, *ends], ends, strict=False):
        inside = text[start:end].strip()
        if not inside and parts and start == end:  # the rest of a character
            parts.append(parts[-1])
            continue
        a = start + len(text[start:end]) - len(text[start:end].lstrip())
        found: Part = next((part for part, (first, last) in places.items() if first <= a and a + len(inside) <= last), "")
        parts.append(found if inside else "")
    return tuple(parts)


def _places(template: Template, text: str, parsed: Parsed) -> dict[Part, Span]:
    """Where label and rationale stand in the output, in the order of the template's target."""
    found: dict[Part, Span] = {}
    at = 0
    for number, (literal, name) in enumerate(slots_of(template.target)):
        part: Part = "rationale" if name == "rationale" else "label"
        said = parsed.rationale if part == "rationale" else parsed.label
        if name is None or not said:
            continue
        at += len(" ".join(literal.split())) if number else 0  # a delimiter may be written with more spaces, never with fewer
        spelled = r"\s+".join(map(regex.escape, said.split()))
        place = regex.search(spelled, text, regex.IGNORECASE | regex.FULLCASE, pos=at)
        if place is not None:
            found[part], at = place.span(), place.end()
    return found
