"""Trains on CartPole for many steps, and watches the memory of the process.

    python scripts/bench/soak.py --steps=1000000

Prints the resident memory at every tenth of the way as JSON; exits with 1 if at the end it is more
than 2 % above what it was after a fifth.
"""

import argparse
import gc
import json
import os
import sys
import tempfile
import time

os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')

from absl import logging

import dopamine_lite.compat
from dopamine_lite.discrete_domains import run_experiment


def resident_bytes() -> int:
    with open('/proc/self/statm', encoding='ascii') as file:
        return int(file.read().split()[1]) * os.sysconf('SC_PAGE_SIZE')


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--steps', type=int, default=1_000_000)
    parser.add_argument('--gin_file', default='rainbow_cartpole.gin')
    parser.add_argument('--replay_capacity', type=int, default=50_000)
    arguments = parser.parse_args()
    iterations = max(arguments.steps // 1000, 10)
    logging.set_verbosity(logging.ERROR)
    dopamine_lite.compat.install()
    run_experiment.load_gin_configs(
        [arguments.gin_file],
        [
            'Runner.seed = 0',
            f'Runner.num_iterations = {iterations}',
            'Runner.training_steps = 1000',
            'Runner.evaluation_steps = 0',
            f'WrappedReplayBuffer.replay_capacity = {arguments.replay_capacity}',
            f'WrappedPrioritizedReplayBuffer.replay_capacity = {arguments.replay_capacity}',
        ],
    )
    with tempfile.TemporaryDirectory() as folder:
        runner = run_experiment.create_runner(folder)
        original, began, measured = runner._checkpoint_experiment, time.monotonic(), []

        def checkpoint(iteration: int) -> None:
            original(iteration)
            if (iteration + 1) % (iterations // 10) == 0:
                gc.collect()
                measured.append(
                    {
                        'steps': (iteration + 1) * 1000,
                        'resident_mb': round(resident_bytes() / 2**20, 1),
                        'seconds': round(time.monotonic() - began),
                    }
                )
                print(json.dumps(measured[-1]), flush=True)

        runner._checkpoint_experiment = checkpoint
        runner.run_experiment()
    growth = measured[-1]['resident_mb'] / measured[1]['resident_mb'] - 1
    print(json.dumps({'growth_since_a_fifth': round(growth, 4)}))
    return 1 if growth > 0.02 else 0


if __name__ == '__main__':
    sys.exit(main())
