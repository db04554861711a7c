"""Reading what runs left behind: logs as dictionaries or tables, and published baselines."""

import itertools
import os
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dopamine_lite.compat import pickles

if TYPE_CHECKING:
    import pandas

FILE_PREFIX = 'log'
ITERATION_PREFIX = 'iteration_'

ALL_GAMES = (
    'AirRaid Alien Amidar Assault Asterix Asteroids Atlantis BankHeist BattleZone BeamRider '
    'Berzerk Bowling Boxing Breakout Carnival Centipede ChopperCommand CrazyClimber DemonAttack '
    'DoubleDunk ElevatorAction Enduro FishingDerby Freeway Frostbite Gopher Gravitar Hero '
    'IceHockey Jamesbond JourneyEscape Kangaroo Krull KungFuMaster MontezumaRevenge MsPacman '
    'NameThisGame Phoenix Pitfall Pong Pooyan PrivateEye Qbert Riverraid RoadRunner Robotank '
    'Seaquest Skiing Solaris SpaceInvaders StarGunner Tennis TimePilot Tutankham UpNDown Venture '
    'VideoPinball WizardOfWor YarsRevenge Zaxxon'
).split()

MUJOCO_GAMES = ['Ant', 'HalfCheetah', 'Hopper', 'Humanoid', 'Walker2d']


def _pandas():
    try:
        import pandas
    except ImportError as error:
        raise ImportError('tables need pandas: pip install pandas') from error
    return pandas


def _numbered(folder: str, prefix: str) -> dict[int, str]:
    """The files `{prefix}_{number}` of a folder, by number."""
    pattern = re.compile(re.escape(prefix) + r'_(\d+)')
    try:
        names = os.listdir(folder or '.')
    except (FileNotFoundError, NotADirectoryError):
        return {}
    matches = filter(None, map(pattern.fullmatch, names))
    return {int(match[1]): os.path.join(folder, match[0]) for match in matches}


def get_latest_file(path: str) -> str | None:
    """Returns the file named `{path}_{number}` with the largest number, or None."""
    numbered = _numbered(*os.path.split(path))
    return numbered[max(numbered)] if numbered else None


def get_latest_iteration(path: str) -> int:
    """Returns the largest iteration that a folder of logs has a file of.

    Raises:
      ValueError: there is no log file.
    """
    numbered = _numbered(path, FILE_PREFIX)
    if not numbered:
        raise ValueError(f'there is no log file ({FILE_PREFIX}_0, ...) in {path}')
    return max(numbered)


def load_statistics(
    log_path: str, iteration_number: int | None = None, verbose: bool = True
) -> tuple[dict[str, dict[str, list[Any]]], int]:
    """Reads the log of a run.

    Args:
      log_path: the folder `logs` of the run.
      iteration_number: which file to read; None means the newest.
      verbose: whether to print the name of the file.

    Returns:
      (iteration_0, iteration_1, ... -> name -> list of values, number of the file).

    Raises:
      ValueError: there is no log file.
      pickle.UnpicklingError: the file is damaged, or holds more than plain data.
    """
    if iteration_number is None:
        iteration_number = get_latest_iteration(log_path)
    log_file = os.path.join(log_path, f'{FILE_PREFIX}_{iteration_number}')
    if verbose:
        print(f'Reading statistics from: {log_file}')
    with open(log_file, 'rb') as file:
        return pickles.load(file), iteration_number


def summarize_data(
    data: Mapping[str, Mapping[str, list[Any]]], summary_keys: Sequence[str]
) -> dict[str, list[float]]:
    """Averages measurements over each iteration.

    Args:
      data: iteration_0, iteration_1, ... -> name -> list of values.
      summary_keys: names to average.

    Returns:
      Name -> one mean an iteration, from iteration 0 to the last. An iteration without values takes
      the mean of the one before it; NaN if there is none.

    Raises:
      KeyError: no iteration has a name of `summary_keys`.
    """
    numbers = [int(key.removeprefix(ITERATION_PREFIX)) for key in data]
    summary: dict[str, list[float]] = {}
    for key in summary_keys:
        if data and not any(key in statistics for statistics in data.values()):
            names = sorted(set().union(*data.values()))
            raise KeyError(f'{key!r} was not measured; available are {names}')
        means = summary[key] = []
        for number in range(max(numbers, default=-1) + 1):
            values = data.get(f'{ITERATION_PREFIX}{number}', {}).get(key)
            if values:
                means.append(np.mean(values))
            else:
                means.append(means[-1] if means else float('nan'))
    return summary


def read_experiment(
    log_path: str,
    parameter_set: Mapping[str, Sequence[Any]] | None = None,
    job_descriptor: str = '',
    iteration_number: int | None = None,
    summary_keys: Sequence[str] = ('train_episode_returns', 'eval_episode_returns'),
    verbose: bool = False,
) -> 'pandas.DataFrame':
    """Reads the logs of one run, or of a grid of runs, into a table.

    Args:
      log_path: the folder `logs` of the run, or the folder below which the runs of a grid are.
      parameter_set: for a grid, parameter -> its values, in the order of `job_descriptor`.
      job_descriptor: for a grid, where under `log_path` the logs of a run are, a format string with
        one field a parameter, such as `'{}_{}/logs'`.
      iteration_number: which log files to read; None means the newest of each run.
      summary_keys: measurements to average over each iteration.
      verbose: whether to print the names of the files.

    Returns:
      A row an iteration and run, with the columns of `parameter_set`, `iteration`, and a mean a
      name of `summary_keys`.

    Raises:
      ImportError: pandas is not installed.
    """
    pandas = _pandas()
    parameter_set = parameter_set or {}
    rows = []
    for values in itertools.product(*parameter_set.values()):
        path = os.path.join(log_path, job_descriptor.format(*values))
        data, _ = load_statistics(path, iteration_number, verbose)
        summary = summarize_data(data, summary_keys)
        for iteration, means in enumerate(zip(*summary.values(), strict=True)):
            rows.append([*values, iteration, *means])
    return pandas.DataFrame(rows, columns=[*parameter_set, 'iteration', *summary_keys])


def load_baselines(base_dir: str, verbose: bool = False) -> dict[str, 'pandas.DataFrame']:
    """Reads the training curves that Dopamine's authors published.

    Args:
      base_dir: a folder with a folder an agent, which holds a pickled table a game, `{game}.pkl`.
      verbose: whether to print what an agent has no table of.

    Returns:
      Game -> table of all agents that played it, with an additional column `agent`.

    Raises:
      ImportError: pandas is not installed.
    """
    pandas = _pandas()
    agents = sorted(
        name for name in os.listdir(base_dir) if os.path.isdir(os.path.join(base_dir, name))
    )
    experiments = {}
    for game in ALL_GAMES + MUJOCO_GAMES:
        tables = []
        for agent in agents:
            path = os.path.join(base_dir, agent, f'{game}.pkl')
            try:
                with open(path, 'rb') as file:
                    table = pickles.load(file, pandas=True)
            except FileNotFoundError:
                if verbose:
                    print(f'Unable to load data for agent {agent} on game {game}')
                continue
            table['agent'] = agent
            tables.append(table)
        if tables:
            experiments[game] = pandas.concat(tables, ignore_index=True)
    return experiments
