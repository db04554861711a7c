"""Times the prioritized replay on Atari-sized transitions, beside the cost of copying its bytes.

    python scripts/bench/replay.py [--stored=100000] [--repeats=2000] [--json=replay.json]

Prints the median time of each operation in microseconds. `copy` moves as many bytes as a batch's
two stacks from as many random places of the same store into memory that is already there: the
floor for `sample`. Compare ratios within one run, not times of different runs.
"""

import argparse
import json
import os
import platform
import random
import sys
import time

os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '2')

import numba
import numpy as np

from dopamine_lite.tf.replay_memory import prioritized_replay_buffer

SHAPE, STACK_SIZE, HORIZON, BATCH_SIZE = (84, 84), 4, 3, 32


def filled(stored):
    """Returns a full buffer of `stored` places with random frames and priorities."""
    memory = prioritized_replay_buffer.OutOfGraphPrioritizedReplayBuffer(
        SHAPE, STACK_SIZE, stored, BATCH_SIZE, update_horizon=HORIZON
    )
    rng = np.random.default_rng(0)
    frames = rng.integers(0, 256, (997, *SHAPE), np.uint8)
    for i in range(stored):
        memory.add(frames[i % 997], i % 4, 1.0, i % 1000 == 999, 1.0)
    indices = np.arange(stored, dtype=np.int32)
    # Padding keeps its priority of zero.
    memory.set_priority(indices, memory.get_priority(indices) * rng.uniform(0.5, 2.0, stored))
    return memory


def check(memory):
    """Stops unless a batch is what slicing and stacking in NumPy give."""
    batch = memory.sample_transition_batch()
    frames, rewards = memory._store['observation'], memory._store['reward']
    for row, index in enumerate(batch[7]):
        assert memory.is_valid_transition(index)
        steps = np.arange(index, index + HORIZON) % len(frames)
        ended = np.flatnonzero(memory._store['terminal'][steps])
        steps = steps[: ended[0] + 1] if ended.size else steps
        back = np.arange(index - STACK_SIZE + 1, index + 1) % len(frames)
        following = (back + len(steps)) % len(frames)
        assert np.array_equal(batch[0][row], np.moveaxis(frames[back], 0, -1))
        assert np.array_equal(batch[3][row], np.moveaxis(frames[following], 0, -1))
        expected = sum(0.99**k * rewards[step] for k, step in enumerate(steps))
        assert np.isclose(batch[2][row], expected)
        assert batch[6][row] == bool(ended.size)
        assert batch[8][row] == np.float32(memory.sum_tree.get(int(index)))


def median_us(operation, repeats):
    for _ in range(repeats // 10 + 1):
        operation()
    times = np.empty(repeats)
    for i in range(repeats):
        start = time.perf_counter()
        operation()
        times[i] = time.perf_counter() - start
    return float(np.median(times) * 1e6)


def measure(memory, repeats):
    rng = np.random.default_rng(1)
    stored = memory._replay_capacity
    rows = memory._store['observation'].reshape(stored, -1)
    # As many bytes as the stacks of a batch, each stack from one random place.
    copied = np.empty((2 * BATCH_SIZE, STACK_SIZE, rows.shape[1]), np.uint8)
    places = iter(rng.integers(0, stored - STACK_SIZE, (2 * repeats, 2 * BATCH_SIZE)).tolist())

    def copy():
        for row, place in enumerate(next(places)):
            copied[row] = rows[place : place + STACK_SIZE]

    updates = iter(rng.integers(0, stored, (2 * repeats, BATCH_SIZE)).astype(np.int32))
    priorities = rng.uniform(0.5, 2.0, BATCH_SIZE).astype(np.float32)
    frames = rng.integers(0, 256, (64, *SHAPE), np.uint8)
    count = iter(range(2 * repeats))
    operations = {
        'copy': copy,
        'sample': memory.sample_transition_batch,
        'set_priority': lambda: memory.set_priority(next(updates), priorities),
        'add': lambda: memory.add(frames[next(count) % 64], 1, 0.5, False, 1.0),
    }
    return {name: median_us(operation, repeats) for name, operation in operations.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--stored', type=int, default=100_000, help='transitions in the buffer')
    parser.add_argument('--repeats', type=int, default=2000, help='timed calls of each operation')
    parser.add_argument('--json', help='where to write the figures')
    arguments = parser.parse_args()
    random.seed(0)
    memory = filled(arguments.stored)
    check(memory)
    times = measure(memory, arguments.repeats)
    result = {
        'stored': arguments.stored,
        'batch_size': BATCH_SIZE,
        'median_us': times,
        'sample_over_copy': times['sample'] / times['copy'],
        'versions': {
            'python': platform.python_version(),
            'numpy': np.__version__,
            'numba': numba.__version__,
        },
        'machine': {'cpus': os.cpu_count(), 'platform': platform.platform()},
    }
    for name, value in times.items():
        print(f'{name:14}{value:10.1f} us')
    print(f'sample takes {result["sample_over_copy"]:.2f} times the copy of its stacks')
    if arguments.json:
        with open(arguments.json, 'w', encoding='utf-8') as file:
            json.dump(result, file, indent=2)
    return 0


if __name__ == '__main__':
    sys.exit(main())
