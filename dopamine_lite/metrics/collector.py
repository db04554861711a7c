"""The interface of the places that measurements are written to."""

import abc
import os
from collections.abc import Sequence

from absl import logging

from dopamine_lite.metrics import statistics_instance


class Collector(abc.ABC):
    """Writes measurements to one kind of place, in a folder of its own.

    Subclasses define `get_name`, which also names the folder, and `write`.
    """

    def __init__(self, base_dir: str | None, extra_supported_types: Sequence[str] = ()):
        """Creates the collector's folder, `{base_dir}/metrics/{get_name()}`.

        Args:
          base_dir: the folder of the run, or None for a collector without files. A folder that
            cannot be made is passed over: writing to it will fail, not this.
          extra_supported_types: types of measurement that are written, beside 'scalar'.
        """
        self._supported_types = ('scalar', *extra_supported_types)
        self._base_dir = None
        if base_dir is None:
            return
        self._base_dir = os.path.join(base_dir, 'metrics', self.get_name())
        try:
            os.makedirs(self._base_dir, exist_ok=True)
        except OSError as error:
            logging.warning('The folder for metrics could not be made: %s', error)

    @abc.abstractmethod
    def get_name(self) -> str:
        """Returns the name by which allow-lists and the folder know this collector."""

    def check_type(self, data_type: str) -> bool:
        """Whether measurements of this type are written."""
        return data_type in self._supported_types

    @abc.abstractmethod
    def write(self, statistics: Sequence[statistics_instance.StatisticsInstance]) -> None:
        """Writes measurements; those of a type that is not supported are passed over."""

    def flush(self) -> None:  # noqa: B027  (optional, not forgotten)
        """Puts on disk what has been written so far."""

    def close(self) -> None:  # noqa: B027  (optional, not forgotten)
        """Releases files and other resources."""
