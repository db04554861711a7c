"""The targets, the loss and one step of gradient descent by hand; uniform replay equals DQN."""

import inspect
import random

import agent_cases
import gin
import numpy as np
import pytest
import tensorflow as tf

from dopamine_lite.tf.agents.dqn import dqn_agent
from dopamine_lite.tf.agents.prioritized_dqn import prioritized_dqn_agent
from dopamine_lite.tf.replay_memory import circular_replay_buffer, prioritized_replay_buffer

v1 = tf.compat.v1
ONLINE = np.array([[0.5, -1.0, 0.25], [1.0, 0.5, -0.5]])
TARGET = np.array([[1.0, 2.0, 0.0], [0.5, -1.0, 3.0]])
NEXT_ACTIONS = np.array([2, 1], np.int32)


def make_agent(probabilities=(4.0, 1.0), learning_rate=1.0, **options):
    agent_class = agent_cases.with_replay(
        prioritized_dqn_agent.PrioritizedDQNAgent,
        probabilities=probabilities,
        next_action=NEXT_ACTIONS,
    )
    agent = agent_class(
        None,
        num_actions=3,
        network=agent_cases.LinearNetwork,
        optimizer=v1.train.GradientDescentOptimizer(learning_rate),
        **agent_cases.ARGUMENTS,
        **options,
    )
    agent_cases.set_weights(agent, ONLINE, TARGET)
    return agent


def step_by_hand(rule, weights):
    """Returns (targets, errors, the online weights after a step of rate 1), in float64."""
    discount, number = 0.25, len(agent_cases.ACTIONS)
    targets, errors, gradient = np.zeros(number), np.zeros(number), np.zeros(ONLINE.shape)
    for row in range(number):
        state, next_state = agent_cases.STATES[row, :, 0], agent_cases.NEXT_STATES[row, :, 0]
        chosen = {
            'max': np.argmax(next_state @ TARGET),
            'double': np.argmax(next_state @ ONLINE),
            'sarsa': NEXT_ACTIONS[row],
        }[rule]
        value = (next_state @ TARGET)[chosen] * (1 - agent_cases.TERMINALS[row])
        targets[row] = agent_cases.REWARDS[row] + discount * value
        action = agent_cases.ACTIONS[row]
        error = (state @ ONLINE)[action] - targets[row]
        errors[row] = abs(error)
        gradient[:, action] += weights[row] * state * np.clip(error, -1, 1) / number
    return targets, errors, ONLINE - gradient


@pytest.mark.parametrize('rule', prioritized_dqn_agent.TARGETS)
def test_a_step_is_the_one_by_hand(rule):
    agent = make_agent(target=rule, alpha=0.6, beta=0.4, priority_epsilon=0.01)
    weights = np.array([4.0, 1.0]) ** -0.4
    targets, errors, after = step_by_hand(rule, weights)
    np.testing.assert_allclose(agent._sess.run(agent._build_target_q_op()), targets, rtol=1e-6)
    _, losses = agent._sess.run(agent._train_op)
    huber = [0.5 * e**2 if e <= 1 else e - 0.5 for e in errors]
    np.testing.assert_allclose(losses, weights * huber, rtol=1e-5)
    np.testing.assert_allclose(agent_cases.online_weights(agent), after, rtol=1e-5)
    ((indices, priorities),) = agent._replay.priorities
    np.testing.assert_array_equal(indices, agent_cases.INDICES)
    np.testing.assert_allclose(priorities, (errors + 0.01) ** 0.6, rtol=1e-5)


def test_the_three_rules_differ_on_the_batch():
    targets = [step_by_hand(rule, [1, 1])[0][0] for rule in prioritized_dqn_agent.TARGETS]
    assert len(set(targets)) == 3


def test_double_dqn_says_the_same_as_its_target():
    _, _, after = step_by_hand('double', np.ones(2))
    agent = make_agent(double_dqn=True, beta=0.0)
    agent._sess.run(agent._train_op)
    np.testing.assert_allclose(agent_cases.online_weights(agent), after, rtol=1e-5)


def test_beta_is_annealed_by_the_training_steps():
    agent = make_agent(learning_rate=0.0, beta=0.4, beta_anneal_steps=100)
    errors = step_by_hand('max', np.ones(2))[1]
    unweighted = np.array([0.5 * e**2 if e <= 1 else e - 0.5 for e in errors])
    for steps, beta in ((0, 0.4), (50, 0.7), (100, 1.0), (500, 1.0)):
        agent.training_steps = steps
        losses = agent._sess.run(agent._train_op)[1]
        np.testing.assert_allclose(losses / unweighted, [4.0**-beta, 1.0], rtol=1e-5)


REAL = dict(
    observation_shape=(2,),
    observation_dtype=tf.float32,
    stack_size=1,
    network=agent_cases.LinearNetwork,
    min_replay_history=20,
    update_period=1,
    target_update_period=5,
    update_horizon=2,
    epsilon_fn=dqn_agent.identity_epsilon,
    epsilon_train=0.3,
)


def run(agent, steps=60):
    """Plays a made-up environment; returns the actions and the online weights at the end."""
    generator = np.random.RandomState(7)
    agent_cases.set_weights(agent, ONLINE, TARGET)
    np.random.seed(1)
    random.seed(1)
    actions = [agent.begin_episode(generator.normal(size=2))]
    for step in range(steps):
        reward = generator.normal()
        if step % 17 == 16:
            agent.end_episode(reward)
            actions.append(agent.begin_episode(generator.normal(size=2)))
        else:
            actions.append(agent.step(reward, generator.normal(size=2)))
    return actions, agent_cases.online_weights(agent)


def test_uniform_replay_and_the_largest_value_is_dqn():
    arguments = dict(REAL, optimizer=None)
    plain = run(dqn_agent.DQNAgent(None, 3, **arguments))
    v1.reset_default_graph()
    agent = prioritized_dqn_agent.PrioritizedDQNAgent(None, 3, replay_scheme='uniform', **arguments)
    assert not hasattr(agent._replay.memory, 'sum_tree')
    ours = run(agent)
    assert ours[0] == plain[0]
    np.testing.assert_array_equal(ours[1], plain[1])
    assert not np.array_equal(ours[1], ONLINE)


@pytest.mark.parametrize('rule', prioritized_dqn_agent.TARGETS)
def test_runs_are_repeatable_and_new_transitions_get_the_largest_priority(rule):
    runs = []
    for _ in range(2):
        v1.reset_default_graph()
        agent = prioritized_dqn_agent.PrioritizedDQNAgent(None, 3, target=rule, **REAL)
        runs.append(run(agent))
        tree = agent._replay.memory.sum_tree
        assert tree.get(int(agent._replay.memory.cursor()) - 1) == tree.max_recorded_priority
    assert runs[0][0] == runs[1][0]
    np.testing.assert_array_equal(runs[0][1], runs[1][1])


def test_sarsa_takes_the_action_that_was_stored_n_steps_on():
    agent = prioritized_dqn_agent.PrioritizedDQNAgent(None, 3, target='sarsa', **REAL)
    run(agent)
    chosen, indices = agent._sess.run(
        [agent._build_next_actions(), agent._replay.transition['indices']]
    )
    stored = agent._replay.memory._store
    for action, index in zip(chosen, indices, strict=True):
        if not stored['terminal'][index : index + 2].any():
            assert action == stored['action'][index + 2]


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        ({'target': 'expected'}, "target must be one of max, double, sarsa, got 'expected'"),
        ({'target': 'sarsa', 'double_dqn': True}, "double_dqn contradicts target = 'sarsa'"),
        ({'replay_scheme': 'rank'}, 'Invalid replay scheme: rank'),
        ({'double_dqn': 'False'}, "double_dqn must be True or False, got 'False'"),
        ({'priority_epsilon': 1e-60}, 'priority_epsilon must be above 0 in float32, got 1e-60'),
        ({'alpha': 1.2}, r'alpha must be in \[0, 1\]'),
        ({'beta': -1}, r'beta must be in \[0, 1\]'),
    ],
)
def test_contradicting_and_unknown_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        prioritized_dqn_agent.PrioritizedDQNAgent(None, 3, **REAL, **options)


@pytest.mark.parametrize('scheme', ['uniform', 'prioritized'])
def test_sarsa_needs_a_replay_that_holds_the_next_action(scheme):
    buffer = 'WrappedReplayBuffer' if scheme == 'uniform' else 'WrappedPrioritizedReplayBuffer'
    gin.parse_config(f'{buffer}.replay_capacity = 3\n{buffer}.batch_size = 1')
    options = dict(REAL, replay_scheme=scheme)
    prioritized_dqn_agent.PrioritizedDQNAgent(None, 3, **options)
    with pytest.raises(ValueError, match="'sarsa' with update_horizon = 2 needs .* capacity is 3"):
        prioritized_dqn_agent.PrioritizedDQNAgent(None, 3, target='sarsa', **options)


BUFFERS = {
    'uniform': 'WrappedReplayBuffer',
    'prioritized': 'WrappedPrioritizedReplayBuffer',
}


@pytest.mark.parametrize('scheme', BUFFERS)
@pytest.mark.parametrize('binding', ['batch_size = 8', 'replay_capacity = 100'])
def test_sizes_bound_on_the_buffer_of_the_other_scheme_are_not_passed_over(scheme, binding):
    [other] = BUFFERS.keys() - {scheme}
    gin.parse_config(f'{BUFFERS[other]}.{binding}')
    options = dict(REAL, replay_scheme=scheme)
    with pytest.raises(
        ValueError, match=f'{BUFFERS[other]}.{binding} is bound, but .*{BUFFERS[scheme]}'
    ):
        prioritized_dqn_agent.PrioritizedDQNAgent(None, 3, **options)
    gin.parse_config(f'{BUFFERS[scheme]}.{binding}')
    gin.parse_config(f'{BUFFERS[scheme]}.replay_capacity = 100')
    prioritized_dqn_agent.PrioritizedDQNAgent(None, 3, **options)


def test_the_defaults_that_are_compared_with_are_those_of_the_buffers():
    for buffer in (
        circular_replay_buffer.WrappedReplayBuffer,
        prioritized_replay_buffer.WrappedPrioritizedReplayBuffer,
    ):
        parameters = inspect.signature(buffer).parameters
        assert parameters['batch_size'].default == 32
        assert parameters['replay_capacity'].default == 1_000_000
