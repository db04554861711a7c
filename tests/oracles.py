"""Slow, obvious twins of the replay memory, in Python loops."""

import random

import numpy as np


class NaiveSumTree:
    """The contract of `SumTree`, with a list of priorities and no sums but of all of them."""

    def __init__(self, capacity):
        self.priorities = [0.0] * capacity
        self.max_recorded_priority = 1.0

    def set(self, index, value):
        self.priorities[index] = float(value)
        self.max_recorded_priority = max(self.max_recorded_priority, float(value))

    def find(self, place):
        """Walks along the priorities until they cover `place` of their total."""
        mass = place * sum(self.priorities)
        found = None
        for index, priority in enumerate(self.priorities):
            if priority > 0:
                found = index
                if mass < priority:
                    break
                mass -= priority
        return found


class NaiveReplay:
    """The contract of the out-of-graph buffers: a list of places, each a dict or None."""

    def __init__(self, capacity, stack_size, horizon, gamma):
        self.capacity, self.stack_size, self.horizon = capacity, stack_size, horizon
        self.gamma = gamma
        self.places = [None] * capacity
        self.tree = NaiveSumTree(capacity)
        self.added = 0
        self.starts = True
        self.loaded = False

    def load(self):
        """Becomes what another buffer is after it has loaded this one's checkpoint."""
        self.starts, self.loaded = True, self.added > 0

    def add(self, observation, action, reward, terminal, priority, episode_end):
        if self.starts:
            if self.loaded:  # the episode under way at the checkpoint does not go on
                self._at(self.added - 1)['end'] = True
                self.loaded = False
            for _ in range(self.stack_size - 1):
                self._put(np.zeros_like(observation), 0, 0.0, 0, 0.0, False)
        self.starts = bool(terminal or episode_end)
        self._put(observation, action, reward, terminal, priority, self.starts)

    def _put(self, observation, action, reward, terminal, priority, end):
        place = self.added % self.capacity
        self.places[place] = {
            'frame': observation,
            'action': action,
            'reward': reward,
            'terminal': int(terminal != 0),
            'end': end,
            'age': self.added,
        }
        self.tree.set(place, priority)
        self.added += 1

    def ends(self):
        return {i for i, place in enumerate(self.places) if place and place['end']}

    def valid(self, index):
        """Looks at the transition by age: all of its stack and of its steps must be stored."""
        if not 0 <= index < self.capacity or self.places[index] is None:
            return False
        age = self.places[index]['age']
        oldest = max(0, self.added - self.capacity)
        if age - (self.stack_size - 1) < oldest or age + self.horizon >= self.added:
            return False
        if self.added >= self.capacity and age - oldest < self.stack_size:
            return False  # one more than needed: the invalid range is K long from the cursor on
        older = [self._at(age - back) for back in range(1, self.stack_size)]
        steps = [self._at(age + step) for step in range(self.horizon)]
        return not any(place['end'] for place in older) and not any(
            place['end'] and not place['terminal'] for place in steps
        )

    def _at(self, age):
        return self.places[age % self.capacity]

    def transition(self, index):
        age = self.places[index]['age']
        total, length, terminal = 0.0, 0, 0
        for step in range(self.horizon):
            place = self._at(age + step)
            total += self.gamma**step * place['reward']
            length += 1
            if place['terminal']:
                terminal = 1
                break
        after = self._at(age + length)
        return {
            'state': self._stack(age),
            'action': self.places[index]['action'],
            'reward': total,
            'next_state': self._stack(age + length),
            'next_action': after['action'],
            'next_reward': after['reward'],
            'terminal': terminal,
            'indices': index,
            'sampling_probabilities': self.tree.priorities[index],
        }

    def sample_uniform(self, batch_size):
        """Draws one by one, as the contract says."""
        cursor = self.added % self.capacity
        low, high = self.stack_size - 1, cursor - self.horizon
        if self.added >= self.capacity:
            low += cursor - self.capacity
        found = []
        while len(found) < batch_size:
            index = np.random.randint(low, high) % self.capacity
            if self.valid(index):
                found.append(index)
        return found

    def sample_prioritized(self, batch_size):
        bounds = np.linspace(0.0, 1.0, batch_size + 1)
        found = []
        for low, high in zip(bounds[:-1], bounds[1:], strict=True):
            found.append(self.tree.find(random.uniform(low, high)))
        for position in range(batch_size):
            while not self.valid(found[position]):
                found[position] = self.tree.find(random.random())
        return found

    def _stack(self, age):
        frames = [self._at(age - back)['frame'] for back in reversed(range(self.stack_size))]
        return np.stack(frames, axis=-1)


# Twins of the kernels, by their names.


def tree_set_one(heap, index, value):
    tree_set(heap, len(heap), np.inf, np.array([index]), np.array([value]))


def tree_set(heap, capacity, limit, indices, values):
    leaves = len(heap) // 2
    for position, (index, value) in enumerate(zip(indices, values, strict=True)):
        if index < 0 or index >= capacity or value < 0 or value > limit or np.isnan(value):
            return position
    for index, value in zip(indices, values, strict=True):
        heap[leaves + index] = value
        tree_rebuild(heap)
    return -1


def tree_get(heap, capacity, indices, values):
    for b, index in enumerate(indices):
        if index not in range(capacity):
            return b
        values[b] = heap[len(heap) // 2 + index]
    return -1


def tree_rebuild(heap):
    for node in reversed(range(1, len(heap) // 2)):
        heap[node] = heap[2 * node] + heap[2 * node + 1]


def tree_find(heap, masses, found):
    leaves = len(heap) // 2
    for position, mass in enumerate(masses):
        node = 1
        while node < leaves:
            left, right = heap[2 * node], heap[2 * node + 1]
            if right == 0 or mass < left:
                node = 2 * node
            else:
                node, mass = 2 * node + 1, mass - left
        found[position] = node - leaves


def valid_transitions(indices, terminals, ends, excluded, first, last, stack_size, horizon, valid):
    capacity = len(ends)
    for position, index in enumerate(indices):
        older = [(index - back) % capacity for back in range(1, stack_size)]
        steps = [(index + step) % capacity for step in range(horizon)]
        valid[position] = (
            first <= index < last
            and index not in list(excluded)
            and not any(ends[i] or terminals[i] for i in older)
            and not any(ends[i] and not terminals[i] for i in steps)
        )


def trajectory_ends(indices, terminals, capacity, horizon, next_indices, terminated):
    for position, index in enumerate(indices):
        steps = [bool(terminals[(index + step) % capacity]) for step in range(horizon)]
        terminated[position] = any(steps)
        length = steps.index(True) + 1 if any(steps) else horizon
        next_indices[position] = (index + length) % capacity


def discounted_sums(indices, next_indices, rewards, discounts, capacity, returns):
    for position, (index, next_index) in enumerate(zip(indices, next_indices, strict=True)):
        total, step = np.zeros_like(returns[position]), 0
        while (index + step) % capacity != next_index:
            total += discounts[step] * rewards[(index + step) % capacity]
            step += 1
        returns[position] = total


def gather_stacks(frames, indices, capacity, states):
    stack_size = states.shape[2]
    for position, index in enumerate(indices):
        for k in range(stack_size):
            states[position, :, k] = frames[(index - stack_size + 1 + k) % capacity]
