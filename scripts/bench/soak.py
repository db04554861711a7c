"""Trains on CartPole for many steps, and watches the memory of the process.

    python scripts/bench/soak.py --steps=1000000 [--gin_bindings ...] [--json results/soak.json]

An iteration is 1,000 steps, with a checkpoint after each. Prints the resident memory at every tenth
of the way as JSON; exits with 1 if at the end it is more than 2 % above what it was after a fifth.
"""

import gc
import json
import os
import sys
import tempfile
import time

os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')

import measure
from absl import logging

import dopamine_lite.compat
from dopamine_lite.discrete_domains import run_experiment


def main() -> int:
    parser = measure.parser(__doc__)
    parser.add_argument('--steps', type=int, default=1_000_000)
    parser.add_argument('--gin_file', default='rainbow_cartpole.gin')
    parser.add_argument('--gin_bindings', action='append', default=[])
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
            *arguments.gin_bindings,
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
                        'resident_mb': round(measure.resident_bytes() / 2**20, 1),
                        'seconds': round(time.monotonic() - began),
                    }
                )
                print(json.dumps(measured[-1]), flush=True)

        runner._checkpoint_experiment = checkpoint
        runner.run_experiment()
    growth = measured[-1]['resident_mb'] / measured[1]['resident_mb'] - 1
    print(json.dumps({'growth_since_a_fifth': round(growth, 4)}))
    measure.finish(
        {
            'gin_file': arguments.gin_file,
            'gin_bindings': arguments.gin_bindings,
            'measured': measured,
            'growth_since_a_fifth': round(growth, 4),
        },
        arguments.json,
    )
    return 1 if growth > 0.02 else 0


if __name__ == '__main__':
    sys.exit(main())
