from unittest import mock

import gymnasium
import numpy as np
import pytest

from dopamine_lite.discrete_domains import atari_lib, environment_state, gym_lib


class Strange(gymnasium.Env):
    """Keeps a generator of its own, which only `reset(seed=...)` reaches."""

    observation_space = gymnasium.spaces.Box(0, 1, (1,))
    action_space = gymnasium.spaces.Discrete(2)
    _own = np.random.default_rng()

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        if seed is not None:
            self._own = np.random.default_rng(seed)
        return self._own.random(1), {}


def test_the_next_reset_is_the_seeded_one():
    expected, _ = gymnasium.make('CartPole-v1').reset(seed=5)
    environment = gym_lib.create_gym_environment('CartPole', 'v1')
    environment.reset()
    assert environment_state.seed(environment, 5)
    np.testing.assert_array_equal(environment.reset(), expected)
    assert (environment.reset() != expected).any()


def test_an_emulator_with_sticky_actions_repeats():
    def play(seed):
        environment = atari_lib.create_atari_environment('Pong')
        assert environment_state.seed(environment, seed)
        environment.reset()
        return np.stack([environment.step(i % 6)[0] for i in range(60)])

    first, again, other = play(3), play(3), play(4)
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_a_strangers_environment_is_reset_with_the_seed():
    def play(seed):
        environment = gym_lib.GymPreprocessing(Strange())
        assert environment_state.seed(environment, seed)
        return [float(environment.reset()[0]) for _ in range(3)]

    assert play(1) == play(1) != play(2)


@pytest.mark.parametrize('environment', [mock.Mock(), mock.MagicMock(), object(), 3])
def test_what_only_answers_is_left_alone(environment):
    assert not environment_state.seed(environment, 5)
    assert environment_state.simulator(environment) is None
    if isinstance(environment, mock.Mock):
        assert environment.mock_calls == []
