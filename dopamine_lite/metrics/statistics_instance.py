"""One measurement."""

import dataclasses
from typing import Any


@dataclasses.dataclass
class StatisticsInstance:
    """A measurement on its way to the collectors.

    Attributes:
      name: what was measured, such as `Train/AverageReturns`.
      value: the measurement.
      step: when it was measured; the runner gives the iteration.
      type: how collectors should read `value`. A 'scalar' is written by all; a 'summary', a number
        that the agent measured at an agent step of training, only by those that know the type.
    """

    name: str
    value: Any
    step: int
    type: str = 'scalar'
