"""QR-DQN's targets, loss and one step of gradient descent against slow twins."""

import agent_cases
import agent_oracles
import gin
import numpy as np
import pytest
import tensorflow as tf
import tf_keras

from dopamine_lite.discrete_domains import networks
from dopamine_lite.tf.agents.quantile import quantile_agent

v1 = tf.compat.v1
# [2, A, N]: of A = 2 actions and N = 3 quantiles.
ONLINE = np.array([[[0.5, 1.0, 2.0], [-1.0, 0.0, 0.5]], [[0.25, 0.5, 0.0], [1.0, 1.5, -0.5]]])
TARGET = np.array([[[1.0, 0.0, 3.0], [0.5, -2.0, 1.0]], [[-1.0, 2.0, 0.5], [0.0, 1.0, 2.5]]])
NEXT_ACTIONS = np.array([1, 1], np.int32)


class LinearQuantileNetwork(tf_keras.Model):
    """Quantiles that are linear in the state: x W, with W [2, A * N]."""

    def __init__(self, num_actions, num_quantiles, name=None):
        super().__init__(name=name)
        self.shape = [-1, num_actions, num_quantiles]
        self.linear = tf_keras.layers.Dense(
            num_actions * num_quantiles, use_bias=False, name='linear'
        )

    def call(self, state):
        quantiles = tf.reshape(self.linear(tf.reshape(state, [-1, 2])), self.shape)
        return networks.QuantileNetworkType(tf.reduce_mean(quantiles, axis=2), quantiles)


def make_agent(kappa, **options):
    agent_class = agent_cases.with_replay(
        quantile_agent.QuantileAgent, probabilities=(4.0, 1.0), next_action=NEXT_ACTIONS
    )
    agent = agent_class(
        None,
        num_actions=2,
        network=LinearQuantileNetwork,
        kappa=kappa,
        num_quantiles=3,
        optimizer=v1.train.GradientDescentOptimizer(1.0),
        **agent_cases.ARGUMENTS,
        **options,
    )
    agent_cases.set_weights(agent, ONLINE.reshape(2, 6), TARGET.reshape(2, 6))
    return agent


def step_by_hand(rule, weights, kappa):
    """Returns (losses, the online weights after a step of rate 1), in float64."""
    states, next_states = agent_cases.STATES[:, :, 0], agent_cases.NEXT_STATES[:, :, 0]
    actions, targets = agent_cases.ACTIONS, []
    for row in range(2):
        of_target = np.tensordot(next_states[row], TARGET, 1)
        of_online = np.tensordot(next_states[row], ONLINE, 1)
        chosen = {
            'max': np.argmax(of_target.mean(1)),
            'double': np.argmax(of_online.mean(1)),
            'sarsa': NEXT_ACTIONS[row],
        }[rule]
        continues = 0.25 * (1 - agent_cases.TERMINALS[row])
        targets.append(agent_cases.REWARDS[row] + continues * of_target[chosen])
    predictions = np.array([states[row] @ ONLINE[:, actions[row]] for row in range(2)])
    fractions = np.array([[1 / 6, 3 / 6, 5 / 6]] * 2)
    losses, by_quantile = agent_oracles.quantile_huber_loss(
        np.array(targets), predictions, fractions, kappa
    )
    gradient = np.zeros(ONLINE.shape)
    for row in range(2):
        gradient[:, actions[row]] += weights[row] / 2 * np.outer(states[row], by_quantile[row])
    return losses, ONLINE - gradient


@pytest.mark.parametrize('kappa', [0.5, 1.0])
@pytest.mark.parametrize('rule', ['max', 'double', 'sarsa'])
def test_a_step_is_the_one_by_hand(rule, kappa):
    agent = make_agent(kappa, target=rule, alpha=0.5, beta=0.4, priority_epsilon=1e-10)
    weights = np.array([4.0, 1.0]) ** -0.4
    losses, after = step_by_hand(rule, weights, kappa)
    _, weighted = agent._sess.run(agent._train_op)
    np.testing.assert_allclose(weighted, weights * losses, rtol=1e-5)
    np.testing.assert_allclose(
        agent_cases.online_weights(agent), after.reshape(2, 6), rtol=1e-5, atol=1e-6
    )
    ((indices, priorities),) = agent._replay.priorities
    np.testing.assert_array_equal(indices, agent_cases.INDICES)
    np.testing.assert_allclose(priorities, np.sqrt(losses), rtol=1e-5)


def test_uniform_replay_neither_weighs_nor_sets_priorities():
    agent = make_agent(1.0, replay_scheme='uniform')
    losses, after = step_by_hand('max', np.ones(2), 1.0)
    np.testing.assert_allclose(agent._sess.run(agent._train_op)[1], losses, rtol=1e-5)
    np.testing.assert_allclose(
        agent_cases.online_weights(agent), after.reshape(2, 6), rtol=1e-5, atol=1e-6
    )
    assert agent._replay.priorities == []


def test_it_acts_on_the_means():
    agent = make_agent(1.0)
    for state in ([1.0, 0.0], [0.0, 1.0], [-1.0, 2.0]):
        expected = np.argmax(np.tensordot(state, ONLINE, 1).mean(1))
        fed = {agent.state_ph: np.reshape(np.float32(state), [1, 2, 1])}
        assert agent._sess.run(agent._q_argmax, fed) == expected


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        ({'kappa': 0.0}, 'kappa must be above 0, got 0.0'),
        ({'num_quantiles': 0}, 'num_quantiles must be at least 1, got 0'),
        ({'target': 'mean'}, "target must be one of max, double, sarsa, got 'mean'"),
    ],
)
def test_options_outside_their_range_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        quantile_agent.QuantileAgent(None, 2, **agent_cases.ARGUMENTS, **options)


@pytest.mark.parametrize('parent', ['PrioritizedDQNAgent', 'DQNAgent'])
def test_a_network_bound_on_a_parent_is_not_passed_over(parent):
    gin.parse_config(f'{parent}.network = @networks.CartpoleDuelingDQNNetwork')
    with pytest.raises(ValueError, match=f'{parent}.network is bound, .* bind QuantileAgent'):
        quantile_agent.QuantileAgent(None, 2)
