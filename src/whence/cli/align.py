"""whence align: which word pairs a prediction on two sentences rests on."""

from collections.abc import Iterable
from contextlib import nullcontext
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer

from whence.cli.options import (
    Address,
    AsJson,
    BatchTokens,
    DataRoot,
    Device,
    Dtype,
    EngineName,
    GpusPerTask,
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
    each_once,
    label_names,
    method_parameters,
    print_json,
    quiet,
    say,
)
from whence.errors import BadInput, unknown

PICTURES = (".svg", ".png", ".pdf")


def align(
    model: ModelName,
    text: Annotated[str | None, typer.Option(help="The first sentence (premise).")] = None,
    pair: Annotated[str | None, typer.Option(help="The second sentence (hypothesis).")] = None,
    data: Annotated[str | None, typer.Option(help="A corpus or file of pairs, instead of --text and --pair.")] = None,
    method: Annotated[
        list[str] | None, typer.Option(help="An explainer. Repeat the option for several. Default: arec.")
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(help="Save to this file or address (s3://…): .jsonl, or a picture of a single pair (.svg, .png, .pdf)."),
    ] = None,
    sealed: Annotated[
        bool, typer.Option("--sealed", help="Explain the routes through [CLS] and [SEP] too: one more row and column.")
    ] = False,
    split: Split = None,
    limit: Limit = None,
    labels: Labels = None,
    seed: Seed = 0,
    set_: Parameters = None,
    text_column: TextColumn = None,
    pair_column: PairColumn = None,
    label_column: LabelColumn = None,
    data_root: DataRoot = None,
    device: Device = None,
    dtype: Dtype = None,
    batch_tokens: BatchTokens = None,
    engine: EngineName = "local",
    address: Address = None,
    gpus_per_task: GpusPerTask = None,
    as_json: AsJson = False,
) -> None:
    """Explain predictions on sentence pairs: which pairs of words the label rests on.

    The result is a matrix in the terminal, a picture, or a file.
    """
    quiet()
    from whence.api import load, usual_split
    from whence.data import Example
    from whence.data.registry import open_corpus
    from whence.explain.alignment import Alignment, read_alignments, save_alignments
    from whence.explain.alignments import ALIGNMENT_METHODS
    from whence.explain.alignments.draw import save_matrix
    from whence.explain.parameters import check_parameters
    from whence.explain.to_file import explain_to_file
    from whence.measure.alignments.needed import need_in_words
    from whence.run import check_file
    from whence.run.engine import make_engine
    from whence.run.mirror import is_address, place_of

    if (text is None or pair is None) == (data is None) or (data is not None and (text is not None or pair is not None)):
        raise BadInput("give either --text and --pair, or --data")
    ending = None if out is None else Path(out).suffix.lower()
    if ending is not None and ending not in (*PICTURES, ".jsonl"):
        raise BadInput(f"--out {out}: unknown ending '{ending}'; expected .jsonl, or {', '.join(PICTURES)} for a picture")
    if out is not None and not is_address(out):
        check_file(Path(out))
    names, parameters = each_once(method or ["arec"]), method_parameters(set_)
    for name in names:
        if name not in ALIGNMENT_METHODS:
            raise unknown("method for alignments", name, ALIGNMENT_METHODS)
    check_parameters(ALIGNMENT_METHODS, parameters, names)
    if data is not None:
        corpus = open_corpus(data, data_root, columns(text_column, pair_column, label_column))
        examples = corpus.select(split or usual_split(corpus), limit, seed)
    pairs = 1 if data is None else len(examples)
    if ending in PICTURES and len(names) * pairs != 1:
        problem = f"--out {out} is one picture, but there are {len(names) * pairs} explanations"
        raise BadInput(f"{problem}; expected a .jsonl file")
    loaded = load(model, labels=label_names(labels), device=device, dtype=dtype, batch_tokens=batch_tokens)

    def make(name: str, several: list[Example]) -> list[Alignment]:
        return loaded.align(several, method=name, seed=seed, parameters=parameters.get(name, {}), sealed=sealed)

    made: Iterable[Alignment]
    with nullcontext() if out is None else place_of(out, say, file=True) as place:
        if data is not None and place is not None and ending == ".jsonl":
            settings = {"job": "align", "sealed": sealed, "seed": seed, "parameters": parameters}
            chosen = make_engine(engine, address, gpus_per_task).on(loaded.classifier.device_kind)
            explain_to_file(place.path, {**settings, **loaded.identity}, examples, names, make, place.say, chosen)
            made = read_alignments(place.path)
        else:
            given = [Example("text", {"premise": text or "", "hypothesis": pair or ""})] if data is None else list(examples)
            made = [alignment for name in names for alignment in make(name, given)]
            if place is not None and ending in PICTURES:
                save_matrix(made[0], place.path)
            elif place is not None:
                save_alignments(place.path, made)
        if as_json:
            print_json([alignment.to_dict() for alignment in made])
            return
        if out is None:
            for alignment in made:
                console.print(alignment)
        else:
            count = len(names) * pairs
            say(f"{count} explanation{'s' * (count != 1)}: {out}")
        if pairs > 1 or out is not None:
            say(need_in_words(islice(made, pairs)))
