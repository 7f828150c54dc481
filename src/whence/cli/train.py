"""whence train: a classifier or a text-to-text model, from scratch or fine-tuned."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from whence.cli.options import (
    Address,
    AsJson,
    DataName,
    DataRoot,
    Device,
    EngineName,
    GpusPerTask,
    LabelColumn,
    PairColumn,
    Seed,
    TextColumn,
    columns,
    console,
    keyed,
    method_parameters,
    print_json,
    quiet,
    say,
    table_title,
)  # fmt: skip
from whence.cli.runs import in_folder
from whence.errors import BadInput, visible

METRICS = {"accuracy": "accuracy", "macro_f1": "macro-F1", "exact_match": "exact match", "bleu": "BLEU"}
SPLITS = ("dev", "test")


def train(
    data: DataName,
    model: Annotated[
        str,
        typer.Option(
            help="To train from scratch: bilstm, mlp, decomposable, esim, encoder; in text2text small_t5, copying_t5, "
            "aligning_t5, small_gpt2; in joint sim, infersent. To start from an encoder: warm. "
            "To fine-tune: a folder or hub id."
        ),
    ],
    out: Annotated[
        str,
        typer.Option(
            help="Run folder, or its address (s3://…). The model is saved in OUT/model. Run the same command to continue."
        ),
    ],
    task: Annotated[
        str,
        typer.Option(
            help="classification; text2text: the model writes a text; joint: it decides while it writes its explanation."
        ),
    ] = "classification",
    template: Annotated[
        str | None,
        typer.Option(help="With text2text and joint: how an example becomes source and target, by name (nli.i-or) or file."),
    ] = None,
    vectors: Annotated[Path | None, typer.Option(help="A GloVe text file (also .gz, .xz) to start from.")] = None,
    objective: Annotated[
        list[str] | None,
        typer.Option(help="NAME or NAME=WEIGHT. Repeat the option to add terms up. Default: the task's cross-entropy."),
    ] = None,
    limit: Annotated[int | None, typer.Option(min=2, help="Train on N examples, drawn at random with the seed.")] = None,
    epochs: Annotated[int | None, typer.Option(min=1, help="Most epochs. Default: depends on the model.")] = None,
    batch_size: Annotated[int | None, typer.Option(min=1, help="Texts in a batch. Default: 32.")] = None,
    learning_rate: Annotated[float | None, typer.Option(help="Above 0. Default: depends on the model.")] = None,
    patience: Annotated[
        int | None, typer.Option(min=1, help="Epochs without a better dev score before training stops.")
    ] = None,
    precision: Annotated[
        str | None,
        typer.Option(
            help="float32 (default), or bfloat16: mixed precision, about twice as fast where the hardware multiplies bfloat16, "
            "far slower where it does not."
        ),
    ] = None,
    select: Annotated[
        str | None,
        typer.Option(help="The metric that picks the epoch: macro_f1, accuracy, loss, train_loss, bleu, exact_match."),
    ] = None,
    guide: Annotated[str | None, typer.Option(help="Attention to impose: uniform, or the folder of a trained model.")] = None,
    seed: Seed = 0,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="OBJECTIVE.NAME=VALUE, for example saloss.prior=tfidf.")
    ] = None,
    option: Annotated[
        list[str] | None, typer.Option(help="NAME=VALUE for the model's config, for example attention=uniform.")
    ] = None,
    text_column: TextColumn = None,
    pair_column: PairColumn = None,
    label_column: LabelColumn = None,
    data_root: DataRoot = None,
    device: Device = None,
    sweep: Annotated[
        list[str] | None,
        typer.Option(
            help="NAME=VALUE,VALUE: train once for each value, in a folder of its own in OUT. Repeat it for all combinations. "
            "NAME is seed, learning-rate, epochs, …, objective.NAME (its weight), OBJECTIVE.NAME as in --set, or option.NAME."
        ),
    ] = None,
    engine: EngineName = "local",
    address: Address = None,
    gpus_per_task: GpusPerTask = None,
    as_json: AsJson = False,
) -> None:
    """Train a classifier or a text-to-text model from scratch, or fine-tune one.

    --data needs a training split: a corpus that has one, or a folder with train.csv and, if you have them, dev.csv and
    test.csv. You can stop training at any time: run the same command again and it continues from its last checkpoint.

    --sweep trains many models that differ in some settings, one after another or, with --engine ray, side by side.
    """
    quiet()
    from whence import api
    from whence.run.mirror import inside

    arguments: dict[str, Any] = {
        "task": task,
        "template": template,
        "objectives": objective or (),
        "parameters": method_parameters(set_),
        "options": keyed(option, "--option"),
        "vectors": vectors,
        "select": select,
        "guide": guide,
        "limit": limit,
        "epochs": epochs,
        "batch_size": batch_size,
        "learning_rate": learning_rate,
        "patience": patience,
        "precision": precision,
        "seed": seed,
        "data_root": data_root,
        "columns": columns(text_column, pair_column, label_column),
        "device": device,
        "say": say,
    }
    if sweep:
        over = {name.replace("-", "_"): _values(given) for name, given in keyed(sweep, "--sweep").items()}
        on: dict[str, Any] = {"engine": engine, "address": address, "gpus_per_task": gpus_per_task}
        results = api.sweep(data, model, in_folder(out), over, **on, **arguments)
        _show_sweep(results, f"{model} on {data}", out, as_json)
        return
    if engine != "local" or address is not None or gpus_per_task is not None:
        raise BadInput("--engine, --address and --gpus-per-task are for many trainings; expected --sweep with them")
    results = api.train(data, model, in_folder(out), **arguments)
    if as_json:
        print_json(results)
        return
    splits = [split for split in SPLITS if split in results]
    shown = [metric for metric in METRICS if all(metric in results[split] for split in splits)]
    table = Table("split", "examples", *(METRICS[metric] for metric in shown), title=table_title(f"{model} on {data}"))
    for split in splits:
        scores = results[split]
        table.add_row(split, f"{scores['examples']:,}", *(f"{scores[metric]:.4f}" for metric in shown))
    console.print(table)
    for note in results["notes"]:
        console.print(f"note: {visible(note)}")
    console.print(f"model: {visible(str(inside(out, 'model')))}")


def _values(given: Any) -> list[Any]:
    """Of `NAME=VALUE,VALUE`, each read as JSON where it is JSON."""
    if isinstance(given, list):
        return given
    return [keyed([f"x={value}"], "--sweep")["x"] for value in given.split(",")] if isinstance(given, str) else [given]


def _show_sweep(results: dict[str, Any], title: str, out: str, as_json: bool) -> None:
    if as_json:
        print_json(results)
        return
    runs, names = results["runs"], list(results["over"])
    shown = [(split, metric) for split in SPLITS for metric in METRICS if all(metric in run.get(split, {}) for run in runs)]
    heads = [f"{split} {METRICS[metric]}" for split, metric in shown]
    table = Table(*(visible(name) for name in names), *heads, "folder", title=table_title(title))
    for run in runs:
        values = (visible(str(run["settings"][name])) for name in names)
        table.add_row(*values, *(f"{run[split][metric]:.4f}" for split, metric in shown), visible(run["run"]))
    console.print(table)
    for note in results["notes"]:
        console.print(f"note: {visible(note)}")
    console.print(f"models: {visible(out)}/RUN/model")
