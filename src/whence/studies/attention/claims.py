"""What the paper says, and whether it holds here."""

from collections.abc import Iterator

import numpy as np

from whence.studies.attention.corner import FAR, GUIDE_TITLES, GUIDES, SAME, Corner
from whence.studies.spread import shown
from whence.studies.study import Claim


def claims(corners: list[Corner]) -> list[Claim]:
    return [claim for corner in corners for part in (_uniform, _guides, _adversary, _planted) for claim in part(corner)]


def _uniform(corner: Corner) -> Iterator[Claim]:
    base, uniform = corner.f1("base"), corner.f1("uniform")
    near = abs(float(np.mean(base) - np.mean(uniform))) <= 0.03
    evidence = f"base {shown(base)}, uniform {shown(uniform)}"
    yield Claim(f"{corner.title}: uniform attention is about as good (within 0.03 F1)", near, evidence)


def _guides(corner: Corner) -> Iterator[Claim]:
    if not corner.plan.guides:
        return
    values = {guide: corner.f1(kind) for guide, kind in GUIDES.items()}
    means = {guide: float(np.mean(several)) for guide, several in values.items()}
    evidence = ", ".join(f"{GUIDE_TITLES[guide]} {shown(several)}" for guide, several in values.items())
    ordered = means["base"] >= means["trained"] >= means["uniform"]
    yield Claim(f"{corner.title}: guides rank base LSTM ≥ trained MLP ≥ uniform", ordered, evidence)
    better = means["base"] > means["uniform"]
    yield Claim(f"{corner.title}: the base model's attention guides better than uniform weights", better, evidence)
    worse = max(values["adversary"]) < min(values["base"])
    yield Claim(f"{corner.title}: an adversary's attention guides worse than the base model's, in every seed", worse, evidence)


def _adversary(corner: Corner) -> Iterator[Claim]:
    """Each adversary by itself: at one λ some seeds jump to far attention and others do not."""
    if not corner.plan.lambdas:
        return
    every = [(tvd, jsd, one["lambda"]) for one in corner.sweep() for tvd, jsd in zip(one["tvd"], one["jsd"], strict=True)]
    far = sorted(adversary for adversary in every if adversary[1] > FAR)
    text = f"{corner.title}: some adversary has mean JSD > {FAR} at TVD < {SAME}"
    if not far:
        yield Claim(text, False, f"none of {len(every)} adversaries reached a mean JSD of {FAR}")
        return
    moved, distance, strength = far[0]
    mean = float(np.mean([adversary[0] for adversary in far]))
    evidence = (
        f"{sum(adversary[0] < SAME for adversary in far)} of {len(far)} far adversaries; the nearest (λ = {strength:g}): JSD "
        f"{distance:.3f}, TVD {moved:.3f}; all far ones on average TVD {mean:.3f} (halved as in the code {mean / 2:.3f})"
    )
    yield Claim(text, moved < SAME, evidence)
    practised = corner.practised()
    if practised:
        text = f"{corner.title}: with cut texts to practise on, adversaries have JSD > {FAR} at TVD < {SAME}, mean over seeds"
        holds = float(np.mean(practised["jsd"])) > FAR and float(np.mean(practised["tvd"])) < SAME
        evidence = f"JSD {shown(practised['jsd'])}, TVD {shown(practised['tvd'])}"
        yield Claim(text, holds, evidence)
    seeds = [float(np.mean(row["jsd"])) for row in corner.rows("seeds")[:-1]]
    if seeds:
        text = f"{corner.title}: attention differs far less between seeds than between base and adversary"
        evidence = f"JSD between seeds {shown(seeds)}, to far adversaries {shown([adversary[1] for adversary in far])}"
        yield Claim(text, max(seeds) < min(adversary[1] for adversary in far) / 2, evidence)


def _planted(corner: Corner) -> Iterator[Claim]:
    masses = {row["role"]: float(np.mean(row["mass"])) for row in corner.rows("planted")}
    if masses:
        evidence = ", ".join(f"{role} {mass:.2f}" for role, mass in masses.items())
        text = f"{corner.title}: base models attend more to the true reason than the per-instance adversary does"
        yield Claim(text, masses["base-0"] > masses["search"], evidence)
