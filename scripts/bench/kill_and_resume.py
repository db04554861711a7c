"""Kills a run at random moments, resumes it, and compares it with one that was left alone.

    python scripts/bench/kill_and_resume.py --kills=200 --gin_file=rainbow_cartpole.gin

A run is killed with SIGKILL again and again, resumed each time, until it ends; then the next one
starts, until there are enough kills. One kill in eight comes at any moment since the process began,
the others while it trains. Compared bit for bit: at each kill the newest complete checkpoint (the
networks, the optimizer's slots, the replay buffer, the states of the generators, the logs), and at
the end of each run its last one and its tables of metrics too; only times are left out. First of
all, two runs that nobody interrupts are compared. Exits with 1 if anything differs. Runs are forked
from one process that has imported TensorFlow but not used it, so that a kill takes seconds.
"""

import collections
import csv
import gzip
import os
import pickle
import random
import shutil
import signal
import sys
import tempfile
import time

os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')

import measure
import numpy as np
from absl import logging

import dopamine_lite.compat
from dopamine_lite.discrete_domains import checkpointer, run_experiment

# Small, so that checkpoints are a good part of a run and every mechanism is under way in it: the
# buffer wraps around, training and copying to the target network happen in each iteration.
SETTINGS = """
Runner.seed = 5
Runner.num_iterations = 4
Runner.training_steps = 120
Runner.evaluation_steps = 20
DQNAgent.min_replay_history = 40
RainbowAgent.min_replay_history = 40
WrappedReplayBuffer.replay_capacity = 300
WrappedPrioritizedReplayBuffer.replay_capacity = 300
WrappedReplayBuffer.batch_size = 8
WrappedPrioritizedReplayBuffer.batch_size = 8
"""


def run(folder: str, gin_file: str, bindings: list[str]) -> None:
    """Runs, or resumes, the experiment in a folder."""
    logging.set_verbosity(logging.FATAL)
    dopamine_lite.compat.install()
    run_experiment.load_gin_configs([gin_file], [*SETTINGS.strip().splitlines(), *bindings])
    run_experiment.create_runner(folder).run_experiment()


def fork(folder: str, gin_file: str, bindings: list[str]) -> int:
    """Runs the experiment in a child process; returns its id."""
    process = os.fork()
    if process:
        return process
    status = 1
    try:
        run(folder, gin_file, bindings)
        status = 0
    except BaseException as error:
        print(f'{folder}: {type(error).__name__}: {error}', file=sys.stderr)
    finally:
        os._exit(status)


def exit_status(process: int) -> int:
    """Waits for a child; returns how it ended, minus the signal that killed it."""
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def starts(folder: str) -> int:
    """Returns how often a run was started, as far as its folder says."""
    try:
        return os.path.getsize(os.path.join(folder, 'run.json'))
    except FileNotFoundError:
        return 0


def kill_after(process: int, seconds: float, folder: str, before: int | None) -> int:
    """Kills a child some time after it began to train; returns how it ended.

    Args:
      process: the child.
      seconds: how long to wait.
      folder: of the run.
      before: what `starts` was before; None waits from now on.
    """
    while before is not None and starts(folder) == before:
        if os.waitid(os.P_PID, process, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            break
        time.sleep(0.002)
    time.sleep(seconds)
    os.kill(process, signal.SIGKILL)
    return exit_status(process)


def _comparable(value):
    """The value, with arrays as bytes and without what a clock measured."""
    if isinstance(value, dict):
        kept = {k: v for k, v in value.items() if not str(k).endswith('steps_per_second')}
        return {key: _comparable(item) for key, item in kept.items()}
    if isinstance(value, (np.ndarray, np.generic)):
        return (str(value.dtype), value.shape, value.tobytes())
    return value


def checkpoint_contents(folder: str, number: int) -> dict:
    """Returns what a checkpoint of a run holds, by file."""
    checkpoints = os.path.join(folder, 'checkpoints')
    found = {}
    for name in checkpointer.files_of(checkpoints, number):
        with open(os.path.join(checkpoints, name), 'rb') as file:
            content = file.read()
        if name.endswith('.gz'):
            content = gzip.decompress(content)
        if name.startswith(('ckpt.', 'episode_end_indices')):
            content = _comparable(pickle.loads(content))  # sets come in any order
        found[name] = content
    return found


def newest(folder: str) -> int | None:
    """Returns the number of the newest complete checkpoint of a run, None if there is none."""
    return next(
        reversed(checkpointer.complete_checkpoints(os.path.join(folder, 'checkpoints'))), None
    )


def contents(folder: str) -> dict:
    """Returns the content of the newest checkpoint, the logs and the tables of a run, by file."""
    number = newest(folder)
    found = checkpoint_contents(folder, number)
    with open(os.path.join(folder, 'logs', f'log_{number}'), 'rb') as file:
        found[f'log_{number}'] = _comparable(pickle.load(file))
    for name in ('metrics', 'episodes'):
        path = os.path.join(folder, 'metrics', 'tables', f'{name}.csv')
        with open(path, encoding='utf-8', newline='') as file:
            rows = [row for row in csv.DictReader(file) if 'StepsPerSecond' not in str(row)]
        found[name] = [{k: v for k, v in row.items() if k != 'seconds'} for row in rows]
    return found


def _differing(mine: dict, theirs: dict) -> list[str]:
    return sorted(n for n in mine.keys() | theirs.keys() if mine.get(n) != theirs.get(n))


def differences(folder: str, other: str) -> list[str]:
    """Returns the names of the files in which two runs differ."""
    return _differing(contents(folder), contents(other))


class Killer:
    """Kills runs of one experiment.

    Attributes:
      kills: a pair for each kill: the newest checkpoint at that moment, and what differed in it
        from that of the run that was left alone.
      ends: what differed at the end of each run.
    """

    def __init__(self, experiment: tuple, reference: str, seconds: float, moments: random.Random):
        self._experiment, self._reference = experiment, reference
        self._seconds, self._moments = seconds, moments
        self.kills: list[tuple[int | None, list[str]]] = []
        self.ends: list[list[str]] = []

    def run(self, folder: str, most: int) -> None:
        """Runs the experiment to its end, killed at most so often."""
        for _ in range(most):
            before = starts(folder)
            process = fork(folder, *self._experiment)
            seconds = self._moments.uniform(0, self._seconds)
            at_once = self._moments.random() < 1 / 8
            status = kill_after(process, seconds, folder, None if at_once else before)
            if status != -signal.SIGKILL:
                break
            self._compare(folder)
        else:
            status = exit_status(fork(folder, *self._experiment))
        self.ends.append(
            differences(folder, self._reference) if status == 0 else ['the run did not resume']
        )

    def _compare(self, folder: str) -> None:
        number = newest(folder)
        different = []
        if number is not None:
            different = _differing(
                *(checkpoint_contents(f, number) for f in (folder, self._reference))
            )
        self.kills.append((number, different))


def main() -> int:
    parser = measure.parser(__doc__)
    parser.add_argument('--kills', type=int, default=200)
    parser.add_argument('--gin_file', default='rainbow_cartpole.gin')
    parser.add_argument('--gin_bindings', action='append', default=[])
    parser.add_argument('--seed', type=int, default=0, help='of the moments')
    arguments = parser.parse_args()
    experiment = (arguments.gin_file, arguments.gin_bindings)
    with tempfile.TemporaryDirectory() as base:
        reference, folder = os.path.join(base, 'reference'), os.path.join(base, 'run')
        for name in (folder, reference):
            if exit_status(fork(name, *experiment)):
                return 1
        seconds = time.time() - os.path.getctime(os.path.join(reference, 'run.json'))
        twice = differences(folder, reference)
        print(f'{arguments.gin_file}: a run takes {seconds:.1f} s; of two, {twice} differ')
        killer = Killer(experiment, reference, seconds, random.Random(arguments.seed))
        while len(killer.kills) < arguments.kills:
            shutil.rmtree(folder)
            seen = len(killer.kills)
            killer.run(folder, arguments.kills - seen)
            print(f'{len(killer.kills)}: {killer.kills[seen:]}, {killer.ends[-1]}', flush=True)
        compared = contents(reference)
    # A kill resumed identically if the next kill, or the end, finds nothing different.
    failures = sum(bool(different) for _, different in killer.kills) + sum(map(bool, killer.ends))
    at = collections.Counter(str(number) for number, _ in killer.kills)
    kills, runs = len(killer.kills), len(killer.ends)
    identical = max(kills - failures, 0)
    print(f'{identical} of {kills} kills resumed identically, in {runs} runs; at {dict(at)}')
    measure.finish(
        {
            'gin_file': arguments.gin_file,
            'gin_bindings': [*SETTINGS.split('\n')[1:-1], *arguments.gin_bindings],
            'differences_of_two_runs': twice,
            'kills': kills,
            'resumed_identically': identical,
            'runs': runs,
            'kills_by_newest_checkpoint': dict(sorted(at.items())),
            'compared_at_the_end': sorted(compared),
        },
        arguments.json,
    )
    return 1 if failures or twice else 0


if __name__ == '__main__':
    sys.exit(main())
