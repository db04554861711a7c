"""Random numbers within a graph whose place in their sequence can be saved.

TensorFlow's own random ops keep their state in the kernel, out of reach of a checkpoint. These draw
from `tf.random.stateless_*` instead, with a key for each place in the graph and a count of the draws
made there. Neither is a variable, so that the checkpoints of a graph hold what they would without.

The keys come from the graph's seed (`tf.compat.v1.set_random_seed`) or, without one, from the
operating system; never from the generators of Python or NumPy.
"""

import secrets
import weakref
from collections.abc import Sequence

import numpy as np
import tensorflow as tf


class _Stream:
    """Seeds for one place in a graph."""

    def __init__(self, key: int):
        self.key = key
        self.count = 0

    def next_seed(self) -> np.ndarray:
        self.count += 1
        return np.array([self.key, self.count], np.int64)


class _Streams:
    """The streams of a graph, in the order in which they were made."""

    def __init__(self, graph: tf.Graph):
        self._root = secrets.randbits(63) if graph.seed is None else graph.seed
        self.streams: list[_Stream] = []

    def add(self) -> _Stream:
        entropy = [abs(self._root), int(self._root < 0), len(self.streams)]
        key = np.random.SeedSequence(entropy).generate_state(1, np.uint64)[0] >> np.uint64(1)
        self.streams.append(_Stream(int(key)))
        return self.streams[-1]


_of_graph: weakref.WeakKeyDictionary[tf.Graph, _Streams] = weakref.WeakKeyDictionary()


@tf.autograph.experimental.do_not_convert  # Keras converts what its models call
def uniform(shape: Sequence[int], dtype: tf.DType = tf.float32) -> tf.Tensor:
    """Draws uniformly from [0, 1) at every run of the graph, like `tf.random.uniform`."""
    if tf.executing_eagerly():
        return tf.random.uniform(shape, dtype=dtype)
    return tf.random.stateless_uniform(shape, _seed(), dtype=dtype)


@tf.autograph.experimental.do_not_convert
def normal(shape: Sequence[int], dtype: tf.DType = tf.float32) -> tf.Tensor:
    """Draws from the standard normal distribution at every run, like `tf.random.normal`."""
    if tf.executing_eagerly():
        return tf.random.normal(shape, dtype=dtype)
    return tf.random.stateless_normal(shape, _seed(), dtype=dtype)


def _seed() -> tf.Tensor:
    """Returns a tensor that is another seed, int64 [2], at every run."""
    graph = tf.compat.v1.get_default_graph()
    while getattr(graph, 'outer_graph', None) is not None:  # within a function
        graph = graph.outer_graph
    if graph not in _of_graph:
        _of_graph[graph] = _Streams(graph)
    seed = tf.numpy_function(_of_graph[graph].add().next_seed, [], tf.int64, name='random_stream')
    seed.set_shape([2])
    return seed


def get_state(graph: tf.Graph) -> list[list[int]]:
    """Returns key and count of each place of `graph` that draws, as plain data."""
    streams = _of_graph[graph].streams if graph in _of_graph else []
    return [[stream.key, stream.count] for stream in streams]


def set_state(graph: tf.Graph, state: Sequence[Sequence[int]]) -> None:
    """Goes on where `get_state` was called, in the same graph or one that was built alike.

    Raises:
      ValueError: `graph` draws in another number of places; nothing was changed.
    """
    streams = _of_graph[graph].streams if graph in _of_graph else []
    if len(streams) != len(state):
        raise ValueError(f'expected the states of {len(streams)} random streams, got {len(state)}')
    state = [(int(key), int(count)) for key, count in state]
    for stream, (key, count) in zip(streams, state, strict=True):
        stream.key, stream.count = key, count
