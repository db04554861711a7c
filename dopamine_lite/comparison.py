"""What several runs achieved, as numbers: their curves by agent and game, with intervals.

Intervals are the 95 % stratified bootstrap of Agarwal et al. (2021), "Deep reinforcement learning at
the edge of the statistical precipice" (arXiv:2108.13264), by the package rliable: runs are drawn anew
within each game, and at each point of a curve by itself. Statistics are the mean, or the
interquartile mean (IQM) of the same paper: the mean of the middle half of all runs of all games.

Shapes: R runs, G games, T points of a curve.
"""

from __future__ import annotations

import contextlib
import csv
import glob
import io
import itertools
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from dopamine_lite import colours, files, gin_text
from dopamine_lite.colab import utils
from dopamine_lite.console import UserError
from dopamine_lite.discrete_domains import learning_curve

PHASES = {'train': 'training', 'eval': 'evaluation'}
STATISTICS = {'mean': 'mean', 'iqm': 'interquartile mean'}
_RESAMPLES = 2000
_PROFILE_POINTS = 101
_ATARI_ITERATION = 250_000  # agent steps, of Dopamine's published curves


class Run(NamedTuple):
    """One run folder.

    Attributes:
      folder: its path.
      agent: the agent's name, as pictures show it.
      game: the environment's name.
      frame_skip: frames of the environment in an agent step.
      settings: every binding that the folder keeps, as text; empty for a folder of Dopamine's.
      curves: phase -> ([T] agent steps trained, [T] mean return of an episode).
    """

    folder: str
    agent: str
    game: str
    frame_skip: int
    settings: Mapping[str, str]
    curves: Mapping[str, tuple[np.ndarray, np.ndarray]]


class Group(NamedTuple):
    """The runs of one agent on one game, of equal length.

    Attributes:
      steps: [T], agent steps trained, the mean over the runs.
      returns: [R, T], of each run, smoothed.
    """

    agent: str
    game: str
    runs: Sequence[Run]
    steps: np.ndarray
    returns: np.ndarray

    @property
    def frames(self) -> np.ndarray:
        """[T], frames of the environment instead of agent steps."""
        return self.steps * self.runs[0].frame_skip


class Band(NamedTuple):
    """A statistic [T] with the ends of its 95 % interval [T], which are None for a single run."""

    value: np.ndarray
    low: np.ndarray | None
    high: np.ndarray | None


class Published(NamedTuple):
    """A curve of somebody else's: [T] agent steps or None, [T] frames or None, [T] returns."""

    agent: str
    game: str | None
    steps: np.ndarray | None
    frames: np.ndarray | None
    returns: np.ndarray


# Reading runs.


def find(patterns: Iterable[str]) -> list[str]:
    """Returns the folders that paths and glob patterns name, each once.

    Raises UserError for a pattern that names no folder.
    """
    folders: dict[str, None] = {}
    for pattern in patterns:
        found = [pattern] if os.path.isdir(pattern) else sorted(glob.glob(pattern, recursive=True))
        found = [path for path in found if os.path.isdir(path)]
        if not found:
            raise UserError(f'there is no folder {pattern}')
        folders.update(dict.fromkeys(os.path.normpath(path) for path in found))
    return list(folders)


class NothingFinished(UserError):
    """A folder holds no log with a finished episode: of no run, or of one that has just begun."""


def read_all(patterns: Iterable[str], by: str | None = None) -> tuple[list[Run], list[str]]:
    """Reads the runs that paths and glob patterns name; see `read`.

    Returns:
      (the runs, notes on folders that only a pattern names, and where nothing has finished).

    Raises:
      UserError: a pattern names no folder, a path no run, or no run is left.
    """
    named = {os.path.normpath(path) for path in patterns}
    runs, unfinished = [], []
    for folder in find(patterns):
        try:
            runs.append(read(folder, by))
        except NothingFinished as error:
            if folder in named:
                raise
            unfinished.append(error)
    if not runs:
        raise unfinished[0]
    return runs, [f'left out: {error}' for error in unfinished]


def read(folder: str, by: str | None = None) -> Run:
    """Reads the newest log of a run, of this package or of Dopamine.

    Args:
      folder: of the run.
      by: a parameter, such as 'DQNAgent.gamma', whose value becomes part of the agent's name.

    Raises:
      NothingFinished: it is no folder of a run, or holds no finished episode.
      UserError: it has no such parameter, or its settings cannot be read.
    """
    try:
        curves = learning_curve.curves(learning_curve.read(folder))
    except learning_curve.NoCurve as error:
        raise NothingFinished(str(error)) from error
    if not curves:
        raise NothingFinished(f'the logs in {folder} hold no finished episode')
    curves = {phase: (np.array(x, float), np.array(y, float)) for phase, (x, y) in curves.items()}
    if not os.path.exists(os.path.join(folder, gin_text.KEPT)):
        if by:
            raise UserError(
                f'--by={by}: {folder} holds no {gin_text.KEPT} that would say its value'
            )
        agent, game = _named_by_path(folder)
        skip = 4 if game in utils.ALL_GAMES else 1
        return Run(folder, agent, game, skip, {}, curves)
    text = gin_text.read_kept(folder)
    try:
        settings = gin_text.Settings(text)
    except SyntaxError as error:
        raise UserError(f'{folder}/{gin_text.KEPT} is no gin text: {error}') from error
    agent, game = gin_text.experiment(settings)
    agent = colours.agent_name(agent)
    if by:
        agent += f', {_parameter(settings, by, folder)}'
    skip = settings.get('AtariPreprocessing', 'frame_skip', 4) if game in utils.ALL_GAMES else 1
    bindings = dict(re.findall(r'^([\w./]+) = (.*)$', text, re.MULTILINE))
    return Run(folder, agent, game, skip, bindings, curves)


def _parameter(settings: gin_text.Settings, by: str, folder: str) -> str:
    selector, _, parameter = by.rpartition('.')
    missing = object()
    value = settings.get(selector.rpartition('.')[2], parameter, missing)
    if value is missing:
        raise UserError(f'--by={by}: the run in {folder} has no such parameter')
    return f'{parameter} = {getattr(value, "name", value)}'


def _named_by_path(folder: str) -> tuple[str, str]:
    """The agent and the game of a folder without settings: from the names in its path, if any."""
    agent = game = None
    aliases = sorted(colours.ALIASES, key=len, reverse=True)
    games = {name.lower(): name for name in (*utils.ALL_GAMES, *_OTHER_GAMES)}
    for name in reversed(os.path.abspath(folder).split(os.sep)[-3:]):
        words = '_' + re.sub(r'(?<=[a-z])(?=[A-Z])|[^A-Za-z0-9]+', '_', name).lower() + '_'
        found = next((alias for alias in aliases if f'_{alias}_' in words), None)
        agent = agent or (found and colours.ALIASES[found])
        parts = words.strip('_').split('_')
        joined = (''.join(parts[i:j]) for i, j in itertools.combinations(range(len(parts) + 1), 2))
        game = game or next((games[part] for part in joined if part in games), None)
    return agent or os.path.basename(os.path.abspath(folder)), game or 'unknown game'


_OTHER_GAMES = ('CartPole', 'Acrobot', 'LunarLander', 'MountainCar')


def settle_phase(runs: Sequence[Run], phase: str | None) -> str:
    """Returns the phase to compare: the one asked for, or the first that every run has.

    Raises UserError where a run has not measured it.
    """
    if phase is None:
        phase = next((p for p in PHASES if all(p in run.curves for run in runs)), None)
    if phase is None:
        has = {tuple(run.curves): run.folder for run in runs}
        listed = ' and '.join(f'{folder} {PHASES[names[0]]}' for names, folder in has.items())
        raise UserError(f'the runs have no measurement in common: {listed} returns only')
    for run in runs:
        if phase not in run.curves:
            has = ', '.join(PHASES[name] for name in run.curves)
            raise UserError(f'{run.folder} has no {PHASES[phase]} returns, only {has}')
    return phase


def grouped(runs: Sequence[Run], phase: str, smooth: int = 1) -> tuple[list[Group], list[str]]:
    """Puts runs together by agent and game, point by point.

    Args:
      runs: at least one.
      phase: 'train' or 'eval', which all of them have.
      smooth: each point becomes the mean of so many, itself the last; fewer at the start.

    Returns:
      (groups, notes): in the order of the runs; sentences on what a reader should know.

    Raises:
      UserError: runs of one group have iterations of different lengths.
    """
    together: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        together.setdefault((run.agent, run.game), []).append(run)
    groups, notes = [], []
    for (agent, game), members in together.items():
        curves = [run.curves[phase] for run in members]
        lengths = [len(steps) for steps, _ in curves]
        length = min(lengths)
        ends = [steps[length - 1] for steps, _ in curves]
        if max(ends) > 1.5 * max(min(ends), 1):
            low, high = members[int(np.argmin(ends))], members[int(np.argmax(ends))]
            raise UserError(
                f'{agent} on {game}: after {length} iterations {low.folder} has '
                f'{min(ends):.0f} agent steps and {high.folder} {max(ends):.0f}; plot them apart'
            )
        if len(set(lengths)) > 1:
            notes.append(
                f'{agent} on {game} is drawn up to point {length}, where the shortest of its '
                f'{len(members)} runs ends (the longest has {max(lengths)})'
            )
        notes += _differing(agent, game, members)
        returns = np.array([values[:length] for _, values in curves])
        steps = np.mean([xs[:length] for xs, _ in curves], axis=0)
        groups.append(Group(agent, game, members, steps, _smoothed(returns, smooth)))
    return groups, notes


def _differing(agent: str, game: str, runs: Sequence[Run]) -> Iterator[str]:
    """Says which settings are not the same in all runs that were taken as one group."""
    ignored = re.compile(r'.*(seed|num_iterations|tf_device)$')
    kept = [run.settings for run in runs if run.settings]
    for name in sorted({name for settings in kept for name in settings}):
        values = {settings.get(name, 'not set') for settings in kept}
        if len(values) > 1 and not ignored.match(name):
            yield (
                f'{agent} on {game} is one group, though {name} is {" and ".join(sorted(values))} '
                f'(--by={name} takes them apart)'
            )


def _smoothed(returns: np.ndarray, smooth: int) -> np.ndarray:
    sums = np.cumsum(np.pad(returns, ((0, 0), (1, 0))), axis=1)
    ends = np.arange(1, returns.shape[1] + 1)
    starts = np.maximum(ends - smooth, 0)
    return (sums[:, ends] - sums[:, starts]) / (ends - starts)


# Statistics.


def band(scores: np.ndarray, statistic: str) -> Band:
    """The statistic of runs of all games, with its 95 % interval.

    Args:
      scores: [R, G, T].
      statistic: 'mean' or 'iqm'.

    Raises:
      ImportError: rliable is missing.
    """
    compute = _STATISTICS[statistic]
    if scores.shape[0] == 1:
        return Band(compute(scores), None, None)
    with _fixed_numbers():
        library = _rliable()
        values, intervals = library.get_interval_estimates({'': scores}, compute, reps=_RESAMPLES)
    return Band(values[''], *intervals[''])


def _mean(scores: np.ndarray) -> np.ndarray:
    return scores.mean(axis=(0, 1))


def _iqm(scores: np.ndarray) -> np.ndarray:
    """rliable's `metrics.aggregate_iqm` of each point, at once: [R, G, T] to [T]."""
    pooled = np.sort(scores.reshape(-1, scores.shape[-1]), axis=0)
    cut = int(0.25 * len(pooled))
    return pooled[cut : len(pooled) - cut].mean(axis=0)


_STATISTICS: dict[str, Callable[[np.ndarray], np.ndarray]] = {'mean': _mean, 'iqm': _iqm}


def _rliable() -> Any:
    try:
        from rliable import library
    except (ImportError, TypeError) as error:  # the latter beside a pandas that is too new for it
        raise ImportError(
            f'intervals need rliable: pip install "dopamine_lite[stats]" ({error})', name='rliable'
        ) from error
    return library


@contextlib.contextmanager
def _fixed_numbers() -> Iterator[None]:
    """Lets rliable, which draws from NumPy's global generator, give the same intervals each time."""
    state = np.random.get_state()
    np.random.seed(0)
    try:
        yield
    finally:
        np.random.set_state(state)


def final_scores(group: Group) -> np.ndarray:
    """The score [R] of each run: the mean of the last tenth of its points, at least one."""
    return group.returns[:, -max(1, group.returns.shape[1] // 10) :].mean(axis=1)


def scales(
    groups: Sequence[Group], reference: Mapping[str, tuple[float, float]] | None
) -> dict[str, tuple[float, float]]:
    """Returns for each game the scores that are to become 0 and 1.

    Without a reference these are the lowest and the highest score of any run that is compared.

    Raises UserError where the reference lacks a game.
    """
    found = {}
    for game in dict.fromkeys(group.game for group in groups):
        if reference is not None:
            if game not in reference:
                raise UserError(f'--reference has no scores for {game}')
            found[game] = reference[game]
            continue
        scores = np.concatenate([final_scores(group) for group in groups if group.game == game])
        low, high = float(scores.min()), float(scores.max())
        found[game] = (low, high if high > low else low + 1.0)
    return found


def score_matrices(
    groups: Sequence[Group], scale: Mapping[str, tuple[float, float]]
) -> tuple[dict[str, np.ndarray], list[str]]:
    """The scaled scores [R, G] of each agent that played every game, equally often.

    Returns:
      (agent -> scores, notes on who is left out).
    """
    matrices, notes = {}, []
    for agent in dict.fromkeys(group.agent for group in groups):
        own = {group.game: group for group in groups if group.agent == agent}
        missing = [game for game in scale if game not in own]
        counts = {len(group.runs) for group in own.values()}
        if missing:
            notes.append(f'{agent} is not in the profiles: it has no run on {", ".join(missing)}')
        elif len(counts) > 1:
            notes.append(
                f'{agent} is not in the profiles: they need as many runs of each game, and it has '
                + ', '.join(f'{len(own[game].runs)} of {game}' for game in scale)
            )
        else:
            matrices[agent] = np.stack(
                [scaled(final_scores(own[game]), scale[game]) for game in scale], axis=1
            )
    return matrices, notes


def scaled(scores: np.ndarray, ends: tuple[float, float]) -> np.ndarray:
    """Scores where `ends` are 0 and 1."""
    return (scores - ends[0]) / (ends[1] - ends[0])


def profiles(matrices: Mapping[str, np.ndarray]) -> tuple[np.ndarray, dict[str, Band]]:
    """The share of runs of all games whose scaled score is above each threshold.

    The run-score distribution of Agarwal et al. (2021), Section 4.2.

    Args:
      matrices: agent -> [R, G].

    Returns:
      (thresholds [T], agent -> shares [T]).
    """
    low = min(0.0, *(float(scores.min()) for scores in matrices.values()))
    high = max(1.0, *(float(scores.max()) for scores in matrices.values()))
    thresholds = np.linspace(low, high, _PROFILE_POINTS)

    def shares(scores: np.ndarray, at: np.ndarray = thresholds) -> np.ndarray:
        return (scores[..., None] > at).mean(axis=(0, 1))

    found = {}
    for agent, scores in matrices.items():
        if len(scores) == 1:
            found[agent] = Band(shares(scores), None, None)
            continue
        with _fixed_numbers():
            values, intervals = _rliable().create_performance_profile(
                {'': scores}, thresholds, custom_profile_func=shares, reps=_RESAMPLES
            )
        found[agent] = Band(values[''], *intervals[''])
    return thresholds, found


# Tables of others.


def read_published(path: str) -> list[Published]:
    """Reads curves to draw behind those of the runs, from a table in CSV or JSON.

    Columns, in any case and order: `agent`; `game`, without which a curve is drawn in every picture;
    `agent_steps`, `frames` or `iteration` (of Atari: 250,000 agent steps); `value` or `return`. The
    file `curves.csv` of another comparison is such a table. JSON is a list of rows, bare or under
    `data` and `values`.

    Raises:
      UserError: the file cannot be read, or is no such table; says what is missing.
    """
    curves: dict[tuple[str, str | None], list[tuple]] = {}
    for number, row in enumerate(_rows(path), start=1):
        try:
            value = _number(row, 'value', 'return')
            steps, frames = _number(row, 'agent_steps', 'steps'), _number(row, 'frames')
            iteration = _number(row, 'iteration')
        except ValueError as error:
            raise UserError(f'{path}, row {number}: {error}') from error
        if steps is None and frames is None and iteration is not None:
            steps = (iteration + 1) * _ATARI_ITERATION
            frames = 4 * steps
        if value is None or not row.get('agent') or (steps is None and frames is None):
            raise UserError(
                f'{path}, row {number}: expected agent, value, and agent_steps, frames or '
                f'iteration, got {", ".join(row) or "nothing"}'
            )
        key = colours.agent_name(str(row['agent'])), row.get('game') or None
        curves.setdefault(key, []).append((steps, frames, value))
    if not curves:
        raise UserError(f'{path} holds no row')
    made = []
    for (agent, game), points in curves.items():
        columns = [
            None if any(value is None for value in column) else np.array(column, float)
            for column in zip(*points, strict=True)
        ]
        made.append(Published(agent, game, *columns))
    return made


def read_reference(path: str) -> dict[str, tuple[float, float]]:
    """Reads which scores are 0 and 1 in each game: a table with columns `game`, `low`, `high`.

    Raises:
      UserError: the file cannot be read, or is no such table.
    """
    found = {}
    for number, row in enumerate(_rows(path), start=1):
        try:
            low, high = _number(row, 'low', 'random'), _number(row, 'high', 'human')
        except ValueError as error:
            raise UserError(f'{path}, row {number}: {error}') from error
        if not row.get('game') or low is None or high is None or low == high:
            raise UserError(f'{path}, row {number}: expected game, low and high, which differ')
        found[str(row['game'])] = (low, high)
    return found


def _rows(path: str) -> list[dict[str, Any]]:
    try:
        with open(path, encoding='utf-8', newline='') as file:
            text = file.read()
        if path.lower().endswith('.csv'):
            rows: Any = list(csv.DictReader(io.StringIO(text)))
        else:
            rows = json.loads(text)
            for key in ('data', 'values'):
                rows = rows[key] if isinstance(rows, dict) and key in rows else rows
    except (OSError, ValueError, csv.Error) as error:
        raise UserError(f'{path} cannot be read as a table in CSV or JSON: {error}') from error
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise UserError(f'{path} is no table: expected a list of rows with named columns')
    return [{str(name).lower().strip(): value for name, value in row.items()} for row in rows]


def _number(row: Mapping[str, Any], *names: str) -> float | None:
    for name in names:
        value = row.get(name)
        if value is not None and value != '':
            try:
                return float(value)
            except (TypeError, ValueError):
                raise ValueError(f'{name} must be a number, got {value!r}') from None
    return None


def write_table(path: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Writes a CSV file; numbers in full, and nothing where a value is None."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator='\n')
    writer.writerow(columns)
    writer.writerows(rows)
    with files.atomic_write(path) as file:
        file.write(text.getvalue().encode())
