"""Rainbow, simplified: C51 with n-step targets and prioritized replay; C51 with uniform replay.

The agent keeps three of the six components of Hessel et al. (2018), "Rainbow: Combining Improvements
in Deep Reinforcement Learning" (arXiv:1710.02298), those that the paper's ablation found to matter
most:

* the distribution of the return instead of its mean (C51; Bellemare et al., 2017, arXiv:1707.06887),
* n-step targets,
* prioritized replay (Schaul et al., 2016, arXiv:1511.05952).

Double Q-learning, the dueling network and noisy layers are left out. Where it differs from the paper:

    prioritization   sqrt(loss + 1e-10)          paper: |TD error|^0.5, here the cross-entropy's root
    weights          1 / sqrt(p + 1e-10) over    paper: beta annealed from 0.4 to 1
                     their maximum (beta = 0.5)
    next action      greedy for the target       paper: for the online network (double Q-learning)
                     network
    exploration      epsilon-greedy              paper: noisy layers

With `replay_scheme = 'uniform'` all priorities stay 1, all weights are equal, and the agent is C51.

Shapes: B transitions in a batch, A actions, Z atoms of the network's support, N atoms of a
distribution that is projected.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gin
import numpy as np
import tensorflow as tf

from dopamine_lite import bounds
from dopamine_lite.discrete_domains import legacy_networks
from dopamine_lite.tf.agents import prioritization
from dopamine_lite.tf.agents.dqn import dqn_agent


def distributional_target(
    rewards: tf.Tensor, terminals: tf.Tensor, support: tf.Tensor, discount: float
) -> tf.Tensor:
    """Where the atoms of the next return's distribution end up: r + gamma^n * z * (1 - terminal).

    Args:
      rewards: [B], discounted n-step sums.
      terminals: [B], 1 where the episode ended within the n steps.
      support: [Z], the atoms z.
      discount: gamma^n.

    Returns:
      [B, Z].
    """
    discounts = discount * (1.0 - tf.cast(terminals, support.dtype))  # [B]
    return tf.cast(rewards, support.dtype)[:, None] + discounts[:, None] * support[None, :]


@gin.configurable
class RainbowAgent(prioritization.PrioritizedReplayMixin, dqn_agent.DQNAgent):
    """DQN that learns the distribution of the return, from n-step targets and prioritized replay."""

    def __init__(
        self,
        sess: tf.compat.v1.Session | None,
        num_actions: int,
        observation_shape: tuple[int, ...] = dqn_agent.NATURE_DQN_OBSERVATION_SHAPE,
        observation_dtype: tf.DType = dqn_agent.NATURE_DQN_DTYPE,
        stack_size: int = dqn_agent.NATURE_DQN_STACK_SIZE,
        network: Callable[..., Any] = legacy_networks.RainbowNetwork,
        num_atoms: int = 51,
        vmin: float | None = None,
        vmax: float = 10.0,
        gamma: float = 0.99,
        update_horizon: int = 1,
        min_replay_history: int = 20000,
        update_period: int = 4,
        target_update_period: int = 8000,
        epsilon_fn: Callable[[float, int, int, float], float] = dqn_agent.linearly_decaying_epsilon,
        epsilon_train: float = 0.01,
        epsilon_eval: float = 0.001,
        epsilon_decay_period: float = 250000,
        replay_scheme: str = 'prioritized',
        tf_device: str = '/cpu:*',
        use_staging: bool = False,
        optimizer: tf.compat.v1.train.Optimizer | None = None,
        summary_writer: Any = None,
        summary_writing_frequency: int = 500,
    ):
        """Builds the graph. What is not described here is as in `DQNAgent`.

        Args:
          sess: see `DQNAgent`, as all that follow and are not listed.
          num_actions: how many actions there are.
          observation_shape: shape of one observation.
          observation_dtype: dtype of an observation.
          stack_size: observations in a state.
          network: called as `network(num_actions, num_atoms, support, name=...)`; the result maps a
            batch of states to a namedtuple with `q_values` [B, A], `logits` and `probabilities`
            [B, A, Z].
          num_atoms: Z, how many equally spaced returns carry the distribution; at least 2.
          vmin: the smallest return; None means -vmax.
          vmax: the largest return.
          gamma: discount factor of one agent step.
          update_horizon: n, in agent steps.
          min_replay_history: stored transitions above which training starts.
          update_period: agent steps between updates.
          target_update_period: agent steps between copies to the target network.
          epsilon_fn: gives the probability of a random action while training.
          epsilon_train: its final value.
          epsilon_eval: the probability of a random action in evaluation.
          epsilon_decay_period: agent steps of its decay.
          replay_scheme: 'prioritized', or 'uniform' for C51.
          tf_device: where the graph is placed.
          use_staging: whether the replay gathers the next batch ahead.
          optimizer: None means an own Adam with learning rate 0.00025 and epsilon 0.0003125.
          summary_writer: a writer, a folder, or None.
          summary_writing_frequency: agent steps between summaries.

        Raises:
          ValueError: fewer than 2 atoms, vmin not below vmax, or an unknown replay scheme.
        """
        # The support is an op of the graph and is made before the parent's constructor runs.
        tf.compat.v1.disable_v2_behavior()
        bounds.require_whole(2, num_atoms=num_atoms)
        bounds.require_finite(vmax=vmax)
        vmin = -vmax if vmin is None else vmin
        bounds.require_finite(vmin=vmin)
        if not vmin < vmax:
            raise ValueError(f'vmin must be below vmax, got vmin = {vmin} and vmax = {vmax}')
        prioritization.check_replay_scheme(replay_scheme)
        self._num_atoms = num_atoms
        self._support = tf.linspace(float(vmin), float(vmax), num_atoms)
        self._replay_scheme = replay_scheme
        # Not super(): with a user's second base class the next in line may be another.
        dqn_agent.DQNAgent.__init__(
            self,
            sess=sess,
            num_actions=num_actions,
            observation_shape=observation_shape,
            observation_dtype=observation_dtype,
            stack_size=stack_size,
            network=network,
            gamma=gamma,
            update_horizon=update_horizon,
            min_replay_history=min_replay_history,
            update_period=update_period,
            target_update_period=target_update_period,
            epsilon_fn=epsilon_fn,
            epsilon_train=epsilon_train,
            epsilon_eval=epsilon_eval,
            epsilon_decay_period=epsilon_decay_period,
            tf_device=tf_device,
            use_staging=use_staging,
            optimizer=optimizer,
            summary_writer=summary_writer,
            summary_writing_frequency=summary_writing_frequency,
        )

    def _default_optimizer(self) -> tf.compat.v1.train.Optimizer:
        return tf.compat.v1.train.AdamOptimizer(learning_rate=0.00025, epsilon=0.0003125)

    def _create_network(self, name: str) -> Any:
        return self.network(self.num_actions, self._num_atoms, self._support, name=name)

    def _build_target_distribution(self) -> tf.Tensor:
        """Returns the target distributions [B, Z] of the sampled transitions, on `_support`."""
        target_support = distributional_target(
            self._replay.rewards, self._replay.terminals, self._support, self.cumulative_gamma
        )  # [B, Z]
        next_probabilities = tf.gather(
            self._replay_next_target_net_outputs.probabilities,
            self._build_next_actions(),
            batch_dims=1,
        )  # [B, Z]
        return project_distribution(target_support, next_probabilities, self._support)

    def _build_next_actions(self) -> tf.Tensor:
        """Returns the actions [B] whose values in the next states the targets take."""
        return tf.argmax(self._replay_next_target_net_outputs.q_values, axis=1)

    def _build_losses(self) -> tf.Tensor:
        """Returns the cross-entropies [B] of the sampled transitions."""
        target_distribution = tf.stop_gradient(self._build_target_distribution())  # [B, Z]
        logits = tf.gather(
            self._replay_net_outputs.logits, self._replay.actions, batch_dims=1
        )  # [B, Z]
        return tf.nn.softmax_cross_entropy_with_logits(labels=target_distribution, logits=logits)

    def _build_train_op(self) -> tuple[tf.Operation, tf.Tensor]:
        """Builds one training step on a sampled batch.

        Returns:
          (op, losses): the op takes a gradient step on the mean of the losses and sets the new
          priorities; losses [B] are the cross-entropies times the importance-sampling weights.
        """
        losses = self._build_losses()
        return self._minimize(losses, errors=losses, name=self._name_of_loss())

    def _name_of_loss(self) -> str:
        """Returns what the loss is called in the summaries."""
        return 'CrossEntropyLoss'


def project_distribution(
    supports: tf.Tensor,
    weights: tf.Tensor,
    target_support: tf.Tensor,
    validate_args: bool = False,
) -> tf.Tensor:
    """Projects distributions onto a common support of equally spaced atoms.

    Eq. 7 of Bellemare et al. (2017), arXiv:1707.06887. Each atom, moved to the nearest end where it
    lies outside the target support, gives its probability to the two target atoms around it, to each
    in proportion to how near it is. With dz = z_1 - z_0 the spacing,

        projection[b, i] = sum_j max(0, 1 - |clip(supports[b, j], z_0, z_last) - z_i| / dz)
                           * weights[b, j]

    Example, one row of each:

        supports        0     2     4     6     8
        weights         0.1   0.3   0.1   0.2   0.3
        target_support  4     5     6     7     8
        projection      0.5   0.0   0.2   0.0   0.3

    The atoms 0 and 2 lie below the target support and are moved to 4: 0.1 + 0.3 + 0.1 = 0.5.

    Only the two terms of each j that can be other than zero are computed, so that the cost is B * N
    and not B * N * Z.

    Args:
      supports: [B, N], the atoms of each distribution.
      weights: [B, N], their probabilities.
      target_support: [Z] with Z = N, increasing and equally spaced.
      validate_args: whether to check the shapes and the target support when the graph runs.

    Returns:
      [B, Z], the probabilities on the target support.

    Raises:
      ValueError: static shapes do not fit; while the graph is built.
      tf.errors.InvalidArgumentError: a check of `validate_args` failed; while the graph runs.
    """
    # Taken first, so that TensorFlow itself refuses a target support with a static shape that has
    # no two atoms along its first axis.
    first_delta = (target_support[1:] - target_support[:-1])[0]
    supports.shape.assert_is_compatible_with(weights.shape)
    supports.shape[1:].assert_is_compatible_with(target_support.shape)

    if validate_args:
        with tf.control_dependencies(_shape_checks(supports, weights, target_support)):
            target_support = tf.identity(target_support)
        with tf.control_dependencies(_spacing_checks(target_support)):
            supports = tf.identity(supports)
            target_support = tf.identity(target_support)
        first_delta = target_support[1] - target_support[0]

    num_rows, num_atoms = tf.shape(supports)[0], tf.shape(target_support)[0]
    clipped = tf.clip_by_value(supports, target_support[0], target_support[-1])  # [B, N]
    # The target atoms around each atom; the last atom counts as the end of the last interval.
    lower = tf.cast((clipped - target_support[0]) / first_delta, tf.int32)
    lower = tf.clip_by_value(lower, 0, num_atoms - 2)  # [B, N]
    upper = lower + 1  # [B, N]

    def part_of(neighbour: tf.Tensor) -> tf.Tensor:
        distance = tf.abs(clipped - tf.gather(target_support, neighbour))
        return tf.maximum(1.0 - distance / first_delta, 0.0) * weights  # [B, N]

    row_start = tf.range(num_rows)[:, None] * num_atoms  # [B, 1]
    projection = tf.math.unsorted_segment_sum(
        tf.concat([part_of(lower), part_of(upper)], axis=1),
        tf.concat([row_start + lower, row_start + upper], axis=1),
        num_rows * num_atoms,
    )  # [B * Z]
    projection = tf.reshape(projection, tf.stack([num_rows, num_atoms]))  # [B, Z]
    projection.set_shape([supports.shape[0], target_support.shape[0]])
    return projection


def _shape_checks(
    supports: tf.Tensor, weights: tf.Tensor, target_support: tf.Tensor
) -> list[tf.Operation]:
    """Asserts that supports and weights match, and that the target is one support as wide."""
    # `Equal` of vectors of different lengths is an error of its own unless it is told otherwise.
    same_shape = tf.raw_ops.Equal(
        x=tf.shape(supports), y=tf.shape(weights), incompatible_shape_error=False
    )
    same_width = tf.equal(tf.shape(supports)[-1:], tf.shape(target_support)[:1])
    one_dimension = tf.equal(tf.rank(target_support), 1)
    return [
        tf.Assert(
            tf.reduce_all(same_shape),
            ['supports and weights must have one shape', tf.shape(supports), tf.shape(weights)],
        ),
        tf.Assert(
            tf.reduce_all(same_width),
            [
                'target_support must be as wide as supports',
                tf.shape(target_support),
                tf.shape(supports),
            ],
        ),
        tf.Assert(
            one_dimension, ['target_support must have one dimension', tf.shape(target_support)]
        ),
    ]


def _spacing_checks(target_support: tf.Tensor) -> list[tf.Operation]:
    """Asserts that the atoms increase, by equal steps up to what their rounding explains."""
    deltas = target_support[1:] - target_support[:-1]
    # Each atom is rounded to its dtype, so that a difference of two is off by a few units in the
    # last place of the larger.
    rounding = 4 * np.finfo(target_support.dtype.as_numpy_dtype).eps
    tolerance = rounding * tf.reduce_max(tf.abs(target_support))
    return [
        tf.Assert(
            tf.reduce_all(deltas > 0),
            ['target_support must be strictly increasing', target_support],
        ),
        tf.Assert(
            tf.reduce_all(tf.abs(deltas - deltas[0]) <= tolerance),
            ['target_support must be equally spaced', target_support],
        ),
    ]
