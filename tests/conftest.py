"""Every test starts from the same process state: empty gin, an empty graph, fixed generators."""

import os

os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '2')

import random
import signal
import threading
from pathlib import Path

import dopamine_lite  # noqa: F401  (decides which Keras `tf.keras` is, before TensorFlow loads)

# isort: split
import gin
import numpy as np
import pytest
import tensorflow as tf

# Tests interrupt programs that they start. Where the tests themselves run in the background of a
# shell, SIGINT is ignored, and the programs would inherit that.
if threading.current_thread() is threading.main_thread():
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)

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
