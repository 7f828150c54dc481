"""Whence in Python: every verb of the command line as a function (docs/python.md).

import whence
model = whence.load("my-org/my-classifier")          # or a folder, a pipeline, (model, tokenizer)
model.explain("A charming film.", method="leave_one_out").show()
model.align("A man naps.", "A man runs.").show()     # for a model of pairs: which word pairs it rests on
report = whence.audit(model, "reviews.csv", out="audit", limit=100)
report                                               # shows itself in a notebook; report.path is the HTML file
"""

from whence.api.audits import AuditReport, audit, prepare_audit, usual_split
from whence.api.model import Model, load
from whence.api.plans import plan
from whence.api.scores import score
from whence.api.sweeps import sweep
from whence.api.work import calibrate, study, train
from whence.data import Example
from whence.data.registry import open_corpus
from whence.explain.given import read_explanations

__all__ = [
    "AuditReport", "Example", "Model", "audit", "calibrate", "load", "open_corpus", "plan", "prepare_audit",
    "read_explanations", "score", "study", "sweep", "train", "usual_split",
]  # fmt: skip
