import os
import pickle

import pytest

from dopamine_lite.discrete_domains import logger


def test_files_hold_everything_so_far_byte_for_byte(tmp_path):
    log = logger.Logger(tmp_path / 'logs')
    assert log.is_logging_enabled()
    log['iteration_0'] = {'a': [1.0]}
    log.log_to_file('log', 0)
    log['iteration_1'] = {'a': [2.0]}
    log.log_to_file('log', 1)
    expected = {'iteration_0': {'a': [1.0]}, 'iteration_1': {'a': [2.0]}}
    assert log.data == expected
    content = (tmp_path / 'logs' / 'log_1').read_bytes()
    assert content == pickle.dumps(expected, protocol=pickle.HIGHEST_PROTOCOL)


def test_only_the_newest_files_are_kept(tmp_path):
    log = logger.Logger(str(tmp_path), logs_duration=2)
    for number in range(5):
        log[f'iteration_{number}'] = number
        log.log_to_file('prefix', number)
    assert sorted(os.listdir(tmp_path)) == ['prefix_3', 'prefix_4']


@pytest.mark.parametrize('make', [lambda p: None, lambda p: '', lambda p: p / 'file' / 'logs'])
def test_without_a_folder_nothing_is_kept_or_written(tmp_path, make):
    (tmp_path / 'file').write_text('in the way')
    log = logger.Logger(make(tmp_path))
    assert not log.is_logging_enabled()
    log['iteration_0'] = 1
    log.log_to_file('log', 0)
    assert log.data == {}
    assert os.listdir(tmp_path) == ['file']
