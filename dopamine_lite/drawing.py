"""What is drawn of an agent at play: the game, what the agent expects, the return so far.

A frame is drawn by matplotlib, without a display: what stays the same is drawn once and kept as
pixels, and only lines, bars and texts that change are drawn at each step. `dopamine_lite.utils` puts
its panes together from the same functions.

Shapes: A actions, Z atoms, N quantiles.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import cv2
import gymnasium
import numpy as np

from dopamine_lite import colours
from dopamine_lite.console import UserError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH, HEIGHT = 960, 540  # pixels of a frame
_DPI = 100
_GAME_BOX = (16, 48, 400, 424)  # left, top, width, height in pixels
_RIGHT, _RIGHT_WIDTH = 548, 336  # left and width, in pixels, of the axes beside the game
_INK = '#222222'
_GRID = '#dddddd'


# Pixels.


def figure(size: tuple[float, float], background: str = 'white', dpi: float = _DPI) -> Figure:
    """Makes a matplotlib figure of `size` inches that leaves the state of pyplot alone.

    Raises ImportError, with the pip command, where matplotlib is missing.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(
            'drawing needs matplotlib: pip install "dopamine_lite[plots]"', name='matplotlib'
        ) from error
    made = Figure(figsize=size, facecolor=background, dpi=dpi)
    FigureCanvasAgg(made)
    return made


def pixels(drawn: Figure) -> np.ndarray:
    """What is on the canvas of a figure: uint8 [height, width, 3], red first."""
    return np.asarray(drawn.canvas.buffer_rgba())[..., :3].copy()


def fitted(image: np.ndarray, width: int, height: int) -> np.ndarray:
    """Scales an image [rows, columns, 3] to the largest size of its proportions that fits.

    Pixel art stays sharp: an image that fits twice or more is enlarged by a whole number.
    """
    scale = min(width / image.shape[1], height / image.shape[0])
    if scale >= 2:
        scale = int(scale)
        return image.repeat(scale, axis=0).repeat(scale, axis=1)
    size = (max(1, round(image.shape[1] * scale)), max(1, round(image.shape[0] * scale)))
    method = cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR
    return cv2.resize(image, size, interpolation=method)


# The game.


def prepare_screen(environment: Any) -> None:
    """Lets an environment that was made without a render mode draw itself into memory.

    Raises UserError where its environment of Gymnasium says that it cannot.
    """
    # pygame, which draws most of Gymnasium's environments, needs no display then.
    os.environ.setdefault('SDL_VIDEODRIVER', 'dummy')
    os.environ.setdefault('PYGAME_HIDE_SUPPORT_PROMPT', '1')
    if _takes_mode(environment):
        return
    inner = getattr(environment, 'environment', environment)
    if not isinstance(inner, gymnasium.Env):
        return
    modes = list(inner.metadata.get('render_modes') or ())
    if 'rgb_array' not in modes:
        has = f'only {", ".join(modes)}' if modes else 'none at all'
        raise UserError(
            f"{_name(inner)} cannot be drawn: it has no render mode 'rgb_array', but {has}"
        )
    if inner.unwrapped.render_mode is None:
        inner.unwrapped.render_mode = 'rgb_array'


def screen(environment: Any) -> np.ndarray:
    """The picture of the game as it is now: uint8 [height, width, 3], red first.

    Raises UserError where the environment cannot be drawn; says why.
    """
    if not callable(getattr(environment, 'render', None)):
        raise UserError(f'{_name(environment)} cannot be drawn: it has no method render')
    try:
        image = environment.render(*(['rgb_array'] if _takes_mode(environment) else []))
    except Exception as error:
        reason = str(error).splitlines() or [type(error).__name__]
        raise UserError(f'{_name(environment)} cannot be drawn: {reason[0]}') from error
    image = np.asarray(image)
    if image.ndim == 2:
        image = np.repeat(image[..., None], 3, axis=2)
    if image.ndim != 3 or image.shape[2] not in (3, 4) or image.dtype.kind not in 'uif':
        what = 'nothing' if image.shape == () else f'{image.dtype} {list(image.shape)}'
        raise UserError(
            f'{_name(environment)} cannot be drawn: its render gave {what}, expected an image '
            '[height, width, 3]'
        )
    if image.dtype.kind == 'f':  # from 0 to 1
        image = np.clip(image * 255, 0, 255)
    return np.ascontiguousarray(image[..., :3], np.uint8)


def _takes_mode(environment: Any) -> bool:
    render = getattr(environment, 'render', None)
    return callable(render) and 'mode' in inspect.signature(render).parameters


def _name(environment: Any) -> str:
    inner = getattr(environment, 'environment', environment)
    spec = getattr(inner, 'spec', None)
    return spec.id if spec is not None else type(getattr(inner, 'unwrapped', inner)).__name__


def frames_per_second(environment: Any) -> float:
    """How many agent steps make a second of the game, 10 to 50; 30 where it does not say."""
    inner = getattr(environment, 'environment', environment)
    if hasattr(environment, 'frame_skip'):
        rate = 60 / environment.frame_skip  # the Atari 2600 has 60 frames a second
    else:
        rate = (getattr(inner, 'metadata', None) or {}).get('render_fps') or 30
    return float(min(max(rate, 10), 50))


# Few environments say what their actions are.
_ACTION_NAMES = {
    'CartPole': ('left', 'right'),
    'Acrobot': ('-1', '0', '+1'),
    'MountainCar': ('left', 'none', 'right'),
    'LunarLander': ('nothing', 'left engine', 'main engine', 'right engine'),
    'MinAtar': ('nothing', 'left', 'up', 'right', 'down', 'fire'),
}


def action_names(environment: Any, num_actions: int) -> list[str]:
    """What the actions of an environment are called; numbers where nobody says."""
    inner = getattr(environment, 'environment', environment)
    meanings = getattr(getattr(inner, 'unwrapped', inner), 'get_action_meanings', None)
    names = list(meanings()) if meanings is not None else []
    spec = getattr(inner, 'spec', None)
    if not names and spec is not None:
        names = list(_ACTION_NAMES.get(spec.id.replace('/', '-').split('-')[0], ()))
    if len(names) != num_actions:
        return [f'action {action}' for action in range(num_actions)]
    return [str(name) for name in names]


# What the agent expects.


class Estimate(NamedTuple):
    """What an agent expects of each action in its state.

    Attributes:
      values: [A], the expected returns.
      probabilities: [A, Z], of the returns in `support`; None where no distribution is learnt.
      support: [Z], or None.
      quantiles: [A, N], in ascending order; None where none are learnt.
    """

    values: np.ndarray
    probabilities: np.ndarray | None = None
    support: np.ndarray | None = None
    quantiles: np.ndarray | None = None


def estimate(agent: Any) -> Estimate | None:
    """Returns what an agent of this package expects in its `state`; None where it does not say.

    IQN draws its fractions anew here: the values are not quite those that it acted on.
    """
    outputs = getattr(agent, '_net_outputs', None)
    values = getattr(agent, '_q_values', getattr(outputs, 'q_values', None))
    if values is None:
        return None
    wanted = {'values': values}
    if hasattr(outputs, 'probabilities'):
        wanted.update(probabilities=outputs.probabilities, support=agent._support)
    elif hasattr(outputs, 'quantile_values'):
        wanted.update(quantiles=outputs.quantile_values)
    found = agent._sess.run(wanted, {agent.state_ph: agent.state})
    found['values'] = np.reshape(found['values'], agent.num_actions)
    if 'probabilities' in found:
        found['probabilities'] = found['probabilities'][0]
    if 'quantiles' in found:
        quantiles = found['quantiles']
        # [1, A, N] of QR-DQN, or [N, A] of IQN.
        quantiles = quantiles[0] if quantiles.ndim == 3 else quantiles.T
        found['quantiles'] = np.sort(quantiles, axis=1)
    return Estimate(**found)


# The frame.


class _Limits:
    """The ends of an axis, which widen when a value lies beyond them and never narrow."""

    def __init__(self, low: float, high: float):
        self.low, self.high = low, high

    def take(self, low: float, high: float) -> bool:
        """Returns whether the limits had to be widened, which is done with room to spare."""
        if self.low <= low and high <= self.high:
            return False
        room = 0.25 * max(high - low, 1e-3)
        self.low = self.low if self.low <= low else low - room
        self.high = self.high if high <= self.high else high + room
        return True


class _Ink:
    """Writes text onto pixels; much faster than matplotlib, in the same typeface."""

    def __init__(self):
        from matplotlib import font_manager
        from PIL import ImageFont

        def font(size, weight='normal'):
            properties = font_manager.FontProperties(family='DejaVu Sans', weight=weight)
            return ImageFont.truetype(font_manager.findfont(properties), size)

        self._fonts = {
            (size, bold): font(size, 'bold' if bold else 'normal')
            for size in (12, 14, 16)
            for bold in (False, True)
        }

    def write(self, frame: np.ndarray, texts: list[tuple]) -> np.ndarray:
        """Returns the frame with each (x, y, text, size, bold, anchor), anchors as in Pillow."""
        from PIL import Image, ImageDraw

        image = Image.fromarray(frame)
        draw = ImageDraw.Draw(image)
        for x, y, text, size, bold, anchor in texts:
            draw.text((x, y), text, _INK, self._fonts[size, bold], anchor=anchor)
        return np.array(image)


class FrameDrawer:
    """Draws the frames of a recording, uint8 [HEIGHT, WIDTH, 3]."""

    def __init__(self, title: str, actions: list[str], like: Estimate | None):
        """Lays a frame out.

        Args:
          title: stands above everything.
          actions: names of the actions.
          like: an estimate of the agent's, whose kind decides what is drawn; None draws none.

        Raises:
          ImportError: matplotlib is missing.
        """
        self._figure = figure((WIDTH / _DPI, HEIGHT / _DPI))
        self._ink = _Ink()
        self._actions = actions
        self._animated: list[Any] = []
        self._background: Any = None  # what is not animated, as pixels; None when that has changed
        self._figure.text(
            16 / WIDTH, 1 - 14 / HEIGHT, title, fontsize=14, weight='bold', va='top', color=_INK
        )
        self._values = _ValuePane(self, actions, like) if like is not None else None
        top = 402 if like is not None else 80
        self._return_axes = self.axes(
            top, HEIGHT - 52 - top, 'return so far', 'agent steps of this game'
        )
        self._returns: list[float] = []
        self._return_x, self._return_y = _Limits(0, 50), _Limits(0, 1)
        (self._return_line,) = self._return_axes.plot([], [], color=_INK, linewidth=1.6)
        self.animate(self._return_line)

    def axes(self, top: int, height: int, title: str, label: str) -> Any:
        """Adds axes on the right, at a place in pixels."""
        made = self._figure.add_axes(
            (_RIGHT / WIDTH, 1 - (top + height) / HEIGHT, _RIGHT_WIDTH / WIDTH, height / HEIGHT)
        )
        made.set_title(title, fontsize=11, loc='left', color=_INK)
        made.set_xlabel(label, fontsize=10, color=_INK)
        made.tick_params(labelsize=9.5, colors=_INK)
        made.grid(color=_GRID)
        made.set_axisbelow(True)
        for side in ('top', 'right'):
            made.spines[side].set_visible(False)
        return made

    def animate(self, artist: Any) -> None:
        """Lets an artist be drawn anew at each frame, after those that were named before."""
        artist.set_animated(True)
        self._animated.append(artist)

    def redraw_background(self) -> None:
        """Says that something has changed that is not animated."""
        self._background = None

    def draw(
        self,
        image: np.ndarray,
        expected: Estimate | None,
        *,
        game: int,
        step: int,
        action: int | None,
        episode_return: float,
    ) -> np.ndarray:
        """Draws one frame.

        Args:
          image: the game, uint8 [rows, columns, 3].
          expected: the agent's estimate, of the kind that the frame was laid out for.
          game: number of the game, the first being 1.
          step: agent steps of the game so far; 0 begins a new curve of returns.
          action: what the agent does next; None at the end of a game.
          episode_return: sum of the game's rewards so far.
        """
        self._update_returns(step, episode_return)
        texts = self._values.update(expected, action) if self._values is not None else []
        doing = 'game over' if action is None else f'action: {self._actions[action]}'
        status = f'game {game}     step {step}     return {episode_return:g}'
        texts += [(16, 496, status, 16, False, 'lm'), (16, 520, doing, 16, False, 'lm')]

        canvas = self._figure.canvas
        if self._background is None:
            canvas.draw()
            self._background = canvas.copy_from_bbox(self._figure.bbox)
        canvas.restore_region(self._background)
        for artist in self._animated:
            artist.axes.draw_artist(artist)
        frame = self._ink.write(pixels(self._figure), texts)
        left, top, width, height = _GAME_BOX
        shown = fitted(image, width, height)
        left += (width - shown.shape[1]) // 2
        top += (height - shown.shape[0]) // 2
        frame[top : top + shown.shape[0], left : left + shown.shape[1]] = shown
        return frame

    def _update_returns(self, step: int, episode_return: float) -> None:
        if step == 0:
            self._returns = []
            self._return_x = _Limits(0, 50)
            self.redraw_background()
        self._returns.append(episode_return)
        self._return_line.set_data(range(len(self._returns)), self._returns)
        x_moved = self._return_x.take(0, step)
        if x_moved:
            self._return_x.high = 2 * step  # room for as many again
        y_moved = self._return_y.take(min(self._returns), max(self._returns))
        if x_moved or y_moved or self._background is None:
            self._return_axes.set_xlim(self._return_x.low, self._return_x.high)
            room = 0.05 * (self._return_y.high - self._return_y.low)
            self._return_axes.set_ylim(self._return_y.low - room, self._return_y.high + room)
            self.redraw_background()


class _ValuePane:
    """What the agent expects, a row an action: bars, distributions or quantiles, and the means."""

    _TOP, _HEIGHT = 66, 258

    def __init__(self, frame: FrameDrawer, actions: list[str], like: Estimate):
        from matplotlib import collections

        self._frame = frame
        self._actions = actions
        self._rows = np.arange(len(actions))[::-1]  # the first action on top
        self._text_size = 14 if len(actions) <= 12 else 12
        kind = 'Q-values'
        if like.probabilities is not None:
            kind = 'distribution of the return, and its mean'
        elif like.quantiles is not None:
            kind = 'quantiles of the return, and their mean'
        self._axes = frame.axes(self._TOP, self._HEIGHT, kind, 'discounted return')
        self._axes.set_ylim(-0.6, len(actions) - 0.4)
        self._axes.set_yticks([])
        self._axes.spines['left'].set_visible(False)
        self._limits = _Limits(*self._extent(like))
        self._set_limits()
        if like.quantiles is not None:
            self._shapes = collections.LineCollection([], linewidths=1.3, alpha=0.7)
        else:
            self._shapes = collections.PolyCollection([], linewidths=0.8)
        self._axes.add_collection(self._shapes, autolim=False)
        frame.animate(self._shapes)
        self._means = None
        if kind != 'Q-values':
            (self._means,) = self._axes.plot(
                [], [], 'o', color=_INK, markersize=6, markeredgecolor='white'
            )
            frame.animate(self._means)

    @staticmethod
    def _extent(expected: Estimate) -> tuple[float, float]:
        if expected.support is not None:
            return float(expected.support[0]), float(expected.support[-1])
        shown = expected.values if expected.quantiles is None else expected.quantiles
        low, high = float(shown.min()), float(shown.max())
        return (min(low, 0.0), max(high, 0.0)) if expected.quantiles is None else (low, high)

    def _set_limits(self) -> None:
        low, high = self._limits.low, self._limits.high
        room = 0.02 * max(high - low, 1e-3)
        self._axes.set_xlim(low - room, high + room)
        self._frame.redraw_background()

    def update(self, expected: Estimate, action: int | None) -> list[tuple]:
        """Takes an estimate and the action that was chosen; returns the texts of the rows."""
        if self._limits.take(*self._extent(expected)):
            self._set_limits()
        chosen = [index == action for index in range(len(self._rows))]
        row_colours = [colours.VERMILION if is_chosen else colours.BLUE for is_chosen in chosen]
        if expected.quantiles is not None:
            self._shapes.set_segments(self._ticks(expected.quantiles))
            row_colours = np.repeat(row_colours, expected.quantiles.shape[1])
        elif expected.probabilities is not None:
            self._shapes.set_verts(self._histograms(expected))
        else:
            self._shapes.set_verts(self._bars(expected.values))
        self._shapes.set_color(row_colours)
        if self._means is not None:
            self._means.set_data(expected.values, self._rows)
        return list(self._row_texts(expected, chosen))

    def _row_texts(self, expected: Estimate, chosen: list[bool]) -> Iterator[tuple]:
        size = self._text_size
        for row, name, value, bold in zip(
            self._rows, self._actions, expected.values, chosen, strict=True
        ):
            y = self._TOP + self._HEIGHT * (1 - (row + 0.6) / (len(self._rows) + 0.2))
            yield _RIGHT - 8, y, name, size, bold, 'rm'
            yield WIDTH - 12, y, f'{round(float(value), 2) + 0.0:.2f}', size, bold, 'rm'

    def _bars(self, values: np.ndarray) -> np.ndarray:
        x = np.stack([0 * values, values, values, 0 * values], axis=1)
        y = self._rows[:, None] + np.array([-0.35, -0.35, 0.35, 0.35])
        return np.stack([x, y], axis=-1)

    def _histograms(self, expected: Estimate) -> np.ndarray:
        support = expected.support
        half = 0.5 * (support[1] - support[0])
        edges = np.repeat(np.append(support - half, support[-1] + half), 2)
        scale = 0.85 / max(float(expected.probabilities.max()), 1e-9)
        tops = np.repeat(scale * expected.probabilities, 2, axis=1)
        y = self._rows[:, None] - 0.4 + np.pad(tops, ((0, 0), (1, 1)))
        return np.stack([np.broadcast_to(edges, y.shape), y], axis=-1)

    def _ticks(self, quantiles: np.ndarray) -> np.ndarray:
        x = np.repeat(quantiles.reshape(-1, 1), 2, axis=1)
        middle = np.repeat(self._rows, quantiles.shape[1])
        return np.stack([x, middle[:, None] + np.array([-0.35, 0.35])], axis=-1)
