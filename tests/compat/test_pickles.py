"""Data comes back as it was; nothing that a hostile file names is ever called."""

import collections
import functools
import io
import os
import pickle
import sys
import types

import numpy as np
import pytest

from dopamine_lite import compat
from dopamine_lite.compat import pickles

VALUES = {
    'none': None,
    'scalars': [True, -1, 2**70, 1.5, 1j, 'text', b'', b'a\xff', bytearray(b'abc'), slice(1, 2)],
    'containers': {'a': [(1,), {2}, frozenset([3])], 'b': collections.OrderedDict(x=1)},
    'deque': collections.deque([1, 2], maxlen=3),
    'counter': collections.Counter('aab'),
    'int array': np.arange(6).reshape(2, 3),
    'fortran array': np.asfortranarray(np.arange(6, dtype='f4').reshape(2, 3)),
    'permuted array': np.arange(24).reshape(2, 3, 4).transpose(2, 0, 1),
    'empty array': np.zeros((0, 3)),
    'zero-dimensional array': np.array(5),
    'big-endian array': np.arange(4, dtype='>i4'),
    'text array': np.array(['a', 'bcd']),
    'object array': np.array([None, {1: 2}], object),
    'record array': np.array([(1, 2.0)], dtype=[('a', 'i4'), ('b', 'f8', (2,))]),
    'aligned record array': np.zeros(2, np.dtype([('a', 'i1'), ('b', 'f8')], align=True)),
    'dates': np.array(['2020-01-01'], 'datetime64[D]'),
    'numpy scalars': [np.float32(3), np.int64(4), np.bool_(True), np.str_('abc')],
    'types': [np.float32, np.dtype('f4'), int, list],
    'numpy generator state': np.random.get_state(),
}


@pytest.mark.parametrize('protocol', range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize('name', VALUES)
def test_values_come_back_as_they_were(name, protocol):
    value = VALUES[name]
    restored = pickles.loads(pickle.dumps(value, protocol))
    # The standard library is the oracle: it swaps big-endian arrays to native order, for one.
    expected = pickle.loads(pickle.dumps(value, protocol))
    assert type(restored) is type(expected)
    assert repr(restored) == repr(expected)
    assert getattr(restored, 'dtype', None) == getattr(expected, 'dtype', None)


def test_statistics_of_a_collector_come_back_and_still_grow():
    statistics = collections.defaultdict(functools.partial(collections.defaultdict, list))
    statistics['iteration_0']['Train/AverageReturns'].append(1.5)
    restored = pickles.loads(pickle.dumps(statistics))
    assert restored == {'iteration_0': {'Train/AverageReturns': [1.5]}}
    restored['iteration_1']['Eval/NumEpisodes'].append(2)
    assert restored['iteration_1'] == {'Eval/NumEpisodes': [2]}


def test_a_partial_of_more_than_types_is_refused():
    for partial in (functools.partial(list, 'abc'), functools.partial(dict, a=1)):
        with pytest.raises(pickle.UnpicklingError, match='malformed partial'):
            pickles.loads(pickle.dumps(partial))


@pytest.mark.parametrize('protocol', range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize(
    'address',
    [
        'dopamine.replay_memory.sum_tree',
        'dopamine.tf.replay_memory.sum_tree',
        'dopamine_lite.tf.replay_memory.sum_tree',
    ],
)
def test_sum_trees_come_back_from_every_address(address, protocol, monkeypatch):
    from dopamine_lite.tf.replay_memory import sum_tree

    class SumTree:
        __module__ = address
        __qualname__ = 'SumTree'

    module = types.ModuleType(address)
    module.SumTree = SumTree
    parts = address.split('.')
    for end in range(1, len(parts)):
        name = '.'.join(parts[:end])
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    monkeypatch.setitem(sys.modules, address, module)
    old = SumTree()
    old.nodes = [np.array([5.0]), np.array([2.0, 3.0])]
    old.max_recorded_priority = 4.0
    data = pickle.dumps(old, protocol)
    monkeypatch.undo()

    tree = pickles.loads(data)
    assert type(tree) is sum_tree.SumTree
    assert [level.tolist() for level in tree.nodes] == [[5.0], [2.0, 3.0]]
    assert tree.max_recorded_priority == 4.0


# A byte string of Python 2: the array [1.0, 2.0] as its protocol 2 wrote it.
PYTHON_2_ARRAY = (
    b'\x80\x02cnumpy.core.multiarray\n_reconstruct\nq\x00cnumpy\nndarray\nq\x01K\x00\x85q\x02'
    b'U\x01bq\x03\x87q\x04Rq\x05(K\x01K\x02\x85q\x06cnumpy\ndtype\nq\x07U\x02f8q\x08K\x00K\x01'
    b'\x87q\tRq\n(K\x03U\x01<q\x0bNNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tq\x0cb\x89U\x10'
    b'\x00\x00\x00\x00\x00\x00\xf0?\x00\x00\x00\x00\x00\x00\x00@q\rtq\x0eb.'
)


def test_files_of_python_2_are_read():
    assert pickles.loads(PYTHON_2_ARRAY).tolist() == [1.0, 2.0]
    assert pickles.loads(b"(dp0\nS'logs'\np1\nc__builtin__\nset\np2\n((lp3\nI1\natRp4\ns.") == {
        'logs': {1}
    }


class Mine:
    def __init__(self, value):
        self.value = value


class NotMine(Mine):
    pass


def test_a_class_of_the_users_needs_to_be_allowed(monkeypatch):
    monkeypatch.setattr(pickles, '_user_classes', {})
    data = pickle.dumps({'mine': Mine(3)})
    with pytest.raises(pickles.ForbiddenPickle) as caught:
        pickles.loads(data, 'sum_tree_ckpt.7.gz')
    assert str(caught.value) == (
        f'sum_tree_ckpt.7.gz: refused to load {__name__}.Mine: it is not among the types that run '
        'folders hold. If it is a class of your own and you trust the file, allow it first: '
        'dopamine_lite.compat.allow(MyClass)'
    )
    assert compat.allow(Mine) is Mine
    assert pickles.loads(data)['mine'].value == 3
    with pytest.raises(pickles.ForbiddenPickle, match='NotMine'):
        pickles.loads(pickle.dumps(NotMine(3)))
    with pytest.raises(TypeError, match='expects a class, got <built-in function eval>'):
        compat.allow(eval)


class Call:
    """Pickles as a call of `function` with `arguments`."""

    def __init__(self, function, *arguments, state=None):
        self.reduced = (function, arguments) if state is None else (function, arguments, state)

    def __reduce__(self):
        return self.reduced


def _hostile(path):
    import operator
    import subprocess

    touch = f'touch {path}'
    python = f'open({str(path)!r}, "w").close()'
    partial = Call(functools.partial, os.system, touch)
    return {
        'os.system': Call(os.system, touch),
        'subprocess': Call(subprocess.call, ['touch', str(path)]),
        'eval': Call(eval, python),
        'exec': Call(exec, python),
        'open': Call(open, str(path), 'w'),
        'import': Call(__import__, 'os'),
        'getattr': Call(getattr, {}, 'clear'),
        'attrgetter': Call(operator.attrgetter, 'system'),
        'partial': partial,
        'defaultdict': Call(collections.defaultdict, partial),
        'object array': np.array([Call(os.system, touch)], object),
        'nested': {'logs': [(1, {2: Call(eval, python)})]},
        'numpy loader': Call(np.load, str(path)),
        'numpy test runner': Call(np.testing.assert_, True),
        'codec': Call(__import__('codecs').lookup, 'latin1'),
        'list of a class': Call(type, 'X', (), {}),
    }


@pytest.mark.parametrize('protocol', [0, 2, pickle.HIGHEST_PROTOCOL])
def test_hostile_pickles_are_refused_and_do_nothing(tmp_path, protocol):
    path = tmp_path / 'executed'
    for name, value in _hostile(path).items():
        data = pickle.dumps(value, protocol)
        with pytest.raises(pickles.ForbiddenPickle):
            pickles.loads(data, name)
        assert not path.exists(), name


# Handwritten: the operations are those of `pickletools`.
ASSEMBLED = {
    'a dotted path through an allowed class': (
        b'\x80\x04\x8c\x08builtins\x8c\x0cset.__init__\x93.',
        'builtins.set.__init__',
    ),
    'a call of a partial that the file made': (
        b'\x80\x04cfunctools\npartial\ncbuiltins\nlist\n\x85R)R.',
        'partial',
    ),
    'a call of a type that is only a value': (b'\x80\x04cbuiltins\nint\n\x8c\x011\x85R.', 'int'),
    'state of a class': (
        b'\x80\x04cdopamine.replay_memory.sum_tree\nSumTree\nN}\x8c\x03getcbuiltins\nlist\ns\x86b.',
        'SumTree',
    ),
    'an old-style instance': (b'(S"echo"\nios\nsystem\n.', 'os.system'),
    'an instance of a value type': (b'\x80\x04cbuiltins\nlist\n)\x81.', 'list'),
    'an extension code': (b'\x80\x02\x82\x01.', 'extension code 1'),
}


@pytest.mark.parametrize('name', ASSEMBLED)
def test_operations_that_no_run_folder_needs_are_refused(name):
    data, forbidden = ASSEMBLED[name]
    with pytest.raises(pickles.ForbiddenPickle) as caught:
        pickles.loads(data)
    assert caught.value.forbidden == forbidden


def _array(dtype_spec, dtype_state, data, shape=(2,)):
    dtype = Call(np.dtype, dtype_spec, False, True, state=dtype_state)
    reconstruct = np.zeros(1).__reduce__()[0]
    return Call(reconstruct, np.ndarray, (0,), b'b', state=(1, shape, dtype, False, data))


LYING_ARRAYS = {
    'object pointers from bytes': _array('O8', (3, '|', None, None, None, -1, -1, 0), b'A' * 16),
    'object array of bytes': _array('O8', (3, '|', None, None, None, -1, -1, 63), b'A' * 16),
    'object array too short': _array('O8', (3, '|', None, None, None, -1, -1, 63), [1]),
    'numbers too short': _array('f8', (3, '<', None, None, None, -1, -1, 0), b'A' * 8),
    'an element size that is not its own': _array(
        'S8', (3, '|', None, None, None, 800, 1, 0), b'A' * 16
    ),
    'a negative length': _array('f8', (3, '<', None, None, None, -1, -1, 0), b'', (-1,)),
    'objects that claim to be numbers in a field': _array(
        'O8', np.dtype([('a', 'i8')]).__reduce__()[2], b'A' * 16
    ),
    'objects that claim to be a row of numbers': _array(
        'O8', np.dtype(('i8', (1,))).__reduce__()[2], b'A' * 16
    ),
    'objects in another byte order': _array('O8', (3, '>', None, None, None, -1, -1, 63), [1, 2]),
    'a field larger than the item': _array(
        'i1', np.dtype([('a', 'S99')]).__reduce__()[2], b'A' * 2
    ),
    'dates with fields': _array('M8[ns]', np.dtype([('a', 'i8')]).__reduce__()[2], b'A' * 16),
    'dates of no unit': _array(
        'M8', (4, '<', None, None, None, -1, -1, 0, ({}, (b'x]', 1, 1, 1))), b'A' * 16
    ),
    'items that are rows': _array('V24', np.dtype(('i8', (3,))).__reduce__()[2], b'A' * 48),
    'text beyond Unicode': _array(
        'U2', (3, '<', None, None, None, 8, 4, 8), b'\xff\xff\xff\xff' * 4
    ),
    'text beyond Unicode in a field': _array(
        'V8', np.dtype([('a', 'U2')]).__reduce__()[2], b'\xff\xff\xff\xff' * 4
    ),
    'numbers that claim to be objects': _array(
        'f8', (3, '<', None, None, None, -1, -1, 63), b'A' * 16
    ),
}


@pytest.mark.parametrize('name', LYING_ARRAYS)
def test_arrays_that_lie_about_their_memory_are_refused(name):
    with pytest.raises(pickle.UnpicklingError, match='malformed'):
        pickles.loads(pickle.dumps(LYING_ARRAYS[name]))


def test_a_scalar_of_text_beyond_unicode_is_refused():
    scalar = Call(np.float64(0).__reduce__()[0], np.dtype('U1'), b'\xff\xff\xff\xff')
    with pytest.raises(pickle.UnpicklingError, match='malformed text'):
        pickles.loads(pickle.dumps(scalar))


def _of_objects(item):
    array = np.empty(1, object)
    array[0] = item
    return array


# Taken apart by one call in C within another, deep ones would end the process.
NESTED = {
    'slices': slice(slice(1)),
    'deques': collections.deque([collections.deque()]),
    'arrays of objects': _of_objects(_of_objects(1)),
    'a deque in an array': _of_objects(collections.deque()),
    'an array in a deque': collections.deque([1, _of_objects(1)]),
    'partials': functools.partial(collections.defaultdict, functools.partial(list)),
}


@pytest.mark.parametrize('protocol', [0, 2, 5])
@pytest.mark.parametrize('name', NESTED)
def test_what_could_nest_without_limit_is_refused(name, protocol):
    with pytest.raises(pickle.UnpicklingError, match='malformed'):
        pickles.loads(pickle.dumps(NESTED[name], protocol))


def test_a_partial_of_itself_is_refused():
    partial = functools.partial(list)
    hostile = Call(functools.partial, list, state=(partial, (), {}, None))
    with pytest.raises(pickle.UnpicklingError, match='malformed partial'):
        pickles.loads(pickle.dumps(hostile))


def test_setting_the_state_of_a_dtype_leaves_numpys_own_alone():
    order = {'little': '>', 'big': '<'}[sys.byteorder]
    shared = Call(np.dtype, 'f8', False, False, state=(3, order, None, None, None, -1, -1, 0))
    assert pickles.loads(pickle.dumps(shared)) == np.dtype(f'{order}f8')
    assert np.dtype('f8').isnative


def _name(module, name):
    return f'c{module}\n{name}\n'.encode()


def _text(text):
    return b'X' + len(text).to_bytes(4, 'little') + text.encode()


def _dtype_of(spec):
    return _name('numpy', 'dtype') + b'(' + _text(spec) + b'tR'


def _object_array(length):
    """An array of None, with the state that NumPy itself writes, remembered as 1."""
    number = b'K' + bytes([length])
    dtype = _dtype_of('O') + b'(K\x03X\x01\x00\x00\x00|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK?tb'
    make = _name('numpy._core.multiarray', '_reconstruct') + _name('numpy', 'ndarray')
    state = b'(K\x01(' + number + b't' + dtype + b'\x89](' + b'N' * length + b'etb'
    return b'\x80\x04' + make + b'(K\x00tC\x01b\x87R' + state + b'q\x010'


_INT64 = _dtype_of('i8') + b'(K\x03X\x01\x00\x00\x00<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb'
_VIEW_OF_1 = (
    _name('numpy._core.numeric', '_frombuffer')
    + b'(h\x01'
    + _INT64
    + b'(K\x03t'
    + _text('C')
    + b'tR'
)

# Well-formed pieces that are put together so that one sees the memory of another.
SHARED_MEMORY = {
    'numbers over the pointers of an array': _object_array(3) + _VIEW_OF_1 + b'.',
    'a number put into an array of pointers': _object_array(3) + b'h\x01K\x00K\x07s.',
    'several of them': _object_array(3) + b'h\x01(K\x00K\x07u.',
    'a second state for an array': (
        _object_array(3) + b'h\x01(K\x01(K\x01t' + _INT64 + b'\x89C\x08' + b'A' * 8 + b'tb.'
    ),
    'a second state for a dtype': (
        b'\x80\x04' + _INT64 + b'(K\x03' + _text('>')
        + b'NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb.'
    ),
    'a field whose type is a text': (
        b'\x80\x04' + _dtype_of('V8') + b'(K\x03X\x01\x00\x00\x00|N' + _text('a') + b'\x85}'
        + _text('a') + _text('f8') + b'K\x00\x86sK\x08K\x01K\x10tb.'
    ),
    'an item of an array of numbers that has no state': (
        b'\x80\x04' + _name('numpy._core.multiarray', '_reconstruct') + _name('numpy', 'ndarray')
        + b'(K\x00tC\x01b\x87R.'
    ),
}  # fmt: skip


@pytest.mark.parametrize('name', SHARED_MEMORY)
def test_no_object_is_changed_once_it_is_made(name):
    with pytest.raises(pickle.UnpicklingError):
        pickles.loads(SHARED_MEMORY[name])


def test_a_state_for_a_copy_of_the_place_makes_another_object():
    # The place of a dtype twice on the stack; each gets a state, the second with another order.
    little, big = (
        b'(K\x03' + _text(order) + b'NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb' for order in '<>'
    )
    both = b'\x80\x04(' + _dtype_of('i8') + b'2' + little + b'q\x01' + b'0' + big + b'h\x01t.'
    assert pickles.loads(both) == (np.dtype('>i8'), np.dtype('<i8'))


def test_the_pieces_above_are_well_formed():
    # So that they are refused for how they are put together.
    assert pickles.loads(_object_array(3) + b'h\x01.').tolist() == [None] * 3
    assert pickles.loads(b'\x80\x04' + _INT64 + b'.') == np.dtype('<i8')


def test_a_length_does_not_allocate():
    with pytest.raises(pickle.UnpicklingError, match='malformed bytearray'):
        pickles.loads(b'\x80\x04cbuiltins\nbytearray\n\x8a\x06\xff\xff\xff\xff\xff\x7f\x85R.')


@pytest.mark.parametrize('data', [b'', b'not a pickle', pickle.dumps([1, 2, 3] * 99)[:-20]])
def test_damaged_files_are_named(data):
    file = io.BytesIO(data)
    file.name = 'ckpt.3'
    with pytest.raises(pickle.UnpicklingError, match='ckpt.3: not a readable pickle'):
        pickles.load(file)


def test_pandas_needs_to_be_asked_for():
    data = b'\x80\x04cpandas.core.frame\nDataFrame\n.'
    with pytest.raises(pickles.ForbiddenPickle, match='pandas.core.frame.DataFrame'):
        pickles.loads(data)
