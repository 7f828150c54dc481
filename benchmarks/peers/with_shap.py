"""shap: Kernel SHAP and permutations on masks, Partition SHAP on text, each in batches of 64."""

from importlib.metadata import version

import numpy as np
import shap
from game import BATCH, Notes, Sentence, play

SAMPLES = 256
DEFAULT = 500
"""Partition SHAP's own `max_evals`."""


def kernel(sentence: Sentence, samples: int) -> np.ndarray:
    explainer = shap.KernelExplainer(sentence.worth, np.zeros((1, sentence.words)), silent=True)
    np.random.seed(0)
    return explainer.shap_values(np.ones((1, sentence.words)), nsamples=samples, l1_reg=False, silent=True)[0]


def permutation(sentence: Sentence, samples: int) -> np.ndarray:
    explainer = shap.explainers.Permutation(sentence.worth, np.zeros((1, sentence.words)), seed=0)
    most = max(samples, 2 * sentence.words + 1)
    return explainer(np.ones((1, sentence.words)), max_evals=most, batch_size=BATCH, silent=True).values[0]


def partition(sentence: Sentence, samples: int) -> np.ndarray:
    masker = shap.maskers.Text(sentence.game.tokenizer)
    predict = sentence.game.probabilities
    explainer = shap.Explainer(lambda texts: predict(list(texts)), masker, algorithm="partition", silent=True)
    return explainer([sentence.text], max_evals=samples, batch_size=BATCH).values[0][1:-1, sentence.target]


def contest(notes: Notes, sets: dict[str, list[Sentence]]) -> None:
    for texts, sentences in sets.items():
        notes.time("Kernel SHAP", texts, SAMPLES, lambda s: kernel(s, SAMPLES), sentences)
        notes.time("Permutation SHAP", texts, SAMPLES, lambda s: permutation(s, SAMPLES), sentences)
        notes.time("Partition SHAP", texts, DEFAULT, lambda s: partition(s, DEFAULT), sentences)


if __name__ == "__main__":
    play(f"shap {version('shap')}", contest)
