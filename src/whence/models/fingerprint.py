"""Which model a number belongs to: a hash of weights, config and tokenizer, computed anew when a weight has changed."""

import hashlib
import json
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel


def weights_key(model: nn.Module) -> int:
    """Cheap, and another number once weights were changed in place, also through `.data`, which leaves versions alone."""
    return hash(tuple((tensor._version, _checksum(tensor)) for tensor in model.state_dict().values()))


def _checksum(tensor: Tensor) -> int:
    if tensor.device.type == "meta" or not tensor.numel():
        return 0
    raw = tensor.detach().contiguous().view(-1).view(torch.uint8)
    raw = raw.clone() if raw.storage_offset() % 8 else raw
    end = len(raw) // 8 * 8
    # eight bytes at a time: thirty times as fast as adding up numbers of four
    return int(raw[:end].view(torch.int64).sum()) + int(raw[end:].sum())


def fingerprint(model: PreTrainedModel, tokenizer: Any) -> str:
    digest = hashlib.sha256(repr(sorted(model.config.to_diff_dict().items(), key=lambda kv: kv[0])).encode())
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        if tensor.numel() and tensor.device.type != "meta":
            digest.update(tensor.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().tobytes())
    digest.update(tokenizer_facts(tokenizer).encode())
    return digest.hexdigest()[:16]


def tokenizer_facts(tokenizer: Any) -> str:
    """Everything that decides which ids a text becomes; how the last call padded and cut is left out."""
    facts = json.loads(tokenizer.backend_tokenizer.to_str())
    facts |= {"padding": None, "truncation": None, "names": list(tokenizer.model_input_names)}
    return json.dumps(facts, sort_keys=True)
