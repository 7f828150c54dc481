"""Whatever a row holds, a reader gives an example or says what is wrong: no other error may escape."""

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whence.data.eraser import reader
from whence.data.example import Example
from whence.data.hub import HUB
from whence.data.readers import cose, nli, sst, topics
from whence.data.readers.published import Make, RowError

ABC = ("A", "B", "C")
MAKERS: dict[str, tuple[Make, list[str]]] = {
    "esnli": (nli.esnli_row, ["pairID", "gold_label", "Sentence1", "Sentence2", "Explanation_1", "Sentence1_marked_1"]),
    "plain": (nli.plain_row, ["premise", "hypothesis", "gold_label", "explanation_1"]),
    "breaking": (nli.breaking_row, ["sentence1", "sentence2", "gold_label", "category", "pairID"]),
    "cose": (lambda row, number: cose.question(row, number, ABC), ["id", "answerKey", "question", "explanation"]),
    "sst": (sst.sentence_row, ["sentence", "label"]),
    "imdb": (topics.imdb_row, ["id", "label", "rating", "text"]),
    "ag_news": (topics.ag_row, ["label", "text", "title", "description", "source"]),
    "newsgroups": (topics.newsgroup_row, ["id", "group", "text"]),
    "eraser": (
        reader({"d": "a b c"}, "pair", ("x",)),
        ["annotation_id", "classification", "query", "evidences", "docids", "docid", "start_token", "end_token"],
    ),
}
for _name in ("snli", "hans", "sst", "imdb", "ag_news", "cose_v1.0", "movies"):
    _columns = ["premise", "hypothesis", "label", "sentence", "text", "review", "evidences", "choices", "answer", "question"]
    MAKERS[f"hub {_name}"] = HUB[_name].make, [*_columns, "abstractive_explanation", "extractive_explanation"]
LEAVES = [
    st.none(), st.integers(-2, 5), st.booleans(), st.text(max_size=4),
    st.sampled_from(["d", "x", "A", "neutral", "pos", "1", "rec.sport.hockey", "a *b* c"]),
]  # fmt: skip


@pytest.mark.parametrize("name", MAKERS)
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_only_clear_errors(name: str, data: st.DataObject) -> None:
    make, columns = MAKERS[name]
    keys = st.sampled_from([*columns, "stem", "choices", "label", "text", "open-ended", "selected"])
    values = st.recursive(
        st.one_of(LEAVES), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4)
    )
    likely = dict.fromkeys(columns, values)
    row = data.draw(st.fixed_dictionaries({}, optional=likely))
    with suppress(RowError):
        example = make(row, "1")
        assert example is None or isinstance(example, Example)
