"""What the verbs share: options that mean the same everywhere, and how results are printed."""

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from whence.errors import BadInput

# a pipe or file has no width of its own: wide enough for the tables
console = Console(highlight=False, width=None if sys.stdout.isatty() else 150)

DataRoot = Annotated[Path | None, typer.Option("--data-root", help="Folder of the published corpora; default: $WHENCE_DATA.")]
DataName = Annotated[
    str, typer.Option("--data", help="A corpus (see `whence data list`), a CSV, TSV or JSONL file, or a folder.")
]
ModelName = Annotated[str, typer.Option("--model", help="A Hugging Face folder or hub id, or a run folder of `whence train`.")]
Labels = Annotated[str | None, typer.Option("--labels", help="Names of the model's outputs in their order, split by commas.")]
Methods = Annotated[list[str] | None, typer.Option("--method", help="An explainer; repeat for several. Default: all that fit.")]
Hiding = Annotated[
    str | None, typer.Option("--hide", help="How a word is hidden: mask, pad or delete. Default: what fits the model.")
]
Split = Annotated[str | None, typer.Option(help="Default: test, else dev, else the first.")]
Limit = Annotated[int | None, typer.Option(min=1, help="A random N examples.")]
Seed = Annotated[int, typer.Option(help="The same seed gives the same numbers.")]
Parameters = Annotated[list[str] | None, typer.Option("--set", help="METHOD.NAME=VALUE, e.g. lime.n_samples=1000.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
TextColumn = Annotated[str | None, typer.Option("--text-column", help="Column of the text (or premise) in a file of your own.")]
PairColumn = Annotated[str | None, typer.Option("--pair-column", help="Column of the second text of a pair.")]
LabelColumn = Annotated[str | None, typer.Option("--label-column", help="Column of the label.")]


def quiet() -> None:
    """Third-party chatter off: our own progress says what goes on."""
    from huggingface_hub.utils import logging as hub_logging
    from transformers.utils import logging

    logging.disable_progress_bar()
    logging.set_verbosity_error()
    hub_logging.set_verbosity_error()


def columns(text: str | None, pair: str | None, label: str | None) -> Any:
    from whence.data.table import Columns

    return Columns(text=text, pair=pair, label=label)


def load_model(name: str, labels: str | None) -> Any:
    from whence.api import load

    return load(name, labels=[label.strip() for label in labels.split(",")] if labels else ())


def print_json(value: Any) -> None:
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def say(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


def keyed(given: list[str] | None, option: str) -> dict[str, Any]:
    """["a=1", "b=x"] → {"a": 1, "b": "x"}."""
    found: dict[str, Any] = {}
    for item in given or []:
        key, equals, value = item.partition("=")
        if not equals:
            raise BadInput(f"{option} '{item}': expected KEY=VALUE")
        try:
            found[key] = json.loads(value)
        except ValueError:
            found[key] = value
    return found


def method_parameters(given: list[str] | None) -> dict[str, dict[str, Any]]:
    """["lime.n_samples=1000"] → {"lime": {"n_samples": 1000}}."""
    found: dict[str, dict[str, Any]] = {}
    for key, value in keyed(given, "--set").items():
        method, dot, name = key.partition(".")
        if not dot:
            raise BadInput(f"--set '{key}': expected METHOD.NAME=VALUE, such as lime.n_samples=1000")
        found.setdefault(method, {})[name] = value
    return found
