"""Agents take from an environment what gin does not bind, and only that."""

import gin
import gymnasium
import numpy as np
import pytest
import tensorflow as tf
import tf_keras

from dopamine_lite.discrete_domains import (
    atari_lib,
    gym_lib,
    inferred_settings,
    legacy_networks,
    run_experiment,
)
from dopamine_lite.tf.agents.dqn import dqn_agent
from dopamine_lite.tf.agents.full_rainbow import full_rainbow_agent
from dopamine_lite.tf.agents.implicit_quantile import implicit_quantile_agent
from dopamine_lite.tf.agents.quantile import quantile_agent
from dopamine_lite.tf.agents.rainbow import rainbow_agent


class Stub(gymnasium.Env):
    """An environment of any spaces, which is never stepped."""

    def __init__(self, observations, actions=None):
        self.observation_space = observations
        self.action_space = actions or gymnasium.spaces.Discrete(2)


FLOATS = gymnasium.spaces.Box(-1, 1, (3, 2), np.float32)
INFERRED = {'observation_shape': (3, 2), 'observation_dtype': 'float32', 'stack_size': 1}


def bindings(agent_class, space=FLOATS, environment=None):
    """Returns what is bound on each class while the agent would be made."""
    with inferred_settings.bound(agent_class, environment or gym_lib.GymPreprocessing(Stub(space))):
        found = {
            cls.__name__: gin.get_bindings(cls)
            for cls in (dqn_agent.DQNAgent, rainbow_agent.RainbowAgent)
        }
    return {name: values for name, values in found.items() if values}


@pytest.mark.parametrize(
    ('agent_class', 'owner'),
    [
        (dqn_agent.DQNAgent, 'DQNAgent'),
        (quantile_agent.QuantileAgent, 'DQNAgent'),
        (rainbow_agent.RainbowAgent, 'RainbowAgent'),
        (full_rainbow_agent.FullRainbowAgent, 'RainbowAgent'),
        (implicit_quantile_agent.ImplicitQuantileAgent, 'RainbowAgent'),
    ],
)
def test_each_agent_where_it_takes_them_and_no_longer_than_it_is_made(agent_class, owner):
    assert bindings(agent_class) == {owner: INFERRED}
    assert gin.config_str() == ''


SPACES = {
    'whole numbers': (
        gymnasium.spaces.MultiDiscrete([3, 4]),
        {'observation_shape': (2,), 'observation_dtype': 'int64', 'stack_size': 1},
    ),
    'one number': (
        gymnasium.spaces.Discrete(16),
        {'observation_shape': (), 'observation_dtype': 'int64', 'stack_size': 1},
    ),
    'a picture': (
        gymnasium.spaces.Box(0, 255, (10, 10, 3), np.uint8),
        {'observation_shape': (10, 10, 3), 'observation_dtype': 'uint8', 'stack_size': 1},
    ),
}


@pytest.mark.parametrize('case', SPACES)
def test_the_kinds_of_observations(case):
    space, expected = SPACES[case]
    assert bindings(dqn_agent.DQNAgent, space) == {'DQNAgent': expected}


def test_what_fits_the_agents_defaults_is_left_to_them():
    assert bindings(dqn_agent.DQNAgent, gymnasium.spaces.Box(0, 255, (84, 84, 1), np.uint8)) == {}
    environment = atari_lib.GameOverWrapper(Stub(FLOATS))
    assert bindings(dqn_agent.DQNAgent, environment=environment) == {}
    assert bindings('a mock', environment=gym_lib.GymPreprocessing(Stub(FLOATS))) == {}


@pytest.mark.parametrize(
    ('text', 'space', 'expected'),
    [
        (
            'DQNAgent.observation_shape = (6,)',
            FLOATS,
            {'observation_shape': (6,), 'observation_dtype': 'float32'},
        ),
        (
            'DQNAgent.observation_shape = (2,)',
            SPACES['whole numbers'][0],
            {'observation_shape': (2,)},  # uint8 and four frames, as in Dopamine
        ),
        ('DQNAgent.stack_size = 3', FLOATS, {**INFERRED, 'stack_size': 3}),
        (
            "DQNAgent.observation_dtype = 'float16'",
            FLOATS,
            {**INFERRED, 'observation_dtype': 'float16'},
        ),
    ],
)
def test_what_is_bound_stays(text, space, expected):
    gin.parse_config(text)
    assert bindings(dqn_agent.DQNAgent, space) == {'DQNAgent': expected}
    assert gin.config_str().split('\n\n')[-1].strip().endswith(text)


def test_a_binding_of_the_base_class_does_not_hide_that_a_subclass_takes_its_own():
    gin.parse_config('DQNAgent.observation_shape = (4, 1)')
    assert bindings(rainbow_agent.RainbowAgent)['RainbowAgent'] == INFERRED
    gin.parse_config('FullRainbowAgent.observation_shape = (6,)')
    found = bindings(full_rainbow_agent.FullRainbowAgent)
    assert found['RainbowAgent'] == {'observation_dtype': 'float32'}


class OneHot(tf_keras.Model):
    """Values of the numbered states of Frozen Lake."""

    def __init__(self, num_actions, name=None):
        super().__init__(name=name)
        self.values = tf_keras.layers.Dense(num_actions, use_bias=False, name='values')

    def call(self, state):
        return legacy_networks.DQNNetworkType(self.values(tf.one_hot(state[:, 0], 16)))


def test_an_environment_of_numbered_states_is_learnt_from(tmp_path):
    gin.external_configurable(OneHot, module='inferred_test')
    gin.parse_config("""
create_agent.agent_name = 'dqn'
create_gym_environment.environment_name = 'FrozenLake'
create_gym_environment.version = 'v1'
Runner.create_environment_fn = @create_gym_environment
Runner.num_iterations = 1
Runner.training_steps = 60
Runner.evaluation_steps = 5
DQNAgent.network = @inferred_test.OneHot
DQNAgent.min_replay_history = 20
WrappedReplayBuffer.replay_capacity = 100
WrappedReplayBuffer.batch_size = 4
""")
    runner = run_experiment.create_runner(str(tmp_path))
    agent = runner._agent
    assert (agent.num_actions, agent.observation_shape, agent.stack_size) == (4, (), 1)
    assert agent.state.dtype == np.int64
    before = agent._sess.run(agent.online_convnet.trainable_variables)[0]
    runner.run_experiment()
    assert not np.array_equal(agent._sess.run(agent.online_convnet.trainable_variables)[0], before)
    kept = (tmp_path / 'operative_config.gin').read_text()
    assert 'DQNAgent.observation_shape = ()\n' in kept
    assert "DQNAgent.observation_dtype = 'int64'\n" in kept


# Which environments there are agents for.


@pytest.fixture
def registered():
    """Registers an environment of the given spaces, and makes it."""

    def register(*spaces):
        gymnasium.register('Stub-v0', lambda **unused: Stub(*spaces), disable_env_checker=True)
        return gym_lib.create_gym_environment('Stub')

    yield register
    gymnasium.registry.pop('Stub-v0', None)


@pytest.mark.parametrize(
    ('spaces', 'reason'),
    [
        (
            (gymnasium.spaces.Dict(a=FLOATS),),
            r"'Stub-v0' has the observation space Dict.*wrappers\.FlattenObservation",
        ),
        ((gymnasium.spaces.Tuple([FLOATS]),), 'has the observation space Tuple'),
        (
            (FLOATS, gymnasium.spaces.Box(-1, 1, (2,))),
            r"'Stub-v0' has the action space Box.* \(continuous\); .* need a Discrete one",
        ),
        ((FLOATS, gymnasium.spaces.MultiDiscrete([2, 2])), 'action space MultiDiscrete.*Discrete'),
        ((FLOATS, gymnasium.spaces.MultiBinary(2)), r'action space MultiBinary\(2\);'),
    ],
)
def test_spaces_that_no_agent_has_are_refused_with_the_reason(registered, spaces, reason):
    with pytest.raises(ValueError, match=reason):
        registered(*spaces)


def test_actions_count_from_zero_whatever_the_environment_says(registered, monkeypatch):
    taken = []
    monkeypatch.setattr(
        Stub,
        'step',
        lambda self, action: (taken.append(action), (np.zeros((3, 2)), 0.0, True, False, {}))[1],
    )
    monkeypatch.setattr(Stub, 'reset', lambda self, **unused: (np.zeros((3, 2)), {}))
    environment = registered(FLOATS, gymnasium.spaces.Discrete(3, start=5))
    assert environment.action_space == gymnasium.spaces.Discrete(3)
    environment.reset()
    environment.step(0)
    environment.step(2)
    assert taken == [5, 7]
