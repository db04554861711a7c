import glob
import os
import pickle

import pytest
import tensorflow as tf
from absl import logging

from dopamine_lite.compat import pickles
from dopamine_lite.metrics import (
    collector,
    collector_dispatcher,
    console_collector,
    pickle_collector,
    statistics_instance,
    tensorboard_collector,
)

Instance = statistics_instance.StatisticsInstance


class ListCollector(collector.Collector):
    """Keeps names and values."""

    def __init__(self, base_dir, extra_supported_types=()):
        super().__init__(base_dir, extra_supported_types)
        self.written = []

    def get_name(self):
        return 'list'

    def write(self, statistics):
        self.written += [(s.name, s.value) for s in statistics if self.check_type(s.type)]


@pytest.fixture
def lines(monkeypatch):
    """What is handed to `logging.info`."""
    handed = []
    monkeypatch.setattr(logging, 'info', lambda *args: handed.append(args))
    return handed


def test_statistics_instance_is_a_dataclass():
    assert Instance('a', 1, 2) == Instance(name='a', value=1, step=2, type='scalar')


def test_the_folder_is_made_at_once(tmp_path):
    assert ListCollector(str(tmp_path))._base_dir == str(tmp_path / 'metrics' / 'list')
    assert (tmp_path / 'metrics' / 'list').is_dir()


def test_without_a_folder(tmp_path):
    assert ListCollector(None)._base_dir is None
    (tmp_path / 'metrics').write_text('in the way')
    assert ListCollector(str(tmp_path))._base_dir == str(tmp_path / 'metrics' / 'list')


def test_types():
    assert ListCollector(None).check_type('scalar')
    assert not ListCollector(None).check_type('image')
    assert ListCollector(None, ['image']).check_type('image')


def test_a_collector_needs_only_a_name_and_write():
    assert collector.Collector.__abstractmethods__ == {'get_name', 'write'}
    ListCollector(None).flush()
    ListCollector(None).close()


def test_console_writes_one_text_a_call(tmp_path, lines):
    console = console_collector.ConsoleCollector(str(tmp_path))
    assert console._log_file == str(tmp_path / 'metrics' / 'console' / 'console.log')
    console.write([Instance('a', 1, 0), Instance('b', 2.5, 0), Instance('c', 0, 0, 'image')])
    console.write([Instance('c', 0, 1, 'image')])
    text = '[Iteration 0]: a = 1\n[Iteration 0]: b = 2.5\n'
    assert lines == [(text,)]
    assert open(console._log_file).read() == text
    console.close()
    assert console._log_file_writer.closed


def test_console_appends_after_a_resume(tmp_path, lines):
    for step in range(2):
        console = console_collector.ConsoleCollector(str(tmp_path))
        console.write([Instance('a', step, step)])
        console.close()
    assert open(console._log_file).read() == '[Iteration 0]: a = 0\n[Iteration 1]: a = 1\n'


@pytest.mark.parametrize('arguments', [(None,), ('BASE', False)])
def test_console_without_a_file(tmp_path, lines, arguments):
    base_dir = str(tmp_path) if arguments[0] else None
    console = console_collector.ConsoleCollector(base_dir, *arguments[1:])
    console.write([Instance('a', 1, 0)])
    console.close()
    assert console._log_file is None
    assert lines == [('[Iteration 0]: a = 1\n',)]


def test_pickle_holds_everything_so_far(tmp_path):
    pickler = pickle_collector.PickleCollector(str(tmp_path))
    pickler.write([Instance('a', 1, 0), Instance('a', 2, 0), Instance('x', 0, 0, 'image')])
    pickler.flush()
    pickler.write([Instance('a', 3, 1)])
    pickler.flush()
    first = {'iteration_0': {'a': [1, 2]}}
    both = {'iteration_0': {'a': [1, 2]}, 'iteration_1': {'a': [3]}}
    assert pickler._statistics == both
    for number, expected in enumerate((first, both)):
        with open(tmp_path / 'metrics' / 'pickle' / f'pickle_{number}.pkl', 'rb') as file:
            assert pickles.load(file) == expected


def test_pickle_overwrites_nothing_after_a_resume(tmp_path):
    for step in range(2):
        pickler = pickle_collector.PickleCollector(str(tmp_path))
        pickler.write([Instance('a', step, step)])
        pickler.flush()
    assert sorted(os.listdir(pickler._base_dir)) == ['pickle_0.pkl', 'pickle_1.pkl']
    with open(os.path.join(pickler._base_dir, 'pickle_0.pkl'), 'rb') as file:
        assert pickle.load(file) == {'iteration_0': {'a': [0]}}


@pytest.mark.parametrize(
    'make', [pickle_collector.PickleCollector, tensorboard_collector.TensorboardCollector]
)
def test_collectors_of_files_need_a_folder(make):
    with pytest.raises(ValueError, match='needs a base_dir to write to, got None'):
        make(None)


def test_tensorboard_writes_events_and_leaves_the_graph_alone(tmp_path):
    board = tensorboard_collector.TensorboardCollector(str(tmp_path))
    graph = tf.compat.v1.get_default_graph()
    for step in range(3):
        board.write([Instance('Train/A', step + 0.5, step), Instance('x', None, step, 'image')])
        board.flush()
    assert graph.get_operations() == []
    assert not tf.executing_eagerly()
    (path,) = glob.glob(str(tmp_path / 'metrics' / 'tensorboard' / 'events.out.tfevents.*'))
    events = [
        (event.step, value.tag, float(tf.make_ndarray(value.tensor)))
        for event in tf.compat.v1.train.summary_iterator(path)
        for value in event.summary.value
    ]
    assert events == [(0, 'Train/A', 0.5), (1, 'Train/A', 1.5), (2, 'Train/A', 2.5)]
    board.close()


def test_tensorboard_goes_through_the_public_calls(tmp_path, monkeypatch):
    calls = []
    monkeypatch.setattr(tf.summary, 'scalar', lambda *args, **kwargs: calls.append((args, kwargs)))
    board = tensorboard_collector.TensorboardCollector(str(tmp_path))
    board.write([Instance('a', 1, 7)])
    assert calls == [(('a', 1), {'step': 7})]
    board.close()


@pytest.fixture
def available(monkeypatch):
    """The table of collectors, restored afterwards."""
    table = dict(collector_dispatcher.AVAILABLE_COLLECTORS)
    monkeypatch.setattr(collector_dispatcher, 'AVAILABLE_COLLECTORS', table)
    return table


def test_dispatcher_builds_what_is_named_and_leaves_out_what_is_not(tmp_path, available):
    dispatcher = collector_dispatcher.CollectorDispatcher(str(tmp_path), ('pickle', 'nonsense'))
    assert [c.get_name() for c in dispatcher._collectors] == ['pickle']
    dispatcher = collector_dispatcher.CollectorDispatcher(str(tmp_path))
    assert [c.get_name() for c in dispatcher._collectors] == ['console', 'pickle', 'tensorboard']
    dispatcher.flush()
    dispatcher.close()


@pytest.mark.parametrize('allowed', [(), ['list'], 'a list of names', {'other'}])
def test_dispatcher_writes_to_the_collectors_allowed(available, allowed):
    collector_dispatcher.add_collector('list', lambda base_dir: None)
    collector_dispatcher.add_collector('list', ListCollector)  # replaces the first
    dispatcher = collector_dispatcher.CollectorDispatcher(None, ['list'])
    dispatcher.write([Instance('a', 1, 0)], collector_allowlist=allowed)
    expected = [] if allowed == {'other'} else [('a', 1)]
    assert dispatcher._collectors[0].written == expected
