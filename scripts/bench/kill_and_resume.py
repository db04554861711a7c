"""Kills a run at random moments, resumes it, and compares it with one that was left alone.

    python scripts/bench/kill_and_resume.py --kills=200 --gin_file=rainbow_cartpole.gin

Each kill is a run of its own: started, killed with SIGKILL after a random time, resumed, and
compared bit for bit: the networks, the optimizer's slots, the replay buffer, the states of the
generators and the logs, but for times. Exits with 1 if a run differs. Runs are forked from one
process that has imported TensorFlow but not used it, so that a kill takes seconds.
"""

import argparse
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

import numpy as np
from absl import logging

import dopamine_lite.compat
from dopamine_lite.discrete_domains import checkpointer, run_experiment

# Small, so that checkpoints are a good part of a run and every mechanism is under way in it: the
# buffer wraps around, training and copying to the target network happen in each iteration.
SETTINGS = """
Runner.seed = 5
Runner.num_iterations = 4
Runner.training_steps = 200
Runner.evaluation_steps = 50
DQNAgent.min_replay_history = 50
RainbowAgent.min_replay_history = 50
WrappedReplayBuffer.replay_capacity = 500
WrappedPrioritizedReplayBuffer.replay_capacity = 500
WrappedReplayBuffer.batch_size = 16
WrappedPrioritizedReplayBuffer.batch_size = 16
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


def finished(process: int) -> bool:
    """Waits for a child; returns whether it ended well."""
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0


def kill_after(process: int, folder: str, seconds: float) -> bool:
    """Kills a child some time after its run began; returns whether it was still running."""
    while not os.path.exists(os.path.join(folder, 'run.json')):
        time.sleep(0.002)
    time.sleep(seconds)
    os.kill(process, signal.SIGKILL)
    return not finished(process)


def _comparable(value):
    """The value, with arrays as bytes and without what a clock measured."""
    if isinstance(value, dict):
        kept = {k: v for k, v in value.items() if not str(k).endswith('steps_per_second')}
        return {key: _comparable(item) for key, item in kept.items()}
    if isinstance(value, (np.ndarray, np.generic)):
        return (str(value.dtype), value.shape, value.tobytes())
    return value


def contents(folder: str) -> dict:
    """Returns the content of the newest checkpoint and the logs of a run, by file."""
    checkpoints = os.path.join(folder, 'checkpoints')
    number = checkpointer.complete_checkpoints(checkpoints)[-1]
    found = {}
    for name in checkpointer.files_of(checkpoints, number):
        with open(os.path.join(checkpoints, name), 'rb') as file:
            content = file.read()
        if name.endswith('.gz'):
            content = gzip.decompress(content)
        if name.startswith(('ckpt.', 'episode_end_indices')):
            content = _comparable(pickle.loads(content))  # sets come in any order
        found[name] = content
    with open(os.path.join(folder, 'logs', f'log_{number}'), 'rb') as file:
        found[f'log_{number}'] = _comparable(pickle.load(file))
    return found


def differences(folder: str, other: str) -> list[str]:
    """Returns the names of the files in which two runs differ."""
    mine, theirs = contents(folder), contents(other)
    return sorted(n for n in mine.keys() | theirs.keys() if mine.get(n) != theirs.get(n))


def trial(folder: str, reference: str, after: float, gin_file: str, bindings: list[str]) -> tuple:
    """Kills one run; returns (whether it was in time, at which checkpoint, what differs)."""
    in_time = kill_after(fork(folder, gin_file, bindings), folder, after)
    complete = checkpointer.complete_checkpoints(os.path.join(folder, 'checkpoints'))
    if not finished(fork(folder, gin_file, bindings)):
        return in_time, complete[-1:], ['the run did not resume']
    return in_time, complete[-1:], differences(folder, reference)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--kills', type=int, default=200)
    parser.add_argument('--gin_file', default='rainbow_cartpole.gin')
    parser.add_argument('--gin_bindings', action='append', default=[])
    parser.add_argument('--seed', type=int, default=0, help='of the moments')
    arguments = parser.parse_args()
    experiment = (arguments.gin_file, arguments.gin_bindings)
    moments = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory() as base:
        reference = os.path.join(base, 'reference')
        if not finished(fork(reference, *experiment)):
            return 1
        seconds = time.time() - os.path.getctime(os.path.join(reference, 'run.json'))
        print(f'{arguments.gin_file}: a run takes {seconds:.1f} s')
        kills = failures = 0
        at = {}
        while kills < arguments.kills:
            folder = os.path.join(base, 'killed')
            after = moments.uniform(0, seconds)
            in_time, last, differing = trial(folder, reference, after, *experiment)
            kills += in_time
            at[tuple(last)] = at.get(tuple(last), 0) + in_time
            if differing:
                failures += 1
                print(f'killed after {after:.3f} s, at checkpoint {last}: {differing}')
            shutil.rmtree(folder)
        print(f'{kills - failures} of {kills} kills resumed identically; by checkpoint: {at}')
        return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
