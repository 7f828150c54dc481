"""TextRank on tokens: PageRank of a text's own co-occurrence graph (Mihalcea & Tarau 2004).

  σ_i = (1 − d) + d · Σ_{j ∈ N(i)} σ_j / |N(j)|,   d = 0.85, from σ = 1     (Chrysostomou & Aletras 2021, eq. 1)

Nodes are the distinct tokens of a text (all occurrences of a token share its score); i and j are neighbours if they stand less
than `window` places apart. Special tokens are no nodes; both texts of a pair are one graph, but no window reaches from one into
the other. The distribution over positions is σ divided by its sum. An isolated token (a text of one word) keeps 1 − d.

The map contracts by d: after n steps the distance to the fixed point (networkx.pagerank, up to a factor) is at most dⁿ of what
it was at the start. So the paper's 10 steps leave up to 20 %; in practice far less, as the graphs of texts mix fast (figures
in docs/saloss.md). A text is done when none of its scores moves by `tolerance`, whatever else is in the batch.

`released=True` is what the authors' code computes: window 8; the inner [SEP] of a pair is a node and windows run across it; two
tokens seen in both orders weigh 2, a token seen with itself 1; and the stop rule compares *sums* of scores, which a step leaves
as they are, so that it always ends after the second step.

Cost: one sort of window × tokens numbers and `steps` sparse products for all texts together.
"""

from itertools import pairwise

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.sparse import csr_array

from whence.teach.salience.prior import Prior, Tokens

CHUNK = 1_000_000
"""Tokens whose graphs are built at once: bounds memory, changes no number."""


def textrank(
    tokens: Tokens, _: Tokens, window: int = 4, damping: float = 0.85, steps: int = 10, tolerance: float = 1e-6,
    released: bool = False,
) -> Float[np.ndarray, " tokens"]:  # fmt: skip
    scores = np.zeros(len(tokens.ids))
    inside = _between_ends(tokens) if released else tokens.content
    block = np.zeros(len(tokens.ids), dtype=np.int64) if released else tokens.fields
    # whole texts per chunk: the first token of each chunk is the first of a text
    cuts = np.unique(np.searchsorted(tokens.starts, [*range(0, len(tokens.ids), CHUNK), len(tokens.ids)]))
    for first, last in pairwise(cuts):
        here = np.arange(tokens.starts[first], tokens.starts[last])
        here = here[inside[here]]
        if not len(here):
            continue
        text = tokens.text[here] - first
        width = int(tokens.ids.max()) + 1
        node_keys, node = np.unique(text * width + tokens.ids[here], return_inverse=True)
        graph = _graph(node, len(node_keys), text * 2 + block[here], window, ordered=released)
        ranks = _rank(graph, node_keys // width, damping, 2 if released else steps, tolerance)
        scores[here] = ranks[node]
    return scores


def _between_ends(tokens: Tokens) -> Bool[np.ndarray, " tokens"]:
    """All but the first and the last token of each text."""
    inside = np.ones(len(tokens.ids), dtype=bool)
    some = np.diff(tokens.starts) > 0
    inside[tokens.starts[:-1][some]] = inside[tokens.starts[1:][some] - 1] = False
    return inside


def _graph(node: Int[np.ndarray, " n"], nodes: int, block: Int[np.ndarray, " n"], window: int, ordered: bool) -> csr_array:
    """Symmetric weights, float[nodes, nodes]. A pair counts once (if `ordered`, once in each order) and stays in its block."""
    pairs = []
    for distance in range(1, min(window, len(node))):
        a, b = node[:-distance], node[distance:]
        together = block[:-distance] == block[distance:]
        a, b = a[together], b[together]
        if not ordered:
            a, b = np.minimum(a, b)[a != b], np.maximum(a, b)[a != b]
        pairs.append(a * nodes + b)
    keys = np.unique(np.concatenate(pairs)) if pairs else np.zeros(0, dtype=np.int64)
    a, b = keys // nodes, keys % nodes
    apart = a != b
    rows, columns = np.concatenate([a, b[apart]]), np.concatenate([b, a[apart]])
    return csr_array((np.ones(len(rows)), (rows, columns)), shape=(nodes, nodes))  # equal entries add up


def _rank(
    graph: csr_array, text: Int[np.ndarray, " nodes"], damping: float, steps: int, tolerance: float
) -> Float[np.ndarray, " nodes"]:
    """`text` is sorted: the nodes of a text stand together."""
    degree = graph.sum(axis=0)
    share = 1.0 / np.where(degree > 0, degree, 1.0)
    firsts = np.flatnonzero(np.diff(text, prepend=-1))
    text = np.cumsum(np.diff(text, prepend=-1) > 0) - 1
    scores = np.ones(len(text))
    moving = np.ones(len(firsts), dtype=bool)
    for _ in range(steps):
        new = (1 - damping) + damping * (graph @ (share * scores))
        change = np.maximum.reduceat(np.abs(new - scores), firsts)
        scores = np.where(moving[text], new, scores)
        moving &= change > tolerance
        if not moving.any():
            break
    return scores


PRIORS = [
    Prior(
        "textrank",
        "PageRank of the tokens that stand near each other in a text.",
        "Mihalcea & Tarau 2004",
        textrank,
        {"window": 4, "damping": 0.85, "steps": 10, "tolerance": 1e-6, "released": False},
    ),
]
