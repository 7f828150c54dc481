"""whence plan: what a command would cost."""

from typing import Annotated, Any

import typer
from rich.table import Table

from whence.cli.options import (
    AsJson,
    BatchTokens,
    Candidates,
    DataRoot,
    Device,
    Dtype,
    Hiding,
    LabelColumn,
    Labels,
    Limit,
    Methods,
    PairColumn,
    Parameters,
    Seed,
    Split,
    TemplateName,
    TextColumn,
    columns,
    console,
    keyed,
    label_names,
    method_parameters,
    print_json,
    quiet,
)  # fmt: skip
from whence.errors import BadInput, visible


def plan(
    verb: Annotated[str, typer.Argument(help="What to plan: audit, explain, align, calibrate, train or study.")] = "audit",
    name: Annotated[str | None, typer.Argument(help="With study: which one.")] = None,
    model: Annotated[str | None, typer.Option(help="The model, as the verb itself takes it.")] = None,
    data: Annotated[str | None, typer.Option(help="The data, as the verb itself takes it.")] = None,
    method: Methods = None,
    measure: Annotated[list[str] | None, typer.Option("--measure", help="With audit: a measure. Repeat for several.")] = None,
    split: Split = None,
    limit: Limit = None,
    hide: Hiding = None,
    labels: Labels = None,
    candidates: Candidates = None,
    template: TemplateName = None,
    task: Annotated[str, typer.Option(help="With train: classification, text2text or joint.")] = "classification",
    epochs: Annotated[int | None, typer.Option(min=1, help="With train: most epochs.")] = None,
    batch_size: Annotated[int | None, typer.Option(min=1, help="With train: texts in a batch.")] = None,
    scale: Annotated[str, typer.Option(help="With study: smoke, small or full.")] = "small",
    seed: Seed = 0,
    set_: Parameters = None,
    text_column: TextColumn = None,
    pair_column: PairColumn = None,
    label_column: LabelColumn = None,
    data_root: DataRoot = None,
    device: Device = None,
    dtype: Dtype = None,
    batch_tokens: BatchTokens = None,
    as_json: AsJson = False,
) -> None:
    """Show what a command would cost: passes or steps, and time.

    Nothing is written. Only a few batches are run, to learn how fast the model is here.
    """
    quiet()
    from whence.api import load
    from whence.api import plan as run

    if dtype is not None and verb == "train":
        raise BadInput(f"--dtype {dtype}: training is in float32; expected no --dtype with train")
    loads = model is not None and verb not in ("train", "study")
    cost = run(
        verb,
        model=load(
            model,
            labels=label_names(labels),
            candidates=label_names(candidates),
            template=template,
            device=device,
            dtype=dtype,
            batch_tokens=batch_tokens,
        )
        if loads
        else model,
        data=data,
        methods=method or (),
        measures=measure or (),
        split=split,
        limit=limit,
        hide=hide,
        seed=seed,
        parameters=method_parameters(set_) if verb != "study" else None,
        data_root=data_root,
        columns=columns(text_column, pair_column, label_column),
        epochs=epochs,
        batch_size=batch_size,
        task=task,
        template=None if loads else template,
        device=None if loads else device,
        name=name,
        scale=scale,
        settings=keyed(set_, "--set") if verb == "study" else None,
    )
    if as_json:
        print_json(cost)
    else:
        _show(cost)


def _show(cost: dict[str, Any]) -> None:
    from whence.run.engine import shown_time

    if "pieces" in cost:
        console.print(
            f"{len(cost['pieces'])} pieces are known before any of them has run; their results decide on further ones:"
        )
        for piece in cost["pieces"]:
            known = cost["by_piece"].get(piece)
            more = " and more" if piece in cost["untimed"] else ""
            console.print(f"  {visible(piece)}" + (f", {shown_time(known['seconds'])}{more}" if known else ""))
        if cost["by_piece"]:
            console.print(
                f"about {cost['seconds'] / 60:,.1f} minutes here, {cost['trained']['seconds'] / 60:,.1f} of them for trainings"
            )
        if cost["untimed"]:
            why = cost["why"] or "they depend on what other pieces find, or on how much a trained model writes"
            console.print(f"{len(cost['untimed'])} pieces are not, or not all, in this time: {visible(why)}")
        return
    if "rationale" in cost:
        each = cost["rationale"]
        console.print(
            f"{cost['examples']:,} examples, for each: {each['rationales']:,} rationales written, {each['forward']:,} forward "
            f"passes and at most {each['backward']:,} backward passes; how long they take depends on how much the model writes"
        )
        return
    minutes = f"about {cost['seconds'] / 60:,.1f} minutes here"
    if "steps" in cost:
        console.print(
            f"{cost['examples']:,} training examples: {cost['steps_per_epoch']:,} steps in each of {cost['epochs']} epochs, "
            f"{1000 * cost['seconds_per_step']:,.0f} ms a step; {minutes} at most"
        )
        return
    table = Table("method", "forward", "backward", title="passes to make one explanation")
    for name, passes in cost["passes_per_example"].items():
        table.add_row(name, *(_passes(passes, kind) for kind in ("forward", "backward")))
    console.print(table)
    more = ", measures included" if cost["verb"] == "audit" else ""
    passes = f"about {cost['forward']:,} forward and {cost['backward']:,} backward passes"
    console.print(f"{cost['examples']:,} examples{more}: {passes}; {minutes}")
    if "sampled" in cost:
        console.print(f"counted on {cost['sampled']} examples, timed on some of them", style="dim")


def _passes(of: dict[str, Any], kind: str) -> str:
    """With the bounds, where the work may stop early."""
    low, high = of.get("range", {}).get(kind, (of[kind], of[kind]))
    return f"{of[kind]:,.1f}" + (f" ({low:,.0f} to {high:,.0f})" if high - low >= 1 else "")
