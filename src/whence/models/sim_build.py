"""A new model that decides and explains: sim over an encoder–decoder, or infersent from scratch.

whence train --task joint --model sim --option base=small_t5

base           small_t5, copying_t5, aligning_t5, warm, or the folder or hub id of any Hugging Face encoder–decoder
               (text_models.py); its own options go beside it, as in --option base=warm --option encoder=FOLDER
label_to_text  false: the decoder does not read the label state ("w/o inference in SIM")
text_to_label  false: the label state stays what the encoder says ("w/o interpretation in SIM"); both false: no fusion at all
label_from_input  false: the label begins undecided, and comes from the steps of the explanation alone
own_words      share of training batches in which the decoder is fed what it would write itself
early_steps    training batches at the start in which every step reads the first label state: all at once, and so faster
label_heads    heads through which the first label state reads all of the encoder's states; 0: its first state alone
longest        most tokens of an explanation
"""

from collections.abc import Iterable
from typing import Any

from whence.data.template import Template
from whence.errors import BadInput, unknown
from whence.models.infersent import PARTS, InferSent, InferSentConfig
from whence.models.sim import Sim, sim_over
from whence.models.text_models import OPTIONS as BASES
from whence.models.text_models import build_text_model
from whence.models.text_tokenizer import build_text_tokenizer

SIM, INFERSENT = "sim", "infersent"
OWN: dict[str, Any] = {
    "label_to_text": bool, "text_to_label": bool, "label_from_input": bool, "label_heads": int, "own_words": float,
    "early_steps": int, "longest": int,
}  # fmt: skip
OPTIONS: dict[str, Any] = {"base": str, **OWN, **{name: kind for base in BASES.values() for name, kind in base.items()}}
SENTENCES: dict[str, Any] = {
    "embedding_dim": int, "hidden_size": int, "decoder_size": int, "classifier_size": int, "dropout": float, "longest": int,
    "min_count": int,
}  # fmt: skip
JOINT: dict[str, dict[str, Any]] = {SIM: OPTIONS, INFERSENT: SENTENCES}
"""Models that decide and explain, and their options."""


def build_joint(
    name: str, texts: Iterable[str], labels: tuple[str, ...], choices: bool, template: Template, options: dict[str, Any]
) -> tuple[Sim | InferSent, Any]:
    """(model, tokenizer). `labels` are the letters where `choices`; the template is kept with the model."""
    kept = {"name": template.name, "source": template.source, "target": template.target, "choice": template.choice}
    for option in options:
        if option not in JOINT[name]:
            raise unknown(f"option of {name}", option, list(JOINT[name]))
    return _sim(texts, labels, choices, kept, options) if name == SIM else _infersent(texts, labels, choices, kept, options)


def _infersent(
    texts: Iterable[str], labels: tuple[str, ...], choices: bool, kept: dict[str, str], options: dict[str, Any]
) -> tuple[InferSent, Any]:
    if choices or any(f"{{{part}}}" not in kept["source"] for part in PARTS):
        raise BadInput(f"{INFERSENT} compares a premise with a hypothesis; expected a corpus and a template that have both")
    tokenizer = build_text_tokenizer(texts, min_count=options.pop("min_count", 1))
    config = InferSentConfig(
        vocab_size=len(tokenizer), num_labels=len(labels), id2label=dict(enumerate(labels)),
        label2id={label: i for i, label in enumerate(labels)}, template=kept, pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id, decoder_start_token_id=tokenizer.pad_token_id, **options,
    )  # fmt: skip
    return InferSent(config), tokenizer


def _sim(
    texts: Iterable[str], labels: tuple[str, ...], choices: bool, kept: dict[str, str], options: dict[str, Any]
) -> tuple[Sim, Any]:
    own = {name: value for name, value in options.items() if name in OWN}
    if not 0 <= own.get("own_words", 0) <= 1:
        raise BadInput(f"option 'own_words' is {own['own_words']}; expected a share from 0 to 1")
    if not own.get("label_from_input", True) and not own.get("text_to_label", True):
        raise BadInput(
            "label_from_input=false and text_to_label=false leave nothing that decides the label; expected one of them at most"
        )
    if choices and own.get("label_heads"):
        raise BadInput("option 'label_heads' is for fixed labels; choices are scored by the states of their own words")
    below = {name: value for name, value in options.items() if name not in (*OWN, "base")}
    base, tokenizer = build_text_model(options.get("base", "small_t5"), texts, below)
    if not base.config.is_encoder_decoder:
        raise BadInput(f"{type(base).__name__} has no encoder; expected an encoder–decoder such as small_t5 as base")
    known = [getattr(config, "decoder_start_token_id", None) for config in (base.generation_config, base.config)]
    start = next((i for i in known if i is not None), None)
    end = tokenizer.eos_token_id if tokenizer.eos_token_id is not None else tokenizer.sep_token_id
    if start is None or tokenizer.pad_token_id is None:
        raise BadInput(f"{type(base).__name__} does not say with which token its decoder begins, or has no padding")
    return sim_over(base, labels, start, end, tokenizer.pad_token_id, choices=choices, template=kept, **own), tokenizer
