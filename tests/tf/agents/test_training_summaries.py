"""What agents measure while they train, and that measuring changes nothing."""

import agent_cases
import gin
import numpy as np
import pytest
import tensorflow as tf
from small_runs import SMALL

from dopamine_lite.discrete_domains import gym_lib, run_experiment
from dopamine_lite.tf.agents import prioritization
from dopamine_lite.tf.agents.dqn import dqn_agent

v1 = tf.compat.v1


class Dispatcher:
    """Keeps what is written to it."""

    def __init__(self):
        self.written = []

    def write(self, statistics):
        self.written.append({s.name: s.value for s in statistics})
        assert {(s.type, type(s.value)) for s in statistics} == {('summary', float)}
        (self.written[-1]['step'],) = {s.step for s in statistics}


def linear_agent(**arguments):
    agent = agent_cases.with_replay(dqn_agent.DQNAgent)(
        *(None, 2),
        **{
            **agent_cases.ARGUMENTS,
            'network': agent_cases.LinearNetwork,
            'min_replay_history': -1,
            'update_period': 1,
            'target_update_period': 1000,
            'epsilon_fn': lambda *settings: 0.125,
            **arguments,
        },
    )
    agent_cases.set_weights(agent, [[1.0, 0.5], [2.0, 0.5]], [[2.0, -1.0], [0.0, 4.0]])
    agent.training_steps = 1  # at 0 the networks are made equal
    return agent


def test_values():
    # Of the batch, by hand: the errors are 0.5 and -3, the Huber losses 0.125 and 2.5; the values
    # (5, 1.5) and (2, 0.5); the gradients of the weights (0, 0.5) and (-0.25, -0.5).
    agent = linear_agent(
        optimizer=v1.train.GradientDescentOptimizer(0.0), summary_writing_frequency=3
    )
    dispatcher = Dispatcher()
    agent.set_collector_dispatcher(dispatcher)
    for _ in range(7):
        agent._train_step()
    expected = {
        'Agent/Loss': 1.3125,
        'Agent/Q': 3.5,
        'Agent/GradientNorm': 0.75,
        'Agent/Epsilon': 0.125,
    }
    assert dispatcher.written == [{**expected, 'step': 3}, {**expected, 'step': 6}]


def test_a_frequency_of_0_means_none():
    agent = linear_agent(summary_writing_frequency=0)
    agent.set_collector_dispatcher(dispatcher := Dispatcher())
    for _ in range(4):
        agent._train_step()
    assert dispatcher.written == []


def test_an_optimizer_with_a_minimize_of_its_own():
    class Own(v1.train.GradientDescentOptimizer):
        def minimize(self, loss):
            self.minimized = loss
            return super().minimize(loss)

    optimizer = Own(0.1)
    agent = linear_agent(optimizer=optimizer)
    assert agent._summary_tensors['Loss'] is optimizer.minimized
    assert 'GradientNorm' not in agent._summary_tensors


QUANTILES = (0, 0.25, 0.5, 0.75, 1)


def test_quantiles_of_priorities():
    priorities = np.concatenate([np.zeros(100), np.arange(1.0, 6.0)])
    assert prioritization.priority_quantiles(priorities) == dict(
        zip(QUANTILES, [1.0, 2.0, 3.0, 4.0, 5.0], strict=True)
    )
    assert prioritization.priority_quantiles(np.zeros(4)) == {}


def test_quantiles_of_many_priorities():
    priorities = np.random.permutation(1_000_000) + 1.0
    found = prioritization.priority_quantiles(priorities, (0.25, 0.5))
    assert found[0.25] == pytest.approx(250_000, rel=0.1)  # 7 standard deviations
    assert found[0.5] == pytest.approx(500_000, rel=0.1)


AGENTS = ['dqn', 'rainbow', 'implicit_quantile', 'quantile']
NETWORKS = {
    'implicit_quantile': 'ImplicitQuantileAgent.network = @CartpoleImplicitQuantileNetwork',
    'quantile': 'QuantileAgent.network = @CartpoleQuantileNetwork',
}


def trained(name, frequency):
    """Returns (weights, what was written) of an agent after some steps on CartPole."""
    tf.compat.v1.reset_default_graph()
    gin.clear_config()
    gin.parse_config([SMALL, f"create_agent.agent_name = '{name}'"])
    gin.parse_config(NETWORKS.get(name, ''))
    run_experiment._seed_generators(3)
    environment = gym_lib.create_gym_environment('CartPole', 'v1')
    environment.environment.reset(seed=3)
    agent = run_experiment.create_agent(None, environment)
    agent.summary_writing_frequency = frequency
    agent.set_collector_dispatcher(dispatcher := Dispatcher())
    action = agent.begin_episode(environment.reset())
    for _ in range(65):
        observation, reward, terminal, _ = environment.step(action)
        if terminal:
            agent.end_episode(reward)
            action = agent.begin_episode(environment.reset())
        else:
            action = agent.step(reward, observation)
    return agent._sess.run(v1.global_variables()), dispatcher.written


@pytest.mark.parametrize('name', AGENTS)
def test_measuring_changes_nothing(name):
    expected, none = trained(name, 0)
    weights, written = trained(name, 20)
    assert none == []
    assert [values.pop('step') for values in written] == [40, 60]
    for one, other in zip(weights, expected, strict=True):
        np.testing.assert_array_equal(one, other)
    names = {'Agent/Loss', 'Agent/Q', 'Agent/GradientNorm', 'Agent/Epsilon'}
    if name not in ('dqn', 'implicit_quantile'):
        names |= {f'Agent/PriorityQuantile/{q}' for q in QUANTILES}
    for values in written:
        assert set(values) == names
        assert all(np.isfinite(value) for value in values.values())
        assert values['Agent/GradientNorm'] > 0
