"""whence explain, audit, score, plan: explanations of a user's own model, and whether they can be believed."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Column, Table

from whence.cli.options import (
    AsJson,
    DataName,
    DataRoot,
    Hiding,
    LabelColumn,
    Labels,
    Limit,
    Methods,
    ModelName,
    PairColumn,
    Parameters,
    Seed,
    Split,
    TextColumn,
    columns,
    console,
    load_model,
    method_parameters,
    print_json,
    quiet,
    say,
)  # fmt: skip
from whence.errors import BadInput

Measures = Annotated[
    list[str] | None, typer.Option("--measure", help="A measure; repeat for several. Default: all that the data allows.")
]


def explain(
    model: ModelName,
    text: Annotated[str | None, typer.Option(help="A text to explain.")] = None,
    pair: Annotated[str | None, typer.Option(help="The second text of a pair.")] = None,
    data: Annotated[str | None, typer.Option(help="A corpus or file instead of --text.")] = None,
    method: Annotated[list[str] | None, typer.Option(help="Repeat for several. Default: integrated_gradients.")] = None,
    target: Annotated[str | None, typer.Option(help="The label to explain. Default: the predicted one.")] = None,
    out: Annotated[Path | None, typer.Option(help="Save as JSON lines.")] = None,
    eraser: Annotated[bool, typer.Option(help="Save in ERASER's format instead.")] = False,
    share: Annotated[float, typer.Option(help="With --eraser: share of tokens in the hard rationale.")] = 0.2,
    split: Split = None,
    limit: Limit = None,
    hide: Hiding = None,
    labels: Labels = None,
    seed: Seed = 0,
    set_: Parameters = None,
    text_column: TextColumn = None,
    pair_column: PairColumn = None,
    label_column: LabelColumn = None,
    data_root: DataRoot = None,
    as_json: AsJson = False,
) -> None:
    """Explain predictions: coloured words in the terminal, or a file of explanations."""
    quiet()
    from whence.api import usual_split
    from whence.data import Example
    from whence.data.registry import open_corpus
    from whence.explain import save_explanations
    from whence.explain.eraser_file import save_eraser
    from whence.run import check_file

    if out is not None:
        check_file(out)
    if (text is None) == (data is None):
        raise BadInput(
            "give either --text (with --pair for a second text) or --data; got " + ("neither" if text is None else "both")
        )
    examples: list[Example]
    if text is not None:
        examples = [Example("text", {"text": text} if pair is None else {"premise": text, "hypothesis": pair})]
    else:
        corpus = open_corpus(data or "", data_root, columns(text_column, pair_column, label_column))
        name = split or usual_split(corpus)
        examples = corpus.load(name, limit, seed)
    loaded, parameters = load_model(model, labels), method_parameters(set_)
    names = method or ["integrated_gradients"]
    if eraser and len(names) > 1:
        raise BadInput(f"--eraser takes one method, because the format has no field for it; got {', '.join(names)}")
    made = []
    for name in names:
        made += loaded.explain(examples, method=name, target=target, hide=hide, seed=seed, **parameters.get(name, {}))
    if out is not None and eraser:
        save_eraser(out, made, share)
    elif out is not None:
        save_explanations(out, made)
    if as_json:
        print_json([explanation.to_dict() for explanation in made])
    elif out is None:
        for explanation in made:
            console.print(explanation)
    else:
        say(f"{len(made)} explanations: {out}")


def audit(
    model: ModelName,
    data: DataName,
    out: Annotated[Path, typer.Option(help="Run folder: report.html, results.json. Run again to continue.")],
    method: Methods = None,
    measure: Measures = None,
    split: Split = None,
    limit: Limit = None,
    hide: Hiding = None,
    labels: Labels = None,
    seed: Seed = 0,
    set_: Parameters = None,
    text_column: TextColumn = None,
    pair_column: PairColumn = None,
    label_column: LabelColumn = None,
    data_root: DataRoot = None,
    as_json: AsJson = False,
) -> None:
    """Which explanation of my classifier can I believe? Explains, measures, compares with random, writes a report."""
    quiet()
    from whence import api

    report = api.audit(
        load_model(model, labels),
        data,
        out,
        methods=method or (),
        measures=measure or (),
        split=split,
        limit=limit,
        hide=hide,
        seed=seed,
        data_root=data_root,
        columns=columns(text_column, pair_column, label_column),
        parameters=method_parameters(set_),
        say=say,
    )
    show_audit(report, as_json)


def score(
    explanations: Annotated[
        list[Path], typer.Option(help="File of explanations (ours or ERASER's JSON lines); repeat to compare.")
    ],
    model: ModelName,
    data: DataName,
    out: Annotated[Path, typer.Option(help="Run folder: report.html, results.json. Run again to continue.")],
    measure: Measures = None,
    split: Split = None,
    hide: Hiding = None,
    labels: Labels = None,
    seed: Seed = 0,
    text_column: TextColumn = None,
    pair_column: PairColumn = None,
    label_column: LabelColumn = None,
    data_root: DataRoot = None,
    as_json: AsJson = False,
) -> None:
    """Measure explanations that were made elsewhere, beside random ones."""
    quiet()
    from whence import api
    from whence.api import usual_split
    from whence.data.registry import open_corpus

    corpus = open_corpus(data, data_root, columns(text_column, pair_column, label_column))
    name = split or usual_split(corpus)
    loaded = load_model(model, labels)
    examples = {example.id: example for example in corpus.load(name)}
    given = {file.name: api.read_explanations(file, list(examples.values())) for file in explanations}
    ids = [e.id for e in next(iter(given.values()))]
    unknown = [i for i in ids if i not in examples]
    if unknown:
        raise BadInput(f"{explanations[0]}: example '{unknown[0]}' is not in split '{name}' of {data}")
    report = api.audit(
        loaded,
        [examples[i] for i in dict.fromkeys(ids)],
        out,
        name=corpus.name,
        measures=measure or (),
        split=name,
        hide=hide,
        seed=seed,
        explanations=given,
        say=say,
    )
    show_audit(report, as_json)


def plan(
    model: ModelName,
    data: DataName,
    method: Methods = None,
    measure: Measures = None,
    split: Split = None,
    limit: Limit = None,
    hide: Hiding = None,
    labels: Labels = None,
    seed: Seed = 0,
    set_: Parameters = None,
    text_column: TextColumn = None,
    pair_column: PairColumn = None,
    label_column: LabelColumn = None,
    data_root: DataRoot = None,
    as_json: AsJson = False,
) -> None:
    """What an audit would cost: passes, tokens, time. Runs nothing but a few batches to learn the model's speed."""
    quiet()
    from whence.api import prepare_audit
    from whence.measure.audit import plan_audit

    job, classifier = prepare_audit(
        load_model(model, labels),
        data,
        methods=method or (),
        measures=measure or (),
        split=split,
        limit=limit,
        hide=hide,
        seed=seed,
        data_root=data_root,
        columns=columns(text_column, pair_column, label_column),
        parameters=method_parameters(set_),
    )
    cost = plan_audit(job, classifier)
    if as_json:
        print_json(cost)
        return
    table = Table("method", "forward", "backward", title="passes to make one explanation")
    for name, passes in cost["passes_per_example"].items():
        table.add_row(name, f"{passes['forward']:,.1f}", f"{passes['backward']:,.1f}")
    console.print(table)
    console.print(
        f"{cost['examples']:,} examples, measures included: {cost['requests']:,} requests, {cost['forward']:,} forward and "
        f"{cost['backward']:,} backward passes over {cost['tokens']:,} tokens; about {cost['seconds'] / 60:,.1f} minutes here "
        f"(counted on {cost['sampled']} examples)"
    )


def show_audit(report: Any, as_json: bool) -> None:
    if as_json:
        print_json(report.results)
        return
    results = report.results
    measures = [name for name in results["measures"] if any(line["measure"] == name for line in results["table"])]
    arrows = {"higher": "↑", "lower": "↓"}
    table = Table(Column("method", no_wrap=True))
    for m in measures:
        table.add_column(f"{results['measures'][m]['title']} {arrows[results['measures'][m]['direction']]}", justify="right")
    cells = {(line["method"], line["measure"]): line for line in results["table"]}
    for method, facts in results["methods"].items():
        row = [cells.get((method, m)) for m in measures]
        style = "dim" if method == "random" else ""
        table.add_row(facts["title"], *("–" if line is None else _cell(line) for line in row), style=style)
    console.print(table)
    console.print("bold: best; *: better or worse than random at p < 0.05 (paired permutation test, Holm)", style="dim")
    for line in report.verdict:
        console.print(line, markup=False)
    console.print(f"report: {report.path}", markup=False)


def _cell(line: dict[str, Any]) -> str:
    star = "*" if line["vs_random"] and line["vs_random"]["p"] < 0.05 else ""
    value = f"{line['value']:.3f}{star}"
    return f"[bold]{value}[/bold]" if line["best"] else value
