"""whence study: a published paper again, with its numbers beside ours."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from whence.cli.options import AsJson, DataRoot, Seed, console, keyed, print_json, quiet, say


def study(
    name: Annotated[str | None, typer.Argument(help="Which one; without it, the studies are listed.")] = None,
    scale: Annotated[
        str,
        typer.Option(
            help="smoke: planted data, minutes; small: real data, an hour or two on two cores; full: as in the paper."
        ),
    ] = "small",
    out: Annotated[
        Path | None,
        typer.Option(help="Run folder: report.html, results.json. Run again to continue. Default: runs/NAME-SCALE."),
    ] = None,
    seed: Seed = 0,
    engine: Annotated[str, typer.Option(help="local, or ray (pip install 'whence\\[ray]').")] = "local",
    address: Annotated[str | None, typer.Option(help="With --engine ray: the cluster. Default: this machine.")] = None,
    data_root: DataRoot = None,
    set_: Annotated[list[str] | None, typer.Option("--set", help="SETTING=VALUE, in place of the scale's own.")] = None,
    as_json: AsJson = False,
) -> None:
    """Repeat a paper's study: every table and figure, with the paper's numbers beside ours and its claims checked."""
    quiet()
    from typing import get_args

    from whence.errors import unknown
    from whence.report.study_report import write_study_report
    from whence.run.engine import make_engine
    from whence.studies.registry import find_study, names
    from whence.studies.study import Scale, run_study

    if name is None or name not in names():
        _list([find_study(known) for known in names()], as_json and name is None)
        if name is not None:
            raise unknown("study", name, names())
        return
    if scale not in get_args(Scale):
        raise unknown("scale", scale, get_args(Scale))
    folder = out or Path("runs") / f"{name}-{scale}"
    overrides, chosen = keyed(set_, "--set"), make_engine(engine, address)
    results = run_study(find_study(name), scale, folder, seed, data_root, chosen, overrides, say)  # type: ignore[arg-type]
    write_study_report(results, folder / "report.html")
    if as_json:
        print_json(results)
    else:
        _show(results, folder / "report.html")


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


def _show(results: dict[str, Any], report: Path) -> None:
    from whence.report.study_report import compared

    for given in list(results["tables"].values())[:1]:
        shown = compared(given)
        table = Table(title=escape(shown["title"]), caption=escape(shown["caption"]))
        for column in shown["columns"]:
            table.add_column(escape(column["title"]), justify="right" if column["number"] else "left")
        for row in shown["rows"]:
            table.add_row(*(escape(f"{cell['text']} [{cell['below']}]" if cell["below"] else cell["text"]) for cell in row))
        console.print(table)
    for claim in results["claims"]:
        console.print(
            f"{'holds        ' if claim['holds'] else 'does not hold'}  {claim['text']} {claim['evidence']}", markup=False
        )
    if results["reduced"]:
        console.print(f"{len(results['reduced'])} settings differ from the paper's own; the report lists them", style="dim")
    console.print(f"report: {report}", markup=False)
