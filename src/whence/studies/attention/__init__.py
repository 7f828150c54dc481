"""The study of "Attention is not not Explanation" (Wiegreffe & Pinter 2019)."""

from whence.studies.attention.study import STUDY

__all__ = ["STUDY"]
