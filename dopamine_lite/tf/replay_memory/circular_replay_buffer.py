"""A circular buffer of transitions, and its face in a TensorFlow graph.

One frame is stored for each transition, not a stack: a state is built, when it is sampled, from the
`stack_size` frames that end at its index. Whatever an n-step target needs is computed then too, so
that neither the stack nor the horizon costs memory.

An episode starts with `stack_size - 1` padding transitions of zeros, so that the stack of its first
frame does not reach back into the episode before.

Legend: B batch, K stack size, n update horizon.
"""

import collections
import contextlib
import math
import numbers
import os
import pickle
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent import futures
from typing import Any, BinaryIO, NamedTuple

import gin
import numpy as np
import tensorflow as tf
from absl import logging

from dopamine_lite import bounds, files
from dopamine_lite.tf import numpy_call
from dopamine_lite.tf.replay_memory import kernels, sum_tree

# Name, shape and NumPy type of an element of a transition, or of a batch of them. Dopamine's name
# for the type, which its pickles and reprs show.
ReplayElement = collections.namedtuple('shape_type', ['name', 'shape', 'type'])

# A batch whose indices are drawn and whose arrays are still to be filled from the store.
_Draw = collections.namedtuple('_Draw', ['indices', 'elements', 'batch'])


class _Judged(NamedTuple):
    """A stored array, whether compiled loops can read it, and, if so, two views of it.

    The views have one row for each place, `words` as unsigned integers of the items' size. A copy of
    the judgement is empty: views that are copied are no views of the copied array.
    """

    array: Any
    fits: bool = False
    rows: np.ndarray | None = None
    words: np.ndarray | None = None

    def __reduce__(self) -> tuple:
        return _Judged, (None,)


# What precedes the name of a stored array in the name of its checkpoint file.
STORE_FILENAME_PREFIX = '$store$_'

_PLAIN_NUMBERS = frozenset((bool, int, float))

# Where TensorFlow takes memory as it is: an address divisible by this needs no copy.
_ALIGNMENT = 64

# The numbers that compiled loops know: booleans, integers, float32 and float64.
_KERNEL_TYPES = frozenset('?bBhHiIlLqQfd')
# Methods of the buffer that compiled loops stand in for.
_STACK_METHODS = ('get_observation_stack', '_get_element_stack', 'get_range')
_VALIDITY_METHODS = (
    'is_valid_transition',
    'get_terminal_stack',
    '_get_element_stack',
    'get_range',
)

# Attributes that a checkpoint may lack: Dopamine did not always write them.
_OPTIONAL_IN_CHECKPOINTS = ('episode_end_indices',)


def modulo_range(start: int, length: int, modulo: int) -> list[int]:
    """Returns the `length` integers from `start` on, modulo `modulo`."""
    return [(start + i) % modulo for i in range(length)]


def invalid_range(
    cursor: int, replay_capacity: int, stack_size: int, update_horizon: int
) -> np.ndarray:
    """Returns the indices around the cursor that cannot be sampled.

    The n transitions before the cursor, whose n-step target is not stored yet, and the K from the
    cursor on, whose stack would reach back across it.

    Args:
      cursor: where the next transition will be stored.
      replay_capacity: the number of places.
      stack_size: K.
      update_horizon: n.

    Returns:
      int64 [n + K], modulo the capacity.
    """
    first, end = cursor - update_horizon, cursor + stack_size
    indices = np.arange(first, end)
    if first < 0 or end > replay_capacity:
        indices %= replay_capacity
    return indices


def check_horizon_and_gamma(update_horizon: int, gamma: float) -> None:
    """Raises a ValueError when one of the two cannot make an n-step return."""
    if not update_horizon >= 1:
        raise ValueError(f'Update horizon must be positive. Got: {update_horizon}')
    if not isinstance(update_horizon, numbers.Integral):
        raise ValueError(f'Update horizon must be a whole number. Got: {update_horizon}')
    if not 0.0 <= gamma <= 1.0:
        raise ValueError(f'Discount factor (gamma) must be in [0, 1]. Got: {gamma}')


class _BatchMemory:
    """Memory for batches: aligned for TensorFlow, and used again once nobody holds the batch.

    Memory of this size that is fresh from the system costs more than filling it: every page of it
    faults at its first use.
    """

    def __init__(self):
        # Enough for the batch in use, the last one and the next one, with two stacks each.
        # Each with the place in it that is aligned.
        self._blocks: collections.deque[tuple[np.ndarray, int]] = collections.deque(maxlen=8)
        block = np.empty(0, np.uint8)
        unheld = block, 0
        del block
        self._unheld = sys.getrefcount(unheld[0])

    def empty(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        """Returns an array of undefined content."""
        items = math.prod(shape)
        if items < 256:  # copying so little costs less than all this
            return np.empty(shape, dtype)
        dtype = np.dtype(dtype)
        if dtype.hasobject:
            return np.empty(shape, dtype)
        aligned = self._take(items * dtype.itemsize + _ALIGNMENT)
        array = np.ndarray(shape, dtype, *aligned)
        self._blocks.append(aligned)
        return array

    def _take(self, size: int) -> tuple[np.ndarray, int]:
        """Returns a block that nothing else refers to."""
        for _ in range(len(self._blocks)):
            try:
                # Taken out before it is judged, so that no two threads take the same one. The one
                # used last comes first: it may still be in the processor's cache.
                aligned = self._blocks.pop()
            except IndexError:
                break
            # An array that was made of a block refers to it, and so does a tensor made of that.
            if aligned[0].size == size and sys.getrefcount(aligned[0]) <= self._unheld:
                return aligned
            self._blocks.appendleft(aligned)
        block = np.empty(size, np.uint8)
        return block, -block.ctypes.data % _ALIGNMENT

    def __deepcopy__(self, memo: dict) -> '_BatchMemory':
        return _BatchMemory()

    def __reduce__(self) -> tuple:
        return _BatchMemory, ()


def _memory_bytes() -> tuple[int | None, int | None]:
    """Returns this machine's total and free memory, None where it does not say."""
    sizes = {}
    try:
        with open('/proc/meminfo', encoding='ascii') as file:
            for line in file:
                name, _, value = line.partition(':')
                sizes[name] = int(value.split()[0]) * 1024
    except (OSError, ValueError, IndexError):
        return None, None
    total, free = sizes.get('MemTotal'), sizes.get('MemAvailable')
    try:
        with open('/sys/fs/cgroup/memory.max', encoding='ascii') as file:
            limit = int(file.read())
        total = limit if total is None else min(total, limit)
    except (OSError, ValueError):  # no container, or one without a limit
        pass
    return total, free


# An argument of `add`: its element, and the bounds between which the element's type can hold a
# number; the bounds are None for a type that is not a number.
_AddArgument = collections.namedtuple('_AddArgument', ['name', 'shape', 'dtype', 'low', 'high'])


def _add_argument(element: ReplayElement) -> _AddArgument:
    dtype = np.dtype(element.type)
    if dtype.kind in 'ui':
        low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    elif dtype.kind in 'bfc':
        high = float(np.finfo(dtype if dtype.kind != 'b' else np.float64).max)
        low = -high
    else:
        low = high = None
    if element.name == 'priority':
        low = 0.0
    return _AddArgument(element.name, tuple(element.shape), dtype, low, high)


def _check_array(array: np.ndarray, argument: _AddArgument) -> None:
    """Raises when storing an array would turn it into another, or poison what is learnt from it.

    Raises:
      ValueError: it is of another shape, holds no numbers, NaN, infinity, or numbers beyond the
        stored type.
    """
    if array.shape != argument.shape:
        raise ValueError(f'arg has shape {array.shape}, expected {argument.shape}')
    if argument.low is None or not array.size:
        return
    if array.dtype.kind not in 'uibfc':
        raise ValueError(f'{argument.name} must be numeric, got {array.dtype}')
    if array.dtype.kind in 'fc' and not np.isfinite(array).all():
        raise ValueError(f'{argument.name} must be finite, got {array}')
    if array.dtype.kind == 'c' or (array.dtype == argument.dtype and argument.name != 'priority'):
        return
    low, high = array.min().item(), array.max().item()
    if not (argument.low <= low and high <= argument.high):
        raise ValueError(
            f'{argument.name} must be in [{argument.low}, {argument.high}] to be stored as '
            f'{argument.dtype}, got values from {low} to {high}'
        )


@gin.configurable
class OutOfGraphReplayBuffer:
    """Stores transitions and samples uniformly from those that make a full n-step transition.

    Attributes whose names do not start with an underscore are what `save` writes, a subclass's
    own included:
      add_count: a 0-d int64 array, all transitions ever added, padding included.
      invalid_range: the indices around the cursor that cannot be sampled.
      episode_end_indices: the set of stored indices that end an episode.
    """

    # Set while batches are gathered ahead, on another thread.
    _prefetcher: '_Prefetcher | None' = None
    # Whether the last transition stored came out of a checkpoint.
    _was_loaded = False
    _add_arguments_cache: list[_AddArgument] | None = None
    _add_names: Sequence[str] = ()
    # What `_episode_ends` has last seen of `episode_end_indices`.
    _ends_set: set[int] | None = None
    _num_ends = 0

    def __init__(
        self,
        observation_shape: tuple[int, ...],
        stack_size: int,
        replay_capacity: int,
        batch_size: int,
        update_horizon: int = 1,
        gamma: float = 0.99,
        max_sample_attempts: int = 1000,
        extra_storage_types: Sequence[ReplayElement] | None = None,
        observation_dtype: Any = np.uint8,
        terminal_dtype: Any = np.uint8,
        action_shape: tuple[int, ...] = (),
        action_dtype: Any = np.int32,
        reward_shape: tuple[int, ...] = (),
        reward_dtype: Any = np.float32,
        checkpoint_duration: int = 4,
        keep_every: int | None = None,
    ):
        """Allocates the memory, which is not used before it is written to.

        Args:
          observation_shape: shape of one frame.
          stack_size: K, frames of a state.
          replay_capacity: transitions that are kept, padding included.
          batch_size: transitions of a batch.
          update_horizon: n of the n-step return.
          gamma: the discount factor.
          max_sample_attempts: invalid draws after which sampling a batch gives up.
          extra_storage_types: further elements that are stored with each transition.
          observation_dtype: type of a frame's items.
          terminal_dtype: type of the terminal signal.
          action_shape: shape of an action.
          action_dtype: its type.
          reward_shape: shape of a reward.
          reward_dtype: its type.
          checkpoint_duration: how many checkpoints back `save` deletes one.
          keep_every: checkpoints whose number it divides are never deleted; None spares none.

        Raises:
          AssertionError: `observation_shape` is not a tuple.
          ValueError: another argument is out of its range.
          MemoryError: the machine cannot hold this capacity.
        """
        assert isinstance(observation_shape, tuple), (
            f'observation_shape must be a tuple, got {observation_shape!r}'
        )
        bounds.require_whole(1, stack_size=stack_size, batch_size=batch_size)
        check_horizon_and_gamma(update_horizon, gamma)
        bounds.require_whole(0, replay_capacity=replay_capacity)
        if replay_capacity < update_horizon + stack_size:
            raise ValueError('There is not enough capacity to cover update_horizon and stack_size.')
        bounds.require_whole(0, max_sample_attempts=max_sample_attempts)
        bounds.require_whole(1, checkpoint_duration=checkpoint_duration)
        if keep_every is not None:
            bounds.require_whole(1, keep_every=keep_every)

        self._action_shape = tuple(action_shape)
        self._action_dtype = action_dtype
        self._reward_shape = tuple(reward_shape)
        self._reward_dtype = reward_dtype
        self._observation_shape = observation_shape
        self._observation_dtype = observation_dtype
        self._terminal_dtype = terminal_dtype
        self._stack_size = stack_size
        self._state_shape = (*observation_shape, stack_size)
        self._replay_capacity = replay_capacity
        self._batch_size = batch_size
        self._update_horizon = update_horizon
        self._gamma = gamma
        self._max_sample_attempts = max_sample_attempts
        self._extra_storage_types = list(extra_storage_types or [])
        self._cumulative_discount_vector = np.array(
            [math.pow(gamma, step) for step in range(update_horizon)], np.float32
        )
        self._next_experience_is_episode_start = True
        self._checkpoint_duration = checkpoint_duration
        self._keep_every = keep_every

        self._batch_memory = _BatchMemory()
        self._judged_arrays: dict[str, _Judged] = {}
        self._elements_by_size: dict[int, list[ReplayElement]] = {}
        self._create_storage()
        self.add_count = np.array(0)
        self.invalid_range = np.zeros(stack_size)
        self.episode_end_indices = set()

    @property
    def _episode_end_indices(self) -> set[int]:
        """The same set under the name that it had in older versions of Dopamine."""
        return self.episode_end_indices

    def _create_storage(self) -> None:
        """Allocates one array for each stored element, zero everywhere."""
        signature = self.get_storage_signature()
        needed = sum(
            self._replay_capacity * math.prod(element.shape) * np.dtype(element.type).itemsize
            for element in signature
        )
        total, free = _memory_bytes()
        if total is not None and needed > total:
            raise MemoryError(
                f'replay_capacity={self._replay_capacity} needs {needed} bytes of memory; '
                f'this machine has {total}, of which {free} are free'
            )
        # Zeroed memory of this size comes from the system untouched: it costs nothing until used.
        self._store = {
            element.name: np.zeros((self._replay_capacity, *element.shape), element.type)
            for element in signature
        }

    def get_add_args_signature(self) -> list[ReplayElement]:
        """Returns the elements that `add` takes, in order."""
        return self.get_storage_signature()

    def get_storage_signature(self) -> list[ReplayElement]:
        """Returns the elements that are stored for each transition."""
        return [
            ReplayElement('observation', self._observation_shape, self._observation_dtype),
            ReplayElement('action', self._action_shape, self._action_dtype),
            ReplayElement('reward', self._reward_shape, self._reward_dtype),
            ReplayElement('terminal', (), self._terminal_dtype),
            *self._extra_storage_types,
        ]

    # Adding.

    def _add_zero_transition(self) -> None:
        """Adds a padding transition, zero in every element."""
        self._add(
            *(np.zeros(element.shape, element.type) for element in self.get_add_args_signature())
        )

    def add(
        self,
        observation: Any,
        action: Any,
        reward: Any,
        terminal: Any,
        *args: Any,
        priority: float | None = None,
        episode_end: bool = False,
    ) -> None:
        """Adds a transition, after the padding when it is the first of an episode.

        Nothing changes when an argument is refused.

        Args:
          observation: the frame in which the action was taken.
          action: the action.
          reward: what it earned.
          terminal: not zero when it ended the episode.
          *args: the extra elements, in the order of `get_add_args_signature`.
          priority: another way to pass a last element of that name.
          episode_end: whether the episode was cut here without being over (a time limit).

        Raises:
          ValueError: the arguments do not match `get_add_args_signature` in number or shape, one is
            NaN or infinite, or one does not fit its integer type.
        """
        if priority is not None:
            args = (*args, priority)
        transition = (observation, action, reward, terminal, *args)
        self._check_add_types(*transition)
        if self._prefetcher is not None:
            self._prefetcher.wait()
        if self._next_experience_is_episode_start:
            if self._was_loaded:
                # The episode under way when the checkpoint was made does not go on.
                self._mark_episode_end((self.cursor() - 1) % self._replay_capacity, True)
                self._was_loaded = False
            for _ in range(self._stack_size - 1):
                self._add_zero_transition()
            self._next_experience_is_episode_start = False
        index = self.cursor()
        self._add(*transition)
        if terminal or episode_end:
            self._mark_episode_end(index, True)
            self._next_experience_is_episode_start = True

    def _add(self, *args: Any) -> None:
        """Adds one transition as it is."""
        self._add_transition(self._name_arguments(*args))

    def _name_arguments(self, *args: Any) -> dict[str, Any]:
        """Returns the arguments of `add` by the names of their elements."""
        if len(args) != len(self._add_names):
            self._check_args_length(*args)
        return dict(zip(self._add_names, args, strict=True))

    @property
    def _add_arguments(self) -> list[_AddArgument]:
        """What `get_add_args_signature` says; it is asked once, at the first `add`."""
        arguments = self._add_arguments_cache
        if arguments is None:
            arguments = [_add_argument(element) for element in self.get_add_args_signature()]
            self._add_names = [argument.name for argument in arguments]
            self._add_arguments_cache = arguments
        return arguments

    def _add_transition(self, transition: dict[str, Any]) -> None:
        """Writes a transition at the cursor and moves on.

        Args:
          transition: a value for each stored element.
        """
        count, capacity, store = int(self.add_count), self._replay_capacity, self._store
        cursor = count % capacity
        for name, value in transition.items():
            store[name][cursor] = value
        if cursor in self.episode_end_indices:
            self._mark_episode_end(cursor, False)
        self.add_count = np.array(count + 1)
        self.invalid_range = invalid_range(
            (count + 1) % capacity, capacity, self._stack_size, self._update_horizon
        )

    def _check_args_length(self, *args: Any) -> None:
        """Raises a ValueError unless there is one argument for each element of the signature."""
        expected = len(self._add_arguments)
        if len(args) != expected:
            raise ValueError(f'Add expects {expected} elements, received {len(args)}')

    def _check_add_types(self, *args: Any) -> None:
        """Raises a ValueError unless each argument fits its element in shape and value."""
        arguments = self._add_arguments_cache or self._add_arguments
        if len(args) != len(arguments):
            self._check_args_length(*args)
        for value, argument in zip(args, arguments, strict=True):
            _, shape, dtype, low, high = argument
            # The usual arguments first: frames of the stored type, or of a narrower float, and
            # plain numbers.
            kind = type(value)
            if kind is np.ndarray:
                given = value.dtype
                if value.shape == shape != ():
                    if given is dtype and dtype.kind in 'uib':
                        continue
                    # The sum of squares, one quick call, is finite only if all of them are.
                    if dtype.kind == given.kind == 'f' and given.itemsize <= dtype.itemsize:
                        if np.vdot(value, value) < np.inf:
                            continue
            elif not shape and low is not None:
                if kind not in _PLAIN_NUMBERS and isinstance(value, np.generic):
                    value = value.item()
                    kind = type(value)
                # NaN compares false with everything.
                if kind in _PLAIN_NUMBERS and low <= value <= high:
                    continue
            _check_array(np.asarray(value), argument)

    def is_empty(self) -> bool:
        """Returns whether nothing has been added."""
        return bool(self.add_count == 0)

    def is_full(self) -> bool:
        """Returns whether every place has been written to."""
        return int(self.add_count) >= self._replay_capacity

    def cursor(self) -> int:
        """Returns the index where the next transition will be stored."""
        return int(self.add_count) % self._replay_capacity

    # Reading single transitions.

    def get_range(self, array: np.ndarray, start_index: int, end_index: int) -> np.ndarray:
        """Returns consecutive rows of an array, in circular order.

        Args:
          array: an array with one row for each place.
          start_index: the first row, modulo the capacity when negative.
          end_index: one beyond the last row; may exceed the capacity.

        Raises:
          AssertionError: the range is empty or outside what has been added.
        """
        assert end_index > start_index, 'end_index must be larger than start_index'
        assert end_index >= 0, f'end_index must not be negative, got {end_index}'
        assert start_index < self._replay_capacity, (
            f'start_index must be below {self._replay_capacity}, got {start_index}'
        )
        if not self.is_full():
            assert end_index <= self.cursor(), f'Index {start_index} has not been added.'
        if start_index >= 0 and end_index <= self._replay_capacity:
            return array[start_index:end_index]
        return array[modulo_range(start_index, end_index - start_index, self._replay_capacity), ...]

    def get_observation_stack(self, index: int) -> np.ndarray:
        """Returns the state at an index: its frames, oldest first, on the last axis."""
        return np.moveaxis(self._get_element_stack(index, 'observation'), 0, -1)

    def _get_element_stack(self, index: int, element_name: str) -> np.ndarray:
        """Returns an element of the K transitions that end at an index, oldest first."""
        return self.get_range(self._store[element_name], index - self._stack_size + 1, index + 1)

    def get_terminal_stack(self, index: int) -> np.ndarray:
        """Returns the terminal signals of the K transitions that end at an index, oldest first."""
        return self._get_element_stack(index, 'terminal')

    def is_valid_transition(self, index: int) -> bool:
        """Returns whether the transition at an index may be sampled.

        Its stack has to be complete and of one episode, and its n-step target has to be stored: n
        more transitions, none of which ends the episode without a terminal.
        """
        first, last = self._sampling_bounds()
        if not first <= index < last or (np.asarray(self.invalid_range) == index).any():
            return False
        if np.any(self.get_terminal_stack(index)[:-1]):
            return False
        capacity = self._replay_capacity
        if any(
            i in self.episode_end_indices
            for i in modulo_range(index - self._stack_size + 1, self._stack_size - 1, capacity)
        ):
            return False
        return not any(
            i in self.episode_end_indices and not self._store['terminal'][i]
            for i in modulo_range(index, self._update_horizon, capacity)
        )

    def _sampling_bounds(self) -> tuple[int, int]:
        """Returns the lowest index that may be sampled, and one above the highest."""
        if self.is_full():
            return 0, self._replay_capacity
        return self._stack_size - 1, self.cursor() - self._update_horizon

    def _valid_transitions(self, indices: np.ndarray) -> np.ndarray:
        """Returns what `is_valid_transition` says of each index.

        Args:
          indices: int64 [B].

        Returns:
          bool [B].
        """
        terminals = self._store['terminal']
        if not (self._uses_own(*_VALIDITY_METHODS) and self._fits_kernels('terminal')):
            return np.array([bool(self.is_valid_transition(int(i))) for i in indices], bool)
        valid = np.empty(indices.shape[0], bool)
        kernels.valid_transitions(
            indices,
            terminals,
            self._episode_ends(),
            np.asarray(self.invalid_range, np.int64).reshape(-1),
            *self._sampling_bounds(),
            self._stack_size,
            self._update_horizon,
            valid,
        )
        return valid

    # Sampling.

    def _create_batch_arrays(self, batch_size: int) -> tuple[np.ndarray, ...]:
        """Returns an array of undefined content for each element of a batch."""
        return self._empty_batch(self.get_transition_elements(batch_size))

    def _empty_batch(self, elements: Sequence[ReplayElement]) -> tuple[np.ndarray, ...]:
        empty = self._batch_memory.empty
        return tuple([empty(shape, dtype) for _, shape, dtype in elements])

    def sample_index_batch(self, batch_size: int) -> list[int]:
        """Returns indices of valid transitions, drawn uniformly with NumPy's global generator.

        Args:
          batch_size: how many.

        Raises:
          RuntimeError: too little is stored, or `max_sample_attempts` draws were invalid.
        """
        cursor = self.cursor()
        if self.is_full():
            low = cursor - self._replay_capacity + self._stack_size - 1
        else:
            low = self._stack_size - 1
        high = cursor - self._update_horizon
        if low >= high:
            raise RuntimeError(
                f'Cannot sample a batch with fewer than stack size ({self._stack_size}) + '
                f'update_horizon ({self._update_horizon}) transitions.'
            )
        indices: list[int] = []
        attempts = 0
        while len(indices) < batch_size:
            # As many draws as are missing give the same numbers as drawing them one by one.
            draws = np.random.randint(low, high, size=batch_size - len(indices))
            draws = np.atleast_1d(np.asarray(draws, np.int64)) % self._replay_capacity
            valid = self._valid_transitions(draws)
            if valid.all():
                indices.extend(draws.tolist())
                break
            failures = np.flatnonzero(~valid)
            if attempts + failures.size >= self._max_sample_attempts and failures.size:
                last = failures[self._max_sample_attempts - attempts - 1]
                self._give_up(len(indices) + int(valid[:last].sum()), batch_size)
            attempts += failures.size
            indices.extend(draws[valid].tolist())
        return indices

    def _give_up(self, num_sampled: int, batch_size: int) -> None:
        raise RuntimeError(
            f'Max sample attempts: Tried {self._max_sample_attempts} times but only sampled '
            f'{num_sampled} valid indices. Batch size is {batch_size}'
        )

    def sample_transition_batch(
        self, batch_size: int | None = None, indices: Sequence[int] | None = None
    ) -> tuple[np.ndarray, ...]:
        """Returns a batch of transitions.

        The reward is the sum of the discounted rewards of n steps, or of those up to and including
        the first terminal among them; `terminal` is 1 when there was one; the `next_` elements are
        taken at the index after those steps (and have no meaning after a terminal).

        Args:
          batch_size: None means the buffer's own.
          indices: the transitions; they are not judged. None draws them.

        Returns:
          An array for each of `get_transition_elements`, in order. Those that are neither stored
          nor known are left for a subclass to fill.

        Raises:
          RuntimeError: as `sample_index_batch`.
        """
        if batch_size is None:
            batch_size = self._batch_size
        draw = self._draw(batch_size, indices)
        self._gather(*draw)
        return draw.batch

    def _draw(self, batch_size: int, indices: Sequence[int] | None) -> '_Draw':
        """Decides what is in a batch, and fills in what depends on more than the store.

        Args:
          batch_size: B.
          indices: the transitions, or None to draw them.
        """
        if indices is None:
            indices = self.sample_index_batch(batch_size)
        assert len(indices) == batch_size, f'expected {batch_size} indices, got {len(indices)}'
        elements = self._elements_of_batch(batch_size)
        if self._uses_own('_create_batch_arrays'):
            batch = self._empty_batch(elements)
        else:
            batch = self._create_batch_arrays(batch_size)
        return _Draw(np.array(indices, np.int64), elements, batch)

    def _gather(
        self,
        indices: np.ndarray,
        elements: Sequence[ReplayElement],
        batch: Sequence[np.ndarray],
    ) -> None:
        """Fills a batch from the store; draws nothing and changes nothing but the batch.

        Args:
          indices: int64 [B].
          elements: what the arrays of the batch are.
          batch: the arrays.
        """
        capacity = self._replay_capacity
        next_indices, terminated = self._trajectory_ends(indices)
        rows = indices % capacity
        for element, array in zip(elements, batch, strict=True):
            name = element.name
            if name == 'state':
                self._gather_stacks(indices, array)
            elif name == 'next_state':
                self._gather_stacks(next_indices, array)
            elif name == 'reward':
                self._gather_returns(indices, next_indices, array)
            elif name == 'terminal':
                array[...] = terminated
            elif name == 'indices':
                array[...] = indices
            elif name in ('next_action', 'next_reward'):
                array[...] = self._store[name.removeprefix('next_')][next_indices]
            elif name in self._store:
                array[...] = self._store[name][rows]

    def _trajectory_ends(self, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns the index after each transition's steps, and whether a terminal ended them."""
        terminals = self._store['terminal']
        if not self._fits_kernels('terminal'):
            terminals = np.take(terminals, range(self._replay_capacity), axis=0) != 0
        next_indices = np.empty(indices.shape[0], np.int64)
        terminated = np.empty(indices.shape[0], bool)
        kernels.trajectory_ends(
            indices,
            terminals,
            self._replay_capacity,
            self._update_horizon,
            next_indices,
            terminated,
        )
        return next_indices, terminated

    def _gather_returns(
        self, indices: np.ndarray, next_indices: np.ndarray, returns: np.ndarray
    ) -> None:
        """Writes the discounted n-step sums of rewards, [B, *reward_shape]."""
        rewards = self._store['reward']
        if (
            self._uses_own('get_range')
            and self._fits_kernels('reward')
            and returns.dtype == rewards.dtype
            and returns.shape[1:] == rewards.shape[1:]
            and returns.flags.c_contiguous
        ):
            kernels.discounted_sums(
                indices,
                next_indices,
                self._judged_arrays['reward'].rows,
                self._cumulative_discount_vector,
                self._replay_capacity,
                returns.reshape(returns.shape[0], -1),
            )
            return
        for row, (index, next_index) in enumerate(
            zip((indices % self._replay_capacity).tolist(), next_indices.tolist(), strict=True)
        ):
            length = (next_index - index) % self._replay_capacity
            steps = self.get_range(rewards, index, index + length)
            discounts = self._cumulative_discount_vector[:length]
            returns[row] = np.sum((discounts * np.moveaxis(steps, 0, -1)), axis=-1)

    def _gather_stacks(self, indices: np.ndarray, states: np.ndarray) -> None:
        """Writes the state at each index, [B, *observation_shape, K]."""
        frames = self._store['observation']
        if (
            self._uses_own(*_STACK_METHODS)
            and self._fits_kernels('observation')
            and states.dtype == frames.dtype
            and states.flags.c_contiguous
            and states.shape[1:] == (*frames.shape[1:], self._stack_size)
        ):
            words = self._judged_arrays['observation'].words
            kernels.gather_stacks(
                words,
                indices,
                self._replay_capacity,
                states.view(words.dtype).reshape(states.shape[0], -1, self._stack_size),
            )
            return
        for row, index in enumerate(indices.tolist()):
            states[row] = self.get_observation_stack(index % self._replay_capacity)

    def get_transition_elements(self, batch_size: int | None = None) -> list[ReplayElement]:
        """Returns the elements of a batch, in order, with their shapes and types.

        Args:
          batch_size: None means the buffer's own.
        """
        batch = self._batch_size if batch_size is None else batch_size
        return [
            ReplayElement('state', (batch, *self._state_shape), self._observation_dtype),
            ReplayElement('action', (batch, *self._action_shape), self._action_dtype),
            ReplayElement('reward', (batch, *self._reward_shape), self._reward_dtype),
            ReplayElement('next_state', (batch, *self._state_shape), self._observation_dtype),
            ReplayElement('next_action', (batch, *self._action_shape), self._action_dtype),
            ReplayElement('next_reward', (batch, *self._reward_shape), self._reward_dtype),
            ReplayElement('terminal', (batch,), self._terminal_dtype),
            ReplayElement('indices', (batch,), np.int32),
            *(
                ReplayElement(element.name, (batch, *element.shape), element.type)
                for element in self._extra_storage_types
            ),
        ]

    def _elements_of_batch(self, batch_size: int) -> list[ReplayElement]:
        """Returns `get_transition_elements`, asked once for each size unless it is overridden."""
        method = type(self).get_transition_elements
        if method not in FIXED_ELEMENTS or 'get_transition_elements' in self.__dict__:
            return self.get_transition_elements(batch_size)
        elements = self._elements_by_size.get(batch_size)
        if elements is None:
            elements = self._elements_by_size[batch_size] = self.get_transition_elements(batch_size)
        return elements

    def _can_prefetch(self) -> bool:
        """Returns whether a batch may be gathered ahead of `sample_transition_batch`'s call."""
        return self._uses_own('sample_transition_batch')

    # When a compiled loop may stand in for a method.

    def _uses_own(self, *names: str) -> bool:
        """Returns whether none of these methods has been overridden, in a class or the object."""
        cls, instance = type(self), self.__dict__
        for name in names:
            if getattr(cls, name) is not _OWN_METHODS[name] or name in instance:
                return False
        return True

    def _fits_kernels(self, name: str) -> bool:
        """Returns whether compiled loops, which check no bounds, can read a stored array.

        Arrays are judged when they are new: users replace them.
        """
        array = self._store[name]
        judged = self._judged_arrays.get(name)
        if judged is None or judged.array is not array:
            judged = self._judged_arrays[name] = self._judge(array)
        return judged.fits

    def _judge(self, array: Any) -> _Judged:
        if not (
            isinstance(array, np.ndarray)
            and array.ndim > 0
            and array.shape[0] >= self._replay_capacity
            and array.flags.c_contiguous
            and array.dtype.isnative
            and array.dtype.char in _KERNEL_TYPES
        ):
            return _Judged(array)
        rows = array.reshape(array.shape[0], math.prod(array.shape[1:]))
        # Moving items needs only their size: one compilation serves every type of that size.
        return _Judged(array, True, rows, rows.view(f'u{array.itemsize}'))

    def _episode_ends(self) -> np.ndarray:
        """Returns `episode_end_indices` as bool [capacity].

        The set is public, and users replace or change it, so the array is only a copy. It is made
        anew whenever the set is another object, or holds another number of indices, than it shows.
        """
        ends = self.episode_end_indices
        if self._ends_set is not ends or self._num_ends != len(ends):
            indices = np.fromiter(ends, np.int64, len(ends))
            stored = (indices >= 0) & (indices < self._replay_capacity)
            self._ends_array = np.zeros(self._replay_capacity, bool)
            self._ends_array[indices[stored]] = True
            self._ends_set, self._num_ends = ends, len(ends)
        return self._ends_array

    def _mark_episode_end(self, index: int, is_end: bool) -> None:
        """Adds an index to `episode_end_indices` or takes it out."""
        in_step = self._ends_set is self.episode_end_indices and self._num_ends == len(
            self.episode_end_indices
        )
        if is_end:
            self.episode_end_indices.add(index)
        else:
            self.episode_end_indices.discard(index)
        if in_step:
            self._ends_array[index] = is_end
            self._num_ends = len(self.episode_end_indices)

    def check_valid(self) -> tuple[bool, str]:
        """Returns whether all invariants hold, and what is wrong when one does not."""
        capacity, cursor = self._replay_capacity, self.cursor()
        if int(self.add_count) < 0:
            return False, f'add_count is {self.add_count}'
        for element in self.get_storage_signature():
            shape = self._store[element.name].shape
            if shape != (capacity, *element.shape):
                return False, f'{element.name} is stored in an array of shape {shape}'
        stored = range(capacity if self.is_full() else cursor)
        strangers = [i for i in self.episode_end_indices if i not in stored]
        if strangers:
            return False, f'episode_end_indices holds {strangers[0]}, which is not stored'
        terminals = set(np.flatnonzero(self._store['terminal'][: len(stored)]).tolist())
        if not terminals <= set(self.episode_end_indices):
            return False, 'a terminal is not among episode_end_indices'
        if not self.is_empty():
            expected = invalid_range(cursor, capacity, self._stack_size, self._update_horizon)
            if not np.array_equal(self.invalid_range, expected):
                return False, f'invalid_range is {self.invalid_range}, expected {expected}'
        return True, ''

    # Checkpoints.

    def _generate_filename(self, checkpoint_dir: str, name: str, suffix: int | str) -> str:
        """Returns the path of the checkpoint file of one attribute or stored array."""
        return os.path.join(checkpoint_dir, f'{name}_ckpt.{suffix}.gz')

    def _return_checkpointable_elements(self) -> dict[str, Any]:
        """Returns what a checkpoint holds, by the name of its file.

        Every attribute without a leading underscore, and every stored array.
        """
        elements = {
            name: value for name, value in self.__dict__.items() if not name.startswith('_')
        }
        for name, array in self._store.items():
            elements[STORE_FILENAME_PREFIX + name] = array
        return elements

    def save(self, checkpoint_dir: str, iteration_number: int) -> None:
        """Writes a checkpoint, and then deletes the one of `checkpoint_duration` iterations ago.

        Each file is gzip of an array file (`numpy.save`) or of a pickle, and either complete or not
        there. Does nothing if the folder does not exist.

        Args:
          checkpoint_dir: the folder.
          iteration_number: the suffix of this checkpoint's files.
        """
        if not os.path.exists(checkpoint_dir):
            return
        elements = self._return_checkpointable_elements()
        for name, value in elements.items():
            filename = self._generate_filename(checkpoint_dir, name, iteration_number)
            with files.atomic_write(filename) as file, files.open_gzip_write(file) as stream:
                _write_element(stream, value)
        stale = iteration_number - self._checkpoint_duration
        if self._keep_every is not None and stale % self._keep_every == 0:
            return
        for name in elements:
            with contextlib.suppress(FileNotFoundError):
                os.remove(self._generate_filename(checkpoint_dir, name, stale))

    def load(self, checkpoint_dir: str, suffix: int | str) -> None:
        """Becomes what a checkpoint holds.

        Nothing changes unless every file is there and can be read. An array is replaced by what the
        file holds, whatever its shape and type.

        Args:
          checkpoint_dir: the folder.
          suffix: the iteration number of the checkpoint.

        Raises:
          tf.errors.NotFoundError: a file is missing.
          tf.errors.DataLossError: a file is damaged.
          pickle.UnpicklingError: a file holds an object of a class that is not allowed.
        """
        filenames = {}
        for name in self._return_checkpointable_elements():
            filename = self._generate_filename(checkpoint_dir, name, suffix)
            if os.path.exists(filename):
                filenames[name] = filename
            elif name in _OPTIONAL_IN_CHECKPOINTS:
                logging.warning('%s is missing; going on without it.', filename)
            else:
                raise tf.errors.NotFoundError(None, None, f'Missing file: {filename}')
        loaded = {name: _read_element(filename) for name, filename in filenames.items()}
        self._check_loaded(loaded)
        if self._prefetcher is not None:
            self._prefetcher.discard()
        self._judged_arrays.clear()  # it would keep the arrays that are replaced
        for name, value in loaded.items():
            if name.startswith(STORE_FILENAME_PREFIX):
                self._store[name.removeprefix(STORE_FILENAME_PREFIX)] = value
            else:
                self.__dict__[name] = value
        self._was_loaded = not self.is_empty()

    def _check_loaded(self, loaded: dict[str, Any]) -> None:
        """Raises a DataLossError if what was read, by element, cannot be this buffer's."""


# Methods that give the same elements each time they are asked for a batch of one size.
FIXED_ELEMENTS = {OutOfGraphReplayBuffer.get_transition_elements}

# The methods that `_uses_own` asks for, as they are here.
_OWN_METHODS = {
    name: getattr(OutOfGraphReplayBuffer, name)
    for name in (
        *_VALIDITY_METHODS,
        *_STACK_METHODS,
        '_create_batch_arrays',
        'sample_transition_batch',
    )
}


def _write_element(stream: BinaryIO, value: Any) -> None:
    """Writes an attribute the way that Dopamine's readers expect it."""
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        files.write_array(stream, value)
    elif type(value) is sum_tree.SumTree:
        sum_tree.dump(value, stream)
    else:
        pickle.dump(value, stream)


def _read_element(filename: str) -> Any:
    """Reads an attribute that `_write_element`, or Dopamine, wrote.

    Raises:
      tf.errors.DataLossError: the file is damaged.
      pickle.UnpicklingError: it holds an object of a class that is not allowed.
    """
    # Here, because the allow-list names classes of this package.
    from dopamine_lite.compat import pickles

    try:
        with files.open_gzip_read(filename) as stream:
            is_array = stream.peek(6)[:6] == np.lib.format.MAGIC_PREFIX
            value = files.read_array(stream) if is_array else pickles.load(stream, filename)
            # The checksum is compared at the end of the stream.
            if stream.read(1):
                raise ValueError('more content than expected')
            return value
    except pickles.ForbiddenPickle:
        raise
    except Exception as error:
        raise tf.errors.DataLossError(None, None, f'{filename} is damaged: {error}') from error


class _Prefetcher:
    """Gathers the next batch on another thread while the present one is used.

    What is in the next batch is decided by the caller's thread at the moment when the present one
    is handed over; only the copying out of the store happens elsewhere. So the random numbers come
    in a fixed order, and the batch does not depend on how fast either thread is.
    """

    def __init__(self, memory: OutOfGraphReplayBuffer):
        self._memory = memory
        self._lock = threading.Lock()
        self._thread = futures.ThreadPoolExecutor(1, thread_name_prefix='replay_prefetch')
        self._next: futures.Future | None = None

    def sample_transition_batch(self) -> tuple[np.ndarray, ...]:
        """Returns the batch decided on at the previous call, and decides on the next one.

        Raises:
          Exception: whatever gathering the batch raised on the other thread.
        """
        with self._lock:
            present, self._next = self._next or self._start(), None
            batch = present.result()
            # Too little may be valid for another batch by now. Whether that is so when the next
            # one is asked for is decided then.
            with contextlib.suppress(RuntimeError, ValueError):
                self._next = self._start()
            return batch

    def _start(self) -> futures.Future:
        draw = self._memory._draw(self._memory._batch_size, None)
        return self._thread.submit(self._fill, draw)

    def _fill(self, draw: _Draw) -> tuple[np.ndarray, ...]:
        self._memory._gather(*draw)
        return draw.batch

    def wait(self) -> None:
        """Returns when the store is not being read."""
        with self._lock:
            if self._next is not None:
                futures.wait([self._next])

    def __deepcopy__(self, memo: dict) -> None:
        return None  # a copy of a buffer is in no graph, so nothing asks it for staged batches

    def pending(self) -> list[np.ndarray] | None:
        """Returns the batch that was decided on, if one was."""
        with self._lock:
            return None if self._next is None else list(self._next.result())

    def resume(self, batch: Sequence[np.ndarray]) -> None:
        """Makes a batch that `pending` returned the next one, if the graph expects one like it."""
        self.discard()
        memory = self._memory
        expected = memory._elements_of_batch(memory._batch_size)
        if [(tuple(e.shape), np.dtype(e.type)) for e in expected] != [
            (array.shape, array.dtype) for array in batch
        ]:
            logging.warning('The batch that was drawn ahead is of other shapes: another is drawn')
            return
        ready: futures.Future = futures.Future()
        ready.set_result(tuple(batch))
        with self._lock:
            self._next = ready

    def discard(self) -> None:
        """Forgets the batch that was decided on."""
        self.wait()
        with self._lock:
            self._next = None


@gin.configurable(denylist=['observation_shape', 'stack_size', 'update_horizon', 'gamma'])
class WrappedReplayBuffer:
    """A replay buffer in a graph: tensors that hold a new batch at every run of a session.

    Attributes:
      memory: the buffer behind the tensors.
      batch_size: transitions of a batch.
      transition: an ordered dict of the batch's tensors by the names of its elements.
      states, actions, rewards, next_states, next_actions, next_rewards, terminals, indices: those
        of them that every buffer has.
    """

    def __init__(
        self,
        observation_shape: tuple[int, ...],
        stack_size: int,
        use_staging: bool = False,
        replay_capacity: int = 1000000,
        batch_size: int = 32,
        update_horizon: int = 1,
        gamma: float = 0.99,
        wrapped_memory: Any = None,
        max_sample_attempts: int = 1000,
        extra_storage_types: Sequence[ReplayElement] | None = None,
        observation_dtype: Any = np.uint8,
        terminal_dtype: Any = np.uint8,
        action_shape: tuple[int, ...] = (),
        action_dtype: Any = np.int32,
        reward_shape: tuple[int, ...] = (),
        reward_dtype: Any = np.float32,
    ):
        """Makes the buffer and its tensors, in the current default graph.

        Args:
          observation_shape: shape of one frame.
          stack_size: frames of a state.
          use_staging: whether to gather each batch while the graph runs on the one before.
          replay_capacity: transitions that are kept, padding included.
          batch_size: transitions of a batch.
          update_horizon: n of the n-step return.
          gamma: the discount factor.
          wrapped_memory: a buffer to use instead of making one: anything with `add`, `load`,
            `save`, `sample_transition_batch` and `get_transition_elements`.
          max_sample_attempts: invalid draws after which sampling a batch gives up.
          extra_storage_types: further elements that are stored with each transition.
          observation_dtype: type of a frame's items.
          terminal_dtype: type of the terminal signal.
          action_shape: shape of an action.
          action_dtype: its type.
          reward_shape: shape of a reward.
          reward_dtype: its type.

        Raises:
          ValueError: an argument is out of its range.
        """
        check_wrapped(replay_capacity, update_horizon, gamma)
        self.batch_size = batch_size
        if wrapped_memory is None:
            wrapped_memory = OutOfGraphReplayBuffer(
                observation_shape,
                stack_size,
                replay_capacity,
                batch_size,
                update_horizon,
                gamma,
                max_sample_attempts,
                extra_storage_types=extra_storage_types,
                observation_dtype=observation_dtype,
                terminal_dtype=terminal_dtype,
                action_shape=action_shape,
                action_dtype=action_dtype,
                reward_shape=reward_shape,
                reward_dtype=reward_dtype,
            )
        self.memory = wrapped_memory
        self.create_sampling_ops(use_staging)

    def add(
        self,
        observation: Any,
        action: Any,
        reward: Any,
        terminal: Any,
        *args: Any,
        episode_end: bool = False,
    ) -> None:
        """Adds a transition to the memory; see its `add`.

        Args:
          observation: the frame in which the action was taken.
          action: the action.
          reward: what it earned.
          terminal: not zero when it ended the episode.
          *args: the extra elements.
          episode_end: whether the episode was cut here without being over. Passed on only when it
            is true: a memory need not know it otherwise.
        """
        if episode_end:
            self.memory.add(observation, action, reward, terminal, *args, episode_end=True)
        else:
            self.memory.add(observation, action, reward, terminal, *args)

    def create_sampling_ops(self, use_staging: bool) -> None:
        """Makes the tensors of a batch and sets the attributes that hold them.

        Args:
          use_staging: whether to gather each batch ahead. A memory that is not one of this
            package's, or that overrides `sample_transition_batch`, is sampled when it is asked.
        """
        with tf.name_scope('sample_replay'), tf.device('/cpu:*'):
            transition_type = self.memory.get_transition_elements()
            transition_tensors = numpy_call.numpy_function(
                self._sampling_function(use_staging),
                [],
                [element.type for element in transition_type],
                name='replay_sample_py_func',
            )
            self._set_transition_shape(transition_tensors, transition_type)
            if use_staging:
                transition_tensors = self._set_up_staging(transition_tensors)
                self._set_transition_shape(transition_tensors, transition_type)
            self.unpack_transition(transition_tensors, transition_type)

    def _sampling_function(self, use_staging: bool) -> Callable[[], tuple[np.ndarray, ...]]:
        """Returns what a run of the graph calls for a batch."""
        memory = self.memory
        if use_staging and getattr(memory, '_can_prefetch', lambda: False)() is True:
            memory._prefetcher = _Prefetcher(memory)
            return memory._prefetcher.sample_transition_batch
        return memory.sample_transition_batch

    def _set_transition_shape(
        self, transition: Sequence[tf.Tensor], transition_type: Sequence[ReplayElement]
    ) -> None:
        """Sets the static shape of each tensor."""
        for tensor, element in zip(transition, transition_type, strict=True):
            tensor.set_shape(tuple(element.shape))

    def _set_up_staging(self, transition: Sequence[tf.Tensor]) -> Sequence[tf.Tensor]:
        """Returns the tensors that training reads when `use_staging` is on.

        They are the same: a batch is staged before it enters the graph. A place for subclasses.
        """
        return transition

    def unpack_transition(
        self,
        transition_tensors: Sequence[tf.Tensor],
        transition_type: Sequence[ReplayElement],
    ) -> None:
        """Sets `transition` and the attributes for its usual elements.

        Args:
          transition_tensors: the tensors of a batch.
          transition_type: their elements, in the same order.
        """
        self.transition = collections.OrderedDict(
            (element.name, tensor)
            for tensor, element in zip(transition_tensors, transition_type, strict=True)
        )
        self.states = self.transition['state']
        self.actions = self.transition['action']
        self.rewards = self.transition['reward']
        self.next_states = self.transition['next_state']
        self.next_actions = self.transition['next_action']
        self.next_rewards = self.transition['next_reward']
        self.terminals = self.transition['terminal']
        self.indices = self.transition['indices']

    def save(self, checkpoint_dir: str, iteration_number: int) -> None:
        """Saves the memory; see its `save`."""
        self.memory.save(checkpoint_dir, iteration_number)

    def load(self, checkpoint_dir: str, suffix: int | str) -> None:
        """Loads the memory; see its `load`."""
        self.memory.load(checkpoint_dir, suffix)


def check_wrapped(replay_capacity: int, update_horizon: int, gamma: float) -> None:
    """Raises a ValueError when a wrapped buffer cannot have these settings."""
    bounds.require_whole(0, replay_capacity=replay_capacity)
    if replay_capacity < update_horizon + 1:
        raise ValueError(
            f'Update horizon ({update_horizon}) should be significantly smaller than replay '
            f'capacity ({replay_capacity}).'
        )
    check_horizon_and_gamma(update_horizon, gamma)
