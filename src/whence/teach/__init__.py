"""What trains: one loop, and one place for each objective."""

from whence.teach.job import Job, cached_job, default_settings, read_predictions, run_job
from whence.teach.loop import train
from whence.teach.objectives import OBJECTIVES, parse_objectives
from whence.teach.settings import Settings
from whence.teach.tasks import label_numbers, metrics

__all__ = [
    "OBJECTIVES",
    "Job",
    "Settings",
    "cached_job",
    "default_settings",
    "label_numbers",
    "metrics",
    "parse_objectives",
    "read_predictions",
    "run_job",
    "train",
]
