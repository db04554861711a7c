"""A pane of bars, such as the probabilities of returns of each action."""

from __future__ import annotations

from typing import Any

import gin
import numpy as np

from dopamine_lite.utils import plotter

COLORS = ['b', 'g', 'r', 'c', 'm', 'y', 'k', 'w']


@gin.configurable
class BarPlotter(plotter.Plotter):
    """Draws the bars that the parameter `get_bar_data_fn` returns.

    `get_bar_data_fn()` returns rows of heights, one row a group (an action), drawn over each other
    in one colour each. Other parameters: `legend` (a label a row), `xlabel`, `ylabel`, `title`,
    `xticks` and `xticklabels`, `colors`, and those of the figure and of the pane's place.
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
        """Takes the parameters; AssertionError where `get_bar_data_fn` is missing."""
        super().__init__(parameter_dict)
        assert 'get_bar_data_fn' in self.parameters, (
            'BarPlotter needs the parameter get_bar_data_fn'
        )

    def draw(self) -> Any:
        """Returns the pane as a pygame surface."""
        self._setup_plot()
        colors = self.parameters['colors']
        rows = np.atleast_2d(np.asarray(self.parameters['get_bar_data_fn'](), float))
        for index, heights in enumerate(rows):
            self.plot.bar(
                np.arange(len(heights)),
                heights,
                width=0.9,
                alpha=0.5 if len(rows) > 1 else 1.0,
                color=colors[index % len(colors)],
            )
        if self.parameters.get('xticks') is not None:
            self.plot.set_xticks(self.parameters['xticks'])
        if self.parameters.get('xticklabels') is not None:
            self.plot.set_xticks(
                self.plot.get_xticks()
                if self.parameters.get('xticks') is None
                else self.parameters['xticks'],
                self.parameters['xticklabels'],
            )
        return self._plot_surface()
