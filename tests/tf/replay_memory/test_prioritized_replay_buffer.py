import gzip
import pickle
import random

import numpy as np
import pytest
import tensorflow as tf

from dopamine_lite.tf.replay_memory import prioritized_replay_buffer as prb
from dopamine_lite.tf.replay_memory import sum_tree


def make(capacity=20, stack_size=2, horizon=1, batch_size=4, cls=None, **kwargs):
    cls = cls or prb.OutOfGraphPrioritizedReplayBuffer
    return cls((3, 2), stack_size, capacity, batch_size, update_horizon=horizon, **kwargs)


def frame(i):
    return np.full((3, 2), i, np.uint8)


def fill(memory, count, priority=1.0):
    for i in range(count):
        memory.add(frame(i), i, float(i), 0, priority)
    return memory


def int32(*values):
    return np.array(values, np.int32)


def test_the_priority_is_the_last_argument():
    memory = make(stack_size=3)
    memory.add(frame(0), 0, 0.0, 0, 0.25)
    memory.add(frame(0), 0, 0.0, 0, priority=np.float32(0.5))
    assert memory.cursor() == 4
    assert memory.get_priority(int32(0, 1, 2, 3)).tolist() == [0.0, 0.0, 0.25, 0.5]
    assert memory.get_priority(int32(3)).dtype == np.float32
    assert 'priority' not in memory._store
    with pytest.raises(ValueError, match='Add expects 5 elements, received 4'):
        memory.add(frame(0), 0, 0.0, 0)


@pytest.mark.parametrize('priority', [-1.0, float('nan'), float('inf'), 1e39, [1.0], None, 'high'])
def test_a_bad_priority_changes_nothing(priority):
    memory = make()
    with pytest.raises(ValueError, match='priority|Add expects|arg has shape'):
        memory.add(frame(0), 0, 0.0, 0, priority=priority)
    assert memory.is_empty()
    assert memory.sum_tree.root == 0.0
    memory = fill(make(), 3)
    with pytest.raises((ValueError, TypeError)):
        memory.set_priority(int32(2, 1), [3.0, priority])
    assert memory.get_priority(int32(1, 2)).tolist() == [1.0, 1.0]
    assert memory.check_valid() == (True, '')


def test_set_and_get():
    memory = fill(make(), 8)
    memory.set_priority(int32(1, 5, 5), np.array([3.0, 4.0, 0.5], np.float32))
    assert memory.get_priority(int32(5, 1, 2)).tolist() == [0.5, 3.0, 1.0]
    assert memory.sum_tree.max_recorded_priority == 4.0
    assert memory.sum_tree.root == 6.0 + 3.0 + 0.5


@pytest.mark.parametrize(
    ('indices', 'message'),
    [
        (3, 'Indices must be an array, given: 3'),
        ([3], 'Indices must be an array'),
        (np.int32(3), 'Indices must be an array'),
        (np.array([3]), 'Indices must be int32s, given: int64'),
        (np.array([3.0], np.float32), 'Indices must be int32s, given: float32'),
    ],
)
def test_indices_are_int32_arrays(indices, message):
    memory = fill(make(), 8)
    with pytest.raises(AssertionError, match=message):
        memory.get_priority(indices)
    with pytest.raises(AssertionError, match=message):
        memory.set_priority(indices, np.ones(1))


@pytest.mark.parametrize('index', [-1, 20, 31])
def test_indices_outside_the_capacity(index):
    memory = fill(make(20), 8)
    with pytest.raises(IndexError, match=rf'expected an index in \[0, 20\), got {index}'):
        memory.set_priority(int32(1, index), np.array([5.0, 5.0]))
    with pytest.raises(IndexError, match=f'got {index}'):
        memory.get_priority(int32(1, index))
    assert memory.get_priority(int32(1)) == 1.0


def test_lengths_must_agree():
    with pytest.raises(ValueError, match='expected as many values as indices'):
        fill(make(), 8).set_priority(int32(1, 2), np.array([5.0]))


def test_sampling_probabilities_are_the_priorities():
    memory = fill(make(), 8)
    memory.set_priority(int32(2, 3), np.array([0.25, 7.0]))
    elements = memory.get_transition_elements(3)
    assert elements[-1] == prb.ReplayElement('sampling_probabilities', (3,), np.float32)
    assert memory.sample_transition_batch(3, [3, 2, 4])[-1].tolist() == [7.0, 0.25, 1.0]


def test_nothing_of_priority_zero_is_sampled():
    memory = make(40)
    for i in range(30):
        memory.add(frame(i), i, 0.0, 0, float(i % 3 == 0))
    random.seed(0)
    sampled = memory.sample_index_batch(500)
    assert {memory.get_priority(int32(i))[0] for i in sampled} == {1.0}
    assert set(sampled) == {i for i in range(29) if memory.get_priority(int32(i))[0]}


def test_sampling_follows_the_priorities():
    memory = make(12, stack_size=1)
    for i in range(11):
        memory.add(frame(i), 0, 0.0, 0, 0.5 + i % 4)
    random.seed(1)
    draws = 200
    counts = np.bincount(
        np.concatenate([memory.sample_index_batch(50) for _ in range(draws)]), minlength=12
    )
    priorities = memory.get_priority(np.arange(12, dtype=np.int32)).astype(float)
    priorities[10] = 0.0  # the last transition has no next state yet: its draws go to the others
    expected = 50 * draws * priorities / priorities.sum()
    assert counts[10] == counts[11] == 0
    chi_square = ((counts - expected)[:10] ** 2 / expected[:10]).sum()
    assert chi_square < 27.9  # 99.9 % of nine degrees of freedom; stratified draws vary less


def test_an_empty_buffer():
    with pytest.raises(ValueError, match='Cannot sample from an empty sum tree.'):
        make().sample_index_batch(2)


@pytest.mark.parametrize('batch_size', [1, 2, 5])
def test_no_invalid_index_is_returned_when_attempts_run_out(batch_size):
    for seed in range(20):
        random.seed(seed)
        memory = make(max_sample_attempts=10)
        memory.add(frame(0), 0, 0.0, 0, 1.0)
        with pytest.raises(
            RuntimeError,
            match='Max sample attempts: Tried 10 times but only sampled 0 valid indices. '
            f'Batch size is {batch_size}',
        ):
            memory.sample_index_batch(batch_size)


@pytest.mark.parametrize('attempts', [0, 1, 3])
def test_attempts_are_one_budget_for_the_batch(attempts):
    outcomes = set()
    for seed in range(60):
        memory = make(30, stack_size=1, max_sample_attempts=attempts)
        for i in range(20):
            memory.add(frame(i), 0, 0.0, 0, 1.0, episode_end=i % 3 == 0)
        random.seed(seed)
        indices, left, expected = memory.sum_tree.stratified_sample(4), attempts, None
        for position in range(4):
            while not memory.is_valid_transition(indices[position]) and left:
                indices[position] = memory.sum_tree.sample()
                left -= 1
            if not memory.is_valid_transition(indices[position]):
                expected = position
                break
        random.seed(seed)
        if expected is None:
            assert memory.sample_index_batch(4) == indices
        else:
            with pytest.raises(RuntimeError, match=f'only sampled {expected} valid'):
                memory.sample_index_batch(4)
        outcomes.add(expected is None)
    assert outcomes == {True, False}


def test_an_overridden_validity_holds_for_every_draw():
    class Even(prb.OutOfGraphPrioritizedReplayBuffer):
        def is_valid_transition(self, index):
            return index % 2 == 0 and super().is_valid_transition(index)

    memory = fill(make(cls=Even), 15)
    assert {i % 2 for i in memory.sample_index_batch(50)} == {0}


def test_the_tree_survives_a_checkpoint(tmp_path):
    memory = fill(make(), 30)
    memory.set_priority(int32(3, 4), np.array([0.1, 9.0]))
    memory.save(tmp_path, 2)
    assert (tmp_path / 'sum_tree_ckpt.2.gz').exists()
    other = make()
    other.load(tmp_path, 2)
    assert other.check_valid() == (True, '')
    assert other.sum_tree.max_recorded_priority == 9.0
    np.testing.assert_array_equal(other.sum_tree.nodes[-1], memory.sum_tree.nodes[-1])
    with pytest.raises(IndexError, match='got 20'):
        other.set_priority(int32(20), np.array([1.0]))
    random.seed(0)
    expected = memory.sample_index_batch(16)
    random.seed(0)
    assert other.sample_index_batch(16) == expected


def test_in_the_graph():
    replay = prb.WrappedPrioritizedReplayBuffer((3, 2), 2, replay_capacity=20, batch_size=4)
    for i in range(15):
        replay.add(frame(i), i, float(i), 0, 1.0)
    assert replay.states.shape == (4, 3, 2, 2)
    assert list(replay.transition) == [
        'state',
        'action',
        'reward',
        'next_state',
        'next_action',
        'next_reward',
        'terminal',
        'indices',
        'sampling_probabilities',
    ]
    indices = tf.compat.v1.placeholder(tf.int32, [None])
    priorities = tf.compat.v1.placeholder(tf.float32, [None])
    set_op = replay.tf_set_priority(indices, priorities)
    get_op = replay.tf_get_priority(indices)
    with tf.compat.v1.Session() as session:
        got = session.run(replay.transition)
        # One padding transition comes first, so that index i holds frame i - 1.
        np.testing.assert_array_equal(got['action'], got['indices'] - 1)
        np.testing.assert_array_equal(got['state'][:, 0, 0, 1], got['indices'] - 1)
        np.testing.assert_array_equal(got['next_state'][:, 0, 0, 1], got['indices'])
        session.run(set_op, {indices: [3, 3], priorities: [2.0, 5.0]})
        assert session.run(get_op, {indices: [3, 0, 4]}).tolist() == [5.0, 0.0, 1.0]
        with pytest.raises(tf.errors.InvalidArgumentError, match='Got nan'):
            session.run(set_op, {indices: [3], priorities: [np.nan]})
        assert session.run(get_op, {indices: [3]}).tolist() == [5.0]


@pytest.mark.parametrize(
    'tree',
    [
        sum_tree.SumTree(64),
        sum_tree.SumTree(4),
        [1, 2],
        sum_tree.SumTree.__new__(sum_tree.SumTree),
    ],
    ids=['too large', 'too small', 'a list', 'without a state'],
)
def test_what_is_no_tree_of_the_buffer_is_not_loaded(tmp_path, tree):
    memory = fill(make(), 12)
    memory.save(tmp_path, 1)
    with gzip.open(tmp_path / 'sum_tree_ckpt.1.gz', 'wb') as file:
        if hasattr(tree, 'nodes'):
            sum_tree.dump(tree, file)
        elif isinstance(tree, list):
            pickle.dump(tree, file)
        else:
            file.write(b'\x80\x03cdopamine.tf.replay_memory.sum_tree\nSumTree\n)\x81.')
    other = fill(make(), 5)
    before = other.sum_tree
    with pytest.raises(tf.errors.DataLossError, match='no sum tree of 20 priorities'):
        other.load(tmp_path, 1)
    assert other.sum_tree is before
    assert other.add_count == fill(make(), 5).add_count
