"""Every test starts from the same process state: empty gin, an empty graph, fixed generators."""

import os

os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '2')

import random
from pathlib import Path

import dopamine_lite  # noqa: F401  (decides which Keras `tf.keras` is, before TensorFlow loads)

# isort: split
import gin
import numpy as np
import pytest
import tensorflow as tf

TESTDATA = Path(__file__).parent / 'testdata'


@pytest.fixture(autouse=True)
def _fresh_process_state():
    tf.compat.v1.disable_v2_behavior()
    tf.compat.v1.reset_default_graph()
    gin.clear_config()
    random.seed(0)
    np.random.seed(0)
    yield
    gin.clear_config()


@pytest.fixture
def golden():
    """Returns a loader of the values that Dopamine computed, by the name of their file."""
    return lambda name: np.load(TESTDATA / f'{name}.npz')
