"""Prioritized replay as the agents use it (Schaul et al. 2016, arXiv:1511.05952).

The replay buffer samples in proportion to whatever priorities it holds. The exponent alpha is the
agent's: it writes the priority

    p_i = (|error_i| + epsilon)^alpha

so that P(i) = p_i / sum_k p_k is the paper's Eq. 1, and the sum tree, its files and its largest
priority so far, which a new transition gets, are the same for every alpha.

Rainbow's own setting, `Prioritization()`, is alpha = beta = 0.5 with nothing annealed, the losses
being the errors.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from dopamine_lite import bounds
from dopamine_lite.tf.agents import non_finite
from dopamine_lite.tf.replay_memory import prioritized_replay_buffer

# Keeps the weight of a priority of zero finite.
_SMALLEST_PRIORITY = 1e-10
# Of a replay's priorities, for their quantiles.
_PRIORITIES_LOOKED_AT = 10_000


def _power(base: tf.Tensor, exponent: Any) -> tf.Tensor:
    """base^exponent, for a number or a tensor []; half powers through the square root."""
    if tf.is_tensor(exponent):
        return tf.pow(base, exponent)
    if exponent == 0.5:
        return tf.sqrt(base)
    if exponent == -0.5:
        return 1.0 / tf.sqrt(base)
    return tf.pow(base, tf.constant(exponent, base.dtype))


def importance_weights(sampled_priorities: tf.Tensor, beta: Any = 0.5) -> tf.Tensor:
    """Weights that undo the bias of prioritized sampling: (N P(i))^-beta over the largest.

    Section 3.4 of Schaul et al. (2016). N, the number of stored transitions, and the sum of their
    priorities cancel in the division by the largest weight of the batch.

    Args:
      sampled_priorities: [B], the priorities p_i of the sampled transitions.
      beta: how much of the bias is undone, from 0 (nothing) to 1; a number or a tensor [].

    Returns:
      [B], in (0, 1].
    """
    weights = _power(sampled_priorities + _SMALLEST_PRIORITY, -beta)
    return weights / tf.reduce_max(weights)


@dataclasses.dataclass(frozen=True)
class Prioritization:
    """How errors become priorities, and priorities the weights of the losses.

    Attributes:
      alpha: how much the errors matter, from 0 (uniform sampling) to 1.
      beta: how much of the sampling's bias is undone at first, from 0 to 1.
      beta_anneal_steps: training steps over which beta rises linearly to 1; None leaves it as it is.
      epsilon: is added to the errors, so that every transition can be sampled again; above 0.

    Raises:
      ValueError: one of them is outside its range.
    """

    alpha: float = 0.5
    beta: float = 0.5
    beta_anneal_steps: int | None = None
    epsilon: float = 1e-10

    def __post_init__(self):
        bounds.require_share(alpha=self.alpha, beta=self.beta)
        if self.beta_anneal_steps is not None:
            bounds.require_above(0, beta_anneal_steps=self.beta_anneal_steps)
        # In float32, as it is added to the errors.
        bounds.require_above(0, priority_epsilon=self.epsilon)
        if not np.float32(self.epsilon) > 0:
            raise ValueError(f'priority_epsilon must be above 0 in float32, got {self.epsilon}')

    def beta_at(self, training_steps: int) -> float:
        """Returns beta after so many training steps."""
        if self.beta_anneal_steps is None:
            return self.beta
        progress = min(max(training_steps / self.beta_anneal_steps, 0.0), 1.0)
        return self.beta + (1.0 - self.beta) * progress

    def priorities(self, errors: tf.Tensor) -> tf.Tensor:
        """Returns the priorities [B] of transitions with these errors, which are not negative."""
        return _power(errors + self.epsilon, self.alpha)

    def weights(
        self, sampled_priorities: tf.Tensor, training_steps: Callable[[], int]
    ) -> tf.Tensor:
        """Returns the weights [B] of sampled transitions.

        Args:
          sampled_priorities: [B].
          training_steps: is called, if beta is annealed, whenever the graph runs.
        """
        beta = self.beta
        if self.beta_anneal_steps is not None:
            beta = tf.numpy_function(
                lambda: np.float32(self.beta_at(training_steps())), [], tf.float32, name='beta'
            )
            beta.set_shape(())
        return importance_weights(sampled_priorities, beta)


def priority_quantiles(
    priorities: np.ndarray, fractions: Sequence[float] = (0, 0.25, 0.5, 0.75, 1)
) -> dict[float, float]:
    """Returns quantiles of the priorities that are not 0, by fraction; none if all are 0.

    Of many, only every k-th is looked at, so that it takes well under a millisecond.

    Args:
      priorities: [N], the leaves of a sum tree.
      fractions: each in [0, 1].
    """
    sample = priorities[:: max(len(priorities) // _PRIORITIES_LOOKED_AT, 1)]
    sample = sample[sample > 0]
    if not sample.size:
        return {}
    return dict(zip(fractions, np.quantile(sample, fractions).tolist(), strict=True))


def check_replay_scheme(replay_scheme: str) -> None:
    """Raises ValueError if there is no such scheme."""
    if replay_scheme not in ('prioritized', 'uniform'):
        raise ValueError(
            f"Invalid replay scheme: {replay_scheme}. Expected 'prioritized' or 'uniform'."
        )


class PrioritizedReplayMixin:
    """What a `DQNAgent` needs to learn from prioritized replay; stands before it among the bases.

    Attributes, which are set before the constructor of `DQNAgent` runs:
      _replay_scheme: 'prioritized', or 'uniform', where all priorities stay 1.
      _prioritization: its parameters.
    """

    _replay_scheme = 'prioritized'
    _prioritization = Prioritization()

    def _build_replay_buffer(self, use_staging: bool) -> Any:
        """Makes the prioritized replay buffer, which both schemes use."""
        return prioritized_replay_buffer.WrappedPrioritizedReplayBuffer(
            observation_shape=self.observation_shape,
            stack_size=self.stack_size,
            use_staging=use_staging,
            update_horizon=self.update_horizon,
            gamma=self.gamma,
            observation_dtype=self.observation_dtype.as_numpy_dtype,
        )

    def _store_transition(
        self,
        last_observation: np.ndarray,
        action: int,
        reward: float,
        is_terminal: bool,
        priority: float | None = None,
    ) -> None:
        """Adds a transition to the replay buffer.

        Args:
          last_observation: the observation acted on.
          action: what was done.
          reward: what it brought.
          is_terminal: whether the episode ended there.
          priority: None means 1 for uniform replay, and the largest priority so far for prioritized
            replay, so that the transition is likely to be seen once at least.
        """
        if priority is None:
            if self._replay_scheme == 'uniform':
                priority = 1.0
            else:
                priority = self._replay.memory.sum_tree.max_recorded_priority
        if not self.eval_mode:
            self._add_to_replay(last_observation, action, reward, is_terminal, priority)

    def _updates_priorities(self) -> bool:
        """Whether a training step sets new priorities and weighs the losses."""
        return self._replay_scheme == 'prioritized'

    def _summary_values(self) -> dict[str, float]:
        values = super()._summary_values()
        if self._updates_priorities():
            memory = self._replay.memory
            quantiles = priority_quantiles(memory.sum_tree.nodes[-1])
            values |= {f'PriorityQuantile/{q:g}': v for q, v in quantiles.items()}
        return values

    def _minimize(
        self, losses: tf.Tensor, errors: tf.Tensor, name: str
    ) -> tuple[tf.Operation, tf.Tensor]:
        """Builds one training step on a sampled batch.

        Args:
          losses: [B], one a transition.
          errors: [B], not negative, from which the new priorities come.
          name: of the loss in the summaries.

        Returns:
          (op, losses): the op takes a gradient step on the mean of the losses and sets the new
          priorities; losses [B] are those given times the importance-sampling weights.
        """
        check = non_finite.check(losses, getattr(self._replay, 'indices', None))
        if self._updates_priorities():
            with tf.control_dependencies([check]):
                update_priorities = self._replay.tf_set_priority(
                    self._replay.indices, self._prioritization.priorities(errors)
                )
            losses *= self._prioritization.weights(
                self._replay.transition['sampling_probabilities'], lambda: self.training_steps
            )
        else:
            update_priorities = check

        loss = tf.reduce_mean(losses)  # []
        self._summarize_loss(name, loss)
        return self._gradient_step(loss, update_priorities), losses
