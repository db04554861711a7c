import os
import pickle

import gin
import numpy as np
import pytest

from dopamine_lite.discrete_domains import checkpointer


def saved(folder):
    """The files in a folder but for the manifests, which have tests of their own."""
    return sorted(name for name in os.listdir(folder) if not name.startswith('manifest.'))


def test_round_trip_of_plain_containers(tmp_path):
    folder = tmp_path / 'checkpoints'  # does not exist yet
    data = {'state': np.arange(6.0).reshape(2, 3), 'n': 7, 'logs': {'iteration_0': [1.5, (2, 'x')]}}
    writer = checkpointer.Checkpointer(folder)
    writer.save_checkpoint(0, data)
    loaded = checkpointer.Checkpointer(str(folder)).load_checkpoint(0)
    np.testing.assert_array_equal(loaded.pop('state'), data.pop('state'))
    assert loaded == data
    assert saved(folder) == ['ckpt.0', 'sentinel_checkpoint_complete.0']
    assert (folder / 'sentinel_checkpoint_complete.0').read_bytes() == b'done'


def test_names_follow_the_prefix_and_the_identifier(tmp_path):
    writer = checkpointer.Checkpointer(tmp_path, 'foo', sentinel_file_identifier='bar')
    writer.save_checkpoint(3, 'data')
    assert saved(tmp_path) == ['foo.3', 'sentinel_bar_complete.3']
    assert checkpointer.get_latest_checkpoint_number(tmp_path) == -1
    assert checkpointer.get_latest_checkpoint_number(tmp_path, None, 'bar') == 3


def test_an_absent_checkpoint_loads_as_none(tmp_path):
    assert checkpointer.Checkpointer(tmp_path).load_checkpoint(5) is None


def test_latest_is_the_largest_number_with_a_sentinel(tmp_path):
    writer = checkpointer.Checkpointer(tmp_path, checkpoint_duration=20)
    for number in (2, 10, 9):
        writer.save_checkpoint(number, number)
    (tmp_path / 'ckpt.11').write_bytes(b'interrupted')
    (tmp_path / 'sentinel_checkpoint_complete.12.tmp').write_bytes(b'done')
    assert checkpointer.get_latest_checkpoint_number(tmp_path) == 10
    assert checkpointer.complete_checkpoints(tmp_path) == [2, 9, 10]
    assert checkpointer.get_latest_checkpoint_number(tmp_path, override_number=2) == 2
    gin.parse_config('get_latest_checkpoint_number.override_number = 9')
    assert checkpointer.get_latest_checkpoint_number(tmp_path) == 9


def test_an_absent_folder_has_no_checkpoint(tmp_path):
    assert checkpointer.get_latest_checkpoint_number(tmp_path / 'absent') == -1


def test_only_the_newest_are_kept(tmp_path):
    writer = checkpointer.Checkpointer(tmp_path, checkpoint_duration=2)
    for number in range(5):
        writer.save_checkpoint(number, number)
    assert checkpointer.complete_checkpoints(tmp_path) == [3, 4]
    assert saved(tmp_path)[:2] == ['ckpt.3', 'ckpt.4']
    assert len(saved(tmp_path)) == 4


def test_keep_every_spares_some_for_good(tmp_path):
    writer = checkpointer.Checkpointer(tmp_path, checkpoint_duration=1, keep_every=3)
    for number in range(9):
        writer.save_checkpoint(number, number)
    assert checkpointer.complete_checkpoints(tmp_path) == [0, 3, 6, 8]
    assert [writer.load_checkpoint(n) for n in (0, 3, 6, 8)] == [0, 3, 6, 8]


def test_only_multiples_of_the_frequency_are_saved(tmp_path):
    writer = checkpointer.Checkpointer(tmp_path, checkpoint_frequency=3, checkpoint_duration=2)
    for number in range(10):
        if writer.is_due(number):
            (tmp_path / f'add_count_ckpt.{number}.gz').write_bytes(b'replay')
        writer.save_checkpoint(number, number)
    assert checkpointer.complete_checkpoints(tmp_path) == [6, 9]
    assert [n for n in saved(tmp_path) if n.endswith('.gz')] == [
        'add_count_ckpt.6.gz',
        'add_count_ckpt.9.gz',
    ]


def test_a_failed_write_leaves_the_old_checkpoint_and_no_sentinel(tmp_path):
    writer = checkpointer.Checkpointer(tmp_path)
    writer.save_checkpoint(0, 'old')
    with pytest.raises((AttributeError, pickle.PicklingError)):
        writer.save_checkpoint(0, lambda: None)
    with pytest.raises((AttributeError, pickle.PicklingError)):
        writer.save_checkpoint(1, lambda: None)
    assert writer.load_checkpoint(0) == 'old'
    assert saved(tmp_path) == ['ckpt.0', 'sentinel_checkpoint_complete.0']


def test_a_pickle_that_names_a_function_is_refused(tmp_path):
    (tmp_path / 'ckpt.0').write_bytes(pickle.dumps(os.getcwd))
    with pytest.raises(pickle.UnpicklingError, match=r'ckpt\.0.*getcwd'):
        checkpointer.Checkpointer(tmp_path).load_checkpoint(0)


@pytest.mark.parametrize('folder', ['', None])
def test_no_folder(folder):
    with pytest.raises(ValueError, match=r'^No path provided to Checkpointer\.'):
        checkpointer.Checkpointer(folder)


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / 'file').write_text('in the way')
    path = tmp_path / 'file' / 'checkpoints'
    with pytest.raises(ValueError, match=rf'^Unable to create checkpoint path: {path}\.'):
        checkpointer.Checkpointer(path)


def test_counts_below_one_are_refused(tmp_path):
    with pytest.raises(ValueError, match='checkpoint_frequency must be at least 1, got 0'):
        checkpointer.Checkpointer(tmp_path, checkpoint_frequency=0)
