"""A model trained on a planted corpus, kept in the cache: the subject of the demo and of calibration."""

from pathlib import Path

from whence.data import Corpus
from whence.models import Classifier
from whence.run import cache_folder
from whence.teach import Job, Settings, default_settings, run_job
from whence.teach.loop import Say


def planted_model(
    corpus: Corpus, model: str = "encoder", seed: int = 0, epochs: int = 4, limit: int | None = None, say: Say = print
) -> tuple[Classifier, Path]:
    """Trained now, or taken from the cache if the same was trained before; (model, its run folder)."""
    settings = Settings(**{**default_settings(model), "epochs": epochs, "seed": seed, "patience": 2})
    job = Job(data=corpus.name, model=model, limit=limit, settings=settings)
    folder = cache_folder("models", job.model_dump())
    run_job(job, corpus, folder, say)
    return Classifier.load(folder), folder
