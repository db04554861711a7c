"""Pickles are read by allow-list: data comes in, code does not.

A pickle names the callables that rebuild its objects, so loading one from a stranger's run folder
runs whatever that stranger wrote. The files of a run folder need only a few types: containers,
scalars, NumPy arrays and the sum tree. `load` and `loads` rebuild those and refuse everything else
by name with a `ForbiddenPickle`. A class of one's own is let in with `dopamine_lite.compat.allow`.

Six things make the list tight enough to rely on:

* names are looked up whole in a table, so `os.system`, `builtins.getattr` or a dotted path through
  an allowed class are not in it;
* only entries of that table are ever called, so an object that the file itself built (a
  `functools.partial`, say) is data and stays uncalled;
* state is set only on instances of allowed classes, never on the classes themselves;
* the descriptions of NumPy dtypes and arrays are compared with what NumPy itself would have
  written before NumPy sees them: a dtype that denies holding object pointers would otherwise turn
  bytes of the file into addresses;
* a dtype, an array and a pandas table come to be when their description is complete, and nothing
  sets their state or writes to their items after that: what already refers to an array would
  otherwise be left with memory that is gone, or see numbers where there are pointers;
* tables are rebuilt by `pickled_tables`, which calls only what pandas offers to everybody.

The interpreter in C offers no hook for these, hence `pickle._Unpickler`, the Python twin
that the standard library keeps for this purpose. The bulk of these files is array bytes, which
either of them passes on as one piece.
"""

import collections
import functools
import importlib
import io
import pickle
import re
import sys
from collections.abc import Callable
from typing import Any, BinaryIO

import numpy as np

from dopamine_lite.compat import pickled_tables


class ForbiddenPickle(pickle.UnpicklingError):
    """A pickle names a class, function or operation that is not on the allow-list.

    Attributes:
        file: the name of the file, as given to `load` or `loads`.
        forbidden: the dotted name that was refused.
    """

    def __init__(self, file: str, forbidden: str, reason: str = ''):
        self.file = file
        self.forbidden = forbidden
        why = reason or (
            'it is not among the types that run folders hold. If it is a class of your own and '
            'you trust the file, allow it first: dopamine_lite.compat.allow(MyClass)'
        )
        super().__init__(f'{file}: refused to load {forbidden}: {why}')


_user_classes: dict[tuple[str, str], type] = {}


def allow(cls: type) -> type:
    """Lets pickles hold instances of `cls`, whose own constructor and `__setstate__` then run.

    Usable as a decorator. Raises TypeError for anything but a class: a function that a pickle may
    call with arguments of its choice is no safe thing to allow.
    """
    if not isinstance(cls, type):
        raise TypeError(f'allow expects a class, got {cls!r}')
    _user_classes[cls.__module__, cls.__qualname__] = cls
    return cls


def load(file: BinaryIO, name: str | None = None, *, pandas: bool = False) -> Any:
    """Reads one pickle from an open binary file.

    Args:
        file: where to read from.
        name: how errors call the file; its own name by default.
        pandas: whether the classes of a pandas DataFrame are allowed too.

    Raises:
        ForbiddenPickle: the pickle names something that is not allowed. Nothing of it was called.
        pickle.UnpicklingError: the bytes are no complete pickle.
    """
    name = str(name or getattr(file, 'name', None) or '<pickle>')
    try:
        value = _Unpickler(file, name, pandas).load()
        if type(value) is _Pending:
            raise pickle.UnpicklingError(f'{name}: ends before the state of an object')
        return value
    except (pickle.UnpicklingError, OSError):
        raise
    except Exception as error:  # damaged bytes end in any kind of error
        raise pickle.UnpicklingError(
            f'{name}: not a readable pickle ({type(error).__name__}: {error})'
        ) from error


def loads(data: bytes, name: str | None = None, *, pandas: bool = False) -> Any:
    """Reads one pickle from bytes; otherwise as `load`."""
    return load(io.BytesIO(data), name, pandas=pandas)


# Types that make sense as the factory of a defaultdict or the function of a partial.
_FACTORIES = (
    bool,
    bytearray,
    bytes,
    complex,
    dict,
    float,
    frozenset,
    int,
    list,
    set,
    str,
    tuple,
    collections.Counter,
    collections.OrderedDict,
    collections.defaultdict,
    collections.deque,
)

_NUMPY_SCALARS = (
    *('bool', 'bool_', 'int8', 'int16', 'int32', 'int64', 'uint8', 'uint16', 'uint32', 'uint64'),
    *('float16', 'float32', 'float64', 'longdouble', 'complex64', 'complex128'),
    *('str_', 'bytes_', 'void', 'datetime64', 'timedelta64'),
)

_SUM_TREE_MODULES = (
    'dopamine_lite.tf.replay_memory.sum_tree',
    'dopamine.tf.replay_memory.sum_tree',
    'dopamine.replay_memory.sum_tree',
)


def _sum_tree() -> type:
    return importlib.import_module('dopamine_lite.tf.replay_memory.sum_tree').SumTree


def _is_type(value: Any) -> bool:
    return any(value is factory for factory in _FACTORIES)


def _is_factory(value: Any) -> bool:
    return isinstance(value, functools.partial) or _is_type(value)  # `_partial` has judged it


def _malformed(what: str, got: Any) -> pickle.UnpicklingError:
    return pickle.UnpicklingError(f'malformed {what}: {got!r:.200}')


# Rebuilding functions: what a pickle may call, under the names that it calls them by.


def _bytes(*args: Any) -> bytes:
    # Python 3 writes empty bytes as `bytes()` in protocols 0 to 2.
    if args:
        raise _malformed('bytes', args)
    return b''


def _bytearray(*args: Any) -> bytearray:
    if args and not isinstance(args[0], bytes | str):
        raise _malformed('bytearray', args)  # a number would allocate that many bytes
    return bytearray(*args)


def _encode(text: str, encoding: str) -> bytes:
    # How protocols 0 to 2 spell bytes.
    if encoding not in ('latin1', 'latin-1'):
        raise _malformed('bytes', encoding)
    return text.encode('latin1')


def _defaultdict(factory: Any = None, *args: Any) -> collections.defaultdict:
    if factory is not None and not _is_factory(factory):
        raise _malformed('factory of a defaultdict', factory)
    return collections.defaultdict(factory, *args)


def _partial(function: Any, *args: Any) -> functools.partial:
    if not (_is_type(function) and all(_is_type(arg) for arg in args)):
        raise _malformed('partial', (function, args))
    return functools.partial(function, *args)


def _set_partial_state(partial: functools.partial, state: Any) -> None:
    function, args, keywords, attributes = state
    if keywords or attributes:
        raise _malformed('partial', state)
    _partial(function, *args)
    partial.__setstate__((function, tuple(args), {}, None))


def _deque(items: Any = (), maxlen: int | None = None) -> collections.deque:
    made = collections.deque(items, maxlen)
    _check_shallow(made)
    return made


def _slice(*args: Any) -> slice:
    if not all(arg is None or isinstance(arg, int) for arg in args):
        raise _malformed('slice', args)
    return slice(*args)


def _object_new(cls: type, base: type, state: Any) -> Any:
    # copyreg._reconstructor: how protocols 0 and 1 make an instance.
    if base is not object or state is not None:
        raise _malformed('object', (cls, base, state))
    return object.__new__(cls)


class _Pending:
    """The place of an object whose state is still to be read, which makes a new one each time."""

    def __init__(self, finish: Callable[[Any], Any]):
        self.finish = finish
        self.memo_keys: list[int] = []


class _Memo(dict):
    """The objects that a pickle refers to again; knows where it holds a `_Pending`."""

    def __setitem__(self, key: int, value: Any) -> None:
        super().__setitem__(key, value)
        if type(value) is _Pending:
            value.memo_keys.append(key)


_ALIGNED = 0x80  # among the flags of a dtype
_FOREIGN_ORDER = '>' if sys.byteorder == 'little' else '<'


def _dtype(spec: Any, align: Any = False, copy: Any = True) -> _Pending:
    del align, copy  # always a copy: setting state on one of NumPy's own would change it for all
    if not isinstance(spec, str):
        raise _malformed('dtype', spec)
    return _Pending(functools.partial(_finish_dtype, spec))


def _finish_dtype(spec: str, state: Any) -> np.dtype:
    """Makes the dtype that is described anew; the description itself never reaches NumPy."""
    _, order, subarray, names, fields, itemsize, _, flags, *unit = state
    if subarray is not None:
        item, shape = subarray
        if not isinstance(item, np.dtype) or not _is_shape(shape):
            raise _malformed('dtype', state)
        dtype = np.dtype((item, shape))
    elif names:
        columns = [fields[name] for name in names]
        for item, offset, *_ in columns:
            if not isinstance(item, np.dtype) or type(offset) is not int:
                raise _malformed('dtype', state)
        dtype = np.dtype(
            {
                'names': list(names),
                'formats': [column[0] for column in columns],
                'offsets': [column[1] for column in columns],
                'itemsize': itemsize,
            },
            align=bool(flags & _ALIGNED),
        )
    else:
        dtype = np.dtype(spec)
        if unit:
            dtype = _with_unit(dtype, *unit)
        if order == _FOREIGN_ORDER:
            dtype = dtype.newbyteorder(order)
    (written_spec, *_), written = dtype.__reduce__()[1:3]
    # The alignment may be another machine's, and the version another NumPy's.
    is_compound = subarray is not None or bool(names)
    if tuple(state[1:6]) != tuple(written[1:6]) or flags != written[7]:
        raise _malformed('dtype', state)
    if is_compound and spec != written_spec:
        raise _malformed('dtype', (spec, state))
    return dtype


def _with_unit(dtype: np.dtype, metadata: Any) -> np.dtype:
    """Returns a date or duration type with its unit, such as [('D', 1, 1, 1)]."""
    unit, number, divisor, _ = metadata[1]
    unit = unit.decode() if isinstance(unit, bytes) else unit
    whole = type(number) is int and number > 0 and divisor == 1
    if dtype.kind not in 'Mm' or not whole or not re.fullmatch('[A-Za-z]+', unit):
        raise _malformed('dtype', metadata)
    return np.dtype(f'{dtype.kind}8' + ('' if unit == 'generic' else f'[{number}{unit}]'))


def _is_shape(shape: Any) -> bool:
    return isinstance(shape, tuple) and all(type(n) is int and n >= 0 for n in shape)


def _raw_bytes(data: Any) -> Any:
    return data.encode('latin1') if isinstance(data, str) else data  # Python 2 wrote str


def _ndarray(subtype: type, shape: Any, typecode: Any) -> _Pending:
    del shape, typecode  # both are placeholders; the state holds the true ones
    if subtype is not np.ndarray:
        raise _malformed('array', subtype)
    return _Pending(_finish_ndarray)


def _finish_ndarray(state: Any) -> np.ndarray:
    version, shape, dtype, fortran, data = state
    data = _raw_bytes(data)
    if not (isinstance(dtype, np.dtype) and _is_shape(shape) and version == 1):
        raise _malformed('array', state)
    _check_item_type(dtype)
    size = functools.reduce(lambda a, b: a * b, shape, 1)
    if dtype.hasobject:
        complete = dtype.kind == 'O' and type(data) is list and len(data) == size
        _check_shallow(data)
    else:
        complete = isinstance(data, bytes | bytearray) and len(data) == size * dtype.itemsize
    if not complete:
        raise _malformed('array', (shape, dtype))
    array = np.empty(0, np.int8)
    array.__setstate__((version, shape, dtype, bool(fortran), data))
    return _checked_text(array)


def _check_item_type(dtype: np.dtype) -> None:
    # NumPy gives an array the dimensions of a subarray; its own functions expect no other.
    if dtype.subdtype is not None:
        raise _malformed('array', dtype)


def _checked_text(array: Any) -> Any:
    """Returns the array or scalar, if its texts are of code points that there are."""
    dtype = array.dtype
    if dtype.names:
        for name in dtype.names:
            _checked_text(array[name])
    elif dtype.kind == 'U' and dtype.itemsize and array.size:
        points = (
            np.ascontiguousarray(array)
            .reshape(-1)
            .view(np.dtype('u4').newbyteorder(dtype.byteorder))
        )
        if points.max() > sys.maxunicode:
            raise _malformed('text', dtype)
    return array


def _check_shallow(items: Any) -> None:
    """Refuses what Python, or NumPy, would take apart by one call within another for each level."""
    for item in items:
        is_array = isinstance(item, np.ndarray) and item.dtype.hasobject
        if is_array or isinstance(item, collections.deque):
            raise _malformed('container within a container', type(item))


def _frombuffer(buffer: Any, dtype: Any, shape: Any, order: Any, axis_order: Any = None) -> Any:
    # How protocol 5 writes contiguous arrays.
    if not isinstance(dtype, np.dtype) or dtype.hasobject:
        raise _malformed('array', dtype)
    if type(buffer) not in (bytes, bytearray):
        raise _malformed('array', type(buffer))  # another view of an array's memory, say
    _check_item_type(dtype)
    flat = _checked_text(np.frombuffer(buffer, dtype=dtype))
    if order == 'K' and axis_order is not None:
        return flat.reshape(shape).transpose(axis_order)
    return flat.reshape(shape, order=order)


def _scalar(dtype: Any, data: Any = b'') -> Any:
    data = _raw_bytes(data)
    if not isinstance(dtype, np.dtype) or dtype.hasobject:
        raise _malformed('scalar', dtype)
    if not isinstance(data, bytes) or len(data) != dtype.itemsize:
        raise _malformed('scalar', (dtype, data))
    _check_item_type(dtype)
    if dtype.itemsize:
        _checked_text(np.frombuffer(data, dtype))
    rebuild = np.float64(0).__reduce__()[0]
    return rebuild(dtype, data)


# Name in the file -> the function that stands for it when it is called.
_CALLABLE: dict[tuple[str, str], Callable] = {
    ('_codecs', 'encode'): _encode,
    ('collections', 'Counter'): collections.Counter,
    ('collections', 'OrderedDict'): collections.OrderedDict,
    ('collections', 'deque'): _deque,
    ('collections', 'defaultdict'): _defaultdict,
    ('functools', 'partial'): _partial,
    ('numpy', 'dtype'): _dtype,
}
for _module in ('builtins', '__builtin__'):
    _CALLABLE[_module, 'bytes'] = _bytes
    _CALLABLE[_module, 'bytearray'] = _bytearray
    _CALLABLE[_module, 'slice'] = _slice
    for _type in (complex, frozenset, set):
        _CALLABLE[_module, _type.__name__] = _type
for _module in ('copyreg', 'copy_reg'):
    _CALLABLE[_module, '_reconstructor'] = _object_new
for _module in ('numpy.core', 'numpy._core'):
    _CALLABLE[f'{_module}.multiarray', '_reconstruct'] = _ndarray
    _CALLABLE[f'{_module}.multiarray', 'scalar'] = _scalar
    _CALLABLE[f'{_module}.numeric', '_frombuffer'] = _frombuffer

# Name in the file -> the type that stands for it as a value.
_VALUES: dict[tuple[str, str], Any] = {
    (_module, _type.__name__): _type
    for _module in ('builtins', '__builtin__')
    for _type in (*_FACTORIES[:12], object, slice)
}
_VALUES.update((('collections', _type.__name__), _type) for _type in _FACTORIES[12:])
_VALUES['__builtin__', 'long'] = int
_VALUES['__builtin__', 'unicode'] = str
_VALUES['numpy', 'ndarray'] = np.ndarray
_VALUES.update((('numpy', _name), getattr(np, _name)) for _name in _NUMPY_SCALARS)


class _Unpickler(pickle._Unpickler):
    dispatch = dict(pickle._Unpickler.dispatch)

    def __init__(self, file: BinaryIO, name: str, pandas: bool):
        # Files written by Python 2 hold byte strings, which latin1 maps one to one.
        super().__init__(file, encoding='latin1')
        self.memo = _Memo()
        self._name = name
        self._pandas = pandas
        self._instance_types: set[type] = set()
        self._callables: dict[int, Callable] = {}
        self._kept: list[Any] = []  # keeps the ids in `_callables` alive

    def find_class(self, module: str, name: str) -> Any:
        key = (module, name)
        if key in _user_classes or (module in _SUM_TREE_MODULES and name == 'SumTree'):
            cls = _user_classes.get(key) or _sum_tree()
            self._instance_types.add(cls)
            return self._register(cls, cls)
        if key in _CALLABLE:
            call = _CALLABLE[key]
            return self._register(_VALUES.get(key, call), call)
        if key in _VALUES:
            return _VALUES[key]
        if self._pandas and key in pickled_tables.STAND_INS:
            found = pickled_tables.STAND_INS[key]
            if found in pickled_tables.INSTANCES:
                self._instance_types.add(found)
            return self._register(found, found)
        raise ForbiddenPickle(self._name, f'{module}.{name}')

    def _register(self, value: Any, call: Callable) -> Any:
        self._callables[id(value)] = call
        self._kept.append(value)
        return value

    def _forbid(self, value: Any, action: str) -> ForbiddenPickle:
        what = getattr(value, '__qualname__', None) or type(value).__qualname__
        return ForbiddenPickle(self._name, what, f'no pickle of a run folder {action}')

    def _call(self, function: Any, args: tuple, keywords: dict | None = None) -> Any:
        call = self._callables.get(id(function))
        if call is None or keywords:
            raise self._forbid(function, 'calls it')
        return call(*args)

    def _new(self, cls: Any, args: tuple, keywords: dict | None = None) -> Any:
        if self._pandas and cls in pickled_tables.FINISHED_BY and not args and not keywords:
            return _Pending(pickled_tables.FINISHED_BY[cls])
        if not (isinstance(cls, type) and cls in self._instance_types):
            raise self._forbid(cls, 'makes an instance of it this way')
        return cls.__new__(cls, *args, **(keywords or {}))

    # The operations of the format that call something or set state. Data operations (lists, dicts,
    # numbers, strings) are the standard library's.

    def load_reduce(self) -> None:
        args = self.stack.pop()
        self.stack[-1] = self._call(self.stack[-1], args)

    def load_newobj(self) -> None:
        args = self.stack.pop()
        self.stack[-1] = self._new(self.stack[-1], args)

    def load_newobj_ex(self) -> None:
        keywords = self.stack.pop()
        args = self.stack.pop()
        self.stack[-1] = self._new(self.stack[-1], args, keywords)

    def _instantiate(self, klass: Any, args: Any) -> None:
        self.append(self._call(klass, tuple(args)))

    def get_extension(self, code: int) -> None:
        raise ForbiddenPickle(self._name, f'extension code {code}')

    def load_build(self) -> None:
        instance, state = self.stack[-2], self.stack[-1]
        kind = type(instance)
        if kind is _Pending:
            self.stack.pop()
            self.stack[-1] = instance.finish(state)
            for key in instance.memo_keys:
                self.memo[key] = self.stack[-1]
        elif kind is functools.partial:
            _set_partial_state(instance, state)
            self.stack.pop()
        elif kind in self._instance_types:
            super().load_build()
        else:
            raise self._forbid(instance, 'sets its state')

    # The operations that put something into what they find. An array would take it too, and its
    # memory may be another's.

    def _check_container(self, container: Any, kinds: tuple[type, ...]) -> None:
        if not isinstance(container, (*kinds, *_user_classes.values())):
            raise self._forbid(container, 'puts items into it')

    def load_setitem(self) -> None:
        self._check_container(self.stack[-3], (dict,))
        super().load_setitem()

    def load_setitems(self) -> None:
        self._check_container(self.metastack[-1][-1], (dict,))
        super().load_setitems()

    def load_append(self) -> None:
        self._check_container(self.stack[-2], (list, collections.deque))
        if isinstance(self.stack[-2], collections.deque):
            _check_shallow(self.stack[-1:])
        super().load_append()

    def load_appends(self) -> None:
        self._check_container(self.metastack[-1][-1], (list, collections.deque))
        if isinstance(self.metastack[-1][-1], collections.deque):
            _check_shallow(self.stack)
        super().load_appends()

    def load_additems(self) -> None:
        self._check_container(self.metastack[-1][-1], (set,))
        super().load_additems()

    dispatch[pickle.SETITEM[0]] = load_setitem
    dispatch[pickle.SETITEMS[0]] = load_setitems
    dispatch[pickle.APPEND[0]] = load_append
    dispatch[pickle.APPENDS[0]] = load_appends
    dispatch[pickle.ADDITEMS[0]] = load_additems
    dispatch[pickle.REDUCE[0]] = load_reduce
    dispatch[pickle.NEWOBJ[0]] = load_newobj
    dispatch[pickle.NEWOBJ_EX[0]] = load_newobj_ex
    dispatch[pickle.BUILD[0]] = load_build
