"""Do the labels and the rationales of one model belong together? Both tests on a user's own model, shard by shard.

  robustness (robustness.py)         under noise: where labels and rationales collapse, and whether the same draws break both
  importance (shared_importance.py)  whether the importance of words for both moves alike under a little noise

After Wiegreffe et al. 2021. The noise grid is made finer first for models that its lowest level breaks (8 rationales or more).
Cost for each example: 1 + levels · draws rationales written, each with a pass over the candidates;
9 forward passes; a backward pass for each written token, and four more for each that the text decides.

A shard is a few examples with all that was written and scored for them. A killed run continues with the first shard that is
missing, and gives the same bytes as one that was not killed.
"""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from whence.errors import BadInput
from whence.explain.text import save_rationales
from whence.explain.text.importance import SHAKEN, Importance, importances, shaken_importances, text_shares
from whence.measure.association import RationaleAudit, about, results_of
from whence.measure.robustness import fitting_scale, written_under_noise
from whence.models import Port
from whence.models.generator import Generator
from whence.run import RunFolder, Runner, Tick, digest, progress
from whence.run.engine import Engine, Item, LocalEngine

SHARD = 8
FEWEST = 2
Say = Callable[[str], None]


def writes_rationales(model: Port) -> bool:
    """Whether it is asked, by its template, for a label and then a rationale."""
    return isinstance(model, Generator) and model.template is not None and model.template.writes_rationale


def run_rationale_audit(
    audit: RationaleAudit, model: Generator, out: Path, say: Say = print, engine: Engine | None = None
) -> dict[str, Any]:
    """Run or continue; returns what results.json holds."""
    _check(audit, model)
    config = about(audit, model) | {"job": "association", "examples_sha256": digest(audit.examples), **audit.settings}
    with RunFolder(out, config, say) as folder:
        if folder.results is not None:
            say(f"{out} is finished already")
            return folder.results
        for note in audit.notes:
            say(note)
        total = len(audit.examples)
        parts = {f"{i:05d}": range(first, min(first + SHARD, total)) for i, first in enumerate(range(0, total, SHARD))}
        missing = [Item(name, part, len(part)) for name, part in parts.items() if not folder.shard_file(name).exists()]
        known = total - sum(item.weight for item in missing)
        scale = _scale(audit, model, folder)
        with progress("auditing rationales", total, known) as tick:
            for name, shard in (engine or LocalEngine()).spread(rationale_shard, (audit, model, scale), missing, tick):
                folder.write_shard(name, shard)
        rows = [row for name in parts for row in folder.read_shard(name) or ()]
        results, clean = results_of(audit, model, rows, scale)
        save_rationales(out / "rationales.jsonl", clean)
        folder.finish(results)
        return folder.results or results


def passes(audit: RationaleAudit) -> dict[str, int]:
    """Of one example; backward passes at most, as every token is asked for at most once and in each draw once."""
    written = 1 + len(audit.grid()[1:]) * audit.settings["draws"]
    return {"rationales": written, "forward": written + 9, "backward": 5 * audit.settings["max_tokens"]}


def _check(audit: RationaleAudit, model: Generator) -> None:
    if len(audit.examples) < FEWEST:
        raise BadInput(f"{audit.data}: {len(audit.examples)} examples; expected at least {FEWEST}, to be compared")
    twice = [name for name, times in Counter(e.id for e in audit.examples).items() if times > 1]
    if twice:
        raise BadInput(f"{audit.data}: ids of the examples: '{twice[0]}' occurs more than once; expected each once")
    if not model.labels:
        raise BadInput(f"{model.name} has no candidates to choose from; expected --candidates, or data with labels")
    model.check(frozenset({"noise"}))
    model.check_want(frozenset({"token_gradients"}))


def _scale(audit: RationaleAudit, model: Generator, folder: RunFolder) -> float:
    """Of the noise; found once and kept, so that a run that goes on goes on with the same."""
    kept = folder.read_shard("scale")
    if kept is None:
        kept = [{"scale": fitting_scale(Runner(model), audit.examples, audit.seed, audit.settings["max_tokens"])}]
        folder.write_shard("scale", kept)
    return float(kept[0]["scale"])


def rationale_shard(shared: tuple[RationaleAudit, Generator, float], part: range, tick: Tick | None) -> list[dict[str, Any]]:
    """One row for each example of the part: what was written at each level and draw, and which words that came from."""
    audit, model, scale = shared
    here, runner = audit.examples[part.start : part.stop], Runner(model)
    draws, longest = audit.settings["draws"], audit.settings["max_tokens"]
    written = written_under_noise(runner, here, audit.grid(scale), draws, audit.seed, longest)
    clean = written[0][0]
    shares = text_shares(runner, audit.examples, clean, audit.seed, part.start)
    plain = importances(runner, here, clean)
    little = scale * SHAKEN * model.embedding_variance
    shaken = shaken_importances(runner, here, clean, shares, seed=audit.seed, noise=little)
    if tick:
        tick(len(here))
    return [
        {
            "id": example.id,
            "written": json.dumps(
                [[row[i].to_dict() for row in level[: draws if v else 1]] for v, level in enumerate(written)]
            ),
            "shares": shares[i].tolist(),
            "plain": json.dumps(_numbers(plain[i])),
            "shaken": json.dumps([_numbers(draw[i]) for draw in shaken]),
        }
        for i, example in enumerate(here)
    ]


def _numbers(found: Importance | None) -> dict[str, Any] | None:
    return None if found is None else {
        "id": found.id, "words": found.words, "label": found.label.tolist(), "rationale": found.rationale.tolist()
    }  # fmt: skip
