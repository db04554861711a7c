"""Tables of pandas, which published baselines are pickled as, are read where they are asked for."""

import copyreg
import pickle

import numpy
import pandas
import pytest

from dopamine_lite.compat import pickled_tables, pickles


def _table():
    return pandas.DataFrame(
        {'Iteration': [0, 1], 'Value': [1.5, 2.5], 'Agent': ['DQN', 'C51'], 'Game': ['Pong'] * 2}
    )


TABLES = {
    'table': _table,
    'index': lambda: _table().set_index('Iteration'),
    'column': lambda: _table()['Agent'],
    'means': lambda: _table().groupby('Agent').mean(numeric_only=True),
    'objects': lambda: _table().astype(object),
}


@pytest.mark.parametrize('protocol', range(2, pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize('name', TABLES)
def test_tables_come_back(name, protocol):
    table = TABLES[name]()
    data = pickle.dumps(table, protocol)
    assert pickles.loads(data, pandas=True).equals(table)
    with pytest.raises(pickles.ForbiddenPickle, match='refused to load pandas'):
        pickles.loads(data)


class _Made:
    """Pickles as an instance of `cls` with a state."""

    def __init__(self, cls, state):
        self.cls, self.state = cls, state

    __class__ = property(lambda self: self.cls)  # which pickle compares

    def __reduce__(self):
        return copyreg.__newobj__, (self.cls,), self.state


class _Call:
    """Pickles as a call of `function`."""

    def __init__(self, function, *args):
        self.function, self.args = function, args

    def __reduce__(self):
        return self.function, self.args


def _table_of(blocks, axes):
    from pandas.core.internals.managers import BlockManager

    manager = _Call(BlockManager, tuple(_Call(_block(), *block) for block in blocks), axes)
    return _Made(pandas.DataFrame, {'_mgr': manager})


def _block():
    from pandas._libs.internals import _unpickle_block

    return _unpickle_block


AXES = [pandas.Index(['a', 'b']), pandas.RangeIndex(2)]
VALUES = numpy.arange(4.0).reshape(2, 2)


def test_a_table_is_made_of_its_blocks():
    restored = pickles.loads(
        pickle.dumps(_table_of([(VALUES, slice(0, 2, 1), 2)], AXES)), pandas=True
    )
    assert restored.to_dict('list') == {'a': [0.0, 1.0], 'b': [2.0, 3.0]}


@pytest.mark.parametrize(
    'table',
    [
        _table_of([(VALUES, slice(0, 3, 1), 2)], [pandas.Index(['a', 'b', 'c']), AXES[1]]),
        _table_of([(VALUES, numpy.array([0, 10**9]), 2)], AXES),
        _table_of([(VALUES, numpy.array([0, -1]), 2)], AXES),
        _table_of([(VALUES, numpy.array([0, 0]), 2)], AXES),
        _table_of([(VALUES[:, :1], slice(0, 2, 1), 2)], AXES),
        _table_of([(VALUES[:1], slice(0, 1, 1), 2)], AXES),
        _table_of([(7, 0, 2), (VALUES[1], 1, 2)], AXES),
        _table_of([], ['a', 'b']),
    ],
)
def test_tables_whose_pieces_do_not_fit_are_refused(table):
    with pytest.raises(pickle.UnpicklingError, match='malformed'):
        pickles.loads(pickle.dumps(table), pandas=True)


def test_an_index_is_of_no_other_class():
    # numpy.ndarray(buffer=...) would see bytes of the file as pointers.
    new_index = pandas.Index([1]).__reduce__()[0]
    hostile = _Call(new_index, numpy.ndarray, {'shape': 1, 'buffer': b'A' * 8})
    with pytest.raises(pickle.UnpicklingError, match='malformed index'):
        pickles.loads(pickle.dumps(hostile), pandas=True)


def test_no_name_of_pandas_leads_to_its_insides():
    for stand_in in pickled_tables.STAND_INS.values():
        assert stand_in.__module__ == pickled_tables.__name__


def test_tables_of_2018_come_back():
    # pandas 0.2x: the blocks of a table under '0.14.1', its manager as `_data`.
    from pandas.core.internals.managers import BlockManager

    table = pandas.DataFrame({'a': [1.5, 2.5], 'b': [3.5, 4.5]})
    axes = [pandas.Index(['a', 'b'], dtype=object), table.index]
    blocks = [{'values': table.to_numpy().T, 'mgr_locs': slice(0, 2, 1)}]
    manager = _Made(BlockManager, (axes, [], [], {'0.14.1': {'axes': axes, 'blocks': blocks}}))
    old = _Made(pandas.DataFrame, {'_data': manager, '_typ': 'dataframe', '_metadata': []})
    restored = pickles.loads(pickle.dumps(old, 2), pandas=True)
    assert restored.to_dict('list') == table.to_dict('list')
