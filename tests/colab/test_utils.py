import math
import os
import pickle
import sys

import pandas
import pytest

from dopamine_lite.colab import utils
from dopamine_lite.discrete_domains import logger

DATA = {
    'iteration_0': {'train_episode_returns': [1.0, 3.0], 'eval_episode_returns': [4.0]},
    'iteration_1': {'train_episode_returns': [5.0], 'eval_episode_returns': [6.0, 7.0]},
}


@pytest.fixture
def logs(tmp_path):
    folder = tmp_path / 'logs'
    log = logger.Logger(folder, logs_duration=20)
    for number in (8, 9, 10):
        log.data = {**DATA, 'newest': {'n': [number]}} if number < 10 else DATA
        log.log_to_file('log', number)
    (folder / 'log_11.tmp').write_bytes(b'')
    return str(folder)


def test_games():
    assert (len(utils.ALL_GAMES), len(set(utils.ALL_GAMES))) == (60, 60)
    assert utils.ALL_GAMES[:4] == ['AirRaid', 'Alien', 'Amidar', 'Assault']
    assert utils.ALL_GAMES == sorted(utils.ALL_GAMES)
    assert utils.MUJOCO_GAMES == ['Ant', 'HalfCheetah', 'Hopper', 'Humanoid', 'Walker2d']


def test_latest(logs, tmp_path):
    assert utils.get_latest_file(os.path.join(logs, 'log')) == os.path.join(logs, 'log_10')
    assert utils.get_latest_file(os.path.join(logs, 'other')) is None
    assert utils.get_latest_iteration(logs) == 10
    with pytest.raises(ValueError, match=f'there is no log file .* in {tmp_path}'):
        utils.get_latest_iteration(str(tmp_path))


def test_load_statistics(logs, capsys):
    assert utils.load_statistics(logs) == (DATA, 10)
    assert capsys.readouterr().out == f'Reading statistics from: {logs}/log_10\n'
    data, number = utils.load_statistics(logs, 8, verbose=False)
    assert (data['newest'], number) == ({'n': [8]}, 8)
    assert capsys.readouterr().out == ''


def test_logs_cannot_run_code(tmp_path):
    (tmp_path / 'log_0').write_bytes(pickle.dumps(os.getcwd))
    with pytest.raises(pickle.UnpicklingError, match=r'log_0.*getcwd'):
        utils.load_statistics(str(tmp_path))


def test_summarize_data():
    summary = utils.summarize_data(DATA, ['train_episode_returns', 'eval_episode_returns'])
    assert summary == {'train_episode_returns': [2.0, 5.0], 'eval_episode_returns': [4.0, 6.5]}


def test_summarize_data_with_gaps():
    data = {'iteration_1': {'a': [1.0]}, 'iteration_3': {'a': [2.0], 'b': [0.0]}}
    summary = utils.summarize_data(data, ['a', 'b'])
    assert math.isnan(summary['a'][0])
    assert summary['a'][1:] == [1.0, 1.0, 2.0]
    assert summary['b'][3:] == [0.0]
    assert all(map(math.isnan, summary['b'][:3]))


def test_summarize_data_refuses_what_was_not_measured():
    with pytest.raises(KeyError, match=r"'returns' was not measured; available are \['eval_"):
        utils.summarize_data(DATA, ['returns'])


def test_tables_say_what_to_install(logs, monkeypatch):
    monkeypatch.setitem(sys.modules, 'pandas', None)
    with pytest.raises(ImportError, match='pip install pandas'):
        utils.read_experiment(logs)
    with pytest.raises(ImportError, match='pip install pandas'):
        utils.load_baselines(logs)


def test_read_experiment(logs):
    table = utils.read_experiment(logs)
    assert list(table.columns) == ['iteration', 'train_episode_returns', 'eval_episode_returns']
    assert table.values.tolist() == [[0, 2.0, 4.0], [1, 5.0, 6.5]]


def test_read_a_grid_of_experiments(tmp_path):
    for game in ('Pong', 'Krull'):
        for seed in (1, 2):
            log = logger.Logger(tmp_path / f'{game}_{seed}' / 'logs')
            log['iteration_0'] = {'train_episode_returns': [seed * len(game)]}
            log.log_to_file('log', 0)
    table = utils.read_experiment(
        str(tmp_path),
        {'game': ['Pong', 'Krull'], 'seed': [1, 2]},
        '{}_{}/logs',
        summary_keys=['train_episode_returns'],
    )
    assert list(table.columns) == ['game', 'seed', 'iteration', 'train_episode_returns']
    assert table.values.tolist() == [
        ['Pong', 1, 0, 4.0],
        ['Pong', 2, 0, 8.0],
        ['Krull', 1, 0, 5.0],
        ['Krull', 2, 0, 10.0],
    ]


def test_load_baselines(tmp_path, capsys):
    for agent in ('dqn', 'rainbow'):
        (tmp_path / agent).mkdir()
        table = pandas.DataFrame({'iteration': [0, 1], 'train_episode_returns': [1.0, 2.0]})
        # As the published tables: strings are objects, not the string arrays of pandas 3.
        table.columns = table.columns.astype(object)
        table.to_pickle(tmp_path / agent / 'Pong.pkl')
    (tmp_path / 'dqn' / 'Krull.pkl').write_bytes((tmp_path / 'dqn' / 'Pong.pkl').read_bytes())
    baselines = utils.load_baselines(str(tmp_path), verbose=True)
    assert sorted(baselines) == ['Krull', 'Pong']
    assert baselines['Pong'].agent.tolist() == ['dqn', 'dqn', 'rainbow', 'rainbow']
    assert baselines['Krull'].train_episode_returns.tolist() == [1.0, 2.0]
    assert 'Unable to load data for agent rainbow on game Krull' in capsys.readouterr().out
