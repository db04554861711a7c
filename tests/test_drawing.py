"""What is drawn of an agent at play is what it saw and expected."""

import gymnasium
import numpy as np
import pytest

from dopamine_lite import colours, drawing
from dopamine_lite.discrete_domains import gym_lib

SUPPORT = np.linspace(-1, 1, 5)
ESTIMATES = {
    'values': drawing.Estimate(np.array([1.0, 3.0])),
    'distributions': drawing.Estimate(
        np.array([0.0, 0.5]), np.array([[0.2] * 5, [0, 0, 0, 1.0, 0]]), SUPPORT
    ),
    'quantiles': drawing.Estimate(
        np.array([1.0, 2.0]), quantiles=np.array([[0.0, 1.0, 2.0], [1.0, 2.0, 3.0]])
    ),
    'nothing': None,
}
GAME = np.zeros((210, 160, 3), np.uint8)
GAME[:, 80:, 0] = 255


def moment(drawer, estimate, step=0, action=1, episode_return=0.0):
    return drawer.draw(
        GAME, estimate, game=1, step=step, action=action, episode_return=episode_return
    )


def count(frame, colour):
    return int((frame == colours.rgb(colour)).all(axis=-1)[:, drawing._RIGHT :].sum())


@pytest.mark.parametrize('kind', ESTIMATES)
def test_a_frame_shows_the_game_and_marks_the_action(kind):
    drawer = drawing.FrameDrawer('DQN on Pong', ['left', 'right'], ESTIMATES[kind])
    frame = moment(drawer, ESTIMATES[kind])
    assert frame.shape == (drawing.HEIGHT, drawing.WIDTH, 3) and frame.dtype == np.uint8
    # 160 x 210 pixels, twice as large, in the middle of the box.
    assert (frame[60, 70] == GAME[0, 0]).all() and (frame[60, 360] == GAME[0, 159]).all()
    other = moment(drawer, ESTIMATES[kind], step=1, action=0)
    assert (frame != other).any()


def test_the_chosen_action_is_of_another_colour_and_longer_bars_are_of_larger_values():
    drawer = drawing.FrameDrawer('DQN', ['left', 'right'], ESTIMATES['values'])
    first, second = (moment(drawer, ESTIMATES['values'], n, action=n) for n in (0, 1))
    # The second action's value is three times the first's.
    ratio = count(second, colours.VERMILION) / count(first, colours.VERMILION)
    assert ratio == pytest.approx(3, rel=0.05)
    assert count(second, colours.BLUE) == pytest.approx(count(first, colours.VERMILION), rel=0.05)
    over = moment(drawer, ESTIMATES['values'], 2, action=None)
    assert count(over, colours.VERMILION) == 0


def test_what_is_animated_leaves_no_trace_in_the_next_frame():
    drawer = drawing.FrameDrawer('C51', ['left', 'right'], ESTIMATES['distributions'])
    first = moment(drawer, ESTIMATES['distributions'])
    moved = ESTIMATES['distributions']._replace(probabilities=np.full((2, 5), 0.2))
    assert (moment(drawer, moved) != first).any()
    np.testing.assert_array_equal(moment(drawer, ESTIMATES['distributions']), first)


def test_axes_widen_for_what_would_not_fit():
    limits = drawing._Limits(0, 1)
    assert not limits.take(0.2, 1) and (limits.low, limits.high) == (0, 1)
    assert limits.take(0.5, 2.5) and limits.low == 0 and limits.high == 3
    assert limits.take(-4, 0) and limits.low == -5 and limits.high == 3


@pytest.mark.parametrize(
    ('size', 'box', 'expected'),
    [
        ((210, 160), (400, 424), (420, 320)),  # twice, not 2.02 times
        ((10, 10), (400, 424), (400, 400)),
        ((400, 600), (400, 424), (267, 400)),
        ((300, 300), (400, 424), (400, 400)),
    ],
)
def test_an_image_fills_its_box_in_proportion(size, box, expected):
    assert drawing.fitted(np.zeros((*size, 3), np.uint8), *box).shape == (*expected, 3)


class Agent:
    """An agent whose network's outputs are NumPy arrays."""

    num_actions = 2
    state_ph, state = 'state', 'seen'
    _support = SUPPORT

    class _sess:
        @staticmethod
        def run(fetches, feed):
            assert feed == {'state': 'seen'}
            return dict(fetches)

    def __init__(self, **outputs):
        self._net_outputs = type('Outputs', (), outputs)


def test_estimates_are_read_from_each_kind_of_network():
    agent = Agent(q_values=np.array([[1.0, 2.0]]))
    np.testing.assert_array_equal(drawing.estimate(agent).values, [1, 2])
    agent = Agent(q_values=np.array([[1.0, 2.0]]), probabilities=np.full((1, 2, 5), 0.2))
    assert drawing.estimate(agent).probabilities.shape == (2, 5)
    assert drawing.estimate(agent).support is SUPPORT
    agent = Agent(q_values=np.array([[1.0, 2.0]]), quantile_values=np.array([[[2, 1], [3, 2]]]))
    np.testing.assert_array_equal(drawing.estimate(agent).quantiles, [[1, 2], [2, 3]])
    agent = Agent(quantile_values=np.array([[5, 1], [3, 2], [4, 0]]))  # IQN: [N, A]
    agent._q_values = np.array([4.0, 1.0])
    np.testing.assert_array_equal(drawing.estimate(agent).quantiles, [[3, 4, 5], [0, 1, 2]])
    assert drawing.estimate(object()) is None


# Environments.


class Drawn:
    def __init__(self, result):
        self.result = result

    def render(self):
        if isinstance(self.result, Exception):
            raise self.result
        return self.result


def test_any_kind_of_picture_becomes_bytes_in_three_colours():
    assert drawing.screen(Drawn(np.full((2, 3), 7, np.uint8))).tolist() == [[[7] * 3] * 3] * 2
    assert drawing.screen(Drawn(np.full((2, 3, 4), 9, np.uint8))).shape == (2, 3, 3)
    assert drawing.screen(Drawn(np.full((1, 1, 3), 0.5))).tolist() == [[[127] * 3]]


@pytest.mark.parametrize(
    ('environment', 'message'),
    [
        (object(), 'object cannot be drawn: it has no method render'),
        (Drawn(None), 'Drawn cannot be drawn: its render gave nothing, expected an image'),
        (Drawn(np.zeros(4)), r'Drawn cannot be drawn: its render gave float64 \[4\]'),
        (Drawn(RuntimeError('no display\nmore')), 'Drawn cannot be drawn: no display$'),
    ],
)
def test_what_cannot_be_drawn_is_said_in_one_line(environment, message):
    with pytest.raises(drawing.UserError, match=message):
        drawing.screen(environment)


def test_an_environment_made_without_a_render_mode_is_drawn_without_a_display(monkeypatch):
    monkeypatch.delenv('DISPLAY', raising=False)
    environment = gym_lib.create_gym_environment('CartPole', 'v1')
    environment.reset()
    drawing.prepare_screen(environment)
    assert drawing.screen(environment).shape == (400, 600, 3)
    assert drawing.action_names(environment, 2) == ['left', 'right']
    assert drawing.action_names(environment, 3) == ['action 0', 'action 1', 'action 2']
    assert drawing.frames_per_second(environment) == 50


def test_an_environment_without_pictures_is_refused_with_what_it_has():
    class Blind(gymnasium.Env):
        metadata = {'render_modes': ['ansi']}

    with pytest.raises(drawing.UserError, match="Blind .* no render mode 'rgb_array', but only an"):
        drawing.prepare_screen(gym_lib.GymPreprocessing(Blind()))
