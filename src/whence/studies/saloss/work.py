"""What is trained and measured, in which order, and what is kept of it for the tables."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from whence.run.engine import Piece, Rows
from whence.studies.saloss import paper
from whence.studies.saloss.pieces import erasure_piece, examples_piece, fresh_piece, tagger_named, tags_piece, train_piece
from whence.studies.saloss.recipe import Recipe, recipe
from whence.studies.saloss.settings import SalossSettings
from whence.studies.study import Context

METHODS = (*paper.ATTRIBUTIONS, "random")
Kind = str
"""How a model was trained: "none" (the baseline), a prior, "released" (TextRank as in the released code), or "λ = 1"."""


@dataclass
class Found:
    """Rows by (corpus, kind), one list of rows or one row for each seed."""

    settings: SalossSettings
    weight: dict[str, float] = field(default_factory=dict)
    trained: dict[tuple[str, Kind], list[dict[str, Any]]] = field(default_factory=dict)
    flips: dict[tuple[str, Kind], list[Rows]] = field(default_factory=dict)
    selection: dict[str, dict[float, tuple[Rows, dict[str, Any]]]] = field(default_factory=dict)
    """By corpus and λ: flips of α on dev, and the training."""
    ranked: dict[str, Rows] = field(default_factory=dict)
    """By corpus: flips of the baseline on the same dev texts, in the order of α, of each prior itself, and at random."""
    fresh: dict[tuple[str, str, Kind], list[dict[str, Any]]] = field(default_factory=dict)
    """Predictions and macro-F1 by (corpus, way of extraction, kind of support model, or "random")."""
    tags: dict[str, Rows] = field(default_factory=dict)
    shown: dict[str, Rows] = field(default_factory=dict)


class Work:
    def __init__(self, context: Context) -> None:
        self.context = context
        self.settings: SalossSettings = context.settings
        self.root = None if context.data_root is None else str(context.data_root)
        self.found = Found(self.settings)

    def run(self) -> Found:
        if self.settings.tagger:
            tagger_named(self.settings.tagger)  # if it is missing, say so now and not after an hour
        self.train({(c, "none"): self.seeded(c) for c in self.settings.corpora})
        for corpus in self.settings.corpora:
            self.choose_weight(corpus)
        models = {key: recipes for corpus in self.settings.corpora for key, recipes in self.recipes(corpus).items()}
        self.train(models)
        self.erase(models)
        self.extract(models)
        self.look(models)
        return self.found

    def seeded(self, corpus: str, **changes: Any) -> list[Recipe]:
        return [recipe(self.settings, corpus, self.context.seed + i, **changes) for i in range(self.settings.seeds[corpus])]

    def recipes(self, corpus: str) -> dict[tuple[str, Kind], list[Recipe]]:
        """Every model of a corpus, once λ is known."""
        weight, settings = self.found.weight[corpus], self.settings
        found = {
            (corpus, "none"): self.seeded(corpus),
            (corpus, "textrank"): self.seeded(corpus, prior="textrank", weight=weight),
        }
        for prior in settings.priors.get(corpus, []):
            found[corpus, prior] = self.seeded(corpus, prior=prior, weight=weight)[:1]
        if corpus in settings.released:
            published = paper.WEIGHT.get(corpus, weight)
            found[corpus, "released"] = self.seeded(corpus, prior="textrank", weight=published, variant="released")[:1]
        if corpus in self.found.selection:
            for stronger in settings.stronger:
                found[corpus, f"λ = {stronger:g}"] = self.seeded(corpus, prior="textrank", weight=stronger)[:1]
        return found

    def train(self, models: dict[tuple[str, Kind], list[Recipe]]) -> None:
        pieces = {r.name: _train(r, self.root) for recipes in models.values() for r in recipes}
        rows = self.context.do(list(pieces.values()))
        for key, recipes in models.items():
            self.found.trained[key] = [rows[pieces[r.name].name][0] for r in recipes]

    def choose_weight(self, corpus: str) -> None:
        """The λ with the lowest mean decision flip of α on dev; ties: the smaller. Named ones are taken as they are."""
        settings = self.settings
        if corpus in settings.weight:
            self.found.weight[corpus] = settings.weight[corpus]
            return
        tried = [self.seeded(corpus, prior="textrank", weight=w)[0] for w in (*settings.weights, *settings.stronger)]
        trained = self.context.do([_train(r, self.root) for r in tried])
        flips = [self.flip(r, "dev", settings.select_on, ["attention"]) for r in tried]
        ranked = [prior for prior in ("textrank", *settings.priors.get(corpus, [])) if prior != "uniform"]  # it ranks nothing
        baseline = self.flip(self.seeded(corpus)[0], "dev", settings.select_on, ["attention", *ranked, "random"])
        rows = self.context.do([*flips, baseline])
        self.found.ranked[corpus] = rows[baseline.name]
        self.found.selection[corpus] = {
            r.weight: (rows[piece.name], trained[f"train-{r.name}"][0]) for r, piece in zip(tried, flips, strict=True)
        }
        means = {w: np.mean([row["flip"] for row in self.found.selection[corpus][w][0]]) for w in sorted(settings.weights)}
        self.found.weight[corpus] = min(means, key=lambda w: means[w])

    def flip(self, model: Recipe, split: str, count: int, methods: list[str], of_those: int | None = None) -> Piece:
        arguments = {"recipe": model.model_dump(), "data_root": self.root, "split": split, "count": count, "methods": methods,
                     "hide": self.settings.hide, "ig_steps": self.settings.ig_steps, "of_those": of_those}  # fmt: skip
        part = "" if of_those is None else f"-{of_those}-of-{count}"
        return Piece(f"flip-{split}-{model.name}{part}", erasure_piece, arguments)

    def erase(self, models: dict[tuple[str, Kind], list[Recipe]]) -> None:
        settings = self.settings
        pieces: dict[tuple[str, Kind], list[Piece]] = {}
        for (corpus, kind), recipes in models.items():
            part = None if kind in ("none", "textrank") else min(settings.erased[corpus], settings.erased_others[corpus])
            pieces[corpus, kind] = [self.flip(r, "test", settings.erased[corpus], list(METHODS), part) for r in recipes]
        rows = self.context.do([piece for several in pieces.values() for piece in several])
        self.found.flips = {key: [rows[piece.name] for piece in several] for key, several in pieces.items()}

    def extract(self, models: dict[tuple[str, Kind], list[Recipe]]) -> None:
        """FRESH with the first seed's model of each kind as support, and with random words."""
        settings = self.settings
        pieces: dict[tuple[str, str, Kind], list[Piece]] = {}
        for corpus, ways in settings.fresh.items():
            supports = {kind: recipes[0] for (of, kind), recipes in models.items() if of == corpus}
            asked: dict[Kind, tuple[Recipe, str]] = {
                kind: (supports[kind], "attention") for kind in ("none", "textrank", "uniform", "planted") if kind in supports
            }
            asked["random"] = (supports["none"], "random")
            for how in ways:
                for kind, (support, method) in asked.items():
                    for i in range(settings.fresh_seeds):
                        new = recipe(settings, corpus, self.context.seed + i).model_copy(
                            update={"epochs": settings.fresh_epochs}
                        )
                        arguments = {"support": support.model_dump(), "classifier": new.model_dump(), "data_root": self.root,
                                     "method": method, "ratio": settings.ratio[corpus], "how": how}  # fmt: skip
                        name = f"fresh-{how}-{corpus}-{kind}-seed{new.seed}"
                        pieces.setdefault((corpus, how, kind), []).append(Piece(name, fresh_piece, arguments))
        rows = self.context.do([piece for several in pieces.values() for piece in several])
        self.found.fresh = {key: [rows[piece.name][0] for piece in several] for key, several in pieces.items()}

    def look(self, models: dict[tuple[str, Kind], list[Recipe]]) -> None:
        """Parts of speech and example rationales, baseline and SaLoss side by side; stronger λ too, where there are some."""
        settings = self.settings
        beside: dict[str, dict[str, Any]] = {c: {} for c in settings.corpora}
        for (corpus, kind), recipes in models.items():
            name = {"none": "baseline", "textrank": "SaLoss"}.get(kind) or (f"SaLoss, {kind}" if kind.startswith("λ") else None)
            if name:
                beside[corpus][name] = recipes[0].model_dump()
        common = {"data_root": self.root, "hide": settings.hide}
        tags = {
            c: Piece(f"tags-{c}", tags_piece, {**common, "recipes": beside[c], "count": n, "tagger": settings.tagger})
            for c, n in settings.tagged.items() if settings.tagger
        }  # fmt: skip
        shown = {
            c: Piece(f"shown-{c}", examples_piece, {**common, "recipes": beside[c], "count": n, "ratio": settings.ratio[c]})
            for c, n in settings.shown.items()
        }
        rows = self.context.do([*tags.values(), *shown.values()])
        self.found.tags = {c: rows[piece.name] for c, piece in tags.items()}
        self.found.shown = {c: rows[piece.name] for c, piece in shown.items()}


def _train(model: Recipe, root: str | None) -> Piece:
    towards = "textrank" if model.prior == "none" else model.prior
    return Piece(f"train-{model.name}", train_piece, {"recipe": model.model_dump(), "data_root": root, "towards": towards})
