"""Whence: make, measure and teach faithful explanations of language models."""

__version__ = "0.1.0"
