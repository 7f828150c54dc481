"""whence study: a published paper again, with its numbers beside ours."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from whence.cli.options import (
    Address,
    AsJson,
    DataRoot,
    EngineName,
    GpusPerTask,
    Seed,
    console,
    keyed,
    print_json,
    quiet,
    say,
    table_title,
)
from whence.cli.runs import in_folder
from whence.errors import visible


def study(
    name: Annotated[str | None, typer.Argument(help="Which study to run. Without a name, the studies are listed.")] = None,
    scale: Annotated[
        str,
        typer.Option(
            help="smoke: planted data, minutes; small: real data, an hour or two on two cores; full: as in the paper."
        ),
    ] = "small",
    out: Annotated[
        str | None,
        typer.Option(
            help="Folder, or the address of one (s3://…), for report.html and results.json. Run again to continue. "
            "Default: runs/NAME-SCALE."
        ),
    ] = None,
    seed: Seed = 0,
    engine: EngineName = "local",
    address: Address = None,
    gpus_per_task: GpusPerTask = None,
    data_root: DataRoot = None,
    set_: Annotated[list[str] | None, typer.Option("--set", help="SETTING=VALUE, in place of the scale's own.")] = None,
    as_json: AsJson = False,
) -> None:
    """Repeat a published study: its tables and figures, with the paper's numbers beside ours and its claims checked."""
    quiet()
    from whence.api import study as run
    from whence.errors import unknown
    from whence.run.mirror import inside
    from whence.studies.registry import find_study, names

    if name is None or name not in names():
        _list([find_study(known) for known in names()], as_json and name is None)
        if name is not None:
            raise unknown("study", name, names())
        return
    folder = out if out is not None else f"runs/{name}-{scale}"
    overrides = keyed(set_, "--set")
    results = run(
        name,
        scale,
        in_folder(folder),
        settings=overrides,
        seed=seed,
        engine=engine,
        address=address,
        gpus_per_task=gpus_per_task,
        data_root=data_root,
        say=say,
    )
    if as_json:
        print_json(results)
    else:
        _show(results, inside(folder, "report.html"))


def _list(studies: list[Any], as_json: bool) -> None:
    if as_json:
        print_json(
            [{"name": study.name, "title": study.title, "paper": study.paper, "about": study.about} for study in studies]
        )
        return
    table = Table("study", "about", "paper")
    for study in studies:
        table.add_row(study.name, study.about, study.paper)
    console.print(table)


def _show(results: dict[str, Any], report: Path | str) -> None:
    from whence.report.study_report import compared

    for given in list(results["tables"].values())[:1]:
        shown = compared(given)
        table = Table(title=table_title(shown["title"]), caption=visible(shown["caption"]))
        for column in shown["columns"]:
            table.add_column(visible(column["title"]), justify="right" if column["number"] else "left")
        for row in shown["rows"]:
            table.add_row(*(visible(f"{cell['text']} [{cell['below']}]" if cell["below"] else cell["text"]) for cell in row))
        console.print(table)
    for claim in results["claims"]:
        console.print(visible(f"{claim['verdict']:13}  {claim['text']} {claim['evidence']}"))
        for earlier in claim["earlier"]:
            console.print(visible(f"{'':13}  by an earlier rule ({earlier['rule']}): {earlier['verdict']}"), style="dim")
    if results["reduced"]:
        console.print(f"{len(results['reduced'])} settings differ from the paper's own; the report lists them", style="dim")
    console.print(f"report: {visible(str(report))}")
