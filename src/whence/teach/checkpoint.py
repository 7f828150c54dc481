"""Checkpoints that continue a training exactly: weights, optimiser state and random state as safetensors, the rest as JSON.

No pickle. A checkpoint is a folder that is moved into place when whole.
"""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from whence.run import read_json, replace_folder, whole, write_atomically, write_json
from whence.teach.objectives import Learner


def save_checkpoint(
    folder: Path,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    state: dict[str, Any],
    learners: Mapping[str, Learner] = MappingProxyType({}),
) -> None:
    """`learners`: terms of the objective with weights of their own, by name."""

    def write(path: Path) -> None:
        path.mkdir()
        for prefix, module, its in _parts(model, optimizer, learners):
            save_file(_own_memory(module.state_dict()), path / f"{prefix}model.safetensors")
            save_file(_own_memory(_moments(its)), path / f"{prefix}optimizer.safetensors")
        save_file({"cpu": torch.get_rng_state(), **_cuda_states()}, path / "random.safetensors")
        write_json(path / "state.json", state)

    replace_folder(folder, write)


def _parts(
    model: nn.Module, optimizer: torch.optim.Optimizer, learners: Mapping[str, Learner]
) -> list[tuple[str, nn.Module, torch.optim.Optimizer]]:
    return [("", model, optimizer), *((f"{name}-", learner, learner.optimizer) for name, learner in learners.items())]


def _moments(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    state = optimizer.state_dict()["state"]
    return {f"{i}/{name}": torch.as_tensor(value) for i, values in state.items() for name, value in values.items()}


def load_checkpoint(
    folder: Path,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    learners: Mapping[str, Learner] = MappingProxyType({}),
) -> dict[str, Any] | None:
    """Put model, optimiser and random state back as they were; None if there is no checkpoint."""
    if not (folder / "state.json").exists():
        return None
    remedy = _start_anew(folder)
    for prefix, module, its in _parts(model, optimizer, learners):
        load_weights(folder / f"{prefix}model.safetensors", module)
        with whole(folder / f"{prefix}optimizer.safetensors", remedy):
            moments: dict[int, dict[str, Tensor]] = {}
            for key, value in load_file(folder / f"{prefix}optimizer.safetensors").items():
                index, name = key.split("/")
                moments.setdefault(int(index), {})[name] = value
            its.load_state_dict({**its.state_dict(), "state": moments})
    with whole(folder / "random.safetensors", remedy):
        random = load_file(folder / "random.safetensors")
        torch.set_rng_state(random["cpu"])
        for i in range(torch.cuda.device_count()):
            if f"cuda{i}" in random:
                torch.cuda.set_rng_state(random[f"cuda{i}"], i)
    return read_json(folder / "state.json", remedy)


def load_weights(file: Path, model: nn.Module) -> None:
    with whole(file, _start_anew(file.parent if file.parent.name == "checkpoint" else file.parent / "checkpoint")):
        model.load_state_dict(load_file(file))


def _start_anew(checkpoint: Path) -> str:
    return f"remove {checkpoint} and run the same command again: the training starts anew"


def save_weights(file: Path, model: nn.Module) -> None:
    write_atomically(file, lambda path: save_file(_own_memory(model.state_dict()), path))


def _own_memory(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor.detach().cpu().clone().contiguous() for name, tensor in tensors.items()}


def _cuda_states() -> dict[str, Tensor]:
    return {f"cuda{i}": torch.cuda.get_rng_state(i) for i in range(torch.cuda.device_count())}
