"""whence calibrate: explainers ranked where the truth is known."""

from typing import Annotated

import typer
from rich.table import Table

from whence.cli.options import (
    Address,
    AsJson,
    Device,
    Dtype,
    EngineName,
    GpusPerTask,
    Hiding,
    Limit,
    Methods,
    Seed,
    console,
    print_json,
    quiet,
    say,
    table_title,
)  # fmt: skip
from whence.errors import visible

COLUMNS = {"first": "planted word first", "rank": "mean reciprocal rank", "average_precision": "average precision"}


def calibrate(
    data: Annotated[str, typer.Option(help="A planted corpus: shortcuts, reviews or scenes.")] = "shortcuts",
    model: Annotated[
        str | None,
        typer.Option(help="A model folder or hub id. Default: a model is trained on the corpus and kept in the cache."),
    ] = None,
    arch: Annotated[
        str | None, typer.Option(help="What to train: encoder, bilstm or mlp; for scenes: esim, decomposable or encoder.")
    ] = None,
    method: Methods = None,
    limit: Limit = 200,
    hide: Hiding = None,
    seed: Seed = 0,
    device: Device = None,
    dtype: Dtype = None,
    engine: EngineName = "local",
    address: Address = None,
    gpus_per_task: GpusPerTask = None,
    as_json: AsJson = False,
) -> None:
    """Rank explainers by how well they find reasons that were planted in the data."""
    quiet()
    from whence.api import calibrate as run
    from whence.explain import METHODS

    result = run(
        data,
        model,
        arch=arch,
        methods=method or (),
        limit=limit,
        hide=hide,
        seed=seed,
        device=device,
        dtype=dtype,
        engine=engine,
        address=address,
        gpus_per_task=gpus_per_task,
        say=say,
    )
    if as_json:
        print_json(result)
        return
    about = f"{data}: {result['examples']:,} test examples; the model is right on {result['accuracy']:.1%}"
    if result["reliance"] is not None:
        about += f" and follows {result['reliance']:.1%} of the planted words when they are exchanged"
    table = Table("method", *COLUMNS.values(), "passes", title=table_title(about))
    for row in result["rows"]:
        values = (f"{row[m]['value']:.3f} [{row[m]['low']:.3f}, {row[m]['high']:.3f}]" for m in COLUMNS)
        style = "dim" if row["method"] == "random" else ""
        table.add_row(METHODS[row["method"]].title, *values, f"{row['forward_passes']:,.0f}", style=style)
    console.print(table)
    console.print(f"chance of the first column: {result['chance_first']:.3f}; words hidden by: {result['hide']}")
    for note in result["notes"]:
        console.print(f"note: {visible(note)}")
