import csv
import json
import math
from unittest import mock

import fakes
import numpy as np
import pytest

from dopamine_lite.discrete_domains import run_experiment
from dopamine_lite.metrics import statistics_instance, tables_collector

Instance = statistics_instance.StatisticsInstance


def read(folder, name):
    """Returns the rows of a table, after checking that both files hold the same."""
    with open(folder / f'{name}.csv', encoding='utf-8', newline='') as file:
        as_csv = list(csv.DictReader(file))
    with open(folder / f'{name}.jsonl', encoding='utf-8') as file:
        as_json = [json.loads(line) for line in file]
    assert [{k: str(v) for k, v in row.items()} for row in as_json] == as_csv
    return as_json


def started(base_dir, iteration=0, agent_steps=0):
    tables = tables_collector.TablesCollector(str(base_dir))
    tables.start(iteration, agent_steps)
    return tables


def three_iterations(base_dir):
    tables = started(base_dir)
    for iteration in range(3):
        tables.begin_iteration(iteration)
        tables.write_episode('train', 10, 1.5, 4, 0.25)
        tables.write([Instance('Agent/Loss', 0.5, 8 + 10 * iteration, 'summary')])
        tables.write([Instance('Train/AverageReturns', 1.5, iteration)])
    tables.close()


@pytest.fixture
def folder(tmp_path):
    return tmp_path / 'metrics' / 'tables'


def test_a_row_a_measurement(tmp_path, folder):
    tables = started(tmp_path)
    tables.begin_iteration(3)
    tables.write([Instance('Agent/Loss', 0.25, 500, 'summary'), Instance('a, "b"\n', 2, 3)])
    assert read(folder, 'metrics') == [  # at once
        {'iteration': 3, 'step': 500, 'metric': 'Agent/Loss', 'value': 0.25},
        {'iteration': 3, 'step': 3, 'metric': 'a, "b" ', 'value': 2},
    ]
    tables.close()


def test_a_row_an_episode(tmp_path, folder):
    tables = started(tmp_path)
    tables.write_episode('train', 10, np.float32(1.5), 4, 0.25)
    tables.write_episode('train', 5, 2, 4, 0.125)
    tables.begin_iteration(1)
    tables.write_episode('eval', 7, -3.0, 4, 0.5)
    tables.close()
    keys = ('iteration', 'phase', 'length', 'return', 'agent_steps', 'frames', 'seconds')
    assert [tuple(row) for row in read(folder, 'episodes')] == [keys] * 3
    assert [tuple(row.values()) for row in read(folder, 'episodes')] == [
        (0, 'train', 10, 1.5, 10, 40, 0.25),
        (0, 'train', 5, 2, 15, 60, 0.125),
        (1, 'eval', 7, -3.0, 15, 60, 0.5),  # evaluation is no training
    ]


@pytest.mark.parametrize(
    'value, written',
    [
        (np.float64(0.1), 0.1),
        (np.int32(3), 3),
        (np.array([2.5]), 2.5),
        (10**20, 10**20),
        (True, True),
    ],
)
def test_numbers(tmp_path, folder, value, written):
    tables = started(tmp_path)
    tables.write([Instance('a', value, 0)])
    tables.close()
    assert [row['value'] for row in read(folder, 'metrics')] == [written]


@pytest.mark.parametrize('value', [math.nan, math.inf])
def test_json_has_null_for_what_is_not_finite(tmp_path, folder, value):
    tables = started(tmp_path)
    tables.write([Instance('a', value, 0)])
    tables.close()
    assert (folder / 'metrics.csv').read_text() == f'iteration,step,metric,value\n0,0,a,{value}\n'
    assert json.loads((folder / 'metrics.jsonl').read_text())['value'] is None


@pytest.mark.parametrize('value', ['text', None, np.zeros(2), mock.Mock()])
def test_what_is_no_number_is_passed_over(tmp_path, folder, value):
    tables = started(tmp_path)
    tables.write([Instance('a', value, 0), Instance('b', 1, 0), Instance('c', 1, 0, 'image')])
    tables.close()
    assert [row['metric'] for row in read(folder, 'metrics')] == ['b']


def test_nothing_is_written_outside_of_a_run(tmp_path, folder):
    tables = tables_collector.TablesCollector(str(tmp_path))
    for _ in range(2):
        tables.write([Instance('a', 1, 0)])
        tables.write_episode('train', 1, 1.0, 1, 1.0)
        tables.flush()
        tables.close()
    assert list(folder.iterdir()) == []


def test_needs_a_folder():
    with pytest.raises(ValueError, match='needs a base_dir to write to, got None'):
        tables_collector.TablesCollector(None)


@pytest.mark.parametrize('iteration', range(4))
def test_a_resumed_run_drops_the_rows_that_it_writes_again(tmp_path, folder, iteration):
    three_iterations(tmp_path)
    tables = started(tmp_path, iteration, agent_steps=777)
    for name, rows_an_iteration in (('metrics', 2), ('episodes', 1)):
        iterations = [row['iteration'] for row in read(folder, name)]
        assert iterations == sorted(list(range(iteration)) * rows_an_iteration)
    tables.write_episode('train', 1, 0.0, 4, 0.0)
    tables.close()
    before = 10 * iteration if iteration else 777  # as told, where no row tells
    assert read(folder, 'episodes')[-1]['agent_steps'] == before + 1


def test_an_unfinished_line_is_cut_off(tmp_path, folder):
    three_iterations(tmp_path)
    for name in ('metrics.csv', 'metrics.jsonl', 'episodes.csv', 'episodes.jsonl'):
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(content[:-3])
    started(tmp_path, 3).close()
    assert [len(read(folder, name)) for name in ('metrics', 'episodes')] == [5, 2]
    assert len(list(folder.iterdir())) == 4


@pytest.mark.parametrize('name', ['metrics.csv', 'metrics.jsonl'])
@pytest.mark.parametrize('line', ['nonsense', '[1]', '{}', '\xff', '[' * 100_000])
def test_a_damaged_file_is_set_aside(tmp_path, folder, name, line):
    three_iterations(tmp_path)
    damaged = line.encode('latin-1') + b'\n' + (folder / name).read_bytes()
    (folder / name).write_bytes(damaged)
    tables = started(tmp_path, 3)
    tables.begin_iteration(3)
    tables.write([Instance('a', 1, 3)])
    tables.close()
    assert (folder / f'{name}.damaged').read_bytes() == damaged
    assert len((folder / name).read_text().splitlines()) == 1 + name.endswith('.csv')
    assert len(read(folder, 'episodes')) == 3


# In a run.

GO_ON, END = (1.0, False, False, False), (2.5, True, True, False)


class LoggingAgent(fakes.TapeAgent):
    """Writes a measurement of its own."""

    def set_collector_dispatcher(self, dispatcher):
        self._dispatcher = dispatcher

    def end_episode(self, reward):
        super().end_episode(reward)
        self._dispatcher.write([Instance('Mine', self.actions, self.actions)])


def make(base_dir, iterations, runner_class=run_experiment.Runner):
    environment = fakes.TapeEnvironment([[GO_ON, END]])
    environment.frame_skip = 3
    kwargs = {'num_iterations': iterations, 'training_steps': 3, 'evaluation_steps': 2}
    runner = runner_class(
        *(str(base_dir), lambda sess, env, summary_writer: LoggingAgent(), lambda: environment),
        **(kwargs if runner_class is run_experiment.Runner else {}),
    )
    runner._num_iterations, runner._training_steps = iterations, 3
    return runner


@pytest.mark.parametrize(
    'runner_class, evaluated', [(run_experiment.Runner, 1), (run_experiment.TrainRunner, 0)]
)
def test_what_a_runner_writes(tmp_path, folder, runner_class, evaluated):
    make(tmp_path, 2, runner_class).run_experiment()
    metrics, episodes = read(folder, 'metrics'), read(folder, 'episodes')
    names = ['Mine'] * (2 + evaluated) + [
        *('Train/NumEpisodes', 'Train/AverageReturns', 'Train/AverageStepsPerSecond'),
        *(['Eval/NumEpisodes', 'Eval/AverageReturns'] * evaluated),
    ]
    assert [row['metric'] for row in metrics] == names * 2
    assert [row['iteration'] for row in metrics] == [0] * len(names) + [1] * len(names)
    returns = [row['value'] for row in metrics if row['metric'] == 'Train/AverageReturns']
    assert returns == [3.5, 3.5]
    expected = []
    for iteration in range(2):
        for episode in range(2):
            steps = 4 * iteration + 2 * (episode + 1)
            expected.append((iteration, 'train', 2, 3.5, steps, 3 * steps))
        expected += [(iteration, 'eval', 2, 3.5, steps, 3 * steps)] * evaluated
    assert [tuple(row.values())[:-1] for row in episodes] == expected
    assert all(row['seconds'] > 0 for row in episodes)


def without_times(rows):
    return [
        {k: v for k, v in row.items() if k != 'seconds'}
        for row in rows
        if row.get('metric') != 'Train/AverageStepsPerSecond'
    ]


def test_the_tables_of_an_interrupted_run(tmp_path):
    make(tmp_path / 'whole', 3).run_experiment()
    runner = make(tmp_path / 'parts', 3)
    save = runner._checkpointer.save_checkpoint

    def interrupted(number, data):
        if number == 1:
            raise KeyboardInterrupt
        save(number, data)

    runner._checkpointer.save_checkpoint = interrupted
    with pytest.raises(KeyboardInterrupt):
        runner.run_experiment()
    parts = tmp_path / 'parts' / 'metrics' / 'tables'
    assert read(parts, 'episodes')[-1]['iteration'] == 1  # written, but its checkpoint was not
    resumed = make(tmp_path / 'parts', 3)
    assert read(parts, 'episodes')[-1]['iteration'] == 1  # nothing changes before it runs
    resumed.run_experiment()
    for name in ('metrics', 'episodes'):
        whole = read(tmp_path / 'whole' / 'metrics' / 'tables', name)
        assert without_times(read(parts, name)) == without_times(whole)


def test_a_full_disk_is_named(tmp_path):
    runner = make(tmp_path, 1)
    full = OSError(28, 'No space left on device')
    runner._tables.write_episode = mock.Mock(side_effect=full)
    with pytest.raises(OSError, match='the metrics could not be written to .*No space left'):
        runner.run_experiment()


@pytest.mark.parametrize('name', ['metrics.csv', 'episodes.jsonl'])
def test_nothing_is_written_through_a_link(tmp_path, folder, name):
    three_iterations(tmp_path)
    (tmp_path / 'precious').write_text('one line')
    (folder / name).unlink()
    (folder / name).symlink_to(tmp_path / 'precious')
    with pytest.raises(OSError, match='a symbolic link'):
        started(tmp_path, 3)
    assert (tmp_path / 'precious').read_text() == 'one line'


@pytest.mark.parametrize('row', ['{"iteration": 2}', '{"iteration": 2, "agent_steps": "x"}'])
def test_a_row_without_the_steps_so_far(tmp_path, folder, row):
    three_iterations(tmp_path)
    (folder / 'episodes.jsonl').write_text(f'{row}\n')
    tables = started(tmp_path, 3, agent_steps=30)
    tables.write_episode('train', 10, 1.5, 4, 0.25)
    tables.close()
    last = (folder / 'episodes.jsonl').read_text().splitlines()[-1]
    assert json.loads(last)['agent_steps'] == 40
