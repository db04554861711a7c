"""Which environment a name gives, and what the wrapper makes of it."""

import sys
import types
import warnings

import gin
import gymnasium
import numpy as np
import pytest
import tensorflow as tf
from gymnasium.wrappers import OrderEnforcing, PassiveEnvChecker, TimeLimit

from dopamine_lite.discrete_domains import gym_lib, legacy_networks


class ScriptedEnvironment:
    """Returns the given step results in turn; its spaces are only names."""

    observation_space = 'observation_space'
    action_space = 'action_space'
    reward_range = 'reward_range'
    metadata = 'metadata'

    def __init__(self, first, *steps):
        self.first, self.steps, self.actions = first, list(steps), []

    def reset(self):
        return self.first

    def step(self, action):
        self.actions.append(action)
        return self.steps.pop(0)

    def render(self, mode='none'):
        return mode


def test_the_wrapper_passes_on_what_it_should():
    inner = ScriptedEnvironment(('first', {}), ('second', 1.5, False, False, {'a': 1}))
    environment = gym_lib.GymPreprocessing(inner)
    assert environment.environment is inner
    assert environment.observation_space == 'observation_space'
    assert environment.action_space == 'action_space'
    assert environment.reward_range == 'reward_range'
    assert environment.metadata == 'metadata'
    assert environment.render('rgb_array') == 'rgb_array'
    assert environment.reset() == 'first'
    assert environment.step(3) == ('second', 1.5, False, {'a': 1})
    assert inner.actions == [3]


@pytest.mark.parametrize(
    ('terminated', 'truncated', 'game_over', 'cut'),
    [
        (False, False, False, False),
        (True, False, True, False),
        (False, True, True, True),
        (True, True, True, False),
    ],
)
def test_terminated_or_truncated_ends_the_episode(terminated, truncated, game_over, cut):
    inner = ScriptedEnvironment(('first', {}), ('second', 0.0, terminated, truncated, {}))
    environment = gym_lib.GymPreprocessing(inner)
    environment.reset()
    assert environment.step(0)[2] is game_over
    assert environment.game_over is game_over
    assert environment.truncated is cut
    environment.reset()
    assert environment.game_over is False
    assert environment.truncated is False


def test_the_old_interface_of_four_values():
    inner = ScriptedEnvironment('first', ('second', 1.0, False, {}), ('third', 2.0, True, 7))
    environment = gym_lib.GymPreprocessing(inner, use_legacy_gym=True)
    assert environment.reset() == 'first'
    assert environment.step(0) == ('second', 1.0, False, {})
    assert environment.step(0) == ('third', 2.0, True, 7)
    assert environment.game_over is True
    assert environment.truncated is False


@pytest.mark.parametrize(('legacy', 'returned', 'expected'), [(False, 4, 5), (True, 5, 4)])
def test_a_step_of_the_other_interface_is_refused(legacy, returned, expected):
    inner = ScriptedEnvironment('first', tuple(range(returned)))
    environment = gym_lib.GymPreprocessing(inner, use_legacy_gym=legacy)
    message = f'returned {returned} values, expected {expected} with use_legacy_gym={legacy}'
    with pytest.raises(ValueError, match=message):
        environment.step(0)


def test_a_reset_of_the_other_interface_is_refused():
    inner = ScriptedEnvironment('first')
    inner.reset = lambda: np.zeros(2)
    with pytest.raises(ValueError, match=r'returned one ndarray.*use_legacy_gym=True'):
        gym_lib.GymPreprocessing(inner).reset()


def layers(environment):
    while isinstance(environment, gymnasium.Wrapper):
        yield type(environment)
        environment = environment.env


def test_the_registered_time_limit_is_taken_off():
    environment = gym_lib.create_gym_environment('MountainCar', 'v0')
    assert list(layers(environment.environment)) == [OrderEnforcing, PassiveEnvChecker]
    environment.reset()
    for _ in range(250):  # the registered limit is 200
        *_, is_terminal, _ = environment.step(1)
        assert not is_terminal
    assert environment.observation_space.shape == (2,)
    assert environment.action_space.n == 3


def test_hidden_and_repeated_time_limits_are_taken_off_and_nothing_else():
    inner = gymnasium.make('MountainCar-v0', max_episode_steps=-1)
    hidden = OrderEnforcing(TimeLimit(PassiveEnvChecker(TimeLimit(inner.unwrapped, 3)), 2))
    stripped = gym_lib._without_time_limit(hidden)
    assert stripped is hidden
    assert list(layers(stripped)) == [OrderEnforcing, PassiveEnvChecker]
    assert stripped.unwrapped is inner.unwrapped


def test_an_environment_that_a_user_builds_keeps_its_time_limit():
    inner = gymnasium.make('MountainCar-v0', max_episode_steps=2)
    environment = gym_lib.GymPreprocessing(inner)
    environment.reset()
    assert environment.step(0)[2] is False
    assert environment.step(0)[2] is True
    assert environment.truncated


@pytest.fixture
def registered():
    """Registers ids for one test."""
    added = []

    def register(identifier, entry_point='gymnasium.envs.classic_control:CartPoleEnv'):
        gymnasium.register(identifier, entry_point=entry_point)
        added.append(identifier)

    yield register
    for identifier in added:
        del gymnasium.registry[identifier]


def test_an_id_that_is_registered_is_taken_as_it_is(registered):
    registered('TwoVersions-v1')
    registered('TwoVersions-v2')
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        assert gym_lib._registered_id('TwoVersions-v1') == 'TwoVersions-v1'
        assert gym_lib._registered_id('TwoVersions-v2') == 'TwoVersions-v2'
        environment = gym_lib.create_gym_environment('CartPole', 'v1')
    assert environment.environment.unwrapped.spec.id == 'CartPole-v1'


def test_retired_ids_go_to_the_newest_successor_with_one_warning(registered):
    for version in (3, 9, 10):
        registered(f'Retired-v{version}')
    for name, version, successor in (
        ('CartPole', 'v0', 'CartPole-v1'),
        ('LunarLander', 'v2', 'LunarLander-v3'),
        ('Retired', 'v2', 'Retired-v10'),
        ('Retired', 'v4', 'Retired-v10'),
    ):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter('always')
            environment = gym_lib.create_gym_environment(name, version)
        assert environment.environment.unwrapped.spec.id == successor
        (warning,) = [w for w in caught if w.category is UserWarning]
        assert f"'{name}-{version}' has been retired" in str(warning.message)
        assert f"'{successor}'" in str(warning.message)
        environment.close()


@pytest.mark.parametrize(
    ('name', 'version', 'message'),
    [
        ('CartPol', 'v1', "no environment 'CartPol-v1' .*; did you mean 'CartPole-v1'\\?"),
        ('Acrobot', 'v7', "no environment 'Acrobot-v7' .*; did you mean 'Acrobot-v1'\\?"),
        ('CartPole', 'latest', "no environment 'CartPole-latest' .*; did you mean 'CartPole-v"),
        ('qqqqqqqqqqqq', 'v0', "no environment 'qqqqqqqqqqqq-v0' is registered with Gymnasium"),
        ('Pendulum', 'v1', "'Pendulum-v1' has the action space Box.* need a Discrete one"),
        ('HalfCheetah', 'v2', "'HalfCheetah-v2' has continuous actions"),
    ],
)
def test_what_cannot_be_made_is_refused_by_name(name, version, message):
    with pytest.raises(ValueError, match=message):
        gym_lib.create_gym_environment(name, version)


def test_a_missing_name_and_unsupported_settings():
    with pytest.raises(AssertionError, match='needs an environment_name'):
        gym_lib.create_gym_environment()
    with pytest.raises(ValueError, match='use_ppo_preprocessing is for PPO'):
        gym_lib.create_gym_environment('CartPole', 'v1', use_ppo_preprocessing=True)
    with pytest.warns(UserWarning, match='use_legacy_gym is ignored'):
        environment = gym_lib.create_gym_environment('CartPole', 'v1', use_legacy_gym=True)
    assert environment.reset().shape == (4,)
    assert len(environment.step(0)) == 4


def test_a_missing_package_is_named_with_the_command_that_installs_it(monkeypatch):
    for module in [m for m in sys.modules if m.startswith('gymnasium.envs.box2d')]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, 'Box2D', None)
    with pytest.raises(
        gymnasium.error.DependencyNotInstalled,
        match=r"'LunarLander-v3' needs .*pip install .*box2d",
    ):
        gym_lib.create_gym_environment('LunarLander', 'v3')


@gin.configurable(module='test_gym_lib')
def bound(value=gin.REQUIRED):
    return value


@pytest.mark.parametrize(
    ('name', 'size'), [('CARTPOLE', 4), ('ACROBOT', 6), ('LUNAR', 8), ('MOUNTAINCAR', 2)]
)
def test_gin_constants(name, size):
    for constant, value in (
        ('OBSERVATION_SHAPE', (size, 1)),
        ('OBSERVATION_DTYPE', tf.float64),
        ('STACK_SIZE', 1),
    ):
        gin.parse_config(f'bound.value = %gym_lib.{name}_{constant}')
        assert bound() == value


def test_bounds_and_old_addresses():
    assert gym_lib.CartpoleDQNNetwork is legacy_networks.CartpoleDQNNetwork
    assert gym_lib.cartpole_dqn_network is legacy_networks.cartpole_dqn_network
    np.testing.assert_allclose(gym_lib.CARTPOLE_MAX_VALS, [2.4, 5.0, 0.26179939, 6.28318531])
    np.testing.assert_array_equal(gym_lib.CARTPOLE_MIN_VALS, -gym_lib.CARTPOLE_MAX_VALS)
    np.testing.assert_array_equal(gym_lib.ACROBOT_MAX_VALS, [1, 1, 1, 1, 5, 5])
    np.testing.assert_array_equal(gym_lib.MOUNTAINCAR_MIN_VALS, [-1.2, -0.07])


def test_a_stand_in_for_gymnasiums_make(monkeypatch):
    made = types.SimpleNamespace(env='inner')
    monkeypatch.setattr(gymnasium, 'make', lambda name: made)
    monkeypatch.setattr(gym_lib, 'GymPreprocessing', lambda environment: f'wrapped {environment}')
    assert gym_lib.create_gym_environment('CartPole', 'v1') == 'wrapped inner'


def test_gin_makes_environments():
    gin.parse_config(
        'create_gym_environment.environment_name = "Acrobot"\n'
        'gym_lib.create_gym_environment.version = "v1"\n'
    )
    assert gym_lib.create_gym_environment().observation_space.shape == (6,)
