"""Measurements as a run of Weights & Biases (https://wandb.ai).

Needs the extra `wandb` (`pip install 'dopamine_lite[wandb]'`), and is off unless a gin file names it:

    CollectorDispatcher.collectors = ('console', 'pickle', 'tensorboard', 'wandb')
    WandbCollector.project = 'my_project'

Who logs in, and whether anything is sent at all, is up to the package's own settings, such as the
environment variables `WANDB_API_KEY` and `WANDB_MODE`.
"""

import json
import os
import uuid
from collections.abc import Sequence
from typing import Any

import gin

from dopamine_lite import files
from dopamine_lite.metrics import collector, statistics_instance

# Type of measurement -> what its steps count: the name of the horizontal axis.
_AXES = {'scalar': 'iteration', 'summary': 'agent_steps'}


@gin.configurable
class WandbCollector(collector.Collector):
    """Sends measurements to Weights & Biases at every `flush`.

    A run that is resumed goes on with the same run there. What it measures a second time is not sent
    again: which steps were sent is kept in `{base_dir}/metrics/wandb/sent.json`.
    """

    def __init__(
        self,
        base_dir: str,
        project: str = 'dopamine_lite',
        entity: str | None = None,
        name: str | None = None,
    ):
        """Starts the run, or goes on with the one that was started in this folder.

        Args:
          base_dir: the folder of the run.
          project: the project that it belongs to.
          entity: the user or team; None means the one that is logged in.
          name: of the run; None means that of the folder.

        Raises:
          ValueError: `base_dir` is None.
          ImportError: the package wandb is missing.
        """
        if base_dir is None:
            raise ValueError('WandbCollector needs a base_dir to write to, got None')
        try:
            import wandb
        except ImportError as error:
            raise ImportError(
                "the collector 'wandb' needs the package wandb: "
                f"pip install 'dopamine_lite[wandb]' ({error})",
                name=error.name,
            ) from error
        super().__init__(base_dir, extra_supported_types=('summary',))
        self._path = os.path.join(self._base_dir, 'sent.json')
        self._state = self._read_state()
        # (type, step) -> name -> value.
        self._pending: dict[tuple[str, int], dict[str, Any]] = {}
        self._run = wandb.init(
            project=project,
            entity=entity,
            name=name or os.path.basename(os.path.abspath(base_dir)),
            id=self._state['id'],
            resume='allow',
            dir=self._base_dir,
            config={'gin': gin.config_str()},
        )
        for axis in _AXES.values():
            self._run.define_metric(axis, hidden=True)
        self._run.define_metric('*', step_metric=_AXES['scalar'])
        self._run.define_metric('Agent/*', step_metric=_AXES['summary'])

    def _read_state(self) -> dict[str, Any]:
        """Returns the run's id, and by name the last step that was sent."""
        try:
            with open(self._path, encoding='utf-8') as file:
                state = json.load(file)
            return {'id': str(state['id']), 'sent': dict(state['sent'])}
        except FileNotFoundError:
            return {'id': uuid.uuid4().hex[:12], 'sent': {}}
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(
                f'{self._path} is damaged ({error}); without it a new run starts'
            ) from error

    def get_name(self) -> str:
        return 'wandb'

    def write(self, statistics: Sequence[statistics_instance.StatisticsInstance]) -> None:
        for s in statistics:
            if self.check_type(s.type) and s.step > self._state['sent'].get(s.name, -1):
                self._pending.setdefault((s.type, int(s.step)), {})[s.name] = s.value

    def flush(self) -> None:
        for (data_type, step), values in self._pending.items():
            self._run.log({_AXES[data_type]: step, **values})
            self._state['sent'].update(dict.fromkeys(values, step))
        self._pending.clear()
        with files.atomic_write(self._path) as file:
            file.write(json.dumps(self._state).encode())

    def close(self) -> None:
        self._run.finish()
