"""Nothing but `--device` changes on a GPU: every tensor of a pass follows the model.

Without a GPU this is tried on the `meta` device, which computes shapes and refuses to mix with tensors that lie elsewhere.
"""

import numpy as np
import pytest
import torch
from zoo import CAUSAL, CLASSIFIERS, SEQ2SEQ

from whence.data import Example
from whence.explain import METHODS, explain
from whence.models import UNCHANGED, Causal, Classifier, Encoded, Intervention, Label, Seq2Seq, Text
from whence.models.reading import Kept
from whence.models.torch_port import TorchPort
from whence.run import Runner

LABELS = ("yes", "no")
PAIRS = [Example(str(i), {"premise": "The old cat sat " * (i + 1), "hypothesis": "A dog slept."}) for i in range(2)]
NAMES = ["bert", "distilbert", "albert", "xlnet", "modernbert", "gpt2", "llama", "bart", "t5", "bilstm", "mlp", "decomposable",
         "esim", "seq2seq t5", "seq2seq bart", "causal gpt2", "causal llama"]  # fmt: skip


def port(name: str) -> TorchPort:
    kind, _, rest = name.rpartition(" ")
    if kind == "seq2seq":
        return Seq2Seq(*SEQ2SEQ[rest](), "nli.i-o", LABELS)
    return Causal(*CAUSAL[rest](), "prompt.nli", LABELS) if kind else Classifier(*CLASSIFIERS[rest]())


def examples(model: TorchPort) -> list[Example]:
    single = isinstance(model, Classifier) and model.own and not model.model.reads_pairs
    return [Example(e.id, {"text": e.texts["premise"]}) for e in PAIRS] if single else PAIRS


def changes(model: TorchPort, encoded: list[Encoded]) -> dict[str, list[Intervention]]:
    wide = model.embedding_dim
    made = {
        "nothing": [UNCHANGED for _ in encoded],
        "embeddings": [Intervention(embeddings=np.zeros((len(e), wide), dtype=np.float32)) for e in encoded],
        "scale": [Intervention(scale=0.5) for _ in encoded],
        "noise": [Intervention(noise=1.0) for _ in encoded],
        "attention": [Intervention(attention=np.ones(len(e), dtype=np.float32)) for e in encoded],
    }
    if len(encoded[0].fields) == 2:
        shapes = [tuple(len(s) for s in e.spans) for e in encoded]
        made["alignment"] = [Intervention(alignment=np.zeros(shape, dtype=np.float32)) for shape in shapes]
    return {name: several for name, several in made.items() if name == "nothing" or name in model.honours}


@pytest.mark.parametrize("name", NAMES)
def test_every_tensor_of_a_pass_follows_the_model(name: str) -> None:
    model = port(name)
    encoded = model.encode(examples(model))
    made = changes(model, encoded)  # what the model honours is tried out where there are numbers
    if not (isinstance(model, Classifier) and model.own):
        model.model.set_attn_implementation("eager")  # the faster one looks at the numbers of its mask
    model.model.to("meta")
    want = {"gradient"} | ({"attention", "attention_gradient"} if "attention" in model.honours else set())
    try:
        for several in made.values():
            batch = model._collate(encoded, several, [None] * len(encoded))
            scores, _, _ = model._forward(batch, frozenset(want), Kept())
            assert scores.device.type == "meta"
            assert scores.shape == (len(encoded), len(model.labels))
            assert model._asked(scores, [Label(0)] * len(encoded)).device.type == "meta"
    except RuntimeError as error:
        if "cannot be called on meta tensors" in str(error):
            pytest.skip("this model looks at the numbers of its mask, and there are none on the meta device")
        raise
    if not isinstance(model, Classifier):
        target = Text((1, 2, 3), (True, False, True))
        scores, _, more = model._forward(model._collate(encoded, made["nothing"], [target] * len(encoded)), frozenset(), Kept())
        assert scores.device.type == more["choice"].device.type == "meta"


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here: the same numbers on one cannot be shown")
@pytest.mark.parametrize("name", NAMES)
def test_the_same_numbers_on_a_gpu(name: str) -> None:
    model = port(name)
    encoded = model.encode(examples(model))
    few = {"lime": {"n_samples": 8}, "kernel_shap": {"n_samples": 8}, "integrated_gradients": {"n_steps": 2}}
    fitting = [m for m in METHODS.values() if m.needs <= model.honours]
    here = [explain(Runner(model), encoded, m, parameters=few.get(m.name)) for m in fitting]
    model.model.to("cuda")
    for method, several in zip(fitting, here, strict=True):
        there = explain(Runner(model), encoded, method, parameters=few.get(method.name))
        assert all(a.scores == pytest.approx(b.scores, abs=1e-4, rel=1e-3) for a, b in zip(several, there, strict=True))
