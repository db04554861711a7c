"""Running the same fetches of a session many times, with the preparation done once.

`Session.run` spends a few hundred microseconds a call on parsing its arguments, several times what a
small network needs. `Session.make_callable` avoids that only where nothing is fed, and the C API's
callables, which also take feeds, are reached through a private method. So the private method is used
where it is there and the session is an ordinary one, and `Session.run` everywhere else.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import config_pb2


def _is_plain(session: Any) -> bool:
    """Whether `session` runs graphs as `tf.compat.v1.Session` does, with nothing in between."""
    plain = tf.compat.v1.Session
    return (
        isinstance(session, plain)
        and type(session).run is plain.run
        and 'run' not in vars(session)
        and hasattr(session, '_make_callable_from_options')
    )


def _operations(fetches: Any) -> list[tf.Operation] | None:
    """The operations behind a structure of operations and tensors, None for any other content."""
    operations = []
    for fetch in tf.nest.flatten(fetches):
        if isinstance(fetch, tf.Tensor):
            fetch = fetch.op
        if not isinstance(fetch, tf.Operation):
            return None
        operations.append(fetch)
    return operations


class PreparedCall:
    """One kind of call of a session: to execute operations, or to evaluate a tensor from one feed.

    The call belongs to the objects it was made from. Whoever holds it asks `is_for` before each use
    and makes a new one when a program has put another object in the place of one of them.
    """

    def __init__(self, session: Any, fetches: Any, feed: Any = None):
        """Prepares the call.

        Args:
          session: the session to run in.
          fetches: with `feed`, the tensor to evaluate; without, any structure of operations and
            tensors to execute, whose values are not wanted.
          feed: the placeholder that each call gives a value to, or None.
        """
        self._session = session
        self._fetches = fetches
        self._feed = feed
        self._callable = self._dtype = self._shape = None
        if not _is_plain(session):
            return
        options = config_pb2.CallableOptions()
        if feed is None:
            operations = _operations(fetches)
            if operations is None:
                return
            options.target.extend(operation.name for operation in operations)
        else:
            if not isinstance(fetches, tf.Tensor) or not isinstance(feed, tf.Tensor):
                return
            if not feed.shape.is_fully_defined():
                return
            options.feed.append(feed.name)
            options.fetch.append(fetches.name)
            # In the calling thread: an action is a short chain of operations, for which handing each
            # to a pool takes 30 us of 90 on CartPole. A training step has more to do at a time, and
            # is a quarter faster in the pool.
            options.run_options.inter_op_thread_pool = -1
            self._dtype = np.dtype(feed.dtype.as_numpy_dtype)
            self._shape = tuple(feed.shape.as_list())
        self._callable = session._make_callable_from_options(options)

    def is_for(self, session: Any, fetches: Any, feed: Any = None) -> bool:
        """Whether the call was prepared from exactly these objects, and nothing patched them."""
        return (
            session is self._session
            and fetches is self._fetches
            and feed is self._feed
            and (self._callable is None or 'run' not in vars(session))
        )

    def execute(self) -> None:
        """Executes the operations."""
        if self._callable is None:
            self._session.run(self._fetches)
        else:
            self._callable()

    def evaluate(self, value: Any) -> Any:
        """Returns the fetched value for `value`, which is cast to the placeholder's dtype.

        Raises:
          ValueError: `value` does not have the placeholder's shape.
        """
        if self._callable is None:
            return self._session.run(self._fetches, {self._feed: value})
        array = np.asarray(value, dtype=self._dtype)
        if array.shape != self._shape:
            raise ValueError(f'{self._feed.name} takes shape {self._shape}, got {array.shape}')
        return self._callable(array)[0]
