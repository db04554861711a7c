"""The log of a run: one pickled dictionary that grows by an entry an iteration."""

import contextlib
import os
import pickle
import re
from typing import Any

import gin
from absl import logging

from dopamine_lite import bounds, files


@gin.configurable
class Logger:
    """Collects statistics under keys and writes all of them to numbered files.

    Attributes:
      data: everything collected so far, by key.
    """

    def __init__(self, logging_dir: str | os.PathLike | None, logs_duration: int = 4):
        """Creates the folder if it does not exist.

        Args:
          logging_dir: the folder for the log files. Without one, or where it cannot be made,
            logging is disabled: nothing is collected, and `log_to_file` only warns.
          logs_duration: how many of the newest files are kept.

        Raises:
          ValueError: `logs_duration` is no whole number, or below 1.
        """
        bounds.require_whole(1, logs_duration=logs_duration)
        self.data: dict[str, Any] = {}
        self._logs_duration = logs_duration
        self._logging_dir = ''
        self._logging_enabled = False
        if not logging_dir:
            logging.warning('No folder for the logs was given: logging is disabled')
            return
        self._logging_dir = os.fspath(logging_dir)
        try:
            os.makedirs(self._logging_dir, exist_ok=True)
        except OSError as error:
            logging.warning(
                'The folder for the logs could not be made (%s): logging is disabled', error
            )
            return
        self._logging_enabled = True

    def __setitem__(self, key: str, value: Any) -> None:
        """Collects `value` under `key`, unless logging is disabled."""
        if self._logging_enabled:
            self.data[key] = value

    def _generate_filename(self, filename_prefix: str, iteration_number: int) -> str:
        return os.path.join(self._logging_dir, f'{filename_prefix}_{iteration_number}')

    def log_to_file(self, filename_prefix: str, iteration_number: int) -> None:
        """Writes everything collected to `{prefix}_{number}` and deletes the file too old to keep.

        Args:
          filename_prefix: first part of the file's name.
          iteration_number: second part of the file's name.
        """
        if not self._logging_enabled:
            logging.warning('Logging is disabled: nothing was written')
            return
        with files.atomic_write(self._generate_filename(filename_prefix, iteration_number)) as file:
            file.write(pickle.dumps(self.data, protocol=pickle.HIGHEST_PROTOCOL))
        stale = iteration_number - self._logs_duration
        if stale >= 0:
            try:
                os.remove(self._generate_filename(filename_prefix, stale))
            except FileNotFoundError:
                pass

    def discard_after(self, filename_prefix: str, iteration_number: int) -> None:
        """Deletes the files with higher numbers, which a run that went back has left behind it."""
        if not self._logging_enabled:
            return
        pattern = re.compile(re.escape(filename_prefix) + r'_(\d+)')
        for match in filter(None, map(pattern.fullmatch, os.listdir(self._logging_dir))):
            if int(match[1]) > iteration_number:
                with contextlib.suppress(FileNotFoundError):
                    os.remove(os.path.join(self._logging_dir, match[0]))

    def is_logging_enabled(self) -> bool:
        """Whether there is a folder to write to."""
        return self._logging_enabled
