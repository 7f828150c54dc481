"""Readers of the published corpora, one file per family; `whence.data.registry` collects them."""
