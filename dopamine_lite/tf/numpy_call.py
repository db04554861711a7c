"""Calls of NumPy code from a graph, without what `tf.numpy_function` spends on each array.

TensorFlow passes every array that such a call returns through a conversion that compares version
strings, about 10 us an array: more than drawing a small batch takes. The arrays of the replay memory
need none. The registry of such functions is private, so where it is not as expected the call stays
as `tf.numpy_function` made it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.ops import script_ops


def numpy_function(
    function: Callable[..., Any], inputs: Sequence[tf.Tensor], types: Any, name: str
) -> Any:
    """Returns what `tf.numpy_function` returns.

    Args:
      function: called with the inputs' arrays at each run; returns an array for each type, a list or
        tuple of them, or None where there are no types.
      inputs: tensors.
      types: a dtype, or a list of them.
      name: of the operation.
    """
    result = tf.numpy_function(function, inputs, types, name=name)
    first = result[0] if isinstance(result, (list, tuple)) and result else result
    operation = first.op if isinstance(first, tf.Tensor) else first
    if isinstance(operation, tf.Operation):
        _call_directly(function, operation)
    return result


def _call_directly(function: Callable[..., Any], operation: tf.Operation) -> None:
    """Puts `function` itself in the place of its wrapped form, where the registry allows that."""
    try:
        direct = _direct_class()(function)
        functions = script_ops._py_funcs._funcs
        token = operation.get_attr('token').decode()
        kept = operation.graph._py_funcs_used_in_graph
    except (AttributeError, TypeError, ValueError):
        return
    if token in functions and isinstance(kept, list):
        functions[token] = direct  # a weak reference
        kept.append(direct)


def _direct_class() -> type:
    class Direct(script_ops.EagerFunc):
        """The one kind of function whose result the registry hands on as it is."""

        def __init__(self, function: Callable[..., Any]):
            self._function = function

        def __call__(self, unused_device: Any, unused_token: Any, arrays: Sequence[Any]) -> list:
            result = self._function(*arrays)
            if result is None:
                return []
            if not isinstance(result, (list, tuple)):
                result = (result,)
            return [np.asarray(array, order='C') for array in result]

    return Direct
