"""The study of alignment rationales for natural language inference (Jiang et al. 2021)."""

from typing import Any

from whence.explain.alignments import ALIGNMENT_METHODS
from whence.run.engine import Piece, Rows
from whence.studies.alignment import pieces
from whence.studies.alignment.claims import claims
from whence.studies.alignment.pictures import figures, sheet_items
from whence.studies.alignment.settings import ROLE_CORPUS, AlignmentSettings, settings
from whence.studies.alignment.sheets import ANSWERS, Answers, Item, Kind, read_sheets, write_sheets
from whence.studies.alignment.tables import Explained, table_1, table_2, table_3, table_4, table_planted
from whence.studies.study import Context, Findings, Study

ROLE_SHARD = 5000
HANS_PAIRS = 30_000


def run(context: Context) -> Findings:
    own: AlignmentSettings = context.settings
    root = str(context.data_root) if context.data_root else None
    notes = []
    targets = dict(own.targets)
    if own.model is None and "minilm" in targets:
        del targets["minilm"]
        notes.append("Without a pretrained transformer: give one by --set model=FOLDER to have MiniLM's part of the study.")
    own = own.model_copy(update={"targets": targets})
    if own.vectors is None and own.train != "scenes":
        notes.append("Without word vectors (--set vectors=FILE): words that training does not show are unknown to DA and ESIM.")
    subjects = {
        name: pieces.Subject(name=name, target=target, settings=own, root=root, seed=context.seed).model_dump()
        for name, target in targets.items()
    }
    trained = context.do([Piece(f"train-{name}", pieces.train, {"subject": s}) for name, s in subjects.items()])
    notes += [_trained(own, name, trained[f"train-{name}"]) for name in subjects]
    roles = _roles(context, own, subjects)
    accuracy = _accuracy(context, own, subjects)
    accuracy |= {(name, ROLE_CORPUS): [{**row, "right": row["as it is"]} for row in rows] for name, rows in roles.items()}
    if "diffmask" in own.methods:
        context.do([Piece(f"gate-{name}", pieces.train_gate, {"subject": s}) for name, s in subjects.items()])
    explained = _explained(context, own, subjects)
    notes += [
        f"{target.title}: {ALIGNMENT_METHODS[m].title} on {n} pairs of each corpus." for target in targets.values()
        for m, n in target.fewer.items() if m in own.methods
    ]  # fmt: skip
    notes += [
        f"{target.title}: {ALIGNMENT_METHODS[m].title} with " + ", ".join(f"{k} = {v}" for k, v in given.items()) + "."
        for target in targets.values() for m, given in target.parameters.items() if m in own.methods
    ]  # fmt: skip
    answers = _judged(context, own, explained, root)
    if own.judged:
        notes.append("Sheets for human judges are in sheets/ (Table 2, agreement on HANS).")
    tables = table_1(own, explained)
    if answers["readability"]:
        tables.append(table_2(own, answers["readability"]))
    tables.append(table_3(own, accuracy, explained, _agreed(answers["agreement"])))
    if roles:
        tables.append(table_4(own, roles))
        matched = {name: sum(r["match"] for r in rows) / len(rows) for name, rows in roles.items()}
        notes += [
            f"{own.targets[n].title}: {100 * share:.1f} % of HANS pairs share a predicate." for n, share in matched.items()
        ]
    if "scenes" in own.corpora:
        tables.append(table_planted(own, explained))
        notes += _needs(context, own, subjects)
    return Findings(tables, figures(own, explained, root), claims(own, explained, roles), notes)


def _trained(own: AlignmentSettings, name: str, rows: Rows) -> str:
    shown = ", ".join(f"{row['split']} {row['accuracy']:.4f}" for row in rows)
    return f"{own.targets[name].title} was trained on {rows[0]['train_examples']} pairs of {own.train}; accuracy: {shown}."


def _needs(context: Context, own: AlignmentSettings, subjects: dict[str, Any]) -> list[str]:
    """Whether a model relies on the planted pair at all: if it does not, a faithful mask need not hold it."""
    done = context.do([Piece(f"needs-{name}", pieces.needs, {"subject": s}) for name, s in subjects.items()])
    notes = []
    for name in subjects:
        rows = done[f"needs-{name}"]
        without, alone = (sum(row[way] for row in rows) for way in ("without", "alone"))
        notes.append(
            f"{own.targets[name].title}: of {len(rows)} rightly predicted contradictions {without:.0f} stay without the "
            f"planted pair, {alone:.0f} with it alone."
        )
    return notes


def _accuracy(context: Context, own: AlignmentSettings, subjects: dict[str, Any]) -> dict[tuple[str, str], Rows]:
    """On whole test sets; HANS' comes with the role pieces."""
    wanted = [(name, corpus) for name in subjects for corpus in own.corpora if corpus != ROLE_CORPUS]
    asked = [Piece(f"accuracy-{n}-{c}", pieces.accuracy, {"subject": subjects[n], "corpus": c}) for n, c in wanted]
    done = context.do(asked)
    return {(n, c): done[f"accuracy-{n}-{c}"] for n, c in wanted}


def _roles(context: Context, own: AlignmentSettings, subjects: dict[str, Any]) -> dict[str, Rows]:
    if ROLE_CORPUS not in own.corpora:
        return {}
    asked: dict[str, list[Piece]] = {}
    for name, subject in subjects.items():
        count = own.targets[name].role_pairs or HANS_PAIRS
        asked[name] = [
            Piece(f"roles-{name}-{at:05d}", pieces.roles, {"subject": subject, "start": at, "end": min(at + ROLE_SHARD, count)})
            for at in range(0, count, ROLE_SHARD)
        ]
    done = context.do([piece for several in asked.values() for piece in several])
    return {name: [row for piece in several for row in done[piece.name]] for name, several in asked.items()}


def _explained(context: Context, own: AlignmentSettings, subjects: dict[str, Any]) -> Explained:
    """AREC first: the others are measured at its fidelity."""
    found: dict[tuple[str, str, str], Rows] = {}
    for first in (True, False):
        asked: dict[tuple[str, str, str], list[Piece]] = {}
        for name, subject in subjects.items():
            for corpus in own.corpora:
                for method in own.methods:
                    if (method == "arec") is not first:
                        continue
                    shards = _shards(own, name, method)
                    arec = [] if first else [row["fidelity"] for row in found[name, corpus, "arec"]]
                    asked[name, corpus, method] = [
                        Piece(f"{name}-{corpus}-{method}-{i:03d}", pieces.explain,
                              {"subject": subject, "corpus": corpus, "method": method, "numbers": numbers,
                               "fidelity": None if first else [arec[number] for number in numbers]})
                        for i, numbers in enumerate(shards)
                    ]  # fmt: skip
        done = context.do([piece for several in asked.values() for piece in several])
        found |= {key: [row for piece in several for row in done[piece.name]] for key, several in asked.items()}
    in_order = ((name, corpus, method) for name in subjects for corpus in own.corpora for method in own.methods)
    return {key: found[key] for key in in_order}


def _shards(own: AlignmentSettings, name: str, method: str) -> list[list[int]]:
    """The numbers of the pairs of each piece; a method that is tried on fewer takes every so many, not the first."""
    target = own.targets[name]
    count = min(target.pairs, target.fewer.get(method, target.pairs))
    numbers = [(2 * i + 1) * target.pairs // (2 * count) for i in range(count)]  # the middle of each stretch
    # a shard of a costly method is as much smaller as the method is tried on fewer pairs
    size = max(1, target.shard * count // target.pairs)
    return [numbers[at : at + size] for at in range(0, count, size)]


def _judged(context: Context, own: AlignmentSettings, explained: Explained, root: str | None) -> dict[Kind, Answers]:
    """Writes the sheets if they are not there, and reads what judges have put into sheets/answers."""
    folder = context.folder.path / "sheets"
    items: dict[Kind, list[Item]] = sheet_items(own, explained, root) if own.judged else {}
    found: dict[Kind, Answers] = {kind: {} for kind in ANSWERS}
    for kind, several in items.items():
        if several and not (folder / f"{kind}-key.json").exists():
            write_sheets(folder, kind, several, context.seed)
        files = sorted((folder / "answers").glob(f"{kind}*.csv"))
        if files:
            found[kind] = read_sheets(folder, kind, files)
    return found


def _agreed(answers: Answers) -> Rows:
    """Answers on HANS by model and label, as 0 and 1."""
    grouped: dict[tuple[str, str], list[float]] = {}
    for key, given in answers.items():
        judged = dict(key)
        grouped.setdefault((judged["model"], judged["label"]), []).extend(float(answer == "yes") for answer in given)
    return [{"model": model, "label": label, "answers": values} for (model, label), values in grouped.items()]


__all__ = ["STUDY"]

STUDY = Study(
    "alignment",
    "Alignment rationales for natural language inference",
    "Jiang, Zhang, Yang, Zhao & Liu, ACL 2021",
    "Which word pairs does a model of sentence pairs rely on, and can roles mend what it aligns wrongly?",
    settings,
    run,
)
