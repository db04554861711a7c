"""Hands measurements to every collector that is configured."""

from collections.abc import Callable, Container, Sequence

import gin
from absl import logging

from dopamine_lite.metrics import (
    collector,
    console_collector,
    pickle_collector,
    statistics_instance,
    tensorboard_collector,
    wandb_collector,
)

# Name in `CollectorDispatcher.collectors` -> what builds the collector, called with `base_dir`.
AVAILABLE_COLLECTORS: dict[str, Callable[[str | None], collector.Collector]] = {
    'console': console_collector.ConsoleCollector,
    'pickle': pickle_collector.PickleCollector,
    'tensorboard': tensorboard_collector.TensorboardCollector,
    'wandb': wandb_collector.WandbCollector,
}


def add_collector(name: str, constructor: Callable[[str | None], collector.Collector]) -> None:
    """Makes a collector available under a name, in place of an earlier one of that name.

    Args:
      name: what gin files call it in `CollectorDispatcher.collectors`.
      constructor: called with the folder of the run, or None; returns the collector.
    """
    AVAILABLE_COLLECTORS[name] = constructor


@gin.configurable
class CollectorDispatcher:
    """Several collectors that are written to as one."""

    def __init__(
        self,
        base_dir: str | None,
        collectors: Sequence[str] = ('console', 'pickle', 'tensorboard'),
    ):
        """Builds the collectors.

        Args:
          base_dir: the folder of the run; None for collectors without files.
          collectors: names of `AVAILABLE_COLLECTORS`. Others are left out, with a warning.
        """
        self._collectors: list[collector.Collector] = []
        for name in collectors:
            if name in AVAILABLE_COLLECTORS:
                self._collectors.append(AVAILABLE_COLLECTORS[name](base_dir))
            else:
                logging.warning(
                    'There is no collector %r; available are %s', name, sorted(AVAILABLE_COLLECTORS)
                )

    def add(self, another: collector.Collector) -> None:
        """Adds a collector to those that are written to."""
        self._collectors.append(another)

    def write(
        self,
        statistics: Sequence[statistics_instance.StatisticsInstance],
        collector_allowlist: Container[str] = (),
    ) -> None:
        """Writes measurements to the collectors.

        Args:
          statistics: the measurements.
          collector_allowlist: if not empty, only collectors whose `get_name()` is in it.
        """
        for c in self._collectors:
            if not collector_allowlist or c.get_name() in collector_allowlist:
                c.write(statistics)

    def flush(self) -> None:
        """Flushes every collector."""
        for c in self._collectors:
            c.flush()

    def close(self) -> None:
        """Closes every collector."""
        for c in self._collectors:
            c.close()
