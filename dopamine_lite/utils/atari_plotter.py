"""A pane of the game's own screen."""

from __future__ import annotations

from typing import Any

import gin

from dopamine_lite import drawing
from dopamine_lite.utils import plotter


@gin.configurable
class AtariPlotter(plotter.Plotter):
    """Draws the colour screen of the parameter `environment`, as `drawing.screen` gets it.

    `input_width` and `input_height` are the size of the game's screen in pixels, `width` and
    `height` that of the pane.
    """

    _defaults = {
        'x': 0,
        'y': 0,
        'width': 160,
        'height': 210,
        'input_width': 160,
        'input_height': 210,
    }

    def __init__(self, parameter_dict: dict[str, Any] | None = None):
        """Takes the parameters; AssertionError where `environment` is missing."""
        super().__init__(parameter_dict)
        assert 'environment' in self.parameters, 'AtariPlotter needs the parameter environment'

    def draw(self) -> Any:
        """Returns the pane as a pygame surface.

        Raises ValueError where the environment cannot be drawn, or its screen is of another size
        than the parameters say.
        """
        parameters = self.parameters
        screen = drawing.screen(parameters['environment'])
        expected = (parameters['input_height'], parameters['input_width'], 3)
        if screen.shape != expected:
            raise ValueError(f'the screen must have shape {expected}, got {screen.shape}')
        return plotter.scaled_surface(
            plotter.require_pygame(), screen, parameters['width'], parameters['height']
        )
