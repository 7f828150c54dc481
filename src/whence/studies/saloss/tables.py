"""From rows to the paper's tables, with intervals and p-values. Numbers are means over texts of the mean over seeds."""

from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from whence.explain import METHODS
from whence.studies.kit.corpora import TITLES as CORPORA
from whence.studies.kit.estimates import (
    ByText,
    average,
    by_text,
    estimate,
    f1_row,
    interval,
    paired,
    rank_sum,
    row,
    score_difference,
    seed_difference,
    t_test,
)  # fmt: skip
from whence.studies.kit.tables import TableRows, published, table
from whence.studies.saloss import paper
from whence.studies.saloss.found import METHODS as ATTRIBUTIONS
from whence.studies.saloss.found import Found
from whence.studies.saloss.models import BASE, PRIORS, TEXTRANK, Kind

BESIDE_BASELINE = "corpus, model, attribution, baseline, ours, paper, p, of random, texts"
"""Where some models are tried on fewer texts and seeds: the baseline's number is on the same ones."""


@table("table1", "Table 1: macro-F1 on test", "corpus, model, weight λ, ours, paper, sd, p, accuracy, KL")
def table_1(found: Found) -> TableRows:
    """Mean over {found.said[seeds]}; the interval resamples test texts, sd is over seeds, p is a t-test against the baseline
    over seeds. KL: how far attention is from the prior on dev (baseline: from TextRank). Trained on: {found.said[sizes]}."""
    for (corpus, kind), runs in sorted(found.trained.items(), key=lambda item: found.settings.corpora.index(item[0][0])):
        base = found.trained[corpus, kind.base]
        yield {
            "corpus": CORPORA[corpus], "model": kind.title, "weight λ": None if kind == BASE else found.weight_of(corpus, kind),
            **f1_row(runs), "paper": _published(paper.F1, kind, corpus),
            "p": None if kind == kind.base else t_test(*([run["macro_f1"] for run in several] for several in (runs, base))),
            "accuracy": average(runs, "accuracy"), "KL": average(runs, "divergence"),
        }  # fmt: skip


@table("table2", "Table 2: decision flip", "corpus, attribution, model, ours, paper, p, of random, texts")
def table_2(found: Found) -> TableRows:
    """{found.said[flips]}{found.said[same label]}"""
    for corpus in found.settings.corpora:
        for pair in zip(_flips(found, corpus, BASE), _flips(found, corpus, TEXTRANK), strict=True):
            yield from pair


@table("table8", "Table 8: decision flip by source of salience", BESIDE_BASELINE)
def table_8(found: Found) -> TableRows:
    """{found.said[flips]} Baseline: same texts, same seeds; one seed for priors other than TextRank."""
    others = ("chi2", "tfidf", "uniform", "planted")
    for corpus in dict.fromkeys(c for c, kind in found.flips if kind.prior in others):
        for kind in map(Kind, ("textrank", *others)):
            yield from _flips(found, corpus, kind)


@table("variants", "The formula, the released code, and stronger guidance", BESIDE_BASELINE)
def variants(found: Found) -> TableRows:
    """SaLoss by the paper's formula at the chosen λ, as the released code computes it (squared sum of re-softmaxed attention,
    TextRank with window 8, cross-entropy on probabilities; batches of {found.said[batches]}; beside it the same at λ = 0), and
    with more weight. {found.said[flips]} Baseline: the same training without salience, same texts, same seeds; one seed but for
    TextRank at the chosen λ."""
    kinds = [key for key in found.flips if key[1].weight is not None]
    for corpus in dict.fromkeys(corpus for corpus, _ in kinds):
        for kind in (TEXTRANK, *(k for c, k in kinds if c == corpus)):
            yield from _flips(found, corpus, kind)


@table(
    "curves", "At which λ, with which prior, does decision flip of α fall?",
    "corpus, prior, weight λ, ours, of random, − baseline, from, to, macro-F1 − baseline, KL, share before, share after, seeds",
)  # fmt: skip
def curves(found: Found) -> TableRows:
    """Decision flip of α on {found.settings.curve_on} test texts, mean over seeds{found.said[curves]}; lower is better. −
    baseline: difference from the baselines of the same seeds; its interval resamples texts and seeds in pairs. KL(α‖σ) on dev.
    Share: of the salience term in the norm of the gradient, first seed, before and after training. Compare with the seed
    null."""
    for (corpus, kind), runs in found.curves.items():
        scores, shares = found.curve_trained[corpus, kind], found.curve_shares.get((corpus, kind), [{}])[0]
        alpha, random = (by_text(runs, "flip", method=m) for m in ("attention", "random"))
        compared: dict[str, float | None] = dict.fromkeys(("− baseline", "from", "to", "macro-F1 − baseline"))
        if kind != BASE:
            gap = seed_difference(runs, found.curves[corpus, BASE], "flip", method="attention")
            better = score_difference(scores, found.curve_trained[corpus, BASE])
            compared = {"− baseline": gap.value, "from": gap.low, "to": gap.high, "macro-F1 − baseline": better.value}
        yield {
            "corpus": CORPORA[corpus], "prior": PRIORS.get(kind.prior, "none: the baseline"), "weight λ": kind.weight,
            **estimate([*alpha.values()]), "of random": _mean(alpha) / _mean(random), **compared,
            "KL": average(scores, "divergence"),
            "share before": shares.get("before"), "share after": shares.get("after"), "seeds": len(runs),
        }  # fmt: skip


@table("null", "Seed null: decision flip of two baselines", "corpus, attribution, baselines, ours, p, texts")
def null(found: Found) -> TableRows:
    """Difference in decision flip between two baselines that differ in their seed alone, paired over texts, and p of the test
    that the paper holds SaLoss to (Wilcoxon rank-sum). An effect that is no larger than this is not one of salience."""
    for corpus in found.settings.corpora:
        for (a, first), (b, second) in combinations(enumerate(found.flips[corpus, BASE]), 2):
            for method in ATTRIBUTIONS:
                one, other = (by_text([rows], "flip", method=method) for rows in (first, second))
                yield {"corpus": CORPORA[corpus], "attribution": METHODS[method].title, "baselines": f"seeds {a} and {b}",
                       **row(paired(one, other)), "p": rank_sum(one, other), "texts": len(one)}  # fmt: skip


@table("shares", "The salience term's share of the gradient", "corpus, model, weight λ, before training, after training")
def shares(found: Found) -> TableRows:
    """‖λ·∇KL‖ as a share of the sum of both terms' norms, mean over {found.settings.share_on} batches of the training set,
    first seed. The released variant's loss grows with the batch."""
    for (corpus, kind), [one] in found.shares.items():
        yield {"corpus": CORPORA[corpus], "model": kind.title, "before training": one["before"],
               "after training": one["after"], "weight λ": found.weight_of(corpus, kind)}  # fmt: skip


@table("table5", "Table 5: the corpora", "corpus, figure, ours, paper")
def table_5(found: Found) -> TableRows:
    """What this run was trained and tested on: words of a training text (both texts of a pair), classes, examples."""
    for corpus, splits in found.sizes.items():
        values = {"mean words": splits[0]["length"], "classes": len(splits[0]["counts"])}
        for figure, value in (values | {one["split"]: sum(one["counts"]) for one in splits}).items():
            theirs = published(paper.SIZES, figure, corpus)
            yield {"corpus": CORPORA[corpus], "figure": figure, "ours": float(value), "paper": theirs}


@table("table6", "Table 6: models and hyper-parameters",
       "corpus, model, epochs, batch size, learning rate, paper's rate, ours, low, high, paper")  # fmt: skip
def table_6(found: Found) -> TableRows:
    """SaLoss with TextRank at the chosen λ: macro-F1 on dev, mean over seeds with a 95 % interval (Student's t)."""
    settings = found.settings
    for corpus in settings.corpora:
        yield {
            "corpus": CORPORA[corpus], "model": settings.models.get(corpus, settings.model), "epochs": settings.epochs[corpus],
            "batch size": settings.batch_size[corpus], "learning rate": settings.learning_rate[corpus],
            "paper's rate": paper.TABLE_6["rate"].get(corpus),
            **interval([run["dev_macro_f1"] for run in found.trained[corpus, TEXTRANK]]),
            "paper": paper.TABLE_6["dev F1"].get(corpus),
        }  # fmt: skip


@table("selection", "Choice of λ on dev", "corpus, weight λ, ours, dev macro-F1, KL, chosen")
def selection(found: Found) -> TableRows:
    """Decision flip of α on {found.settings.select_on} dev texts, first seed; the lowest is chosen. KL(α‖σ) on dev."""
    for corpus, by_weight in found.selection.items():
        for weight, (flips, trained) in sorted(by_weight.items()):
            left = "no" if weight in found.settings.weights else "not eligible"
            yield {"corpus": CORPORA[corpus], "weight λ": weight, **estimate([one["flip"] for one in flips]),
                   "dev macro-F1": trained["dev_macro_f1"], "KL": trained["divergence"],
                   "chosen": "yes" if weight == found.weight[corpus] else left}  # fmt: skip


@table("prior", "What the prior itself knows", "corpus, words hidden in the order of, ours, p")
def what_the_prior_knows(found: Found) -> TableRows:
    """Decision flip of the baseline on {found.settings.select_on} dev texts, first seed: what α can gain from a prior that has
    not seen the model; χ² has seen the training labels, TextRank and tf-idf have not. p: Wilcoxon's rank-sum test against
    random."""
    orders = {"attention": "α of the baseline", "random": "random", **{p: f"{name} itself" for p, name in PRIORS.items()}}
    for corpus, flips in found.ranked.items():
        by_method = {m: by_text([flips], "flip", method=m) for m in dict.fromkeys(one["method"] for one in flips)}
        for method, here in by_method.items():
            yield {"corpus": CORPORA[corpus], "words hidden in the order of": orders[method], **estimate([*here.values()]),
                   "p": None if method == "random" else rank_sum(here, by_method["random"])}  # fmt: skip


def _fresh(found: Found, how: str) -> TableRows:
    """Macro-F1 on test of classifiers that see {how} rationales only (α of the support model; share of words:
    {found.said[ratios]}); seeds of the classifier: {found.settings.fresh_seeds}, epochs: {found.settings.fresh_epochs}; the
    support model is the first seed's. The interval resamples test texts; with several seeds, their sd and a t-test against the
    baseline's."""
    for corpus in [c for c in found.settings.fresh if (c, how, "none") in found.fresh]:
        yield {"corpus": CORPORA[corpus], "words of": "the full text", **f1_row(found.trained[corpus, BASE]),
               "paper": paper.F1["none"].get(corpus)}  # fmt: skip
        base = [run["macro_f1"] for run in found.fresh[corpus, how, "none"]]
        for (of, way, prior), runs in found.fresh.items():
            if (of, way) == (corpus, how):
                yield {"corpus": CORPORA[corpus], "words of": "random words" if prior == "random" else Kind(prior).title,
                       **f1_row(runs), "p": None if prior == "none" else t_test([run["macro_f1"] for run in runs], base),
                       "paper": published(paper.FRESH, f"{how} {prior}", corpus)}  # fmt: skip


_FRESH_COLUMNS = "corpus, words of, ours, paper, sd, p"
table_3 = partial(table("table3", "Table 3: FRESH, topk", _FRESH_COLUMNS)(_fresh), how="topk")
table_7 = partial(table("table7", "Table 7: FRESH, contiguous", _FRESH_COLUMNS)(_fresh), how="contiguous")


@table("recovery", "Planted words found", "corpus, model, attribution, ours, first, p")
def recovery(found: Found) -> TableRows:
    """Average precision of the scores for finding the planted words, with bootstrap interval, and the share of texts whose
    first word is a planted one; p: Wilcoxon rank-sum of the area against the baseline's same attribution."""
    for corpus, kind in found.flips:
        for method in ATTRIBUTIONS:
            first, area = (found.by_text(column, corpus, kind, method) for column in ("first", "average_precision"))
            base = found.by_text("average_precision", corpus, BASE, method, like=kind)
            if first:
                yield {"corpus": CORPORA[corpus], "model": kind.title, "attribution": METHODS[method].title,
                       **estimate([*area.values()]), "first": _mean(first),
                       "p": None if kind == BASE else rank_sum(area, base)}  # fmt: skip


def _flips(found: Found, corpus: str, kind: Kind) -> TableRows:
    """A row for each attribution, beside the same training without salience; none for a model that was not tried."""
    for method in ATTRIBUTIONS if (corpus, kind) in found.flips else ():
        here, random = (found.by_text("flip", corpus, kind, m) for m in (method, "random"))
        base = found.by_text("flip", corpus, kind.base, method, like=kind)
        if here:
            yield {
                "corpus": CORPORA[corpus], "model": kind.title, "attribution": METHODS[method].title,
                "baseline": float(np.mean([base[text] for text in here if text in base])), **estimate([*here.values()]),
                "paper": _published(paper.FLIP, kind, corpus, method),
                "p": None if kind == kind.base else rank_sum(here, base), "texts": len(here),
                "of random": _mean(here) / _mean(random) if random else None,
            }  # fmt: skip


def _mean(by: ByText) -> float:
    return float(np.mean([*by.values()]))


def _published(numbers: dict[str, Any], kind: Kind, corpus: str, method: str = "") -> float | None:
    """The paper has one λ for each corpus, the chosen one."""
    return published(numbers, f"{kind.prior} {method}".strip(), corpus) if kind.weight is None else None
