"""From rows to the paper's tables, with intervals and p-values. Numbers are means over texts of the mean over seeds."""

from functools import partial
from itertools import combinations, product
from typing import Any

import numpy as np

from whence.explain import METHODS
from whence.studies.kit.corpora import TITLES
from whence.studies.kit.differences import by_text, f1_row, f1_test, score_difference
from whence.studies.kit.estimates import average, difference, estimate, interval, row
from whence.studies.kit.paper import published
from whence.studies.kit.tables import TableRows, table
from whence.studies.saloss.found import PAPER, TRIED, Found
from whence.studies.saloss.models import BASE, PRIORS, TEXTRANK, Kind

BESIDE_BASELINE = "corpus, model, attribution, baseline, ours, paper, p, of random, texts"
"""Where some models are tried on fewer texts and seeds: the baseline's number is on the same ones."""


@table("table1", "Table 1: macro-F1 on test", "corpus, model, weight λ, ours, paper, sd, p, accuracy, KL")
def table_1(found: Found) -> TableRows:
    """Mean over {found.said[seeds]}; the interval resamples test texts, sd is over seeds, p is a t-test against the baseline
    over seeds. KL: how far attention is from the prior on dev (baseline: from TextRank). Trained on: {found.said[sizes]}."""
    for (corpus, kind), runs in sorted(found.trained.items(), key=lambda item: found.settings.corpora.index(item[0][0])):
        yield {
            "corpus": TITLES[corpus], "model": kind.title, "weight λ": None if kind == BASE else found.weight_of(corpus, kind),
            **f1_row(runs), "paper": published(PAPER, "table_1", kind.in_paper, corpus),
            "p": None if kind == kind.base else f1_test(runs, found.trained[corpus, kind.base]),
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
        yield from _flips(found, corpus, *map(Kind, ("textrank", *others)))


@table("variants", "The formula, the released code, and stronger guidance", BESIDE_BASELINE)
def variants(found: Found) -> TableRows:
    """SaLoss by the paper's formula at the chosen λ, as the released code computes it (squared sum of re-softmaxed attention,
    TextRank with window 8, cross-entropy on probabilities; batches of {found.said[batches]}; beside it the same at λ = 0), and
    with more weight. {found.said[flips]} Baseline: the same training without salience, same texts, same seeds; one seed but for
    TextRank at the chosen λ."""
    kinds = [key for key in found.flips if key[1].weight is not None]
    for corpus in dict.fromkeys(corpus for corpus, _ in kinds):
        yield from _flips(found, corpus, TEXTRANK, *(kind for of, kind in kinds if of == corpus))


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
        compared: dict[str, Any] = dict.fromkeys(("− baseline", "from", "to", "macro-F1 − baseline"))
        if kind != BASE:
            compared |= difference("− baseline", found.curve_gap(corpus, kind))
            compared["macro-F1 − baseline"] = score_difference(scores, found.curve_trained[corpus, BASE]).value
        yield {
            "corpus": TITLES[corpus], "prior": PRIORS.get(kind.prior, "none: the baseline"), "weight λ": kind.weight,
            **alpha.row(), "of random": alpha.mean / random.mean, **compared, "KL": average(scores, "divergence"),
            "share before": shares.get("before"), "share after": shares.get("after"), "seeds": len(runs),
        }  # fmt: skip


@table("null", "Seed null: decision flip of two baselines", "corpus, attribution, baselines, ours, p, texts")
def null(found: Found) -> TableRows:
    """Difference in decision flip between two baselines that differ in their seed alone, paired over texts, and p of the test
    that the paper holds SaLoss to (Wilcoxon rank-sum). An effect that is no larger than this is not one of salience."""
    for corpus in found.settings.corpora:
        for (a, first), (b, second) in combinations(enumerate(found.flips[corpus, BASE]), 2):
            for method in TRIED:
                one, other = (by_text([rows], "flip", method=method) for rows in (first, second))
                yield {"corpus": TITLES[corpus], "attribution": METHODS[method].title, "baselines": f"seeds {a} and {b}",
                       **row(one.minus(other)), "p": one.rank_sum(other), "texts": len(one)}  # fmt: skip


@table("shares", "The salience term's share of the gradient", "corpus, model, weight λ, before training, after training")
def shares(found: Found) -> TableRows:
    """‖λ·∇KL‖ as a share of the sum of both terms' norms, mean over {found.settings.share_on} batches of the training set,
    first seed. The released variant's loss grows with the batch."""
    for (corpus, kind), [one] in found.shares.items():
        yield {"corpus": TITLES[corpus], "model": kind.title, "before training": one["before"],
               "after training": one["after"], "weight λ": found.weight_of(corpus, kind)}  # fmt: skip


@table("table5", "Table 5: the corpora", "corpus, figure, ours, paper")
def table_5(found: Found) -> TableRows:
    """What this run was trained and tested on: words of a training text (both texts of a pair), classes, examples."""
    for corpus, splits in found.sizes.items():
        values = {"mean words": splits[0]["length"], "classes": len(splits[0]["counts"])}
        for figure, value in (values | {one["split"]: sum(one["counts"]) for one in splits}).items():
            yield {"corpus": TITLES[corpus], "figure": figure, "ours": float(value),
                   "paper": published(PAPER, "table_5", figure, corpus)}  # fmt: skip


@table("table6", "Table 6: models and hyper-parameters",
       "corpus, model, epochs, batch size, learning rate, paper's rate, ours, low, high, paper")  # fmt: skip
def table_6(found: Found) -> TableRows:
    """SaLoss with TextRank at the chosen λ: macro-F1 on dev, mean over seeds with a 95 % interval (Student's t)."""
    own = found.settings
    for corpus in own.corpora:
        yield {"corpus": TITLES[corpus], "model": own.models.get(corpus, own.model), "epochs": own.epochs[corpus],
               "batch size": own.batch_size[corpus], "learning rate": own.learning_rate[corpus],
               "paper's rate": published(PAPER, "table_6", "rate", corpus),
               **interval([run["dev_macro_f1"] for run in found.trained[corpus, TEXTRANK]]),
               "paper": published(PAPER, "table_6", "dev F1", corpus)}  # fmt: skip


@table("selection", "Choice of λ on dev", "corpus, weight λ, ours, dev macro-F1, KL, chosen")
def selection(found: Found) -> TableRows:
    """Decision flip of α on {found.settings.select_on} dev texts, first seed; the lowest is chosen. KL(α‖σ) on dev."""
    for corpus, by_weight in found.selection.items():
        for weight, (flips, trained) in sorted(by_weight.items()):
            left = "no" if weight in found.settings.weights else "not eligible"
            yield {"corpus": TITLES[corpus], "weight λ": weight, **estimate([one["flip"] for one in flips]),
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
            yield {"corpus": TITLES[corpus], "words hidden in the order of": orders[method], **here.row(),
                   "p": None if method == "random" else here.rank_sum(by_method["random"])}  # fmt: skip


def _fresh(found: Found, how: str) -> TableRows:
    """Macro-F1 on test of classifiers that see {how} rationales only (α of the support model; share of words:
    {found.said[ratios]}); seeds of the classifier: {found.settings.fresh_seeds}, epochs: {found.settings.fresh_epochs}; the
    support model is the first seed's. The interval resamples test texts; with several seeds, their sd and a t-test against the
    baseline's."""
    for corpus in [c for c in found.settings.fresh if (c, how, "none") in found.fresh]:
        yield {"corpus": TITLES[corpus], "words of": "the full text", **f1_row(found.trained[corpus, BASE]),
               "paper": published(PAPER, "table_1", "none", corpus)}  # fmt: skip
        for (of, way, prior), runs in found.fresh.items():
            if (of, way) == (corpus, how):
                yield {"corpus": TITLES[corpus], "words of": "random words" if prior == "random" else Kind(prior).title,
                       **f1_row(runs), "p": None if prior == "none" else f1_test(runs, found.fresh[corpus, how, "none"]),
                       "paper": published(PAPER, "fresh", how, prior, corpus)}  # fmt: skip


_FRESH_COLUMNS = "corpus, words of, ours, paper, sd, p"
table_3 = partial(table("table3", "Table 3: FRESH, topk", _FRESH_COLUMNS)(_fresh), how="topk")
table_7 = partial(table("table7", "Table 7: FRESH, contiguous", _FRESH_COLUMNS)(_fresh), how="contiguous")


@table("recovery", "Planted words found", "corpus, model, attribution, ours, first, p")
def recovery(found: Found) -> TableRows:
    """Average precision of the scores for finding the planted words, with bootstrap interval, and the share of texts whose
    first word is a planted one; p: Wilcoxon rank-sum of the area against the baseline's same attribution."""
    for corpus, kind in found.flips:
        for method in TRIED:
            first, area = (found.by_text(column, corpus, kind, method) for column in ("first", "average_precision"))
            base = found.by_text("average_precision", corpus, BASE, method, like=kind)
            if first:
                yield {"corpus": TITLES[corpus], "model": kind.title, "attribution": METHODS[method].title, **area.row(),
                       "first": first.mean, "p": None if kind == BASE else area.rank_sum(base)}  # fmt: skip


def _flips(found: Found, corpus: str, *kinds: Kind) -> TableRows:
    """A row for each attribution, beside the same training without salience; none for a model that was not tried."""
    for kind, method in product([kind for kind in kinds if (corpus, kind) in found.flips], TRIED):
        here, random = (found.by_text("flip", corpus, kind, m) for m in (method, "random"))
        base = found.by_text("flip", corpus, kind.base, method, like=kind)
        if here:
            yield {
                "corpus": TITLES[corpus], "model": kind.title, "attribution": METHODS[method].title,
                "baseline": float(np.mean(here.beside(base)[1])), **here.row(),
                "paper": published(PAPER, "flips", kind.in_paper, method, corpus),
                "p": None if kind == kind.base else here.rank_sum(base), "texts": len(here),
                "of random": here.mean / random.mean if random else None,
            }  # fmt: skip
