"""From rows to the paper's tables, with intervals and p-values. Numbers are means over texts of the mean over seeds."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import ranksums, ttest_ind

from whence.explain import METHODS
from whence.measure.measure import mean
from whence.measure.statistics import Estimate, bootstrap
from whence.run.engine import Rows
from whence.studies.saloss import paper
from whence.studies.saloss.work import METHODS as ATTRIBUTIONS
from whence.studies.saloss.work import Found, Kind
from whence.studies.study import Table

PRIORS = {"textrank": "TextRank", "uniform": "uniform", "tfidf": "tf-idf", "chi2": "χ²", "planted": "true reason"}
TITLES = {"none": "baseline", "released": "SaLoss as released", "random": "random words"}
CORPORA = {"sst": "SST", "ag_news": "AG News", "evidence_inference": "Evidence Inference", "multirc": "MultiRC",
           "semeval": "SemEval", "reviews": "planted reviews"}  # fmt: skip


def title(kind: Kind) -> str:
    return TITLES.get(kind, f"SaLoss, {PRIORS.get(kind, kind)}")


def values(runs: Sequence[Rows], method: str, column: str = "flip") -> dict[str, float]:
    """For each text the mean over seeds."""
    by_text: dict[str, list[float]] = {}
    for rows in runs:
        for row in rows:
            if row["method"] == method and row.get(column) is not None:
                by_text.setdefault(row["id"], []).append(row[column])
    return {text: float(np.mean(several)) for text, several in by_text.items()}


def estimate(by_text: dict[str, float]) -> Estimate:
    return bootstrap(np.array(list(by_text.values()))[:, None], mean)


def against(ours: dict[str, float], other: dict[str, float]) -> float:
    """Wilcoxon's rank-sum test, two-sided, on the texts that both have."""
    texts = [text for text in ours if text in other]
    return float(ranksums([ours[t] for t in texts], [other[t] for t in texts]).pvalue)


def macro_f1(rows: np.ndarray) -> np.ndarray:
    """int[..., texts, 1 + seeds], gold label first → float[...]: macro-F1 over the gold labels, mean over seeds."""
    gold, scores = rows[..., 0], []
    for seed in range(1, rows.shape[-1]):
        predicted = rows[..., seed]
        by_label = []
        for label in np.unique(gold):
            hits = ((gold == label) & (predicted == label)).sum(-1)
            by_label.append(2 * hits / np.maximum(1, (gold == label).sum(-1) + (predicted == label).sum(-1)))
        scores.append(np.mean(by_label, axis=0))
    return np.mean(scores, axis=0)


def f1_columns(runs: Sequence[dict[str, Any]]) -> dict[str, float | None]:
    """Macro-F1, mean over seeds, with an interval that resamples texts and the deviation between seeds."""
    score = bootstrap(np.array([runs[0]["labels"], *(run["predicted"] for run in runs)]).T, macro_f1)
    deviation = float(np.std([run["macro_f1"] for run in runs], ddof=1)) if len(runs) > 1 else None
    return {"ours": score.value, "low": score.low, "high": score.high, "sd": deviation}


def t_test(a: Sequence[float], b: Sequence[float]) -> float | None:
    """Of two sets of runs; None where there are too few, or where none differs from another."""
    if min(len(a), len(b)) < 2 or np.std([*a, *b]) == 0:
        return None
    return float(ttest_ind(a, b).pvalue)


def _kept(found: Found, corpus: str, kind: Kind) -> list[float]:
    return [row["macro_f1"] for row in found.trained[corpus, kind]]


def table_1(found: Found) -> Table:
    rows = []
    for (corpus, kind), runs in sorted(found.trained.items(), key=lambda item: found.settings.corpora.index(item[0][0])):
        weight = None if kind == "none" else found.weight[corpus]
        if kind == "released":
            weight = paper.WEIGHT.get(corpus, weight)
        elif kind.startswith("λ"):
            weight = float(kind.split()[-1])
        rows.append({
            "corpus": CORPORA[corpus], "model": title(kind), "weight λ": weight, **f1_columns(runs),
            "paper": paper.F1.get(kind, {}).get(corpus),
            "p": None if kind == "none" else t_test(_kept(found, corpus, kind), _kept(found, corpus, "none")),
            "accuracy": float(np.mean([run["accuracy"] for run in runs])),
            "KL": float(np.mean([run["divergence"] for run in runs])),
        })  # fmt: skip
    settings = found.settings
    sizes = "; ".join(f"{CORPORA[c]} {found.trained[c, 'none'][0]['train']:,}" for c in settings.corpora)
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
        here = values(found.flips[corpus, kind], method)
        if not here:
            continue
        score, base = estimate(here), values(same_seeds(found, corpus, "none", kind), method)
        rows.append({
            "corpus": CORPORA[corpus], "model": title(kind), "attribution": METHODS[method].title,
            "baseline": float(np.mean([base[text] for text in here if text in base])), "ours": score.value,
            "low": score.low, "high": score.high, "paper": paper.FLIP.get(kind, {}).get(method, {}).get(corpus),
            "p": None if kind == "none" else against(here, base), "texts": len(here),
        })  # fmt: skip
    return rows


FLIP_COLUMNS = ["corpus", "attribution", "model", "ours", "paper", "p", "texts"]
BESIDE_BASELINE = ["corpus", "model", "attribution", "baseline", "ours", "paper", "p", "texts"]
"""Where some models are tried on fewer texts and seeds: the baseline's number is on the same ones."""


def _flip_caption(found: Found) -> str:
    return (
        f"Share of words hidden ({found.settings.hide}), most important first, until the label changes; lower is better, 1 if "
        f"it never does. Mean over texts and {_seeds(found)} with bootstrap interval; p: Wilcoxon rank-sum against the "
        "baseline's same attribution, on the mean over seeds of each text. Words of the document are hidden, never a query."
    )


def decided(found: Found) -> list[str]:
    """Corpora whose baselines tell texts apart. A decision that is the same for every text cannot be flipped."""
    return [c for c in found.settings.corpora if all(len(set(run["predicted"])) > 1 for run in found.trained[c, "none"])]


def same_label(found: Found) -> str:
    """The names of all other corpora."""
    return ", ".join(CORPORA[c] for c in found.settings.corpora if c not in decided(found))


def table_2(found: Found) -> Table:
    rows = []
    for corpus in found.settings.corpora:
        both = zip(flip_rows(found, corpus, "none"), flip_rows(found, corpus, "textrank"), strict=True)
        rows += [row for pair in both for row in pair]
    same = same_label(found)
    caption = _flip_caption(found) + (f" Nothing can flip where every test text gets the same label: {same}." if same else "")
    return Table("table2", "Table 2: decision flip", caption, FLIP_COLUMNS, rows)


def table_8(found: Found) -> Table | None:
    """Other sources of salience."""
    kinds = [key for key in found.flips if key[1] in ("uniform", "chi2", "tfidf", "planted")]
    if not kinds:
        return None
    corpora = dict.fromkeys(corpus for corpus, _ in kinds)
    order = [(c, k) for c in corpora for k in ("textrank", "chi2", "tfidf", "uniform", "planted") if (c, k) in found.flips]
    rows = [row for corpus, kind in order for row in flip_rows(found, corpus, kind)]
    caption = f"{_flip_caption(found)} Baseline: same texts, same seeds; one seed for priors other than TextRank."
    return Table("table8", "Table 8: decision flip by source of salience", caption, BESIDE_BASELINE, rows)


def variants(found: Found) -> Table | None:
    """The paper's formula, the released code's, and stronger λ."""
    kinds = [key for key in found.flips if key[1] == "released" or key[1].startswith("λ")]
    if not kinds:
        return None
    rows = []
    for corpus in dict.fromkeys(corpus for corpus, _ in kinds):
        for kind in ("textrank", *(k for c, k in kinds if c == corpus)):
            rows += flip_rows(found, corpus, kind)
    caption = (
        "SaLoss by the paper's formula at the chosen λ, as the released code computes it (squared sum of re-softmaxed "
        f"attention, TextRank with window 8, cross-entropy on probabilities), and with more weight. {_flip_caption(found)} "
        "Baseline: same texts, same seeds; one seed but for TextRank at the chosen λ."
    )
    return Table("variants", "The formula, the released code, and stronger guidance", caption, BESIDE_BASELINE, rows)


def selection(found: Found) -> Table | None:
    rows = []
    for corpus, by_weight in found.selection.items():
        for weight, (flips, trained) in sorted(by_weight.items()):
            eligible = weight in found.settings.weights
            score = estimate(values([flips], "attention"))
            rows.append({
                "corpus": CORPORA[corpus], "weight λ": weight, "ours": score.value, "low": score.low, "high": score.high,
                "dev macro-F1": trained["dev_macro_f1"], "KL": trained["divergence"],
                "chosen": "yes" if weight == found.weight[corpus] else "no" if eligible else "not eligible",
            })  # fmt: skip
    if not rows:
        return None
    caption = f"Decision flip of α on {found.settings.select_on} dev texts, first seed; the lowest is chosen. KL(α‖σ) on dev."
    columns = ["corpus", "weight λ", "ours", "dev macro-F1", "KL", "chosen"]
    return Table("selection", "Choice of λ on dev", caption, columns, rows)


ORDERS = {
    "attention": "α of the baseline",
    "random": "random",
    **{prior: f"{name} itself" for prior, name in PRIORS.items()},
}


def what_the_prior_knows(found: Found) -> Table | None:
    rows = []
    for corpus, flips in found.ranked.items():
        for method in dict.fromkeys(row["method"] for row in flips):
            score = estimate(values([flips], method))
            p = None if method == "random" else against(values([flips], method), values([flips], "random"))
            rows.append({"corpus": CORPORA[corpus], "words hidden in the order of": ORDERS[method], "ours": score.value,
                         "low": score.low, "high": score.high, "p": p})  # fmt: skip
    if not rows:
        return None
    caption = (
        f"Decision flip of the baseline on {found.settings.select_on} dev texts, first seed: what α can gain from a prior that "
        "has not seen the model; χ² has seen the training labels, TextRank and tf-idf have not. p: Wilcoxon's rank-sum test "
        "against random."
    )
    columns = ["corpus", "words hidden in the order of", "ours", "p"]
    return Table("prior", "What the prior itself knows", caption, columns, rows)


def fresh_table(found: Found, how: str, name: str) -> Table | None:
    rows = []
    for corpus in found.settings.fresh:
        if (corpus, how, "none") not in found.fresh:
            continue
        full = f1_columns(found.trained[corpus, "none"])
        rows.append({"corpus": CORPORA[corpus], "words of": "the full text", **full, "paper": paper.F1["none"].get(corpus)})
        base = [run["macro_f1"] for run in found.fresh[corpus, how, "none"]]
        for (of, way, kind), runs in found.fresh.items():
            if (of, way) == (corpus, how):
                p = None if kind == "none" else t_test([run["macro_f1"] for run in runs], base)
                rows.append({"corpus": CORPORA[corpus], "words of": title(kind), **f1_columns(runs), "p": p,
                             "paper": paper.FRESH[how].get(kind, {}).get(corpus)})  # fmt: skip
    if not rows:
        return None
    ratios = ", ".join(f"{CORPORA[c]} {found.settings.ratio[c]:.0%}" for c in found.settings.fresh)
    caption = (
        f"Macro-F1 on test of classifiers that see {how} rationales only (α of the support model; share of words: {ratios}); "
        f"seeds of the classifier: {found.settings.fresh_seeds}, epochs: {found.settings.fresh_epochs}; the support model is "
        "the first seed's. The interval resamples test texts; with several seeds, their sd and a t-test against the baseline's."
    )
    columns = ["corpus", "words of", "ours", "paper", "sd", "p"]
    return Table(name, f"{name.replace('table', 'Table ')}: FRESH, {how}", caption, columns, rows)


def recovery(found: Found) -> Table | None:
    """Where the reason was planted: how well each attribution finds it."""
    rows = []
    for (corpus, kind), runs in found.flips.items():
        for method in ATTRIBUTIONS:
            first, area = values(runs, method, "first"), values(runs, method, "auprc")
            if first:
                score, other = estimate(area), estimate(first)
                base = values(same_seeds(found, corpus, "none", kind), method, "auprc")
                rows.append({"corpus": CORPORA[corpus], "model": title(kind), "attribution": METHODS[method].title,
                             "ours": score.value, "low": score.low, "high": score.high, "first": other.value,
                             "p": None if kind == "none" else against(area, base)})  # fmt: skip
    if not rows:
        return None
    caption = (
        "Area under the precision–recall curve of the scores against the planted words, with bootstrap interval, and the share "
        "of texts whose first word is a planted one; p: Wilcoxon rank-sum of the area against the baseline's same attribution."
    )
    columns = ["corpus", "model", "attribution", "ours", "first", "p"]
    return Table("recovery", "Planted words found", caption, columns, rows)


def _seeds(found: Found) -> str:
    by_count: dict[int, list[str]] = {}
    for corpus in found.settings.corpora:
        by_count.setdefault(found.settings.seeds[corpus], []).append(CORPORA[corpus])
    parts = []
    for n, names in by_count.items():
        where = f" ({', '.join(names)})" if len(by_count) > 1 else ""
        parts.append(f"{n} seed{'s' if n > 1 else ''}{where}")
    return " and ".join(parts)
