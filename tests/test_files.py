import gzip
import io
import os
import stat
import tracemalloc

import numpy as np
import pytest

from dopamine_lite import files

ARRAYS = {
    'scalar': np.array(7),
    'empty': np.zeros((0, 3), np.float32),
    'bytes': np.arange(256, dtype=np.uint8).reshape(4, 64),
    'fortran': np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    'strided': np.arange(20)[::3],
    'big-endian': np.arange(5, dtype='>i4'),
    'bool': np.array([True, False]),
    'more than a chunk': np.arange(3 << 18, dtype=np.float64),
}


def test_the_content_appears_under_its_name_only_when_complete(tmp_path):
    path = tmp_path / 'a.gz'
    with files.atomic_write(path) as file:
        file.write(b'abc')
        file.flush()
        assert not path.exists()
        [aside] = tmp_path.iterdir()
        assert not aside.name.endswith('.gz')
    assert path.read_bytes() == b'abc'
    assert [p.name for p in tmp_path.iterdir()] == ['a.gz']


def test_an_error_leaves_the_old_content_and_nothing_else(tmp_path):
    path = tmp_path / 'a'
    path.write_bytes(b'old')
    with pytest.raises(RuntimeError, match='stop'), files.atomic_write(path) as file:
        file.write(b'new')
        raise RuntimeError('stop')
    assert path.read_bytes() == b'old'
    assert [p.name for p in tmp_path.iterdir()] == ['a']


def test_a_missing_folder_is_named(tmp_path):
    with (
        pytest.raises(FileNotFoundError, match='nowhere'),
        files.atomic_write(tmp_path / 'nowhere' / 'a'),
    ):
        pass


def test_the_file_has_the_usual_permissions(tmp_path):
    with files.atomic_write(tmp_path / 'a') as file:
        file.write(b'x')
    (tmp_path / 'b').write_bytes(b'x')
    modes = [stat.S_IMODE(os.stat(tmp_path / name).st_mode) for name in 'ab']
    assert modes[0] == modes[1]


def test_a_bare_name_is_in_the_current_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with files.atomic_write('a') as file:
        file.write(b'x')
    assert (tmp_path / 'a').read_bytes() == b'x'


def write(path, array):
    with files.atomic_write(path) as file, files.open_gzip_write(file) as stream:
        files.write_array(stream, array)


@pytest.mark.parametrize('name', ARRAYS)
def test_arrays_are_what_numpy_saves_in_gzip(name, tmp_path):
    array = ARRAYS[name]
    saved = io.BytesIO()
    np.save(saved, array)
    write(tmp_path / 'a.gz', array)
    assert gzip.decompress((tmp_path / 'a.gz').read_bytes()) == saved.getvalue()


@pytest.mark.parametrize('name', ARRAYS)
def test_arrays_are_read_back(name, tmp_path):
    array = ARRAYS[name]
    with gzip.open(tmp_path / 'a.gz', 'wb', compresslevel=1) as stream:
        np.save(stream, array)
    with files.open_gzip_read(tmp_path / 'a.gz') as stream:
        got = files.read_array(stream)
        assert stream.read() == b''
    assert got.dtype == array.dtype
    np.testing.assert_array_equal(got, array)


def test_equal_arrays_make_equal_files(tmp_path):
    for name in ('a.gz', 'b.gz'):
        write(tmp_path / name, ARRAYS['bytes'])
    assert (tmp_path / 'a.gz').read_bytes() == (tmp_path / 'b.gz').read_bytes()


def test_objects_are_neither_written_nor_read():
    array = np.array([{}], object)
    with pytest.raises(ValueError, match='Object arrays'):
        files.write_array(io.BytesIO(), array)
    saved = io.BytesIO()
    np.save(saved, array, allow_pickle=True)
    saved.seek(0)
    with pytest.raises(ValueError, match='without Python objects'):
        files.read_array(saved)


def test_a_cut_array_is_refused():
    saved = io.BytesIO()
    np.save(saved, np.arange(100))
    cut = io.BytesIO(saved.getvalue()[:-8])
    with pytest.raises(ValueError, match='expected 800 bytes of an array, got only 792'):
        files.read_array(cut)


def test_no_second_copy_is_made(tmp_path):
    array = np.zeros(1 << 26, np.uint8)
    tracemalloc.start()
    write(tmp_path / 'a.gz', array)
    assert tracemalloc.get_traced_memory()[1] < array.nbytes // 8
    tracemalloc.reset_peak()
    with files.open_gzip_read(tmp_path / 'a.gz') as stream:
        files.read_array(stream)
    assert tracemalloc.get_traced_memory()[1] < array.nbytes * 9 // 8
    tracemalloc.stop()
