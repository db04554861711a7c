"""Times what checks of numbers, signals and verified checkpoints cost, beside a run without them.

    python scripts/bench/safeguards.py [--pairs 24] [--rounds 4] [--agent dqn_cartpole] [--json F]

Two runners of one gin file take turns in one process: a training phase of 1,000 agent steps, then a
checkpoint. One is as it is; the other neither checks what is added to the replay nor the losses,
asks for no signal between steps, and writes its checkpoints without manifest, generators' states and
`fsync`. Of two runners that are equal one may be a tenth faster, by where its memory lies, so there
are several pairs. Prints the medians; exits with 1 if the checks cost more than 3 % of the steps a
second, or a checkpoint takes 0.2 s more.
"""

import contextlib
import os
import sys
import time
from unittest import mock

import agents
import measure
import numpy as np
import tensorflow as tf

from dopamine_lite.discrete_domains import checkpointer, run_experiment, stopping
from dopamine_lite.tf.agents import non_finite
from dopamine_lite.tf.replay_memory import circular_replay_buffer

STEPS = 1000


def nothing(*args, **kwargs):
    """Stands for what is left out."""


@contextlib.contextmanager
def unguarded():
    """Leaves the safeguards out; the check of the losses where the graph is built within."""
    with contextlib.ExitStack() as stack:
        for owner, name, stand_in in (
            (circular_replay_buffer.OutOfGraphReplayBuffer, '_check_add_types', nothing),
            (non_finite, 'check', lambda losses, indices: tf.no_op()),
            (stopping, 'check', nothing),
            (checkpointer.Checkpointer, '_write_manifest', nothing),
            (run_experiment.Runner, '_write_resume_state', nothing),
            (os, 'fsync', nothing),
        ):
            stack.enter_context(mock.patch.object(owner, name, stand_in))
        yield


def main():
    parser = measure.parser(__doc__)
    parser.add_argument('--pairs', type=int, default=24)
    parser.add_argument('--rounds', type=int, default=4, help='of each pair')
    parser.add_argument('--agent', default='dqn_cartpole')
    arguments = parser.parse_args()
    ways = {'guarded': contextlib.nullcontext, 'unguarded': unguarded}
    rates = {name: [] for name in ways}
    seconds = {name: [] for name in ways}
    for pair in range(arguments.pairs):
        runners = {}
        # In turns, and each first as often as the other.
        for name in sorted(ways, reverse=pair % 2 == 0):
            with ways[name]():
                runners[name], _ = agents.runner(arguments.agent)
                agents.rate(runners[name], 2 * STEPS)  # fills the replay, compiles
                runners[name]._checkpoint_experiment(0)
        for number in range(1, arguments.rounds + 1):
            for name in sorted(ways, reverse=number % 2 == 0):
                with ways[name]():
                    rates[name].append(agents.rate(runners[name], STEPS))
                    start = time.perf_counter()
                    runners[name]._checkpoint_experiment(number)
                    seconds[name].append(time.perf_counter() - start)
    # Neighbours in time are compared, for the machine may be busier in one round than in another.
    ratios = np.array(rates['guarded']) / np.array(rates['unguarded'])
    extra = np.array(seconds['guarded']) - np.array(seconds['unguarded'])
    by_pair = np.median(ratios.reshape(arguments.pairs, arguments.rounds), axis=1)
    figures = {
        'agent': arguments.agent,
        'pairs': arguments.pairs,
        'rounds': arguments.rounds,
        'steps_per_second': {name: float(np.median(values)) for name, values in rates.items()},
        'ratio': float(np.median(by_pair)),
        'ratio_by_pair': by_pair.tolist(),
        'checkpoint_seconds': {name: float(np.median(values)) for name, values in seconds.items()},
        'extra_checkpoint_seconds': float(np.median(extra)),
    }
    for name in ways:
        print(
            f'{name:10} {figures["steps_per_second"][name]:7.1f} steps/s, '
            f'checkpoint {figures["checkpoint_seconds"][name]:.3f} s'
        )
    print(
        f'ratio {figures["ratio"]:.3f}, a checkpoint takes '
        f'{figures["extra_checkpoint_seconds"]:.3f} s more'
    )
    measure.finish(figures, arguments.json)
    return 1 if figures['ratio'] < 0.97 or figures['extra_checkpoint_seconds'] > 0.2 else 0


if __name__ == '__main__':
    sys.exit(main())
