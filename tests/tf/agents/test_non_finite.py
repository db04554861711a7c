import gin
import numpy as np
import pytest
import tensorflow as tf

from dopamine_lite.discrete_domains import legacy_networks
from dopamine_lite.tf.agents import non_finite
from dopamine_lite.tf.agents.dqn import dqn_agent
from dopamine_lite.tf.agents.implicit_quantile import implicit_quantile_agent
from dopamine_lite.tf.agents.rainbow import rainbow_agent


def make(kind):
    gin.parse_config(
        [
            'WrappedReplayBuffer.batch_size = 8',
            'WrappedPrioritizedReplayBuffer.batch_size = 8',
            'WrappedReplayBuffer.replay_capacity = 100',
            'WrappedPrioritizedReplayBuffer.replay_capacity = 100',
        ]
    )
    small = dict(
        observation_shape=(4, 1), observation_dtype=tf.float64, stack_size=1, min_replay_history=10
    )
    if kind == 'iqn':
        gin.parse_config(
            'RainbowAgent.observation_shape = (8, 8)\nRainbowAgent.min_replay_history = 10'
        )
        return implicit_quantile_agent.ImplicitQuantileAgent(None, 2)
    if kind == 'dqn':
        network = legacy_networks.CartpoleDQNNetwork
        return dqn_agent.DQNAgent(None, 2, network=network, **small)
    network = legacy_networks.CartpoleRainbowNetwork
    return rainbow_agent.RainbowAgent(None, 2, network=network, replay_scheme=kind, **small)


@pytest.mark.parametrize(
    'kind, poison',
    [  # C51 clips an infinite return
        ('dqn', np.nan),
        ('dqn', np.inf),
        ('prioritized', np.nan),
        ('uniform', np.nan),
        ('iqn', np.nan),
        ('iqn', -np.inf),
    ],
)
def test_a_loss_that_is_not_finite_stops_training_and_changes_nothing(kind, poison):
    agent = make(kind)
    shape = agent.observation_shape
    agent.begin_episode(np.zeros(shape))
    for _ in range(40):
        agent.step(1.0, np.zeros(shape))
    memory = agent._replay.memory
    # What `add` refuses, as a subclass or a damaged memory could still hold it.
    memory._store['reward'][20:30] = poison
    with agent._sess.graph.as_default():
        variables = tf.compat.v1.global_variables()
    agent.training_steps = 400
    with pytest.raises(non_finite.NonFiniteLoss) as raised:
        for _ in range(20):
            before = agent._sess.run(variables)
            if kind != 'dqn':
                priorities = memory.sum_tree.nodes[-1].copy()
            agent._update_online_network()
    message = str(raised.value)
    assert 'at training step 400' in message
    offending = [int(i) for i in message.split('[')[1].split(']')[0].split(',')]
    assert offending and set(offending) <= set(range(20, 30))
    for now, then in zip(agent._sess.run(variables), before, strict=True):
        np.testing.assert_array_equal(now, then)
    if kind != 'dqn':
        np.testing.assert_array_equal(memory.sum_tree.nodes[-1], priorities)


def test_a_sum_that_is_not_finite_names_all():
    losses = tf.constant([3e38, 3e38], tf.float32)
    op = non_finite.check(losses, tf.constant([5, 7]))
    with tf.compat.v1.Session() as sess:
        with pytest.raises(tf.errors.InvalidArgumentError) as raised:
            sess.run(op)
    assert non_finite.offending_transitions(raised.value) == [5, 7]


def test_other_errors_are_not_taken_for_it():
    error = tf.errors.InvalidArgumentError(None, None, 'shapes differ: [1 2] [3]')
    assert non_finite.offending_transitions(error) is None
