"""What can be trained. One file per task."""

from whence.teach.tasks.classification import Classification, label_numbers, metrics
from whence.teach.tasks.joint import Joint
from whence.teach.tasks.task import LOSS, TRAIN_LOSS, Metric, Row, Scores, Split, Task
from whence.teach.tasks.text2text import Text2Text

TASKS: dict[str, type[Task]] = {task.name: task for task in (Classification, Text2Text, Joint)}

__all__ = [
    "LOSS", "TASKS", "TRAIN_LOSS", "Classification", "Joint", "Metric", "Row", "Scores", "Split", "Task", "Text2Text",
    "label_numbers", "metrics",
]  # fmt: skip
