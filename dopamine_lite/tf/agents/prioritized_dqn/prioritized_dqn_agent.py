"""DQN with prioritized replay, Double Q-learning, and SARSA's target.

The agent of Schaul et al. (2016), "Prioritized experience replay" (arXiv:1511.05952), proportional
variant: the error of a transition is |Y - Q_online(s, a)|, see `prioritization`. The target is

    Y = r + gamma^n * Q_target(s', a*) * (1 - terminal)

where a* is one of

    'max'       argmax_a Q_target(s', a)     DQN (Mnih et al., 2015)
    'double'    argmax_a Q_online(s', a)     Double DQN (van Hasselt et al., 2016, arXiv:1509.06461)
    'sarsa'     the action taken in s'       SARSA (Rummery and Niranjan, 1994); on replayed
                                             transitions, so those of past policies count as well

The dueling network (Wang et al., 2016) is a network like any other: `networks.DuelingDQNNetwork`.
With uniform replay the agent is DQN, Double DQN, dueling DQN or deep SARSA.

Shapes: B transitions in a batch, A actions.
"""

from __future__ import annotations

from typing import Any

import gin
import numpy as np
import tensorflow as tf

from dopamine_lite import bounds
from dopamine_lite.tf.agents import bindings, prioritization
from dopamine_lite.tf.agents.dqn import dqn_agent
from dopamine_lite.tf.replay_memory import circular_replay_buffer, prioritized_replay_buffer

TARGETS = ('max', 'double', 'sarsa')


@gin.configurable
class PrioritizedDQNAgent(prioritization.PrioritizedReplayMixin, dqn_agent.DQNAgent):
    """DQN with prioritized replay and a choice of the target."""

    def __init__(
        self,
        sess: tf.compat.v1.Session | None,
        num_actions: int,
        target: str = 'max',
        double_dqn: bool = False,
        replay_scheme: str = 'prioritized',
        alpha: float = 0.6,
        beta: float = 0.4,
        beta_anneal_steps: int | None = None,
        priority_epsilon: float = 1e-6,
        **kwargs: Any,
    ):
        """Builds the graph.

        Args:
          sess: the session to run in; None makes one.
          num_actions: how many actions there are.
          target: 'max', 'double' or 'sarsa', see the module.
          double_dqn: True says the same as `target = 'double'`.
          replay_scheme: 'prioritized', or 'uniform' for the replay of DQN.
          alpha: exponent of the priorities, in [0, 1].
          beta: exponent of the weights at first, in [0, 1].
          beta_anneal_steps: agent steps over which beta rises linearly to 1; None keeps it.
          priority_epsilon: is added to the errors, above 0.
          **kwargs: of `DQNAgent`.

        Raises:
          ValueError: an option is unknown or outside its range, or two of them contradict.
        """
        if target not in TARGETS:
            raise ValueError(f'target must be one of {", ".join(TARGETS)}, got {target!r}')
        bounds.require_flag(double_dqn=double_dqn)
        if double_dqn:
            if target == 'sarsa':
                raise ValueError("double_dqn contradicts target = 'sarsa'")
            target = 'double'
        prioritization.check_replay_scheme(replay_scheme)
        self._target = target
        self._replay_scheme = replay_scheme
        self._prioritization = prioritization.Prioritization(
            alpha, beta, beta_anneal_steps, priority_epsilon
        )
        super().__init__(sess, num_actions, **kwargs)

    def _build_replay_buffer(self, use_staging: bool) -> Any:
        uniform = circular_replay_buffer.WrappedReplayBuffer
        prioritized = prioritized_replay_buffer.WrappedPrioritizedReplayBuffer
        sizes = {'batch_size': 32, 'replay_capacity': 1_000_000}
        if self._replay_scheme == 'uniform':
            bindings.refuse_elsewhere(uniform, prioritized, sizes)
            replay = dqn_agent.DQNAgent._build_replay_buffer(self, use_staging)
        else:
            bindings.refuse_elsewhere(prioritized, uniform, sizes)
            replay = super()._build_replay_buffer(use_staging)
        capacity = getattr(replay.memory, '_replay_capacity', float('inf'))
        if self._target == 'sarsa' and capacity <= self.update_horizon + self.stack_size:
            raise ValueError(
                f"target = 'sarsa' with update_horizon = {self.update_horizon} needs a replay of "
                f'more than {self.update_horizon + self.stack_size} transitions, to know the '
                f'action that came next; its capacity is {capacity}'
            )
        return replay

    def _store_transition(
        self, last_observation: np.ndarray, action: int, reward: float, is_terminal: bool, *args
    ) -> None:
        if self._replay_scheme == 'uniform':
            dqn_agent.DQNAgent._store_transition(
                self, last_observation, action, reward, is_terminal
            )
        else:
            super()._store_transition(last_observation, action, reward, is_terminal, *args)

    def _build_networks(self) -> None:
        super()._build_networks()
        if self._target == 'double':
            self._replay_next_net_outputs = self.online_convnet(self._replay.next_states)

    def _build_next_actions(self) -> tf.Tensor:
        """Returns the actions a* [B] whose values in the next states the targets take."""
        if self._target == 'sarsa':
            return self._replay.transition['next_action']
        chooser = self._replay_next_target_net_outputs
        if self._target == 'double':
            chooser = self._replay_next_net_outputs
        return tf.argmax(chooser.q_values, axis=1)

    def _build_target_q_op(self) -> tf.Tensor:
        """Returns the targets Y [B] of the sampled transitions."""
        next_values = dqn_agent.values_of_actions(
            self._replay_next_target_net_outputs.q_values, self._build_next_actions()
        )  # [B]
        return dqn_agent.bellman_target(
            self._replay.rewards, self._replay.terminals, next_values, self.cumulative_gamma
        )

    def _build_train_op(self) -> tuple[tf.Operation, tf.Tensor]:
        """Builds one training step on a sampled batch.

        Returns:
          (op, losses): the op takes a gradient step on the mean of the losses and sets the new
          priorities; losses [B] are the Huber losses times the importance-sampling weights.
        """
        predictions = dqn_agent.values_of_actions(
            self._replay_net_outputs.q_values, self._replay.actions
        )  # [B]
        targets = tf.stop_gradient(self._build_target_q_op())  # [B]
        losses = dqn_agent.huber_loss(targets, predictions)  # [B]
        errors = tf.abs(targets - predictions)  # [B]
        return self._minimize(losses, errors, name='HuberLoss')
