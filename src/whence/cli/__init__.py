"""The verbs of the command line. Each one reads its arguments, calls one function of `whence.api`, and prints what came back.

Exit codes: 0 done; 2 bad input (one line on standard error); 130 interrupted, with a word on what was saved.
"""

import gc
import os
import sys
from contextlib import suppress
from typing import Annotated

import typer

import whence
from whence.cli import align, audit, calibrate, data, demo, explain, plan, runs, study, train
from whence.errors import BadInput, visible

app = typer.Typer(no_args_is_help=True, help=whence.__doc__, context_settings={"help_option_names": ["-h", "--help"]})
for verb in (
    demo.demo,
    explain.explain,
    align.align,
    audit.audit,
    audit.score,
    plan.plan,
    calibrate.calibrate,
    train.train,
    study.study,
):
    app.command()(verb)
app.add_typer(data.app, name="data")

INTERRUPTED = 130


def _version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"whence {whence.__version__}\n")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    pass


def main() -> None:
    """Entry point: turns errors into exit codes."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    # By default torch's threads spin long while they wait for each other, which makes it many times slower on a machine that is
    # also doing something else; a short spin is enough. Read when torch is loaded, which verbs do only when they run.
    os.environ.setdefault("GOMP_SPINCOUNT", "10000")
    # Python looks for cycles after every 700 new objects; an audit makes thousands for each text and next to no cycles. This
    # saves it a part of its time. A library leaves that to the program that uses it, so it stands here.
    gc.set_threshold(100_000)
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError):  # a terminal without UTF-8 gets question marks, not a traceback
            stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    runs.nowhere()
    try:
        code = app(standalone_mode=False)
    except BadInput as error:
        _fail(str(error))
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except BrokenPipeError:  # `whence … | head`: the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:  # what the file system refuses, where no better word was found
        _fail(visible(f"{error.strerror or error}: {error.filename!s:.300}" if error.filename else str(error)))
    except Exception as error:
        if not hasattr(error, "format_message"):
            raise
        message = " ".join(visible(error.format_message()).split())  # wrong usage, as click reports it
        if not message:  # no arguments at all: the help is shown
            sys.exit(0)
        _fail(message)
    if code == INTERRUPTED:  # typer turns an interrupt into this code
        sys.stderr.write(f"\nwhence: interrupted{runs.what_is_saved()}\n")
    sys.exit(code if isinstance(code, int) else 0)


def _fail(message: str) -> None:
    sys.stderr.write(f"whence: {message}\n")
    sys.exit(2)
