"""captum, with several `perturbations_per_eval`, of which the fastest counts. Words are its features."""

from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from typing import Any

import torch
from captum.attr import FeatureAblation, InputXGradient, IntegratedGradients, KernelShap, Lime, Saliency
from game import Notes, Sentence, play

PER_EVAL = (8, 64)
SAMPLES = 256
POINTS = 50


def forward(sentence: Sentence) -> Callable[[torch.Tensor], torch.Tensor]:
    return lambda kept: torch.as_tensor(sentence.worth(kept.numpy()))


def by_hiding(sentence: Sentence, method: type, per_eval: int, **given: Any) -> torch.Tensor:
    torch.manual_seed(0)
    ones = torch.ones(1, sentence.words)
    given |= {"baselines": torch.zeros_like(ones), "perturbations_per_eval": per_eval}
    return method(forward(sentence)).attribute(ones, **given)[0]


def by_gradient(sentence: Sentence, method: type, **given: object) -> torch.Tensor:
    model = sentence.game.model
    embedded = model.get_input_embeddings()(sentence.ids[None]).detach().requires_grad_()

    def probability(changed: torch.Tensor) -> torch.Tensor:
        mask = torch.ones(changed.shape[:2], dtype=torch.long)
        return model(inputs_embeds=changed, attention_mask=mask).logits.softmax(-1)

    return method(probability).attribute(embedded, target=sentence.target, **given)[0].sum(-1).detach()


def contest(notes: Notes, sets: dict[str, list[Sentence]]) -> None:
    for texts, sentences in sets.items():
        by_turns(notes, texts, sentences)


def by_turns(notes: Notes, texts: str, sentences: list[Sentence]) -> None:
    for per_eval in PER_EVAL:
        for name, method in (("Kernel SHAP", KernelShap), ("LIME", Lime)):
            work = partial(by_hiding, method=method, per_eval=per_eval, n_samples=SAMPLES)
            notes.time(name, texts, {"samples": SAMPLES, "perturbations_per_eval": per_eval}, work, sentences)
        work = partial(by_hiding, method=FeatureAblation, per_eval=per_eval)
        notes.time("Leave-one-out", texts, {"perturbations_per_eval": per_eval}, work, sentences)
    for name, method, given in (
        ("Gradient", Saliency, {}),
        ("Input × gradient", InputXGradient, {}),
        ("Integrated gradients", IntegratedGradients, {"n_steps": POINTS}),
        ("Integrated gradients", IntegratedGradients, {"n_steps": POINTS, "internal_batch_size": 8}),
    ):
        notes.time(name, texts, given, partial(by_gradient, method=method, **given), sentences)


if __name__ == "__main__":
    play(f"captum {version('captum')}", contest)
