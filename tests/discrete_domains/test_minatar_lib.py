"""MinAtar's games: shapes, chance from the global generator, and what is refused."""

import sys

import gin
import numpy as np
import pytest
import tensorflow as tf

from dopamine_lite.discrete_domains import minatar_lib, networks

SHAPES = {
    'asterix': (10, 10, 4),
    'breakout': (10, 10, 4),
    'freeway': (10, 10, 7),
    'seaquest': (10, 10, 10),
    'space_invaders': (10, 10, 6),
}


@pytest.mark.parametrize('game', SHAPES)
def test_games_have_the_shapes_that_gin_files_name(game, recwarn):
    environment = minatar_lib.create_minatar_environment(game)
    assert not [w for w in recwarn if 'MinAtar' in str(w.message)]
    assert gin.query_parameter(f'minatar_lib.{game.upper()}_SHAPE') == SHAPES[game]
    observation = environment.reset()
    assert observation.shape == environment.observation_space.shape == SHAPES[game]
    assert set(np.unique(observation)) <= {0, 1}
    assert environment.action_space.n == 6
    for _ in range(300):
        observation, reward, is_terminal, _ = environment.step(np.random.randint(6))
        assert observation.shape == SHAPES[game]
        assert is_terminal == environment.game_over
        assert environment.truncated is False
        if is_terminal:
            environment.reset()


def test_the_global_generator_decides_each_episode():
    def play():
        environment = minatar_lib.create_minatar_environment('asterix')
        trace = []
        for _ in range(3):
            trace.append(environment.reset())
            for action in (2, 4, 1, 3) * 5:
                observation, *rest = environment.step(action)
                trace.append(np.append(observation.ravel(), rest[:2]))
                if environment.game_over:
                    break
        return b''.join(np.asarray(step, float).tobytes() for step in trace)

    np.random.seed(1)
    first = play()
    np.random.seed(1)
    assert play() == first
    assert play() != first


def test_unknown_games_are_refused_by_name():
    with pytest.raises(ValueError, match="no MinAtar game 'Brakeout' .* mean 'breakout'"):
        minatar_lib.create_minatar_environment('Brakeout')
    with pytest.raises(AssertionError, match='needs a game_name'):
        minatar_lib.create_minatar_environment()


def test_without_the_package_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, 'minatar', None)
    with pytest.raises(ImportError, match=r'pip install "dopamine_lite\[minatar\]"'):
        minatar_lib.create_minatar_environment('breakout')


def test_a_game_is_drawn_in_a_colour_a_channel():
    environment = minatar_lib.create_minatar_environment('breakout')
    state = environment.reset()
    picture = environment.render('rgb_array')
    assert picture.shape == (10, 10, 3) and picture.dtype == np.uint8
    for pixel, channels in zip(picture.reshape(-1, 3), state.reshape(-1, 4), strict=True):
        shown = np.flatnonzero(channels)  # the last is over the others
        expected = minatar_lib._CHANNEL_COLOURS[shown[-1]] if shown.size else (0, 0, 0)
        assert tuple(pixel) == expected


def test_an_episode_does_not_depend_on_the_action_before_it():
    environment = minatar_lib.create_minatar_environment('breakout')
    traces = []
    for action in (0, 3):
        environment.reset()
        environment.environment.unwrapped.game.last_action = action
        np.random.seed(5)  # by its seed the first action of the episode sticks
        traces.append([environment.reset(), *(environment.step(1)[0] for _ in range(3))])
    np.testing.assert_array_equal(*traces)


def test_a_stack_of_games_is_refused():
    network = networks.MinAtarDQNNetwork(6, name='Online')
    with pytest.raises(ValueError, match='stack_size = 1, got 4'):
        network(tf.zeros([1, 10, 10, 4, 4]))
