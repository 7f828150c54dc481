"""What `--option NAME=VALUE` of `whence train` may set, checked before anything is read or built.

For our own architectures: the arguments of their configs and three of the vocabulary (build.py). For a pretrained model:
what its config already has.
"""

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from transformers import AutoConfig, BertConfig

from whence.errors import BadInput, unknown
from whence.models import ARCHITECTURES
from whence.models.build import ENCODER
from whence.models.sim_build import JOINT
from whence.models.text_models import OPTIONS as TEXT_OPTIONS

OURS = ("vocab_size", "pad_token_id", "cls_token_id", "sep_token_id", "num_labels", "id2label", "label2id")
"""Set from the data; not for users."""
VOCABULARY = {"min_count": int, "more_words": int, "unit_vectors": bool}
MAY_BE_ZERO = ("more_words", "early_steps", "label_heads")
HIGHEST = 1_000_000


def check_options(model: str, options: Mapping[str, Any]) -> None:
    """Refuses names that the model does not have and values that make no sense."""
    if not options:
        return
    kinds = _kinds(model)
    for name, value in options.items():
        if name not in kinds:
            raise unknown(f"option of {model}", name, kinds)
        _check(name, value, kinds[name])


def _kinds(model: str) -> dict[str, Any]:
    """Names and types."""
    if model in ARCHITECTURES:
        found: dict[str, Any] = {}
        for kind in ARCHITECTURES[model].config_class.__mro__:
            if kind.__module__.startswith("whence."):
                hints = get_type_hints(kind.__init__)
                found |= {name: hints.get(name) for name in inspect.signature(kind.__init__).parameters}
        return {k: v for k, v in found.items() if k not in (*OURS, "self", "kwargs")} | VOCABULARY
    if model == ENCODER:
        usual: dict[str, Any] = BertConfig().to_dict()
        wanted = {"hidden_size": 128, "layers": 2, **{k: usual[k] for k in usual if "dropout" in k and usual[k] is not None}}
        return {name: type(value) for name, value in wanted.items()} | VOCABULARY
    if model in JOINT:
        return JOINT[model]
    if model in TEXT_OPTIONS:
        return TEXT_OPTIONS[model]
    try:
        folder = Path(model) / "model" if (Path(model) / "model").is_dir() else model
        config = AutoConfig.from_pretrained(folder, trust_remote_code=False).to_dict()
    except Exception as error:  # the model itself cannot be loaded, which is said better where it is
        raise BadInput(f"cannot read the config of '{model}' ({str(error).splitlines()[0]:.120}); expected a model") from error
    return {k: type(v) if isinstance(v, bool | int | float | str) else Any for k, v in config.items() if k not in OURS}


def _check(name: str, value: Any, kind: Any) -> None:
    if get_origin(kind) is Literal:
        fits, wanted = value in get_args(kind), f"one of {', '.join(map(str, get_args(kind)))}"
    elif kind is bool:
        fits, wanted = isinstance(value, bool), "true or false"
    elif kind is int:
        least = 0 if name in MAY_BE_ZERO else 1
        fits = isinstance(value, int) and not isinstance(value, bool) and least <= value <= HIGHEST
        wanted = f"a whole number from {least} to {HIGHEST:,}"
    elif kind is float:
        fits = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= HIGHEST
        fits, wanted = (fits and value < 1, "a number from 0 to below 1") if "dropout" in name else (fits, "a number")
    else:
        fits, wanted = kind is not str or isinstance(value, str), "a text"
    if not fits:
        raise BadInput(f"option '{name}' must be {wanted}; got {value!r:.60}")
