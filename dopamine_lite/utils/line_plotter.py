"""A pane of lines, such as Q-values or rewards over time."""

from __future__ import annotations

from typing import Any

import gin

from dopamine_lite.utils import plotter

COLORS = ['b', 'g', 'r', 'c', 'm', 'y', 'k', 'w']


@gin.configurable
class LinePlotter(plotter.Plotter):
    """Draws the lines that the parameter `get_line_data_fn` returns, the newest points of each.

    `get_line_data_fn()` returns a list of lines, each a list of numbers, one a step. At most
    `max_width` steps are shown. Other parameters: `legend` (a label a line), `xlabel`, `ylabel`,
    `title`, `linewidth`, `colors`, and those of the figure and of the pane's place.
    """

    _defaults = {
        'x': 0,
        'y': 0,
        'width': 500,
        'height': 500,
        'fontsize': 30,
        'bg_color': 'black',
        'face_color': 'white',
        'colors': COLORS,
        'max_width': 500,
        'figsize': (12, 9),
        'font': {'family': 'sans-serif', 'weight': 'regular'},
        'linewidth': 5,
    }

    def __init__(self, parameter_dict: dict[str, Any] | None = None):
        """Takes the parameters; AssertionError where `get_line_data_fn` is missing."""
        super().__init__(parameter_dict)
        assert 'get_line_data_fn' in self.parameters, (
            'LinePlotter needs the parameter get_line_data_fn'
        )

    def draw(self) -> Any:
        """Returns the pane as a pygame surface."""
        self._setup_plot()
        colors = self.parameters['colors']
        lines = self.parameters['get_line_data_fn']()
        for index, line in enumerate(lines):
            self.plot.plot(
                line,
                linewidth=self.parameters['linewidth'],
                color=colors[index % len(colors)],
            )
        steps = max((len(line) for line in lines), default=0)
        first = max(0, steps - self.parameters['max_width'])
        self.plot.set_xlim(first, max(steps, first + 1))
        return self._plot_surface()
