"""What is asked about: one of the candidates that a pass scores, or some tokens of a text that the model would write.

A classifier's candidates are its labels, a generator's are texts that are given with the example (its label words, or the
choices of a question). Explainers and measures know a target only by its score (`Result.score`) and by whether the model's own
choice has changed (`Result.best`), so that they work on every kind of model.

  Label(i)         the probability of candidate i: a softmax over the candidates' log-probabilities
  Text(ids, asked) Σ log p(id_k | source, ids before k) over the asked tokens k
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Label:
    """Candidate number `index`."""

    index: int


@dataclass(frozen=True, slots=True)
class Text:
    """A text as the model's own tokens; `asked` says which of them are explained (the label's, the rationale's)."""

    ids: tuple[int, ...]
    asked: tuple[bool, ...]

    def __post_init__(self) -> None:
        if len(self.ids) != len(self.asked) or not any(self.asked):
            raise ValueError(
                f"{len(self.ids)} tokens with {sum(self.asked)} asked about; expected one flag each, one of them true"
            )


Target = Label | Text
