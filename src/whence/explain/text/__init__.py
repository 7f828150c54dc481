"""Free-text rationales: what a model writes to explain itself, and which words of its input it wrote that from."""

from whence.explain.text.rationale import Rationale, load_rationales, save_rationales
from whence.explain.text.read import read_rationales
from whence.explain.text.write import MAX_TOKENS, noise_on, write_each, write_rationales

__all__ = [
    "MAX_TOKENS", "Rationale", "load_rationales", "noise_on", "read_rationales", "save_rationales", "write_each",
    "write_rationales",
]  # fmt: skip
