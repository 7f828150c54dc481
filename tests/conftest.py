"""Fixtures for all tests; the tiny models themselves are in tiny.py."""

import pytest
import torch
from tiny import MODELS, tiny_bert

from whence.models import Classifier


@pytest.fixture(scope="session", params=list(MODELS))
def classifier(request: pytest.FixtureRequest) -> Classifier:
    """Every kind of model that Whence runs."""
    torch.manual_seed(0)
    return MODELS[request.param]()


@pytest.fixture(scope="session")
def bert() -> Classifier:
    torch.manual_seed(7)  # its labels change under erasure (tests/measure/test_erasure.py)
    return tiny_bert()
