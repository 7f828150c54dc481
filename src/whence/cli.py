"""The verbs of the command line. Each one reads its arguments, calls one function of a room, and prints what came back.

Exit codes: 0 done; 2 bad input (one line on standard error); 130 interrupted, with a word on what was saved.
"""

import json
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from whence.errors import BadInput

app = typer.Typer(add_completion=False, no_args_is_help=True, rich_markup_mode="rich", help=__import__("whence").__doc__)
data_app = typer.Typer(no_args_is_help=True, help="Corpora: what there is, whether it is whole, what it looks like.")
app.add_typer(data_app, name="data")
console = Console(highlight=False)

DataRoot = Annotated[Path | None, typer.Option("--data-root", help="Folder of the published corpora; default: $WHENCE_DATA.")]
DataName = Annotated[str, typer.Option("--data", help="A corpus (see `whence data list`), a CSV, TSV or JSONL file, or a folder.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
TextColumn = Annotated[str | None, typer.Option(help="Column of the text (or of the premise) in a file of your own.")]
PairColumn = Annotated[str | None, typer.Option(help="Column of the second text of a pair.")]
LabelColumn = Annotated[str | None, typer.Option(help="Column of the label.")]


def main() -> None:
    """Entry point: turns errors into exit codes."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    try:
        code = app(standalone_mode=False)
    except BadInput as error:
        _fail(str(error))
    except typer.Exit as stop:
        code = stop.exit_code
    except (KeyboardInterrupt, typer.Abort):
        sys.stderr.write("\nwhence: interrupted; what was finished is saved, and the same command goes on from there\n")
        sys.exit(130)
    except typer.TyperException as error:  # wrong usage
        _fail(error.format_message())
    sys.exit(code or 0)


def _fail(message: str) -> None:
    sys.stderr.write(f"whence: {message}\n")
    sys.exit(2)


def _quiet() -> None:
    """Third-party chatter off: our own progress says what goes on."""
    from transformers.utils import logging

    logging.disable_progress_bar()
    logging.set_verbosity_error()


def _columns(text: str | None, pair: str | None, label: str | None) -> Any:
    from whence.data.table import Columns

    return Columns(text=text, pair=pair, label=label)


def _print_json(value: Any) -> None:
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


@app.command()
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
    seed: Annotated[int, typer.Option()] = 0,
    option: Annotated[list[str] | None, typer.Option(help="KEY=VALUE for the model's config, e.g. attention=uniform.")] = None,
    text: TextColumn = None,
    pair: PairColumn = None,
    label: LabelColumn = None,
    data_root: DataRoot = None,
    as_json: AsJson = False,
) -> None:
    """Train or fine-tune a classifier; killed at any moment, the same command goes on."""
    _quiet()
    from whence.data.registry import open_corpus
    from whence.teach import Job, Settings, default_settings, parse_objectives, run_job

    given = {"epochs": epochs, "batch_size": batch_size, "learning_rate": learning_rate, "patience": patience, "seed": seed}
    settings = default_settings(model) | {k: v for k, v in given.items() if v is not None}
    settings["objective"] = parse_objectives(objective or ["cross_entropy"])
    job = Job(
        data=data, model=model, vectors=str(vectors) if vectors else None, limit=limit, options=_options(option or []),
        settings=Settings(**settings),
    )  # fmt: skip
    corpus = open_corpus(data, data_root, _columns(text, pair, label))
    results = run_job(job, corpus, out, lambda line: sys.stderr.write(line + "\n"))
    if as_json:
        _print_json(results)
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


def _options(given: list[str]) -> dict[str, Any]:
    options = {}
    for item in given:
        key, found, value = item.partition("=")
        if not found:
            raise BadInput(f"--option '{item}': expected KEY=VALUE")
        try:
            options[key] = json.loads(value)
        except ValueError:
            options[key] = value
    return options


@data_app.command("list")
def data_list(data_root: DataRoot = None, as_json: AsJson = False) -> None:
    """The corpora that Whence reads."""
    from whence.data.registry import list_corpora

    rows = list_corpora(data_root)
    if as_json:
        _print_json(rows)
        return
    table = Table("name", "task", "labels", "splits", "here", "about")
    for row in rows:
        table.add_row(row["name"], row["task"], ", ".join(row["labels"]), ", ".join(row["splits"]), row["here"], row["about"])
    console.print(table)


@data_app.command("check")
def data_check(
    names: Annotated[list[str] | None, typer.Argument(help="Corpora, files or folders; all that are here if none is named.")] = None,
    text: TextColumn = None,
    pair: PairColumn = None,
    label: LabelColumn = None,
    data_root: DataRoot = None,
    as_json: AsJson = False,
) -> None:
    """Read every row; compare counts with the published ones; report every bad row. Exit code 2 if anything is wrong."""
    from whence.data.check import check
    from whence.data.registry import list_corpora, open_corpus

    chosen = names or [row["name"] for row in list_corpora(data_root) if row["here"] == "yes"]
    if not chosen:
        raise BadInput("no corpus is here: give --data-root FOLDER, set WHENCE_DATA, or name a file")
    reports = [check(open_corpus(name, data_root, _columns(text, pair, label))) for name in chosen]
    if as_json:
        _print_json([report.to_dict() for report in reports])
    else:
        for report in reports:
            console.print(report.render(), markup=False)
    wrong = [report.name for report in reports if not report.ok]
    if wrong:
        raise BadInput(f"{len(wrong)} of {len(reports)} corpora are not as expected: {', '.join(wrong)}")


@data_app.command("show")
def data_show(
    name: Annotated[str, typer.Argument(help="A corpus, file or folder.")],
    split: Annotated[str | None, typer.Option(help="Default: the first one.")] = None,
    count: Annotated[int, typer.Option("-n", min=1)] = 3,
    seed: Annotated[int, typer.Option(help="Which examples are drawn.")] = 0,
    text: TextColumn = None,
    pair: PairColumn = None,
    label: LabelColumn = None,
    data_root: DataRoot = None,
) -> None:
    """A few random examples, with what people highlighted underlined."""
    from whence.data.registry import open_corpus
    from whence.explain.draw import draw_example

    corpus = open_corpus(name, data_root, _columns(text, pair, label))
    for example in corpus.load(split or next(iter(corpus.splits)), count, seed):
        console.print(draw_example(example))


if __name__ == "__main__":
    main()
