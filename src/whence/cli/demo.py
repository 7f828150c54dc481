"""whence demo and calibrate: the whole path on planted corpora, where the true reason is known."""

from whence.cli.options import AsJson, OutFolder, Seed, console, quiet, say
from whence.cli.runs import in_folder

EXAMPLES, EPOCHS = 60, 3
"""Small, so that the demo takes a few minutes on two cores; the report states them."""


def demo(
    out: OutFolder = "runs/demo",
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """See the whole path in a few minutes, without downloads.

    Trains a small transformer on planted reviews, whose reasons are known, explains it, measures the explanations and writes a
    report.
    """
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
    report = audit(model, examples, in_folder(out), name="planted reviews", split="test", seed=seed, say=say)
    if not as_json:
        console.print("\nThree of them; orange words speak for the predicted label, blue ones against it:")
        for explanation in model.explain(examples[:3], method="leave_one_out"):
            console.print(explanation)
        console.print()
    show_audit(report, as_json)
