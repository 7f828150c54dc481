"""The hyper-parameters of a training."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Precision = Literal["float32", "bfloat16"]


class Settings(BaseModel):
    """Hyper-parameters; what is written to config.json."""

    model_config = ConfigDict(extra="forbid")
    objective: dict[str, float] = {}
    """Terms and their weights; none: the task's usual one."""
    options: dict[str, dict[str, Any]] = {}
    """Of the terms: {"saloss": {"prior": "textrank"}}."""
    select: str | None = None
    """The metric that picks the epoch that is kept; None: what the objectives wish, else what the task usually takes."""
    epochs: int = Field(8, gt=0)
    batch_size: int = Field(32, gt=0)
    learning_rate: float = Field(1e-3, gt=0)
    decoder_learning_rate: float | None = Field(None, gt=0)
    """Of all but the encoder, in encoder–decoder models that write; None: the same."""
    weight_decay: float = Field(1e-5, ge=0)
    warmup: float = Field(0.0, ge=0, lt=1)
    """Share of all steps in which the learning rate rises; afterwards it falls linearly to 0 if there was a warm-up."""
    clip: float = Field(5.0, gt=0)
    precision: Precision = "float32"
    """Of the passes in training. bfloat16: products of matrices are rounded, weights and optimiser stay float32. Faster where
    the hardware multiplies bfloat16, far slower where it does not. Everything that is evaluated is float32."""
    patience: int = Field(3, gt=0)
    """Epochs without a better score before training stops."""
    generated: int | None = Field(400, gt=0)
    """Of dev and of test, for how many examples a model that writes is asked to write; None: for all."""
    seed: int = 0
    checkpoint_seconds: float = 60.0
