"""The paper's claims, held against our numbers."""

from itertools import combinations

import numpy as np

from whence.explain import METHODS
from whence.studies.kit.corpora import TITLES as CORPORA
from whence.studies.kit.estimates import by_text, common, paired, rank_sum, score_difference, seed_difference, signed
from whence.studies.kit.verdicts import above, at_least, below, every, plainly
from whence.studies.saloss import paper
from whence.studies.saloss.found import Found
from whence.studies.saloss.models import BASE, PRIORS, TEXTRANK, Kind
from whence.studies.saloss.tables import same_seeds
from whence.studies.study import Claim, Earlier

CLOSE = 0.01
"""Macro-F1 within this of the baseline is "similar"."""


def claims(found: Found) -> list[Claim]:
    made = [_same_f1(found), _fewer_words(found), _attention_best(found)]
    if any(kind.prior in ("chi2", "tfidf") for _, kind in found.flips):
        made.append(_textrank_best(found))
    made += [_fresh(found, corpus) for corpus in found.settings.fresh if (corpus, "topk", "textrank") in found.fresh]
    made += [_uniform(found, corpus) for corpus in found.settings.fresh if (corpus, "topk", "uniform") in found.fresh]
    made += [_beyond_seeds(found, corpus) for corpus in found.settings.curves if len(found.curves[corpus, BASE]) > 1]
    made += [_tags(found)] if "sst" in found.tags else []
    made += [_recovered(found, corpus) for corpus, kind in found.flips if kind == Kind("planted")]
    return made


def _same_f1(found: Found) -> Claim:
    gaps = {c: score_difference(found.trained[c, TEXTRANK], found.trained[c, BASE]) for c in found.decided()}
    evidence = "; ".join(f"{CORPORA[c]} {signed(gap)}" for c, gap in gaps.items())
    return Claim(
        f"SaLoss models predict as well as the baseline (macro-F1 loses less than {CLOSE}).",
        every(above(gap, -CLOSE) for gap in gaps.values()),
        f"SaLoss − baseline: {evidence or 'none to compare'}.{_left_out(found)}",
        [Earlier(f"means within {CLOSE}", plainly(bool(gaps) and all(gap.value >= -CLOSE for gap in gaps.values())))],
    )


def _left_out(found: Found) -> str:
    same = found.same_label()
    return f" Left out, since the baseline gives every test text the same label: {same}." if same else ""


def _fewer_words(found: Found) -> Claim:
    lower, significant, verdicts, parts = 0, 0, [], []
    for corpus in found.decided():
        for method in paper.ATTRIBUTIONS:
            ours, base = (by_text(found.flips[corpus, kind], "flip", method=method) for kind in (TEXTRANK, BASE))
            gap, p = paired(ours, base), rank_sum(ours, base)
            verdicts.append(below(gap))
            lower, significant = lower + (gap.value < 0), significant + (gap.value < 0 and p < 0.05)
            if method == "attention":
                before, after = (float(np.mean([*by.values()])) for by in (base, ours))
                parts.append(f"{CORPORA[corpus]} {before:.3f} → {after:.3f}, {signed(gap)} (rank-sum p = {p:.2g})")
    cells = len(verdicts)
    return Claim(
        "With SaLoss fewer words must be hidden to flip a decision (paper: significantly fewer in 19 of 20 cells).",
        at_least(verdicts, cells // 2 + 1),
        f"Lower in {lower} of {cells} cells, the paired interval below 0 in {verdicts.count('holds')}. α: {'; '.join(parts)}."
        + _left_out(found),
        [Earlier("rank-sum p < .05 in more than half of the cells", plainly(significant > cells / 2))],
    )


def _attention_best(found: Found) -> Claim:
    verdicts, best = [], {}
    for corpus in found.decided():
        flips = {m: by_text(found.flips[corpus, TEXTRANK], "flip", method=m) for m in paper.ATTRIBUTIONS}
        best[corpus] = min(flips, key=lambda m: np.mean([*flips[m].values()]))
        verdicts.append(every(below(paired(flips["attention"], flips[m])) for m in flips if m != "attention"))
    parts = "; ".join(f"{CORPORA[c]}: {METHODS[m].title}" for c, m in best.items())
    wins = sum(m == "attention" for m in best.values())
    return Claim(
        "Under SaLoss, attention α is the best attribution on most corpora.", at_least(verdicts, len(verdicts) // 2 + 1),
        f"Fewest words to a flip: {parts}.{_left_out(found)}",
        [Earlier("the lowest mean", plainly(wins > len(best) / 2))],
    )  # fmt: skip


def _textrank_best(found: Found) -> Claim:
    verdicts, wins = [], 0
    for corpus, kind in found.flips:
        if kind.prior in ("chi2", "tfidf"):
            for method in paper.ATTRIBUTIONS:
                other = by_text(found.flips[corpus, kind], "flip", method=method)
                gap = paired(by_text(same_seeds(found, corpus, TEXTRANK, kind), "flip", method=method), other)
                verdicts.append(below(gap))
                wins += gap.value < 0
    cells = len(verdicts)
    return Claim(
        "TextRank is a better source of salience than tf-idf or χ².", at_least(verdicts, cells // 2 + 1),
        f"TextRank needs fewer words on the same texts in {wins} of {cells} comparisons, the paired interval below 0 in "
        f"{verdicts.count('holds')}.",
        [Earlier("the lower mean in most comparisons", plainly(wins > cells / 2))],
    )  # fmt: skip


def _fresh_f1(found: Found, corpus: str, prior: str) -> float:
    return float(np.mean([run["macro_f1"] for run in found.fresh[corpus, "topk", prior]]))


def _fresh(found: Found, corpus: str) -> Claim:
    ours, base, random = (_fresh_f1(found, corpus, prior) for prior in ("textrank", "none", "random"))
    gain = score_difference(found.fresh[corpus, "topk", "textrank"], found.fresh[corpus, "topk", "none"])
    return Claim(
        f"Classifiers on SaLoss' rationales are significantly better than on the baseline's ({CORPORA[corpus]}; in the paper "
        "on 2 of 5 corpora, SST and SemEval).",
        above(gain),
        f"Macro-F1 with top-k by α: SaLoss {ours:.3f}, baseline {base:.3f}, random words {random:.3f}; gain {signed(gain)}.",
        [Earlier(f"the mean is at least the baseline's − {CLOSE}", plainly(ours >= base - CLOSE))],
    )


def _uniform(found: Found, corpus: str) -> Claim:
    ours, other = (_fresh_f1(found, corpus, prior) for prior in ("textrank", "uniform"))
    gain = score_difference(found.fresh[corpus, "topk", "textrank"], found.fresh[corpus, "topk", "uniform"])
    return Claim(
        f"A uniform prior gives worse rationales than TextRank ({CORPORA[corpus]}).", above(gain),
        f"Macro-F1 with top-k by α: TextRank {ours:.3f}, uniform {other:.3f}; gain {signed(gain)}.",
        [Earlier("the lower mean", plainly(other < ours))],
    )  # fmt: skip


def _beyond_seeds(found: Found, corpus: str) -> Claim:
    """The paper's question, asked of every prior: is the fall more than what another seed does? Ours, not the paper's rule."""
    base = [by_text([rows], "flip", method="attention") for rows in found.curves[corpus, BASE]]
    null = max(abs(paired(one, other).value) for one, other in combinations(base, 2))
    gaps = {
        kind: seed_difference(runs, found.curves[corpus, BASE], "flip", method="attention")
        for (of, kind), runs in found.curves.items() if of == corpus and kind != BASE
    }  # fmt: skip
    best = min(gaps, key=lambda kind: gaps[kind].value)
    verdicts = [below(gap, -null) for gap in gaps.values()]
    cost = score_difference(found.curve_trained[corpus, best], found.curve_trained[corpus, BASE])
    return Claim(
        f"{CORPORA[corpus]}: some prior at some λ lowers decision flip of α by more than two baselines differ (our test).",
        at_least(verdicts, 1),
        f"So for {verdicts.count('holds')} of {len(gaps)}. The largest fall: {PRIORS[best.prior]} at λ = {best.weight:g}, "
        f"{signed(gaps[best])}, macro-F1 {signed(cost)}; baselines of other seeds differ by up to {null:.3f}.",
    )


def _tags(found: Found) -> Claim:
    """Intervals of the two models by themselves: where they do not overlap, the difference is sure."""
    by = {(row["model"], row["tag"]): row for row in found.tags["sst"]}
    pairs = {t: (by["SaLoss", t], by["baseline", t]) for t in ("ADJ", "ADV") if ("SaLoss", t) in by and ("baseline", t) in by}
    gaps = {tag: ours["ours"] - base["ours"] for tag, (ours, base) in pairs.items()}
    apart = [
        "holds" if ours["low"] > base["high"] else "does not hold" if ours["high"] < base["low"] else "undecided"
        for ours, base in pairs.values()
    ]
    return Claim(
        "On SST, SaLoss gives adjectives and adverbs more importance.", every(apart),  # type: ignore[arg-type]
        f"SaLoss − baseline, 1 being the mean of a text: {', '.join(f'{tag} {gap:+.3f}' for tag, gap in gaps.items())}.",
        [Earlier("the higher mean", plainly(len(gaps) == 2 and all(gap > 0 for gap in gaps.values())))],
    )  # fmt: skip


def _recovered(found: Found, corpus: str) -> Claim:
    """Not the paper's: what its idea promises where the truth is known. Means little if the guided model cannot predict."""
    runs = {kind: found.flips[corpus, kind] for kind in (Kind("planted"), BASE)}
    with_it, without = (by_text(several, "average_precision", method="attention") for several in runs.values())
    gain, (ours, base) = paired(with_it, without), common(with_it, without)
    scores = [float(np.mean([row["macro_f1"] for row in found.trained[corpus, kind]])) for kind in runs]
    return Claim(
        "With the true reason as prior, α finds the planted words better than without (our test, not the paper's).",
        above(gain),
        f"Average precision: with {ours.mean():.3f}, without {base.mean():.3f}, {signed(gain)}; "
        f"macro-F1 of the models: {scores[0]:.3f} and {scores[1]:.3f}.",
        [Earlier("the mean is at least as high", plainly(ours.mean() >= base.mean()))],
    )
