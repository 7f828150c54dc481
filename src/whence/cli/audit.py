"""whence audit, score: which explanations of a model can be believed."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Column, Table
from rich.text import Text

from whence.cli.options import (
    Address,
    AsJson,
    BatchTokens,
    Candidates,
    DataName,
    DataRoot,
    Device,
    Dtype,
    EngineName,
    GpusPerTask,
    Hiding,
    LabelColumn,
    Labels,
    Limit,
    Methods,
    ModelName,
    OutFolder,
    PairColumn,
    Parameters,
    Seed,
    Split,
    TemplateName,
    TextColumn,
    columns,
    console,
    label_names,
    method_parameters,
    print_json,
    quiet,
    say,
)  # fmt: skip
from whence.cli.runs import in_folder
from whence.errors import visible

Measures = Annotated[
    list[str] | None,
    typer.Option("--measure", help="A measure. Repeat the option for several. Default: all that the data allows."),
]


def audit(
    model: ModelName,
    data: DataName,
    out: OutFolder,
    method: Methods = None,
    measure: Measures = None,
    split: Split = None,
    limit: Limit = None,
    hide: Hiding = None,
    labels: Labels = None,
    candidates: Candidates = None,
    template: TemplateName = None,
    seed: Seed = 0,
    set_: Parameters = None,
    text_column: TextColumn = None,
    pair_column: PairColumn = None,
    label_column: LabelColumn = None,
    data_root: DataRoot = None,
    device: Device = None,
    dtype: Dtype = None,
    batch_tokens: BatchTokens = None,
    budget: Annotated[
        str | None, typer.Option(help="A time such as 30m or 1.5h: picks how many examples and samples fit, and says which.")
    ] = None,
    engine: EngineName = "local",
    address: Address = None,
    gpus_per_task: GpusPerTask = None,
    as_json: AsJson = False,
) -> None:
    """Find out which explanation of your model you can believe.

    Explains every example with every method, measures how faithful each explanation is, compares them with random ones, and
    writes a report. You can stop it at any time: run the same command again and it continues where it stopped.

    A model whose template asks for a label and a rationale (nli.i-or, prompt.nli-why) is asked whether the two belong together.
    Name methods with --method to audit explanations of its label by words instead.
    """
    quiet()
    from whence import api

    report = api.audit(
        api.load(
            model,
            labels=label_names(labels),
            candidates=label_names(candidates),
            template=template,
            device=device,
            dtype=dtype,
            batch_tokens=batch_tokens,
        ),
        data,
        in_folder(out),
        methods=method or (),
        measures=measure or (),
        split=split,
        limit=limit,
        hide=hide,
        seed=seed,
        data_root=data_root,
        columns=columns(text_column, pair_column, label_column),
        parameters=method_parameters(set_),
        budget=budget,
        engine=engine,
        address=address,
        gpus_per_task=gpus_per_task,
        say=say,
    )
    show_audit(report, as_json)


def score(
    explanations: Annotated[
        list[Path], typer.Option(help="File of explanations (ours or ERASER's JSON lines); repeat to compare.")
    ],
    model: ModelName,
    data: DataName,
    out: OutFolder,
    measure: Measures = None,
    split: Split = None,
    hide: Hiding = None,
    labels: Labels = None,
    seed: Seed = 0,
    text_column: TextColumn = None,
    pair_column: PairColumn = None,
    label_column: LabelColumn = None,
    data_root: DataRoot = None,
    device: Device = None,
    dtype: Dtype = None,
    batch_tokens: BatchTokens = None,
    as_json: AsJson = False,
) -> None:
    """Measure explanations that were made elsewhere, and compare them with random ones."""
    quiet()
    from whence import api

    report = api.score(
        explanations,
        api.load(model, labels=label_names(labels), device=device, dtype=dtype, batch_tokens=batch_tokens),
        data,
        in_folder(out),
        measures=measure or (),
        split=split,
        hide=hide,
        seed=seed,
        data_root=data_root,
        columns=columns(text_column, pair_column, label_column),
        say=say,
    )
    show_audit(report, as_json)


def show_audit(report: Any, as_json: bool) -> None:
    """The verdict first, then the table that it rests on."""
    if as_json:
        print_json(report.results)
        return
    results = report.results
    for line in report.verdict:
        console.print(visible(line))
    if "association" in results:
        show_association(results)
        console.print(f"report: {visible(str(report.path))}")
        return
    measures = [name for name in results["measures"] if any(line["measure"] == name for line in results["table"])]
    arrows = {"higher": "↑", "lower": "↓"}
    table = Table(Column("method", no_wrap=True))
    for m in measures:
        facts = results["measures"][m]
        table.add_column(f"{visible(facts['title'])} {arrows[facts['direction']]}", justify="right")
    cells = {(line["method"], line["measure"]): line for line in results["table"]}
    for method, facts in results["methods"].items():
        row = [cells.get((method, m)) for m in measures]
        style = "dim" if method == "random" else ""
        table.add_row(visible(facts["title"]), *(Text("–") if line is None else _cell(line) for line in row), style=style)
    console.print(table)
    key = ["↑ higher is better, ↓ lower is better", "* differs from random (p < 0.05, paired permutation test, Holm)"]
    key += ["bold: best of its column"] if any(line["best"] for line in cells.values()) and console.is_terminal else []
    console.print("; ".join(key), style="dim")
    for note in results.get("notes") or ():
        console.print(f"note: {visible(note)}")
    console.print(f"report: {visible(str(report.path))}")


def show_association(results: dict[str, Any]) -> None:
    """The curves as numbers, and one rationale."""
    found = results["association"]
    titles = {"accuracy": "labels right", "stable": "labels unchanged", "similar": "rationales alike"}
    table = Table("noise", *titles.values())
    for level in found["levels"]:
        cells = [Text("–" if level[name] is None else f"{level[name]['value']:.2f}") for name in titles]
        table.add_row(f"{level['noise']:g}", *cells)
    console.print(table)
    console.print("noise: in units of the variance of the word table", style="dim")
    from whence.explain.text import Rationale

    console.print(Rationale.from_dict(found["examples"][0]["rationale"]))
    for note in results.get("notes") or ():
        console.print(f"note: {visible(note)}")


def _cell(line: dict[str, Any]) -> Text:
    star = "*" if line["vs_random"] and line["vs_random"]["p"] < 0.05 else ""
    return Text(f"{line['value']:.3f}{star}", style="bold" if line["best"] else "")
