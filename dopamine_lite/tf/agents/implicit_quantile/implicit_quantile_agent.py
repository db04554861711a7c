"""Implicit quantile networks (IQN).

The agent of Dabney et al. (2018), "Implicit Quantile Networks for Distributional Reinforcement
Learning" (arXiv:1806.06923). The network gives the quantile values Z_tau(s, a) of the return's
distribution for whatever fractions tau it draws. With N fractions tau_i of the online network, N'
fractions tau'_j of the target network, and the sampled Bellman errors

    delta_ij = r + gamma^n * Z_target,tau'_j(s', a*) * (1 - terminal) - Z_tau_i(s, a)   (Eq. 2)

the loss of a transition is the quantile Huber loss (Eq. 3)

    sum_i mean_j |tau_i - 1[delta_ij < 0]| * Huber_kappa(delta_ij) / kappa.

The action a* is greedy for the mean of the target network's quantiles, or with `double_dqn` for that
of the online network's. No priority is ever updated, whatever `RainbowAgent.replay_scheme` says, as
in Dopamine. With `update_priorities` and the scheme 'prioritized', sampling is Rainbow's, with the
loss of a transition in the place of the cross-entropy.

Shapes: B transitions in a batch, A actions, N, N' and K fractions of a state for the online network,
the target network and the choice of an action. A network returns its fractions and quantile values
with N * B rows, of which row i * B + b belongs to fraction i of state b.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gin
import tensorflow as tf

from dopamine_lite import bounds
from dopamine_lite.discrete_domains import legacy_networks
from dopamine_lite.tf.agents.dqn import dqn_agent
from dopamine_lite.tf.agents.rainbow import rainbow_agent


def quantile_huber_loss(
    targets: tf.Tensor, predictions: tf.Tensor, fractions: tf.Tensor, kappa: float
) -> tf.Tensor:
    """The quantile Huber loss of each transition; Eq. 3 of Dabney et al. (2018).

    Args:
      targets: [B, N'], samples of the target distribution.
      predictions: [B, N], quantile values.
      fractions: [B, N], the fractions in (0, 1) that the quantile values are for.
      kappa: where the Huber loss turns from quadratic to linear, above 0.

    Returns:
      [B], the sum over the predictions of the mean over the targets.
    """
    errors = targets[:, None, :] - predictions[:, :, None]  # [B, N, N']
    # min(|e|, kappa) * (|e| - min(|e|, kappa) / 2) is e^2 / 2 within kappa and
    # kappa * (|e| - kappa / 2) beyond.
    size = tf.abs(errors)
    clipped = tf.minimum(size, kappa)
    huber = clipped * (size - 0.5 * clipped)  # [B, N, N']
    below = tf.cast(errors < 0, errors.dtype)
    asymmetry = tf.abs(tf.stop_gradient(fractions)[:, :, None] - tf.stop_gradient(below))
    return tf.reduce_sum(tf.reduce_mean(asymmetry * huber / kappa, axis=2), axis=1)


@gin.configurable
class ImplicitQuantileAgent(rainbow_agent.RainbowAgent):
    """Rainbow's n-step agent with quantile values at random fractions in the place of C51.

    What its constructor does not take is bound on `RainbowAgent`, as in Dopamine's gin files.
    """

    _update_priorities = False

    def __init__(
        self,
        sess: tf.compat.v1.Session | None,
        num_actions: int,
        network: Callable[..., Any] = legacy_networks.ImplicitQuantileNetwork,
        kappa: float = 1.0,
        num_tau_samples: int = 32,
        num_tau_prime_samples: int = 32,
        num_quantile_samples: int = 32,
        quantile_embedding_dim: int = 64,
        double_dqn: bool = False,
        summary_writer: Any = None,
        summary_writing_frequency: int = 500,
        update_priorities: bool = False,
    ):
        """Builds the graph.

        Args:
          sess: the session to run in; None makes one.
          num_actions: how many actions there are.
          network: called as `network(num_actions, quantile_embedding_dim, name=...)`; the result maps
            (states [B, ...], number of fractions N) to a namedtuple with `quantile_values` [N * B, A]
            and `quantiles` [N * B, 1], the fractions drawn.
          kappa: threshold of the Huber loss, above 0.
          num_tau_samples: N, fractions of the online network in the loss.
          num_tau_prime_samples: N', fractions of the target network in the loss.
          num_quantile_samples: K, fractions whose mean is the value that actions are chosen by.
          quantile_embedding_dim: cosines in the embedding of a fraction.
          double_dqn: whether the online network chooses the next action.
          summary_writer: a writer, a folder, or None.
          summary_writing_frequency: agent steps between summaries.
          update_priorities: whether priorities follow the losses, and weights the priorities.

        Raises:
          ValueError: kappa is not above 0, a number of fractions is below 1, or priorities are to be
            updated while `RainbowAgent.replay_scheme` is 'uniform'.
        """
        bounds.require_above(0, kappa=kappa)
        bounds.require_whole(
            1,
            num_tau_samples=num_tau_samples,
            num_tau_prime_samples=num_tau_prime_samples,
            num_quantile_samples=num_quantile_samples,
            quantile_embedding_dim=quantile_embedding_dim,
        )
        self.kappa = kappa
        self.num_tau_samples = num_tau_samples
        self.num_tau_prime_samples = num_tau_prime_samples
        self.num_quantile_samples = num_quantile_samples
        self.quantile_embedding_dim = quantile_embedding_dim
        self.double_dqn = double_dqn
        self._update_priorities = update_priorities
        super().__init__(
            sess=sess,
            num_actions=num_actions,
            network=network,
            summary_writer=summary_writer,
            summary_writing_frequency=summary_writing_frequency,
        )

    def _updates_priorities(self) -> bool:
        if self._update_priorities and self._replay_scheme != 'prioritized':
            raise ValueError(
                "update_priorities needs the replay_scheme 'prioritized', "
                f'got {self._replay_scheme!r}'
            )
        return self._update_priorities

    def _create_network(self, name: str) -> Any:
        return self.network(self.num_actions, self.quantile_embedding_dim, name=name)

    def _build_networks(self) -> None:
        """Applies the networks to the states that acting and training need."""
        self.online_convnet = self._create_network(name='Online')
        self.target_convnet = self._create_network(name='Target')

        self._net_outputs = self.online_convnet(self.state_ph, self.num_quantile_samples)
        self._q_values = tf.reduce_mean(self._net_outputs.quantile_values, axis=0)  # [A]
        self._q_argmax = tf.argmax(self._q_values, axis=0)  # []

        self._replay_net_outputs = self.online_convnet(self._replay.states, self.num_tau_samples)
        self._replay_net_quantile_values = self._replay_net_outputs.quantile_values  # [N * B, A]
        self._replay_net_quantiles = self._replay_net_outputs.quantiles  # [N * B, 1]

        self._replay_net_target_outputs = self.target_convnet(
            self._replay.next_states, self.num_tau_prime_samples
        )
        self._replay_net_target_quantile_values = (
            self._replay_net_target_outputs.quantile_values
        )  # [N' * B, A]

        chooser = self.online_convnet if self.double_dqn else self.target_convnet
        choice = chooser(self._replay.next_states, self.num_quantile_samples)
        self._replay_net_target_q_values = tf.reduce_mean(
            tf.reshape(
                choice.quantile_values,
                [self.num_quantile_samples, self._replay.batch_size, self.num_actions],
            ),
            axis=0,
        )  # [B, A]
        self._replay_next_qt_argmax = tf.argmax(self._replay_net_target_q_values, axis=1)  # [B]

    def _build_target_quantile_values_op(self) -> tf.Tensor:
        """Returns samples of the sampled transitions' target distributions.

        Returns:
          [N' * B, 1], row j * B + b for fraction j of transition b.
        """
        repeated = [self.num_tau_prime_samples]
        next_actions = tf.tile(self._replay_next_qt_argmax, repeated)  # [N' * B]
        next_values = dqn_agent.values_of_actions(
            self._replay_net_target_quantile_values, next_actions
        )  # [N' * B]
        return dqn_agent.bellman_target(
            tf.tile(self._replay.rewards, repeated),
            tf.tile(self._replay.terminals, repeated),
            next_values,
            self.cumulative_gamma,
        )[:, None]

    def _build_losses(self) -> tf.Tensor:
        """Returns the quantile Huber losses [B] of the sampled transitions."""
        targets = tf.stop_gradient(self._build_target_quantile_values_op())  # [N' * B, 1]
        predictions = dqn_agent.values_of_actions(
            self._replay_net_quantile_values,
            tf.tile(self._replay.actions, [self.num_tau_samples]),
        )  # [N * B]
        return quantile_huber_loss(
            self._by_transition(targets, self.num_tau_prime_samples),
            self._by_transition(predictions, self.num_tau_samples),
            self._by_transition(self._replay_net_quantiles, self.num_tau_samples),
            self.kappa,
        )

    def _build_train_op(self) -> tuple[tf.Operation, tf.Tensor]:
        """Builds one training step on a sampled batch.

        Returns:
          (op, loss): the op takes a gradient step on the mean of the losses, each times its
          importance-sampling weight, and sets the new priorities; loss [] is that mean.
        """
        losses = self._build_losses()
        train_op, losses = self._minimize(losses, errors=losses, name='QuantileLoss')
        return train_op, tf.reduce_mean(losses)

    def _batch_q_values(self) -> tf.Tensor:
        shape = [self.num_tau_samples, self._replay.batch_size, self.num_actions]
        return tf.reduce_mean(tf.reshape(self._replay_net_quantile_values, shape), axis=0)

    def _by_transition(self, rows: tf.Tensor, num_fractions: int) -> tf.Tensor:
        """Turns [N * B] or [N * B, 1] rows, fraction by fraction, into [B, N]."""
        return tf.transpose(tf.reshape(rows, [num_fractions, self._replay.batch_size]))
