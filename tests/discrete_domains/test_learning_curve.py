import builtins
import os
import pickle
import sys

import pytest

from dopamine_lite.discrete_domains import learning_curve, logger

DATA = {
    # Not in order, as a dictionary may be; ten comes after two.
    'iteration_10': {'train_episode_lengths': [5], 'train_episode_returns': [8.0]},
    'iteration_0': {
        'train_episode_lengths': [10, 20],
        'train_episode_returns': [1.0, 2.0],
        'eval_episode_lengths': [100],
        'eval_episode_returns': [3.0],
    },
    'iteration_2': {
        'train_episode_lengths': [40],
        'train_episode_returns': [4.0],
        'eval_episode_lengths': [100, 100],
        'eval_episode_returns': [5.0, 6.0],
    },
}


def write_log(base_dir, data, number=0):
    log = logger.Logger(base_dir / 'logs')
    log.data = data
    log.log_to_file('log', number)


def test_returns_against_the_agent_steps_trained():
    assert learning_curve.curves(DATA) == {
        'train': ([30, 70, 75], [1.5, 4.0, 8.0]),
        'eval': ([30, 70], [3.0, 5.5]),
    }


def test_a_phase_that_was_not_run_has_no_curve():
    assert list(learning_curve.curves({'iteration_0': DATA['iteration_10']})) == ['train']


def test_the_picture(tmp_path, capsys):
    write_log(tmp_path, DATA)
    assert learning_curve.main([str(tmp_path)]) == 0
    path = tmp_path / 'learning_curve.png'
    assert capsys.readouterr().out == f'{path}\n'
    from matplotlib import image

    pixels = image.imread(path)
    assert pixels.shape[:2] == (600, 960)
    colours = {tuple((pixel * 255).round().astype(int)[:3]) for pixel in pixels.reshape(-1, 4)}
    assert {(0x00, 0x72, 0xB2), (0xD5, 0x5E, 0x00), (255, 255, 255)} <= colours


@pytest.mark.parametrize('name', ['$x^$', 'a$b$^', r'\alpha'])
def test_the_name_of_a_folder_is_no_formula(tmp_path, name):
    write_log(tmp_path / name, DATA)
    assert os.path.exists(learning_curve.draw(str(tmp_path / name)))


def test_the_state_of_pyplot_is_left_alone(tmp_path):
    write_log(tmp_path, DATA)
    learning_curve.draw(str(tmp_path))
    if 'matplotlib.pyplot' in sys.modules:
        assert sys.modules['matplotlib.pyplot'].get_fignums() == []


def test_another_file(tmp_path):
    write_log(tmp_path, DATA)
    output = tmp_path / 'curve.svg'
    assert learning_curve.main([str(tmp_path), f'--output={output}']) == 0
    assert 'agent steps trained' in output.read_text() or '<svg' in output.read_text()
    assert not (tmp_path / 'learning_curve.png').exists()


def test_the_newest_log_that_can_be_read(tmp_path):
    for number in (8, 9, 10):
        write_log(tmp_path, {f'iteration_{number}': {}}, number)
    (tmp_path / 'logs' / 'log_10').write_bytes(b'\x80')
    assert learning_curve.read(str(tmp_path)) == {'iteration_9': {}}


BAD = {
    'no such folder': (lambda base: None, 'absent', 'there is no folder'),
    'an empty folder': (lambda base: None, '', 'holds no log of a run'),
    'a log of another kind': (lambda base: write_log(base, {'a': 1}), '', 'not the log of a run'),
    'a hostile log': (lambda base: write_log(base, os.getcwd), '', 'refused to load'),
    'nothing finished': (lambda base: write_log(base, {'iteration_0': {}}), '', 'no finished'),
}


@pytest.mark.parametrize('case', BAD)
def test_nothing_to_draw(tmp_path, capsys, case):
    make, name, message = BAD[case]
    make(tmp_path)
    assert learning_curve.main([str(tmp_path / name)]) == 1
    error = capsys.readouterr().err
    assert message in error
    assert error.count('\n') == 1
    assert not (tmp_path / 'learning_curve.png').exists()


@pytest.mark.parametrize('output', ['absent/curve.png', 'curve.nonsense'])
def test_a_file_that_cannot_be_written(tmp_path, capsys, output):
    write_log(tmp_path, DATA)
    assert learning_curve.main([str(tmp_path), f'--output={tmp_path / output}']) == 1
    assert capsys.readouterr().err.count('\n') == 1
    assert os.listdir(tmp_path) == ['logs']


def test_without_matplotlib(tmp_path, capsys, monkeypatch):
    write_log(tmp_path, DATA)
    original = builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith('matplotlib'):
            raise ImportError(name)
        return original(name, *args, **kwargs)

    monkeypatch.setattr(builtins, '__import__', without)
    assert learning_curve.main([str(tmp_path)]) == 1
    assert capsys.readouterr().err == (
        "learning_curve: the learning curve needs matplotlib: pip install 'dopamine_lite[plots]'\n"
    )


def test_the_log_is_not_pickled_by_name():
    # What the tests above call hostile: a pickle that names a function.
    assert b'getcwd' in pickle.dumps(os.getcwd)
