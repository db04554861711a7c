"""A replay buffer that remembers nothing, for tests of agents."""

from unittest import mock


class MockReplayBuffer:
    """Stands in for a wrapped replay buffer: it counts and records calls, and stores nothing.

    Attributes:
        add: a mock that takes the place of the buffer's `add`.
        memory: a mock of the buffer behind it, empty (`add_count` is 0); programs set what they
            need on it.
    """

    def __init__(self, is_jax: bool = False):
        """Makes the mocks. With `is_jax` the buffer itself has the count, as JAX replays do."""
        self.add = mock.Mock()
        self.memory = mock.Mock()
        self.memory.add_count = 0
        if is_jax:
            self.add_count = 0
