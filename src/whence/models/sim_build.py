"""A new stepwise model over an encoder–decoder: `whence train --task joint --model sim --option base=small_t5`.

base           small_t5, warm, or the folder or hub id of any Hugging Face encoder–decoder (text_models.py); the base's own
               options go beside it, as in --option base=warm --option encoder=FOLDER
label_to_text  false: the decoder does not read the label state ("w/o inference in SIM")
text_to_label  false: the label state stays what the encoder says ("w/o interpretation in SIM"); both false: no fusion at all
own_words      share of training batches in which the decoder is fed what it would write itself
longest        most tokens of an explanation
"""

from collections.abc import Iterable
from typing import Any

from whence.data.template import Template
from whence.errors import BadInput
from whence.models.sim import Sim, sim_over
from whence.models.text_models import OPTIONS as BASES
from whence.models.text_models import build_text_model

SIM = "sim"
OWN: dict[str, Any] = {"label_to_text": bool, "text_to_label": bool, "own_words": float, "longest": int}
OPTIONS: dict[str, Any] = {"base": str, **OWN, **{name: kind for base in BASES.values() for name, kind in base.items()}}


def build_sim(
    texts: Iterable[str], labels: tuple[str, ...], choices: bool, template: Template, options: dict[str, Any]
) -> tuple[Sim, Any]:
    """(model, tokenizer). `labels` are the letters where `choices`; the template is kept with the model."""
    own = {name: value for name, value in options.items() if name in OWN}
    if not 0 <= own.get("own_words", 0) <= 1:
        raise BadInput(f"option 'own_words' is {own['own_words']}; expected a share from 0 to 1")
    below = {name: value for name, value in options.items() if name not in (*OWN, "base")}
    base, tokenizer = build_text_model(options.get("base", "small_t5"), texts, below)
    if not base.config.is_encoder_decoder:
        raise BadInput(f"{type(base).__name__} has no encoder; expected an encoder–decoder such as small_t5 as base")
    known = [getattr(config, "decoder_start_token_id", None) for config in (base.generation_config, base.config)]
    start = next((i for i in known if i is not None), None)
    end = tokenizer.eos_token_id if tokenizer.eos_token_id is not None else tokenizer.sep_token_id
    if start is None or tokenizer.pad_token_id is None:
        raise BadInput(f"{type(base).__name__} does not say with which token its decoder begins, or has no padding")
    kept = {"name": template.name, "source": template.source, "target": template.target, "choice": template.choice}
    return sim_over(base, labels, start, end, tokenizer.pad_token_id, choices=choices, template=kept, **own), tokenizer
