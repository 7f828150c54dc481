"""The tables of both papers, ours beside theirs."""

import math
from pathlib import Path
from typing import Any

import numpy as np

from whence.studies.attention import paper
from whence.studies.attention.found import FAR, GUIDES, Corner
from whence.studies.attention.models import ADVERSARIES, Kind, Role
from whence.studies.kit.estimates import NOTHING, f1_of, interval, score_difference
from whence.studies.study import Table

FIGURES = (("f1", "F1"), ("halved", "TVD, halved"), ("jsd", "JSD"))
OVER_SEEDS = "Mean over seeds with a 95 % interval (Student's t); with one seed there is none."


def size_of(corner: Corner) -> str:
    """What a caption says about a corpus."""
    parts = {"train": corner.plan.train, "test": corner.plan.test}
    cut = ", ".join(f"{split} {n:,}" for split, n in parts.items() if n)
    long = f", texts up to {corner.plan.longest} words" if corner.plan.longest else ""
    return f"{corner.title}: {cut or 'all examples'}{long}, {corner.plan.repeats} seed{'s' if corner.plan.repeats > 1 else ''}"


def table_1(corners: list[Corner]) -> Table:
    rows = []
    for corner in corners:
        train, test = corner.rows["sizes"]
        values = [train["length"], *train["counts"], *test["counts"]]
        rows += [{"corpus": corner.title, "figure": figure, "ours": float(value),
                  "paper": paper.TABLE_1.get(corner.title, {}).get(figure)}
                 for figure, value in zip(paper.SIZES, values, strict=True)]  # fmt: skip
    caption = (
        "What the models of this run were trained and tested on; the paper's texts have no punctuation and start at 6 words."
    )
    return Table("table1", "Table 1: the corpora", caption, ["corpus", "figure", "ours", "paper"], rows)


def table_2(corners: list[Corner]) -> Table:
    rows = []
    for corner in corners:
        kinds: dict[Kind, str] = {"base": "base", "uniform": "uniform attention"}
        for kind, title in kinds.items():
            values = corner.f1(kind)
            rows.append({"corpus": corner.title, "model": title, **interval(values), "seeds": len(values),
                         "paper": paper.TABLE_2.get(corner.title, {}).get(kind)})  # fmt: skip
    caption = f"F1 of the positive class on test. {OVER_SEEDS} " + "; ".join(map(size_of, corners)) + "."
    return Table(
        "table2", "Table 2: is attention needed?", caption, ["corpus", "model", "ours", "low", "high", "paper", "seeds"], rows
    )


def table_3(corners: list[Corner]) -> Table:
    rows = []
    for corner in (c for c in corners if c.plan.guides):
        for kind, guide in GUIDES.items():
            values = corner.f1(kind)
            rows.append({"corpus": corner.title, "guide": guide, **interval(values), "seeds": len(values),
                         "paper": paper.TABLE_3.get(corner.title, {}).get(kind)})  # fmt: skip
    caption = (
        "F1 (positive class, test) of a token-wise MLP whose attention is learned or imposed; guides and MLP share their seed; "
        f"adversary at λ = {corners[0].subject.settings.guide_lambda:g}. {OVER_SEEDS}"
    )
    columns = ["corpus", "guide", "ours", "low", "high", "paper", "seeds"]
    return Table("table3", "Table 3: does attention help a model without context?", caption, columns, rows)


def table_5(corners: list[Corner]) -> Table:
    rows = []
    for corner in corners:
        for one in corner.sweep():
            published = paper.TABLE_5.get(corner.title, {}).get(one["lambda"], {})
            for name, title in FIGURES:
                rows.append({"corpus": corner.title, "λ": one["lambda"], "figure": title, **interval(one[name]),
                             "paper": published.get(name), "seeds": len(one[name])})  # fmt: skip
    caption = (
        f"Adversaries against the base model of their seed, means over test texts. {OVER_SEEDS} JSD is at most ln 2 = 0.693. "
        "TVD is halved, ½|Δp|, as the released code computes it and so, probably, the paper's numbers are."
    )
    columns = ["corpus", "λ", "figure", "ours", "low", "high", "paper", "seeds"]
    return Table("table5", "Table 5: adversaries over λ", caption, columns, rows)


def table_4(corners: list[Corner]) -> Table:
    rows = []
    for corner in corners:
        far = [one for one in corner.sweep() if min(one["jsd"]) > FAR]
        best = max(far, key=lambda one: np.mean(one["f1"])) if far else None
        published = [(strength, row) for strength, row in paper.TABLE_5.get(corner.title, {}).items() if row["jsd"] > FAR]
        theirs = max(published, key=lambda item: item[1]["f1"]) if published else None
        for name, title in FIGURES:
            if best:
                at, row = theirs or (None, {})
                rows.append({"corpus": corner.title, "λ": best["lambda"], "figure": title, **interval(best[name]),
                             "paper": row.get(name), "paper's λ": at})  # fmt: skip
    which = f"The λ with the best F1 among those whose adversaries all have a mean JSD > {FAR}"
    caption = f"{which}; TVD halved as in Table 5. {OVER_SEEDS}"
    columns = ["corpus", "λ", "figure", "ours", "low", "high", "paper", "paper's λ"]
    return Table("table4", "Table 4: the best far adversary", caption, columns, rows)


def other_adversaries(corners: list[Corner]) -> Table:
    rows = []
    for corner in (c for c in corners if c.others()):
        others = [(kind, corner.subject.strength(kind)) for kind in corner.others()]
        at = sorted({strength for _, strength in others} & set(corner.plan.lambdas))
        plain: list[tuple[Kind, float]] = [("adversary", strength) for strength in at]
        for kind, strength in plain + others:
            one = corner.adversary(kind, strength)
            rows += [{"corpus": corner.title, "λ": strength, "trained on": ADVERSARIES[kind], "figure": title,
                      **interval(one[name]), "seeds": len(one[name])} for name, title in FIGURES]  # fmt: skip
    copies = ", ".join(f"{corner.plan.cuts} for each of {corner.title}" for corner in corners if corner.plan.cuts)
    caption = (
        "The paper's adversary, its epoch chosen by the loss on dev or, as its code does, in training; and one that "
        f"imitates the base model on cut texts, too ({copies or 'not run'}), so that its predictions differ less on texts that "
        f"it has not seen. {OVER_SEEDS}"
    )
    columns = ["corpus", "λ", "trained on", "figure", "ours", "low", "high", "seeds"]
    return Table("adversaries", "Other ways to train an adversary", caption, columns, rows)


def leaks(corners: list[Corner]) -> Table:
    rows = []
    for corner in corners:
        uniform = corner.runs("mlp-uniform", seeds=corner.plan.leaks)
        for kind, guide in corner.control().items():
            runs = corner.runs(kind, seeds=corner.plan.leaks)
            gain = score_difference(runs, uniform, f1_of(1))
            rows.append({"corpus": corner.title, "guide": guide, **interval([run["f1"] for run in runs]), "seeds": len(runs),
                         "above uniform": gain.value, "from": gain.low, "to": gain.high})  # fmt: skip
    caption = (
        "F1 of the MLP of Table 3 with each guide as it is, and with its weights shuffled among the words of each text (by the "
        "text's id), which leaves nothing of the words but how peaked the weights are. What stays above uniform weights leaks "
        "past the words. Above uniform: paired difference, resampling texts and seeds."
    )
    columns = ["corpus", "guide", "ours", "low", "high", "above uniform", "from", "to", "seeds"]
    return Table("leaks", "Control: do guides tell the label by other ways than words?", caption, columns, rows)


def correlations(corners: list[Corner]) -> Table:
    rows = []
    names = {"attention_gradient": "attention – gradient", "attention_leave_one_out": "attention – leave-one-out",
             "gradient_leave_one_out": "gradient – leave-one-out"}  # fmt: skip
    for corner in corners:
        found = corner.rows["correlation"]
        classes = sorted({row["predicted"] for row in found})
        for name, title in names.items():
            for class_ in ("all", *classes):
                chosen = [row for row in found if class_ in ("all", row["predicted"])]
                taus = np.array([row[f"{name}_tau"] for row in chosen], dtype=float)
                known = ~np.isnan(taus)
                sure = float(np.mean([row[f"{name}_p"] <= 0.05 for row in chosen if not math.isnan(row[f"{name}_tau"])] or [0]))
                theirs = paper.CORRELATION.get(corner.title, {}).get(name) if class_ == "all" else None
                rows.append({"corpus": corner.title, "couple": title, "predicted": class_, **interval(taus[known].tolist()),
                             "sd": float(taus[known].std()) if known.any() else None, "p ≤ .05": sure,
                             "paper": theirs[0] if theirs else None, "paper's p ≤ .05": theirs[1] if theirs else None,
                             "texts": int(known.sum()), "not defined": int((~known).sum())})  # fmt: skip
    caption = (
        "Kendall's τ_b of the base model (seed 0) over the words of each test text, mean over texts with 95 % interval; "
        "share of texts with p ≤ .05; texts where a vector is constant are counted apart. The paper's numbers: Jain & "
        "Wallace's stored outputs."
    )
    columns = ["corpus", "couple", "predicted", "ours", "low", "high", "sd", "p ≤ .05", "paper", "paper's p ≤ .05", "texts",
               "not defined"]  # fmt: skip
    return Table("correlation", "Jain & Wallace: does attention rank words as gradients do?", caption, columns, rows)


def permutations(corners: list[Corner]) -> Table:
    rows = []
    for corner in corners:
        [row] = corner.rows["search"]
        for figure, values in (("median change under permutation", row["permuted"]), ("ε-max JSD of the search", row["jsd"])):
            rows.append({"corpus": corner.title, "figure": figure, **interval(values), "texts": len(values)})
    caption = (
        "Per-instance tests on the base model (seed 0), mean over test texts, 95 % interval: how far the prediction "
        "moves (TVD) when attention is shuffled; how far attention can be moved (JSD) while it moves by at most 0.05."
    )
    return Table("search", "Jain & Wallace: permutations and per-instance adversaries", caption,
                 ["corpus", "figure", "ours", "low", "high", "texts"], rows)  # fmt: skip


def planted(corners: list[Corner]) -> Table:
    rows = [
        {"corpus": corner.title, "model": row["role"], **interval(row["mass"]), "texts": len(row["mass"])}
        for corner in corners for row in corner.rows.get("planted", [])
    ]  # fmt: skip
    caption = (
        "Share of attention on the words that are the reason, known because they were planted; mean over test texts with a "
        "95 % interval. base-0 … are seeds, adversary-λ-0 is trained, search is Jain & Wallace's per-instance adversary."
    )
    return Table(
        "planted", "What attention gives to the true reason", caption, ["corpus", "model", "ours", "low", "high", "texts"], rows
    )


def transformers(corners: list[Corner]) -> Table:
    rows: list[dict[str, Any]] = []
    for corner in corners:
        other, imposed = corner.rows["seeds"]
        roles: list[tuple[str, Role, dict[str, Any] | None]] = [("base", Role("base", 0), None)]
        roles += [("another seed", Role("base", 1), other), ("uniform attention", Role("uniform", 0), imposed)]
        roles += [(f"adversary, λ = {r.strength:g}", r, corner.rows["against", r][0]) for r in corner.adversaries()]
        for title, role, far in roles:
            row = {"corpus": corner.title, "model": title, "F1": corner.rows["trained", role][0]["f1"]}
            for name in ("tvd", "jsd"):
                found = interval(far[name]) if far else NOTHING
                row |= {name.upper(): found["ours"], f"{name.upper()} low": found["low"], f"{name.upper()} high": found["high"]}
            rows.append(row)
    sizes = "; ".join(f"{Path(c.subject.model).name} on {c.title}, train {c.plan.encoder_train or 'all'}" for c in corners)
    caption = (
        f"The tests that make sense for a transformer ({sizes}): attention is the head-averaged [CLS] row of the last layer "
        "over the text's own tokens; differences from the base model, means over test texts with 95 % intervals."
    )
    columns = ["corpus", "model", "F1", "TVD", "TVD low", "TVD high", "JSD", "JSD low", "JSD high"]
    return Table("transformer", "The same tests on a transformer", caption, columns, rows)
