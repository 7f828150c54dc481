"""From rows to the paper's tables, with intervals and p-values. Numbers are means over texts of the mean over seeds."""

from itertools import combinations
from typing import Any

import numpy as np

from whence.explain import METHODS
from whence.run.engine import Rows
from whence.studies.kit.corpora import TITLES as CORPORA
from whence.studies.kit.estimates import (
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
from whence.studies.saloss import paper
from whence.studies.saloss.found import METHODS as ATTRIBUTIONS
from whence.studies.saloss.found import Found
from whence.studies.saloss.models import BASE, PRIORS, TEXTRANK, Kind
from whence.studies.study import Table


def _published(table: dict[str, Any], kind: Kind) -> dict[str, Any]:
    """The paper has one λ for each corpus, the chosen one."""
    return table.get(kind.prior, {}) if kind.weight is None else {}


def _kept(found: Found, corpus: str, kind: Kind) -> list[float]:
    return [run["macro_f1"] for run in found.trained[corpus, kind]]


def table_1(found: Found) -> Table:
    rows = []
    for (corpus, kind), runs in sorted(found.trained.items(), key=lambda item: found.settings.corpora.index(item[0][0])):
        weight = None if kind == BASE else found.weight[corpus] if kind.weight is None else kind.weight
        rows.append({
            "corpus": CORPORA[corpus], "model": kind.title, "weight λ": weight, **f1_row(runs),
            "paper": _published(paper.F1, kind).get(corpus),
            "p": None if kind == kind.base else t_test(_kept(found, corpus, kind), _kept(found, corpus, kind.base)),
            "accuracy": float(np.mean([run["accuracy"] for run in runs])),
            "KL": float(np.mean([run["divergence"] for run in runs])),
        })  # fmt: skip
    settings = found.settings
    sizes = "; ".join(f"{CORPORA[c]} {found.trained[c, BASE][0]['train']:,}" for c in settings.corpora)
    return Table(
        "table1", "Table 1: macro-F1 on test",
        f"Mean over {_seeds(found)}; the interval resamples test texts, sd is over seeds, p is a t-test against the baseline "
        f"over seeds. KL: how far attention is from the prior on dev (baseline: from TextRank). Trained on: {sizes}.",
        ["corpus", "model", "weight λ", "ours", "paper", "sd", "p", "accuracy", "KL"], rows,
    )  # fmt: skip


def same_seeds(found: Found, corpus: str, kind: Kind, other: Kind) -> list[Rows]:
    """Flips of `kind` with the seeds that `other` was trained with: a mean over three seeds is no baseline for one of them."""
    return found.flips[corpus, kind][: len(found.flips[corpus, other])]


def flip_rows(found: Found, corpus: str, kind: Kind) -> list[dict[str, Any]]:
    rows = []
    for method in ATTRIBUTIONS:
        here = by_text(found.flips[corpus, kind], "flip", method=method)
        if not here:
            continue
        base = by_text(same_seeds(found, corpus, kind.base, kind), "flip", method=method)
        random = by_text(found.flips[corpus, kind], "flip", method="random")
        rows.append({
            "corpus": CORPORA[corpus], "model": kind.title, "attribution": METHODS[method].title,
            "baseline": float(np.mean([base[text] for text in here if text in base])),
            **estimate([*here.values()]), "paper": _published(paper.FLIP, kind).get(method, {}).get(corpus),
            "p": None if kind == kind.base else rank_sum(here, base), "texts": len(here),
            "of random": float(np.mean([*here.values()]) / np.mean([*random.values()])) if random else None,
        })  # fmt: skip
    return rows


FLIP_COLUMNS = ["corpus", "attribution", "model", "ours", "paper", "p", "of random", "texts"]
BESIDE_BASELINE = ["corpus", "model", "attribution", "baseline", "ours", "paper", "p", "of random", "texts"]
"""Where some models are tried on fewer texts and seeds: the baseline's number is on the same ones."""


def _flip_caption(found: Found) -> str:
    return (
        f"Share of words hidden ({found.settings.hide}), most important first, until the label changes; lower is better, 1 if "
        f"it never does. Mean over texts and {_seeds(found)} with bootstrap interval; p: Wilcoxon rank-sum against the "
        "baseline's same attribution, on the mean over seeds of each text. Of random: divided by the same "
        "model's at random. Words of the document are hidden, never a query."
    )


def table_2(found: Found) -> Table:
    rows = []
    for corpus in found.settings.corpora:
        both = zip(flip_rows(found, corpus, BASE), flip_rows(found, corpus, TEXTRANK), strict=True)
        rows += [one for pair in both for one in pair]
    same = found.same_label()
    caption = _flip_caption(found) + (f" Nothing can flip where every test text gets the same label: {same}." if same else "")
    return Table("table2", "Table 2: decision flip", caption, FLIP_COLUMNS, rows)


def table_8(found: Found) -> Table:
    """Other sources of salience."""
    others = ("chi2", "tfidf", "uniform", "planted")
    corpora = dict.fromkeys(c for c, kind in found.flips if kind.prior in others)
    order = [(c, kind) for c in corpora for kind in map(Kind, ("textrank", *others)) if (c, kind) in found.flips]
    rows = [one for corpus, kind in order for one in flip_rows(found, corpus, kind)]
    caption = f"{_flip_caption(found)} Baseline: same texts, same seeds; one seed for priors other than TextRank."
    return Table("table8", "Table 8: decision flip by source of salience", caption, BESIDE_BASELINE, rows)


def variants(found: Found) -> Table:
    """The paper's formula, the released code's, and stronger λ."""
    kinds = [key for key in found.flips if key[1].weight is not None]
    rows = []
    for corpus in dict.fromkeys(corpus for corpus, _ in kinds):
        for kind in (TEXTRANK, *(k for c, k in kinds if c == corpus)):
            rows += flip_rows(found, corpus, kind)
    batches = ", ".join(f"{n} on {CORPORA[c]}" for c, n in found.settings.released.items())
    caption = (
        "SaLoss by the paper's formula at the chosen λ, as the released code computes it (squared sum of re-softmaxed "
        f"attention, TextRank with window 8, cross-entropy on probabilities; batches of {batches or 'none'}; beside it the "
        f"same at λ = 0), and with more weight. {_flip_caption(found)} Baseline: the same training without salience, same "
        "texts, same seeds; one seed but for TextRank at the chosen λ."
    )
    return Table("variants", "The formula, the released code, and stronger guidance", caption, BESIDE_BASELINE, rows)


def curves(found: Found) -> Table:
    """Every prior at every λ, with all seeds, against the baselines of the same seeds."""
    rows = []
    for (corpus, kind), runs in found.curves.items():
        alpha, random = (by_text(runs, "flip", method=m) for m in ("attention", "random"))
        gap = seed_difference(runs, found.curves[corpus, BASE], "flip", method="attention")
        scores, base = found.curve_trained[corpus, kind], found.curve_trained[corpus, BASE]
        shares = found.curve_shares.get((corpus, kind), [{}])[0]
        rows.append({
            "corpus": CORPORA[corpus], "prior": PRIORS.get(kind.prior, "none: the baseline"), "weight λ": kind.weight,
            **estimate([*alpha.values()]), "of random": float(np.mean([*alpha.values()]) / np.mean([*random.values()])),
            **{name: None if kind == BASE else value
               for name, value in (("− baseline", gap.value), ("from", gap.low), ("to", gap.high))},
            "macro-F1 − baseline": None if kind == BASE else score_difference(scores, base).value,
            "KL": float(np.mean([run["divergence"] for run in scores])),
            "share before": shares.get("before"), "share after": shares.get("after"), "seeds": len(runs),
        })  # fmt: skip
    trained = f"; models trained on {found.settings.curve_train:,} texts" if found.settings.curve_train else ""
    caption = (
        f"Decision flip of α on {found.settings.curve_on} test texts, mean over seeds{trained}; lower is better. − baseline: "
        "difference from the baselines of the same seeds; its interval resamples texts and seeds in pairs. KL(α‖σ) on dev. "
        "Share: of the salience term in the norm of the gradient, first seed, before and after training. Compare with the seed "
        "null."
    )
    columns = ["corpus", "prior", "weight λ", "ours", "of random", "− baseline", "from", "to", "macro-F1 − baseline", "KL",
               "share before", "share after", "seeds"]  # fmt: skip
    return Table("curves", "At which λ, with which prior, does decision flip of α fall?", caption, columns, rows)


def null(found: Found) -> Table:
    """What the paper's test says of two models that differ in nothing but the seed."""
    rows = []
    for corpus in found.settings.corpora:
        runs = found.flips[corpus, BASE]
        for a, b in combinations(range(len(runs)), 2):
            for method in ATTRIBUTIONS:
                one, other = (by_text([runs[i]], "flip", method=method) for i in (a, b))
                rows.append({"corpus": CORPORA[corpus], "attribution": METHODS[method].title, "baselines": f"seeds {a} and {b}",
                             **row(paired(one, other)), "p": rank_sum(one, other), "texts": len(one)})  # fmt: skip
    caption = (
        "Difference in decision flip between two baselines that differ in their seed alone, paired over texts, and p of the "
        "test that the paper holds SaLoss to (Wilcoxon rank-sum). An effect that is no larger than this is not one of salience."
    )
    columns = ["corpus", "attribution", "baselines", "ours", "p", "texts"]
    return Table("null", "Seed null: decision flip of two baselines", caption, columns, rows)


def shares(found: Found) -> Table:
    rows = [
        {"corpus": CORPORA[corpus], "model": kind.title, "before training": one["before"], "after training": one["after"],
         "weight λ": found.weight[corpus] if kind.weight is None else kind.weight}
        for (corpus, kind), [one] in found.shares.items()
    ]  # fmt: skip
    caption = (
        f"‖λ·∇KL‖ as a share of the sum of both terms' norms, mean over {found.settings.share_on} batches of the training set, "
        "first seed. The released variant's loss grows with the batch."
    )
    columns = ["corpus", "model", "weight λ", "before training", "after training"]
    return Table("shares", "The salience term's share of the gradient", caption, columns, rows)


def table_5(found: Found) -> Table:
    rows = []
    for corpus, splits in found.sizes.items():
        published = paper.SIZES.get(corpus, {})
        values = {"mean words": splits[0]["length"], "classes": len(splits[0]["counts"])}
        values |= {one["split"]: sum(one["counts"]) for one in splits}
        rows += [{"corpus": CORPORA[corpus], "figure": figure, "ours": float(value), "paper": published.get(figure)}
                 for figure, value in values.items()]  # fmt: skip
    caption = "What this run was trained and tested on: words of a training text (both texts of a pair), classes, examples."
    return Table("table5", "Table 5: the corpora", caption, ["corpus", "figure", "ours", "paper"], rows)


def table_6(found: Found) -> Table:
    rows = []
    for corpus in found.settings.corpora:
        settings, runs = found.settings, found.trained[corpus, TEXTRANK]
        rows.append({
            "corpus": CORPORA[corpus], "model": settings.models.get(corpus, settings.model), "epochs": settings.epochs[corpus],
            "batch size": settings.batch_size[corpus], "learning rate": settings.learning_rate[corpus],
            "paper's rate": paper.RATE.get(corpus), **interval([run["dev_macro_f1"] for run in runs]),
            "paper": paper.DEV_F1.get(corpus),
        })  # fmt: skip
    caption = "SaLoss with TextRank at the chosen λ: macro-F1 on dev, mean over seeds with a 95 % interval (Student's t)."
    columns = ["corpus", "model", "epochs", "batch size", "learning rate", "paper's rate", "ours", "low", "high", "paper"]
    return Table("table6", "Table 6: models and hyper-parameters", caption, columns, rows)


def selection(found: Found) -> Table:
    rows = []
    for corpus, by_weight in found.selection.items():
        for weight, (flips, trained) in sorted(by_weight.items()):
            eligible = weight in found.settings.weights
            rows.append({
                "corpus": CORPORA[corpus], "weight λ": weight, **estimate([one["flip"] for one in flips]),
                "dev macro-F1": trained["dev_macro_f1"], "KL": trained["divergence"],
                "chosen": "yes" if weight == found.weight[corpus] else "no" if eligible else "not eligible",
            })  # fmt: skip
    caption = f"Decision flip of α on {found.settings.select_on} dev texts, first seed; the lowest is chosen. KL(α‖σ) on dev."
    columns = ["corpus", "weight λ", "ours", "dev macro-F1", "KL", "chosen"]
    return Table("selection", "Choice of λ on dev", caption, columns, rows)


def what_the_prior_knows(found: Found) -> Table:
    orders = {"attention": "α of the baseline", "random": "random", **{p: f"{name} itself" for p, name in PRIORS.items()}}
    rows = []
    for corpus, flips in found.ranked.items():
        random = by_text([flips], "flip", method="random")
        for method in dict.fromkeys(one["method"] for one in flips):
            here = by_text([flips], "flip", method=method)
            p = None if method == "random" else rank_sum(here, random)
            rows.append({"corpus": CORPORA[corpus], "words hidden in the order of": orders[method],
                         **estimate([*here.values()]), "p": p})  # fmt: skip
    caption = (
        f"Decision flip of the baseline on {found.settings.select_on} dev texts, first seed: what α can gain from a prior that "
        "has not seen the model; χ² has seen the training labels, TextRank and tf-idf have not. p: Wilcoxon's rank-sum test "
        "against random."
    )
    columns = ["corpus", "words hidden in the order of", "ours", "p"]
    return Table("prior", "What the prior itself knows", caption, columns, rows)


def fresh_table(found: Found, how: str, name: str) -> Table:
    rows = []
    for corpus in [c for c in found.settings.fresh if (c, how, "none") in found.fresh]:
        full = f1_row(found.trained[corpus, BASE])
        rows.append({"corpus": CORPORA[corpus], "words of": "the full text", **full, "paper": paper.F1["none"].get(corpus)})
        base = [run["macro_f1"] for run in found.fresh[corpus, how, "none"]]
        for (of, way, prior), runs in found.fresh.items():
            if (of, way) == (corpus, how):
                p = None if prior == "none" else t_test([run["macro_f1"] for run in runs], base)
                whose = "random words" if prior == "random" else Kind(prior).title
                rows.append({"corpus": CORPORA[corpus], "words of": whose, **f1_row(runs), "p": p,
                             "paper": paper.FRESH[how].get(prior, {}).get(corpus)})  # fmt: skip
    ratios = ", ".join(f"{CORPORA[c]} {found.settings.ratio[c]:.0%}" for c in found.settings.fresh)
    caption = (
        f"Macro-F1 on test of classifiers that see {how} rationales only (α of the support model; share of words: {ratios}); "
        f"seeds of the classifier: {found.settings.fresh_seeds}, epochs: {found.settings.fresh_epochs}; the support model is "
        "the first seed's. The interval resamples test texts; with several seeds, their sd and a t-test against the baseline's."
    )
    columns = ["corpus", "words of", "ours", "paper", "sd", "p"]
    return Table(name, f"{name.replace('table', 'Table ')}: FRESH, {how}", caption, columns, rows)


def recovery(found: Found) -> Table:
    """Where the reason was planted: how well each attribution finds it."""
    rows = []
    for (corpus, kind), runs in found.flips.items():
        for method in ATTRIBUTIONS:
            first, area = (by_text(runs, column, method=method) for column in ("first", "average_precision"))
            if first:
                base = by_text(same_seeds(found, corpus, BASE, kind), "average_precision", method=method)
                rows.append({"corpus": CORPORA[corpus], "model": kind.title, "attribution": METHODS[method].title,
                             **estimate([*area.values()]), "first": float(np.mean([*first.values()])),
                             "p": None if kind == BASE else rank_sum(area, base)})  # fmt: skip
    caption = (
        "Average precision of the scores for finding the planted words, with bootstrap interval, and the share "
        "of texts whose first word is a planted one; p: Wilcoxon rank-sum of the area against the baseline's same attribution."
    )
    columns = ["corpus", "model", "attribution", "ours", "first", "p"]
    return Table("recovery", "Planted words found", caption, columns, rows)


def _seeds(found: Found) -> str:
    by_count: dict[int, list[str]] = {}
    for corpus in found.settings.corpora:
        by_count.setdefault(found.settings.seeds[corpus], []).append(CORPORA[corpus])
    named = {n: f" ({', '.join(names)})" if len(by_count) > 1 else "" for n, names in by_count.items()}
    return " and ".join(f"{n} seed{'s' if n > 1 else ''}{where}" for n, where in named.items())
