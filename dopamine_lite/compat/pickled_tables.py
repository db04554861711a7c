"""Tables of pandas out of pickles, rebuilt through pandas' public constructors.

A pickled table holds the insides of pandas: blocks of values, which columns each of them fills, and
the axes. Handing those to pandas' own insides would mean to trust the file, for they check no bounds
and copy no memory. So each name that such a pickle calls is stood for by a function or class here,
which keeps the pieces and at the end makes a table of the columns.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np


class MalformedTable(ValueError):
    """The pieces of a pickled table do not fit together."""


def _expect(condition: bool, what: str, got: Any) -> None:
    if not condition:
        raise MalformedTable(f'malformed {what}: {got!r:.200}')


@dataclasses.dataclass
class Strings:
    """A pandas array of text, of which only the values are kept; pandas chooses the type anew."""

    values: Any = None

    def __setstate__(self, state: Any) -> None:
        _expect(isinstance(state, tuple), 'array of text', state)
        arrays = [part for part in state if isinstance(part, np.ndarray)]
        _expect(len(arrays) == 1, 'array of text', state)
        self.values = arrays[0].reshape(-1)
        text = all(isinstance(value, str | float | None) for value in self.values.tolist())
        _expect(self.values.dtype == object and text, 'array of text', state)


def new_strings(cls: Any, checksum: Any = None, state: Any = None) -> Strings:
    """Stands for the function of pandas that makes an array of text."""
    del checksum
    _expect(cls is Strings, 'array of text', cls)
    strings = Strings()
    if state is not None:
        strings.__setstate__(state)
    return strings


def string_type(*args: Any) -> None:
    """Stands for the type of an array of text."""


class Index:
    """Stands for an index of labels."""


class RangeIndex:
    """Stands for an index of equally spaced numbers."""


def new_index(cls: Any, parts: Any) -> Any:
    """Makes a pandas index of the keyword arguments in the file."""
    import pandas

    _expect(cls in (Index, RangeIndex) and isinstance(parts, dict), 'index', (cls, parts))
    name = parts.get('name')
    if cls is RangeIndex:
        bounds = [parts.get('start', 0), parts.get('stop'), parts.get('step', 1)]
        _expect(all(type(bound) is int for bound in bounds) and bounds[2] != 0, 'index', parts)
        return pandas.RangeIndex(*bounds, name=name)
    data = parts.get('data')
    if isinstance(data, Strings):
        return pandas.Index(data.values, name=name)
    _expect(isinstance(data, np.ndarray) and data.ndim == 1, 'index', parts)
    return pandas.Index(data, name=name, dtype=data.dtype)


@dataclasses.dataclass
class Block:
    """Columns that are stored together.

    Attributes:
      values: [columns, rows], [rows] of a single one, or `Strings`.
      placement: which columns of the table they are.
    """

    values: Any
    placement: Any


def new_block(values: Any, placement: Any, ndim: Any = None) -> Block:
    """Stands for the functions of pandas that make a block."""
    del ndim
    return Block(values, placement)


@dataclasses.dataclass
class Manager:
    """The axes and blocks of a table (columns first) or of a single column."""

    blocks: Any = ()
    axes: Any = ()

    def __setstate__(self, state: Any) -> None:
        # Blocks by name, as pandas has written them since 0.14.1, beside what was read before.
        _expect(isinstance(state, tuple) and len(state) >= 4, 'table', state)
        extra = state[3].get('0.14.1') if isinstance(state[3], dict) else None
        _expect(isinstance(extra, dict), 'table', state)
        blocks = extra.get('blocks')
        _expect(isinstance(blocks, list | tuple), 'table', extra)
        _expect(all(isinstance(block, dict) for block in blocks), 'table', extra)
        self.blocks = [Block(block.get('values'), block.get('mgr_locs')) for block in blocks]
        self.axes = extra.get('axes')

    def checked(self, num_axes: int) -> Manager:
        """Returns itself; raises MalformedTable unless it has so many axes, and blocks."""
        import pandas

        axes, blocks = self.axes, self.blocks
        _expect(isinstance(axes, list | tuple) and len(axes) == num_axes, 'table', axes)
        _expect(all(isinstance(axis, pandas.Index) for axis in axes), 'table', axes)
        _expect(isinstance(blocks, list | tuple), 'table', blocks)
        _expect(all(isinstance(block, Block) for block in blocks), 'table', blocks)
        return self


class DataFrame:
    """Stands for a table until its state is there."""


class Series:
    """Stands for a column until its state is there."""


def _manager(state: Any, num_axes: int) -> Manager:
    _expect(isinstance(state, dict), 'table', state)
    manager = state.get('_mgr', state.get('_data'))  # as pandas calls it since 1.1, and before
    _expect(isinstance(manager, Manager), 'table', manager)
    return manager.checked(num_axes)


def _column(values: Any, index: Any, name: Any = None) -> Any:
    import pandas

    if isinstance(values, Strings):
        _expect(len(values.values) == len(index), 'column', values)
        return pandas.Series(values.values, index=index, name=name)
    _expect(isinstance(values, np.ndarray) and values.shape == (len(index),), 'column', values)
    return pandas.Series(values, index=index, name=name, dtype=values.dtype)


def _positions(placement: Any, num_columns: int) -> list[int]:
    """Returns which columns a block fills."""
    if isinstance(placement, slice):
        numbers = [placement.start, placement.stop, placement.step]
        _expect(all(n is None or type(n) is int for n in numbers), 'table', placement)
        return list(range(*placement.indices(num_columns)))
    if isinstance(placement, np.ndarray):
        _expect(placement.ndim == 1 and placement.dtype.kind in 'iu', 'table', placement)
        return placement.tolist()
    _expect(type(placement) is int, 'table', placement)
    return [placement]


def data_frame(state: Any) -> Any:
    """Makes a pandas DataFrame of its pickled state.

    Raises:
      MalformedTable: the blocks do not fill each column once.
    """
    import pandas

    manager = _manager(state, num_axes=2)
    names, index = manager.axes
    columns: dict[int, Any] = {}
    for block in manager.blocks:
        positions = _positions(block.placement, len(names))
        rows = [block.values] if np.ndim(block.values) < 2 else list(block.values)
        _expect(len(rows) == len(positions), 'table', block)
        for position, values in zip(positions, rows, strict=True):
            _expect(position not in columns, 'table', block)
            columns[position] = _column(values, index)
    _expect(sorted(columns) == list(range(len(names))), 'table', sorted(columns))
    table = pandas.DataFrame({i: columns[i] for i in range(len(names))}, index=index)
    table.columns = names
    return table


def series(state: Any) -> Any:
    """Makes a pandas Series of its pickled state.

    Raises:
      MalformedTable: it does not have one block.
    """
    manager = _manager(state, num_axes=1)
    _expect(len(manager.blocks) == 1, 'column', manager.blocks)
    name = state.get('_name', state.get('name'))
    return _column(manager.blocks[0].values, manager.axes[0], name)


_BASES = ('pandas', 'pandas.core.indexes.base', 'pandas.indexes.base', 'pandas.core.index')
_INDEXES = (
    *_BASES,
    *('pandas.core.indexes.range', 'pandas.core.indexes.numeric'),
    *('pandas.indexes.range', 'pandas.indexes.numeric'),
)
_STRINGS = ('pandas', 'pandas.arrays', 'pandas.core.arrays.string_')

# Name in the file -> what stands for it.
STAND_INS: dict[tuple[str, str], Any] = {
    **{(module, 'DataFrame'): DataFrame for module in ('pandas', 'pandas.core.frame')},
    **{(module, 'Series'): Series for module in ('pandas', 'pandas.core.series')},
    **{
        (module, name): Manager
        for module in ('pandas.core.internals', 'pandas.core.internals.managers')
        for name in ('BlockManager', 'SingleBlockManager')
    },
    **{
        (module, name): RangeIndex if name == 'RangeIndex' else Index
        for module in _INDEXES
        for name in ('Index', 'RangeIndex', 'Int64Index', 'Float64Index')
    },
    **{(module, '_new_Index'): new_index for module in _BASES[1:]},
    **{
        (module, name): Strings
        for module in _STRINGS
        for name in ('StringArray', 'StringArrayNumpySemantics')
    },
    **{(module, 'StringDtype'): string_type for module in _STRINGS},
    ('pandas.core.internals.blocks', 'new_block'): new_block,
    ('pandas._libs.internals', '_unpickle_block'): new_block,
    ('pandas._libs.arrays', '__pyx_unpickle_NDArrayBacked'): new_strings,
}
# Stand-ins that are made empty, and those of them which their state makes into another object.
INSTANCES = (Manager, Strings)
FINISHED_BY = {DataFrame: data_frame, Series: series}
