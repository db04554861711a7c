"""Measures the memory of training with a full replay of Atari transitions.

    python scripts/bench/memory.py [--stored 100000] [--json memory.json]

Builds Rainbow on Pong from its gin file with a replay of `--stored` places, writes every place,
trains for some steps, and prints the most memory that was resident beside the bytes of the replay's
arrays. A million places need 7.1 GB for the arrays.
"""

import os
import sys

os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '2')

import agents
import measure
import numpy as np


def main():
    parser = measure.parser(__doc__)
    parser.add_argument('--stored', type=int, default=100_000, help='places of the replay')
    parser.add_argument('--steps', type=int, default=400, help='agent steps of training')
    arguments = parser.parse_args()
    made, _ = agents.runner(
        'rainbow',
        [
            f'WrappedPrioritizedReplayBuffer.replay_capacity = {arguments.stored}',
            'RainbowAgent.min_replay_history = 100',
        ],
    )
    memory = made._agent._replay.memory
    frame = np.full((84, 84), 7, np.uint8)
    for i in range(arguments.stored):
        memory.add(frame, 0, 0.0, i % 1000 == 999, 1.0)
    assert memory.is_full()
    agents.rate(made, arguments.steps)
    agents.check(made)
    arrays = sum(array.nbytes for array in memory._store.values()) + memory.sum_tree._heap.nbytes
    resident, peak = measure.resident_bytes(), measure.resident_bytes(peak=True)
    print(f'arrays of the replay  {arrays / 1e9:6.2f} GB')
    print(f'resident              {resident / 1e9:6.2f} GB')
    print(f'most resident         {peak / 1e9:6.2f} GB, {(peak - arrays) / 1e9:.2f} GB beside them')
    measure.finish(
        {
            'stored': arguments.stored,
            'array_bytes': arrays,
            'resident_bytes': resident,
            'peak_bytes': peak,
        },
        arguments.json,
    )
    return 0


if __name__ == '__main__':
    sys.exit(main())
