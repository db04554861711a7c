"""Measurements as tidy tables, in CSV and as JSON lines.

A runner keeps them in `{base_dir}/metrics/tables`, each table as a `.csv` with a header and as a
`.jsonl`, an object a line, with the same rows:

`metrics`, a row a measurement:

    iteration  in which it was measured
    step       as whoever measured counts: iterations for the runner (`Train/...`, `Eval/...`), agent
               steps of training for the agent (`Agent/...`)
    metric     its name
    value      a number

`episodes`, a row an episode (or a part of one, where `Runner.max_steps_per_episode` is None):

    iteration    in which it was played
    phase        `train` or `eval`
    length       its agent steps
    return       the sum of its rewards, not clipped
    agent_steps  agent steps of training in the run so far, this episode included if it was one
    frames       agent_steps times the environment's `frame_skip`, which is 1 where it has none
    seconds      that it took

Rows are there as soon as they are measured. A run that is resumed first drops the rows of the
iterations that it runs again: its tables, but for times, are those of a run that never stopped.
"""

import csv
import io
import json
import math
import os
from collections.abc import Callable, Sequence
from typing import Any, TextIO

from absl import logging

from dopamine_lite import files
from dopamine_lite.metrics import collector, statistics_instance

METRICS_COLUMNS = ('iteration', 'step', 'metric', 'value')
EPISODES_COLUMNS = (
    *('iteration', 'phase', 'length', 'return'),
    *('agent_steps', 'frames', 'seconds'),
)


class TablesCollector(collector.Collector):
    """Writes measurements and episodes to tables.

    Nothing is written before `start`, nor after `close`.
    """

    def __init__(self, base_dir: str):
        """Creates the folder.

        Raises:
          ValueError: `base_dir` is None.
        """
        if base_dir is None:
            raise ValueError('TablesCollector needs a base_dir to write to, got None')
        super().__init__(base_dir, extra_supported_types=('summary',))
        self._metrics = _Table(os.path.join(self._base_dir, 'metrics'), METRICS_COLUMNS)
        self._episodes = _Table(os.path.join(self._base_dir, 'episodes'), EPISODES_COLUMNS)
        self._iteration: int | None = None
        self._agent_steps = 0

    def get_name(self) -> str:
        return 'tables'

    def start(self, iteration: int, agent_steps: int = 0) -> None:
        """Opens the tables, without the rows of this iteration and of later ones.

        Args:
          iteration: the first that is going to be run.
          agent_steps: of training before it; used where the tables do not tell.

        Raises:
          OSError: a file cannot be written.
        """
        os.makedirs(self._base_dir, exist_ok=True)
        self._metrics.open(iteration)
        last_row = self._episodes.open(iteration) or {}
        steps = last_row.get('agent_steps')
        self._agent_steps = steps if isinstance(steps, int) else agent_steps
        self._iteration = iteration

    def begin_iteration(self, iteration: int) -> None:
        """Says in which iteration the measurements are that follow."""
        self._iteration = iteration

    def write(self, statistics: Sequence[statistics_instance.StatisticsInstance]) -> None:
        if not self._metrics.is_open:
            return
        rows = []
        for s in statistics:
            if not self.check_type(s.type):
                continue
            value = _number(s.value)
            if value is None:
                logging.log_first_n(
                    logging.WARNING, 'The tables hold numbers only: %s is %r', 1, s.name, s.value
                )
                continue
            rows.append((self._iteration, _number(s.step), str(s.name).replace('\n', ' '), value))
        self._metrics.append(rows)

    def write_episode(
        self, phase: str, length: int, episode_return: Any, frames_per_step: int, seconds: float
    ) -> None:
        """Writes a row about an episode.

        Args:
          phase: 'train' or 'eval'.
          length: agent steps.
          episode_return: the sum of its rewards.
          frames_per_step: frames an agent step.
          seconds: that it took.
        """
        if not self._episodes.is_open:
            return
        if phase == 'train':
            self._agent_steps += length
        frames = self._agent_steps * frames_per_step
        self._episodes.append(
            [
                (self._iteration, phase, length, _number(episode_return))
                + (self._agent_steps, frames, round(seconds, 6))
            ]
        )

    def flush(self) -> None:
        """Puts on disk what has been written so far."""
        self._metrics.sync()
        self._episodes.sync()

    def close(self) -> None:
        self._metrics.close()
        self._episodes.close()


class _Table:
    """Rows that start with an iteration, which never falls, in a CSV and a JSON lines file."""

    def __init__(self, path: str, columns: tuple[str, ...]):
        self._path = path
        self._columns = columns
        self._files: list[TextIO] = []

    @property
    def is_open(self) -> bool:
        return bool(self._files)

    def open(self, iteration: int) -> dict[str, Any] | None:
        """Opens the files without the rows of `iteration` and later; returns the last row left."""
        self.close()
        csv_file, _ = _open_before(f'{self._path}.csv', iteration, self._iteration_of_csv_line)
        json_file, last_line = _open_before(
            f'{self._path}.jsonl', iteration, lambda line: json.loads(line)['iteration']
        )
        self._files = [csv_file, json_file]
        if csv_file.tell() == 0:
            csv_file.write(','.join(self._columns) + '\n')
        return json.loads(last_line) if last_line else None

    def _iteration_of_csv_line(self, line: bytes) -> int:
        first = line.split(b',', 1)[0]
        return -1 if first == self._columns[0].encode() else int(first)

    def append(self, rows: Sequence[tuple]) -> None:
        if not rows:
            return
        as_csv = io.StringIO()
        csv.writer(as_csv, lineterminator='\n').writerows(rows)
        as_json = ''.join(self._as_json(row) for row in rows)
        for file, text in zip(self._files, (as_csv.getvalue(), as_json), strict=True):
            file.write(text)
            file.flush()

    def _as_json(self, row: tuple) -> str:
        # JSON has no number for what is not finite.
        finite = [None if isinstance(v, float) and not math.isfinite(v) else v for v in row]
        return json.dumps(dict(zip(self._columns, finite, strict=True))) + '\n'

    def sync(self) -> None:
        for file in self._files:
            file.flush()
            os.fsync(file.fileno())

    def close(self) -> None:
        while self._files:
            self._files.pop().close()


def _open_before(
    path: str, iteration: int, iteration_of: Callable[[bytes], int]
) -> tuple[TextIO, bytes | None]:
    """Opens a file of rows to be appended to, cut before the first row of `iteration` or later.

    An unfinished last line is cut off as well. A file with other lines that are no rows is set
    aside, as `{path}.damaged`.

    Returns:
      (the file, the last line left in it).
    """
    length, last_line = 0, None
    try:
        with open(path, 'rb', opener=files.refuse_link) as file:
            for line in file:
                if not line.endswith(b'\n') or iteration_of(line) >= iteration:
                    break
                length += len(line)
                last_line = line
        os.truncate(path, length)
    except FileNotFoundError:
        pass
    except (KeyError, RecursionError, TypeError, ValueError) as error:
        logging.warning('%s is damaged (%s); it is kept as %s.damaged', path, error, path)
        os.replace(path, f'{path}.damaged')
        last_line = None
    file = open(path, 'a', encoding='utf-8', newline='', opener=files.refuse_link)
    return file, last_line


def _number(value: Any) -> int | float | None:
    """Returns a number of Python for one of Python or NumPy, None for anything else."""
    try:
        value = value.item()
    except (AttributeError, ValueError):
        pass
    return value if isinstance(value, (int, float)) else None
