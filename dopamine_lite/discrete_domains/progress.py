"""How far a phase is: a bar on a terminal, now and then a line anywhere else."""

import sys
import time
from collections.abc import Callable

import tqdm

_SECONDS_BETWEEN_LINES = 30.0


class _Bar(tqdm.tqdm):
    monitor_interval = 0  # no watching thread: the bar is updated at every step


class Progress:
    """Shows the steps, speed, time left, returns and epsilon of one phase after another.

    It shows nothing, and costs next to nothing, until `start` and after `finish`.
    """

    def __init__(self):
        self._bar: _Bar | None = None
        self._next_line = float('inf')
        self._last_line = time.monotonic()
        self._total = 0
        self._steps = 0

    def start(
        self, label: str, total: int, epsilon: Callable[[], float | None] = lambda: None
    ) -> None:
        """Begins a phase.

        Args:
          label: what the phase is called.
          total: agent steps that it takes at least.
          epsilon: returns the agent's present probability of a random action, None if unknown.
        """
        self._label = label
        self._total = total
        self._epsilon = epsilon
        self._steps = self._steps_at_episode_end = 0
        self._episodes, self._sum_of_returns, self._last_return = 0, 0.0, 0.0
        self._began = time.monotonic()
        if sys.stderr.isatty():
            self._bar = _Bar(
                desc=label, total=total, unit=' steps', leave=False, dynamic_ncols=True, delay=0.2
            )
        else:
            self._next_line = self._last_line + _SECONDS_BETWEEN_LINES

    def step(self) -> None:
        """Counts one agent step."""
        if self._bar is not None:
            # The last episode may go beyond the total, which a bar cannot show.
            if self._bar.n < self._total:
                self._bar.update()
        elif self._next_line < float('inf'):
            self._steps += 1
            if time.monotonic() >= self._next_line:
                self._write_line()

    def episode(self, length: int, episode_return: float) -> None:
        """Counts one finished episode.

        Args:
          length: its agent steps; those that `step` did not see are made up for.
          episode_return: its undiscounted, unclipped return.
        """
        if self._bar is None and self._next_line == float('inf'):
            return
        self._steps_at_episode_end += length
        self._episodes += 1
        self._sum_of_returns += episode_return
        self._last_return = episode_return
        if self._bar is not None:
            missing = min(self._steps_at_episode_end, self._total) - self._bar.n
            self._bar.set_postfix_str(', '.join(self._results()), refresh=False)
            if missing > 0:
                self._bar.update(missing)
        else:
            self._steps = max(self._steps, self._steps_at_episode_end)
            if time.monotonic() >= self._next_line:
                self._write_line()

    def finish(self) -> None:
        """Ends the phase and removes its bar."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None
        self._next_line = float('inf')

    def _results(self) -> list[str]:
        results = []
        if self._episodes:
            mean = self._sum_of_returns / self._episodes
            results += [f'last return {self._last_return:.4g}', f'mean return {mean:.4g}']
        epsilon = self._epsilon()
        if epsilon is not None:
            results.append(f'epsilon {epsilon:.3g}')
        return results

    def _write_line(self) -> None:
        now = time.monotonic()
        self._last_line = now
        self._next_line = now + _SECONDS_BETWEEN_LINES
        speed = self._steps / max(now - self._began, 1e-9)
        left = max(self._total - self._steps, 0) / max(speed, 1e-9)
        parts = [
            f'{self._label}: {self._steps:,} of {self._total:,} steps',
            f'{speed:.0f} steps/s',
            f'{tqdm.tqdm.format_interval(left)} left',
            f'{self._episodes} episodes',
            *self._results(),
        ]
        print(', '.join(parts), file=sys.stderr, flush=True)
