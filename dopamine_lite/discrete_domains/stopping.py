"""Ctrl-C and SIGTERM end a program between two steps, where nothing is half done.

Within `between_steps` the first signal is only noted, and `check` raises what it asks for; a second
one raises at once. Elsewhere within `handled` the first one does.
"""

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Terminated(SystemExit):
    """SIGTERM asked the program to end."""

    def __init__(self):
        super().__init__(128 + signal.SIGTERM)


_received: int | None = None
_deferred = False


def received() -> int | None:
    """The signal that asked to stop, None if none did since the outermost `handled` began."""
    return _received


def check() -> None:
    """Raises KeyboardInterrupt or Terminated if a signal has asked to stop."""
    if _received is not None:
        raise _exception(_received)


def _exception(signum: int) -> BaseException:
    return KeyboardInterrupt() if signum == signal.SIGINT else Terminated()


def _handle(signum: int, frame: FrameType | None) -> None:
    global _received
    again, _received = _received is not None, signum
    if again or not _deferred:
        raise _exception(signum)


@contextlib.contextmanager
def handled() -> Iterator[None]:
    """Takes care of the signals that the program left as they were, and gives them back.

    One that is ignored (as by nohup), or that the program handles in its own way, stays so. Off the
    main thread, which gets the signals, nothing is done.
    """
    global _received
    earlier = {}
    if threading.current_thread() is threading.main_thread():
        for signum in _SIGNALS:
            if signal.getsignal(signum) in (signal.SIG_DFL, signal.default_int_handler):
                earlier[signum] = signal.signal(signum, _handle)
    if earlier:
        _received = None
    try:
        yield
    finally:
        for signum, handler in earlier.items():
            signal.signal(signum, handler)
        if earlier:
            _received = None


@contextlib.contextmanager
def between_steps() -> Iterator[None]:
    """Lets the first signal wait for `check`."""
    global _deferred
    with handled():
        before, _deferred = _deferred, True
        try:
            yield
        finally:
            _deferred = before
