"""Measurements as pickled dictionaries."""

import collections
import functools
import os
import pickle
from collections.abc import Sequence

from dopamine_lite import files
from dopamine_lite.metrics import collector, statistics_instance


class PickleCollector(collector.Collector):
    """Writes all measurements so far to `pickle_{k}.pkl` at every `flush`.

    The k start at 0, or after the last file that is there: a resumed run overwrites none of them.
    The content is a dictionary `iteration_{step}` -> name -> list of values.
    """

    def __init__(self, base_dir: str):
        """Creates the folder.

        Raises:
          ValueError: `base_dir` is None.
        """
        if base_dir is None:
            raise ValueError('PickleCollector needs a base_dir to write to, got None')
        super().__init__(base_dir)
        self._statistics = collections.defaultdict(functools.partial(collections.defaultdict, list))
        self._file_number = 0
        while os.path.exists(self._filename()):
            self._file_number += 1

    def _filename(self) -> str:
        return os.path.join(self._base_dir, f'pickle_{self._file_number}.pkl')

    def get_name(self) -> str:
        return 'pickle'

    def write(self, statistics: Sequence[statistics_instance.StatisticsInstance]) -> None:
        for s in statistics:
            if self.check_type(s.type):
                self._statistics[f'iteration_{s.step}'][s.name].append(s.value)

    def flush(self) -> None:
        with files.atomic_write(self._filename()) as file:
            pickle.dump(self._statistics, file, protocol=pickle.HIGHEST_PROTOCOL)
        self._file_number += 1
