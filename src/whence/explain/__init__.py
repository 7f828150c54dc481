"""What points: explainers, one file each, and how one explanation is drawn."""

from whence.explain.explanation import TokenScores, load_explanations, save_explanations
from whence.explain.make import check_hide, default_hide, explain, explain_texts
from whence.explain.tokens import METHODS, Method, choose_methods

__all__ = [
    "METHODS", "Method", "TokenScores", "check_hide", "choose_methods", "default_hide", "explain", "explain_texts",
    "load_explanations", "save_explanations",
]  # fmt: skip
