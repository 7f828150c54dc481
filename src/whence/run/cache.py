"""Where trained models are kept between runs, keyed by everything that made them: $WHENCE_CACHE, else ~/.cache/whence."""

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def cache_folder(kind: str, key: Mapping[str, Any]) -> Path:
    """A folder for the thing that `key` describes in full; the same key, the same folder."""
    root = Path(os.environ.get("WHENCE_CACHE") or Path.home() / ".cache" / "whence")
    digest = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:16]
    return root / kind / digest
