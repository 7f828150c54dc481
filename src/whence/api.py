"""Whence in five lines of Python.

import whence
model = whence.load("my-org/my-classifier")          # or a folder, a pipeline, (model, tokenizer)
model.explain("A charming film.", method="leave_one_out").show()
model.align("A man naps.", "A man runs.").show()     # for a model of pairs: which word pairs it rests on
report = whence.audit(model, "reviews.csv", out="audit", limit=100)
report                                               # shows itself in a notebook; report.path is the HTML file
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, overload

from whence.data import Corpus, Example
from whence.data.corpus import BadRow
from whence.data.files import json_rows
from whence.data.registry import open_corpus
from whence.data.table import Columns
from whence.errors import BadInput, unknown
from whence.explain import METHODS, TokenScores, check_hide, choose_methods, explain_texts, load_explanations
from whence.explain.alignment import Alignment
from whence.explain.alignments import ALIGNMENT_METHODS, explain_alignments
from whence.explain.eraser_file import load_eraser
from whence.measure.audit import Audit, Say, run_audit
from whence.models import Classifier
from whence.report.audit_report import verdict, write_report
from whence.run import Result, Runner


def load(source: Any, tokenizer: Any = None, labels: Sequence[str] = ()) -> "Model":
    """A classifier from a hub id, a folder, a `transformers` pipeline, or a model object with its tokenizer.

    `labels` names its outputs in their order, where the model's own names (`config.id2label`) do not say what they mean.
    """
    classifier = Classifier.load(source, tokenizer)
    if labels:
        if len(labels) != len(classifier.labels):
            raise BadInput(
                f"{len(labels)} labels were given ({', '.join(labels)}); the model has {len(classifier.labels)} outputs"
            )
        classifier.labels = tuple(labels)
    return Model(classifier, source if isinstance(source, str | Path) else type(source).__name__)


class Model:
    """A classifier with its runner: passes that were paid for once are remembered between calls."""

    def __init__(self, classifier: Classifier, name: str | Path) -> None:
        self.classifier, self.name = classifier, str(name)
        self._runner = Runner(classifier)

    @property
    def labels(self) -> tuple[str, ...]:
        return self.classifier.labels

    def predict(self, texts: str | Sequence[str], pair: str | Sequence[str] | None = None) -> list[dict[str, float]]:
        """Probabilities by label for each text."""
        results: list[Result] = self._runner.predict(self.classifier.encode(_as_examples(texts, pair)))
        return [dict(zip(self.labels, map(float, result.probabilities), strict=True)) for result in results]

    @overload
    def explain(self, texts: str, pair: str | None = None, **options: Any) -> TokenScores: ...
    @overload
    def explain(
        self, texts: Sequence[str] | Sequence[Example], pair: Sequence[str] | None = None, **options: Any
    ) -> list[TokenScores]: ...
    def explain(
        self,
        texts: Any,
        pair: Any = None,
        method: str = "integrated_gradients",
        target: str | None = None,
        hide: str | None = None,
        seed: int = 0,
        **parameters: Any,
    ) -> TokenScores | list[TokenScores]:
        """One explanation for one text, a list for a list. `target` is a label's name; default: the predicted one."""
        choose_methods(self.classifier, [method])
        if target is not None and target not in self.labels:
            raise unknown("label", target, self.labels)
        made = explain_texts(
            self._runner,
            _as_examples(texts, pair),
            METHODS[method],
            target=None if target is None else self.labels.index(target),
            hide=None if hide is None else check_hide(hide),
            seed=seed,
            parameters=parameters,
        )
        return made[0] if isinstance(texts, str) else made

    @overload
    def align(self, premises: str, hypotheses: str | None = None, **options: Any) -> Alignment: ...
    @overload
    def align(
        self, premises: Sequence[str] | Sequence[Example], hypotheses: Sequence[str] | None = None, **options: Any
    ) -> list[Alignment]: ...
    def align(
        self, premises: Any, hypotheses: Any = None, method: str = "arec", seed: int = 0, **parameters: Any
    ) -> Alignment | list[Alignment]:
        """Which word pairs a prediction rests on: one explanation for one pair, a list for a list."""
        if method not in ALIGNMENT_METHODS:
            raise unknown("method for alignments", method, list(ALIGNMENT_METHODS))
        encoded = self.classifier.encode(_as_examples(premises, hypotheses))
        made = explain_alignments(self._runner, encoded, ALIGNMENT_METHODS[method], seed, parameters)
        return made[0] if isinstance(premises, str) else made


def _as_examples(texts: Any, pair: Any) -> list[Example]:
    several = [texts] if isinstance(texts, str) else list(texts)
    examples = [item for item in several if isinstance(item, Example)]
    if examples:
        return examples
    if pair is None:
        return [Example(str(i), {"text": text}) for i, text in enumerate(several)]
    others = [pair] if isinstance(pair, str) else list(pair)
    return [Example(str(i), {"premise": a, "hypothesis": b}) for i, (a, b) in enumerate(zip(several, others, strict=True))]


def read_explanations(path: Path, examples: Sequence[Example]) -> list[TokenScores]:
    """Explanations from a file of ours or of ERASER's form, told apart by their first row; `examples` give ERASER's texts."""
    first = next(json_rows(path))
    if isinstance(first, BadRow):
        raise BadInput(str(first))
    return load_eraser(path, examples) if "annotation_id" in first[1] else load_explanations(path)


@dataclass(frozen=True)
class AuditReport:
    """A finished audit: `results` is what results.json holds, `path` the HTML report."""

    results: dict[str, Any]
    path: Path

    @property
    def verdict(self) -> list[str]:
        return verdict(self.results)

    def __repr__(self) -> str:
        return "\n".join([*self.verdict, f"Report: {self.path}"])

    def _repr_html_(self) -> str:
        from html import escape

        return (
            "<ul>"
            + "".join(f"<li>{escape(line)}</li>" for line in self.verdict)
            + f"</ul><code>{escape(str(self.path))}</code>"
        )


def audit(
    model: Any, data: str | Path | Sequence[Example], out: str | Path, *, say: Say = print, **options: Any
) -> AuditReport:
    """Which explanation of this model can be believed? Runs, or continues, in the folder `out` and writes `out`/report.html.

    `options` are those of `prepare_audit`: methods, measures, split, limit, hide, seed, …
    """
    job, classifier = prepare_audit(model, data, **options)
    results = run_audit(job, classifier, Path(out), say)
    path = Path(out) / "report.html"
    write_report(results, path)
    return AuditReport(results, path)


def prepare_audit(
    model: Any,
    data: str | Path | Sequence[Example],
    *,
    name: str = "examples",
    methods: Sequence[str] = (),
    measures: Sequence[str] = (),
    split: str | None = None,
    limit: int | None = None,
    hide: str | None = None,
    seed: int = 0,
    data_root: Path | None = None,
    columns: Columns | None = None,
    parameters: dict[str, dict[str, Any]] | None = None,
    explanations: dict[str, list[TokenScores]] | None = None,
) -> tuple[Audit, Classifier]:
    """Arguments of an audit as people give them, made into the job.

    `data` is a corpus, a file, a folder, or examples (then `name` says what they are). Without a `split`, test is taken,
    else dev, else the first; `limit` draws a random few. No methods or measures means all that fit. `parameters` are a method's
    own settings, such as {"lime": {"n_samples": 1000}}; `explanations` were made elsewhere and are measured beside ours.
    """
    loaded = model if isinstance(model, Model) else load(model)
    if isinstance(data, str | Path):
        corpus = open_corpus(data, data_root, columns)
        split = split or usual_split(corpus)
        examples, name = corpus.load(split, limit, seed), corpus.name
        if any(example.label is not None for example in examples):
            loaded.classifier.fit_labels(corpus.labels)
    else:
        examples, split = list(data)[:limit], split or "–"
    hiding = None if hide is None else check_hide(hide)
    job = Audit(loaded.name, name, split, examples, methods, measures, hiding, seed, parameters or {}, explanations or {})
    return job, loaded.classifier


def usual_split(corpus: Corpus) -> str:
    """What an audit looks at when nothing is said: test, else dev, else the first split."""
    return next((name for name in ("test", "dev") if name in corpus.splits), next(iter(corpus.splits)))
