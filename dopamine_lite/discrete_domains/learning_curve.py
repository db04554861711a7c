"""Draws the learning curve of a run: `python -m ...learning_curve BASE_DIR [--output=FILE]`.

The picture shows the mean return of each training and evaluation phase against the agent steps
trained by then, from the newest log of a finished or running run.
"""

import argparse
import os
import pickle
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dopamine_lite import colours, files
from dopamine_lite.colab import utils

PIP_COMMAND = "pip install 'dopamine_lite[plots]'"
DEFAULT_NAME = 'learning_curve.png'

# Phase -> (label, style).
_STYLES = {
    'train': ('training', {'color': colours.TRAINING, 'linestyle': '-', 'marker': 'o'}),
    'eval': ('evaluation', {'color': colours.EVALUATION, 'linestyle': '--', 'marker': 's'}),
}


class NoCurve(Exception):
    """There is nothing to draw; the message says why."""


def read(base_dir: str) -> dict[str, dict[str, list[Any]]]:
    """Returns the statistics in the newest readable log of a run, by iteration.

    Raises:
      NoCurve: `base_dir` is no folder of a run, or has no readable log yet.
    """
    if not os.path.isdir(base_dir):
        raise NoCurve(f'there is no folder {base_dir}')
    logs = os.path.join(base_dir, 'logs')
    try:
        newest = utils.get_latest_iteration(logs)
    except ValueError:
        raise NoCurve(
            f'{base_dir} holds no log of a run (expected {os.path.join("logs", "log_0")} or later)'
        ) from None
    problem = None
    for number in range(newest, -1, -1):
        try:
            data, _ = utils.load_statistics(logs, number, verbose=False)
        except FileNotFoundError:
            continue
        except (pickle.UnpicklingError, EOFError, OSError) as error:
            problem = problem or error
            continue
        if _is_log(data):
            return data
        problem = problem or f'log_{number} is not the log of a run'
    raise NoCurve(f'no log in {logs} can be read: {problem}')


def _is_log(data: Any) -> bool:
    return isinstance(data, dict) and all(
        isinstance(key, str)
        and key.removeprefix(utils.ITERATION_PREFIX).isdecimal()
        and isinstance(statistics, dict)
        for key, statistics in data.items()
    )


def curves(
    data: Mapping[str, Mapping[str, list[Any]]],
) -> dict[str, tuple[list[int], list[float]]]:
    """Computes the points of the curves.

    Args:
      data: iteration_0, iteration_1, ... -> name -> list of values.

    Returns:
      'train' and 'eval', as far as they were measured -> (agent steps trained by the end of the
      iteration, mean return of the phase), a point an iteration.
    """
    points: dict[str, tuple[list[int], list[float]]] = {'train': ([], []), 'eval': ([], [])}
    steps = 0
    for key in sorted(data, key=lambda key: int(key.removeprefix(utils.ITERATION_PREFIX))):
        steps += sum(data[key].get('train_episode_lengths', []))
        for phase, (xs, ys) in points.items():
            returns = data[key].get(f'{phase}_episode_returns', [])
            if returns:
                xs.append(steps)
                ys.append(float(np.mean(returns)))
    return {phase: curve for phase, curve in points.items() if curve[0]}


def draw(base_dir: str, output: str | None = None) -> str:
    """Draws the learning curve of a run.

    Args:
      base_dir: the folder of the run.
      output: the file to write, of a kind that matplotlib knows by its suffix; by default
        `learning_curve.png` in `base_dir`.

    Returns:
      The file written.

    Raises:
      NoCurve: there is nothing to draw.
      ImportError: matplotlib is not installed.
      OSError, ValueError: the file cannot be written, or is of no known kind.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
        from matplotlib.ticker import EngFormatter
    except ImportError as error:
        raise ImportError(f'the learning curve needs matplotlib: {PIP_COMMAND}') from error
    output = output or os.path.join(base_dir, DEFAULT_NAME)
    suffix = os.path.splitext(output)[1].lstrip('.') or 'png'
    points = curves(read(base_dir))
    if not points:
        raise NoCurve(f'the logs in {base_dir} hold no finished episode')

    # A figure with a canvas of its own leaves the state of pyplot, if the program uses it, alone.
    figure = Figure(figsize=(8, 5), layout='constrained')
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for phase, (xs, ys) in points.items():
        label, style = _STYLES[phase]
        size = 4 if len(xs) <= 60 else 0
        axes.plot(xs, ys, label=label, linewidth=1.8, markersize=size, **style)
    axes.set_xlabel('agent steps trained', fontsize=13)
    axes.set_ylabel('mean return of an episode', fontsize=13)
    name = os.path.basename(os.path.abspath(base_dir))
    axes.set_title(name, fontsize=14, parse_math=False)
    axes.tick_params(labelsize=11)
    axes.xaxis.set_major_formatter(EngFormatter(sep=''))
    axes.grid(alpha=0.3)
    axes.legend(fontsize=12)
    with files.atomic_write(output) as file:
        figure.savefig(file, format=suffix, dpi=120)
    return output


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns its exit status."""
    parser = argparse.ArgumentParser(
        prog='python -m dopamine_lite.discrete_domains.learning_curve',
        description='Draws the mean return of each phase of a run against agent steps.',
    )
    parser.add_argument('base_dir', metavar='BASE_DIR', help='the folder of the run')
    parser.add_argument('--output', metavar='FILE', help=f'default: BASE_DIR/{DEFAULT_NAME}')
    options = parser.parse_args(argv)
    try:
        print(draw(options.base_dir, options.output))
    except (NoCurve, ImportError, OSError, ValueError) as error:
        print(f'learning_curve: {error}', file=sys.stderr)
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())
