"""Checkpoints of the runner, and the sentinel files that say which of them are complete.

A checkpoint with number N is the file `ckpt.N`, written next to the files that the agent writes
under the same number. `manifest.N.json` has the sizes and checksums of all of them, and
`sentinel_checkpoint_complete.N` is written last: a number without a sentinel was interrupted and is
never resumed from.
"""

import contextlib
import fnmatch
import glob
import hashlib
import json
import os
import pickle
import re
from typing import Any

import gin
from absl import logging

from dopamine_lite import bounds, files
from dopamine_lite.compat import pickles

# How `files.atomic_write` and TensorFlow's saver call a file while they write it.
_UNFINISHED = re.compile(r'\..+\.[0-9a-f]{32}\.tmp|.+\.tempstate\d+')


def _sentinel_prefix(identifier: str) -> str:
    return f'sentinel_{identifier}_complete'


def complete_checkpoints(
    base_directory: str | os.PathLike, sentinel_file_identifier: str = 'checkpoint'
) -> list[int]:
    """Returns the numbers of the checkpoints in a folder that have a sentinel, in ascending order.

    A folder that does not exist holds none.
    """
    pattern = re.compile(re.escape(_sentinel_prefix(sentinel_file_identifier)) + r'\.(\d+)')
    try:
        names = os.listdir(base_directory)
    except (FileNotFoundError, NotADirectoryError):
        return []
    return sorted(int(match[1]) for match in map(pattern.fullmatch, names) if match)


def manifest_name(number: int) -> str:
    """Returns the name of the file with the sizes and checksums of a checkpoint's files."""
    return f'manifest.{number}.json'


def files_of(base_directory: str | os.PathLike, number: int) -> list[str]:
    """Returns the names of a checkpoint's files, whoever wrote them, but for sentinel and manifest.

    They are those with the number between dots or dashes, or at the end: `ckpt.7`,
    `tf_ckpt-7.index`, `add_count_ckpt.7.gz`. Hidden files, which are not finished, are none.
    """
    pattern = re.compile(rf'[^.].*[.-]{number}(\..+)?')
    with os.scandir(base_directory) as entries:
        return sorted(
            entry.name
            for entry in entries
            if pattern.fullmatch(entry.name)
            and not entry.name.startswith('sentinel_')
            and entry.name != manifest_name(number)
            and entry.is_file()
        )


def _checksum(path: str) -> tuple[int, str]:
    """Returns size and SHA-256 of a file, after its content has reached the disk."""
    with open(path, 'rb') as file:
        os.fsync(file.fileno())
        checksum = hashlib.sha256()
        while content := file.read(1 << 20):
            checksum.update(content)
        return file.tell(), checksum.hexdigest()


def damage(
    base_directory: str | os.PathLike, number: int, expected: str | None = None, pattern: str = '*'
) -> str | None:
    """Compares the files of a checkpoint with its manifest.

    Args:
      base_directory: the folder.
      number: of the checkpoint.
      expected: the name of a file that has to be among them, if there is one.
      pattern: only files whose names match it are looked at, such as 'tf_ckpt-*'.

    Returns:
      What is wrong, such as 'sum_tree_ckpt.7.gz: checksum mismatch'; None if nothing is, or if
      there is no manifest, as in Dopamine's folders.
    """
    name = manifest_name(number)
    try:
        with open(os.path.join(base_directory, name), encoding='utf-8') as file:
            entries = json.load(file)['files']
        entries = {
            file: (int(entry['size']), str(entry['sha256'])) for file, entry in entries.items()
        }
    except FileNotFoundError:
        return None
    except (AttributeError, KeyError, OverflowError, RecursionError, TypeError, ValueError):
        return f'{name}: not a manifest'
    if expected is not None and expected not in entries:
        return f'{name}: {expected} is not in it'
    for file in sorted(fnmatch.filter(entries, pattern)):
        size, checksum = entries[file]
        path = os.path.join(base_directory, file)
        if os.path.basename(file) != file or not os.path.isfile(path):
            return f'{file}: missing'
        if os.path.getsize(path) != size:
            return f'{file}: expected {size} bytes, got {os.path.getsize(path)}'
        if _checksum(path)[1] != checksum:
            return f'{file}: checksum mismatch'
    return None


@gin.configurable
def get_latest_checkpoint_number(
    base_directory: str | os.PathLike,
    override_number: int | None = None,
    sentinel_file_identifier: str = 'checkpoint',
) -> int:
    """Returns the number of the newest complete checkpoint in a folder, or -1.

    Args:
      base_directory: the folder with the checkpoints.
      override_number: the number to return instead of looking, to go back to an older checkpoint.
      sentinel_file_identifier: the word in the name of the sentinel files.

    Raises:
      ValueError: `override_number` is no whole number, or below 0.
    """
    if override_number is not None:
        bounds.require_whole(0, override_number=override_number)
        return override_number
    return max(complete_checkpoints(base_directory, sentinel_file_identifier), default=-1)


@gin.configurable
class Checkpointer:
    """Writes and reads numbered checkpoints of picklable data in one folder."""

    def __init__(
        self,
        base_directory: str | os.PathLike,
        checkpoint_file_prefix: str = 'ckpt',
        sentinel_file_identifier: str = 'checkpoint',
        checkpoint_frequency: int = 1,
        checkpoint_duration: int = 4,
        keep_every: int | None = None,
    ):
        """Creates the folder if it does not exist.

        Args:
          base_directory: the folder for the checkpoints.
          checkpoint_file_prefix: first part of the names of the data files.
          sentinel_file_identifier: the word in the names of the sentinel files.
          checkpoint_frequency: only numbers divisible by it are saved.
          checkpoint_duration: how many of the newest checkpoints are kept.
          keep_every: every how many checkpoints one is kept for good; None keeps none.

        Raises:
          ValueError: no folder is given, it cannot be made, or a count is below 1.
        """
        if not base_directory:
            raise ValueError('No path provided to Checkpointer.')
        bounds.require_whole(
            1,
            checkpoint_frequency=checkpoint_frequency,
            checkpoint_duration=checkpoint_duration,
            keep_every=1 if keep_every is None else keep_every,
        )
        self._checkpoint_file_prefix = checkpoint_file_prefix
        self._sentinel_file_prefix = _sentinel_prefix(sentinel_file_identifier)
        self._checkpoint_frequency = checkpoint_frequency
        self._checkpoint_duration = checkpoint_duration
        self._keep_every = keep_every
        self._base_directory = os.fspath(base_directory)
        try:
            os.makedirs(self._base_directory, exist_ok=True)
        except OSError as error:
            raise ValueError(
                f'Unable to create checkpoint path: {self._base_directory}.'
            ) from error

    def is_due(self, iteration_number: int) -> bool:
        """Whether `save_checkpoint` writes anything for this number."""
        return iteration_number % self._checkpoint_frequency == 0

    def save_checkpoint(self, iteration_number: int, data: Any) -> None:
        """Saves `data` under a number, then its manifest and sentinel; then deletes what is too old.

        Does nothing when the number is not divisible by `checkpoint_frequency`.

        Args:
          iteration_number: the number of the checkpoint.
          data: any picklable object. Classes beyond plain containers and NumPy arrays are read back
            only after `dopamine_lite.compat.allow(TheClass)`.
        """
        if not self.is_due(iteration_number):
            return
        self._save_data_to_file(
            data, self._generate_filename(self._checkpoint_file_prefix, iteration_number)
        )
        self._write_manifest(iteration_number)
        sentinel = self._generate_filename(self._sentinel_file_prefix, iteration_number)
        with files.atomic_write(sentinel) as file:
            file.write(b'done')
        self._clean_up_old_checkpoints(iteration_number)

    def begin(self, iteration_number: int) -> None:
        """Makes a number incomplete whose files are about to be written, or written anew.

        Deletes what a killed process left half written, whatever its number.
        """
        if not os.path.isdir(self._base_directory):
            return
        for name in (
            f'{self._sentinel_file_prefix}.{iteration_number}',
            manifest_name(iteration_number),
            *filter(_UNFINISHED.fullmatch, os.listdir(self._base_directory)),
        ):
            with contextlib.suppress(FileNotFoundError):
                os.remove(os.path.join(self._base_directory, name))

    def data_filename(self, iteration_number: int) -> str:
        """Returns the path of the file that holds the data of a checkpoint."""
        return self._generate_filename(self._checkpoint_file_prefix, iteration_number)

    def _write_manifest(self, iteration_number: int) -> None:
        entries = {}
        for name in files_of(self._base_directory, iteration_number):
            size, checksum = _checksum(os.path.join(self._base_directory, name))
            entries[name] = {'size': size, 'sha256': checksum}
        path = os.path.join(self._base_directory, manifest_name(iteration_number))
        with files.atomic_write(path) as file:
            file.write(json.dumps({'files': entries}, indent=1).encode())

    def damage(self, iteration_number: int) -> str | None:
        """Returns what is wrong with a checkpoint's files, None if its manifest finds nothing."""
        return damage(
            self._base_directory,
            iteration_number,
            f'{self._checkpoint_file_prefix}.{iteration_number}',
        )

    def load_checkpoint(self, iteration_number: int) -> Any:
        """Returns what was saved under a number, or None if there is no such file.

        Raises:
          pickle.UnpicklingError: the file is damaged, or holds a class that is not allowed.
        """
        return self._load_data_from_file(
            self._generate_filename(self._checkpoint_file_prefix, iteration_number)
        )

    def _generate_filename(self, file_prefix: str, iteration_number: int) -> str:
        return os.path.join(self._base_directory, f'{file_prefix}.{iteration_number}')

    def _save_data_to_file(self, data: Any, filename: str) -> None:
        with files.atomic_write(filename) as file:
            pickle.dump(data, file, protocol=4)

    def _load_data_from_file(self, filename: str) -> Any:
        try:
            file = open(filename, 'rb')
        except FileNotFoundError:
            return None
        with file:
            return pickles.load(file)

    def _clean_up_old_checkpoints(self, iteration_number: int) -> None:
        """Deletes the checkpoint that fell out of the newest `checkpoint_duration`, unless spared."""
        stale = iteration_number - self._checkpoint_duration * self._checkpoint_frequency
        if stale < 0:
            return
        if self._keep_every is not None:
            if stale % (self._keep_every * self._checkpoint_frequency) == 0:
                return
        # The sentinel goes first: data without a sentinel is waste, the reverse would be a lie.
        stale_files = [
            self._generate_filename(prefix, stale)
            for prefix in (self._sentinel_file_prefix, self._checkpoint_file_prefix)
        ]
        for name in (manifest_name(stale), f'resume_state.{stale}.json'):
            stale_files.append(os.path.join(self._base_directory, name))
        if self._checkpoint_frequency > 1:
            # Replay buffers count numbers, not checkpoints, when they delete what they wrote.
            stale_files += glob.glob(
                os.path.join(glob.escape(self._base_directory), f'*_ckpt.{stale}.gz')
            )
        for filename in stale_files:
            try:
                os.remove(filename)
            except FileNotFoundError:
                logging.info('%s was to be deleted, but is not there', filename)
