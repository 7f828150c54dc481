"""The cost table of docs/audit.md says what a runner counts."""

import re
from pathlib import Path

import pytest
from tiny import texts

from whence.explain import METHODS, explain
from whence.models import Classifier
from whence.run import Runner

PAGE = (Path(__file__).parents[2] / "docs" / "audit.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (`[a-z_0-9`, ]+`) \| .* \| ([^|]+) \| ([^|]+) \| [^|]+ \|$", PAGE.split("## Measures")[0], re.MULTILINE)
TABLE = {name: (forward, backward) for names, forward, backward in ROWS for name in re.findall(r"`(\w+)`", names)}


def test_the_table_lists_every_method() -> None:
    assert set(TABLE) == set(METHODS)


@pytest.mark.parametrize("method", METHODS)
def test_costs_are_as_documented(bert: Classifier, method: str) -> None:
    for encoded in bert.encode(texts()):
        runner = Runner(bert)
        with runner.ledger() as needed:
            [made] = explain(runner, [encoded], METHODS[method])
            counted = needed()
        assert counted == (runner.paid.forward, runner.paid.backward)
        for found, told in zip(counted, TABLE[method], strict=True):
            most = told.startswith("≤")
            words = told.removeprefix("≤").split(" = ")[0].strip()  # "m = 20, or 60 …": the explanation says which
            words = words.replace("m", f"{made.notes.get('steps', 0):.0f}").replace("n", str(encoded.word_count))
            number = 0 if words == "–" else sum(map(int, words.split("+")))
            assert found <= number if most else found == number, (told, found)


def test_the_whole_text_is_asked_for_once(bert: Classifier) -> None:
    [one] = bert.encode([e for e in texts() if e.texts["text"] == "good"])
    runner = Runner(bert)
    explain(runner, [one], METHODS["lime"])
    assert runner.paid.forward == 2  # with the word and without it
