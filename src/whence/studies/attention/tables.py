"""The tables of both papers, ours beside theirs."""

import math
from typing import Any

import numpy as np

from whence.studies.attention.found import FAR, GUIDES, Corner
from whence.studies.attention.models import ADVERSARIES, Kind, Role
from whence.studies.attention.pieces import COUPLES
from whence.studies.attention.settings import PAPER
from whence.studies.kit.estimates import Row, difference, interval
from whence.studies.kit.paper import published
from whence.studies.kit.tables import TableRows, corner_table

FIGURES = {"f1": "F1", "halved": "TVD, halved", "jsd": "JSD"}
OVER_SEEDS = "Mean over seeds with a 95 % interval (Student's t); with one seed there is none."


@corner_table("table1", "Table 1: the corpora", "corpus, figure, ours, paper")
def table_1(corner: Corner) -> TableRows:
    """What the models of this run were trained and tested on; the paper's texts have no punctuation and start at 6 words."""
    train, test = corner.rows["sizes"]
    values = [train["length"], *train["counts"], *test["counts"]]
    for figure, value in zip(PAPER["table_1"]["SST"], values, strict=True):
        yield {"figure": figure, "ours": float(value), "paper": published(PAPER, "table_1", corner.title, figure)}


@corner_table("table2", "Table 2: is attention needed?", "corpus, model, ours, low, high, paper, seeds")
def table_2(corner: Corner) -> TableRows:
    """F1 of the positive class on test. {OVER_SEEDS} {found.said[sizes]}."""
    kinds: dict[Kind, str] = {"base": "base", "uniform": "uniform attention"}
    for kind, title in kinds.items():
        yield {"model": title, **_over_seeds(corner.f1(kind)), "paper": published(PAPER, "table_2", corner.title, kind)}


@corner_table("table3", "Table 3: does attention help a model without context?", "corpus, guide, ours, low, high, paper, seeds")
def table_3(corner: Corner) -> TableRows:
    """F1 (positive class, test) of a token-wise MLP whose attention is learned or imposed; guides and MLP share their seed;
    adversary at λ = {found.settings.guide_lambda:g}. {OVER_SEEDS}"""
    for kind, guide in GUIDES.items() if corner.own.guides else ():
        yield {"guide": guide, **_over_seeds(corner.f1(kind)), "paper": published(PAPER, "table_3", corner.title, kind)}


@corner_table("table5", "Table 5: adversaries over λ", "corpus, λ, figure, ours, low, high, paper, seeds")
def table_5(corner: Corner) -> TableRows:
    """Adversaries against the base model of their seed, means over test texts. {OVER_SEEDS} JSD is at most ln 2 = 0.693. TVD is
    halved, ½|Δp|, as the released code computes it and so, probably, the paper's numbers are."""
    for one in corner.sweep():
        theirs = published(PAPER, "table_5", corner.title, one["lambda"])
        for name, row in _figures(one):
            yield {"λ": one["lambda"], **row, "paper": published(theirs, name), "seeds": len(one[name])}


@corner_table("table4", "Table 4: the best far adversary", "corpus, λ, figure, ours, low, high, paper, paper's λ")
def table_4(corner: Corner) -> TableRows:
    """The λ with the best F1 among those whose adversaries all have a mean JSD > {FAR}; TVD halved as in Table 5.
    {OVER_SEEDS}"""
    far = [one for one in corner.sweep() if min(one["jsd"]) > FAR]
    best: dict[str, Any] = max(far, key=lambda one: np.mean(one["f1"]), default={})
    theirs = {at: row for at, row in PAPER["table_5"].get(corner.title, {}).items() if row["jsd"] > FAR}
    at = max(theirs, key=lambda strength: theirs[strength]["f1"], default=None)
    for name, row in _figures(best) if best else ():
        yield {"λ": best["lambda"], **row, "paper": published(theirs, at, name), "paper's λ": at}


@corner_table("adversaries", "Other ways to train an adversary", "corpus, λ, trained on, figure, ours, low, high, seeds")
def other_adversaries(corner: Corner) -> TableRows:
    """The paper's adversary, its epoch chosen by the loss on dev or, as its code does, in training; and one that imitates the
    base model on cut texts, too ({found.said[copies]}), so that its predictions differ less on texts that it has not seen.
    {OVER_SEEDS}"""
    others = [(kind, corner.subject.strength(kind)) for kind in corner.others()]
    at = sorted({strength for _, strength in others} & set(corner.own.lambdas))
    plain: list[tuple[Kind, float]] = [("adversary", strength) for strength in at]
    for kind, strength in plain + others:
        one = corner.adversary(kind, strength)
        for name, row in _figures(one):
            yield {"λ": strength, "trained on": ADVERSARIES[kind], **row, "seeds": len(one[name])}


@corner_table("leaks", "Control: do guides tell the label by other ways than words?",
              "corpus, guide, ours, low, high, above uniform, from, to, seeds")  # fmt: skip
def leaks(corner: Corner) -> TableRows:
    """F1 of the MLP of Table 3 with each guide as it is, and with its weights shuffled among the words of each text (by the
    text's id), which leaves nothing of the words but how peaked the weights are. What stays above uniform weights leaks past
    the words. Above uniform: paired difference, resampling texts and seeds."""
    for kind, guide in corner.control().items():
        f1 = [run["f1"] for run in corner.runs(kind, seeds=corner.own.leaks)]
        gain = corner.gap(kind, "mlp-uniform", seeds=corner.own.leaks)
        yield {"guide": guide, **_over_seeds(f1), **difference("above uniform", gain)}


@corner_table("correlation", "Jain & Wallace: does attention rank words as gradients do?",
       "corpus, couple, predicted, ours, low, high, sd, p ≤ .05, paper, paper's p ≤ .05, texts, not defined")  # fmt: skip
def correlations(corner: Corner) -> TableRows:
    """Kendall's τ_b of the base model (seed 0) over the words of each test text, mean over texts with 95 % interval; share of
    texts with p ≤ .05; texts where a vector is constant are counted apart. The paper's numbers: Jain & Wallace's stored
    outputs."""
    texts = corner.rows["correlation"]
    for name, title in COUPLES.items():
        for label in ("all", *sorted({text["predicted"] for text in texts})):
            chosen = [text for text in texts if label in ("all", text["predicted"])]
            known = [text for text in chosen if not math.isnan(text[f"{name}_tau"])]
            taus = [text[f"{name}_tau"] for text in known]
            theirs = published(PAPER, "correlation", corner.title) if label == "all" else None
            yield {"couple": title, "predicted": label, **interval(taus), "sd": float(np.std(taus)) if taus else None,
                   "p ≤ .05": float(np.mean([text[f"{name}_p"] <= 0.05 for text in known] or [0])),
                   "paper": published(theirs, name, "τ"), "paper's p ≤ .05": published(theirs, name, "p"),
                   "texts": len(known), "not defined": len(chosen) - len(known)}  # fmt: skip


@corner_table("search", "Jain & Wallace: permutations and per-instance adversaries", "corpus, figure, ours, low, high, texts")
def permutations(corner: Corner) -> TableRows:
    """Per-instance tests on the base model (seed 0), mean over test texts, 95 % interval: how far the prediction moves (TVD)
    when attention is shuffled; how far attention can be moved (JSD) while it moves by at most 0.05."""
    [row] = corner.rows["search"]
    for figure, name in (("median change under permutation", "permuted"), ("ε-max JSD of the search", "jsd")):
        yield {"figure": figure, **interval(row[name]), "texts": len(row[name])}


@corner_table("planted", "What attention gives to the true reason", "corpus, model, ours, low, high, texts")
def planted(corner: Corner) -> TableRows:
    """Share of attention on the words that are the reason, known because they were planted; mean over test texts with a 95 %
    interval. base-0 … are seeds, adversary-λ-0 is trained, search is Jain & Wallace's per-instance adversary."""
    for row in corner.rows.get("planted", []):
        yield {"model": row["role"], **interval(row["mass"]), "texts": len(row["mass"])}


@corner_table("transformer", "The same tests on a transformer",
              "corpus, model, F1, TVD, TVD low, TVD high, JSD, JSD low, JSD high", of="encoders")  # fmt: skip
def transformers(corner: Corner) -> TableRows:
    """The tests that make sense for a transformer ({found.said[encoders]}): attention is the head-averaged [CLS] row of the
    last layer over the text's own tokens; differences from the base model, means over test texts with 95 % intervals."""
    other, imposed = corner.rows["seeds"]
    roles: list[tuple[str, Role, dict[str, Any]]] = [("base", Role("base", 0), {})]
    roles += [("another seed", Role("base", 1), other), ("uniform attention", Role("uniform", 0), imposed)]
    roles += [(f"adversary, λ = {r.strength:g}", r, corner.rows["against", r][0]) for r in corner.adversaries()]
    for title, role, far in roles:
        tvd, jsd = (interval(far.get(name, [])) for name in ("tvd", "jsd"))
        yield {"model": title, "F1": corner.rows["trained", role][0]["f1"],
               "TVD": tvd["ours"], "TVD low": tvd["low"], "TVD high": tvd["high"],
               "JSD": jsd["ours"], "JSD low": jsd["low"], "JSD high": jsd["high"]}  # fmt: skip


def _figures(one: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """F1, TVD and JSD of adversaries, as a row has them."""
    return [(name, {"figure": title, **interval(one[name])}) for name, title in FIGURES.items()]


def _over_seeds(values: list[float]) -> Row:
    return {**interval(values), "seeds": len(values)}
