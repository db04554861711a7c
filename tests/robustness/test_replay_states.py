"""Trees and buffers in whatever state any sequence of calls brings them to.

With DOPAMINE_LITE_SLOW_TESTS=1 Hypothesis tries 300 sequences each instead of 20.
"""

import copy
import math
import os
import pickle
import random

import hypothesis
import numpy as np
import oracles
import pytest
from hypothesis import stateful
from hypothesis import strategies as st

from dopamine_lite.compat import pickles
from dopamine_lite.tf.replay_memory import circular_replay_buffer as crb
from dopamine_lite.tf.replay_memory import prioritized_replay_buffer as prb
from dopamine_lite.tf.replay_memory import sum_tree

SETTINGS = hypothesis.settings(
    max_examples=300 if os.environ.get('DOPAMINE_LITE_SLOW_TESTS') else 20,
    stateful_step_count=40,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(hypothesis.HealthCheck),
)

# Sixteenths add up exactly in any order, so that sums can be compared with those of a list.
PRIORITIES = st.integers(0, 16).map(lambda sixteenths: sixteenths / 16)
BAD_PRIORITIES = st.sampled_from([-1.0, math.nan, math.inf, -math.inf, 1e39])
SEEDS = st.integers(0, 2**32 - 1)


class Tree(stateful.RuleBasedStateMachine):
    """A sum tree beside a list of priorities."""

    @stateful.initialize(capacity=st.integers(1, 21))
    def make(self, capacity):
        self.tree, self.naive = sum_tree.SumTree(capacity), oracles.NaiveSumTree(capacity)
        self.capacity = capacity

    def index(self, data):
        return data.draw(st.integers(0, self.capacity - 1))

    @stateful.rule(data=st.data(), value=PRIORITIES)
    def set_one(self, data, value):
        index = self.index(data)
        self.tree.set(index, value)
        self.naive.set(index, value)

    @stateful.rule(data=st.data(), values=st.lists(PRIORITIES, max_size=8))
    def set_many(self, data, values):
        indices = np.array([self.index(data) for _ in values], np.int32)
        self.tree.set(indices, np.array(values))
        for index, value in zip(indices, values, strict=True):
            self.naive.set(index, value)

    @stateful.rule(data=st.data(), beyond=st.integers(0, 40), value=PRIORITIES)
    def refuse_an_index(self, data, beyond, value):
        # In the padding, beyond it, or below zero.
        bad = data.draw(st.sampled_from([self.capacity + beyond, -1 - beyond]))
        for index, priority in ((bad, value), (np.array([self.index(data), bad]), [value, value])):
            with pytest.raises(IndexError, match=f'got {bad}'):
                self.tree.set(index, priority)
            with pytest.raises(IndexError, match=f'got {bad}'):
                self.tree.get(index)

    @stateful.rule(data=st.data(), value=PRIORITIES, bad=BAD_PRIORITIES)
    def refuse_a_priority(self, data, value, bad):
        index = self.index(data)
        for target, priority in ((index, bad), (np.array([index, index]), [value, bad])):
            with pytest.raises(ValueError, match='Sum tree values should be'):
                self.tree.set(target, priority)

    @stateful.rule()
    def clear(self):
        self.tree.clear()
        self.naive.priorities = [0.0] * self.capacity

    @stateful.rule(how=st.sampled_from(['pickle', 'allow-list', 'state', 'copy']))
    def replace(self, how):
        tree = self.tree
        if how == 'copy':
            self.tree = copy.deepcopy(tree)
        elif how == 'state':
            self.tree = sum_tree.SumTree(1)
            self.tree.from_state_dict(tree.to_state_dict())
        else:
            loads = pickles.loads if how == 'allow-list' else pickle.loads
            self.tree = loads(pickle.dumps(tree))
            assert self.tree.narrow(self.capacity)
        tree.clear()  # what is left of the old one must not matter

    @stateful.rule(places=st.lists(st.integers(0, 256), max_size=6))
    def find(self, places):
        places = [place / 256 for place in places]
        if not sum(self.naive.priorities):
            for call in (lambda: self.tree.query(places), self.tree.sample):
                with pytest.raises(ValueError, match='Cannot sample from an empty sum tree'):
                    call()
            return
        expected = [self.naive.find(place) for place in places]
        assert self.tree.query(np.array(places)).tolist() == expected
        assert [self.tree.sample(place) for place in places] == expected

    @stateful.rule(seed=SEEDS, count=st.integers(1, 9))
    def sample(self, seed, count):
        if sum(self.naive.priorities):
            random.seed(seed)
            found = self.tree.stratified_sample(count)
            random.seed(seed)
            places = [random.uniform(i / count, (i + 1) / count) for i in range(count)]
            # Strata are not exact in binary: the place may be off by a rounding.
            near = [{self.naive.find(p + e) for e in (-1e-12, 0, 1e-12)} for p in places]
            assert all(index in allowed for index, allowed in zip(found, near, strict=True))

    @stateful.invariant()
    def equal(self):
        if not hasattr(self, 'tree'):
            return
        assert self.tree.check_valid() == (True, '')
        assert self.tree.capacity == self.capacity
        assert self.tree.get(np.arange(self.capacity)).tolist() == self.naive.priorities
        assert self.tree.root == sum(self.naive.priorities)
        assert self.tree.max_recorded_priority == self.naive.max_recorded_priority


class Buffers(stateful.RuleBasedStateMachine):
    """The uniform and the prioritized buffer beside a list of transitions."""

    @stateful.initialize(
        stack=st.integers(1, 4), horizon=st.integers(1, 4), more=st.integers(0, 12)
    )
    def make(self, stack, horizon, more):
        self.capacity = stack + horizon + more
        self.arguments = ((2,), stack, self.capacity, 4)
        self.settings = dict(update_horizon=horizon, gamma=0.5, observation_dtype=np.float32)
        self.memories = [self.new(prb.OutOfGraphPrioritizedReplayBuffer)]
        self.memories.append(self.new(crb.OutOfGraphReplayBuffer))
        self.naive = oracles.NaiveReplay(self.capacity, stack, horizon, gamma=0.5)

    def new(self, cls):
        return cls(*self.arguments, max_sample_attempts=100_000, **self.settings)

    @stateful.rule(
        ends=st.text('...TC', min_size=1, max_size=12),
        reward=st.integers(-8, 8),
        priority=PRIORITIES,
    )
    def add(self, ends, reward, priority):
        for end in ends:
            number = self.naive.added
            frame = np.array([number, -number], np.float32)
            transition = (frame, number, float(reward), end == 'T')
            self.memories[0].add(*transition, priority, episode_end=end == 'C')
            self.memories[1].add(*transition, episode_end=end == 'C')
            self.naive.add(*transition, priority, end == 'C')

    @stateful.rule(
        where=st.sampled_from(['frame', 'reward', 'priority']),
        bad=st.sampled_from([math.nan, math.inf, -math.inf]),
    )
    def refuse(self, where, bad):
        frame = np.array([0.0, bad if where == 'frame' else 0.0], np.float32)
        reward = bad if where == 'reward' else 0.0
        for memory in self.memories[: 1 if where == 'priority' else 2]:
            extra = (bad if where == 'priority' else 1.0,) * (memory is self.memories[0])
            with pytest.raises(ValueError, match='observation|reward|priority'):
                memory.add(frame, 0, reward, 1, *extra)

    @stateful.precondition(lambda self: self.naive.added)
    @stateful.rule(data=st.data(), values=st.lists(PRIORITIES, min_size=1, max_size=5))
    def set_priority(self, data, values):
        stored = st.integers(0, min(self.naive.added, self.capacity) - 1)
        indices = np.array([data.draw(stored) for _ in values], np.int32)
        self.memories[0].set_priority(indices, np.array(values, np.float32))
        for index, value in zip(indices, values, strict=True):
            self.naive.tree.set(index, value)

    @stateful.rule(how=st.sampled_from(['copy', 'checkpoint']))
    def replace(self, how):
        if how == 'copy':
            self.memories = [copy.deepcopy(memory) for memory in self.memories]
            return
        loaded = [self.new(type(memory)) for memory in self.memories]
        for memory, other in zip(self.memories, loaded, strict=True):
            for name, value in memory._return_checkpointable_elements().items():
                name = name.removeprefix(crb.STORE_FILENAME_PREFIX)
                target = other._store if name in other._store else other.__dict__
                target[name] = copy.deepcopy(value)
            other._was_loaded = not other.is_empty()
        self.memories = loaded
        self.naive.load()

    @stateful.rule(seed=SEEDS, count=st.integers(1, 6))
    def sample(self, seed, count):
        prioritized, uniform = self.memories
        valid = self.valid()
        if valid:
            np.random.seed(seed)
            found = uniform.sample_index_batch(count)
            np.random.seed(seed)
            assert found == self.naive.sample_uniform(count)
        if any(self.naive.tree.priorities[index] for index in valid):
            random.seed(seed)
            found = prioritized.sample_index_batch(count)
            random.seed(seed)
            assert found == self.naive.sample_prioritized(count)

    @stateful.rule()
    def read(self):
        valid = self.valid()
        if not valid:
            return
        rows = [self.naive.transition(index) for index in valid]
        for memory in self.memories:
            elements = memory.get_transition_elements(len(valid))
            batch = memory.sample_transition_batch(len(valid), valid)
            for (name, *_), array in zip(elements, batch, strict=True):
                for got, row in zip(array, rows, strict=True):
                    if not (name.startswith('next_') and row['terminal']):
                        np.testing.assert_array_equal(got, row[name], err_msg=name)

    def valid(self):
        return [index for index in range(self.capacity) if self.naive.valid(index)]

    @stateful.invariant()
    def equal(self):
        if not hasattr(self, 'memories'):
            return
        everywhere = np.arange(-2, self.capacity + 2)
        for memory in self.memories:
            assert memory.check_valid() == (True, '')
            assert memory.add_count == self.naive.added
            assert memory.episode_end_indices == self.naive.ends()
            assert everywhere[memory._valid_transitions(everywhere)].tolist() == self.valid()
        priorities = self.memories[0].sum_tree.get(np.arange(self.capacity)).tolist()
        assert priorities == self.naive.tree.priorities


for machine in (Tree, Buffers):
    machine.TestCase.settings = SETTINGS
TestTree = Tree.TestCase
TestBuffers = Buffers.TestCase


# What can be sampled, exactly: every number that the generators could give is tried.

BUFFERS = {
    'one frame': dict(stack=1, horizon=1, capacity=6),
    'a stack': dict(stack=3, horizon=1, capacity=9),
    'n steps': dict(stack=1, horizon=4, capacity=9),
    'both': dict(stack=2, horizon=3, capacity=11),
    'hardly room': dict(stack=3, horizon=2, capacity=6),
}
ENDS = {
    'no end': lambda i: '.',
    'a terminal now and then': lambda i: 'T' if i % 5 == 3 else '.',
    'a cut now and then': lambda i: 'C' if i % 7 == 2 else '.',
    'either': lambda i: {0: 'T', 4: 'C', 9: 'T', 10: 'C'}.get(i % 13, '.'),
    'short episodes': lambda i: 'T.C'[i % 3],
    'cuts only': lambda i: 'C',
}


def states(buffer, ends, attempts):
    """Yields both buffers and their twin after each transition, until they wrapped around twice."""
    stack, horizon, capacity = (BUFFERS[buffer][name] for name in ('stack', 'horizon', 'capacity'))
    arguments = ((1,), stack, capacity, 2, horizon, 0.5, attempts)
    uniform = crb.OutOfGraphReplayBuffer(*arguments)
    prioritized = prb.OutOfGraphPrioritizedReplayBuffer(*arguments)
    naive = oracles.NaiveReplay(capacity, stack, horizon, 0.5)
    for i in range(3 * capacity):
        end = ENDS[ends](i)
        transition = (np.array([i], np.uint8), 0, 0.0, end == 'T')
        priority = i % 4 / 4
        uniform.add(*transition, episode_end=end == 'C')
        prioritized.add(*transition, priority, episode_end=end == 'C')
        naive.add(*transition, priority, end == 'C')
        valid = {index for index in range(capacity) if naive.valid(index)}
        yield uniform, prioritized, naive, valid


class EveryDraw:
    """Stands for `numpy.random.randint`; gives the numbers that it could give, in turn."""

    def __init__(self):
        self.given = 0

    def __call__(self, low, high, size):
        draws = low + (self.given + np.arange(size)) % (high - low)
        self.given += size
        return draws


@pytest.mark.parametrize('ends', ENDS)
@pytest.mark.parametrize('buffer', BUFFERS)
def test_exactly_the_valid_indices_are_reachable(buffer, ends, monkeypatch):
    monkeypatch.setattr(np.random, 'randint', EveryDraw())
    reached = 0
    for uniform, prioritized, naive, valid in states(buffer, ends, attempts=100_000):
        if ends == 'no end':
            # By age: all but the K (K - 1 before the buffer is full) oldest and the n newest.
            stack, horizon, capacity = BUFFERS[buffer].values()
            oldest = max(naive.added - capacity, 0)
            first = oldest + (stack if naive.added >= capacity else stack - 1)
            ages = range(first, naive.added - horizon)
            assert valid == {age % capacity for age in ages}
        if valid:
            # More than there are different numbers, and invalid ones are drawn again.
            assert set(uniform.sample_index_batch(3 * naive.capacity)) == valid
        # Every leaf has its share of the total; between two shares there is nothing.
        priorities = np.array(naive.tree.priorities)
        edges = np.concatenate([[0.0], np.cumsum(priorities)]) / max(priorities.sum(), 1e-9)
        places = [(edges[:-1] + edges[1:]) / 2, edges, np.nextafter(edges, 0)]
        places = np.clip(np.concatenate([*places, np.nextafter(edges, 1)]), 0, 1)
        wanted = {index for index in valid if priorities[index]}
        if not wanted:
            continue
        assert set(prioritized.sum_tree.query(places)) == set(np.flatnonzero(priorities))
        found = set()
        good = (edges[min(wanted)] + edges[min(wanted) + 1]) / 2
        for place in places:
            draws = iter([place])
            monkeypatch.setattr(random, 'random', lambda draws=draws, good=good: next(draws, good))
            found.update(prioritized.sample_index_batch(1))
        assert found == wanted
        reached += 1
    assert reached or ends in ('short episodes', 'cuts only')


@pytest.mark.parametrize('ends', ENDS)
@pytest.mark.parametrize('buffer', BUFFERS)
def test_no_invalid_index_when_attempts_run_out(buffer, ends):
    gave_up = 0
    for attempts in (1, 2, 5):
        for uniform, prioritized, naive, valid in states(buffer, ends, attempts):
            for memory in (uniform, prioritized):
                if memory is prioritized and not sum(naive.tree.priorities):
                    continue
                for batch_size in (1, 4):
                    try:
                        found = memory.sample_index_batch(batch_size)
                    except RuntimeError as error:
                        assert 'Max sample attempts' in str(error) or 'Cannot sample' in str(error)
                        gave_up += 1
                        continue
                    assert len(found) == batch_size and set(found) <= valid
    assert gave_up


# Frequencies.


def chi_square_quantile(freedom, z):
    """The quantile of a chi-square distribution, from the normal one's (Wilson and Hilferty)."""
    return freedom * (1 - 2 / (9 * freedom) + z * math.sqrt(2 / (9 * freedom))) ** 3


def assert_frequencies(counts, weights):
    """Compares counts with weights: not too far off, and not suspiciously close."""
    expected = counts.sum() * weights / weights.sum()
    assert not counts[weights == 0].any()
    drawn = expected > 0
    assert expected[drawn].min() > 5
    chi_square = ((counts - expected)[drawn] ** 2 / expected[drawn]).sum()
    low, high = (chi_square_quantile(drawn.sum() - 1, z) for z in (-3.09, 3.09))
    assert low < chi_square < high  # but for 0.2 % of all seeds


def test_frequencies_of_a_tree():
    priorities = np.random.default_rng(0).gamma(0.5, size=100) + 0.02
    priorities[::7] = 0.0
    tree = sum_tree.SumTree(100)
    tree.set(np.arange(100), priorities)
    random.seed(0)
    draws = np.concatenate([[tree.sample() for _ in range(50)] for _ in range(1000)])
    assert_frequencies(np.bincount(draws, minlength=100), priorities)


@pytest.mark.parametrize('prioritized', [False, True])
def test_frequencies_of_a_buffer_with_invalid_places(prioritized):
    rng = np.random.default_rng(1)
    cls = prb.OutOfGraphPrioritizedReplayBuffer if prioritized else crb.OutOfGraphReplayBuffer
    memory = cls((1,), 2, 60, 4, 3)
    for i in range(100):
        extra = (0.2 + rng.random(),) if prioritized else ()
        memory.add(np.zeros(1), 0, 0.0, i % 9 == 4, *extra, episode_end=i % 20 == 11)
    weights = np.array([float(memory.is_valid_transition(index)) for index in range(60)])
    assert 20 < weights.sum() < 50
    if prioritized:
        # What would have been an invalid index is drawn again, so the others' shares stay as p.
        weights *= memory.get_priority(np.arange(60, dtype=np.int32))
        # A batch of one has a single stratum: its draws are independent.
        draws = [memory.sample_index_batch(1)[0] for _ in range(10_000)]
    else:
        draws = [index for _ in range(200) for index in memory.sample_index_batch(100)]
    assert_frequencies(np.bincount(draws, minlength=60), weights)
