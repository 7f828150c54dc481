"""What predicts: one port, and behind it classifiers, generators, black boxes and our own architectures."""

from transformers import AutoConfig, AutoModelForSequenceClassification

from whence.models.batch import Batch, collate
from whence.models.bilstm import BiLSTMClassifier, BiLSTMConfig
from whence.models.blackbox import BlackBox
from whence.models.causal import Causal
from whence.models.classifier import Classifier
from whence.models.decomposable import DecomposableAttention, DecomposableConfig
from whence.models.encoding import Encoded, encode, hide_tokens
from whence.models.esim import ESIM, ESIMConfig
from whence.models.intervention import HIDE, UNCHANGED, Hide, Intervention
from whence.models.layers import WordModel
from whence.models.load import load_classifier, load_port
from whence.models.mlp import TokenMLPClassifier, TokenMLPConfig
from whence.models.port import Generated, Port
from whence.models.seq2seq import Seq2Seq
from whence.models.sim import Sim, SimConfig
from whence.models.sim_port import SimPort
from whence.models.target import Label, Target, Text
from whence.models.torch_port import TorchPort
from whence.models.warm_start import WarmStart

ARCHITECTURES: dict[str, type[WordModel]] = {
    "bilstm": BiLSTMClassifier,
    "mlp": TokenMLPClassifier,
    "decomposable": DecomposableAttention,
    "esim": ESIM,
}
"""Our own architectures by the name that `whence train --model` takes."""

for _model in ARCHITECTURES.values():
    # Registered, so that from_pretrained opens a saved folder like any other.
    AutoConfig.register(_model.config_class.model_type, _model.config_class, exist_ok=True)
    AutoModelForSequenceClassification.register(_model.config_class, _model, exist_ok=True)

__all__ = [
    "ARCHITECTURES", "ESIM", "HIDE", "UNCHANGED", "Batch", "BiLSTMClassifier", "BiLSTMConfig", "BlackBox", "Causal",
    "Classifier", "DecomposableAttention", "DecomposableConfig", "ESIMConfig", "Encoded", "Generated", "Hide", "Intervention",
    "Label", "Port", "Seq2Seq", "Sim", "SimConfig", "SimPort", "Target", "Text", "TokenMLPClassifier", "TokenMLPConfig",
    "TorchPort", "WarmStart", "WordModel", "collate", "encode", "hide_tokens", "load_classifier", "load_port",
]  # fmt: skip
