"""From rows to the paper's tables, with intervals. Of several seeds: the mean; intervals resample test examples."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from whence.measure.measure import mean
from whence.measure.text.bleu import bleu_of
from whence.measure.text.evolution import Movement, movement_share
from whence.measure.text.language_model import perplexity_of
from whence.measure.text.repetition import inter_repetition
from whence.run.engine import Rows
from whence.studies.kit.corpora import TITLES
from whence.studies.kit.estimates import NOTHING, estimate, interval
from whence.studies.kit.estimates import row as shown_row
from whence.studies.kit.paper import published, read_paper
from whence.studies.kit.sheets import Answers
from whence.studies.kit.tables import TableRows, table
from whence.studies.mpii.found import Found
from whence.studies.mpii.models import PEOPLE, title
from whence.studies.mpii.pieces import TOKENS

PAPER = read_paper(__package__)
ITSELF = "the critic's own accuracy"
Aggregate = Callable[[np.ndarray], np.ndarray]
MEASURES: dict[str, tuple[str, str, Aggregate, float]] = {
    "accuracy": ("accuracy, %", "right", mean, 100.0),
    "bleu": ("BLEU", "bleu", bleu_of, 1.0),
    "ppl": ("PPL", "surprise", perplexity_of, 1.0),
    "exact": ("explanation exactly as people's, %", "exact", mean, 100.0),
    "cosine": ("cosine to people's, %", "cosine", mean, 100.0),
}
"""Title, column of a row, how many rows become a number, and its unit."""


def values(rows: Rows, measure: str) -> np.ndarray:
    """float[texts, columns]; texts without a value are left out."""
    column = MEASURES[measure][1]
    there = [row[column] for row in rows if row[column] is not None]
    return np.array(there, dtype=np.float64).reshape(len(there), -1) if there else np.zeros((0, 1))


def over_seeds(runs: Sequence[Rows], measure: str) -> dict[str, float | None]:
    """The mean over seeds, and the interval over examples of that mean."""
    _, _, aggregate, unit = MEASURES[measure]
    several = [there for there in (values(rows, measure) for rows in runs) if len(there)]
    width = several[0].shape[1]
    if any(len(one) != len(several[0]) for one in several):  # a text without a value in one seed
        return interval([float(aggregate(one)) * unit for one in several])

    def of_all(stacked: np.ndarray) -> np.ndarray:
        return np.mean([aggregate(stacked[..., i * width : (i + 1) * width]) for i in range(len(several))], axis=0)

    return estimate(list(np.concatenate(several, axis=1)), of_all, unit)


def repetition(found: Found, corpus: str, rows: Rows) -> float:
    return inter_repetition([row["rationale"] for row in rows], TOKENS[found.settings.corpora[corpus].tokens])


@table("table1", "Table 1: labels and explanations", "corpus, model, measure, ours, paper, seeds, texts")
def table_1(found: Found) -> TableRows:
    """Greedy explanations of test examples. BLEU: against people's first two explanations (people: the third against them;
    where there is one, it is scored against itself). PPL: by an interpolated Kneser–Ney {found.settings.order}-gram model
    of the training explanations, ends counted; the paper's model is not known. Inter-Rep: repeated trigrams, which grow
    with the number of texts. The paper's ablations are with AFiRe, ours without."""
    for corpus in found.settings.corpora:
        for row in (PEOPLE, *found.rows(corpus)):
            runs, known = found.written[corpus, row], published(PAPER, "table_1", corpus, row)
            base = {"corpus": TITLES[corpus], "model": title(row), "seeds": len(runs), "texts": len(runs[0])}
            for measure, (name, _, _, _) in MEASURES.items():
                if any(len(values(one, measure)) for one in runs):
                    yield {**base, "measure": name, **over_seeds(runs, measure), "paper": published(known, measure)}
            repeated = [repetition(found, corpus, one) for one in runs]
            theirs = published(known, "repetition")
            yield {**base, "measure": "Inter-Rep, %", **NOTHING, "ours": 100 * float(np.mean(repeated)),
                   "paper": None if theirs is None else 100 * theirs}  # fmt: skip


@table("table2", "Table 2: out of domain", "corpus, model, ours, paper, seeds, texts")
def table_2(found: Found) -> TableRows:
    """Accuracy in % on corpora that no model was trained on: MultiNLI's matched dev set, SICK's test set."""
    for (_, row, other), runs in found.outside.items():
        right = np.mean([[one["right"] for one in run] for run in runs], axis=0)
        yield {"corpus": TITLES.get(other, other), "model": title(row), **estimate(list(right), scale=100.0),
               "paper": published(PAPER, "table_2", row, other), "seeds": len(runs), "texts": len(right)}  # fmt: skip


@table("table3", "Table 3: Critic-Score", "corpus, model, ours, paper, seeds, texts")
def table_3(found: Found) -> TableRows:
    """% of triples of input, predicted label and written explanation that a discriminator takes for a match. It learned
    from people's triples and from those with the explanation of an example that shares a sentence (planted scenes: a
    deciding word). Its own accuracy, on triples of people, says how far the score can be believed."""
    for corpus, own in found.critics.items():
        known = published(PAPER, "table_3", corpus)
        yield {"corpus": TITLES[corpus], "model": ITSELF, "paper": published(known, ITSELF), "seeds": 1,
               **estimate([row["right"] for row in own], scale=100.0), "texts": len(own)}  # fmt: skip
        for row in (PEOPLE, *found.rows(corpus)):
            runs = found.written[corpus, row]
            score = np.mean([[one["belongs"] > 0.5 for one in run] for run in runs], axis=0)
            yield {"corpus": TITLES[corpus], "model": title(row), **estimate(list(score), scale=100.0),
                   "paper": published(known, row), "seeds": len(runs), "texts": len(score)}  # fmt: skip


MOVED_AT = ("deciding", "telling")


def moved(runs: Sequence[Rows], at: str = "deciding", written: bool = False) -> Movement | None:
    """Of all seeds together; `at` deciding words, or at telling ones: when they are read, or one step before, when they are
    written."""
    rows = [row for run in runs for row in run if row.get("moves") and row.get(at)]
    marks = [np.array(row[at], dtype=bool) for row in rows]
    if written:
        marks = [np.append(mark[1:], False) for mark in marks]
    return movement_share([np.array(row["moves"]) for row in rows], marks)


@table("evolution", "When does the label move?", "corpus, model, words, ours, chance, p, movement, texts, left out")
def evolution(found: Found) -> TableRows:
    """Share of the label distribution's movement (total variation between one step and the next) that falls on the steps that
    read some words, beside the share that random places would get; p: movements shuffled within a text. Words that decide:
    those of the input on which the label turns ("swan" in "A swan is not a heron."). Words that tell: those of the explanation
    that give the label away to a reader of explanations alone ("not"). Movement: its mean sum in a text. Left out: texts in
    which nothing moves, or no such word or no other is."""
    for (corpus, row), runs in found.written.items():
        for at in MOVED_AT:
            share = None if row == PEOPLE else moved(runs, at)
            if share is not None:
                total = float(np.mean([sum(one["moves"]) for run in runs for one in run]))
                yield {"corpus": TITLES[corpus], "model": title(row), "words": at, **shown_row(share.share),
                       "chance": share.chance, "p": share.p, "movement": total, "texts": share.texts,
                       "left out": share.left_out}  # fmt: skip


@table("association", "Are explanations of SIM bound to its labels?",
       "corpus, model, noise test, steps apart, coupling, p of coupling, words test, ours, p, texts")  # fmt: skip
def association(found: Found) -> TableRows:
    """Both association tests (Wiegreffe et al. 2021). Noise test: labels and rationales fail together if they collapse
    within one step of the noise grid and on the same draws (coupling). Words test: how alike the words that label and
    rationale come from move under a little noise (ours; associated above 0.15). First seed of each model."""
    for (corpus, row), one in found.associated.items():
        yield {"corpus": TITLES[corpus], "model": title(row), "noise test": one["verdict"], "steps apart": one["steps"],
               "coupling": one["coupling"], "p of coupling": one["p"], "words test": one["bond"], "ours": one["shared"],
               "low": one["shared_low"], "high": one["shared_high"], "p": one["shared_p"],
               "texts": one["examples"]}  # fmt: skip


EXCHANGES = {
    "cut": "label stays without the explanation",
    "half": "label stays after half of it",
    "another": "label stays after an explanation of another label",
    "to_other": "label becomes that of the other explanation",
    "frozen_same": "explanation stays (word F1) under a frozen label state",
    "swapped_same": "explanation stays (word F1) under a turned label state",
    "followed": "label stays turned to the end",
}


def exchange_values(rows: Rows, which: str) -> list[float]:
    if which in ("frozen_same", "swapped_same"):
        return [row[which] for row in rows]
    if which == "followed":
        return [float(row["swapped"] == row["turned"]) for row in rows]
    if which == "to_other":
        return [float(row["another"] == row["others_label"]) for row in rows if row["another"] is not None]
    return [float(row[which] == row["label"]) for row in rows if row[which] is not None]


@table("exchange", "Label and explanation exchanged", "corpus, model, what, ours, texts")
def exchange(found: Found) -> TableRows:
    """Does the label state need the explanation, and the explanation the label state? One is exchanged, the other watched.
    A model without fusion keeps label and explanation whatever happens to the other."""
    for (corpus, row), one in found.exchanged.items():
        for which, said in EXCHANGES.items():
            counted = estimate(exchange_values(one, which))
            yield {"corpus": TITLES[corpus], "model": title(row), "what": said, **counted, "texts": len(one)}


@table("table4", "Tables 4 and 5: explanations beside people's", "corpus, input, model, label, explanation")
def examples(found: Found) -> TableRows:
    """The first test examples, chosen by nobody; first seed of each model. People: the right label and what is scored."""
    for corpus, task in found.settings.corpora.items():
        for i in range(min(task.shown, len(found.written[corpus, PEOPLE][0]))):
            for row in (PEOPLE, *task.rows):
                one = found.written[corpus, row][0][i]
                yield {"corpus": TITLES[corpus], "input": one["input"], "model": title(row),
                       "label": one["predicted"] or "none", "explanation": one["rationale"]}  # fmt: skip


@table("table6", "Table 6: human judgements", "corpus, model, measure, ours, paper, answers")
def table_6(found: Found, answers: Mapping[str, Answers]) -> TableRows:
    """Human judges, 1 to 5, blind: mean of all answers. Fidelity apart for right and wrong predictions."""
    by: dict[tuple[str, str, str], list[float]] = {}
    for sheet, given in answers.items():
        for key, marks in given.items():
            about = dict(key)
            measure = f"fidelity of {about['right']}" if sheet == "fidelity" else sheet.replace("_", " ")
            by.setdefault((about["corpus"], about["row"], measure), []).extend(map(float, marks))
    for (corpus, row, measure), numbers in by.items():
        yield {"corpus": TITLES[corpus], "model": title(row), "measure": measure, **estimate(numbers),
               "paper": published(PAPER, "table_6", corpus, row, measure), "answers": len(numbers)}  # fmt: skip


@table("training", "The models", "corpus, model, ours, trained on, epoch, seeds")
def training(found: Found) -> TableRows:
    """Accuracy in % on dev, with a 95 % interval over seeds (Student's t); the epoch that was kept."""
    for (corpus, row), runs in found.trained.items():
        yield {"corpus": TITLES[corpus], "model": title(row), **interval([100 * one["dev_accuracy"] for [one] in runs]),
               "trained on": runs[0][0]["train"], "epoch": float(np.mean([one["epoch"] for [one] in runs])),
               "seeds": len(runs)}  # fmt: skip
