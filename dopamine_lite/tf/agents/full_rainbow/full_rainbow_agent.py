"""Rainbow, with all its parts.

The agent of Hessel et al. (2018), "Rainbow: Combining Improvements in Deep Reinforcement Learning"
(arXiv:1710.02298): to what `RainbowAgent` has, C51 with n-step targets and prioritized replay, it
adds

* Double Q-learning: the online network chooses the next action whose distribution is the target,
* the dueling network,
* noisy layers (Fortunato et al., 2018, arXiv:1706.10295) in the place of epsilon-greedy actions,
* weights of the importance sampling whose exponent beta rises to 1.

Each can be switched off, and so can the distribution; with all off the agent is `RainbowAgent`.

The noise is drawn anew for each action and for each batch, and for each of the three networks of a
batch (Section 4 of the noisy networks' paper: online, target, and the online one that chooses); all
states of a batch see the same. In evaluation there is none.

Where it differs from the paper: the priority is (loss + 1e-10)^alpha of the cross-entropy, as the
paper's is, but the two streams of the dueling network share their hidden layer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gin
import numpy as np
import tensorflow as tf

from dopamine_lite import bounds
from dopamine_lite.discrete_domains import networks
from dopamine_lite.tf.agents import bindings, prioritization
from dopamine_lite.tf.agents.dqn import dqn_agent
from dopamine_lite.tf.agents.rainbow import rainbow_agent


@gin.configurable
class FullRainbowAgent(rainbow_agent.RainbowAgent):
    """Rainbow; what its constructor does not name is bound on `RainbowAgent`."""

    def __init__(
        self,
        sess: tf.compat.v1.Session | None,
        num_actions: int,
        network: Callable[..., Any] = networks.FullRainbowNetwork,
        noisy: bool = True,
        dueling: bool = True,
        double_dqn: bool = True,
        distributional: bool = True,
        num_atoms: int | None = None,
        epsilon_fn: Callable[[float, int, int, float], float] | None = None,
        epsilon_train: float | None = None,
        alpha: float = 0.5,
        beta: float = 0.5,
        beta_anneal_steps: int | None = None,
        num_updates_per_train_step: int = 1,
        **kwargs: Any,
    ):
        """Builds the graph.

        Args:
          sess: the session to run in; None makes one.
          num_actions: how many actions there are.
          network: called as `network(num_actions, num_atoms, support, noisy=..., dueling=...,
            name=...)`, the second and third None without distributions; the result maps a batch of
            states, and with noisy layers `noise=`, to the namedtuple of Rainbow or DQN.
          noisy: whether the layers are noisy, and explore.
          dueling: whether the network is dueling.
          double_dqn: whether the online network chooses the next action.
          distributional: whether a distribution is learnt (cross-entropy), or its mean (Huber loss).
          num_atoms: atoms of the distribution; None means as bound on `RainbowAgent`, 51 by default.
          epsilon_fn: see `DQNAgent`; None means as bound on `RainbowAgent`, else linear decay, and
            none with noisy layers.
          epsilon_train: None means as bound on `RainbowAgent`, else 0.01, and 0 with noisy layers.
          alpha: exponent of the priorities, in [0, 1].
          beta: exponent of the weights at first, in [0, 1].
          beta_anneal_steps: agent steps over which beta rises linearly to 1; None keeps it.
          num_updates_per_train_step: gradient steps, each on a batch of its own, of an update.
          **kwargs: of `RainbowAgent`.

        Raises:
          ValueError: an option is outside its range, or two of them contradict.
        """
        bounds.require_flag(
            noisy=noisy, dueling=dueling, double_dqn=double_dqn, distributional=distributional
        )
        if network is networks.FullRainbowNetwork:
            bindings.refuse_hidden('network', FullRainbowAgent, rainbow_agent.RainbowAgent)
        bound = gin.get_bindings(rainbow_agent.RainbowAgent)
        if epsilon_fn is None:
            epsilon_fn = bound.get('epsilon_fn')
        if epsilon_train is None:
            epsilon_train = bound.get('epsilon_train')
        self._check_exploration(noisy, epsilon_fn, epsilon_train)
        if not distributional and num_atoms not in (None, 1):
            raise ValueError(
                f'without distributional an action has 1 value, got num_atoms = {num_atoms}'
            )
        bounds.require_whole(1, num_updates_per_train_step=num_updates_per_train_step)
        self._noisy = noisy
        self._dueling = dueling
        self._double_dqn = double_dqn
        self._distributional = distributional
        self._num_updates_per_train_step = num_updates_per_train_step
        self._prioritization = prioritization.Prioritization(alpha, beta, beta_anneal_steps)
        if epsilon_fn is None:
            epsilon_fn = (
                dqn_agent.identity_epsilon if noisy else dqn_agent.linearly_decaying_epsilon
            )
        if epsilon_train is None:
            epsilon_train = 0.0 if noisy else 0.01
        if distributional and num_atoms is not None:
            kwargs['num_atoms'] = num_atoms
        super().__init__(
            sess,
            num_actions,
            network=network,
            epsilon_fn=epsilon_fn,
            epsilon_train=epsilon_train,
            **kwargs,
        )

    def _check_exploration(self, noisy: bool, epsilon_fn: Any, epsilon_train: float | None) -> None:
        """Raises ValueError if both the noise and epsilon are to explore."""
        if noisy and (epsilon_fn is not None or epsilon_train):
            raise ValueError(
                'noisy layers take the place of epsilon-greedy actions: expected epsilon_fn = None '
                f'and epsilon_train = 0, got {epsilon_fn} and {epsilon_train}'
            )

    def _create_network(self, name: str) -> Any:
        atoms, support = (self._num_atoms, self._support) if self._distributional else (None, None)
        return self.network(
            self.num_actions,
            atoms,
            support,
            noisy=self._noisy,
            dueling=self._dueling,
            name=name,
        )

    def _sampled_states(self) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns the sampled states and next states, as the networks are to see them."""
        return self._replay.states, self._replay.next_states

    def _build_networks(self) -> None:
        """Applies the networks to the states that acting and training need."""
        self.online_convnet = self._create_network(name='Online')
        self.target_convnet = self._create_network(name='Target')
        acting = {'noise': self._acting_noise()} if self._noisy else {}
        self._net_outputs = self.online_convnet(self.state_ph, **acting)
        self._q_argmax = tf.argmax(self._net_outputs.q_values, axis=1)[0]
        states, next_states = self._sampled_states()
        self._replay_net_outputs = self.online_convnet(states)
        self._replay_next_target_net_outputs = self.target_convnet(next_states)
        if self._double_dqn:
            self._replay_next_net_outputs = self.online_convnet(next_states)

    def _acting_noise(self) -> tf.Tensor:
        """Returns the scale [] of the noise in what the agent acts on: 0 in evaluation, else 1."""
        scale = tf.numpy_function(
            lambda: np.float32(not self.eval_mode), [], tf.float32, name='acting_noise'
        )
        scale.set_shape(())
        return scale

    def _build_next_actions(self) -> tf.Tensor:
        if not self._double_dqn:
            return super()._build_next_actions()
        return tf.argmax(self._replay_next_net_outputs.q_values, axis=1)

    def _name_of_loss(self) -> str:
        return super()._name_of_loss() if self._distributional else 'HuberLoss'

    def _build_losses(self) -> tf.Tensor:
        """Returns the cross-entropies, or without distributions the Huber losses, [B]."""
        if self._distributional:
            return super()._build_losses()
        next_values = dqn_agent.values_of_actions(
            self._replay_next_target_net_outputs.q_values, self._build_next_actions()
        )  # [B]
        targets = dqn_agent.bellman_target(
            self._replay.rewards, self._replay.terminals, next_values, self.cumulative_gamma
        )  # [B]
        predictions = dqn_agent.values_of_actions(
            self._replay_net_outputs.q_values, self._replay.actions
        )  # [B]
        return dqn_agent.huber_loss(tf.stop_gradient(targets), predictions)

    def _update_online_network(self) -> None:
        for _ in range(self._num_updates_per_train_step):
            super()._update_online_network()
