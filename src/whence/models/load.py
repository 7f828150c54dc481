"""Open a model of any kind from wherever it lies, and refuse what would answer with random weights or an empty vocabulary.

A repository's own Python is never run (`trust_remote_code=False`, said aloud so that nothing asks). Only what is in the
checkpoint counts: a head that is missing or left over means that it was made for another task.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForSeq2SeqLM,
    AutoModelForSequenceClassification,
    AutoTokenizer,
    PreTrainedModel,
)

from whence.errors import BadInput
from whence.models.causal import Causal
from whence.models.classifier import Classifier
from whence.models.generator import Generator
from whence.models.infersent import InferSentConfig
from whence.models.seq2seq import Seq2Seq
from whence.models.sim import SimConfig
from whence.models.sim_port import SimPort
from whence.models.torch_port import TorchPort

WRITERS = ("ForConditionalGeneration", "ForCausalLM", "LMHeadModel")
TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json", "vocab.txt", "vocab.json", "spiece.model", "tokenizer.model")


def load_port(source: Any, tokenizer: Any = None, candidates: Sequence[str] = (), template: str | None = None) -> TorchPort:
    """A classifier; with `candidates` or a `template`, a generator; a stepwise model is known by itself. `source` as in
    `whence.load`."""
    if isinstance(source, TorchPort):
        return source
    model, tokenizer = _as_objects(source, tokenizer)
    if isinstance(model.config if model is not None else _config(model_folder(source)), SimConfig | InferSentConfig):
        return SimPort(*_opened(model, tokenizer, source, AutoModelForSeq2SeqLM, "a stepwise model"), template, candidates)
    if not candidates and template is None:
        if model is None:
            _refuse_writers(model_folder(source))
        return Classifier(*_opened(model, tokenizer, source, AutoModelForSequenceClassification, "a classifier"))
    config = model.config if model is not None else _config(model_folder(source))
    kind: type[Generator] = Seq2Seq if config.is_encoder_decoder else Causal
    auto = AutoModelForSeq2SeqLM if config.is_encoder_decoder else AutoModelForCausalLM
    opened, words = _opened(model, tokenizer, source, auto, "a model that writes text")
    if opened.get_output_embeddings() is None:
        raise BadInput(
            f"{type(opened).__name__} writes no text; expected a sequence-to-sequence or causal model for candidates"
        )
    return kind(opened, words, template, candidates)


def load_classifier(source: Any, tokenizer: Any = None) -> Classifier:
    """From a hub id, a folder, a `transformers` pipeline, or a model object with its tokenizer."""
    found = load_port(source, tokenizer)
    if not isinstance(found, Classifier):
        raise BadInput(f"{found.name} is not a classifier with outputs of its own; expected one")
    return found


def _as_objects(source: Any, tokenizer: Any) -> tuple[PreTrainedModel | None, Any]:
    """(model, tokenizer) where they were given as objects."""
    if isinstance(source, tuple) and len(source) == 2 and tokenizer is None:
        source, tokenizer = source
    if hasattr(source, "model") and hasattr(source, "tokenizer"):  # a pipeline
        return source.model, source.tokenizer
    if not isinstance(source, PreTrainedModel):
        return None, tokenizer
    if tokenizer is None:
        raise BadInput("a model object was given without its tokenizer; expected load(model, tokenizer)")
    return source, tokenizer


def _opened(
    model: PreTrainedModel | None, tokenizer: Any, source: Any, auto: Any, expected: str
) -> tuple[PreTrainedModel, Any]:
    if model is not None:
        return model, tokenizer
    name = model_folder(source)
    return open_checkpoint(auto, name, expected).eval(), tokenizer or open_tokenizer(name)


def _refuse_writers(name: str) -> None:
    """A generator's checkpoint has no head for labels, but it can choose between texts."""
    made_by = getattr(_config(name), "architectures", None) or [""]
    if str(made_by[0]).endswith(WRITERS):
        raise BadInput(
            f"'{name}' is a {made_by[0]}, which writes text; expected --candidates (the labels to choose from) or --template"
        )


def _config(name: str) -> Any:
    try:
        return AutoConfig.from_pretrained(name, trust_remote_code=False)
    except Exception as error:
        raise BadInput(f"cannot load model '{name}' ({_first_line(error)}); expected a folder or a hub id") from error


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def model_folder(source: Any) -> str:
    """A hub id as it is; of a run folder of `whence train`, the folder of its model."""
    name = str(source)
    if (Path(name) / "model" / "config.json").exists():
        return str(Path(name) / "model")
    if Path(name).is_dir() and not (Path(name) / "config.json").exists():
        raise BadInput(f"{name} is a folder without config.json; expected a folder that save_pretrained wrote")
    return name


def open_checkpoint(kind: Any, name: str, expected: str, **options: Any) -> PreTrainedModel:
    """All weights of the model come from the checkpoint, and all that it holds outside the encoder is used."""
    try:
        # wrong shapes are refused below, by name
        model, info = kind.from_pretrained(
            name, trust_remote_code=False, output_loading_info=True, ignore_mismatched_sizes=True, **options
        )
    except BadInput:
        raise
    except Exception as error:  # transformers, safetensors and the hub raise dozens of kinds
        raise BadInput(
            f"cannot load model '{name}' ({_first_line(error)}); expected a folder or a hub id of {expected}"
        ) from error
    missing = sorted(info["missing_keys"])
    wrong = sorted(str(key[0] if isinstance(key, tuple) else key) for key in info["mismatched_keys"])
    prefix = model.base_model_prefix + "."
    left_over = sorted(key for key in info["unexpected_keys"] if not key.startswith(prefix))
    for keys, what in ((missing, "has no weights for"), (wrong, "has weights of another shape for"), (left_over, "also holds")):
        if keys:
            shown = ", ".join(keys[:3]) + (f" and {len(keys) - 3} more" if len(keys) > 3 else "")
            made = f"expected all weights of a {type(model).__name__}"
            raise BadInput(f"the checkpoint '{name}' {what} {shown}, so it is not {expected}; {made}")
    return model


def open_tokenizer(name: str) -> Any:
    if Path(name).is_dir() and not any((Path(name) / file).exists() for file in TOKENIZER_FILES):
        raise BadInput(f"{name} has no tokenizer files ({', '.join(TOKENIZER_FILES[:3])}, …); expected those of the model")
    try:
        tokenizer = AutoTokenizer.from_pretrained(name, trust_remote_code=False)
    except Exception as error:
        raise BadInput(f"cannot load the tokenizer of '{name}' ({_first_line(error)}); expected a fast tokenizer") from error
    if len(tokenizer.get_vocab()) <= len(tokenizer.all_special_tokens):
        raise BadInput(f"the tokenizer of '{name}' knows no words; expected the model's own vocabulary")
    return tokenizer
