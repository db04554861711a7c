"""JSON for state: numbers, texts and containers as they are, bytes and arrays exactly.

Reading it back builds nothing but these, whatever the file says.
"""

import base64
import json
from typing import Any

import numpy as np

# Stands as the only key of an object for what JSON has no form for.
_BYTES, _TUPLE, _ARRAY, _SCALAR = '$bytes', '$tuple', '$array', '$scalar'


def dumps(value: Any) -> bytes:
    """Returns the text of a value.

    Args:
      value: None, bool, int, float, str, bytes, lists, tuples, dicts by text without a leading `$`,
        NumPy arrays and scalars without Python objects; nested.

    Raises:
      TypeError: something else is in it.
    """
    return json.dumps(_encode(value), separators=(',', ':')).encode()


def loads(text: bytes) -> Any:
    """Returns the value whose text `dumps` returned.

    Raises:
      ValueError: the text is damaged.
    """
    try:
        return json.loads(text, object_hook=_decode)
    except (TypeError, KeyError, RecursionError, MemoryError) as error:
        raise ValueError(f'damaged: {error}') from error


def _encode(value: Any) -> Any:
    if value is None or type(value) in (bool, int, float, str):
        return value
    if type(value) is bytes:
        return {_BYTES: base64.b64encode(value).decode()}
    if type(value) is list:
        return [_encode(item) for item in value]
    if type(value) is tuple:
        return {_TUPLE: [_encode(item) for item in value]}
    if type(value) is dict and all(type(k) is str and not k.startswith('$') for k in value):
        return {key: _encode(item) for key, item in value.items()}
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in 'biufc':
        kind = _ARRAY if isinstance(value, np.ndarray) else _SCALAR
        content = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode()
        return {kind: [value.dtype.str, list(value.shape), content]}
    raise TypeError(f'expected plain data, got {value!r:.100} of {type(value).__name__}')


def _decode(entry: dict[str, Any]) -> Any:
    if len(entry) != 1:
        return entry
    ((kind, content),) = entry.items()
    if kind == _BYTES:
        return base64.b64decode(content, validate=True)
    if kind == _TUPLE:
        return tuple(content)
    if kind in (_ARRAY, _SCALAR):
        name, shape, data = content
        dtype = np.dtype(name)
        if dtype.kind not in 'biufc':
            raise ValueError(f'expected an array of numbers, got {dtype}')
        flat = np.frombuffer(base64.b64decode(data, validate=True), dtype)
        array = flat.reshape(shape).copy()
        return array if kind == _ARRAY else array[()]
    return entry
