"""Priors of a corpus, computed once: Parquet in the cache, keyed by tokens, labels, highlights, the prior and its options."""

from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from jaxtyping import Float

from whence.errors import BadInput, unknown
from whence.run import cache_folder, whole, write_atomically
from whence.teach.salience import PRIORS, Tokens
from whence.teach.salience.prior import normalised, softmaxed

Scaling = Literal["normalised", "softmaxed"]
_SCALINGS: dict[Scaling, Callable[[np.ndarray, Tokens], np.ndarray]] = {"normalised": normalised, "softmaxed": softmaxed}


def salience(
    name: str, tokens: Tokens, fitted_on: Tokens, options: Mapping[str, Any] | None = None, scaling: Scaling = "normalised"
) -> list[Float[np.ndarray, " tokens"]]:
    """σ of every text, float32; from the cache where it is known."""
    if name not in PRIORS:
        raise unknown("salience prior", name, list(PRIORS))
    prior = PRIORS[name]
    for option in options or {}:
        if option not in prior.options:
            raise unknown(f"option of salience prior {name}", option, list(prior.options))
    filled = {**prior.options, **(options or {})}
    for option, value in filled.items():
        if value is None:
            needed = f"""expected --set 'saloss.prior_options={{"{option}": VALUE}}'"""
            raise BadInput(f"salience prior '{name}' needs a value for '{option}'; {needed}")
    key = {"prior": name, "options": filled, "scaling": scaling, "texts": tokens.digest, "fitted_on": fitted_on.digest}
    file = cache_folder("salience", key) / "salience.parquet"
    if not file.exists():
        scores = _SCALINGS[scaling](prior.score(tokens, fitted_on, **filled), tokens).astype(np.float32)
        offsets = pa.array(tokens.starts, type=pa.int64())
        table = pa.table({"salience": pa.LargeListArray.from_arrays(offsets, pa.array(scores))})
        write_atomically(file, lambda path: pq.write_table(table, path))
    with whole(file, "remove it and run the same command again"):
        column = pq.read_table(file)["salience"].combine_chunks()
    return np.split(column.flatten().to_numpy(), tokens.starts[1:-1]) if len(tokens.encoded) else []
