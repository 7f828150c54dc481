"""What is trained and measured, in which order, and what is kept of it for tables, figures and claims."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any, TypeVar

from whence.measure.parts_of_speech import tagger_named
from whence.measure.statistics import Estimate
from whence.run.engine import Piece, Rows
from whence.studies.kit.corpora import TITLES, sizes
from whence.studies.kit.differences import ByText, by_text, seed_difference
from whence.studies.kit.estimates import average
from whence.studies.kit.paper import read_paper
from whence.studies.saloss import pieces
from whence.studies.saloss.models import BASE, RELEASED_BASE, TEXTRANK, Kind, Recipe, recipe
from whence.studies.saloss.settings import SalossSettings
from whence.studies.study import Context

PAPER = read_paper(__package__)
ATTRIBUTIONS = ("attention", "input_x_gradient", "attention_gradient", "integrated_gradients")
TRIED = (*ATTRIBUTIONS, "random")
MAIN = (BASE, TEXTRANK)
"""Trained with all seeds and tried on all texts; the others with one, on fewer."""
FRESH_OF = ("none", "textrank", "uniform", "planted")
Key = tuple[str, Kind]
Models = dict[Key, list[Recipe]]
"""By corpus and kind, a recipe for each seed."""
Value = TypeVar("Value")


@dataclass
class Found:
    """Rows by (corpus, kind), one list of rows or one row for each seed."""

    settings: SalossSettings
    weight: dict[str, float] = field(default_factory=dict)
    trained: dict[Key, Rows] = field(default_factory=dict)
    flips: dict[Key, list[Rows]] = field(default_factory=dict)
    selection: dict[str, dict[float, tuple[Rows, dict[str, Any]]]] = field(default_factory=dict)
    """By corpus and λ: flips of α on dev, and the training."""
    ranked: dict[str, Rows] = field(default_factory=dict)
    """By corpus: flips of the baseline on the same dev texts, in the order of α, of each prior itself, and at random."""
    fresh: dict[tuple[str, str, str], Rows] = field(default_factory=dict)
    """Predictions and macro-F1 by (corpus, way of extraction, prior of the support model, or "random")."""
    curve_trained: dict[Key, Rows] = field(default_factory=dict)
    curves: dict[Key, list[Rows]] = field(default_factory=dict)
    """By corpus and prior at each λ: flips of α and of random on test, for each seed; of the baseline, too."""
    curve_shares: dict[Key, Rows] = field(default_factory=dict)
    shares: dict[Key, Rows] = field(default_factory=dict)
    """By corpus and kind, first seed: the term's share of the gradient before and after training."""
    sizes: dict[str, Rows] = field(default_factory=dict)
    tags: dict[str, Rows] = field(default_factory=dict)
    shown: dict[str, Rows] = field(default_factory=dict)

    def decided(self) -> list[str]:
        """Corpora whose baselines tell texts apart. A decision that is the same for every text cannot be flipped."""
        return [c for c in self.settings.corpora if all(len(set(run["predicted"])) > 1 for run in self.trained[c, BASE])]

    def same_label(self) -> str:
        """The names of all other corpora."""
        return ", ".join(TITLES[c] for c in self.settings.corpora if c not in self.decided())

    def by_text(self, column: str, corpus: str, kind: Kind, method: str = "attention", like: Kind | None = None) -> ByText:
        """Of each text the mean over seeds; `like`: over those that this kind of model was trained with, because a mean over
        three seeds is no baseline for one of them."""
        return by_text(self.flips[corpus, kind][: len(self.flips[corpus, like or kind])], column, method=method)

    def curved(self) -> list[str]:
        """Corpora with λ curves."""
        return list(dict.fromkeys(corpus for corpus, _ in self.curves))

    def curve_gap(self, corpus: str, kind: Kind) -> Estimate:
        """Decision flip of α at this λ − that of the baselines."""
        return seed_difference(self.curves[corpus, kind], self.curves[corpus, BASE], "flip", method="attention")

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
        own, found = self.settings, self.found
        if own.tagger:
            tagger_named(own.tagger)  # if it is missing, say so now and not after an hour
        found.trained = self.train({(corpus, BASE): self.seeded(corpus) for corpus in own.corpora})
        for corpus in own.corpora:
            self.choose_weight(corpus)
        models = {key: recipes for corpus in own.corpora for key, recipes in self.recipes(corpus).items()}
        found.trained |= self.train(models)
        found.flips = self.context.gather({key: self.erase(*key, recipes) for key, recipes in models.items()})
        self.draw_curves()
        found.shares = self.shares(models)
        given = {corpus: {"subject": self.seeded(corpus)[0], "splits": ["train", "dev", "test"]} for corpus in own.corpora}
        found.sizes = self.context.each({c: Piece(f"sizes-{c}", sizes, one) for c, one in given.items()})
        self.extract(models)
        self.look(models)
        return found

    def seeded(self, corpus: str, kind: Kind = BASE, count: int | None = None, **changes: Any) -> list[Recipe]:
        """A kind of model with each of its seeds, or with `count` of them."""
        given = {"prior": kind.prior, "variant": kind.variant, "weight": self.found.weight_of(corpus, kind), **changes}
        if kind.variant == "released":
            given["batch_size"] = self.settings.released[corpus]
        seeds = range(self.context.seed, self.context.seed + (count or self.settings.seeds[corpus]))
        return [recipe(self.settings, corpus, self.context.root, seed, **given) for seed in seeds]

    def recipes(self, corpus: str) -> Models:
        """Every model of a corpus, once λ is known."""
        own, weight = self.settings, self.found.weight[corpus]
        kinds = [*MAIN, *map(Kind, own.priors.get(corpus, []))]
        if corpus in own.released:
            kinds += [RELEASED_BASE, Kind("textrank", PAPER["weight"]["chosen"].get(corpus, weight), "released")]
        if corpus in self.found.selection:
            kinds += [Kind("textrank", stronger) for stronger in own.stronger]
        return {(corpus, kind): self.seeded(corpus, kind, None if kind in MAIN else 1) for kind in kinds}

    def train(self, models: Models, front: str = "") -> dict[Key, Rows]:
        rows = self.context.gather({key: [_train(r, front) for r in recipes] for key, recipes in models.items()})
        return {key: [row for [row] in several] for key, several in rows.items()}

    def choose_weight(self, corpus: str) -> None:
        """The λ with the lowest mean decision flip of α on dev; ties: the smaller. Named ones are taken as they are."""
        own, found = self.settings, self.found
        if corpus in own.weight:
            found.weight[corpus] = own.weight[corpus]
            return
        tried = {w: self.seeded(corpus, Kind("textrank", w))[0] for w in (*own.weights, *own.stronger)}
        trained = self.context.each({w: _train(r) for w, r in tried.items()})
        # the uniform prior ranks nothing
        ranked = [prior for prior in ("textrank", *own.priors.get(corpus, [])) if prior != "uniform"]
        asked: dict[Any, Piece] = {w: self.flip(r, "dev", own.select_on, ["attention"]) for w, r in tried.items()}
        asked["ranked"] = self.flip(self.seeded(corpus)[0], "dev", own.select_on, ["attention", *ranked, "random"])
        rows = self.context.each(asked)
        found.ranked[corpus] = rows.pop("ranked")
        found.selection[corpus] = {w: (rows[w], trained[w][0]) for w in tried}
        means = {w: average(rows[w], "flip") for w in sorted(own.weights)}
        found.weight[corpus] = min(means, key=lambda w: means[w])

    def flip(self, model: Recipe, split: str, count: int, methods: list[str], of: int | None = None, front: str = "") -> Piece:
        arguments = {"model": model, "split": split, "count": count, "methods": methods, "hide": self.settings.hide,
                     "ig_steps": self.settings.ig_steps, "of_those": of}  # fmt: skip
        part = "" if of is None else f"-{of}-of-{count}"
        return Piece(f"{front}flip-{split}-{model.name}{part}", pieces.erase, arguments)

    def erase(self, corpus: str, kind: Kind, recipes: list[Recipe]) -> list[Piece]:
        count, fewer = self.settings.erased[corpus], self.settings.erased_others.get(corpus, 0)
        return [self.flip(r, "test", count, list(TRIED), None if kind in MAIN else min(count, fewer)) for r in recipes]

    def draw_curves(self) -> None:
        """α of each prior at each λ, and of the baselines, with all seeds."""
        own, found = self.settings, self.found
        fewer = {} if own.curve_train is None else {"train": own.curve_train}
        models: Models = {}
        for corpus, priors in self.here(own.curves).items():
            for kind in (BASE, *(Kind(*both) for both in product(priors, own.curve_weights))):
                models[corpus, kind] = self.seeded(corpus, kind, **fewer)
        found.curve_trained = self.train(models, "curve-")
        found.curves = self.context.gather({
            key: [self.flip(r, "test", own.curve_on, ["attention", "random"], front="curve-") for r in recipes]
            for key, recipes in models.items()
        })  # fmt: skip
        found.curve_shares = self.shares(models, "curve-")

    def shares(self, models: Models, front: str = "") -> dict[Key, Rows]:
        batches, taught = self.settings.share_on, {key: r[0] for key, r in models.items() if key[1].prior != "none"}
        return self.context.each(
            {k: Piece(f"{front}share-{r.name}", pieces.share, {"model": r, "batches": batches}) for k, r in taught.items()}
        )

    def extract(self, models: Models) -> None:
        """FRESH with the first seed's model of each kind as support, and with random words."""
        own = self.settings
        asked: dict[tuple[str, str, str], list[Piece]] = {}
        for corpus, ways in self.here(own.fresh).items():
            supports = {kind.prior: r[0] for (of, kind), r in models.items() if of == corpus and kind.weight is None}
            chosen = {prior: (supports[prior], "attention") for prior in FRESH_OF if prior in supports}
            chosen["random"] = (supports["none"], "random")
            for how, (prior, (support, method)) in product(ways, chosen.items()):
                given = {"support": support, "method": method, "how": how, "ratio": own.ratio[corpus]}
                asked[corpus, how, prior] = [
                    Piece(f"fresh-{how}-{corpus}-{prior}-seed{new.seed}", pieces.extract, {**given, "classifier": new})
                    for new in self.seeded(corpus, BASE, own.fresh_seeds, epochs=own.fresh_epochs)
                ]
        self.found.fresh = {key: [row for [row] in several] for key, several in self.context.gather(asked).items()}

    def here(self, by_corpus: Mapping[str, Value]) -> dict[str, Value]:
        """Of the corpora of this run: a run may take some of a scale's."""
        return {corpus: value for corpus, value in by_corpus.items() if corpus in self.settings.corpora}

    def look(self, models: Models) -> None:
        """Parts of speech and example rationales, baseline and SaLoss side by side; stronger λ too, where there are some."""
        own = self.settings
        beside: dict[str, dict[str, Any]] = {corpus: {"models": {}, "hide": own.hide} for corpus in own.corpora}
        for (corpus, kind), recipes in models.items():
            if kind.variant == "paper" and kind.prior in ("none", "textrank"):
                beside[corpus]["models"]["SaLoss" if kind == TEXTRANK else kind.title] = recipes[0]
        tagged, shown = self.here(own.tagged if own.tagger else {}), self.here(own.shown)
        self.found.tags = self.context.each({
            c: Piece(f"tags-{c}", pieces.tags, {**beside[c], "count": n, "tagger": own.tagger}) for c, n in tagged.items()
        })  # fmt: skip
        self.found.shown = self.context.each({
            c: Piece(f"shown-{c}", pieces.show, {**beside[c], "count": n, "ratio": own.ratio[c]}) for c, n in shown.items()
        })  # fmt: skip


def work(context: Context) -> Found:
    return Work(context).run()


def _train(model: Recipe, front: str = "") -> Piece:
    towards = "textrank" if model.prior == "none" else model.prior
    return Piece(f"{front}train-{model.name}", pieces.train, {"model": model, "towards": towards})
