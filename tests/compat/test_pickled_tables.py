"""Tables of pandas, which published baselines are pickled as, are read where they are asked for."""

import copyreg
import pickle

import pandas
import pytest

from dopamine_lite.compat import pickles


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
