"""What the plotters of `AgentVisualizer` have in common.

A plotter draws one pane of a frame: a pygame surface of `width` by `height` pixels, shown at
(`x`, `y`). Nothing is opened on screen. Plotters need matplotlib and pygame, which come with
`pip install dopamine_lite[viz]`.
"""

from __future__ import annotations

import abc
import os
from typing import Any

import numpy as np

from dopamine_lite import drawing


def require_pygame() -> Any:
    """The module pygame. Raises ImportError, with the pip command, where it is missing."""
    os.environ.setdefault('PYGAME_HIDE_SUPPORT_PROMPT', '1')
    try:
        import pygame
    except ImportError as error:
        raise ImportError(
            'drawing an agent needs pygame: pip install "dopamine_lite[viz]" (or pygame-ce)'
        ) from error
    return pygame


class Plotter(abc.ABC):
    """Draws one pane of a frame.

    Subclasses define `draw` and `_defaults`, the parameters that they know, with their values.
    `parameters` are those, with what the caller gave in their place.
    """

    _defaults: dict[str, Any] = {'x': 0, 'y': 0}

    def __init__(self, parameter_dict: dict[str, Any] | None = None):
        """Takes `parameter_dict` (a name to a value) over the defaults of the class."""
        self.parameters = {**self._defaults, **(parameter_dict or {})}
        self.fig: Any = None  # the matplotlib figure, and its axes below
        self.plot: Any = None

    def _setup_plot(self) -> None:
        """Makes the figure, or empties its axes where there is one, and labels them."""
        parameters = self.parameters
        if self.fig is None:
            self.fig = drawing.figure(parameters['figsize'], parameters['bg_color'])
            self.plot = self.fig.add_subplot(111)
        self.plot.clear()
        self.plot.set_facecolor(parameters['face_color'])
        size = parameters['fontsize']
        font = {**(parameters['font'] or {}), 'size': size}
        ink = 'white' if parameters['bg_color'] in ('black', 'k') else 'black'
        self.plot.tick_params(labelsize=size, colors=ink)
        for name in ('xlabel', 'ylabel', 'title'):
            if parameters.get(name):
                getattr(self.plot, f'set_{name}')(parameters[name], color=ink, **font)

    def _plot_surface(self) -> Any:
        """The figure as a surface of the pane's size."""
        pygame = require_pygame()
        if self.parameters.get('legend'):
            self.plot.legend(self.parameters['legend'], fontsize=self.parameters['fontsize'])
        self.fig.canvas.draw()
        size = self.parameters['width'], self.parameters['height']
        return scaled_surface(pygame, drawing.pixels(self.fig), *size)

    @abc.abstractmethod
    def draw(self) -> Any:
        """Returns the pane as a pygame surface."""

    @property
    def x(self) -> int:
        """Pixels from the left edge of the frame."""
        return self.parameters['x']

    @property
    def y(self) -> int:
        """Pixels from the top edge of the frame."""
        return self.parameters['y']


def scaled_surface(pygame: Any, pixels: np.ndarray, width: int, height: int) -> Any:
    """Makes a surface of `width` by `height` from uint8 `pixels` [rows, columns, 3]."""
    pixels = np.ascontiguousarray(pixels, np.uint8)
    size = (pixels.shape[1], pixels.shape[0])
    surface = pygame.image.frombuffer(pixels.tobytes(), size, 'RGB')
    return pygame.transform.smoothscale(surface, (width, height))
