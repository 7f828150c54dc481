"""What is trained and measured, in which order, and what is kept of it for tables, figures and claims."""

from dataclasses import dataclass, field, replace
from typing import Any

from whence.run.engine import Piece, Rows
from whence.studies.kit.corpora import TITLES
from whence.studies.kit.estimates import ByText, average, by_text
from whence.studies.saloss import paper, pieces
from whence.studies.saloss.models import BASE, RELEASED_BASE, TEXTRANK, Kind, Recipe, recipe
from whence.studies.saloss.settings import SalossSettings
from whence.studies.study import Context

METHODS = (*paper.ATTRIBUTIONS, "random")
FRESH_OF: tuple[str, ...] = ("none", "textrank", "uniform", "planted")
Models = dict[tuple[str, Kind], list[Recipe]]
"""By corpus and kind, a recipe for each seed."""


@dataclass
class Found:
    """Rows by (corpus, kind), one list of rows or one row for each seed."""

    settings: SalossSettings
    weight: dict[str, float] = field(default_factory=dict)
    trained: dict[tuple[str, Kind], Rows] = field(default_factory=dict)
    flips: dict[tuple[str, Kind], list[Rows]] = field(default_factory=dict)
    selection: dict[str, dict[float, tuple[Rows, dict[str, Any]]]] = field(default_factory=dict)
    """By corpus and λ: flips of α on dev, and the training."""
    ranked: dict[str, Rows] = field(default_factory=dict)
    """By corpus: flips of the baseline on the same dev texts, in the order of α, of each prior itself, and at random."""
    fresh: dict[tuple[str, str, str], Rows] = field(default_factory=dict)
    """Predictions and macro-F1 by (corpus, way of extraction, prior of the support model, or "random")."""
    curve_trained: dict[tuple[str, Kind], Rows] = field(default_factory=dict)
    curves: dict[tuple[str, Kind], list[Rows]] = field(default_factory=dict)
    """By corpus and prior at each λ: flips of α and of random on test, for each seed; of the baseline, too."""
    curve_shares: dict[tuple[str, Kind], Rows] = field(default_factory=dict)
    shares: dict[tuple[str, Kind], Rows] = field(default_factory=dict)
    """By corpus and kind, first seed: the term's share of the gradient before and after training."""
    sizes: dict[str, Rows] = field(default_factory=dict)
    tags: dict[str, Rows] = field(default_factory=dict)
    shown: dict[str, Rows] = field(default_factory=dict)

    def decided(self) -> list[str]:
        """Corpora whose baselines tell texts apart. A decision that is the same for every text cannot be flipped."""
        apart = {c: all(len(set(run["predicted"])) > 1 for run in self.trained[c, BASE]) for c in self.settings.corpora}
        return [corpus for corpus, tells in apart.items() if tells]

    def same_label(self) -> str:
        """The names of all other corpora."""
        return ", ".join(TITLES[c] for c in self.settings.corpora if c not in self.decided())

    def by_text(self, column: str, corpus: str, kind: Kind, method: str = "attention", like: Kind | None = None) -> ByText:
        """Of each text the mean over seeds; `like`: over those that this kind of model was trained with, because a mean over
        three seeds is no baseline for one of them."""
        return by_text(self.flips[corpus, kind][: len(self.flips[corpus, like or kind])], column, method=method)

    def weight_of(self, corpus: str, kind: Kind) -> float:
        """λ of a kind of model."""
        return 0.0 if kind.prior == "none" else self.weight[corpus] if kind.weight is None else kind.weight

    @property
    def said(self) -> dict[str, str]:
        """What captions say of the settings."""
        own, same = self.settings, self.same_label()
        by_count: dict[int, list[str]] = {}
        for corpus in own.corpora:
            by_count.setdefault(own.seeds[corpus], []).append(TITLES[corpus])
        where = {n: f" ({', '.join(names)})" if len(by_count) > 1 else "" for n, names in by_count.items()}
        seeds = " and ".join(f"{n} seed{'s' if n > 1 else ''}{of}" for n, of in where.items())
        return {
            "seeds": seeds,
            "sizes": "; ".join(f"{TITLES[c]} {self.trained[c, BASE][0]['train']:,}" for c in own.corpora),
            "ratios": ", ".join(f"{TITLES[c]} {own.ratio[c]:.0%}" for c in own.fresh),
            "batches": ", ".join(f"{n} on {TITLES[c]}" for c, n in own.released.items()) or "none",
            "curves": f"; models trained on {own.curve_train:,} texts" if own.curve_train else "",
            "same label": f" Nothing can flip where every test text gets the same label: {same}." if same else "",
            "flips": f"Share of words hidden ({own.hide}), most important first, until the label changes; lower is better, 1 "
            f"if it never does. Mean over texts and {seeds} with bootstrap interval; p: Wilcoxon rank-sum against the "
            "baseline's same attribution, on the mean over seeds of each text. Of random: divided by the same model's at "
            "random. Words of the document are hidden, never a query.",
        }


class Work:
    def __init__(self, context: Context) -> None:
        self.context = context
        self.settings: SalossSettings = context.settings
        self.found = Found(self.settings)

    def run(self) -> Found:
        if self.settings.tagger:
            pieces.tagger_named(self.settings.tagger)  # if it is missing, say so now and not after an hour
        self.found.trained = self.train({(c, BASE): self.seeded(c) for c in self.settings.corpora})
        for corpus in self.settings.corpora:
            self.choose_weight(corpus)
        models = {key: recipes for corpus in self.settings.corpora for key, recipes in self.recipes(corpus).items()}
        self.found.trained |= self.train(models)
        self.erase(models)
        self.draw_curves()
        self.found.shares = self.shares(models)
        self.count()
        self.extract(models)
        self.look(models)
        return self.found

    def seeded(self, corpus: str, **changes: Any) -> list[Recipe]:
        seeds = range(self.context.seed, self.context.seed + self.settings.seeds[corpus])
        return [recipe(self.settings, corpus, self.context.root, seed, **changes) for seed in seeds]

    def recipes(self, corpus: str) -> Models:
        """Every model of a corpus, once λ is known; one seed but for the baseline and TextRank at that λ."""
        weight, settings = self.found.weight[corpus], self.settings
        kinds = [BASE, TEXTRANK, *(Kind(prior) for prior in settings.priors.get(corpus, []))]
        if corpus in settings.released:
            kinds += [RELEASED_BASE, Kind("textrank", paper.WEIGHT.get(corpus, weight), "released")]
        kinds += [Kind("textrank", stronger) for stronger in settings.stronger] if corpus in self.found.selection else []
        found: Models = {}
        for kind in kinds:
            several = self.of_kind(corpus, kind)
            found[corpus, kind] = several if kind in (BASE, TEXTRANK) else several[:1]
        return found

    def of_kind(self, corpus: str, kind: Kind) -> list[Recipe]:
        several = self.seeded(corpus, prior=kind.prior, variant=kind.variant, weight=self.found.weight_of(corpus, kind))
        batch = {"batch_size": self.settings.released[corpus]} if kind.variant == "released" else {}
        return [one.model_copy(update=batch) for one in several]

    def train(self, models: Models, front: str = "") -> dict[tuple[str, Kind], Rows]:
        rows = self.context.gather({key: [_train(r, front) for r in recipes] for key, recipes in models.items()})
        return {key: [row for [row] in several] for key, several in rows.items()}

    def choose_weight(self, corpus: str) -> None:
        """The λ with the lowest mean decision flip of α on dev; ties: the smaller. Named ones are taken as they are."""
        settings = self.settings
        if corpus in settings.weight:
            self.found.weight[corpus] = settings.weight[corpus]
            return
        tried = {w: self.seeded(corpus, prior="textrank", weight=w)[0] for w in (*settings.weights, *settings.stronger)}
        trained = self.context.each({w: _train(r) for w, r in tried.items()})
        # the uniform prior ranks nothing
        ranked = [prior for prior in ("textrank", *settings.priors.get(corpus, [])) if prior != "uniform"]
        asked: dict[Any, Piece] = {w: self.flip(r, "dev", settings.select_on, ["attention"]) for w, r in tried.items()}
        asked["ranked"] = self.flip(self.seeded(corpus)[0], "dev", settings.select_on, ["attention", *ranked, "random"])
        rows = self.context.each(asked)
        self.found.ranked[corpus] = rows.pop("ranked")
        self.found.selection[corpus] = {w: (rows[w], trained[w][0]) for w in tried}
        means = {w: average(rows[w], "flip") for w in sorted(settings.weights)}
        self.found.weight[corpus] = min(means, key=lambda w: means[w])

    def flip(self, model: Recipe, split: str, count: int, methods: list[str], of_those: int | None = None) -> Piece:
        arguments = {"model": model, "split": split, "count": count, "methods": methods, "hide": self.settings.hide,
                     "ig_steps": self.settings.ig_steps, "of_those": of_those}  # fmt: skip
        part = "" if of_those is None else f"-{of_those}-of-{count}"
        return Piece(f"flip-{split}-{model.name}{part}", pieces.erase, arguments)

    def erase(self, models: Models) -> None:
        asked = {}
        for (corpus, kind), recipes in models.items():
            count, fewer = self.settings.erased[corpus], self.settings.erased_others.get(corpus, 0)
            part = None if kind in (BASE, TEXTRANK) else min(count, fewer)
            asked[corpus, kind] = [self.flip(r, "test", count, list(METHODS), part) for r in recipes]
        self.found.flips = self.context.gather(asked)

    def draw_curves(self) -> None:
        """α of each prior at each λ, and of the baselines, with all seeds."""
        settings = self.settings
        models: Models = {}
        for corpus, priors in settings.curves.items():
            fewer = {} if settings.curve_train is None else {"train": settings.curve_train}
            for kind in (BASE, *(Kind(prior, weight) for prior in priors for weight in settings.curve_weights)):
                models[corpus, kind] = [one.model_copy(update=fewer) for one in self.of_kind(corpus, kind)]
        self.found.curve_trained = self.train(models, "curve-")
        asked = {}
        for (corpus, kind), recipes in models.items():
            flips = [self.flip(r, "test", settings.curve_on, ["attention", "random"]) for r in recipes]
            asked[corpus, kind] = [replace(piece, name=f"curve-{piece.name}") for piece in flips]
        self.found.curves = self.context.gather(asked)
        self.found.curve_shares = self.shares(models, "curve-")

    def shares(self, models: Models, front: str = "") -> dict[tuple[str, Kind], Rows]:
        batches, taught = self.settings.share_on, {key: r[0] for key, r in models.items() if key[1].prior != "none"}
        return self.context.each(
            {k: Piece(f"{front}share-{r.name}", pieces.share, {"model": r, "batches": batches}) for k, r in taught.items()}
        )

    def count(self) -> None:
        sizes = {c: Piece(f"sizes-{c}", pieces.sizes, {"model": self.seeded(c)[0]}) for c in self.settings.corpora}
        self.found.sizes = self.context.each(sizes)

    def extract(self, models: Models) -> None:
        """FRESH with the first seed's model of each kind as support, and with random words."""
        settings = self.settings
        asked: dict[tuple[str, str, str], list[Piece]] = {}
        for corpus, ways in settings.fresh.items():
            supports = {
                kind.prior: recipes[0] for (of, kind), recipes in models.items() if of == corpus and kind.weight is None
            }
            chosen = {p: (supports[p], "attention") for p in FRESH_OF if p in supports}
            chosen["random"] = (supports["none"], "random")
            for how in ways:
                for prior, (support, method) in chosen.items():
                    for seed in range(self.context.seed, self.context.seed + settings.fresh_seeds):
                        new = recipe(settings, corpus, self.context.root, seed)
                        new = new.model_copy(update={"epochs": settings.fresh_epochs})
                        arguments = {"support": support, "classifier": new, "method": method, "how": how,
                                     "ratio": settings.ratio[corpus]}  # fmt: skip
                        name = f"fresh-{how}-{corpus}-{prior}-seed{new.seed}"
                        asked.setdefault((corpus, how, prior), []).append(Piece(name, pieces.extract, arguments))
        self.found.fresh = {key: [row for [row] in several] for key, several in self.context.gather(asked).items()}

    def look(self, models: Models) -> None:
        """Parts of speech and example rationales, baseline and SaLoss side by side; stronger λ too, where there are some."""
        settings = self.settings
        beside: dict[str, dict[str, Recipe]] = {c: {} for c in settings.corpora}
        for (corpus, kind), recipes in models.items():
            if kind.variant == "paper" and kind.prior in ("none", "textrank"):
                name = "baseline" if kind == BASE else "SaLoss" if kind == TEXTRANK else kind.title
                beside[corpus][name] = recipes[0]
        common = {c: {"models": models, "hide": settings.hide} for c, models in beside.items()}
        tagged = {} if settings.tagger is None else settings.tagged
        self.found.tags = self.context.each({
            c: Piece(f"tags-{c}", pieces.tags, {**common[c], "count": n, "tagger": settings.tagger}) for c, n in tagged.items()
        })  # fmt: skip
        self.found.shown = self.context.each({
            c: Piece(f"shown-{c}", pieces.show, {**common[c], "count": n, "ratio": settings.ratio[c]})
            for c, n in settings.shown.items()
        })  # fmt: skip


def work(context: Context) -> Found:
    return Work(context).run()


def _train(model: Recipe, front: str = "") -> Piece:
    towards = "textrank" if model.prior == "none" else model.prior
    return Piece(f"{front}train-{model.name}", pieces.train, {"model": model, "towards": towards})
