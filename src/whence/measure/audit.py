"""The audit: every explainer on every example, every measure on every explanation, shard by shard.

A shard is a few examples with all that was computed for them, written as one Parquet file when whole. A killed audit continues
with the first shard that is missing. Shards do not depend on each other (each starts with an empty memory of passes), so an
audit that was interrupted gives the same bytes as one that was not. Memory holds one shard and, at the end, the numbers of the
table: a corpus need not fit into it.
"""

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

from whence.data import FIELDS, Example
from whence.explain import TokenScores, save_explanations
from whence.measure.audit_rows import explanation_of, schema, shard_rows, spans_of, text_of
from whence.measure.audited import Audit, Chosen
from whence.measure.gathered import Gathered
from whence.measure.summary import summarise
from whence.models import Port
from whence.run import RunFolder, Runner, Tick, progress, write_json
from whence.run.engine import Engine, Item, LocalEngine

SHARD_EXAMPLES, MOST_EXAMPLES, SHARDS = 8, 512, 2000
"""A shard is what a killed audit can lose: a handful of sentences, or one long document. A large corpus has larger shards, so
that there are not many more than so many."""
CHARACTERS = 600
"""For each of those examples: longer texts make shards of fewer examples."""

Say = Callable[[str], None]
Shard = list[tuple[int, Example]]
"""Examples with their numbers in the corpus."""


def run_audit(audit: Audit, classifier: Port, out: Path, say: Say = print, engine: Engine | None = None) -> dict[str, Any]:
    """Run or continue; returns what results.json holds."""
    chosen = Chosen(audit, classifier)
    with RunFolder(out, chosen.config(), say) as folder:
        if folder.results is not None:
            say(f"{out} is finished already")
            return folder.results
        return _run(chosen, folder, say, engine or LocalEngine())


def _run(chosen: Chosen, folder: RunFolder, say: Say, engine: Engine) -> dict[str, Any]:
    for note in chosen.notes:
        say(note)
    shards, examples = _work(chosen, folder, engine), chosen.audit.examples
    found = Gathered(chosen.names, chosen.measures, len(examples))

    def gathered() -> Iterator[TokenScores]:
        """The explanations; their numbers are gathered on the way, so that every shard is read once."""
        for i in range(shards):
            rows = _rows(folder, i)
            found.add(i, rows)
            yield from (explanation_of(row, chosen) for row in rows)

    save_explanations(folder.path / "explanations.jsonl", gathered())
    about = chosen.about(len(found.places), found.texts_cut, found.words_unread)
    notes = list(chosen.notes)
    if about["texts_without_words"]:
        left_out = f"{about['texts_without_words']} of {len(examples)} examples are left out"
        notes.append(f"{left_out}: the model reads no word in them (empty or blank text)")
        say(notes[-1])
    results = summarise(
        about, chosen.method_facts(), chosen.measures, found, lambda which: _shown(which, found, folder, examples), notes,
        chosen.audit.seed,
    )  # fmt: skip
    folder.finish(results)
    return folder.results or results


def _work(chosen: Chosen, folder: RunFolder, engine: Engine) -> int:
    """Every shard that is not there yet; how many there are in all."""
    total, methods, columns = len(chosen.audit.examples), len(chosen.names), schema(chosen.measures)
    started, busy, done, shards = time.perf_counter(), 0.0, 0, 0

    def missing() -> Iterator[Item]:
        nonlocal shards, done
        for i, shard in enumerate(cut(chosen.audit.examples)):
            shards += 1
            if folder.shard_file(f"{i:05d}").exists():
                done += len(shard)
                tick(len(shard) * methods)
            else:
                yield Item(f"{i:05d}", shard, len(shard) * methods)

    # the bar moves with every method: one shard of long texts takes minutes
    with progress("auditing (examples × methods)", total * methods) as tick:
        for name, (rows, seconds) in engine.spread(audit_shard, chosen, missing(), tick):
            busy += seconds
            folder.write_shard(name, rows, columns)
    spent = {"seconds": time.perf_counter() - started, "model_seconds": busy, "examples": total - done}
    write_json(folder.path / "timing.json", spent)
    return shards


def audit_shard(chosen: Chosen, shard: Shard, tick: Tick | None) -> tuple[list[dict[str, Any]], float]:
    """(rows, seconds in the model); a text without a word has none."""
    encoded = chosen.classifier.encode([example for _, example in shard])
    read = [(number, e) for (number, _), e in zip(shard, encoded, strict=True) if e.seen.any()]
    if not read:
        return [], 0.0
    runner = Runner(chosen.classifier)
    rows = shard_rows(chosen, [e for _, e in read], [number for number, _ in read], runner, tick)
    return rows, runner.paid.model_seconds


def shard_size(examples: int) -> int:
    """Most examples of a shard."""
    return min(MOST_EXAMPLES, max(SHARD_EXAMPLES, examples // SHARDS))


def cut(examples: Collection[Example]) -> Iterator[Shard]:
    """The examples in shards, whose borders depend on nothing but the texts."""
    most = shard_size(len(examples))
    shard: Shard = []
    length = 0
    for number, example in enumerate(examples):
        size = sum(map(len, example.texts.values()))
        if shard and (len(shard) == most or length + size > most * CHARACTERS):
            yield shard
            shard, length = [], 0
        shard.append((number, example))
        length += size
    if shard:
        yield shard


def _rows(folder: RunFolder, shard: int) -> list[dict[str, Any]]:
    rows = folder.read_shard(f"{shard:05d}")
    assert rows is not None, "all shards are there"
    return rows


def _shown(which: Sequence[int], found: Gathered, folder: RunFolder, examples: Collection[Example]) -> list[dict[str, Any]]:
    """What a report shows of some examples: their words, people's highlights and the scores of every method."""
    places = [found.places[i] for i in which]
    rows = {shard: _rows(folder, shard) for shard in {shard for shard, _ in places}}
    wanted = {number for _, number in places}
    own = {number: example for number, example in enumerate(examples) if number in wanted}
    return [_example(own[number], [row for row in rows[shard] if row["number"] == number]) for shard, number in places]


def _example(example: Example, rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """`rows`: of every method."""
    first = rows[0]
    marked = {
        name: sorted({s for annotator in example.highlights for s in annotator.get(name, ())})
        for name in FIELDS["text"] + FIELDS["pair"]
    }
    return {
        "id": example.id,
        "why": "",
        "label": example.label,
        "predicted": text_of(first["predicted"]),
        "probability": first["probability"],
        "texts": dict(example.texts),
        "spans": {name: [list(span) for span in spans] for name, spans in spans_of(first).items()},
        "scores": {text_of(row["method"]): row["scores"] for row in rows},
        "highlights": {name: [list(s) for s in spans] for name, spans in marked.items() if spans},
        "unseen_words": first["unseen"],
    }
