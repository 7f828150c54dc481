"""whence explain: a number for every word of a text, in the terminal or in a file."""

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from whence.cli.options import (
    Address,
    AsJson,
    BatchTokens,
    Candidates,
    DataRoot,
    Device,
    Dtype,
    EngineName,
    GpusPerTask,
    Hiding,
    LabelColumn,
    Labels,
    Limit,
    ModelName,
    PairColumn,
    Parameters,
    Seed,
    Split,
    TemplateName,
    TextColumn,
    columns,
    console,
    each_once,
    label_names,
    method_parameters,
    print_json,
    quiet,
    say,
)  # fmt: skip
from whence.errors import BadInput


def explain(
    model: ModelName,
    text: Annotated[str | None, typer.Option(help="The text to explain.")] = None,
    pair: Annotated[str | None, typer.Option(help="The second text, for a model that reads pairs.")] = None,
    data: Annotated[str | None, typer.Option(help="A corpus or file, instead of --text.")] = None,
    method: Annotated[
        list[str] | None, typer.Option(help="An explainer. Repeat the option for several. Default: integrated_gradients.")
    ] = None,
    target: Annotated[str | None, typer.Option(help="The label to explain. Default: the predicted one.")] = None,
    out: Annotated[
        str | None,
        typer.Option(help="Save to this file or address (s3://…), as JSON lines. With --data, a killed run continues."),
    ] = None,
    eraser: Annotated[bool, typer.Option(help="Save in ERASER's format instead.")] = False,
    share: Annotated[
        float, typer.Option(help="With --eraser: the share of tokens in the hard rationale, above 0 and up to 1.")
    ] = 0.2,
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
    engine: EngineName = "local",
    address: Address = None,
    gpus_per_task: GpusPerTask = None,
    as_json: AsJson = False,
) -> None:
    """Explain predictions: which words speak for the label, and how strongly.

    In a terminal the words are coloured; in a pipe or a file every word stands beside its score.
    """
    quiet()
    from whence.api import load, usual_split
    from whence.data import Example
    from whence.data.registry import open_corpus
    from whence.explain import METHODS, TokenScores, load_explanations, save_explanations
    from whence.explain.eraser_file import save_eraser
    from whence.explain.parameters import check_parameters
    from whence.explain.rationale import check_share
    from whence.explain.to_file import explain_to_file
    from whence.run import check_file
    from whence.run.engine import make_engine
    from whence.run.mirror import is_address, place_of

    if (text is None) == (data is None):
        raise BadInput(
            "give either --text (with --pair for a second text) or --data; got " + ("neither" if text is None else "both")
        )
    if data is not None and pair is not None:
        raise BadInput("--pair is the second text of --text; with --data, name its column with --pair-column")
    names, parameters = each_once(method or ["integrated_gradients"]), method_parameters(set_)
    check_parameters(METHODS, parameters, names)
    if eraser and len(names) > 1:
        raise BadInput(f"--eraser takes one method, because the format has no field for it; got {', '.join(names)}")
    if eraser and out is None:
        raise BadInput("--eraser says how to save; expected --out FILE too")
    check_share(share)
    if out is not None and not is_address(out):
        check_file(Path(out))
    if data is not None:
        corpus = open_corpus(data, data_root, columns(text_column, pair_column, label_column))
        examples = corpus.select(split or usual_split(corpus), limit, seed)
        for note in corpus.notes:
            say(note)
    loaded = load(
        model,
        labels=label_names(labels),
        candidates=label_names(candidates),
        template=template,
        device=device,
        dtype=dtype,
        batch_tokens=batch_tokens,
    )

    def make(name: str, several: list[Example]) -> list[TokenScores]:
        return loaded.explain(several, method=name, target=target, hide=hide, seed=seed, parameters=parameters.get(name, {}))

    with nullcontext() if out is None else place_of(out, say, file=True) as place:
        if data is not None and place is not None and not eraser:
            settings = {"job": "explain", "target": target, "hide": hide, "seed": seed, "parameters": parameters}
            chosen = make_engine(engine, address, gpus_per_task).on(loaded.classifier.device_kind)
            count = explain_to_file(place.path, {**settings, **loaded.identity}, examples, names, make, place.say, chosen)
            made = load_explanations(place.path) if as_json else []
        else:
            given = [Example("text", {"text": text or ""} if pair is None else {"premise": text or "", "hypothesis": pair})]
            made = [x for name in names for x in make(name, given if data is None else list(examples))]
            count = len(made)
            if place is not None and eraser:
                save_eraser(place.path, made, share)
            elif place is not None:
                save_explanations(place.path, made)
    if as_json:
        print_json([explanation.to_dict() for explanation in made])
    elif out is None:
        for explanation in made:
            console.print(explanation)
    else:
        say(f"{count} explanation{'s' * (count != 1)}: {out}")
