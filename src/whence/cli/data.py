"""whence data: what corpora there are, whether they are whole, what they look like."""

from dataclasses import asdict
from typing import Annotated

import typer
from rich.table import Table

from whence.cli.options import AsJson, DataRoot, LabelColumn, PairColumn, TextColumn, columns, console, print_json, say
from whence.errors import BadInput, visible

app = typer.Typer(no_args_is_help=True, help="List, check and show corpora.")


@app.command("list")
def data_list(data_root: DataRoot = None, as_json: AsJson = False) -> None:
    """List the corpora that Whence can read."""
    from whence.data.registry import catalogue

    rows = catalogue(data_root)
    if as_json:
        print_json(rows)
        return
    table = Table("name", "task", "splits", "here", "about")
    for row in rows:
        table.add_row(row["name"], row["task"], ", ".join(row["splits"]), "yes" if row["here"] else "no", row["about"])
    console.print(table)


@app.command("check")
def data_check(
    names: Annotated[
        list[str] | None, typer.Argument(help="Corpora, files or folders; all that are here if none is named.")
    ] = None,
    text_column: TextColumn = None,
    pair_column: PairColumn = None,
    label_column: LabelColumn = None,
    data_root: DataRoot = None,
    as_json: AsJson = False,
) -> None:
    """Read every row, compare the counts with the published ones, and report every bad row.

    The exit code is 2 if anything is wrong.
    """
    from whence.data.check import check
    from whence.data.registry import catalogue, open_corpus

    reports = []
    for name in names or [row["name"] for row in catalogue(data_root) if row["here"]]:
        corpus = open_corpus(name, data_root, columns(text_column, pair_column, label_column))
        report = check(corpus)
        reports.append(report)
        if not as_json:
            for note in corpus.notes:
                say(f"note: {note}")
            rows = ", ".join(f"{count.name.split('/')[-1]} {count.rows:,}" for count in report.splits)
            console.print(visible(f"{'ok   ' if report.ok else 'WRONG'} {report.corpus}: {rows}"), soft_wrap=True)
            for problem in report.problems():
                console.print(visible(f"      {problem}"), soft_wrap=True)
    if as_json:
        print_json([asdict(report) | {"ok": report.ok, "problems": report.problems()} for report in reports])
    wrong = [report.corpus for report in reports if not report.ok]
    if wrong:
        raise BadInput(f"{len(wrong)} of {len(reports)} corpora are not as expected: {', '.join(wrong)}")


@app.command("show")
def data_show(
    name: Annotated[str, typer.Argument(help="A corpus, file or folder.")],
    split: Annotated[str | None, typer.Option(help="Default: the first one.")] = None,
    count: Annotated[int, typer.Option("-n", min=1, help="How many.")] = 3,
    seed: Annotated[int, typer.Option(min=0, help="Which examples are drawn.")] = 0,
    text_column: TextColumn = None,
    pair_column: PairColumn = None,
    label_column: LabelColumn = None,
    data_root: DataRoot = None,
) -> None:
    """Show a few random examples; words that people highlighted are underlined."""
    from whence.data.registry import open_corpus
    from whence.explain.draw import draw_example

    corpus = open_corpus(name, data_root, columns(text_column, pair_column, label_column))
    for example in corpus.load(split or next(iter(corpus.splits)), count, seed):
        console.print(draw_example(example))
