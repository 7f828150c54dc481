"""The paper's figures and claims, held against our numbers."""

import numpy as np

from whence.explain import METHODS
from whence.studies.saloss import paper
from whence.studies.saloss.tables import CORPORA, against, decided, estimate, same_label, same_seeds, values
from whence.studies.saloss.work import Found
from whence.studies.study import Claim, Figure

CLOSE = 0.01
"""Macro-F1 within this of the baseline is "similar"."""


def figures(found: Found) -> list[Figure]:
    drawn = [_tag_figure(found, corpus) for corpus in found.tags]
    for corpus, rows in found.shown.items():
        texts = dict.fromkeys(row["id"] for row in rows)
        drawn += [_text_figure(found, corpus, text, i) for i, text in enumerate(texts)]
    return drawn


def _tag_figure(found: Found, corpus: str) -> Figure:
    rows = found.tags[corpus]
    tags = list(dict.fromkeys(row["tag"] for row in rows))
    series = [
        {"title": model, **{ours: [row[column] for row in rows if row["model"] == model]
                            for ours, column in (("values", "ours"), ("low", "low"), ("high", "high"))}}
        for model in dict.fromkeys(row["model"] for row in rows)
    ]  # fmt: skip
    counts = {row["tag"]: row["words"] for row in rows}
    caption = (
        f"Mean importance of a word by α∇α, 1 = the mean of its text, on {found.settings.tagged[corpus]} test texts of "
        f"{CORPORA[corpus]}; number of words behind each tag. Intervals resample texts; first seed of each model."
    )
    data = {"groups": [f"{tag} ({counts[tag]})" for tag in tags], "series": series, "y_label": "importance"}
    return Figure(f"figure1-{corpus}", f"Figure 1: importance by part of speech, {CORPORA[corpus]}", caption, "bars", data)


def _text_figure(found: Found, corpus: str, text: str, number: int) -> Figure:
    rows = [row for row in found.shown[corpus] if row["id"] == text]
    label = rows[0]["label"]
    shown = [{"title": row["model"], "words": row["words"], "weights": row["chosen"]} for row in rows]
    differ = any(row["chosen"] != rows[0]["chosen"] for row in rows)
    caption = (
        f"{CORPORA[corpus]}, {text}, {label}: the contiguous rationale of {found.settings.ratio[corpus]:.0%} by α∇α; all "
        f"models are right{'' if differ else ' and choose the same words'}. Texts on which they choose other words come first."
    )
    name = f"table4-{corpus}-{number + 1}"
    return Figure(name, f"Table 4: rationales, {CORPORA[corpus]}", caption, "heatmaps", {"rows": shown, "gold": None})


def claims(found: Found) -> list[Claim]:
    made = [_same_f1(found), _fewer_words(found), _attention_best(found)]
    if any((c, "chi2") in found.flips or (c, "tfidf") in found.flips for c in found.settings.corpora):
        made.append(_textrank_best(found))
    made += [_fresh(found, corpus) for corpus in found.settings.fresh if (corpus, "topk", "textrank") in found.fresh]
    made += [_uniform(found, corpus) for corpus in found.settings.fresh if (corpus, "topk", "uniform") in found.fresh]
    made += [_tags(found)] if "sst" in found.tags else []
    made += [_recovered(found, corpus) for corpus, kind in found.flips if kind == "planted"]
    return made


def _same_f1(found: Found) -> Claim:
    def score(corpus: str, kind: str) -> float:
        return float(np.mean([row["macro_f1"] for row in found.trained[corpus, kind]]))

    gaps = {c: score(c, "textrank") - score(c, "none") for c in decided(found)}
    evidence = "; ".join(f"{CORPORA[c]} {gap:+.3f}" for c, gap in gaps.items())
    return Claim(f"SaLoss models predict as well as the baseline (macro-F1 within {CLOSE}).",
                 bool(gaps) and all(gap >= -CLOSE for gap in gaps.values()),
                 f"SaLoss − baseline: {evidence or 'none to compare'}.{_left_out(found)}")  # fmt: skip


def _left_out(found: Found) -> str:
    same = same_label(found)
    return f" Left out, since the baseline gives every test text the same label: {same}." if same else ""


def _fewer_words(found: Found) -> Claim:
    lower, significant, cells, parts = 0, 0, 0, []
    for corpus in decided(found):
        for method in paper.ATTRIBUTIONS:
            ours, base = (values(found.flips[corpus, kind], method) for kind in ("textrank", "none"))
            gap, p = estimate(ours).value - estimate(base).value, against(ours, base)
            cells, lower, significant = cells + 1, lower + (gap < 0), significant + (gap < 0 and p < 0.05)
            if method == "attention":
                parts.append(f"{CORPORA[corpus]} {estimate(base).value:.3f} → {estimate(ours).value:.3f} (p = {p:.2g})")
    return Claim(
        "With SaLoss fewer words must be hidden to flip a decision (paper: significantly fewer in 19 of 20 cells).",
        significant > cells / 2,
        f"Lower in {lower} of {cells} cells, significantly (rank-sum p < .05) in {significant}. α: {'; '.join(parts)}."
        + _left_out(found),
    )


def _attention_best(found: Found) -> Claim:
    best = {}
    for corpus in decided(found):
        scores = {m: estimate(values(found.flips[corpus, "textrank"], m)).value for m in paper.ATTRIBUTIONS}
        best[corpus] = min(scores, key=lambda m: scores[m])
    parts = "; ".join(f"{CORPORA[c]}: {METHODS[m].title}" for c, m in best.items())
    wins = sum(m == "attention" for m in best.values())
    return Claim("Under SaLoss, attention α is the best attribution on most corpora.", wins > len(best) / 2,
                 f"Fewest words to a flip: {parts}.{_left_out(found)}")  # fmt: skip


def _textrank_best(found: Found) -> Claim:
    wins, cells = 0, 0
    for corpus, kind in found.flips:
        if kind in ("chi2", "tfidf"):
            for method in paper.ATTRIBUTIONS:
                other = values(found.flips[corpus, kind], method)
                ours = values(same_seeds(found, corpus, "textrank", kind), method)
                common = [text for text in other if text in ours]
                cells += 1
                wins += np.mean([ours[t] for t in common]) < np.mean([other[t] for t in common])
    return Claim("TextRank is a better source of salience than tf-idf or χ².", wins > cells / 2,
                 f"TextRank needs fewer words on the same texts in {wins} of {cells} comparisons.")  # fmt: skip


def _fresh_f1(found: Found, corpus: str, kind: str) -> float:
    return float(np.mean([run["macro_f1"] for run in found.fresh[corpus, "topk", kind]]))


def _fresh(found: Found, corpus: str) -> Claim:
    ours, base, random = (_fresh_f1(found, corpus, kind) for kind in ("textrank", "none", "random"))
    return Claim(
        f"Classifiers on SaLoss' rationales are at least as good as on the baseline's ({CORPORA[corpus]}).",
        ours >= base - CLOSE,
        f"Macro-F1 with top-k by α: SaLoss {ours:.3f}, baseline {base:.3f}, random words {random:.3f}.",
    )  # fmt: skip


def _uniform(found: Found, corpus: str) -> Claim:
    ours, other = (_fresh_f1(found, corpus, kind) for kind in ("textrank", "uniform"))
    return Claim(f"A uniform prior gives worse rationales than TextRank ({CORPORA[corpus]}).", other < ours,
                 f"Macro-F1 with top-k by α: TextRank {ours:.3f}, uniform {other:.3f}.")  # fmt: skip


def _tags(found: Found) -> Claim:
    by = {(row["model"], row["tag"]): row["ours"] for row in found.tags["sst"]}
    gaps = {tag: by.get(("SaLoss", tag), np.nan) - by.get(("baseline", tag), np.nan) for tag in ("ADJ", "ADV")}
    shown = ", ".join(f"{tag} {gap:+.3f}" for tag, gap in gaps.items())
    return Claim("On SST, SaLoss gives adjectives and adverbs more importance.", all(gap > 0 for gap in gaps.values()),
                 f"SaLoss − baseline, 1 being the mean of a text: {shown}.")  # fmt: skip


def _recovered(found: Found, corpus: str) -> Claim:
    """Not the paper's: what its idea promises where the truth is known. Means little if the guided model cannot predict."""

    def score(kind: str) -> float:
        return float(np.mean([row["macro_f1"] for row in found.trained[corpus, kind]]))

    with_it, without = (estimate(values(found.flips[corpus, kind], "attention", "auprc")) for kind in ("planted", "none"))
    p = against(*(values(found.flips[corpus, kind], "attention", "auprc") for kind in ("planted", "none")))
    return Claim(
        "With the true reason as prior, α finds the planted words at least as well as without (our test, not the paper's).",
        with_it.value >= without.value,
        f"Area under precision–recall: with {with_it.value:.3f}, without {without.value:.3f}, p = {p:.2g} (Wilcoxon rank-sum); "
        f"macro-F1 of the models: {score('planted'):.3f} and {score('none'):.3f}.",
    )
