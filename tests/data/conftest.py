"""Where the published corpora are, for tests marked `realdata`."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data_root() -> Path:
    beside = Path(__file__).resolve().parents[3] / "shared" / "data"
    root = Path(os.environ.get("WHENCE_DATA") or beside)
    if not root.is_dir():
        pytest.skip("the published corpora are not here: set WHENCE_DATA to their folder")
    return root
