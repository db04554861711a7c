"""Files that are either complete or absent, and gzip that keeps up with the disk."""

import contextlib
import errno
import os
import re
import tempfile
import uuid
from collections.abc import Iterator
from typing import BinaryIO

import numpy as np
from isal import igzip

# ISA-L's fastest level with real compression: frames of games come out about as small as at the
# higher ones, at several times the speed.
_COMPRESSION_LEVEL = 1
_CHUNK_BYTES = 1 << 20


@contextlib.contextmanager
def atomic_write(path: str | os.PathLike) -> Iterator[BinaryIO]:
    """Opens a file for writing that appears under `path` only once it is complete and on disk.

    The content is written to a hidden file in the same folder (a rename is atomic only within a
    file system), flushed to the disk, and renamed over `path`. When the body raises, or the disk
    is full, the hidden file is removed and whatever was at `path` before stays.

    Args:
      path: the final name. Its folder must exist.

    Yields:
      A binary file object, open for writing.
    """
    path = os.fspath(path)
    folder, name = os.path.split(path)
    aside = os.path.join(folder, f'.{name}.{uuid.uuid4().hex}.tmp')
    file = open(aside, 'xb')
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.remove(aside)
        raise
    _sync_folder(folder or '.')


def refuse_link(path: str, flags: int) -> int:
    """The `opener` of `open` for a file in a run folder that is appended to.

    A link there would lead the writing to whatever the folder's maker pointed it at.

    Raises:
      OSError: the file is a symbolic link.
    """
    if os.path.islink(path):
        raise OSError(errno.ELOOP, 'a symbolic link, which is not written through', path)
    return os.open(path, flags, 0o666)


@contextlib.contextmanager
def without_wildcards(prefix: str) -> Iterator[str]:
    """Yields a path of the same files whose folder TensorFlow takes as it is written.

    It restores from a pattern, in which brackets and a backslash of a folder's name stand for others.

    Args:
      prefix: what the names of a checkpoint's files begin with.
    """
    folder, name = os.path.split(prefix)
    if os.name != 'posix' or '://' in prefix or not re.search(r'[][*?\\]', folder):
        yield prefix
        return
    with tempfile.TemporaryDirectory() as temporary:
        link = os.path.join(temporary, 'checkpoints')
        os.symlink(os.path.abspath(folder), link)
        yield os.path.join(link, name)


def _sync_folder(folder: str) -> None:
    """Puts a rename itself on disk, where the system lets a folder be opened."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def open_gzip_write(fileobj: BinaryIO) -> igzip.IGzipFile:
    """Returns a gzip stream that writes into `fileobj`, which stays open when it is closed.

    Neither a name nor a time enters the header: equal contents give equal files.
    """
    return igzip.IGzipFile(
        filename='', mode='wb', compresslevel=_COMPRESSION_LEVEL, fileobj=fileobj, mtime=0
    )


def open_gzip_read(path: str | os.PathLike) -> igzip.IGzipFile:
    """Returns a stream of what the gzip file at `path` holds."""
    return igzip.IGzipFile(filename=os.fspath(path), mode='rb')


def write_array(file: BinaryIO, array: np.ndarray) -> None:
    """Writes what `numpy.save(file, array, allow_pickle=False)` writes, without copying the array.

    Args:
      file: a stream open for writing.
      array: any array without Python objects in it.

    Raises:
      ValueError: the array holds Python objects.
    """
    if array.dtype.hasobject or not array.flags.c_contiguous:
        np.save(file, array, allow_pickle=False)
        return
    header = np.lib.format.header_data_from_array_1_0(array)
    np.lib.format.write_array_header_1_0(file, header)
    content = array.reshape(-1).view(np.uint8)
    for start in range(0, content.size, _CHUNK_BYTES):
        file.write(content[start : start + _CHUNK_BYTES].data)


def read_array_header(file: BinaryIO) -> tuple[tuple[int, ...], np.dtype]:
    """Reads the shape and dtype of an array that `write_array` or `numpy.save` wrote.

    Raises:
      ValueError: it is no array, or one that holds Python objects.
    """
    shape, _, dtype = _read_header(file)
    return shape, dtype


def _read_header(file: BinaryIO) -> tuple[tuple[int, ...], bool, np.dtype]:
    version = np.lib.format.read_magic(file)
    if version == (1, 0):
        shape, fortran_order, dtype = np.lib.format.read_array_header_1_0(file)
    elif version == (2, 0):
        shape, fortran_order, dtype = np.lib.format.read_array_header_2_0(file)
    else:
        raise ValueError(f'expected an array file of version (1, 0) or (2, 0), got {version}')
    if dtype.hasobject:
        raise ValueError(f'expected an array without Python objects, got dtype {dtype}')
    return shape, fortran_order, dtype


def read_array(file: BinaryIO) -> np.ndarray:
    """Reads an array that `write_array` or `numpy.save` wrote, straight into its memory.

    Args:
      file: a stream whose next byte is the first of the array's header.

    Raises:
      ValueError: it is no array, one that holds Python objects, or one that is cut short.
    """
    shape, fortran_order, dtype = _read_header(file)
    array = np.empty(shape[::-1] if fortran_order else shape, dtype)
    content = array.reshape(-1).view(np.uint8)
    start = 0
    while start < content.size:
        count = file.readinto(content[start : start + _CHUNK_BYTES].data)
        if not count:
            raise ValueError(f'expected {content.size} bytes of an array, got only {start}')
        start += count
    return array.T if fortran_order else array
