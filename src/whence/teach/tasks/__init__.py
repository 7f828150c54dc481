"""What can be trained. One file per task."""

from whence.teach.tasks.classification import Classification, label_numbers, metrics
from whence.teach.tasks.task import LOSS, TRAIN_LOSS, Metric, Row, Scores, Split, Task

__all__ = ["LOSS", "TRAIN_LOSS", "Classification", "Metric", "Row", "Scores", "Split", "Task", "label_numbers", "metrics"]
