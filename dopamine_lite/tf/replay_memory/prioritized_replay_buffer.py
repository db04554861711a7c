"""A replay buffer that samples in proportion to priorities (Schaul et al. 2016, arXiv:1511.05952).

Its P(i) is p_i / sum_k p_k: an exponent, and the correction of the bias, are up to the agent.
"""

from collections.abc import Sequence
from typing import Any

import gin
import numpy as np
import tensorflow as tf

from dopamine_lite.tf import numpy_call
from dopamine_lite.tf.replay_memory import circular_replay_buffer, sum_tree
from dopamine_lite.tf.replay_memory.circular_replay_buffer import ReplayElement


@gin.configurable
class OutOfGraphPrioritizedReplayBuffer(circular_replay_buffer.OutOfGraphReplayBuffer):
    """Stores transitions with a priority each, the last argument of `add`.

    Attributes:
      sum_tree: the priorities, by index; saved with the rest. Padding has priority zero.
    """

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
        checkpoint_duration: int | None = None,
        keep_every: int | None = None,
    ):
        """Allocates the memory; see the base class.

        Args:
          observation_shape: shape of one frame.
          stack_size: frames of a state.
          replay_capacity: transitions that are kept, padding included.
          batch_size: transitions of a batch.
          update_horizon: n of the n-step return.
          gamma: the discount factor.
          max_sample_attempts: draws to replace invalid ones, for a whole batch.
          extra_storage_types: further elements that are stored with each transition.
          observation_dtype: type of a frame's items.
          terminal_dtype: type of the terminal signal.
          action_shape: shape of an action.
          action_dtype: its type.
          reward_shape: shape of a reward.
          reward_dtype: its type.
          checkpoint_duration: as in the base class; None leaves it to that one, and to gin.
          keep_every: likewise.
        """
        keep = {'checkpoint_duration': checkpoint_duration, 'keep_every': keep_every}
        super().__init__(
            observation_shape=observation_shape,
            stack_size=stack_size,
            replay_capacity=replay_capacity,
            batch_size=batch_size,
            update_horizon=update_horizon,
            gamma=gamma,
            max_sample_attempts=max_sample_attempts,
            extra_storage_types=extra_storage_types,
            observation_dtype=observation_dtype,
            terminal_dtype=terminal_dtype,
            action_shape=action_shape,
            action_dtype=action_dtype,
            reward_shape=reward_shape,
            reward_dtype=reward_dtype,
            # A binding on the base class holds unless a value is given here.
            **{name: value for name, value in keep.items() if value is not None},
        )
        self.sum_tree = sum_tree.SumTree(replay_capacity)

    def get_add_args_signature(self) -> list[ReplayElement]:
        """Returns the elements that `add` takes: what is stored, then the priority."""
        return [*super().get_add_args_signature(), ReplayElement('priority', (), np.float32)]

    def _add(self, *args: Any) -> None:
        """Adds one transition as it is, with its priority."""
        transition = self._name_arguments(*args)
        self.sum_tree.set(self.cursor(), float(transition.pop('priority')))
        self._add_transition(transition)

    def sample_index_batch(self, batch_size: int) -> list[int]:
        """Returns indices of valid transitions, drawn in proportion to their priorities.

        One from each of `batch_size` equal shares of the total. Those that turn out to be invalid
        are replaced, in order, by draws from the whole.

        Args:
          batch_size: how many.

        Raises:
          RuntimeError: `max_sample_attempts` draws did not replace all invalid ones.
          ValueError: all priorities are zero.
        """
        indices = self.sum_tree.stratified_sample(batch_size)
        attempts = self._max_sample_attempts
        valid = self._valid_transitions(np.array(indices, np.int64))
        if valid.all():
            return indices
        for position in np.flatnonzero(~valid).tolist():
            while True:
                if attempts == 0:
                    self._give_up(position, batch_size)
                attempts -= 1
                index = self.sum_tree.sample()
                if self.is_valid_transition(index):
                    break
            indices[position] = index
        return indices

    def _draw(self, batch_size: int, indices: Sequence[int] | None) -> Any:
        draw = super()._draw(batch_size, indices)
        for (name, *_), array in zip(draw.elements, draw.batch, strict=True):
            if name == 'sampling_probabilities':
                array[...] = self.sum_tree.get(draw.indices % self._replay_capacity)
        return draw

    def sample_transition_batch(
        self, batch_size: int | None = None, indices: Sequence[int] | None = None
    ) -> tuple[np.ndarray, ...]:
        """Returns a batch of transitions, the raw priorities among its elements.

        They are called `sampling_probabilities`, although nothing divides them by their sum.

        Args:
          batch_size: None means the buffer's own.
          indices: the transitions; they are not judged. None draws them.

        Returns:
          An array for each of `get_transition_elements`, in order.
        """
        return super().sample_transition_batch(batch_size, indices)

    def set_priority(self, indices: np.ndarray, priorities: Any) -> None:
        """Sets the priorities of stored transitions; of equal indices the last one stays.

        Args:
          indices: int32 [B].
          priorities: as many numbers.

        Raises:
          AssertionError: the indices are no int32 array.
          IndexError: an index is outside the capacity.
          ValueError: a priority is negative, infinite or NaN, or the lengths differ.
        """
        _check_indices(indices)
        self.sum_tree.set(indices, priorities)

    def get_priority(self, indices: np.ndarray) -> np.ndarray:
        """Returns the priorities of stored transitions, float32 [B].

        Args:
          indices: int32 [B].

        Raises:
          AssertionError: the indices are no int32 array.
          IndexError: an index is outside the capacity.
        """
        _check_indices(indices)
        return np.asarray(self.sum_tree.get(indices), np.float32)

    def get_transition_elements(self, batch_size: int | None = None) -> list[ReplayElement]:
        """Returns the elements of a batch; the last holds the raw priorities.

        Args:
          batch_size: None means the buffer's own.
        """
        batch = self._batch_size if batch_size is None else batch_size
        return [
            *super().get_transition_elements(batch),
            ReplayElement('sampling_probabilities', (batch,), np.float32),
        ]

    def load(self, checkpoint_dir: str, suffix: int | str) -> None:
        super().load(checkpoint_dir, suffix)
        if isinstance(self.sum_tree, sum_tree.SumTree):
            self.sum_tree.narrow(self._replay_capacity)

    def _check_loaded(self, loaded: dict[str, Any]) -> None:
        super()._check_loaded(loaded)
        if 'sum_tree' not in loaded or not isinstance(self.sum_tree, sum_tree.SumTree):
            return  # a program's own, which knows what it is
        tree = loaded['sum_tree']
        is_whole = isinstance(tree, sum_tree.SumTree) and hasattr(tree, 'nodes')
        if not is_whole or not tree.fits(self._replay_capacity):
            raise tf.errors.DataLossError(
                None, None, f'sum_tree: no sum tree of {self._replay_capacity} priorities'
            )

    def check_valid(self) -> tuple[bool, str]:
        valid, reason = super().check_valid()
        return (valid, reason) if not valid else self.sum_tree.check_valid()

    def _can_prefetch(self) -> bool:
        return (
            type(self).sample_transition_batch
            is OutOfGraphPrioritizedReplayBuffer.sample_transition_batch
            and 'sample_transition_batch' not in self.__dict__
        )


circular_replay_buffer.FIXED_ELEMENTS.add(OutOfGraphPrioritizedReplayBuffer.get_transition_elements)


def _check_indices(indices: Any) -> None:
    assert isinstance(indices, np.ndarray), f'Indices must be an array, given: {indices!r}'
    assert indices.dtype == np.int32, f'Indices must be int32s, given: {indices.dtype}'


@gin.configurable(denylist=['observation_shape', 'stack_size', 'update_horizon', 'gamma'])
class WrappedPrioritizedReplayBuffer(circular_replay_buffer.WrappedReplayBuffer):
    """A prioritized replay buffer in a graph; `transition` has `sampling_probabilities` too."""

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
        """Makes the buffer and its tensors; the arguments are the base class's.

        Raises:
          ValueError: an argument is out of its range.
        """
        circular_replay_buffer.check_wrapped(replay_capacity, update_horizon, gamma)
        if wrapped_memory is None:
            wrapped_memory = OutOfGraphPrioritizedReplayBuffer(
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
        super().__init__(
            observation_shape,
            stack_size,
            use_staging=use_staging,
            replay_capacity=replay_capacity,
            batch_size=batch_size,
            update_horizon=update_horizon,
            gamma=gamma,
            wrapped_memory=wrapped_memory,
            max_sample_attempts=max_sample_attempts,
            extra_storage_types=extra_storage_types,
            observation_dtype=observation_dtype,
            terminal_dtype=terminal_dtype,
            action_shape=action_shape,
            action_dtype=action_dtype,
            reward_shape=reward_shape,
            reward_dtype=reward_dtype,
        )

    def tf_set_priority(self, indices: tf.Tensor, priorities: tf.Tensor) -> tf.Operation:
        """Returns an op that sets the priorities of stored transitions.

        Args:
          indices: int32 [B].
          priorities: float32 [B].
        """
        return numpy_call.numpy_function(
            self.memory.set_priority,
            [indices, priorities],
            [],
            name='prioritized_replay_set_priority_py_func',
        )

    def tf_get_priority(self, indices: tf.Tensor) -> tf.Tensor:
        """Returns the priorities of stored transitions, float32 [B].

        Args:
          indices: int32 [B].
        """
        return numpy_call.numpy_function(
            self.memory.get_priority,
            [indices],
            tf.float32,
            name='prioritized_replay_get_priority_py_func',
        )
