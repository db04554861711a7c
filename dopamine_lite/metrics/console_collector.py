"""Measurements as lines of text."""

import os
import weakref
from collections.abc import Sequence

import gin
from absl import logging

from dopamine_lite import files
from dopamine_lite.metrics import collector, statistics_instance


@gin.configurable
class ConsoleCollector(collector.Collector):
    """Writes measurements to the log of the program, and to the file `console.log`."""

    def __init__(self, base_dir: str | None, save_to_file: bool = True):
        """Opens the file, to which a resumed run appends.

        Args:
          base_dir: the folder of the run; None means no file.
          save_to_file: whether there is a file.
        """
        super().__init__(base_dir)
        self._log_file = None
        self._log_file_writer = None
        if save_to_file and self._base_dir is not None:
            self._log_file = os.path.join(self._base_dir, 'console.log')
            # Line buffered, so that readers see whole lines at once.
            self._log_file_writer = open(
                self._log_file, 'a', buffering=1, encoding='utf-8', opener=files.refuse_link
            )
            # For the collectors of a run that never started.
            weakref.finalize(self, self._log_file_writer.close)

    def get_name(self) -> str:
        return 'console'

    def write(self, statistics: Sequence[statistics_instance.StatisticsInstance]) -> None:
        text = ''.join(
            f'[Iteration {s.step}]: {s.name} = {s.value}\n'
            for s in statistics
            if self.check_type(s.type)
        )
        if not text:
            return
        logging.info(text)
        if self._log_file_writer is not None:
            self._log_file_writer.write(text)

    def close(self) -> None:
        if self._log_file_writer is not None:
            self._log_file_writer.close()
