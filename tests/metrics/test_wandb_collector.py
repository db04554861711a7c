import json
import sys
import types
from unittest import mock

import gin
import pytest
from small_runs import RUNS, run

from dopamine_lite.metrics import collector_dispatcher, statistics_instance, wandb_collector

Instance = statistics_instance.StatisticsInstance

BOUND = "CollectorDispatcher.collectors = ('pickle', 'wandb')"


@pytest.fixture
def wandb(monkeypatch):
    """A module `wandb` that keeps what it is told: the calls of `init`, and what runs logged."""
    module = types.ModuleType('wandb')
    module.started, module.logged, module.finished = [], [], 0

    class Run:
        def define_metric(self, name, **options):
            pass

        def log(self, values):
            module.logged.append(values)

        def finish(self):
            module.finished += 1

    def init(**options):
        module.started.append(options)
        return Run()

    module.init = init
    monkeypatch.setitem(sys.modules, 'wandb', module)
    return module


def test_nothing_is_imported_unless_asked(tmp_path):
    with mock.patch.dict(sys.modules):
        sys.modules.pop('wandb', None)
        collector_dispatcher.CollectorDispatcher(str(tmp_path))
        assert 'wandb' not in sys.modules


def test_a_missing_package_is_named(tmp_path):
    with (
        mock.patch.dict(sys.modules, {'wandb': None}),
        pytest.raises(ImportError, match=r"'wandb' needs the package wandb: pip install .*\[wandb"),
    ):
        collector_dispatcher.CollectorDispatcher(str(tmp_path), ['wandb'])
    assert list(tmp_path.iterdir()) == []


def test_needs_a_folder(wandb):
    with pytest.raises(ValueError, match='needs a base_dir to write to, got None'):
        wandb_collector.WandbCollector(None)


def test_what_a_run_is_started_with(wandb, tmp_path):
    gin.parse_config(["WandbCollector.project = 'mine'", "WandbCollector.entity = 'team'"])
    wandb_collector.WandbCollector(str(tmp_path / 'pong')).close()
    (options,) = wandb.started
    assert len(options.pop('id')) == 12
    assert "WandbCollector.project = 'mine'" in options.pop('config')['gin']
    assert options == {
        'project': 'mine',
        'entity': 'team',
        'name': 'pong',
        'resume': 'allow',
        'dir': str(tmp_path / 'pong' / 'metrics' / 'wandb'),
    }
    assert wandb.finished == 1


def test_measurements_are_sent_by_axis_and_step(wandb, tmp_path):
    collector = wandb_collector.WandbCollector(str(tmp_path))
    collector.write([Instance('Agent/Loss', 0.5, 500, 'summary')])
    collector.write([Instance('Train/A', 1, 0), Instance('Train/B', 2, 0)])
    collector.write([Instance('Train/Image', None, 0, 'image')])
    assert wandb.logged == []
    collector.flush()
    collector.flush()
    assert wandb.logged == [
        {'agent_steps': 500, 'Agent/Loss': 0.5},
        {'iteration': 0, 'Train/A': 1, 'Train/B': 2},
    ]


def test_a_damaged_state_is_named(wandb, tmp_path):
    folder = tmp_path / 'metrics' / 'wandb'
    folder.mkdir(parents=True)
    (folder / 'sent.json').write_text('{}')
    with pytest.raises(ValueError, match=r'sent\.json is damaged'):
        wandb_collector.WandbCollector(str(tmp_path))


def test_a_resumed_run_sends_nothing_twice(wandb, tmp_path):
    sparse = 'Checkpointer.checkpoint_frequency = 2'
    bindings = [*RUNS['dqn'], BOUND, sparse, 'DQNAgent.summary_writing_frequency = 30']
    run(tmp_path, 4, *bindings, seed=5)
    assert run(tmp_path, 5, *bindings)._start_iteration == 3  # iteration 3 was sent already
    assert [options['id'] for options in wandb.started] == [
        json.loads((tmp_path / 'metrics' / 'wandb' / 'sent.json').read_text())['id']
    ] * 2
    iterations = [values['iteration'] for values in wandb.logged if 'iteration' in values]
    assert iterations == list(range(5))
    steps = [values['agent_steps'] for values in wandb.logged if 'agent_steps' in values]
    assert steps == list(range(30, steps[-1] + 1, 30))
    assert all({'Agent/Loss', 'Agent/Q'} <= set(v) for v in wandb.logged if 'agent_steps' in v)
