"""whence train: a classifier from scratch, or a Hugging Face model fine-tuned."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from whence.cli.options import (
    AsJson,
    DataName,
    DataRoot,
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
)  # fmt: skip


def train(
    data: DataName,
    model: Annotated[str, typer.Option(help="bilstm, mlp, decomposable, esim, encoder, or a Hugging Face folder or hub id.")],
    out: Annotated[Path, typer.Option(help="Run folder; the model is in OUT/model. Run again to continue.")],
    vectors: Annotated[Path | None, typer.Option(help="GloVe text file (.gz, .xz) to start from.")] = None,
    objective: Annotated[list[str] | None, typer.Option(help="NAME or NAME=WEIGHT; repeat to add terms up.")] = None,
    limit: Annotated[int | None, typer.Option(min=2, help="Train on a random N examples.")] = None,
    epochs: Annotated[int | None, typer.Option(min=1)] = None,
    batch_size: Annotated[int | None, typer.Option(min=1)] = None,
    learning_rate: Annotated[float | None, typer.Option()] = None,
    patience: Annotated[int | None, typer.Option(min=1, help="Epochs without a better dev score before stopping.")] = None,
    select: Annotated[
        str | None, typer.Option(help="Metric that picks the epoch: macro_f1, accuracy, loss or train_loss.")
    ] = None,
    guide: Annotated[str | None, typer.Option(help="Impose attention: 'uniform', or a trained model's folder.")] = None,
    seed: Seed = 0,
    set_: Annotated[list[str] | None, typer.Option("--set", help="OBJECTIVE.NAME=VALUE, e.g. adversary.base=RUN.")] = None,
    option: Annotated[list[str] | None, typer.Option(help="KEY=VALUE for the model's config, e.g. attention=uniform.")] = None,
    text_column: TextColumn = None,
    pair_column: PairColumn = None,
    label_column: LabelColumn = None,
    data_root: DataRoot = None,
    as_json: AsJson = False,
) -> None:
    """Train or fine-tune a classifier; killed at any moment, the same command goes on."""
    quiet()
    from whence.data.registry import open_corpus
    from whence.teach import Job, Settings, default_settings, parse_objectives, run_job

    given = {"epochs": epochs, "batch_size": batch_size, "learning_rate": learning_rate, "patience": patience, "seed": seed}
    settings = default_settings(model) | {k: v for k, v in given.items() if v is not None}
    settings["objective"] = parse_objectives(objective or ["cross_entropy"])
    settings["options"] = method_parameters(set_)
    settings["select"] = select
    job = Job(
        data=data, model=model, vectors=str(vectors) if vectors else None, limit=limit, options=keyed(option, "--option"),
        guide=guide, settings=Settings(**settings),
    )  # fmt: skip
    corpus = open_corpus(data, data_root, columns(text_column, pair_column, label_column))
    results = run_job(job, corpus, out, say)
    if as_json:
        print_json(results)
        return
    table = Table("split", "examples", "accuracy", "macro-F1", title=f"{model} on {data}")
    for split in ("dev", "test"):
        if split in results:
            scores = results[split]
            table.add_row(split, f"{scores['examples']:,}", f"{scores['accuracy']:.4f}", f"{scores['macro_f1']:.4f}")
    console.print(table)
    for note in results["notes"]:
        console.print(f"note: {note}")
    console.print(f"model: {out / 'model'}")
