"""Each kernel, compiled and as plain Python, against its slow twin."""

import inspect
import subprocess
import sys

import numpy as np
import oracles
import pytest

from dopamine_lite.tf.replay_memory import kernels


def heap_of(leaves, rng):
    heap = np.zeros(2 * leaves)
    heap[leaves:] = rng.integers(0, 64, leaves) * (rng.random(leaves) > 0.3) / 8
    oracles.tree_rebuild(heap)
    return heap


def tree_set_one(rng):
    return heap_of(8, rng), int(rng.integers(0, 8)), 2.5


def tree_set(rng):
    indices = rng.integers(0, 11, 6)
    return heap_of(16, rng), 11, 100.0, indices, rng.random(6)


def tree_set_out_of_bounds(rng):
    values = rng.random(4)
    values[2] = rng.choice([-1.0, np.nan, np.inf, 101.0])
    return heap_of(16, rng), 11, 100.0, rng.integers(0, 11, 4), values


def tree_set_beyond_capacity(rng):
    return heap_of(16, rng), 11, 100.0, np.array([3, rng.choice([-1, 11])]), np.ones(2)


def tree_rebuild(rng):
    return (rng.random(32),)


def tree_find(rng):
    heap = heap_of(16, rng)
    heap[17] = 1.0
    oracles.tree_rebuild(heap)
    masses = np.append(rng.integers(0, 8 * int(heap[1]) + 1, 8) / 8, [0.0, heap[1]])
    return heap, masses, np.empty(10, np.int64)


def replay_arrays(rng):
    terminals = (rng.random(12) < 0.15).astype(np.uint8)
    ends = (terminals != 0) | (rng.random(12) < 0.1)
    return terminals, ends


def valid_transitions(rng):
    terminals, ends = replay_arrays(rng)
    first, last = rng.choice([(0, 12), (2, 9)])
    excluded = rng.integers(0, 12, 3)
    return np.arange(-2, 14), terminals, ends, excluded, first, last, 3, 2, np.empty(16, bool)


def tree_get(rng):
    return heap_of(8, rng), 6, np.array([5, 0, 3, 3]), np.empty(4)


def tree_get_out_of_bounds(rng):
    return heap_of(8, rng), 6, np.array([5, rng.choice([-1, 6]), 3]), np.zeros(3)


def trajectory_ends(rng):
    terminals, _ = replay_arrays(rng)
    return np.arange(-3, 13), terminals, 12, 3, np.empty(16, np.int64), np.empty(16, bool)


def discounted_sums(rng):
    indices = np.arange(12)
    lengths = rng.integers(1, 4, 12)
    rewards = rng.integers(-8, 8, (12, 2)).astype(np.float32)
    discounts = np.array([1.0, 0.5, 0.25], np.float32)
    next_indices = (indices + lengths) % 12
    return indices, next_indices, rewards, discounts, 12, np.empty((12, 2), np.float32)


def gather_stacks(rng, stack_size=4, word=np.uint8):
    frames = rng.integers(0, 200, (12, 5)).astype(word)
    return frames, np.arange(-2, 13), 12, np.empty((15, 5, stack_size), word)


def gather_stacks_of_one(rng):
    return gather_stacks(rng, 1, np.uint64)


def gather_stacks_of_three(rng):
    return gather_stacks(rng, 3, np.uint32)


CASES = {
    'tree_set_one': [tree_set_one],
    'tree_set': [tree_set, tree_set_out_of_bounds, tree_set_beyond_capacity],
    'tree_get': [tree_get, tree_get_out_of_bounds],
    'tree_rebuild': [tree_rebuild],
    'tree_find': [tree_find],
    'valid_transitions': [valid_transitions],
    'trajectory_ends': [trajectory_ends],
    'discounted_sums': [discounted_sums],
    'gather_stacks': [gather_stacks, gather_stacks_of_one, gather_stacks_of_three],
}


def test_every_kernel_is_covered():
    names = {name for name, value in vars(kernels).items() if hasattr(value, 'py_func')}
    assert names == set(CASES)


@pytest.mark.parametrize('plain', [False, True], ids=['compiled', 'plain'])
@pytest.mark.parametrize('make', [make for cases in CASES.values() for make in cases])
def test_equals_its_twin(make, plain):
    [name] = [name for name, cases in CASES.items() if make in cases]
    kernel, twin = getattr(kernels, name), getattr(oracles, name)
    if plain:
        kernel = kernel.py_func
    for seed in range(10):
        arguments = make(np.random.default_rng(seed))
        theirs = [np.copy(a) if isinstance(a, np.ndarray) else a for a in arguments]
        assert kernel(*arguments) == twin(*theirs)
        # What a kernel says it overwrites is its own to use.
        scratch = {'tree_set': [3], 'tree_find': [1]}.get(name, [])
        for position, (ours, expected) in enumerate(zip(arguments, theirs, strict=True)):
            if position not in scratch:
                np.testing.assert_array_equal(ours, expected)


def test_a_refused_set_changes_nothing():
    rng = np.random.default_rng(0)
    for make in (tree_set_out_of_bounds, tree_set_beyond_capacity):
        arguments = make(rng)
        before = [np.copy(a) for a in arguments]
        assert kernels.tree_set(*arguments) >= 0
        for ours, expected in zip(arguments, before, strict=True):
            np.testing.assert_array_equal(ours, expected)


def test_only_numpy_and_numba_are_imported():
    program = (
        'import sys, importlib.util as u\n'
        f's = u.spec_from_file_location("k", {inspect.getsourcefile(kernels)!r})\n'
        'm = u.module_from_spec(s); s.loader.exec_module(m)\n'
        'print("tensorflow" in sys.modules, "gin" in sys.modules)'
    )
    out = subprocess.run([sys.executable, '-c', program], capture_output=True, text=True)
    assert out.stdout.split() == ['False', 'False'], out.stderr


def test_without_a_place_for_the_cache_it_still_compiles(tmp_path):
    package = tmp_path / 'k.py'
    package.write_text(open(inspect.getsourcefile(kernels)).read())
    program = (
        'import numba.core.caching as c\n'
        'c.CacheImpl._locator_classes = []\n'
        'import numpy as np, k\n'
        'heap = np.zeros(4); k.tree_set_one(heap, 1, 2.0); print(heap)'
    )
    out = subprocess.run(
        [sys.executable, '-c', program], capture_output=True, text=True, cwd=tmp_path
    )
    assert out.stdout.split() == ['[0.', '2.', '0.', '2.]'], out.stderr
