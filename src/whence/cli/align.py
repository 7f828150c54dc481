"""whence align: which word pairs a prediction on two sentences rests on."""

from pathlib import Path
from typing import Annotated

import typer

from whence.cli.options import (
    AsJson,
    DataRoot,
    LabelColumn,
    Labels,
    Limit,
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
)
from whence.errors import BadInput

PICTURES = (".svg", ".png")


def align(
    model: ModelName,
    text: Annotated[str | None, typer.Option(help="The first sentence (premise).")] = None,
    pair: Annotated[str | None, typer.Option(help="The second sentence (hypothesis).")] = None,
    data: Annotated[str | None, typer.Option(help="A corpus or file of pairs instead of --text and --pair.")] = None,
    method: Annotated[list[str] | None, typer.Option(help="Repeat for several. Default: arec.")] = None,
    out: Annotated[Path | None, typer.Option(help="JSON lines, or a picture (.svg, .png) of a single pair.")] = None,
    split: Split = None,
    limit: Limit = None,
    labels: Labels = None,
    seed: Seed = 0,
    set_: Parameters = None,
    text_column: TextColumn = None,
    pair_column: PairColumn = None,
    label_column: LabelColumn = None,
    data_root: DataRoot = None,
    as_json: AsJson = False,
) -> None:
    """Explain predictions on sentence pairs by alignments: a matrix of word pairs in the terminal, a picture, or a file."""
    quiet()
    from whence.api import usual_split
    from whence.data import Example
    from whence.data.registry import open_corpus
    from whence.explain.alignment import save_alignments
    from whence.explain.alignments.draw import save_matrix
    from whence.run import check_file

    if out is not None:
        check_file(out)
    if (text is None or pair is None) == (data is None):
        raise BadInput("give either --text and --pair, or --data")
    if text is not None and pair is not None:
        examples = [Example("text", {"premise": text, "hypothesis": pair})]
    else:
        corpus = open_corpus(data or "", data_root, columns(text_column, pair_column, label_column))
        examples = corpus.load(split or usual_split(corpus), limit, seed)
    loaded, parameters = load_model(model, labels), method_parameters(set_)
    made = []
    for name in method or ["arec"]:
        made += loaded.align(examples, method=name, seed=seed, **parameters.get(name, {}))
    if out is not None and out.suffix in PICTURES:
        if len(made) != 1:
            raise BadInput(f"--out {out} is one picture, but there are {len(made)} explanations; expected a .jsonl file")
        save_matrix(made[0], out)
    elif out is not None:
        save_alignments(out, made)
    if as_json:
        print_json([alignment.to_dict() for alignment in made])
    elif out is None:
        for alignment in made:
            console.print(alignment)
    else:
        say(f"{len(made)} explanation{'s' * (len(made) != 1)}: {out}")
