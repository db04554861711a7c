import copy
import gzip
import os
import pickle
import random

import gin
import numpy as np
import oracles
import pytest
import replay_cases
import tensorflow as tf

from dopamine_lite import files
from dopamine_lite.compat import pickles
from dopamine_lite.tf.replay_memory import circular_replay_buffer as crb
from dopamine_lite.tf.replay_memory import prioritized_replay_buffer as prb

GOLDEN = [
    (cls, name, f'cap{capacity}_stack{stack}_n{horizon}_adds{adds}')
    for cls, name in (
        (crb.OutOfGraphReplayBuffer, 'uniform_replay'),
        (prb.OutOfGraphPrioritizedReplayBuffer, 'prioritized_replay'),
    )
    for capacity, stack, horizon, adds in (
        (60, 4, 1, 40),
        (60, 4, 3, 300),
        (64, 1, 5, 200),
        (37, 2, 2, 400),
        (200, 4, 5, 120),
    )
]


def make(capacity=20, stack_size=2, horizon=1, batch_size=4, cls=None, shape=(3, 2), **kwargs):
    cls = cls or crb.OutOfGraphReplayBuffer
    return cls(shape, stack_size, capacity, batch_size, update_horizon=horizon, **kwargs)


def frame(i, shape=(3, 2)):
    return np.full(shape, i, np.uint8)


def fill(memory, count, terminal=lambda i: 0):
    extra = (1.0,) if isinstance(memory, prb.OutOfGraphPrioritizedReplayBuffer) else ()
    for i in range(count):
        memory.add(frame(i, memory._observation_shape), i, float(i), terminal(i), *extra)
    return memory


def assert_valid(memory):
    valid, reason = memory.check_valid()
    assert valid, reason


def valid_indices(memory):
    return [i for i in range(memory._replay_capacity) if memory.is_valid_transition(i)]


def by_name(memory, indices):
    batch = memory.sample_transition_batch(len(indices), indices=indices)
    elements = memory.get_transition_elements(len(indices))
    for element, array in zip(elements, batch, strict=True):
        assert array.shape == tuple(element.shape)
        assert array.dtype == element.type
    return {element.name: array for element, array in zip(elements, batch, strict=True)}


def assert_equal_batches(one, other):
    """Compares batches by name; the `next_` elements mean nothing after a terminal."""
    goes_on = np.asarray(one['terminal']) == 0
    assert one.keys() == other.keys()
    for name in one:
        rows = goes_on if name.startswith('next_') else slice(None)
        np.testing.assert_array_equal(one[name][rows], other[name][rows], err_msg=name)


# Dopamine's values.


@pytest.mark.parametrize(('cls', 'name', 'key'), GOLDEN)
def test_dopamines_values(cls, name, key, golden):
    data = golden(name)
    capacity, stack, horizon, adds = (
        int(''.join(c for c in part if c.isdigit())) for part in key.split('_')
    )
    memory = cls((3, 2), stack, capacity, 16, update_horizon=horizon, gamma=0.9)
    given = {x: data[f'{key}/add_{x}'] for x in ('observation', 'action', 'reward', 'terminal')}
    for i in range(adds):
        memory.add(
            *(array[i] for array in given.values()),
            episode_end=bool(data[f'{key}/add_episode_end'][i]),
            priority=data[f'{key}/add_priority'][i] if name.startswith('prio') else None,
        )
    assert_valid(memory)
    assert memory.add_count == data[f'{key}/add_count']
    np.testing.assert_array_equal(
        np.sort(memory.invalid_range), np.sort(data[f'{key}/invalid_range'])
    )
    assert sorted(memory.episode_end_indices) == data[f'{key}/episode_end_indices'].tolist()
    valid = data[f'{key}/is_valid_transition']
    assert [memory.is_valid_transition(i) for i in range(capacity)] == valid.tolist()
    random.seed(7)
    np.random.seed(7)
    sampled = [memory.sample_index_batch(16) for _ in range(4)]
    np.testing.assert_array_equal(sampled, data[f'{key}/sample_index_batch_x4_seed7'])
    got = by_name(memory, np.flatnonzero(valid).astype(np.int32))
    want = {name: data[f'{key}/transition_{name}'] for name in got}
    np.testing.assert_allclose(got.pop('reward'), want.pop('reward'), rtol=1e-6)
    assert_equal_batches(got, want)


# Named cases and the slow twin.


@pytest.mark.parametrize('case', replay_cases.CASES, ids=lambda case: case.name)
@pytest.mark.parametrize('cls', [crb.OutOfGraphReplayBuffer, prb.OutOfGraphPrioritizedReplayBuffer])
def test_named_cases(case, cls):
    memory = make(case.capacity, case.stack_size, case.horizon, cls=cls, shape=(1,), gamma=0.5)
    priority = 1.0 if cls is prb.OutOfGraphPrioritizedReplayBuffer else None
    for j, letter in enumerate(case.transitions):
        memory.add(
            frame(10 + j, (1,)),
            j,
            2.0**j,
            letter == 'T',
            priority=priority,
            episode_end=letter == 'C',
        )
    assert_valid(memory)
    assert set(valid_indices(memory)) == set(case.expected)
    got = by_name(memory, list(case.expected))
    for row, (state, reward, terminal, next_state) in enumerate(case.expected.values()):
        assert got['state'][row, 0].tolist() == state
        assert got['reward'][row] == reward
        assert got['terminal'][row] == terminal
        if next_state is not None:
            assert got['next_state'][row, 0].tolist() == next_state
            assert got['next_action'][row] == next_state[-1] - 10
            assert got['next_reward'][row] == 2.0 ** (next_state[-1] - 10)


@pytest.mark.parametrize('seed', range(20))
def test_lockstep_with_python_loops(seed):
    rng = np.random.default_rng(seed)
    stack, horizon = int(rng.integers(1, 5)), int(rng.integers(1, 5))
    capacity = stack + horizon + int(rng.integers(6, 40))
    uniform = make(capacity, stack, horizon, gamma=0.5)
    prioritized = make(
        capacity, stack, horizon, gamma=0.5, cls=prb.OutOfGraphPrioritizedReplayBuffer
    )
    naive = oracles.NaiveReplay(capacity, stack, horizon, gamma=0.5)
    for step in range(3 * capacity):
        end = rng.random()
        transition = (
            rng.integers(0, 256, (3, 2)).astype(np.uint8),
            int(rng.integers(0, 9)),
            float(rng.integers(-8, 9)),
            int(end < 0.06),
        )
        priority = float(rng.integers(0, 64)) / 16
        cut = bool(0.06 <= end < 0.12)
        uniform.add(*transition, episode_end=cut)
        prioritized.add(*transition, priority, episode_end=cut)
        naive.add(*transition, priority, cut)
        if step % 3 == 0:
            indices = rng.integers(0, min(naive.added, capacity), 5).astype(np.int32)
            priorities = (rng.integers(0, 64, 5) / 16).astype(np.float32)
            prioritized.set_priority(indices, priorities)
            for index, value in zip(indices, priorities, strict=True):
                naive.tree.set(index, value)
        if step % 5:
            continue
        valid = [i for i in range(capacity) if naive.valid(i)]
        for memory in (uniform, prioritized):
            assert_valid(memory)
            assert memory.add_count == naive.added
            assert memory.episode_end_indices == naive.ends()
            assert valid_indices(memory) == valid
            compiled = memory._valid_transitions(np.arange(-2, capacity + 2))
            assert np.flatnonzero(compiled).tolist() == [i + 2 for i in valid]
        np.testing.assert_array_equal(
            prioritized.get_priority(np.arange(capacity, dtype=np.int32)), naive.tree.priorities
        )
        if not valid:
            continue
        expected = [naive.transition(i) for i in valid]
        expected = {name: np.array([row[name] for row in expected]) for name in expected[0]}
        assert_equal_batches(by_name(prioritized, valid), expected)
        del expected['sampling_probabilities']
        assert_equal_batches(by_name(uniform, valid), expected)
        np.random.seed(step)
        sampled = uniform.sample_index_batch(6)
        np.random.seed(step)
        assert sampled == naive.sample_uniform(6)
        if any(naive.tree.priorities[i] for i in valid):
            random.seed(step)
            sampled = prioritized.sample_index_batch(6)
            random.seed(step)
            assert sampled == naive.sample_prioritized(6)


@pytest.mark.parametrize('seed', range(5))
def test_exactly_the_valid_transitions_are_reachable(seed):
    rng = np.random.default_rng(seed)
    memory = make(12, 2, 2)
    for _ in range(int(rng.integers(8, 40))):
        memory.add(frame(0), 0, 0.0, rng.random() < 0.1)
    valid = valid_indices(memory)
    if valid:
        assert set(memory.sample_index_batch(300 * len(valid))) == set(valid)


# Adding.


def test_padding_counts():
    memory = make(stack_size=4)
    assert memory.is_empty()
    memory.add(frame(1), 0, 0.0, 0)
    assert memory.cursor() == memory.add_count == 4
    assert not memory._store['observation'][:3].any()
    memory.add(frame(1), 0, 0.0, 1)
    memory.add(frame(1), 0, 0.0, 0)
    assert memory.cursor() == 9
    assert memory.episode_end_indices == {4}


def test_an_overwritten_end_is_forgotten():
    memory = make(6, stack_size=2)
    memory.add(frame(0), 0, 0.0, 1)
    assert memory.episode_end_indices == {1}
    fill(memory, 6)  # a padding takes place 2
    assert memory.episode_end_indices == set()
    memory.add(frame(0), 0, 0.0, 0, episode_end=True)
    memory.add(frame(0), 0, 0.0, 0, episode_end=True)
    assert memory.episode_end_indices == memory._episode_end_indices == {3, 5}


def test_padding_forgets_an_end_too():
    memory = make(6, stack_size=3)
    memory.add(frame(0), 0, 0.0, 1)
    memory.add(frame(0), 0, 0.0, 1)
    assert memory.episode_end_indices == {2, 5}
    memory.add(frame(0), 0, 0.0, 0)
    assert memory.episode_end_indices == {5}
    memory.add(frame(0), 0, 0.0, 1)
    memory.add(frame(0), 0, 0.0, 0)
    assert memory.episode_end_indices == {3}


@pytest.mark.parametrize(
    'arguments',
    [
        ([[1, 1], [1, 1], [1, 1]], [3], [0.5], [0]),
        (np.ones((3, 2)), np.array(3), np.float64(0.5), False),
        (np.ones((3, 2), bool), np.uint8(3), np.array(0.5, np.float16), np.bool_(False)),
    ],
)
def test_anything_that_fits_is_stored(arguments):
    memory = make(stack_size=1)
    memory.add(*(a[0] if isinstance(a, list) and len(a) == 1 else a for a in arguments))
    assert memory._store['observation'][0].tolist() == [[1, 1]] * 3
    assert memory._store['action'][0] == 3
    assert memory._store['reward'][0] == 0.5
    assert memory._store['terminal'][0] == 0


def test_extras_are_stored_and_sampled():
    extras = [
        crb.ReplayElement('extra1', [], np.float32),
        crb.ReplayElement('extra2', [2], np.int8),
    ]
    memory = make(stack_size=1, extra_storage_types=extras)
    for i in range(6):
        memory.add(frame(i), 0, 0.0, 0, i / 2, [i, -i])
    with pytest.raises(ValueError, match='Add expects 6 elements, received 4'):
        memory.add(frame(0), 0, 0.0, 0)
    got = by_name(memory, [2, 3])
    assert list(got)[-2:] == ['extra1', 'extra2']
    assert got['extra1'].tolist() == [1.0, 1.5]
    assert got['extra2'].tolist() == [[2, -2], [3, -3]]


BAD_ADDS = {
    'too few': ((frame(0), 0, 0.0), TypeError, 'terminal'),
    'too many': ((frame(0), 0, 0.0, 0, 0), ValueError, 'Add expects 4 elements, received 5'),
    'a frame of another shape': (
        (np.zeros((2, 3), np.uint8), 0, 0.0, 0),
        ValueError,
        r'arg has shape \(2, 3\), expected \(3, 2\)',
    ),
    'a list of another shape': (
        ([1, 2], 0, 0.0, 0),
        ValueError,
        r'arg has shape \(2,\), expected \(3, 2\)',
    ),
    'an array for a number': (
        (frame(0), [1], 0.0, 0),
        ValueError,
        r'arg has shape \(1,\), expected \(\)',
    ),
    'a number for a frame': ((0, 0, 0.0, 0), ValueError, r'arg has shape \(\), expected \(3, 2\)'),
    'a NaN reward': ((frame(0), 0, float('nan'), 0), ValueError, 'reward must be finite, got nan'),
    'an infinite reward': ((frame(0), 0, np.float32('inf'), 0), ValueError, 'reward must be fin'),
    'a reward beyond float32': ((frame(0), 0, 1e300, 0), ValueError, 'reward must be in'),
    'a NaN frame': ((np.full((3, 2), np.nan), 0, 0.0, 0), ValueError, 'observation must be finite'),
    'a frame beyond uint8': (
        (np.full((3, 2), 300.7), 0, 0.0, 0),
        ValueError,
        r'observation must be in \[0, 255\] to be stored as uint8, got values from 300.7',
    ),
    'a negative frame': ((np.full((3, 2), -1), 0, 0.0, 0), ValueError, 'observation must be in'),
    'an action beyond int32': ((frame(0), 2**31, 0.0, 0), ValueError, 'action must be in'),
    'a NaN action': ((frame(0), float('nan'), 0.0, 0), ValueError, 'action must be finite'),
    'a NaN terminal': ((frame(0), 0, 0.0, float('nan')), ValueError, 'terminal must be finite'),
    'a text': ((frame(0), 'left', 0.0, 0), ValueError, 'action must be numeric'),
    'None': ((frame(0), None, 0.0, 0), ValueError, 'action must be numeric'),
}


def state_of(memory):
    state = {name: np.copy(array) for name, array in memory._store.items()}
    for name in ('add_count', 'invalid_range'):
        state[name] = np.copy(getattr(memory, name))
    state['ends'] = np.array(sorted(memory.episode_end_indices))
    if hasattr(memory, 'sum_tree'):
        state['tree'] = memory.sum_tree._heap.copy()
        state['highest'] = memory.sum_tree.max_recorded_priority
    return state


@pytest.mark.parametrize('name', BAD_ADDS)
@pytest.mark.parametrize('starts', [False, True])
def test_what_add_refuses_changes_nothing(name, starts):
    arguments, error, message = BAD_ADDS[name]
    memory = fill(make(), 3)
    if starts:
        memory.add(frame(0), 0, 0.0, 1)
    before = state_of(memory)
    with pytest.raises(error, match=message):
        memory.add(*arguments)
    for key, value in state_of(memory).items():
        np.testing.assert_array_equal(value, before[key])
    assert memory._next_experience_is_episode_start == starts


def test_float_frames_must_be_finite():
    memory = make(observation_dtype=np.float64)
    bad = np.zeros((3, 2))
    bad[2, 1] = np.inf
    with pytest.raises(ValueError, match='observation must be finite'):
        memory.add(bad, 0, 0.0, 0)
    assert memory.is_empty()


# Constructing.


@pytest.mark.parametrize('cls', [crb.OutOfGraphReplayBuffer, prb.OutOfGraphPrioritizedReplayBuffer])
@pytest.mark.parametrize(
    ('change', 'error', 'message'),
    [
        ({'shape': 84}, AssertionError, 'observation_shape must be a tuple, got 84'),
        ({'shape': [84, 84]}, AssertionError, 'observation_shape must be a tuple'),
        (
            {'capacity': 10, 'stack_size': 10},
            ValueError,
            'There is not enough capacity to cover update_horizon and stack_size.',
        ),
        ({'stack_size': 0}, ValueError, 'stack_size must be at least 1, got 0'),
        ({'batch_size': 0}, ValueError, 'batch_size must be at least 1, got 0'),
        ({'horizon': 0}, ValueError, 'Update horizon must be positive.'),
        ({'gamma': 1.1}, ValueError, r'Discount factor \(gamma\) must be in \[0, 1\].'),
        ({'gamma': -0.1}, ValueError, r'Discount factor \(gamma\) must be in \[0, 1\].'),
        ({'gamma': float('nan')}, ValueError, r'Discount factor \(gamma\) must be in'),
        ({'capacity': 10**15}, MemoryError, r'needs 15000000000000000 bytes .* free'),
    ],
)
def test_what_the_constructor_refuses(cls, change, error, message):
    with pytest.raises(error, match=message):
        make(cls=cls, **change)


def test_just_enough_capacity():
    assert make(10, stack_size=5, horizon=5)._replay_capacity == 10


def test_a_million_atari_frames_cost_nothing_until_written():
    def resident():
        with open('/proc/self/statm') as file:
            return int(file.read().split()[1]) * os.sysconf('SC_PAGE_SIZE')

    if not os.path.exists('/proc/self/statm'):
        pytest.skip('resident memory is read from /proc')
    before = resident()
    memory = make(1000000, 4, shape=(84, 84))
    assert memory._store['observation'].nbytes > 7e9
    assert resident() - before < 1e8


def test_attributes_that_users_read():
    memory = make(30, 4, 3, gamma=0.5, terminal_dtype=np.float32, action_shape=(2,))
    assert memory._state_shape == (3, 2, 4)
    assert memory._terminal_dtype == np.float32
    assert memory._action_shape == (2,)
    assert memory._cumulative_discount_vector.tolist() == [1.0, 0.5, 0.25]
    assert (memory._checkpoint_duration, memory._keep_every) == (4, None)
    assert memory.add_count.shape == ()
    public = {name for name in memory.__dict__ if not name.startswith('_')}
    assert public == {'add_count', 'invalid_range', 'episode_end_indices'}


def test_replay_elements_are_dopamines():
    element = crb.ReplayElement('a', (), np.int8)
    assert repr(element).startswith('shape_type(name=')
    assert crb.STORE_FILENAME_PREFIX == '$store$_'
    assert prb.ReplayElement is crb.ReplayElement


def test_index_ranges():
    assert crb.modulo_range(3, 4, 5) == [3, 4, 0, 1]
    assert sorted(crb.invalid_range(6, 10, 4, 1)) == [5, 6, 7, 8, 9]
    assert sorted(crb.invalid_range(9, 10, 4, 1)) == [0, 1, 2, 8, 9]
    assert sorted(crb.invalid_range(0, 10, 4, 3)) == [0, 1, 2, 3, 7, 8, 9]


# Reading and sampling.


def test_get_range():
    memory = make(10, stack_size=1)
    array = np.arange(10)
    with pytest.raises(AssertionError, match='end_index must be larger than start_index'):
        memory.get_range(array, 2, 1)
    with pytest.raises(AssertionError):
        memory.get_range(array, -3, -1)
    with pytest.raises(AssertionError):
        memory.get_range(array, 10, 11)
    with pytest.raises(AssertionError, match='Index 1 has not been added.'):
        memory.get_range(array, 1, 2)
    fill(memory, 15)
    assert memory.get_range(array, 2, 5).tolist() == [2, 3, 4]
    assert memory.get_range(array, 8, 12).tolist() == [8, 9, 0, 1]
    assert memory.get_range(array, -2, 1).tolist() == [8, 9, 0]
    assert memory.get_range(array, 5, 10).tolist() == [5, 6, 7, 8, 9]


def test_stacks():
    memory = fill(make(10, stack_size=3), 4, terminal=lambda i: i == 3)
    assert memory.get_observation_stack(4)[0, 0].tolist() == [0, 1, 2]
    assert memory.get_observation_stack(2).shape == (3, 2, 3)
    assert memory.get_terminal_stack(5).tolist() == [0, 0, 1]


def test_any_terminal_but_zero_ends_and_comes_back_as_one():
    memory = make(10, stack_size=1, terminal_dtype=np.int32)
    for i in range(8):
        memory.add(frame(i), 0, 1.0, i % 4)
    assert memory.episode_end_indices == {1, 2, 3, 5, 6, 7}
    assert by_name(memory, [0, 1, 3, 4])['terminal'].tolist() == [0, 1, 1, 0]


def test_given_indices_are_not_judged():
    memory = fill(make(10, stack_size=2), 30)
    cursor = memory.cursor()
    assert not memory.is_valid_transition(cursor)
    got = by_name(memory, [cursor])
    assert got['indices'].tolist() == [cursor]
    assert got['state'][0, 0, 0, 1] == memory._store['observation'][cursor, 0, 0]


def test_wrong_number_of_indices():
    with pytest.raises(AssertionError, match='expected 3 indices, got 2'):
        fill(make(), 10).sample_transition_batch(3, indices=[2, 3])


def test_too_little_is_stored():
    memory = make(20, stack_size=4, horizon=2)
    message = r'fewer than stack size \(4\) \+ update_horizon \(2\) transitions'
    for _ in range(2):
        with pytest.raises(RuntimeError, match=message):
            memory.sample_index_batch(1)
        memory.add(frame(0), 0, 0.0, 0)


def test_attempts_run_out():
    memory = make(20, stack_size=1, max_sample_attempts=10)
    for _ in range(10):
        memory.add(frame(0), 0, 0.0, 0, episode_end=True)
    with pytest.raises(
        RuntimeError,
        match='Max sample attempts: Tried 10 times but only sampled 0 valid indices. '
        'Batch size is 2',
    ):
        memory.sample_index_batch(2)


def test_attempts_count_as_one_by_one():
    for seed in range(50):
        memory = make(20, stack_size=1, max_sample_attempts=5)
        for i in range(12):
            memory.add(frame(0), 0, 0.0, 0, episode_end=i % 2 == 0)
        np.random.seed(seed)
        found, failed = [], 0
        while len(found) < 6 and failed < 5:
            index = np.random.randint(0, 11)
            if memory.is_valid_transition(index):
                found.append(index)
            else:
                failed += 1
        np.random.seed(seed)
        if len(found) == 6:
            assert memory.sample_index_batch(6) == found
        else:
            with pytest.raises(RuntimeError, match=f'only sampled {len(found)} valid'):
                memory.sample_index_batch(6)


def test_user_set_counters():
    memory = fill(make(10, stack_size=1), 5)
    memory.add_count = 10
    assert memory.is_full()
    assert memory.cursor() == 0
    memory.invalid_range = np.array([2.0, 3.0])
    assert valid_indices(memory) == [0, 1, 4, 5, 6, 7, 8, 9]
    assert np.flatnonzero(memory._valid_transitions(np.arange(10))).tolist() == valid_indices(
        memory
    )
    memory.add(frame(9), 0, 0.0, 0)
    assert memory.add_count == 11


@pytest.mark.parametrize('change', ['replaced', 'changed in place'])
def test_user_set_episode_ends(change):
    memory = fill(make(10, stack_size=1), 9)
    memory._valid_transitions(np.arange(10))
    if change == 'replaced':
        memory.episode_end_indices = {3, 77}
    else:
        memory.episode_end_indices.add(3)
    valid = np.flatnonzero(memory._valid_transitions(np.arange(10))).tolist()
    assert valid == valid_indices(memory) == [0, 1, 2, 4, 5, 6, 7]
    memory.add(frame(0), 0, 0.0, 0, episode_end=True)
    valid = np.flatnonzero(memory._valid_transitions(np.arange(10))).tolist()
    assert valid == valid_indices(memory) == [1, 2, 4, 5, 6, 7, 8]


def test_a_held_batch_is_never_written_to():
    memory = fill(make(30, stack_size=1, shape=(40, 40)), 30)
    held = [memory.sample_transition_batch()[0] for _ in range(12)]
    copies = [np.copy(states) for states in held]
    for _ in range(20):
        memory.sample_transition_batch()
    for states, copied in zip(held, copies, strict=True):
        np.testing.assert_array_equal(states, copied)
    part = memory.sample_transition_batch()[0][1, 2:5]
    copied = np.copy(part)
    for _ in range(20):
        memory.sample_transition_batch()
    np.testing.assert_array_equal(part, copied)


def test_batch_memory_is_aligned_and_used_again():
    memory = fill(make(30, stack_size=1, shape=(40, 40)), 30)
    addresses = set()
    for _ in range(20):
        states = memory.sample_transition_batch()[0]
        assert states.ctypes.data % 64 == 0
        addresses.add(states.ctypes.data)
        del states
    assert len(addresses) <= 4


# Overridden methods and odd stores: the compiled loops step aside.


def reference():
    memory = make(25, stack_size=2, horizon=3, gamma=0.5)
    for i in range(40):
        memory.add(frame(i), i, float(i), i % 7 == 6)
    return memory


class Touching(crb.OutOfGraphReplayBuffer):
    """Counts the calls of methods that a kernel may stand in for."""

    def touch(self, name):
        self.__dict__.setdefault('_touched', set()).add(name)


class OwnRange(Touching):
    def get_range(self, array, start_index, end_index):
        self.touch('get_range')
        return super().get_range(array, start_index, end_index)


class OwnStack(Touching):
    def get_observation_stack(self, index):
        self.touch('get_observation_stack')
        return super().get_observation_stack(index)


class OwnTerminalStack(Touching):
    def get_terminal_stack(self, index):
        self.touch('get_terminal_stack')
        return super().get_terminal_stack(index)


class OwnValidity(Touching):
    def is_valid_transition(self, index):
        self.touch('is_valid_transition')
        return super().is_valid_transition(index)


class OwnBatchArrays(Touching):
    def _create_batch_arrays(self, batch_size):
        self.touch('_create_batch_arrays')
        return super()._create_batch_arrays(batch_size)


@pytest.mark.parametrize(
    ('cls', 'name'),
    [
        (OwnRange, 'get_range'),
        (OwnStack, 'get_observation_stack'),
        (OwnTerminalStack, 'get_terminal_stack'),
        (OwnValidity, 'is_valid_transition'),
        (OwnBatchArrays, '_create_batch_arrays'),
    ],
)
def test_overridden_methods_are_called(cls, name):
    memory = make(25, stack_size=2, horizon=3, gamma=0.5, cls=cls)
    for i in range(40):
        memory.add(frame(i), i, float(i), i % 7 == 6)
    np.random.seed(0)
    expected = reference().sample_transition_batch(8)
    np.random.seed(0)
    got = memory.sample_transition_batch(8)
    assert name in memory._touched
    for ours, theirs in zip(got, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_a_method_replaced_on_the_object_is_called():
    memory = reference()
    memory.is_valid_transition = lambda index: index == 9
    assert memory.sample_index_batch(5) == [9] * 5


def test_elements_that_are_not_stored_are_left_to_the_subclass():
    class Filling(crb.OutOfGraphReplayBuffer):
        def get_transition_elements(self, batch_size=None):
            batch_size = batch_size or self._batch_size
            elements = super().get_transition_elements(batch_size)
            return [elements[1], crb.ReplayElement('own', (batch_size, 2), np.int16)]

        def sample_transition_batch(self, batch_size=None, indices=None):
            batch = super().sample_transition_batch(batch_size, indices)
            batch[1][:] = 5
            return batch

    memory = fill(make(cls=Filling), 10)
    actions, own = memory.sample_transition_batch(3, [2, 3, 4])
    assert actions.tolist() == [1, 2, 3]
    assert own.dtype == np.int16
    assert own.tolist() == [[5, 5]] * 3


@pytest.mark.parametrize(
    'change',
    [
        lambda store: store.update(observation=store['observation'][::-1][::-1]),
        lambda store: store.update(observation=np.asfortranarray(store['observation'])),
        lambda store: store.update(observation=store['observation'].astype(np.int64)),
        lambda store: store.update(reward=store['reward'].astype('>f4')),
        lambda store: store.update(reward=store['reward'].astype(np.float16)),
        lambda store: store.update(terminal=store['terminal'].astype('>i8')),
        lambda store: store.update(terminal=store['terminal'].astype(bool)),
        lambda store: store.update(terminal=store['terminal'].astype(np.float16)),
        lambda store: store.update({k: np.concatenate([v, v]) for k, v in store.items()}),
    ],
)
def test_replaced_stores(change):
    expected = by_name(reference(), [3, 9, 20])
    memory = reference()
    memory.sample_transition_batch(2)
    change(memory._store)
    assert_equal_batches(by_name(memory, [3, 9, 20]), expected)
    assert valid_indices(memory) == valid_indices(reference())
    np.random.seed(1)
    sampled = memory.sample_index_batch(20)
    np.random.seed(1)
    assert sampled == reference().sample_index_batch(20)


@pytest.mark.parametrize('name', ['observation', 'reward', 'terminal'])
def test_a_store_that_is_too_short_is_an_error(name):
    memory = reference()
    memory._store[name] = memory._store[name][:8]
    with pytest.raises((IndexError, ValueError)):
        memory.sample_transition_batch(2, [20, 21])


@pytest.mark.parametrize('dtype', [np.uint8, np.int16, np.float16, np.float32, np.float64])
@pytest.mark.parametrize('stack_size', [1, 3, 4])
def test_frames_of_any_type(dtype, stack_size):
    memory = make(20, stack_size, observation_dtype=dtype)
    rng = np.random.default_rng(0)
    for _ in range(30):
        memory.add(rng.integers(0, 100, (3, 2)).astype(dtype), 0, 0.0, 0)
    indices = valid_indices(memory)
    stacks = [memory.get_observation_stack(i) for i in indices]
    np.testing.assert_array_equal(by_name(memory, indices)['state'], stacks)


@pytest.mark.parametrize(('shape', 'dtype'), [((2,), np.float32), ((), np.int32), ((), np.float64)])
def test_rewards_of_any_shape(shape, dtype):
    memory = make(20, 1, 3, gamma=0.5, reward_shape=shape, reward_dtype=dtype)
    for i in range(10):
        memory.add(frame(0), 0, np.full(shape, 4 * i, dtype), 0)
    got = by_name(memory, [2, 4])['reward']
    expected = [np.full(shape, 8 + 6 + 4), np.full(shape, 16 + 10 + 6)]
    np.testing.assert_array_equal(got, np.array(expected, dtype))


# Checkpoints.


def set_store(memory):
    for value, name in enumerate(('observation', 'action', 'reward', 'terminal')):
        memory._store[name] = np.ones(10) * value
    memory.add_count = np.array(7)
    memory.invalid_range = np.ones(10)
    return memory


NAMES = {
    '$store$_observation',
    '$store$_action',
    '$store$_reward',
    '$store$_terminal',
    'add_count',
    'invalid_range',
    'episode_end_indices',
}


def names_in(folder, suffix):
    ending = f'_ckpt.{suffix}.gz'
    return {p.name.removesuffix(ending) for p in folder.iterdir() if p.name.endswith(ending)}


def test_save_keeps_the_last(tmp_path):
    memory = set_store(make())
    memory.save(tmp_path, 1)
    memory.save(tmp_path, 5)
    assert names_in(tmp_path, 5) == NAMES
    assert len(list(tmp_path.iterdir())) == len(NAMES)


@pytest.mark.parametrize('last', range(4, 9))
def test_keep_every_keeps_complete_checkpoints(tmp_path, last):
    memory = set_store(make(checkpoint_duration=1, keep_every=2))
    for iteration in range(last + 1):
        memory.save(tmp_path, iteration)
    for iteration in range(last + 1):
        kept = iteration % 2 == 0 or iteration == last
        assert names_in(tmp_path, iteration) == (NAMES if kept else set())
        if kept:
            make().load(tmp_path, iteration)


def test_files_are_what_dopamine_reads(tmp_path):
    memory = fill(make(), 9, terminal=lambda i: i == 4)
    memory.save(tmp_path, 3)
    with gzip.open(tmp_path / '$store$_reward_ckpt.3.gz') as file:
        np.testing.assert_array_equal(np.load(file, allow_pickle=False), memory._store['reward'])
    with gzip.open(tmp_path / 'add_count_ckpt.3.gz') as file:
        assert np.load(file, allow_pickle=False) == memory.add_count
    with gzip.open(tmp_path / 'episode_end_indices_ckpt.3.gz') as file:
        assert pickle.load(file) == {5}


def test_a_folder_that_is_not_there(tmp_path):
    make().save(tmp_path / 'nowhere', 1)
    assert not (tmp_path / 'nowhere').exists()
    with pytest.raises(tf.errors.NotFoundError, match='nowhere'):
        make().load(tmp_path / 'nowhere', '3')


def save_as_dopamine(folder, without=()):
    values = {'add_count': np.array(7), 'invalid_range': np.ones(10)}
    for value, name in enumerate(('observation', 'action', 'reward', 'terminal')):
        values['$store$_' + name] = np.ones(10) * value
    for name, value in values.items():
        if name not in without:
            with gzip.open(folder / f'{name}_ckpt.3.gz', 'wb') as file:
                np.save(file, value, allow_pickle=False)


def test_load_takes_whatever_shape_there_is(tmp_path, caplog):
    save_as_dopamine(tmp_path)
    memory = make()
    memory.load(str(tmp_path), '3')
    assert 'episode_end_indices_ckpt.3.gz is missing' in caplog.text
    np.testing.assert_array_equal(memory._store['terminal'], np.ones(10) * 3)
    assert memory._store['terminal'].dtype == np.float64
    assert memory.add_count == 7
    np.testing.assert_array_equal(memory.invalid_range, np.ones(10))


def test_a_missing_file_changes_nothing(tmp_path):
    save_as_dopamine(tmp_path, without=['$store$_reward'])
    memory = fill(make(), 5)
    before = state_of(memory)
    with pytest.raises(tf.errors.NotFoundError, match='reward_ckpt.3.gz'):
        memory.load(tmp_path, 3)
    for key, value in state_of(memory).items():
        np.testing.assert_array_equal(value, before[key])


@pytest.mark.parametrize('cls', [crb.OutOfGraphReplayBuffer, prb.OutOfGraphPrioritizedReplayBuffer])
@pytest.mark.parametrize('how', ['flipped', 'cut', 'emptied', 'lengthened'])
def test_any_damaged_file_changes_nothing(tmp_path, cls, how):
    saved = fill(make(cls=cls), 12)
    saved.save(tmp_path, 0)
    memory = fill(make(cls=cls), 5)
    before = state_of(memory)
    for path in sorted(tmp_path.iterdir()):
        content = path.read_bytes()
        damaged = {
            'flipped': content[:-6] + bytes([content[-6] ^ 1]) + content[-5:],
            'cut': content[: len(content) * 2 // 3],
            'emptied': b'',
            'lengthened': content + content,
        }[how]
        path.write_bytes(damaged)
        with pytest.raises(tf.errors.DataLossError, match='is damaged') as error:
            memory.load(tmp_path, 0)
        assert path.name in str(error.value)
        path.write_bytes(content)
        for key, value in state_of(memory).items():
            np.testing.assert_array_equal(value, before[key])
    memory.load(tmp_path, 0)
    for key, value in state_of(memory).items():
        np.testing.assert_array_equal(value, state_of(saved)[key])


class Hostile:
    def __reduce__(self):
        return os.getcwd, ()


def test_a_forbidden_pickle_is_refused_by_name(tmp_path):
    memory = fill(make(), 5)
    memory.save(tmp_path, 0)
    path = tmp_path / 'episode_end_indices_ckpt.0.gz'
    with gzip.open(path, 'wb') as file:
        pickle.dump(Hostile(), file)
    with pytest.raises(pickles.ForbiddenPickle, match='episode_end_indices_ckpt.0.gz.*getcwd'):
        memory.load(tmp_path, 0)


def test_attributes_of_a_users_own_are_saved(tmp_path):
    memory = make()
    memory.list_attribute = [1, 'two', {3.0: None}]
    memory.array_attribute = np.arange(3)
    memory._private = 1
    memory.save(tmp_path, 0)
    assert names_in(tmp_path, 0) == NAMES | {'list_attribute', 'array_attribute'}
    memory.list_attribute, memory.array_attribute = None, None
    memory.load(tmp_path, 0)
    assert memory.list_attribute == [1, 'two', {3.0: None}]
    assert memory.array_attribute.tolist() == [0, 1, 2]


def test_a_failed_save_leaves_no_half_file(tmp_path, monkeypatch):
    memory = fill(make(checkpoint_duration=1), 5)
    memory.save(tmp_path, 0)

    def full(stream, array):
        stream.write(b'half')
        raise OSError(28, 'No space left on device')

    monkeypatch.setattr(files, 'write_array', full)
    with pytest.raises(OSError, match='No space left'):
        memory.save(tmp_path, 1)
    assert all(p.name.endswith('_ckpt.0.gz') for p in tmp_path.iterdir())
    make().load(tmp_path, 0)


def test_an_episode_that_was_under_way_when_saved_is_cut(tmp_path):
    memory = fill(make(20, stack_size=1, horizon=2), 6)
    memory.save(tmp_path, 0)
    resumed = make(20, stack_size=1, horizon=2)
    resumed.load(tmp_path, 0)
    assert resumed.episode_end_indices == set()
    fill(resumed, 5)
    assert_valid(resumed)
    # Place 5 was the last of the old episode: no two steps from 4 or 5 stay within it.
    assert valid_indices(resumed) == [0, 1, 2, 3, 6, 7, 8]


def test_deep_copies_are_independent():
    memory = reference()
    memory.sample_transition_batch()
    other = copy.deepcopy(memory)
    fill(other, 30)
    index = other.sample_index_batch(1)[0]
    state, *_ = other.sample_transition_batch(1, [index])
    np.testing.assert_array_equal(state[0], other.get_observation_stack(index))
    for key, value in state_of(memory).items():
        np.testing.assert_array_equal(value, state_of(reference())[key])
    assert_valid(other)


# In the graph.


@pytest.mark.parametrize('cls', [crb.WrappedReplayBuffer, prb.WrappedPrioritizedReplayBuffer])
@pytest.mark.parametrize(
    ('change', 'message'),
    [
        (
            {'replay_capacity': 5, 'update_horizon': 5},
            r'Update horizon \(5\) should be significantly smaller than replay capacity \(5\).',
        ),
        ({'update_horizon': 0}, 'Update horizon must be positive.'),
        ({'update_horizon': -2}, 'Update horizon must be positive.'),
        ({'gamma': 1.01}, r'Discount factor \(gamma\) must be in \[0, 1\].'),
    ],
)
def test_what_the_wrapper_refuses(cls, change, message):
    with pytest.raises(ValueError, match=message):
        cls(**{'observation_shape': (3, 2), 'stack_size': 1, 'replay_capacity': 50, **change})


@pytest.mark.parametrize('cls', [crb.WrappedReplayBuffer, prb.WrappedPrioritizedReplayBuffer])
def test_all_settings_reach_the_memory(cls):
    settings = {
        'replay_capacity': 50,
        'batch_size': 3,
        'update_horizon': 2,
        'gamma': 0.25,
        'max_sample_attempts': 9,
        'extra_storage_types': [crb.ReplayElement('extra', (), np.int8)],
        'observation_dtype': np.float64,
        'terminal_dtype': np.int32,
        'action_shape': (2,),
        'action_dtype': np.float32,
        'reward_shape': (3,),
        'reward_dtype': np.float64,
    }
    replay = cls((4, 1), 2, **settings)
    for name, value in settings.items():
        assert getattr(replay.memory, f'_{name}') == value
    shapes = {name: tuple(tensor.shape) for name, tensor in replay.transition.items()}
    assert shapes['state'] == (3, 4, 1, 2)
    assert shapes['action'] == shapes['next_action'] == (3, 2)
    assert shapes['reward'] == (3, 3)
    assert replay.transition['terminal'].dtype == tf.int32
    assert replay.states.dtype == tf.float64
    assert shapes['extra'] == (3,)


def test_one_batch_a_run():
    replay = crb.WrappedReplayBuffer((3, 2), 2, replay_capacity=30, batch_size=4)
    assert replay.batch_size == 4
    for i in range(20):
        replay.add(frame(i), i, float(i), 0)
    assert {op.device for op in tf.compat.v1.get_default_graph().get_operations()} == {
        '/device:CPU:*'
    }
    np.random.seed(0)
    with tf.compat.v1.Session() as session:
        runs = [
            session.run(
                [
                    replay.states,
                    replay.actions,
                    replay.rewards,
                    replay.next_states,
                    replay.next_actions,
                    replay.next_rewards,
                    replay.terminals,
                    replay.indices,
                ]
            )
            for _ in range(5)
        ]
    np.random.seed(0)
    for run in runs:
        expected = replay.memory.sample_transition_batch()
        for ours, theirs in zip(run, expected, strict=True):
            np.testing.assert_array_equal(ours, theirs)


def test_the_end_of_an_episode_is_passed_on_only_when_it_is_one():
    class Memory:
        def __init__(self):
            self.calls = []

        def add(self, *args, **kwargs):
            self.calls.append((args, kwargs))

        def get_transition_elements(self):
            return make(batch_size=2).get_transition_elements()

        def sample_transition_batch(self):
            return make(batch_size=2)._create_batch_arrays(2)

        def save(self, *args):
            self.calls.append(('save', args))

        def load(self, *args):
            self.calls.append(('load', args))

    memory = Memory()
    for cls in (crb.WrappedReplayBuffer, prb.WrappedPrioritizedReplayBuffer):
        replay = cls((3, 2), 2, use_staging=True, wrapped_memory=memory)
        assert replay.memory is memory
    replay.add(1, 2, 3, 4, 5)
    replay.add(1, 2, 3, 4, episode_end=True)
    replay.save('folder', 1)
    replay.load('folder', 2)
    assert memory.calls == [
        ((1, 2, 3, 4, 5), {}),
        ((1, 2, 3, 4), {'episode_end': True}),
        ('save', ('folder', 1)),
        ('load', ('folder', 2)),
    ]
    with tf.compat.v1.Session() as session:
        assert session.run(replay.states).shape == (2, 3, 2, 2)


def test_a_subclass_may_skip_the_constructor():
    class Skipping(crb.WrappedReplayBuffer):
        def __init__(self):
            self.memory = fill(make(), 10)
            self.create_sampling_ops(False)

    assert tuple(Skipping().states.shape) == (4, 3, 2, 2)


def test_gin_bindings():
    gin.parse_config(
        [
            'WrappedReplayBuffer.replay_capacity = 40',
            'WrappedReplayBuffer.batch_size = 5',
            'OutOfGraphReplayBuffer.keep_every = 3',
            'OutOfGraphPrioritizedReplayBuffer.checkpoint_duration = 2',
        ]
    )
    memory = crb.WrappedReplayBuffer((3, 2), 2).memory
    assert (memory._replay_capacity, memory._batch_size, memory._keep_every) == (40, 5, 3)
    memory = make(cls=prb.OutOfGraphPrioritizedReplayBuffer)
    assert (memory._checkpoint_duration, memory._keep_every) == (2, 3)
    for name in ('observation_shape', 'stack_size', 'update_horizon', 'gamma'):
        for cls in ('WrappedReplayBuffer', 'WrappedPrioritizedReplayBuffer'):
            with pytest.raises(ValueError, match='denylist'):
                gin.bind_parameter(f'{cls}.{name}', 1)


# Staging.


def run_staged(cls, use_staging, seed, steps=12):
    tf.compat.v1.reset_default_graph()
    extra = (1.0,) if cls is prb.WrappedPrioritizedReplayBuffer else ()
    replay = cls((3, 2), 2, use_staging=use_staging, replay_capacity=30, batch_size=4)
    for i in range(20):
        replay.add(frame(i), i, float(i), 0, *extra)
    random.seed(seed)
    np.random.seed(seed)
    batches = []
    with tf.compat.v1.Session() as session:
        for i in range(steps):
            batch = session.run(replay.transition)
            batches.append(batch)
            if extra:
                priorities = np.arange(1, 5, dtype=np.float32)
                replay.memory.set_priority(batch['indices'], priorities)
            replay.add(frame(100 + i), i, float(i), 0, *extra)
    return batches


@pytest.mark.parametrize('cls', [crb.WrappedReplayBuffer, prb.WrappedPrioritizedReplayBuffer])
def test_staged_runs_of_one_seed_are_equal(cls):
    one, other = run_staged(cls, True, 5), run_staged(cls, True, 5)
    for ours, theirs in zip(one, other, strict=True):
        for name in ours:
            np.testing.assert_array_equal(ours[name], theirs[name], err_msg=name)


def test_a_staged_batch_is_drawn_when_the_one_before_is_handed_over():
    memory = fill(make(40, 2), 20)
    prefetcher = crb._Prefetcher(memory)
    memory._prefetcher = prefetcher
    np.random.seed(3)
    got = []
    for i in range(6):
        got.append(prefetcher.sample_transition_batch())
        memory.add(frame(50 + i), 0, 0.0, 0)
    memory = fill(make(40, 2), 20)
    np.random.seed(3)
    expected = [memory.sample_transition_batch()]
    for i in range(5):
        expected.append(memory.sample_transition_batch())
        memory.add(frame(50 + i), 0, 0.0, 0)
    for ours, theirs in zip(got, expected, strict=True):
        for one, other in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(one, other)


def test_a_batch_that_was_drawn_ahead_goes_on_if_it_is_one_of_the_buffer(caplog):
    memory = fill(make(40, 2), 20)
    batch = list(memory.sample_transition_batch())
    prefetcher = crb._Prefetcher(memory)
    prefetcher.resume(batch)
    assert all(a is b for a, b in zip(prefetcher.pending(), batch, strict=True))
    assert not caplog.text
    others = [batch[:-1], [*batch, batch[0]], [batch[0][1:], *batch[1:]]]
    others.append([batch[0].astype(np.float32), *batch[1:]])
    others.append([*batch[:1], batch[1].astype(batch[1].dtype.newbyteorder()), *batch[2:]])
    for other in others:
        caplog.clear()
        prefetcher.resume(other)
        assert prefetcher.pending() is None
        assert 'another is drawn' in caplog.text


def test_an_error_on_the_other_thread_reaches_the_caller():
    memory = fill(make(40, 2), 20)
    prefetcher = crb._Prefetcher(memory)
    prefetcher.sample_transition_batch()
    prefetcher.wait()
    memory._gather = lambda *args: 1 / 0
    prefetcher.sample_transition_batch()
    with pytest.raises(ZeroDivisionError):
        prefetcher.sample_transition_batch()
    del memory._gather
    prefetcher.discard()
    assert len(prefetcher.sample_transition_batch()) == 8


def test_loading_forgets_the_staged_batch(tmp_path):
    memory = make(40, 2)
    crb.WrappedReplayBuffer((3, 2), 2, use_staging=True, wrapped_memory=memory)
    fill(memory, 20).save(tmp_path, 0)
    memory._prefetcher.sample_transition_batch()
    fill(memory, 40)
    memory._prefetcher.sample_transition_batch()
    memory.load(tmp_path, 0)
    np.random.seed(0)
    got = memory._prefetcher.sample_transition_batch()
    np.random.seed(0)
    for ours, theirs in zip(got, memory.sample_transition_batch(), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert copy.deepcopy(memory)._prefetcher is None


def test_what_is_not_ours_is_not_prefetched():
    class Own(crb.OutOfGraphReplayBuffer):
        def sample_transition_batch(self, batch_size=None, indices=None):
            return super().sample_transition_batch(batch_size, indices)

    class OwnPrioritized(prb.OutOfGraphPrioritizedReplayBuffer):
        def sample_transition_batch(self, batch_size=None, indices=None):
            return super().sample_transition_batch(batch_size, indices)

    for cls, staged in (
        (Own, False),
        (OwnPrioritized, False),
        (crb.OutOfGraphReplayBuffer, True),
        (prb.OutOfGraphPrioritizedReplayBuffer, True),
    ):
        memory = make(cls=cls)
        crb.WrappedReplayBuffer((3, 2), 2, use_staging=True, wrapped_memory=memory)
        assert (memory._prefetcher is not None) == staged
