"""Panes and frames: what is drawn where, and what is written."""

import builtins

import cv2
import gin
import numpy as np
import pygame
import pytest

from dopamine_lite.utils import agent_visualizer, atari_plotter, bar_plotter, line_plotter, plotter


class BluePane(plotter.Plotter):
    """A blue pane of 2 x 3 pixels."""

    def draw(self):
        surface = pygame.Surface((2, 3))
        surface.fill((0, 0, 255))
        return surface


class Screen:
    def __init__(self, pixels):
        self.pixels = pixels

    def render(self, mode):
        assert mode == 'rgb_array'
        return self.pixels


def _pixels(surface):
    return pygame.surfarray.array3d(surface).transpose(1, 0, 2)


def test_parameters_are_the_defaults_but_for_what_is_given():
    pane = line_plotter.LinePlotter({'x': 7, 'get_line_data_fn': list})
    assert pane.x == 7 and pane.y == 0
    assert pane.parameters['width'] == line_plotter.LinePlotter._defaults['width']
    assert 'get_line_data_fn' not in line_plotter.LinePlotter._defaults


@pytest.mark.parametrize(
    ('make', 'message'),
    [
        (line_plotter.LinePlotter, 'LinePlotter needs the parameter get_line_data_fn'),
        (bar_plotter.BarPlotter, 'BarPlotter needs the parameter get_bar_data_fn'),
        (atari_plotter.AtariPlotter, 'AtariPlotter needs the parameter environment'),
    ],
)
def test_a_plotter_says_what_it_lacks(make, message):
    with pytest.raises(AssertionError, match=message):
        make()


def test_lines_are_drawn_in_their_colours_and_only_the_newest_steps():
    lines = [[0.0] * 50, [1.0] * 60]
    pane = line_plotter.LinePlotter(
        {
            'get_line_data_fn': lambda: lines,
            'colors': ['r', 'g'],
            'max_width': 20,
            'width': 80,
            'height': 60,
            'title': 'Q',
            'xlabel': 'step',
            'legend': ['a', 'b'],
        }
    )
    assert _pixels(pane.draw()).shape == (60, 80, 3)
    assert [line.get_color() for line in pane.plot.lines] == ['r', 'g']
    assert pane.plot.get_xlim() == (40, 60)
    assert pane.plot.get_title() == 'Q'
    lines.append([2.0])
    pane.draw()
    assert len(pane.plot.lines) == 3  # not on top of the earlier ones


def test_no_lines_yet_is_an_empty_plot():
    pane = line_plotter.LinePlotter({'get_line_data_fn': list, 'width': 8, 'height': 6})
    assert _pixels(pane.draw()).shape == (6, 8, 3)


def test_bars_have_the_heights_given():
    pane = bar_plotter.BarPlotter(
        {
            'get_bar_data_fn': lambda: np.array([[0.25, 0.75], [0.5, 0.5]]),
            'xticks': [0, 1],
            'xticklabels': ['-1', '1'],
            'width': 80,
            'height': 60,
        }
    )
    assert _pixels(pane.draw()).shape == (60, 80, 3)
    assert [bar.get_height() for bar in pane.plot.patches] == [0.25, 0.75, 0.5, 0.5]
    assert [label.get_text() for label in pane.plot.get_xticklabels()] == ['-1', '1']


def test_the_screen_is_shown_as_it_is():
    pixels = np.zeros((210, 160, 3), np.uint8)
    pixels[:105, :, 0] = 200
    pane = atari_plotter.AtariPlotter({'environment': Screen(pixels)})
    np.testing.assert_array_equal(_pixels(pane.draw()), pixels)
    pane = atari_plotter.AtariPlotter({'environment': Screen(pixels[:4])})
    with pytest.raises(ValueError, match=r'shape \(210, 160, 3\), got \(4, 160, 3\)'):
        pane.draw()


def test_frames_hold_the_panes_at_their_places_and_are_written(tmp_path):
    visualizer = agent_visualizer.AgentVisualizer(
        str(tmp_path / 'new'),
        [BluePane({'x': 1, 'y': 2})],
        screen_width=4,
        screen_height=6,
        render_rate=2,
        file_types=('png', 'npy', ''),
    )
    for _ in range(4):
        visualizer.visualize()
    expected = np.zeros((6, 4, 3), np.uint8)
    expected[2:5, 1:3, 2] = 255
    np.testing.assert_array_equal(visualizer.record_frame, expected)
    written = sorted(path.name for path in (tmp_path / 'new').iterdir())
    assert written == [f'frame_00000{n}.{ending}' for n in (0, 1) for ending in ('npy', 'png')]
    png = cv2.imread(str(tmp_path / 'new' / 'frame_000001.png'))[..., ::-1]
    np.testing.assert_array_equal(png, expected)
    np.testing.assert_array_equal(np.load(tmp_path / 'new' / 'frame_000001.npy'), expected)


def test_a_frame_is_saved_without_being_drawn(tmp_path):
    visualizer = agent_visualizer.AgentVisualizer(str(tmp_path), [])
    visualizer.save_frame()
    png = cv2.imread(str(tmp_path / 'frame_000000.png'))
    assert png.shape == (210, 160, 3)
    np.testing.assert_array_equal(png[..., ::-1], visualizer.record_frame)


def test_a_video_is_made_of_the_frames(tmp_path):
    visualizer = agent_visualizer.AgentVisualizer(
        str(tmp_path), [BluePane()], screen_width=32, screen_height=16
    )
    with pytest.raises(ValueError, match='no PNG frames'):
        visualizer.generate_video()
    for _ in range(3):
        visualizer.visualize()
    visualizer.generate_video('run.mp4')
    video = cv2.VideoCapture(str(tmp_path / 'run.mp4'))
    assert video.get(cv2.CAP_PROP_FRAME_COUNT) == 3


def test_without_pygame_the_error_says_how_to_get_it(monkeypatch, tmp_path):
    real_import = builtins.__import__

    def no_pygame(name, *args, **keywords):
        if name == 'pygame':
            raise ImportError(name)
        return real_import(name, *args, **keywords)

    monkeypatch.setattr(builtins, '__import__', no_pygame)
    with pytest.raises(ImportError, match=r'pip install "dopamine_lite\[viz\]"'):
        agent_visualizer.AgentVisualizer(str(tmp_path), [])


def test_gin_configures_the_visualizer(tmp_path):
    gin.bind_parameter('AgentVisualizer.render_rate', 5)
    assert agent_visualizer.AgentVisualizer(str(tmp_path), []).render_rate == 5
