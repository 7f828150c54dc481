"""A model to ask: `whence.load`, then `predict`, `explain`, `rationales` and `align`."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, overload

import torch

from whence.api.inputs import as_examples, check_seed, is_one
from whence.data import Example
from whence.errors import BadInput, unknown
from whence.explain import METHODS, TokenScores, check_hide, choose_methods, explain_texts
from whence.explain.alignment import Alignment
from whence.explain.alignments import ALIGNMENT_METHODS, explain_alignments
from whence.explain.text import MAX_TOKENS, Rationale, write_rationales
from whence.explain.text.write import generator_of
from whence.models import BlackBox, Label, Port, TorchPort, load_port
from whence.run import Result, Runner

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
One = str | Example | Mapping[str, Any]
"""A text, an example, or a dict with the keys of a table: text, or premise and hypothesis."""

_PLACED = "device and dtype are for models that are loaded by name; expected a model object as you placed it"


def load(
    source: Any = None,
    tokenizer: Any = None,
    *,
    labels: Sequence[str] = (),
    candidates: Sequence[str] = (),
    template: str | None = None,
    predict: Callable[[list[Any]], Any] | None = None,
    device: str | torch.device | None = None,
    dtype: str | torch.dtype | None = None,
    batch_tokens: int | None = None,
) -> "Model":
    """A model from a hub id, a folder, a `transformers` pipeline, or a model object with its tokenizer.

    source        also `(model, tokenizer)`. A classifier, or with `candidates` or a `template` a model that writes text
    labels        names of the outputs in their order, where the model's own names (`config.id2label`) do not say what they mean
    candidates    the labels that a sequence-to-sequence or causal model chooses from; default: the labels of the data
    template      how an example becomes such a model's input: a name or a file (docs/templates.md)
    predict       instead of a source: any function from a list of texts to probabilities, one column for each of `labels`
    device        "cpu", "cuda", "cuda:1", "mps". Default: a GPU if there is one; model objects stay where they are
    dtype         "float32", "bfloat16" or "float16". Default: as stored
    batch_tokens  most tokens in one batch; lower it if memory runs out
    """
    if isinstance(source, Model):
        if device is not None or dtype is not None:
            raise BadInput(_PLACED)
        return source
    if predict is not None:
        if source is not None or not callable(predict):
            raise BadInput("predict is a function that stands for the model; expected it alone, with labels")
        names = _label_names(labels, len(labels))
        return Model(BlackBox(predict, names), BlackBox(predict, names).name)
    if source is None:
        raise BadInput("no model was given; expected a folder, a hub id, a model with its tokenizer, or predict=")
    if isinstance(source, tuple):
        if len(source) != 2 or tokenizer is not None:
            raise BadInput(f"a tuple of {len(source)} was given; expected (model, tokenizer)")
        source, tokenizer = source
    if batch_tokens is not None and (not isinstance(batch_tokens, int) or batch_tokens < 1):
        raise BadInput(f"batch_tokens is {batch_tokens!r:.60}; expected a whole number of at least 1")
    chosen = _label_names(candidates, len(candidates)) if candidates else ()
    classifier = _loaded(source, tokenizer, checked_device(device), checked_dtype(dtype), chosen, template)
    if labels:
        classifier.labels = _label_names(labels, len(classifier.labels))
    classifier.batch_tokens = batch_tokens or classifier.batch_tokens
    return Model(classifier, source if isinstance(source, str | Path) else type(source).__name__)


def _loaded(
    source: Any, tokenizer: Any, device: torch.device | None, dtype: torch.dtype | None, candidates: Sequence[str],
    template: str | None,
) -> TorchPort:  # fmt: skip
    """The model on its device. Named models go to a GPU if there is one; objects stay as they were given."""
    if not isinstance(source, str | Path) and (device is not None or dtype is not None):
        raise BadInput(_PLACED)
    if not isinstance(source, str | Path):
        return load_port(source, tokenizer, candidates, template)
    try:
        classifier = load_port(source, tokenizer, candidates, template)
    except BadInput:
        raise
    except Exception as error:  # a damaged folder makes its readers raise dozens of kinds
        first = (str(error).strip().splitlines() or [""])[0]
        reason = f"{type(error).__name__}: {first:.160}"
        raise BadInput(
            f"cannot load model '{source!s:.160}' ({reason}); expected a folder or a hub id of a classifier"
        ) from error
    classifier.model.to(device=device or _best_device(), dtype=dtype)
    return classifier


def _best_device() -> torch.device:
    return torch.device("cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu")


def checked_device(given: Any) -> torch.device | None:
    """A device that is here, by its name; None: as the model or the machine has it."""
    if given is None:
        return None
    try:
        device = torch.device(given)
        torch.empty(0, device=device)  # a name may be right and the device not there
    except (RuntimeError, TypeError, AssertionError, NotImplementedError) as error:
        reason = (str(error).splitlines() or [""])[0]
        raise BadInput(f"device '{given}' cannot be used here ({reason:.120}); expected cpu, cuda, cuda:1 or mps") from error
    if device.type == "meta":
        raise BadInput("device 'meta' holds no numbers; expected cpu, cuda, cuda:1 or mps")
    return device


def checked_dtype(given: Any) -> torch.dtype | None:
    if given is None or isinstance(given, torch.dtype):
        return given
    if given not in DTYPES:
        raise unknown("dtype", str(given), DTYPES)
    return DTYPES[given]


def _label_names(labels: Sequence[str], count: int) -> tuple[str, ...]:
    names = [labels] if isinstance(labels, str) else list(labels)
    if any(not isinstance(name, str) or not name.strip() for name in names):
        raise BadInput(f"labels are {', '.join(map(repr, names))}; expected names that are not empty")
    if len({name.strip().casefold() for name in names}) < len(names):
        raise BadInput(f"labels {', '.join(names)} name one output twice; expected different names")
    if len(names) != count:
        raise BadInput(f"{len(names)} labels were given ({', '.join(names)}); the model has {count} outputs")
    return tuple(names)


class Model:
    """A model with its runner: passes that were paid for once are remembered between calls."""

    def __init__(self, classifier: Port, name: str | Path) -> None:
        self.classifier, self.name = classifier, str(name)
        self._memory = Runner(classifier)
        self._state = classifier.state

    @property
    def _runner(self) -> Runner:
        """What it remembers is forgotten once somebody has changed the weights."""
        if self._state != self.classifier.state:
            self._state = self.classifier.state
            self._memory.forget()
        return self._memory

    @property
    def labels(self) -> tuple[str, ...]:
        return self.classifier.labels

    @property
    def identity(self) -> dict[str, Any]:
        """What tells it from other models, for the config of a run."""
        return {"model": self.name, "fingerprint": self.classifier.fingerprint, "labels": list(self.labels)}

    @overload
    def predict(self, texts: One, pair: str | None = None) -> dict[str, float]: ...
    @overload
    def predict(self, texts: Any, pair: Sequence[str] | None = None) -> list[dict[str, float]]: ...
    def predict(self, texts: Any, pair: Any = None) -> dict[str, float] | list[dict[str, float]]:
        """Probabilities by label: one dict for one text, a list of them for several."""
        results: list[Result] = self._runner.predict(self.classifier.encode(as_examples(texts, pair)))
        found = [dict(zip(self.labels, map(float, result.probabilities), strict=True)) for result in results]
        return found[0] if is_one(texts) else found

    @overload
    def explain(
        self, texts: One, pair: str | None = None, *, method: str = ..., target: str | None = ..., hide: str | None = ...,
        seed: int = ..., parameters: Mapping[str, Any] | None = ...,
    ) -> TokenScores: ...  # fmt: skip
    @overload
    def explain(
        self, texts: Any, pair: Sequence[str] | None = None, *, method: str = ..., target: str | None = ...,
        hide: str | None = ..., seed: int = ..., parameters: Mapping[str, Any] | None = ...,
    ) -> list[TokenScores]: ...  # fmt: skip
    def explain(
        self,
        texts: Any,
        pair: Any = None,
        *,
        method: str = "integrated_gradients",
        target: str | None = None,
        hide: str | None = None,
        seed: int = 0,
        parameters: Mapping[str, Any] | None = None,
    ) -> TokenScores | list[TokenScores]:
        """A number for every word: one explanation for one text, a list for several.

        method      an explainer (docs/audit.md lists them)
        target      the label to explain. Default: the predicted one
        hide        how a word is hidden: "mask", "pad" or "delete". Default: whatever suits the model
        parameters  of the method, such as {"n_samples": 1000}
        """
        choose_methods(self.classifier, [method])
        if target is not None and target not in self.labels:
            raise unknown("label", target, self.labels)
        made = explain_texts(
            self._runner,
            as_examples(texts, pair),
            METHODS[method],
            target=None if target is None else Label(self.labels.index(target)),
            hide=None if hide is None else check_hide(hide),
            seed=check_seed(seed),
            parameters=parameters,
        )
        return made[0] if is_one(texts) else made

    @overload
    def rationales(
        self, texts: One, pair: str | None = None, *, max_tokens: int = ..., noise: float = ..., seed: int = ...
    ) -> Rationale: ...
    @overload
    def rationales(
        self, texts: Any, pair: Sequence[str] | None = None, *, max_tokens: int = ..., noise: float = ..., seed: int = ...
    ) -> list[Rationale]: ...
    def rationales(
        self, texts: Any, pair: Any = None, *, max_tokens: int = MAX_TOKENS, noise: float = 0.0, seed: int = 0
    ) -> Rationale | list[Rationale]:
        """What a sequence-to-sequence or causal model writes to explain itself: one rationale for one text, a list for several.

        The model is loaded with a template that asks for a rationale: `whence.load(…, template="nli.i-or", candidates=…)`.
        noise  variance of random noise on the model's input embeddings, drawn with `seed`
        """
        if not isinstance(max_tokens, int) or max_tokens < 1:
            raise BadInput(f"max_tokens is {max_tokens!r:.60}; expected a whole number of at least 1")
        examples = as_examples(texts, pair)
        for example in examples[:1]:
            template = generator_of(self._runner).template_for(example)
            if not template.writes_rationale:
                raise BadInput(f"template '{template.name}' asks for no label and rationale; expected one such as nli.i-or")
        made = write_rationales(self._runner, examples, noise, check_seed(seed), max_tokens)
        return made[0] if is_one(texts) else made

    @overload
    def align(
        self, premises: One, hypotheses: str | None = None, *, method: str = ..., seed: int = ...,
        parameters: Mapping[str, Any] | None = ..., sealed: bool = ...,
    ) -> Alignment: ...  # fmt: skip
    @overload
    def align(
        self, premises: Any, hypotheses: Sequence[str] | None = None, *, method: str = ..., seed: int = ...,
        parameters: Mapping[str, Any] | None = ..., sealed: bool = ...,
    ) -> list[Alignment]: ...  # fmt: skip
    def align(
        self,
        premises: Any,
        hypotheses: Any = None,
        *,
        method: str = "arec",
        seed: int = 0,
        parameters: Mapping[str, Any] | None = None,
        sealed: bool = False,
    ) -> Alignment | list[Alignment]:
        """Which word pairs a prediction rests on: one explanation for one pair, a list for several.

        `sealed` adds a row and a column for special tokens, by which information also passes between the sentences.
        """
        if method not in ALIGNMENT_METHODS:
            raise unknown("method for alignments", method, list(ALIGNMENT_METHODS))
        encoded = self.classifier.encode(as_examples(premises, hypotheses))
        made = explain_alignments(self._runner, encoded, ALIGNMENT_METHODS[method], check_seed(seed), parameters, sealed=sealed)
        return made[0] if is_one(premises) else made
