"""Quantile regression DQN (QR-DQN).

The agent of Dabney et al. (2018), "Distributional Reinforcement Learning with Quantile Regression"
(arXiv:1710.10044). The network gives N quantiles theta_i(s, a) of the return's distribution at the
fractions tau_i = (2i - 1) / 2N. With the Bellman errors

    delta_ij = r + gamma^n * theta_target,j(s', a*) * (1 - terminal) - theta_i(s, a)

the loss of a transition is the quantile Huber loss (Eq. 10)

    sum_i mean_j |tau_i - 1[delta_ij < 0]| * Huber_kappa(delta_ij) / kappa.

The action a* is chosen as `PrioritizedDQNAgent` chooses it, by the means of the quantiles, and so is
the replay; the error from which a priority comes is the loss. The paper has n = 1, uniform replay and
a* greedy for the target network.

Shapes: B transitions in a batch, A actions, N quantiles.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gin
import numpy as np
import tensorflow as tf

from dopamine_lite import bounds
from dopamine_lite.discrete_domains import networks
from dopamine_lite.tf.agents import bindings
from dopamine_lite.tf.agents.dqn import dqn_agent
from dopamine_lite.tf.agents.implicit_quantile import implicit_quantile_agent
from dopamine_lite.tf.agents.prioritized_dqn import prioritized_dqn_agent


@gin.configurable
class QuantileAgent(prioritized_dqn_agent.PrioritizedDQNAgent):
    """DQN that learns N quantiles of the return in the place of its mean."""

    def __init__(
        self,
        sess: tf.compat.v1.Session | None,
        num_actions: int,
        network: Callable[..., Any] = networks.QuantileNetwork,
        kappa: float = 1.0,
        num_quantiles: int = 200,
        **kwargs: Any,
    ):
        """Builds the graph.

        Args:
          sess: the session to run in; None makes one.
          num_actions: how many actions there are.
          network: called as `network(num_actions, num_quantiles, name=...)`; the result maps a batch
            of states to a namedtuple with `q_values` [B, A] and `quantile_values` [B, A, N].
          kappa: threshold of the Huber loss, above 0.
          num_quantiles: N.
          **kwargs: of `PrioritizedDQNAgent` and `DQNAgent`.

        Raises:
          ValueError: an option is outside its range.
        """
        if network is networks.QuantileNetwork:
            bindings.refuse_hidden(
                'network',
                QuantileAgent,
                prioritized_dqn_agent.PrioritizedDQNAgent,
                dqn_agent.DQNAgent,
            )
        bounds.require_above(0, kappa=kappa)
        bounds.require_whole(1, num_quantiles=num_quantiles)
        self.kappa = kappa
        self.num_quantiles = num_quantiles
        super().__init__(sess, num_actions, network=network, **kwargs)

    def _default_optimizer(self) -> tf.compat.v1.train.Optimizer:
        return tf.compat.v1.train.AdamOptimizer(learning_rate=0.00005, epsilon=0.0003125)

    def _create_network(self, name: str) -> Any:
        return self.network(self.num_actions, self.num_quantiles, name=name)

    def _build_target_quantile_values(self) -> tf.Tensor:
        """Returns the quantiles [B, N] of the sampled transitions' target distributions."""
        next_quantiles = tf.gather(
            self._replay_next_target_net_outputs.quantile_values,
            self._build_next_actions(),
            batch_dims=1,
        )  # [B, N]
        return dqn_agent.bellman_target(
            self._replay.rewards[:, None],
            self._replay.terminals[:, None],
            next_quantiles,
            self.cumulative_gamma,
        )

    def _build_train_op(self) -> tuple[tf.Operation, tf.Tensor]:
        """Builds one training step on a sampled batch.

        Returns:
          (op, losses): the op takes a gradient step on the mean of the losses and sets the new
          priorities; losses [B] are the quantile Huber losses times the importance-sampling weights.
        """
        targets = tf.stop_gradient(self._build_target_quantile_values())  # [B, N]
        predictions = tf.gather(
            self._replay_net_outputs.quantile_values, self._replay.actions, batch_dims=1
        )  # [B, N]
        fractions = (np.arange(self.num_quantiles, dtype=np.float32) + 0.5) / self.num_quantiles
        losses = implicit_quantile_agent.quantile_huber_loss(
            targets, predictions, tf.constant(fractions[None, :]), self.kappa
        )  # [B]
        return self._minimize(losses, errors=losses, name='QuantileLoss')
