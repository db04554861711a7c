"""Times saving and loading a replay full of real Atari frames.

    python scripts/bench/checkpoint.py [--stored 100000] [--game Pong] [--folder D] [--json out.json]

Frames come from the emulator played at random, preprocessed as for an agent; 20,000 of them are
played and repeated, with one byte changed, so that no two are equal. Prints seconds, the size of
the files, and the memory that each of the two took beyond the replay itself. A million places need
7.1 GB.
"""

import os
import random
import sys
import tempfile
import threading
import time

os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '2')

import measure
import numpy as np

from dopamine_lite.discrete_domains import atari_lib
from dopamine_lite.tf.replay_memory import prioritized_replay_buffer


def played(game, count):
    """Returns frames of a game played at random, [count, 84, 84]."""
    environment = atari_lib.create_atari_environment(game)
    environment.reset()
    frames = np.empty((count, 84, 84), np.uint8)
    for frame in frames:
        frame[:] = environment.step(random.randrange(environment.action_space.n))[0][..., 0]
        if environment.game_over:
            environment.reset()
    return frames


def empty(stored):
    return prioritized_replay_buffer.OutOfGraphPrioritizedReplayBuffer(
        (84, 84), 4, stored, 32, update_horizon=3
    )


class Watched:
    """Times a block, and watches how much memory it takes meanwhile."""

    def __enter__(self):
        self._done = threading.Event()
        self._before = self.most = measure.resident_bytes()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        self._began = time.perf_counter()
        return self

    def _watch(self):
        while not self._done.wait(0.02):
            self.most = max(self.most, measure.resident_bytes())

    def __exit__(self, *unused):
        self.seconds = time.perf_counter() - self._began
        self._done.set()
        self._thread.join()
        self.most = max(self.most, measure.resident_bytes())
        self.extra_bytes = self.most - self._before


def main():
    parser = measure.parser(__doc__)
    parser.add_argument('--stored', type=int, default=100_000, help='places of the replay')
    parser.add_argument('--game', default='Pong')
    parser.add_argument('--folder', help='where to save; by default a temporary folder')
    arguments = parser.parse_args()
    random.seed(0)
    frames = played(arguments.game, min(20_000, arguments.stored))
    memory = empty(arguments.stored)
    for i in range(arguments.stored):
        frame = frames[i % len(frames)]
        frame[0, i // len(frames) % 84] ^= 255
        memory.add(frame, i % 4, 1.0, i % 1000 == 999, 1.0 + i % 7)
    del frames
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        with Watched() as saving:
            memory.save(folder, 0)
        size = sum(entry.stat().st_size for entry in os.scandir(folder))
        sums = {name: int(array.sum(dtype=np.int64)) for name, array in memory._store.items()}
        root, arrays = memory.sum_tree.root, sum(a.nbytes for a in memory._store.values())
        del memory
        loaded = empty(arguments.stored)
        with Watched() as loading:
            loaded.load(folder, 0)
    assert loaded.sum_tree.root == root
    assert sums == {name: int(a.sum(dtype=np.int64)) for name, a in loaded._store.items()}
    loading_extra = loading.extra_bytes - arrays
    print(f'arrays {arrays / 1e9:.2f} GB, files {size / 1e9:.3f} GB')
    print(f'save {saving.seconds:6.2f} s, {saving.extra_bytes / 1e6:.0f} MB of extra memory')
    print(f'load {loading.seconds:6.2f} s, {loading_extra / 1e6:.0f} MB of extra memory')
    measure.finish(
        {
            'stored': arguments.stored,
            'game': arguments.game,
            'array_bytes': arrays,
            'file_bytes': size,
            'save_seconds': saving.seconds,
            'load_seconds': loading.seconds,
            'save_extra_bytes': saving.extra_bytes,
            'load_extra_bytes': loading_extra,
        },
        arguments.json,
    )
    return 0


if __name__ == '__main__':
    sys.exit(main())
