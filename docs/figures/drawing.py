"""What the figures of the documentation share: how they look and where they are written.

Each script beside this one has a function `draw`, which returns a figure, and run as a program
writes it to a PNG of its own name.
"""

import os
import pathlib

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

GREY = '#666666'
FONT = 10


def new_figure(width: float, height: float) -> Figure:
    """Returns an empty figure of so many inches."""
    figure = Figure(figsize=(width, height), dpi=120, layout='constrained')
    FigureCanvasAgg(figure)
    return figure


def save(figure: Figure, script: str | os.PathLike) -> None:
    """Writes the figure of a script beside it."""
    figure.savefig(pathlib.Path(script).with_suffix('.png'))
