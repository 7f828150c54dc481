"""The verbs of the command line. Each one reads its arguments, calls one function of a room, and prints what came back.

Exit codes: 0 done; 2 bad input (one line on standard error); 130 interrupted, with a word on what was saved.
"""

import os
import sys

import typer

import whence
from whence.cli import align, audit, data, demo, study, train
from whence.errors import BadInput

app = typer.Typer(add_completion=False, no_args_is_help=True, help=whence.__doc__)
for verb in (
    demo.demo,
    audit.explain,
    align.align,
    audit.audit,
    audit.score,
    audit.plan,
    demo.calibrate,
    train.train,
    study.study,
):
    app.command()(verb)
app.add_typer(data.app, name="data")

INTERRUPTED = 130


def main() -> None:
    """Entry point: turns errors into exit codes."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    # By default torch's threads spin long while they wait for each other, which makes it many times slower on a machine that is
    # also doing something else; a short spin is enough. Read when torch is loaded, which verbs do only when they run.
    os.environ.setdefault("GOMP_SPINCOUNT", "10000")
    try:
        code = app(standalone_mode=False)
    except BadInput as error:
        _fail(str(error))
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except Exception as error:
        if hasattr(error, "format_message"):  # wrong usage, as click reports it
            _fail(" ".join(error.format_message().split()))
        raise
    if code == INTERRUPTED:  # typer turns an interrupt into this code
        sys.stderr.write("\nwhence: interrupted; what was finished is saved, and the same command goes on from there\n")
    sys.exit(code if isinstance(code, int) else 0)


def _fail(message: str) -> None:
    sys.stderr.write(f"whence: {message}\n")
    sys.exit(2)
