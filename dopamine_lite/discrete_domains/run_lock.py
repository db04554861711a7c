"""One process at a time trains in a folder.

The lock is the kernel's, on the folder itself: no file is left behind, and a process that is killed
holds nothing. It is advisory, and only training asks for it.
"""

import contextlib
import errno
import os
from collections.abc import Iterator

from absl import logging

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None

# Folder -> [descriptor, how often it is held]: a process may have many runners in one folder.
_held: dict[tuple[int, int], list[int]] = {}


@contextlib.contextmanager
def lock(folder: str) -> Iterator[None]:
    """Holds the lock of a folder, which has to exist.

    Raises:
      RuntimeError: another process holds it, or has put another folder in its place.
      OSError: there is no such folder.
    """
    descriptor = os.open(folder, os.O_RDONLY)
    status = os.fstat(descriptor)
    key = (status.st_dev, status.st_ino)
    if key in _held:
        os.close(descriptor)
        _held[key][1] += 1
    else:
        try:
            _acquire(descriptor, folder)
        except BaseException:
            os.close(descriptor)
            raise
        if not _is_at(folder, key):
            os.close(descriptor)
            raise RuntimeError(f'another process has just removed {folder}: start again')
        _held[key] = [descriptor, 1]
    try:
        yield
    finally:
        if key in _held:  # not in a child, which `_forget` left without
            _held[key][1] -= 1
            if not _held[key][1]:
                os.close(_held.pop(key)[0])


def _is_at(folder: str, key: tuple[int, int]) -> bool:
    """Whether the folder is still the one that was opened."""
    try:
        status = os.stat(folder)
    except FileNotFoundError:
        return False
    return (status.st_dev, status.st_ino) == key


def _acquire(descriptor: int, folder: str) -> None:
    if fcntl is None:
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            raise RuntimeError(f'another process is training in {folder}') from None
        logging.warning('%s cannot be locked (%s): do not train there twice', folder, error)


def _forget() -> None:
    """Closes the copies that a forked child gets, which would keep the lock alive."""
    while _held:
        os.close(_held.popitem()[1][0])


if hasattr(os, 'register_at_fork'):
    os.register_at_fork(after_in_child=_forget)
