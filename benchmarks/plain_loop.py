"""The audit as one would write it with captum: example by example, method by method, each pass on its own, nothing shared.

Captum's defaults are kept (one perturbation for each evaluation; integrated gradients with all steps in one batch) except where
they would compute something else than Whence does: n_steps, n_samples, the midpoint rule, a baseline of zero for words only,
and hiding by the mask token. What captum does not have is written by hand in the plainest way: attention (the model in "eager"
mode, which returns it) and the measures. The loop is spared work where a sensible person would spare it: the label is predicted
once for each example, special tokens are no features (captum would ablate them too), decision flip stops at the first flip.
"""

import copy
from dataclasses import dataclass, field

import numpy as np
import torch
from captum.attr import FeatureAblation, InputXGradient, IntegratedGradients, KernelShap, Lime, Saliency
from torch import Tensor

from whence.measure.erasure import BINS, flip_counts
from whence.models import Classifier, Encoded


@dataclass
class PlainLoop:
    """`per_eval` is captum's perturbations_per_eval; `passes` counts the rows that the model read."""

    classifier: Classifier
    n_steps: int
    n_samples: int
    per_eval: int = 1
    passes: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.model = self.classifier.model
        self.eager = copy.deepcopy(self.model)
        self.eager.set_attn_implementation("eager")
        self.blank = int(self.classifier.tokenizer.mask_token_id)

    def predict(self, encoded: Encoded, ids: np.ndarray | None = None) -> np.ndarray:
        """Probabilities of one text → float[labels]."""
        with torch.no_grad():
            return self._forward(encoded, torch.tensor(encoded.ids if ids is None else ids)[None])[0].numpy()

    def explain(self, method: str, encoded: Encoded, target: int) -> np.ndarray:
        """float[words]; the names are Whence's."""
        if method == "random":
            return np.random.default_rng(0).standard_normal(encoded.word_count)
        if method in ("attention", "attention_gradient"):
            return encoded.sum_to_words(self._attention(encoded, target, method == "attention_gradient"))
        if method in ("leave_one_out", "lime", "kernel_shap"):
            return self._by_hiding(method, encoded, target)
        return encoded.sum_to_words(self._by_gradient(method, encoded, target))

    def _forward(self, encoded: Encoded, ids: Tensor | None = None, embeddings: Tensor | None = None) -> Tensor:
        rows = len(ids) if ids is not None else len(embeddings) if embeddings is not None else 0
        self.passes += rows
        types = {} if encoded.types is None else {"token_type_ids": torch.tensor(encoded.types).expand(rows, -1)}
        mask = torch.ones(rows, len(encoded), dtype=torch.long)
        return self.model(input_ids=ids, inputs_embeds=embeddings, attention_mask=mask, **types).logits.softmax(-1)

    def _by_gradient(self, method: str, encoded: Encoded, target: int) -> np.ndarray:
        embeddings = self.model.get_input_embeddings()(torch.tensor(encoded.ids)[None]).detach().requires_grad_()

        def forward(changed: Tensor) -> Tensor:
            return self._forward(encoded, embeddings=changed)

        if method == "integrated_gradients":
            start = torch.where(torch.tensor(encoded.field >= 0)[None, :, None], 0.0, embeddings.detach())
            found, _ = IntegratedGradients(forward).attribute(
                embeddings, start, target, n_steps=self.n_steps, method="riemann_middle", return_convergence_delta=True
            )
            return found.sum(-1)[0].detach().numpy()
        if method == "input_x_gradient":
            return InputXGradient(forward).attribute(embeddings, target).sum(-1)[0].detach().numpy()
        gradient = Saliency(forward).attribute(embeddings, target, abs=False)[0]
        if method == "gradient_sum":
            return gradient.sum(-1).detach().numpy()
        return gradient.norm(p={"gradient_l1": 1, "gradient_l2": 2}[method], dim=-1).detach().numpy()

    def _by_hiding(self, method: str, encoded: Encoded, target: int) -> np.ndarray:
        at = np.flatnonzero(encoded.word >= 0)
        words, feature = np.unique(encoded.word[at], return_inverse=True)
        ids = torch.tensor(encoded.ids)

        def forward(shown: Tensor) -> Tensor:
            whole = ids.repeat(len(shown), 1)
            whole[:, at] = shown
            with torch.no_grad():
                return self._forward(encoded, whole)

        of = {"baselines": self.blank, "target": target, "feature_mask": torch.tensor(feature)[None]}
        if method == "leave_one_out":
            found = FeatureAblation(forward).attribute(ids[at][None], perturbations_per_eval=self.per_eval, **of)
        else:
            explainer = (Lime if method == "lime" else KernelShap)(forward)
            found = explainer.attribute(ids[at][None], n_samples=self.n_samples, perturbations_per_eval=self.per_eval, **of)
        scores = np.zeros(encoded.word_count)
        scores[words[feature]] = found[0].numpy()  # every token of a word carries the word's value
        return scores

    def _attention(self, encoded: Encoded, target: int, times_gradient: bool) -> np.ndarray:
        """Attention from [CLS] (or the last token) in the last layer, heads averaged; float[tokens]."""
        self.passes += 1
        classifying = np.flatnonzero(encoded.ids == self.classifier.tokenizer.cls_token_id)
        row = int(classifying[0]) if len(classifying) else len(encoded) - 1
        types = {} if encoded.types is None else {"token_type_ids": torch.tensor(encoded.types)[None]}
        with torch.set_grad_enabled(times_gradient):
            out = self.eager(torch.tensor(encoded.ids)[None], output_attentions=True, **types)
            weights = out.attentions[-1]
            found = weights[0, :, row].mean(0).detach()
            if times_gradient:
                [gradient] = torch.autograd.grad(out.logits.softmax(-1)[0, target], [weights])
                found = found * gradient[0, :, row].mean(0)
        return found.numpy()

    def measure(self, name: str, encoded: Encoded, scores: np.ndarray, target: int) -> float:
        """Comprehensiveness, sufficiency or decision flip of one explanation."""
        seen = np.flatnonzero(encoded.seen)
        order = seen[np.argsort(-scores[seen], kind="stable")]
        base = self.predict(encoded)
        if name == "decision_flip":
            for n in flip_counts(len(order)):
                if self._without(encoded, order[:n]).argmax() != base.argmax():
                    return n / len(order)
            return 1.0
        tops = [order[: int(np.ceil(share * len(order)))] for share in BINS]
        hidden = tops if name == "comprehensiveness" else [np.setdiff1d(order, top) for top in tops]
        left = [self._without(encoded, words)[target] for words in hidden]
        return float(base[target]) - float(np.mean(left, dtype=np.float64))

    def _without(self, encoded: Encoded, words: np.ndarray) -> np.ndarray:
        return self.predict(encoded, np.where(np.isin(encoded.word, words), self.blank, encoded.ids))
