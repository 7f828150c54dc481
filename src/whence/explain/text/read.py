"""Let a model read rationales: the label that it writes for an example after a rationale that somebody wrote.

  label = reader(x, r)   or, where the template shows no input,   label = reader(r)

With r written by a model, this is explain-then-predict: CAGE (Rajani et al. 2019), the pipeline I→R;R→O of Wiegreffe et al.
2021.

Cost for each example: one short generation.
"""

from collections.abc import Sequence

from whence.data import Example
from whence.models.generator import Generator
from whence.run import Request, Runner

SHORT = 20
"""Tokens of an answer that is a label alone, as in the released code of Wiegreffe et al."""


def read_rationales(
    reader: Generator, examples: Sequence[Example], rationales: Sequence[str] | None = None
) -> list[str | None]:
    """The label that `reader` writes for each example; None where it writes none. Without `rationales`: the examples' own."""
    encoded = reader.encode(examples, rationales)
    results = Runner(reader, remembered=0).run([Request(item, write=SHORT) for item in encoded])
    found = []
    for example, result in zip(examples, results, strict=True):
        template = reader.template_for(example)
        assert result.written is not None
        found.append(template.parse(result.written.text, template.candidates(example, reader.labels)).label)
    return found
