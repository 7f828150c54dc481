"""The paper's claims, and ours, held against the numbers. Every rule was written before a run.

A difference between two models is paired: the same test examples, and the same seeds where there are several; its interval
resamples both (of BLEU, examples alone). Repetition is no mean, so its verdict is that of a permutation test at 5 %.
"""

import numpy as np

from whence.measure.statistics import Estimate, bootstrap
from whence.measure.text.repetition import repetition_difference
from whence.studies.kit.corpora import TITLES
from whence.studies.kit.differences import seed_difference
from whence.studies.kit.estimates import estimate, signed
from whence.studies.kit.verdicts import FAILS, HOLDS, UNDECIDED, above, below, every
from whence.studies.mpii.found import Found
from whence.studies.mpii.models import CAGE, title
from whence.studies.mpii.pieces import NOT_RUN, TOKENS
from whence.studies.mpii.tables import MEASURES, MOVED_AT, exchange_values, moved, values
from whence.studies.study import Claim, Earlier, Verdict

PLANTED = ("scenes", "choices")
LABELS, EXACT, TOLD_APART = 0.95, 0.80, 0.95
"""What a stepwise model and the critic reach where everything that is needed was planted."""
STILL = 0.01
"""Movement (total variation, summed over a text) below which a label stands still: what moves less is rounding."""
REGULARISED = ("critic", "backward", "critic_hard")
BEST = ("bart_critic", "bart_sim", "critic", "sim")
"""The paper's own model, by how much of it there is."""


def claims(found: Found) -> list[Claim]:
    made = []
    for corpus in found.settings.corpora:
        if found.has(corpus, "sim", "baseline"):
            made += [_accuracy(found, corpus, "sim", "baseline", "SIM predicts better than a model without fusion"),
                     _bleu(found, corpus, "sim", "baseline", "SIM explains better than a model without fusion")]  # fmt: skip
        for row in (row for row in REGULARISED if found.has(corpus, "sim", row)):
            made += [_accuracy(found, corpus, row, "sim", f"{title(row)} predicts better than SIM alone"),
                     _repetition(found, corpus, row)]  # fmt: skip
            made += [_critic_score(found, corpus, row, "sim")] if corpus in found.critics else []
        if found.has(corpus, CAGE) and (best := next((row for row in BEST if found.has(corpus, row)), None)):
            made += [_accuracy(found, corpus, best, CAGE, f"{title(best)} predicts better than CAGE"),
                     _bleu(found, corpus, best, CAGE, f"{title(best)} explains better than CAGE")]  # fmt: skip
        if found.has(corpus, "sim", "no_interpretation"):
            made.append(_accuracy(found, corpus, "sim", "no_interpretation", "Without interpretation, SIM predicts worse"))
        if found.has(corpus, "sim", "no_inference"):
            made.append(_bleu(found, corpus, "sim", "no_inference", "Without inference, SIM explains worse"))
        made += [_outside(found, corpus)] if any(key[0] == corpus for key in found.outside) else []
        made += (
            [_critic_score(found, corpus, "sim", "baseline")]
            if corpus in found.critics and found.has(corpus, "sim", "baseline")
            else []
        )
        made += _own(found, corpus)
    return made


def _own(found: Found, corpus: str) -> list[Claim]:
    """Not the paper's."""
    made = []
    if found.has(corpus, "sim"):
        if corpus in PLANTED:
            made += [_reached(found, corpus, "right", LABELS, "labels are right"),
                     _reached(found, corpus, "exact", EXACT, "explanations are exactly the planted ones")]  # fmt: skip
        made += [one for one in (_moves(found, corpus, at) for at in MOVED_AT) if one is not None]
    if corpus in PLANTED and corpus in found.critics:
        made.append(_told_apart(found, corpus))
    tested = [found.associated[corpus, row]["bond"] for row in ("sim", "baseline") if (corpus, row) in found.associated]
    if len(tested) == 2 and NOT_RUN not in tested:
        made.append(_associated(found, corpus))
    if (corpus, "sim") in found.exchanged:
        made += [_label_needs(found, corpus), _explanation_needs(found, corpus)]
    return made


def _shown(found: Found, corpus: str, row: str, measure: str) -> str:
    _, _, aggregate, unit = MEASURES[measure]
    several = [float(aggregate(values(rows, measure))) * unit for rows in found.written[corpus, row]]
    return f"{title(row)} {np.mean(several):.2f}"


def _accuracy(found: Found, corpus: str, better: str, worse: str, text: str) -> Claim:
    gap = seed_difference(found.written[corpus, better], found.written[corpus, worse], "right")
    both = ", ".join(_shown(found, corpus, row, "accuracy") for row in (better, worse))
    points = Estimate(100 * gap.value, 100 * gap.low, 100 * gap.high)
    return Claim(f"{text} ({TITLES[corpus]}).", above(gap), f"Accuracy in %: {both}; difference {signed(points, 1)}.")


def _bleu(found: Found, corpus: str, better: str, worse: str, text: str) -> Claim:
    gap = bleu_difference(found, corpus, better, worse)
    both = ", ".join(_shown(found, corpus, row, "bleu") for row in (better, worse))
    return Claim(f"{text} ({TITLES[corpus]}).", above(gap), f"BLEU: {both}; difference {signed(gap, 2)}.")


def bleu_difference(found: Found, corpus: str, ours: str, theirs: str) -> Estimate:
    """Mean over the seeds that both have; examples are resampled in pairs."""
    pairs = list(zip(found.written[corpus, ours], found.written[corpus, theirs], strict=False))
    _, _, aggregate, _ = MEASURES["bleu"]
    stacked = np.stack([np.stack([values(one, "bleu") for one in pair]) for pair in pairs])  # seeds, 2, texts, columns
    rows = np.moveaxis(stacked, 2, 0).reshape(stacked.shape[2], -1)

    def gap(drawn: np.ndarray) -> np.ndarray:
        parts = drawn.reshape(*drawn.shape[:-1], len(pairs), 2, -1)
        return np.mean([aggregate(parts[..., i, 0, :]) - aggregate(parts[..., i, 1, :]) for i in range(len(pairs))], axis=0)

    return bootstrap(rows, gap)


def _repetition(found: Found, corpus: str, row: str) -> Claim:
    tokens = TOKENS[found.settings.corpora[corpus].tokens]
    ours, theirs = ([one["rationale"] for one in found.written[corpus, name][0]] for name in (row, "sim"))
    gap, p = repetition_difference(ours, theirs, tokens)
    verdict: Verdict = UNDECIDED if p >= 0.05 else HOLDS if gap < 0 else FAILS
    return Claim(
        f"{title(row)} writes more diverse explanations than SIM alone ({TITLES[corpus]}).", verdict,
        f"Inter-Rep, first seed: {gap:+.3f} against SIM without it, p = {p:.3g}.",
    )  # fmt: skip


def _outside(found: Found, corpus: str) -> Claim:
    others = dict.fromkeys(other for of, row, other in found.outside if of == corpus)
    gaps = {other: seed_difference(found.outside[corpus, "sim", other], found.outside[corpus, "baseline", other], "right")
            for other in others}  # fmt: skip
    evidence = "; ".join(f"{TITLES.get(other, other)} {signed(gap)}" for other, gap in gaps.items())
    return Claim("SIM predicts better on corpora that it was not trained on.", every(map(above, gaps.values())),
                 f"Accuracy, SIM − no fusion: {evidence}.")  # fmt: skip


def _critic_score(found: Found, corpus: str, better: str, worse: str) -> Claim:
    gap = seed_difference(found.written[corpus, better], found.written[corpus, worse], "belongs")
    own = np.mean([row["right"] for row in found.critics[corpus]])
    return Claim(
        f"Explanations of {title(better)} fit their labels better than those of {title(worse)} ({TITLES[corpus]}).", above(gap),
        f"The critic's mean p(match), difference {signed(gap)}; the critic is right in {own:.1%} of people's triples.",
    )  # fmt: skip


def _reached(found: Found, corpus: str, column: str, bound: float, text: str) -> Claim:
    runs = found.written[corpus, "sim"]
    reached = _mean([float(np.mean(values)) for values in zip(*([one[column] for one in run] for run in runs), strict=True)])
    return Claim(f"{TITLES[corpus]}: {text} in {bound:.0%} or more, of SIM (our test).", above(reached, bound),
                 f"{reached.value:.3f} ({reached.low:.3f} to {reached.high:.3f}) of {len(runs[0])} test examples.")  # fmt: skip


WHERE = {
    "deciding": "at the words that decide, more than at random places",
    "telling": "at the words that tell it to a reader of explanations alone, more than at random places",
}


def _moves(found: Found, corpus: str, at: str) -> Claim | None:
    share = moved(found.written[corpus, "sim"], at)
    text = f"{TITLES[corpus]}: SIM's label moves {WHERE[at]} (our test)."
    if share is None:
        return None if at == "telling" else Claim(text, UNDECIDED, "The label does not move while SIM explains.")
    evidence = (
        f"{share.share.value:.1%} of the movement falls on them, {share.chance:.1%} at random; difference "
        f"{signed(share.gain)}, p = {share.p:.3g}."
    )
    written = moved(found.written[corpus, "sim"], at, written=True)
    once = [] if written is None else [Earlier("of the step that writes the word, which has not read it", above(written.gain))]
    whole = float(np.mean([sum(one["moves"]) for run in found.written[corpus, "sim"] for one in run]))
    if whole < STILL:
        still = f"The label stands still while SIM explains: it moves by {whole:.2g} in a whole text. "
        return Claim(text, UNDECIDED, still + evidence, [Earlier("any movement counts", above(share.gain)), *once])
    return Claim(text, above(share.gain), evidence, once)


def _told_apart(found: Found, corpus: str) -> Claim:
    right = _mean([row["right"] for row in found.critics[corpus]])
    return Claim(
        f"{TITLES[corpus]}: the critic tells planted mismatches from matches in {TOLD_APART:.0%} or more (our test).",
        above(right, TOLD_APART), f"{right.value:.3f} ({right.low:.3f} to {right.high:.3f}) of {len(found.critics[corpus])}.",
    )  # fmt: skip


def _associated(found: Found, corpus: str) -> Claim:
    sim, base = (found.associated[corpus, row] for row in ("sim", "baseline"))
    bound, free = ([_bound(one["verdict"]), _bound(one["bond"])] for one in (sim, base))
    verdict: Verdict = UNDECIDED
    if FAILS in bound or set(free) == {HOLDS}:
        verdict = FAILS
    elif set(bound) == {HOLDS} and FAILS in free:
        verdict = HOLDS
    told = "; ".join(
        f"{name}: noise {one['verdict']}, words {one['bond']}" for name, one in (("SIM", sim), ("no fusion", base))
    )
    return Claim(f"{TITLES[corpus]}: by both association tests labels and explanations of SIM are bound, and those of a model "
                 "without fusion are not (our test).", verdict, f"{told}.")  # fmt: skip


def _bound(said: str) -> Verdict:
    return HOLDS if said in ("together", "associated") else FAILS if said in ("apart", "not associated") else UNDECIDED


def _label_needs(found: Found, corpus: str) -> Claim:
    kept = _mean(exchange_values(found.exchanged[corpus, "sim"], "another"))
    return Claim(
        f"{TITLES[corpus]}: SIM's label needs its explanation: with that of another label, fewer than half of the labels stay "
        "(our test).",
        below(kept, 0.5), f"{kept.value:.1%} stay ({kept.low:.1%} to {kept.high:.1%}).",
    )  # fmt: skip


def _explanation_needs(found: Found, corpus: str) -> Claim:
    same = _mean(exchange_values(found.exchanged[corpus, "sim"], "swapped_same"))
    return Claim(
        f"{TITLES[corpus]}: SIM's explanation needs its label: under a turned label state, fewer than half of its words stay "
        "(our test).",
        below(same, 0.5), f"Word F1 with its own explanation {same.value:.3f} ({same.low:.3f} to {same.high:.3f}).",
    )  # fmt: skip


def _mean(values: list[float]) -> Estimate:
    found = estimate(values)
    value, low, high = (float(found[name] or 0.0) for name in ("ours", "low", "high"))
    return Estimate(value, low, high)
