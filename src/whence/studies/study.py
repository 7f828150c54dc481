"""What a study is: a published paper as a recipe over the other rooms, at three scales.

A study's `run` asks its `Context` to do independent pieces and turns their rows into tables, figures and claims. The run is a
folder: config.json (study, scale, seed, every setting), shards/ (one per piece), results.json. Run again, it continues or, once
finished, returns what it found. Where the data lies is not part of the configuration, because it changes no number: data is
identified by the names of the corpora, which are settings, and every trained model keeps the digest of what it was trained on.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import to_jsonable_python

from whence.errors import BadInput
from whence.run import RunFolder
from whence.run.engine import Engine, LocalEngine, Piece, Rows, Say, piece_seconds, run_pieces

Scale = Literal["smoke", "small", "full"]
Verdict = Literal["holds", "does not hold", "undecided"]
"""Undecided: the interval of the difference includes the bound."""
Key = TypeVar("Key", bound=Hashable)


@dataclass
class Context:
    """What a study's `run` gets; `do` is the only way to work."""

    settings: Any
    """The study's own settings, a pydantic model, filled in for this scale."""
    scale: Scale
    seed: int
    data_root: Path | None
    say: Say
    folder: RunFolder
    engine: Engine
    _done: dict[str, Piece] = field(default_factory=dict)
    artefacts: list[Path] = field(default_factory=list)

    def do(self, pieces: Sequence[Piece]) -> dict[str, Rows]:
        """Runs what is not done yet; all rows by piece name, read back from the shards."""
        for piece in pieces:
            if self._done.setdefault(piece.name, piece) != piece:
                raise ValueError(f"piece '{piece.name}' was asked for before with another function or other arguments")
        return run_pieces(pieces, self.folder, self.engine, self.say, self.seed)

    def gather(self, pieces: Mapping[Key, Sequence[Piece]]) -> dict[Key, list[Rows]]:
        """`do` by what the pieces are about: of every key the rows of each of its pieces."""
        # a piece may be of several keys: it is done once
        done = self.do(list({piece.name: piece for several in pieces.values() for piece in several}.values()))
        return {key: [done[piece.name] for piece in several] for key, several in pieces.items()}

    def each(self, pieces: Mapping[Key, Piece]) -> dict[Key, Rows]:
        """`gather`, one piece for every key."""
        return {key: rows for key, [rows] in self.gather({key: [piece] for key, piece in pieces.items()}).items()}

    @property
    def root(self) -> str | None:
        """`data_root` as the argument of a piece."""
        return None if self.data_root is None else str(self.data_root)

    def artefact(self, name: str) -> Path:
        """A folder of the run for files that are no rows (sheets for judges, …); results.json lists what is in it."""
        self.artefacts.append(self.folder.path / name)
        self.artefacts[-1].mkdir(exist_ok=True)
        return self.artefacts[-1]


@dataclass
class Table:
    """A row holds text columns and "ours", "low", "high", "paper" (numbers or None), and what else `columns` names."""

    name: str
    title: str
    caption: str
    columns: list[str]
    rows: list[dict[str, Any]]


@dataclass
class Figure:
    """`data` is JSON-able; report/plots.py draws it by its `kind` and says there what each kind wants."""

    name: str
    title: str
    caption: str
    kind: str
    data: dict[str, Any]


@dataclass
class Earlier:
    """A rule that was changed after looking, and what it says of the same numbers."""

    rule: str
    verdict: Verdict


@dataclass
class Claim:
    """What the paper says, whether it holds here, and our numbers in words. A rule is written before the run."""

    text: str
    verdict: Verdict
    evidence: str
    earlier: list[Earlier] = field(default_factory=list)


@dataclass
class Findings:
    """Tables without rows are left out."""

    tables: list[Table]
    figures: list[Figure]
    claims: list[Claim]
    notes: list[str]


@dataclass(frozen=True)
class Study:
    name: str
    title: str
    paper: str
    about: str
    settings: Callable[[Scale], BaseModel]
    """Every number of a scale; pydantic, extra="forbid"."""
    run: Callable[[Context], Findings]


def run_study(
    study: Study,
    scale: Scale,
    out: Path,
    seed: int = 0,
    data_root: Path | None = None,
    engine: Engine | None = None,
    overrides: Mapping[str, Any] | None = None,
    say: Say = print,
) -> dict[str, Any]:
    """Runs, continues, or returns what is there; the value is that of results.json."""
    settings = fill_settings(study, scale, overrides or {})
    root = None if data_root is None else data_root.expanduser().resolve()
    config = {"study": study.name, "scale": scale, "seed": seed, "settings": settings.model_dump(mode="json")}
    with RunFolder(out.resolve(), config, say) as folder:
        return _run(study, Context(settings, scale, seed, root, say, folder, engine or LocalEngine()))


def _run(study: Study, context: Context) -> dict[str, Any]:
    folder, filled = context.folder, context.settings.model_dump(mode="json")
    if folder.results is not None:
        context.say(f"{folder.path} is finished; these are its results")
        return folder.results
    found = study.run(context)
    spent = piece_seconds(folder)
    results = {
        "study": study.name,
        "title": study.title,
        "paper": study.paper,
        "about": study.about,
        "scale": context.scale,
        "seed": context.seed,
        "settings": filled,
        "reduced": reduced(filled, study.settings("full").model_dump(mode="json")),
        "tables": _named([table for table in found.tables if table.rows]),
        "figures": _named(found.figures),
        "claims": found.claims,
        "notes": found.notes,
        "artefacts": sorted(
            str(file.relative_to(folder.path)) for place in context.artefacts for file in place.rglob("*") if file.is_file()
        ),
        "pieces": spent,
        "seconds": round(sum(spent.values()), 1),
    }
    # numpy numbers become plain ones; what is not a number becomes null, because JSON has no word for it
    folder.finish(to_jsonable_python(results, inf_nan_mode="null", fallback=lambda value: value.tolist()))
    assert folder.results is not None
    return folder.results


class _Listing(Context):
    """Notes the pieces that a study asks for, and answers that they found nothing."""

    def do(self, pieces: Sequence[Piece]) -> dict[str, Rows]:
        self._done |= {piece.name: piece for piece in pieces}
        return {piece.name: [] for piece in pieces}

    def artefact(self, name: str) -> Path:
        raise LookupError(f"{name} is made of results, and there are none")


def list_pieces(
    study: Study, scale: Scale, seed: int = 0, data_root: Path | None = None, overrides: Mapping[str, Any] | None = None
) -> list[Piece]:
    """The pieces that are known before any of them has run; what they find may decide on further ones."""
    settings = fill_settings(study, scale, overrides or {})
    context = _Listing(settings, scale, seed, data_root, lambda line: None, None, LocalEngine())  # type: ignore[arg-type]
    try:
        study.run(context)
    except BadInput:
        raise
    except (LookupError, TypeError, ValueError):  # it reads the first result that is not there
        pass
    return list(context._done.values())


def _named(items: Sequence[Table] | Sequence[Figure]) -> dict[str, dict[str, Any]]:
    found = {item.name: {key: value for key, value in vars(item).items() if key != "name"} for item in items}
    if len(found) < len(items):
        raise ValueError(f"two of these have the same name: {', '.join(item.name for item in items)}")
    return found


def fill_settings(study: Study, scale: Scale, overrides: Mapping[str, Any]) -> BaseModel:
    """The settings of a scale with what the user set."""
    usual = study.settings(scale)
    known = type(usual).model_fields
    for name in overrides:
        if name not in known:
            raise BadInput(f"--set {name}: study '{study.name}' has no such setting; expected one of {', '.join(known)}")
    try:
        return type(usual).model_validate({**usual.model_dump(), **overrides})
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or ", ".join(overrides)
        raise BadInput(f"--set {where}: {first['msg']}; got {first['input']!r}") from error


def _brief(value: Any, other: Any) -> Any:
    """A group of settings that only one side has (a corpus) is not written out."""
    return "run" if isinstance(value, dict) else "not run" if isinstance(other, dict) else value


def reduced(here: Mapping[str, Any], full: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The settings in which a run differs from the paper's own; those of settings within settings by dotted names."""
    found: dict[str, dict[str, Any]] = {}
    for name in dict.fromkeys([*here, *full]):
        one, other = here.get(name), full.get(name)
        if isinstance(one, dict) and isinstance(other, dict):
            found |= {f"{name}.{inner}": value for inner, value in reduced(one, other).items()}
        elif one != other:
            found[name] = {"here": _brief(one, other), "full": _brief(other, one)}
    return found
