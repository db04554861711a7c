"""Measurements as TensorBoard events."""

import contextlib
from collections.abc import Iterator, Sequence

import tensorflow as tf
from tensorflow.python.eager import context as eager_context

from dopamine_lite.metrics import collector, statistics_instance


@contextlib.contextmanager
def eager_mode() -> Iterator[None]:
    """Runs operations at once, also where agents have switched the process to graph mode.

    In graph mode `tf.summary.scalar` would only add an op to the graph, and write nothing.
    `tf.init_scope` is no help: it stays in the graph once eager execution is disabled.
    """
    with eager_context.eager_mode():
        yield


# What marks a tensor as a point of a curve: TensorBoard's own `scalar` writes exactly this.
_SCALAR_METADATA = tf.compat.v1.SummaryMetadata(
    plugin_data=tf.compat.v1.SummaryMetadata.PluginData(plugin_name='scalars'),
    data_class=1,  # DATA_CLASS_SCALAR
)


def write_scalar(name: str, value: float, step: int) -> None:
    """Writes a scalar to the default summary writer; to be called in `eager_mode`.

    `tf.summary.scalar` lives in the package tensorboard, which TensorFlow no longer installs; the
    events can be written without it.
    """
    try:
        tf.summary.scalar(name, value, step=step)
    except Exception as error:
        if not isinstance(error.__cause__, ImportError):
            raise
        tf.summary.write(name, tf.cast(value, tf.float32), step, metadata=_SCALAR_METADATA)


class TensorboardCollector(collector.Collector):
    """Writes scalar measurements as events, at once on `flush`.

    Attributes:
      summary_writer: the `tf.summary.SummaryWriter` that is written to.
    """

    def __init__(self, base_dir: str):
        """Creates the folder and the writer.

        Raises:
          ValueError: `base_dir` is None.
        """
        if base_dir is None:
            raise ValueError('TensorboardCollector needs a base_dir to write to, got None')
        super().__init__(base_dir)
        with eager_mode():
            self.summary_writer = tf.summary.create_file_writer(self._base_dir)

    def get_name(self) -> str:
        return 'tensorboard'

    def write(self, statistics: Sequence[statistics_instance.StatisticsInstance]) -> None:
        with eager_mode(), self.summary_writer.as_default():
            for s in statistics:
                if self.check_type(s.type):
                    write_scalar(s.name, s.value, s.step)

    def flush(self) -> None:
        with eager_mode():
            self.summary_writer.flush()

    def close(self) -> None:
        with eager_mode():
            self.summary_writer.close()
