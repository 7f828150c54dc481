"""Checkpoints that continue a training exactly: weights, optimiser state and random state as safetensors, the rest as JSON.

No pickle. A checkpoint is a folder that is moved into place when whole.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from whence.errors import BadInput
from whence.run import read_json, replace_folder, write_atomically, write_json


def save_checkpoint(folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer, state: dict[str, Any]) -> None:
    moments: dict[str, Tensor] = {}
    for i, values in optimizer.state_dict()["state"].items():
        for name, value in values.items():
            moments[f"{i}/{name}"] = torch.as_tensor(value)

    def write(path: Path) -> None:
        path.mkdir()
        save_file(_own_memory(model.state_dict()), path / "model.safetensors")
        save_file(_own_memory(moments), path / "optimizer.safetensors")
        save_file({"cpu": torch.get_rng_state(), **_cuda_states()}, path / "random.safetensors")
        write_json(path / "state.json", state)

    replace_folder(folder, write)


def load_checkpoint(folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Any] | None:
    """Put model, optimiser and random state back as they were; None if there is no checkpoint."""
    if not (folder / "state.json").exists():
        return None
    load_weights(folder / "model.safetensors", model)
    with _whole(folder / "optimizer.safetensors") as file:
        moments: dict[int, dict[str, Tensor]] = {}
        for key, value in load_file(file).items():
            index, name = key.split("/")
            moments.setdefault(int(index), {})[name] = value
        optimizer.load_state_dict({**optimizer.state_dict(), "state": moments})
    with _whole(folder / "random.safetensors") as file:
        random = load_file(file)
        torch.set_rng_state(random["cpu"])
        for i in range(torch.cuda.device_count()):
            if f"cuda{i}" in random:
                torch.cuda.set_rng_state(random[f"cuda{i}"], i)
    return read_json(folder / "state.json", REMEDY.format(folder))


def load_weights(file: Path, model: nn.Module) -> None:
    with _whole(file):
        model.load_state_dict(load_file(file))


REMEDY = "remove {} and run the same command again: the training starts anew"


@contextmanager
def _whole(file: Path) -> Iterator[Path]:
    try:
        yield file
    except (OSError, SafetensorError, KeyError, ValueError, RuntimeError, TypeError) as error:
        gone = file.parent if file.parent.name == "checkpoint" else file.parent / "checkpoint"
        raise BadInput(f"{file}: cannot be read ({f'{error}':.100}); {REMEDY.format(gone)}") from error


def save_weights(file: Path, model: nn.Module) -> None:
    write_atomically(file, lambda path: save_file(_own_memory(model.state_dict()), path))


def _own_memory(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor.detach().cpu().clone().contiguous() for name, tensor in tensors.items()}


def _cuda_states() -> dict[str, Tensor]:
    return {f"cuda{i}": torch.cuda.get_rng_state(i) for i in range(torch.cuda.device_count())}
