"""Gradients g_i of the target's score at x_i, what the first layer reads of token i (site `embedded`: after position and norm).

  gradient_l1        Σ_d |g_id|          gradient_l2   ‖g_i‖₂          gradient_sum   Σ_d g_id
  input_x_gradient   Σ_d x_id g_id       (signed; Simonyan et al. 2014, Kindermans et al. 2016)

Not at the word embeddings: in BERT-like models a LayerNorm stands above them, which ignores the scale of its input. There the
product with the whole input is zero by construction, and the word's share of it attributes position.

Cost: 1 forward and 1 backward pass for all four together (equal requests are asked once).
"""

from whence.explain.tokens.method import Ask, Method, Scored
from whence.run import Rounds

_COLUMNS = {"input_x_gradient": 0, "gradient_sum": 1, "gradient_l1": 2, "gradient_l2": 3}
WANT = frozenset({"gradient"})


def gradient_rounds(ask: Ask, reduction: str) -> Rounds[Scored]:
    [result] = yield [ask.passing(want=WANT)]
    return Scored(ask.encoded.sum_to_words(result.extras["gradient"][:, _COLUMNS[reduction]]))


def _method(name: str, title: str, about: str, paper: str) -> Method:
    return Method(name, title, about, paper, "1 forward + 1 backward", lambda ask: gradient_rounds(ask, name), needs=WANT)


METHODS = [
    _method(
        "gradient_l1",
        "Gradient (L1)",
        "How strongly the prediction reacts to the word's vector, sum of magnitudes.",
        "Simonyan et al. 2014",
    ),
    _method("gradient_l2", "Gradient (L2)", "The same with the Euclidean norm.", "Simonyan et al. 2014"),
    _method(
        "gradient_sum",
        "Gradient (sum)",
        "The signed sum of the gradient; a weak baseline, kept because tools use it.",
        "Atanasova et al. 2020",
    ),
    _method(
        "input_x_gradient",
        "Input × gradient",
        "First-order estimate of what taking the word's vector to zero would do.",
        "Kindermans et al. 2016",
    ),
]
