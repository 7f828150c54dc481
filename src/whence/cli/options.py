"""What the verbs share: options that mean the same everywhere, and how results are printed."""

import json
import re
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from whence.errors import BadInput, visible

# No markup: names of files, labels and models are shown as they are, whatever brackets they hold.
# A pipe or file has no width of its own: wide enough for the tables.
console = Console(highlight=False, markup=False, width=None if sys.stdout.isatty() else 150)
HIGHEST_SEED = 2**31 - 1
_UNPRINTABLE = re.compile("[\ud800-\udfff\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""What JSON leaves as it is and a terminal cannot print, or would obey: lone surrogates, C1 controls, changes of direction."""

DataRoot = Annotated[
    Path | None, typer.Option("--data-root", help="Folder of the published corpora. Default: the variable WHENCE_DATA.")
]
DataName = Annotated[
    str,
    typer.Option(
        "--data", help="A corpus name (see `whence data list`), a CSV, TSV, JSONL, Parquet or Excel file, or a folder."
    ),
]
ModelName = Annotated[
    str, typer.Option("--model", help="A Hugging Face folder or hub id, or the run folder of a `whence train` command.")
]
Labels = Annotated[
    str | None, typer.Option("--labels", help="Names of the model's outputs, in their order, separated by commas.")
]
Candidates = Annotated[
    str | None,
    typer.Option("--candidates", help="For models that write text: the labels to choose from, separated by commas."),
]
TemplateName = Annotated[
    str | None,
    typer.Option("--template", help="For models that write text: how an example becomes the input. A name or a file."),
]
Methods = Annotated[
    list[str] | None,
    typer.Option("--method", help="An explainer. Repeat the option to compare several. Default: all that fit."),
]
Hiding = Annotated[
    str | None, typer.Option("--hide", help="How a word is hidden: mask, pad or delete. Default: whatever suits the model.")
]
Split = Annotated[
    str | None, typer.Option(help="Which split to read. Default: test if there is one, else dev, else the first.")
]
Limit = Annotated[int | None, typer.Option(min=1, help="Use N examples, drawn at random with the seed.")]
EngineName = Annotated[str, typer.Option("--engine", help="local, or ray (pip install 'whence\\[ray]').")]
Address = Annotated[str | None, typer.Option(help="With --engine ray: the cluster. Default: this machine.")]
GpusPerTask = Annotated[
    float | None,
    typer.Option(
        "--gpus-per-task", help="With --engine ray: GPUs of a task, such as 0.25. Default: 1 for a model on a GPU, else 0."
    ),
]
OutFolder = Annotated[
    str,
    typer.Option(
        "--out",
        help="Folder, or its address (s3://…), for report.html and results.json. Run the same command again to continue.",
    ),
]
Seed = Annotated[int, typer.Option(min=0, max=HIGHEST_SEED, help="The same seed gives the same numbers.")]
Parameters = Annotated[
    list[str] | None, typer.Option("--set", help="METHOD.NAME=VALUE, for example lime.n_samples=1000. Repeat for several.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
TextColumn = Annotated[str | None, typer.Option("--text-column", help="Your file's column with the text (or the premise).")]
PairColumn = Annotated[str | None, typer.Option("--pair-column", help="Your file's column with the second text of a pair.")]
LabelColumn = Annotated[str | None, typer.Option("--label-column", help="Your file's column with the label.")]
Device = Annotated[
    str | None, typer.Option("--device", help="Where the model runs: cpu, cuda, cuda:1, mps. Default: a GPU if there is one.")
]
Dtype = Annotated[
    str | None, typer.Option("--dtype", help="Precision of the weights: float32, bfloat16 or float16. Default: as stored.")
]
BatchTokens = Annotated[
    int | None, typer.Option("--batch-tokens", min=1, help="Most tokens in one batch. Lower it if memory runs out.")
]


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


def label_names(labels: str | None) -> list[str]:
    return [label.strip() for label in labels.split(",")] if labels is not None else []


def print_json(value: Any) -> None:
    text = json.dumps(value, indent=2, ensure_ascii=False)
    sys.stdout.write(_UNPRINTABLE.sub(lambda match: f"\\u{ord(match.group()):04x}", text) + "\n")


def say(line: str) -> None:
    sys.stderr.write(visible(line) + "\n")
    sys.stderr.flush()


def keyed(given: list[str] | None, option: str) -> dict[str, Any]:
    """["a=1", "b=x"] → {"a": 1, "b": "x"}."""
    found: dict[str, Any] = {}
    for item in given or []:
        key, equals, value = item.partition("=")
        if not equals or not key:
            raise BadInput(f"{option} '{item}': expected NAME=VALUE")
        if key in found:
            raise BadInput(f"{option} '{key}' is given twice; expected one value")
        try:
            found[key] = json.loads(value)
        except (ValueError, RecursionError):
            found[key] = value
    return found


def each_once(names: list[str]) -> list[str]:
    """The methods as they were named; one that is named twice would be explained twice."""
    for number, name in enumerate(names):
        if name in names[:number]:
            raise BadInput(f"--method {name} was given twice; expected each method once")
    return names


def method_parameters(given: list[str] | None) -> dict[str, dict[str, Any]]:
    """["lime.n_samples=1000"] → {"lime": {"n_samples": 1000}}."""
    found: dict[str, dict[str, Any]] = {}
    for key, value in keyed(given, "--set").items():
        method, dot, name = key.partition(".")
        if not dot or not method or not name:
            raise BadInput(f"--set '{key}': expected METHOD.NAME=VALUE, such as lime.n_samples=1000")
        found.setdefault(method, {})[name] = value
    return found


def table_title(text: str) -> Any:
    """A title as rich text: what a user named is shown, never read as markup."""
    from rich.text import Text

    return Text(visible(text), style="italic")
