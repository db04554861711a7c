import copy
import io
import pickle
import pickletools
import random

import numpy as np
import oracles
import pytest

from dopamine_lite.compat import pickles
from dopamine_lite.tf.replay_memory import sum_tree

CAPACITIES = (1, 2, 5, 100, 1000)


def assert_valid(tree):
    valid, reason = tree.check_valid()
    assert valid, reason


@pytest.mark.parametrize(
    ('capacity', 'levels', 'leaves'), [(1, 1, 1), (2, 2, 2), (5, 4, 8), (100, 8, 128)]
)
def test_levels_double_up_to_a_power_of_two(capacity, levels, leaves):
    tree = sum_tree.SumTree(capacity)
    assert [level.size for level in tree.nodes] == [2**i for i in range(levels)]
    assert tree.nodes[-1].size == leaves
    assert all(level.dtype == np.float64 for level in tree.nodes)
    assert tree.max_recorded_priority == 1.0
    assert tree.capacity == capacity


@pytest.mark.parametrize('capacity', CAPACITIES)
@pytest.mark.parametrize('at_once', [False, True])
def test_dopamines_values(capacity, at_once, golden):
    data = golden('sum_tree')
    key = f'cap{capacity}/'
    tree = sum_tree.SumTree(capacity)
    if at_once:
        tree.set(data[key + 'set_index'], data[key + 'set_value'])
    else:
        for index, value in zip(data[key + 'set_index'], data[key + 'set_value'], strict=True):
            tree.set(int(index), float(value))
    assert_valid(tree)
    # Dopamine adds differences, so its own values have drifted by a few roundings.
    np.testing.assert_allclose(tree.nodes[-1], data[key + 'leaves'], rtol=0, atol=1e-12)
    np.testing.assert_allclose(tree.nodes[0], data[key + 'root'], rtol=0, atol=1e-9)
    assert tree.max_recorded_priority == data[key + 'max_recorded_priority']
    random.seed(1000 + capacity)
    drawn = [tree.sample() for _ in range(50)]
    np.testing.assert_array_equal(drawn, data[key + f'sample_seed{1000 + capacity}'])
    random.seed(2000 + capacity)
    drawn = [tree.stratified_sample(32) for _ in range(5)]
    np.testing.assert_array_equal(drawn, data[key + f'stratified32_seed{2000 + capacity}'])
    places = data[key + 'query']
    np.testing.assert_array_equal(tree.query(places), data[key + 'query_index'])
    assert [tree.sample(query_value=q) for q in places] == data[key + 'query_index'].tolist()


@pytest.mark.parametrize('seed', range(20))
def test_lockstep_with_a_list(seed):
    rng = np.random.default_rng(seed)
    capacity = int(rng.integers(1, 40))
    tree, naive = sum_tree.SumTree(capacity), oracles.NaiveSumTree(capacity)
    for _ in range(60):
        count = int(rng.integers(1, 6))
        indices = rng.integers(0, capacity, count)
        # Multiples of 1 / 1024 add up exactly in any order; a third of them are zero.
        values = rng.integers(0, 4096, count) * (rng.random(count) > 0.3) / 1024
        if count == 1:
            tree.set(int(indices[0]), float(values[0]))
        else:
            tree.set(indices, values)
        for index, value in zip(indices, values, strict=True):
            naive.set(index, value)
        assert_valid(tree)
        np.testing.assert_array_equal(tree.get(np.arange(capacity)), naive.priorities)
        assert tree.root == sum(naive.priorities) == tree._total_priority()
        assert tree.max_recorded_priority == naive.max_recorded_priority
        if tree.root > 0:
            places = np.append(rng.integers(0, 257, 8) / 256, [0.0, 1.0])
            found = tree.query(places)
            assert found.tolist() == [naive.find(place) for place in places]
            assert [tree.query(place) for place in places] == found.tolist()
            assert (tree.get(found) > 0).all()


def test_no_empty_leaf_is_found_whatever_is_rounded():
    rng = np.random.default_rng(0)
    for _ in range(50):
        tree = sum_tree.SumTree(37)
        indices = rng.integers(0, 37, 5)
        tree.set(indices, 10.0 ** rng.uniform(-300, 38, 5))
        found = tree.query(np.concatenate([rng.random(200), [0.0, 1.0, np.nextafter(1.0, 0)]]))
        assert (tree.get(found) > 0).all()


def test_the_last_of_equal_indices_stays():
    tree = sum_tree.SumTree(4)
    tree.set(np.array([1, 1, 2, 1]), np.array([3.0, 9.0, 1.0, 5.0]))
    assert tree.get([1, 2]).tolist() == [5.0, 1.0]
    assert tree.root == 6.0
    assert tree.max_recorded_priority == 9.0


def test_an_emptied_tree_is_empty():
    tree = sum_tree.SumTree(64)
    rng = np.random.default_rng(0)
    for _ in range(2000):
        tree.set(rng.integers(0, 64, 8), rng.random(8))
    assert_valid(tree)
    tree.set(np.arange(64), np.zeros(64))
    assert tree.root == 0.0
    for attempt in (tree.sample, lambda: tree.stratified_sample(2), lambda: tree.query(0.5)):
        with pytest.raises(ValueError, match='Cannot sample from an empty sum tree'):
            attempt()


def test_clear_keeps_the_largest_priority():
    tree = sum_tree.SumTree(3)
    tree.set(1, 4.0)
    tree.clear()
    assert_valid(tree)
    assert tree.root == 0.0
    assert tree.max_recorded_priority == 4.0


@pytest.mark.parametrize('as_array', [False, True])
@pytest.mark.parametrize(
    ('index', 'value', 'error', 'message'),
    [
        (0, -0.5, ValueError, 'Sum tree values should be nonnegative. Got -0.5'),
        (0, float('nan'), ValueError, 'Got nan'),
        (0, float('inf'), ValueError, 'Got inf'),
        (0, float('-inf'), ValueError, 'Got -inf'),
        (0, 1e39, ValueError, 'Got 1e[+]39'),
        (-1, 1.0, IndexError, r'expected an index in \[0, 5\), got -1'),
        (5, 1.0, IndexError, r'expected an index in \[0, 5\), got 5'),
        (8, 1.0, IndexError, r'expected an index in \[0, 5\), got 8'),
        (2**40, 1.0, IndexError, 'got 1099511627776'),
    ],
)
def test_what_is_refused_changes_nothing(as_array, index, value, error, message):
    tree = sum_tree.SumTree(5)
    tree.set(2, 3.0)
    before = tree.to_state_dict()
    with pytest.raises(error, match=message):
        if as_array:
            tree.set(np.array([1, index]), np.array([7.0, value]))
        else:
            tree.set(index, value)
    if error is IndexError:
        with pytest.raises(error, match=message):
            tree.get([0, index] if as_array else index)
    after = tree.to_state_dict()
    np.testing.assert_array_equal(after.pop('priorities'), before.pop('priorities'))
    assert after == before
    assert_valid(tree)


def test_other_bad_arguments():
    tree = sum_tree.SumTree(5)
    for capacity in (0, -3):
        with pytest.raises(ValueError, match=f'should be positive. Got: {capacity}'):
            sum_tree.SumTree(capacity)
    with pytest.raises(ValueError, match=r'got shapes \(1,\) and \(2,\)'):
        tree.set(np.array([0, 1]), np.array([1.0]))
    with pytest.raises(TypeError, match='expected integer indices'):
        tree.set(np.array([0.0, 1.0]), np.array([1.0, 2.0]))
    tree.set(0, 1.0)
    for place in (-0.1, 1.1, float('nan')):
        with pytest.raises(ValueError, match=r'query_value must be in \[0, 1\]'):
            tree.sample(query_value=place)
        with pytest.raises(ValueError, match=r'query_value must be in \[0, 1\]'):
            tree.query(np.array([0.5, place]))


def test_nothing_is_set_or_got_by_empty_arrays():
    tree = sum_tree.SumTree(5)
    tree.set(np.array([], int), np.array([]))
    assert tree.get(np.array([], int)).shape == (0,)
    assert tree.root == 0.0


def filled():
    tree = sum_tree.SumTree(5)
    tree.set(np.arange(5), np.array([0.1, 0.0, 7.0, 0.3, 1.0]))
    return tree


def assert_equal_trees(one, other):
    for ours, theirs in zip(one.nodes, other.nodes, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert one.max_recorded_priority == other.max_recorded_priority
    assert_valid(one)
    # The levels must still be views of what the kernels change.
    one.set(1, 2.0)
    assert one.get(1) == one.nodes[-1][1] == 2.0
    assert one.root == pytest.approx(other.root + 2.0 - other.get(1))


def test_copies():
    for copied in (
        copy.deepcopy(filled()),
        copy.copy(filled()),
        pickle.loads(pickle.dumps(filled())),
    ):
        assert_equal_trees(copied, filled())
    assert copy.deepcopy(filled()).capacity == 5
    assert sum_tree.SumTree(5).__getstate__().keys() == {'nodes', 'max_recorded_priority'}


def test_state_dict_round_trip():
    tree = sum_tree.SumTree(3)
    tree.from_state_dict(filled().to_state_dict())
    assert tree.capacity == 5
    assert_equal_trees(tree, filled())
    tree = filled()
    with pytest.raises(ValueError, match='expected 5 priorities'):
        tree.from_state_dict({**filled().to_state_dict(), 'priorities': np.ones(4)})
    with pytest.raises(ValueError, match='Got nan'):
        tree.from_state_dict({**filled().to_state_dict(), 'priorities': np.full(5, np.nan)})
    assert_equal_trees(tree, filled())


def test_pickled_as_dopamine_does():
    stream = io.BytesIO()
    sum_tree.dump(filled(), stream)
    names = [arg for op, arg, _ in pickletools.genops(stream.getvalue()) if op.name == 'GLOBAL']
    assert names[0] == 'dopamine.tf.replay_memory.sum_tree SumTree'
    assert not any('dopamine_lite' in name for name in names)
    tree = pickles.loads(stream.getvalue())
    assert type(tree) is sum_tree.SumTree
    assert tree.capacity == 8  # the pickle does not say
    assert tree.narrow(5)
    assert tree.capacity == 5
    assert_equal_trees(tree, filled())


def test_narrow_refuses_what_does_not_fit():
    tree = filled()
    assert not tree.narrow(4)
    assert not tree.narrow(9)
    tree = pickle.loads(pickle.dumps(tree))
    tree.set(7, 1.0)
    assert not tree.narrow(7)
    assert tree.capacity == 8


def test_the_sums_of_a_drifted_pickle_are_recomputed():
    state = filled().__getstate__()
    state['nodes'][0][0] += 1e-3
    tree = sum_tree.SumTree.__new__(sum_tree.SumTree)
    tree.__setstate__(state)
    assert_equal_trees(tree, filled())


@pytest.mark.parametrize('leaves', [np.ones(3), np.array([1.0, np.nan]), -np.ones(2), np.ones(0)])
def test_a_malformed_pickle_is_refused(leaves):
    tree = sum_tree.SumTree.__new__(sum_tree.SumTree)
    with pytest.raises(ValueError, match='expected'):
        tree.__setstate__({'nodes': [leaves], 'max_recorded_priority': 1.0})


@pytest.mark.parametrize('largest', [-1.0, float('nan'), float('inf')])
def test_a_pickled_largest_priority_is_one(largest):
    tree = sum_tree.SumTree.__new__(sum_tree.SumTree)
    with pytest.raises(ValueError, match='expected a finite, nonnegative largest priority'):
        tree.__setstate__({'nodes': [np.ones(1)], 'max_recorded_priority': largest})


def test_check_valid_finds_what_is_wrong():
    tree = filled()
    tree.nodes[1][0] += 1
    assert 'not the sum of its children' in tree.check_valid()[1]
    tree = filled()
    tree.nodes[-1][6] = 1.0
    assert 'beyond the capacity' in tree.check_valid()[1]
    tree = filled()
    tree.nodes[-1][0] = np.nan
    assert 'NaN' in tree.check_valid()[1]


def test_sampling_frequencies():
    tree = sum_tree.SumTree(6)
    priorities = np.array([1.0, 0.0, 2.0, 3.0, 0.5, 1.5])
    tree.set(np.arange(6), priorities)
    random.seed(3)
    draws = 20000
    counts = np.bincount([tree.sample() for _ in range(draws)], minlength=6)
    expected = draws * priorities / priorities.sum()
    assert counts[1] == 0
    drawn = expected > 0
    chi_square = ((counts - expected)[drawn] ** 2 / expected[drawn]).sum()
    assert chi_square < 18.5  # 99.9 % of four degrees of freedom
