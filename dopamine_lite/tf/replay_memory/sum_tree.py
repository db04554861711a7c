"""A sum tree: sampling in proportion to priorities, in time logarithmic in their number.

Schaul et al. 2016, "Prioritized Experience Replay", appendix B.2.1 (arXiv:1511.05952). The leaves
hold the priorities, every other node the sum of its two children:

        6.0
       /   \\
     2.5   3.5       sample(query_value=0.5): 3.0 of 6.0; not below 2.5, so right, with 0.5 left;
     / \\   / \\       below 2.0, so left: leaf 2
   1.5 1. 2. 1.5

A sum is always recomputed from its children, never adjusted by a difference, so that it is exact
after any sequence of updates and an emptied tree is empty.
"""

import functools
import math
import numbers
import pickle
import random
from typing import Any, BinaryIO

import numpy as np

from dopamine_lite.tf.replay_memory import kernels

# Where Dopamine's own readers look for the class.
_PICKLED_MODULE = 'dopamine.tf.replay_memory.sum_tree'

# A batch holds priorities in float32, where a larger one would be infinite. Sums of these, in
# float64, never are.
_LARGEST = float(np.finfo(np.float32).max)


@functools.lru_cache(maxsize=16)
def _strata(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns the lower bounds and the widths of equal shares of [0, 1], float64 [count] each."""
    bounds = np.linspace(0.0, 1.0, count + 1)
    return bounds[:-1], bounds[1:] - bounds[:-1]


class SumTree:
    """Priorities of `capacity` items and their sums.

    Attributes:
      nodes: a list of float64 arrays, one a level: `nodes[0]` holds the root, `nodes[-1]` the
        leaves, a power of two of them (the surplus stays zero). They are views of one array.
      max_recorded_priority: the largest value ever set, at least 1.0.
    """

    def __init__(self, capacity: int):
        """Makes a tree with all priorities zero.

        Args:
          capacity: the number of items.

        Raises:
          ValueError: the capacity is no whole number, or below 1.
        """
        if not isinstance(capacity, numbers.Integral) or capacity < 1:
            raise ValueError(f'Sum tree capacity should be positive. Got: {capacity}')
        self.max_recorded_priority = 1.0
        self._allocate(1 << (int(capacity) - 1).bit_length(), int(capacity))

    def _allocate(self, leaves: int, capacity: int) -> None:
        self._heap = np.zeros(2 * leaves)
        self._capacity = capacity
        self.nodes = [self._heap[1 << level : 2 << level] for level in range(leaves.bit_length())]

    @property
    def capacity(self) -> int:
        """The number of items; the leaves beyond are padding that nothing can set."""
        return self._capacity

    @property
    def root(self) -> float:
        """The sum of all priorities."""
        return float(self._heap[1])

    def _total_priority(self) -> float:
        """Returns the sum of all priorities."""
        return self.root

    def sample(self, query_value: float | None = None) -> int:
        """Samples an item with probability proportional to its priority.

        Args:
          query_value: the place in [0, 1] of the total to look up, instead of a draw from Python's
            global generator.

        Returns:
          The item's index. Its priority is not zero.

        Raises:
          ValueError: all priorities are zero, or `query_value` is outside [0, 1].
        """
        self._check_not_empty()
        return self.query(random.random() if query_value is None else query_value)

    def stratified_sample(self, batch_size: int) -> list[int]:
        """Samples one item from each of `batch_size` equal shares of the total, in order.

        Each draw is uniform within its share (from Python's global generator), as the paper's
        appendix B.2.1 has it.

        Args:
          batch_size: the number of items.

        Returns:
          The items' indices.

        Raises:
          ValueError: all priorities are zero.
        """
        self._check_not_empty()
        lows, widths = _strata(batch_size)
        draw = random.random
        draws = np.array([draw() for _ in range(batch_size)])
        # The arithmetic of `random.uniform(low, high)`: the same seed gives the same items.
        return self._find(lows + widths * draws).tolist()

    def query(self, value: Any) -> Any:
        """Looks up in whose share of the total a place in [0, 1] falls.

        Args:
          value: a place, or an array of places.

        Returns:
          The index of an item whose priority is not zero, or an int64 array of them.

        Raises:
          ValueError: all priorities are zero, or a place is outside [0, 1].
        """
        self._check_not_empty()
        places = np.asarray(value, np.float64)
        if not (places.min(initial=0.0) >= 0.0 and places.max(initial=1.0) <= 1.0):
            raise ValueError(f'query_value must be in [0, 1]. Got: {value}')
        found = self._find(places.reshape(-1)).reshape(places.shape)
        return found if places.ndim else int(found)

    def _find(self, places: np.ndarray) -> np.ndarray:
        found = np.empty(places.shape[0], np.int64)
        kernels.tree_find(self._heap, places * self._heap[1], found)
        return found

    def _check_not_empty(self) -> None:
        if not self._heap[1] > 0.0:
            raise ValueError('Cannot sample from an empty sum tree.')

    def get(self, node_index: Any) -> Any:
        """Returns the priority of an item, or a float64 array of those of an array of items.

        Raises:
          IndexError: an index is outside [0, capacity).
        """
        if isinstance(node_index, (int, np.integer)):
            if not 0 <= node_index < self._capacity:
                self._refuse(node_index)
            return float(self.nodes[-1][node_index])
        indices = self._indices(node_index)
        values = np.empty(indices.shape)
        bad = kernels.tree_get(self._heap, self._capacity, indices.reshape(-1), values.reshape(-1))
        if bad >= 0:
            self._refuse(indices.flat[bad])
        return values

    def set(self, node_index: Any, value: Any) -> None:
        """Sets the priority of an item, or those of an array of items, one after the other.

        Of equal indices the last one stays. When an index or a value is refused, nothing changes.

        Args:
          node_index: an index, or an integer array of them.
          value: a priority, or an array of them of the same shape.

        Raises:
          IndexError: an index is outside [0, capacity).
          ValueError: a value is negative, NaN or beyond float32; or the shapes differ.
        """
        if isinstance(node_index, (int, np.integer)):  # one item, on the way of every `add`
            index, priority = int(node_index), float(value)
            if not (0 <= index < self._capacity and 0.0 <= priority <= _LARGEST):
                self._refuse(index, priority)
            kernels.tree_set_one(self._heap, index, priority)
            self.max_recorded_priority = max(self.max_recorded_priority, priority)
            return
        indices = self._indices(node_index)
        priorities = np.array(value, np.float64)
        if priorities.shape != indices.shape:
            raise ValueError(
                'expected as many values as indices, got shapes '
                f'{priorities.shape} and {indices.shape}'
            )
        if not priorities.size:
            return
        priorities = priorities.reshape(-1)
        highest = float(priorities.max())
        bad = kernels.tree_set(
            self._heap, self._capacity, _LARGEST, indices.reshape(-1), priorities
        )
        if bad >= 0:
            self._refuse(indices.flat[bad], priorities[bad])
        self.max_recorded_priority = max(self.max_recorded_priority, highest)

    def _refuse(self, index: int, value: float = 0.0) -> None:
        if not 0 <= index < self._capacity:
            raise IndexError(f'expected an index in [0, {self._capacity}), got {index}')
        if value < 0:
            raise ValueError(f'Sum tree values should be nonnegative. Got {value}')
        raise ValueError(f'Sum tree values should be at most {_LARGEST}. Got {value}')

    @staticmethod
    def _indices(node_index: Any) -> np.ndarray:
        """Returns a fresh int64 array of the indices."""
        indices = np.asarray(node_index)
        if indices.size and indices.dtype.kind not in 'iu':
            raise TypeError(f'expected integer indices, got {node_index!r}')
        return np.array(indices, np.int64)

    def clear(self) -> None:
        """Sets all priorities to zero; `max_recorded_priority`, which never falls, stays."""
        self._heap.fill(0.0)

    def to_state_dict(self) -> dict[str, Any]:
        """Returns what `from_state_dict` needs, as plain data that shares nothing with the tree."""
        return {
            'capacity': self._capacity,
            'priorities': self.nodes[-1][: self._capacity].copy(),
            'max_recorded_priority': self.max_recorded_priority,
        }

    def from_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Becomes the tree that `to_state_dict` described.

        Raises:
          ValueError: the state is not a tree's; then nothing changes.
        """
        other = SumTree(state_dict['capacity'])
        priorities = np.asarray(state_dict['priorities'], np.float64)
        if priorities.shape != (other.capacity,):
            raise ValueError(
                f'expected {other.capacity} priorities, got an array of shape {priorities.shape}'
            )
        other.set(np.arange(other.capacity), priorities)
        other.max_recorded_priority = max(
            other.max_recorded_priority, float(state_dict['max_recorded_priority'])
        )
        self.__dict__.update(other.__dict__)

    def check_valid(self) -> tuple[bool, str]:
        """Returns whether all invariants hold, and what is wrong when one does not."""
        leaves = self.nodes[-1]
        if not (np.isfinite(leaves).all() and (leaves >= 0).all()):
            return False, 'a priority is negative, infinite or NaN'
        if leaves[self._capacity :].any():
            return False, f'a leaf beyond the capacity of {self._capacity} is not zero'
        for level in range(len(self.nodes) - 1):
            below = self.nodes[level + 1]
            wrong = np.flatnonzero(self.nodes[level] != below[0::2] + below[1::2])
            if wrong.size:
                return False, f'node {wrong[0]} of level {level} is not the sum of its children'
        if not self.max_recorded_priority >= max(1.0, leaves.max()):
            return False, f'max_recorded_priority is only {self.max_recorded_priority}'
        return True, ''

    def __getstate__(self) -> dict[str, Any]:
        # Exactly Dopamine's two attributes, so that either side reads the other's checkpoints.
        return {
            'nodes': [level.copy() for level in self.nodes],
            'max_recorded_priority': self.max_recorded_priority,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        leaves = np.asarray(state['nodes'][-1], np.float64)
        if leaves.ndim != 1 or leaves.size < 1 or leaves.size & (leaves.size - 1):
            raise ValueError(f'expected a power of two of leaves, got shape {leaves.shape}')
        if not (np.isfinite(leaves).all() and (leaves >= 0).all()):
            raise ValueError('expected finite, nonnegative priorities in a sum tree')
        largest = float(state['max_recorded_priority'])
        if not 0 <= largest < math.inf:
            raise ValueError(f'expected a finite, nonnegative largest priority, got {largest}')
        # How many of the leaves are padding is not in the state: the owner narrows the capacity.
        self._allocate(leaves.size, leaves.size)
        self.nodes[-1][:] = leaves
        kernels.tree_rebuild(self._heap)
        self.max_recorded_priority = largest

    def __deepcopy__(self, memo: dict) -> 'SumTree':
        other = type(self).__new__(type(self))
        other._allocate(self.nodes[-1].size, self._capacity)
        other._heap[:] = self._heap
        other.max_recorded_priority = self.max_recorded_priority
        return other

    def narrow(self, capacity: int) -> bool:
        """Makes the leaves from `capacity` on padding, if this many priorities fit the tree.

        A pickled tree does not say how many of its leaves are in use.

        Returns:
          Whether it did: not when there are too few or too many leaves, or one of the padding is
          not zero.
        """
        if not self.fits(capacity):
            return False
        self._capacity = capacity
        return True

    def fits(self, capacity: int) -> bool:
        """Whether the tree has the leaves for so many priorities, and zeros in those beyond."""
        leaves = self.nodes[-1]
        return 1 << (capacity - 1).bit_length() == leaves.size and not leaves[capacity:].any()


def dump(tree: SumTree, file: BinaryIO) -> None:
    """Pickles a tree under the class address that Dopamine's readers know.

    Pickle itself writes only addresses that can be imported, and `dopamine` may not be installed.
    In protocol 3 an address is plain text at the start of the stream, where it can be replaced.

    Args:
      tree: the tree.
      file: a stream open for writing.
    """
    stream = pickle.dumps(tree, protocol=3)
    start, end = b'\x80\x03c', b'\nSumTree\n'
    ours = start + SumTree.__module__.encode() + end
    assert stream.startswith(ours), 'the stream of a sum tree starts with its class'
    file.write(start + _PICKLED_MODULE.encode() + end)
    file.write(memoryview(stream)[len(ours) :])
