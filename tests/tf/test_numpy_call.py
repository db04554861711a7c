"""A direct call of NumPy code gives what `tf.numpy_function` gives."""

import gc

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.ops import script_ops

from dopamine_lite.tf import numpy_call

v1 = tf.compat.v1


def is_direct(tensor):
    function = script_ops._py_funcs.get(tensor.op.get_attr('token').decode())
    return isinstance(function, script_ops.EagerFunc)


@pytest.fixture(params=['direct', 'wrapped'])
def make(request, monkeypatch):
    """`numpy_function`, and the same where TensorFlow's registry is not as expected."""
    if request.param == 'wrapped':
        monkeypatch.setattr(numpy_call, '_call_directly', lambda *args: None)
    return numpy_call.numpy_function


@pytest.mark.parametrize(
    ('function', 'types', 'expected'),
    [
        (lambda v: v[::-1] * 2, tf.float32, [6.0, 4.0, 2.0]),
        (lambda v: [v, [4, 5]], [tf.float32, tf.int64], [[1.0, 2.0, 3.0], [4, 5]]),
        (lambda v: (v.reshape(3, 1).T, v.max()), [tf.float32] * 2, [[[1.0, 2.0, 3.0]], 3.0]),
        (lambda v: np.asfortranarray(np.outer(v, v[:2])), tf.float32, [[1, 2], [2, 4], [3, 6]]),
        (lambda v: np.empty((0, 2), np.float32), tf.float32, np.empty((0, 2))),
    ],
    ids=['one', 'list', 'tuple', 'column-major', 'empty'],
)
def test_results(make, function, types, expected):
    result = make(function, [tf.constant([1.0, 2.0, 3.0])], types, 'call')
    gc.collect()  # the graph keeps the function
    values = v1.Session().run(result)
    for value, wanted in zip(
        values if isinstance(types, list) else [values],
        expected if isinstance(types, list) else [expected],
        strict=True,
    ):
        np.testing.assert_array_equal(value, wanted)


def test_no_results(make):
    seen = []
    operation = make(lambda v: seen.append(v.tolist()), [tf.constant([1, 2])], [], 'call')
    session = v1.Session()
    session.run(operation)
    session.run(operation)
    assert seen == [[1, 2], [1, 2]]


def test_errors(make):
    def fail():
        raise ValueError('no such batch')

    with pytest.raises(tf.errors.InvalidArgumentError, match='no such batch'):
        v1.Session().run(make(fail, [], tf.float32, 'call'))
    with pytest.raises(tf.errors.InvalidArgumentError, match='float'):
        v1.Session().run(make(lambda: np.zeros(2), [], tf.float32, 'call'))


def test_is_direct_with_this_tensorflow():
    assert is_direct(numpy_call.numpy_function(lambda: np.zeros(1), [], tf.float64, 'call'))


def test_an_operation_without_a_token_is_left_alone():
    numpy_call._call_directly(print, tf.no_op())
