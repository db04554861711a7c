"""IQN: its targets, loss and gradient step, against hand-computed values."""

import inspect

import agent_cases
import agent_oracles
import gin
import numpy as np
import pytest
import tensorflow as tf
import tf_keras

from dopamine_lite.discrete_domains import legacy_networks
from dopamine_lite.tf.agents.implicit_quantile import implicit_quantile_agent
from dopamine_lite.tf.agents.rainbow import rainbow_agent

v1 = tf.compat.v1
ImplicitQuantileAgent = implicit_quantile_agent.ImplicitQuantileAgent


def make(agent_class=ImplicitQuantileAgent, **arguments):
    """Makes an agent with two fractions of each kind, 1/4 and 3/4."""
    for name, value in agent_cases.ARGUMENTS.items():
        gin.bind_parameter(f'RainbowAgent.{name}', value)
    gin.bind_parameter('RainbowAgent.optimizer', v1.train.GradientDescentOptimizer(1.0))
    settings = dict(
        network=agent_cases.LinearQuantileNetwork,
        num_tau_samples=2,
        num_tau_prime_samples=2,
        num_quantile_samples=2,
    )
    settings.update(arguments)
    return agent_class(None, 2, **settings)


# The network's quantile values are tau * (x W), at tau = 1/4 and 3/4.
#     row 0: s' (2, 0) has x W = (4, -2) for the target network: action 0 is best, values 1 and 3,
#            targets 1 + values / 4 = 1.25 and 1.75. Q(s, 1) = 1.5: predictions 0.375 and 1.125.
#            Errors (0.875, 1.375) and (0.125, 0.625), all above 0; with kappa 1 the Huber losses
#            are (0.3828125, 0.875) and (0.0078125, 0.1953125), the loss
#            1/4 * 0.62890625 + 3/4 * 0.1015625 = 0.2333984375.
#     row 1: terminal, targets -1 and -1. Q(s, 0) = 2: predictions 0.5 and 1.5, errors -1.5 and -2.5,
#            Huber losses 1 and 2, the loss 3/4 * 1 + 1/4 * 2 = 1.25.

ONLINE = [[1.0, 0.5], [2.0, 0.5]]
TARGET = [[2.0, -1.0], [0.0, 4.0]]
LOSSES = [0.2333984375, 1.25]


def hand_computed(replay=None, **arguments):
    agent = make(agent_cases.with_replay(ImplicitQuantileAgent, **(replay or {})), **arguments)
    agent_cases.set_weights(agent, ONLINE, TARGET)
    return agent


def test_target_quantile_values():
    agent = hand_computed()
    result = agent._sess.run(agent._build_target_quantile_values_op())
    # Row j * B + b: fraction by fraction.
    np.testing.assert_array_equal(result, [[1.25], [-1.0], [1.75], [-1.0]])


def test_loss():
    agent = hand_computed()
    _, loss = agent._sess.run(agent._train_op)
    assert loss == pytest.approx(np.mean(LOSSES), rel=1e-6)


def test_gradient_step():
    # Along each prediction: -tau * mean(min(error, 1)) above, (1 - tau) below; the slope of a
    # prediction by x W is its tau, and the mean over the batch halves all.
    #     row 0: (-1/4 * 0.9375 * 1/4 - 3/4 * 0.375 * 3/4) / 2 = -0.134765625, for the state (1, 2)
    #     row 1: (3/4 * 1/4 + 1/4 * 3/4) / 2 = 0.1875, for the state (0, 1)
    agent = hand_computed()
    agent._sess.run(agent._train_op)
    np.testing.assert_allclose(
        agent_cases.online_weights(agent),
        [[1.0, 0.5 + 0.134765625], [2.0 - 0.1875, 0.5 + 0.26953125]],
        rtol=1e-6,
    )
    assert agent._replay.priorities == []  # IQN sets none


def test_prioritized_step():
    """The sampled priorities (4, 1) weigh row 0 half as much as row 1."""
    agent = hand_computed(update_priorities=True)
    _, loss = agent._sess.run(agent._train_op)
    assert loss == pytest.approx((0.5 * LOSSES[0] + LOSSES[1]) / 2, rel=1e-6)
    np.testing.assert_allclose(
        agent_cases.online_weights(agent),
        [[1.0, 0.5 + 0.134765625 / 2], [2.0 - 0.1875, 0.5 + 0.26953125 / 2]],
        rtol=1e-6,
    )
    ((indices, priorities),) = agent._replay.priorities
    np.testing.assert_array_equal(indices, agent_cases.INDICES)
    np.testing.assert_allclose(priorities, np.sqrt(LOSSES), rtol=1e-6)


def test_priorities_of_uniform_replay_are_refused():
    gin.bind_parameter('RainbowAgent.replay_scheme', 'uniform')
    with pytest.raises(ValueError, match="needs the replay_scheme 'prioritized', got 'uniform'"):
        hand_computed(update_priorities=True)


@pytest.mark.parametrize('double, expected', [(False, [1.5, 2.5]), (True, [1.0, 1.0])])
def test_who_chooses_the_next_action(double, expected):
    """In s' = (0, 2) x W is (0, 8) for the target network and (4, 1) for the online network."""
    next_states = np.array([[0, 2], [1, 1]], np.float32).reshape(2, 2, 1)
    agent = hand_computed(dict(next_state=next_states), double_dqn=double)
    targets = agent._sess.run(agent._build_target_quantile_values_op())
    np.testing.assert_array_equal(targets[::2, 0], expected)


def test_values_that_actions_are_chosen_by():
    agent = hand_computed(num_quantile_samples=4)  # tau = 1/8, 3/8, 5/8, 7/8: mean 1/2
    agent.eval_mode, agent.epsilon_eval = True, 0.0
    agent.begin_episode([2, 0])
    np.testing.assert_array_equal(
        agent._sess.run(agent._q_values, {agent.state_ph: agent.state}), [1.0, 0.5]
    )
    assert agent.action == 0
    assert agent.step(0.0, [-2, 0]) == 1


@pytest.mark.parametrize('seed', range(6))
@pytest.mark.parametrize('kappa', [0.5, 1.0, 2.0])
def test_quantile_huber_loss_and_its_gradient(seed, kappa):
    generator = np.random.default_rng(seed)
    targets = generator.normal(0, 2, (3, 4)).astype(np.float32)
    predictions = generator.normal(0, 2, (3, 5)).astype(np.float32)
    fractions = generator.uniform(size=(3, 5)).astype(np.float32)
    inputs = [tf.constant(x) for x in (targets, predictions, fractions)]
    losses = implicit_quantile_agent.quantile_huber_loss(*inputs, kappa)
    gradients = tf.gradients(losses, inputs[1:])
    assert gradients[1] is None  # the fractions are given, whatever made them
    with v1.Session() as session:
        losses, gradient = session.run([losses, gradients[0]])
    expected, expected_gradient = agent_oracles.quantile_huber_loss(
        targets, predictions, fractions, kappa
    )
    np.testing.assert_allclose(losses, expected, rtol=1e-5)
    np.testing.assert_allclose(gradient, expected_gradient, rtol=1e-4, atol=1e-6)


def test_quantile_huber_loss_by_hand():
    result = implicit_quantile_agent.quantile_huber_loss(
        tf.constant([[1.25, 1.75], [-1.0, -1.0]]),
        tf.constant([[0.375, 1.125], [0.5, 1.5]]),
        tf.constant([[0.25, 0.75], [0.25, 0.75]]),
        1.0,
    )
    with v1.Session() as session:
        np.testing.assert_allclose(session.run(result), LOSSES, rtol=1e-6)


class FixedQuantiles(tf_keras.Model):
    """The network of the golden values: a dense layer of the state and its fraction."""

    def __init__(self, num_actions, quantile_embedding_dim, name=None):
        super().__init__(name=name)
        self.hidden = tf_keras.layers.Dense(32, 'relu')
        self.out = tf_keras.layers.Dense(num_actions)

    def call(self, state, num_quantiles):
        batch_size = state.shape.as_list()[0]
        features = tf.reshape(tf.cast(state, tf.float32), [batch_size, -1])
        fractions = (tf.range(num_quantiles, dtype=tf.float32) + 0.5) / num_quantiles
        quantiles = tf.repeat(fractions, batch_size)[:, None]
        inputs = tf.concat([tf.tile(features, [num_quantiles, 1]), quantiles], axis=1)
        return legacy_networks.ImplicitQuantileNetworkType(self.out(self.hidden(inputs)), quantiles)


@pytest.mark.parametrize('double', [False, True])
def test_golden_train_steps(golden, double):
    values = golden('iqn')
    gin.parse_config(
        [
            'WrappedPrioritizedReplayBuffer.replay_capacity = 500',
            'WrappedPrioritizedReplayBuffer.batch_size = 32',
            'RainbowAgent.observation_shape = (4, 1)',
            'RainbowAgent.stack_size = 1',
            'RainbowAgent.update_horizon = 3',
        ]
    )
    gin.bind_parameter('RainbowAgent.observation_dtype', tf.float64)
    gin.bind_parameter('RainbowAgent.optimizer', v1.train.AdamOptimizer(1e-3, epsilon=3.125e-4))
    agent = ImplicitQuantileAgent(
        None,
        2,
        network=FixedQuantiles,
        kappa=1.0,
        num_tau_samples=5,
        num_tau_prime_samples=7,
        num_quantile_samples=9,
        double_dqn=double,
    )
    online_seed, target_seed, run_seed = (int(seed) for seed in values['seeds'])
    agent_cases.set_golden_weights(agent, online_seed, target_seed)
    for row in zip(*(values[x] for x in ('obs', 'action', 'reward', 'terminal')), strict=True):
        agent._replay.add(*row, 1.0)

    def q_values():
        return np.array(
            [
                agent._sess.run(agent._q_values, {agent.state_ph: state[None]})
                for state in values['probe']
            ]
        )

    key = f'double_{double}'
    np.testing.assert_allclose(q_values(), values[f'{key}/q_initial'], rtol=1e-5, atol=1e-5)
    after, results = agent_cases.golden_steps(agent, run_seed, q_values)
    for steps, result in after.items():
        np.testing.assert_allclose(
            result, values[f'{key}/q_after_{steps}'], rtol=2e-3, atol=2e-3, err_msg=f'{steps}'
        )
    np.testing.assert_allclose(
        [loss for _, loss in results], values[f'{key}/losses'], rtol=2e-3, atol=2e-3
    )


# Construction.


@pytest.fixture
def small_replay():
    gin.parse_config(
        [
            'WrappedPrioritizedReplayBuffer.replay_capacity = 20',
            'WrappedPrioritizedReplayBuffer.batch_size = 2',
        ]
    )


def test_static_shapes(small_replay):
    agent = make(num_tau_samples=3, num_tau_prime_samples=5, num_quantile_samples=7)
    shapes = {
        '_q_values': [2],
        '_q_argmax': [],
        '_replay_net_quantile_values': [6, 2],
        '_replay_net_quantiles': [6, 1],
        '_replay_net_target_quantile_values': [10, 2],
        '_replay_net_target_q_values': [2, 2],
        '_replay_next_qt_argmax': [2],
    }
    assert {name: getattr(agent, name).shape.as_list() for name in shapes} == shapes
    assert agent._replay_net_outputs.quantile_values is agent._replay_net_quantile_values
    assert (
        agent._replay_net_target_outputs.quantile_values is agent._replay_net_target_quantile_values
    )
    assert agent._net_outputs.quantile_values.shape.as_list() == [7, 2]
    assert agent._build_target_quantile_values_op().shape.as_list() == [10, 1]


def test_settings(small_replay):
    agent = make(kappa=0.5, quantile_embedding_dim=16, double_dqn=True)
    assert (agent.kappa, agent.num_tau_samples, agent.num_tau_prime_samples) == (0.5, 2, 2)
    assert (agent.num_quantile_samples, agent.quantile_embedding_dim) == (2, 16)
    assert agent.double_dqn is True
    assert agent.cumulative_gamma == 0.25


@pytest.mark.parametrize(
    'arguments, message',
    [
        (dict(kappa=0.0), 'kappa must be above 0, got 0.0'),
        (dict(kappa=float('nan')), 'kappa must be a finite number, got nan'),
        (dict(num_tau_samples=0), 'num_tau_samples must be at least 1, got 0'),
        (dict(num_tau_prime_samples=0), 'num_tau_prime_samples must be at least 1, got 0'),
        (dict(num_quantile_samples=0), 'num_quantile_samples must be at least 1, got 0'),
        (dict(quantile_embedding_dim=-1), 'quantile_embedding_dim must be at least 1, got -1'),
    ],
)
def test_settings_out_of_range(arguments, message):
    with pytest.raises(ValueError, match=message):
        make(**arguments)


def test_gin_bindings_of_the_parents_reach_it(small_replay):
    gin.parse_config(
        [
            'DQNAgent.allow_partial_reload = True',
            'RainbowAgent.min_replay_history = 77',
            'RainbowAgent.epsilon_eval = 0.25',
            "RainbowAgent.replay_scheme = 'uniform'",
            'RainbowAgent.summary_writing_frequency = 3',  # passed by IQN
        ]
    )
    agent = make()
    assert agent.allow_partial_reload is True
    assert agent.min_replay_history == 77
    assert agent.epsilon_eval == 0.25
    assert agent._replay_scheme == 'uniform'
    assert agent.summary_writing_frequency == 500


def test_what_it_passes_to_rainbow(monkeypatch):
    passed = {}
    monkeypatch.setattr(
        rainbow_agent.RainbowAgent, '__init__', lambda self, **arguments: passed.update(arguments)
    )
    ImplicitQuantileAgent(None, 2)
    assert set(passed) == {
        'sess',
        'num_actions',
        'network',
        'summary_writer',
        'summary_writing_frequency',
    }
    assert passed['network'] is legacy_networks.ImplicitQuantileNetwork
    signature = inspect.signature(ImplicitQuantileAgent)
    assert list(signature.parameters)[:3] == ['sess', 'num_actions', 'network']


def test_summary_tag(tmp_path):
    agent = hand_computed(summary_writer=str(tmp_path))
    summary = v1.Summary.FromString(agent._sess.run(agent._merged_summaries))
    assert [(v.tag, v.simple_value) for v in summary.value] == [
        ('Losses/QuantileLoss', pytest.approx(np.mean(LOSSES), rel=1e-6))
    ]


def test_an_episode(small_replay, tmp_path):
    """Acting, storing, training on the real replay, and a checkpoint, with drawn fractions."""
    gin.parse_config(
        [
            'RainbowAgent.min_replay_history = 3',
            'RainbowAgent.update_period = 1',
            'RainbowAgent.epsilon_fn = @dqn_agent.identity_epsilon',
        ]
    )
    agent = make(network=DrawnQuantiles)
    before = agent_cases.online_weights(agent)
    agent.begin_episode([1, 2])
    for i in range(5):
        agent.step(1.0, [i, 2])
    agent.end_episode(1.0, terminal=False)
    after = agent_cases.online_weights(agent)
    assert not np.array_equal(after, before)
    assert agent._replay.memory.episode_end_indices == {5}
    bundle = agent.bundle_and_checkpoint(str(tmp_path), 0)
    v1.reset_default_graph()
    restored = make(network=DrawnQuantiles)
    assert restored.unbundle(str(tmp_path), 0, bundle)
    np.testing.assert_array_equal(agent_cases.online_weights(restored), after)
    assert restored.training_steps == 6


class DrawnQuantiles(agent_cases.LinearQuantileNetwork):
    """The linear network at fractions that are drawn anew at every run."""

    def call(self, state, num_quantiles):
        batch_size = state.shape.as_list()[0]
        features = tf.reshape(tf.cast(state, tf.float32), [batch_size, 2])
        quantiles = tf.random.uniform([num_quantiles * batch_size, 1])
        values = quantiles * tf.tile(self.linear(features), [num_quantiles, 1])
        return legacy_networks.ImplicitQuantileNetworkType(values, quantiles)


def graph_function(num_actions, quantile_embedding_dim, network_type, state, num_quantiles):
    """A network of Dopamine 2."""
    batch_size = state.shape.as_list()[0]
    features = tf.reshape(tf.cast(state, tf.float32), [batch_size, 2])
    fractions = (tf.range(num_quantiles, dtype=tf.float32) + 0.5) / num_quantiles
    quantiles = tf.repeat(fractions, batch_size)[:, None]
    kernel = v1.get_variable('kernel', [2, num_actions], initializer=v1.zeros_initializer())
    return network_type(
        quantiles * tf.tile(tf.matmul(features, kernel), [num_quantiles, 1]), quantiles
    )


def test_function_of_dopamine_2_as_network():
    agent = hand_computed(network=graph_function)
    _, loss = agent._sess.run(agent._train_op)
    assert loss == pytest.approx(np.mean(LOSSES), rel=1e-6)
