"""What was measured in one iteration."""

from collections.abc import Mapping
from typing import Any


class IterationStatistics:
    """Lists of measurements by name.

    Attributes:
      data_lists: name -> every value appended under that name, in order.
    """

    def __init__(self):
        self.data_lists: dict[str, list[Any]] = {}

    def append(self, data_pairs: Mapping[str, Any]) -> None:
        """Appends each value to the list of its name, which starts when the name is first seen."""
        for name, value in data_pairs.items():
            self.data_lists.setdefault(name, []).append(value)
