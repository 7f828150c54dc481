"""whence demo and calibrate: the whole path on planted corpora, where the true reason is known."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from whence.cli.options import AsJson, Hiding, Limit, Methods, Seed, console, print_json, quiet, say

EXAMPLES, EPOCHS = 60, 3
"""Small, so that the demo takes a few minutes on two cores; the report states them."""


def demo(
    out: Annotated[Path, typer.Option(help="Run folder: report.html, results.json.")] = Path("runs/demo"),
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Planted reviews → train a small transformer → explain → measure → report.html. A few minutes, no downloads."""
    quiet()
    from whence.api import Model, audit
    from whence.cli.audit import show_audit
    from whence.data.registry import open_corpus
    from whence.studies.planted_model import planted_model

    corpus = open_corpus("reviews", seed=seed)
    say("training a small transformer on planted reviews")
    model = Model(planted_model(corpus, "encoder", seed, EPOCHS, say=say)[0], "small transformer trained on planted reviews")
    examples = corpus.load("test", EXAMPLES, seed)
    say(f"auditing its explanations on {len(examples)} test reviews")
    report = audit(model, examples, out, name="planted reviews", split="test", seed=seed, say=say)
    if not as_json:
        console.print("\nThree of them; orange words speak for the predicted label, blue ones against it:")
        for explanation in model.explain(examples[:3], method="leave_one_out"):
            console.print(explanation)
        console.print()
    show_audit(report, as_json)


def calibrate(
    data: Annotated[str, typer.Option(help="A planted corpus: shortcuts, reviews or scenes.")] = "shortcuts",
    model: Annotated[
        str | None, typer.Option(help="A model folder. Default: one is trained on the corpus and kept in the cache.")
    ] = None,
    arch: Annotated[
        str | None, typer.Option(help="What to train: bilstm, mlp, encoder; esim, decomposable for scenes.")
    ] = None,
    method: Methods = None,
    limit: Limit = 200,
    hide: Hiding = None,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Rank explainers by how well they find reasons that were planted."""
    quiet()
    from whence.data.registry import open_corpus
    from whence.explain import METHODS, check_hide
    from whence.models import Classifier
    from whence.studies.calibrate import calibrate as run
    from whence.studies.planted_model import planted_model

    corpus = open_corpus(data, seed=seed)
    chosen = arch or ("esim" if corpus.task == "pair" else "encoder")
    classifier = Classifier.load(model) if model else planted_model(corpus, chosen, seed, say=say)[0]
    result = run(classifier, corpus.load("test", limit, seed), method or (), None if hide is None else check_hide(hide), seed)
    if as_json:
        print_json(result)
        return
    about = f"{result['examples']} test examples, model accuracy {result['accuracy']:.3f}"
    if result["reliance"] is not None:
        about += f", prediction follows the planted words when they are exchanged in {result['reliance']:.1%}"
    table = Table("method", "planted word first", "mean reciprocal rank", "AUPRC", "passes", title=f"{data}: {about}")
    for row in result["rows"]:
        values = (f"{row[m]['value']:.3f} [{row[m]['low']:.3f}, {row[m]['high']:.3f}]" for m in ("first", "rank", "auprc"))
        table.add_row(
            METHODS[row["method"]].title,
            *values,
            f"{row['forward_passes']:,.0f}",
            style="dim" if row["method"] == "random" else "",
        )
    console.print(table)
    console.print(f"chance of the first column: {result['chance_first']:.3f}; words hidden by: {result['hide']}")
    for note in result["notes"]:
        console.print(f"note: {note}", markup=False)
