"""A model trained on a planted corpus, kept in the cache: the subject of the demo and of calibration."""

from pathlib import Path

from whence.data import Corpus
from whence.models import Classifier
from whence.teach import Job, Settings, cached_job, default_settings
from whence.teach.loop import Say

EPOCHS = 4


def planted_model(
    corpus: Corpus, model: str = "encoder", seed: int = 0, epochs: int = EPOCHS, limit: int | None = None, say: Say = print
) -> tuple[Classifier, Path]:
    """Trained now, or taken from the cache if the same was trained before; (model, its run folder)."""
    settings = Settings(**{**default_settings(model), "epochs": epochs, "seed": seed, "patience": 2})
    job = Job(data=corpus.name, model=model, limit=limit, settings=settings)
    folder = cached_job(job, corpus, say)
    return Classifier.load(folder), folder
