"""A prepared call gives what `Session.run` gives, and leaves everything unusual to it."""

import numpy as np
import pytest
import tensorflow as tf

from dopamine_lite.tf.prepared_call import PreparedCall

v1 = tf.compat.v1


@pytest.fixture
def graph():
    """A session, a placeholder [2, 3] and a tensor made of it."""
    session = v1.Session()
    placeholder = v1.placeholder(tf.float32, [2, 3])
    result = tf.reduce_sum(placeholder * [[1.0, 10.0, 100.0]], axis=1)
    yield session, placeholder, result
    session.close()


VALUE = np.arange(6, dtype=np.float32).reshape(2, 3)


def is_prepared(call):
    return call._callable is not None


def test_evaluates_as_run(graph):
    session, placeholder, result = graph
    call = PreparedCall(session, result, placeholder)
    assert is_prepared(call)
    for value in (VALUE, -VALUE):
        np.testing.assert_array_equal(
            call.evaluate(value), session.run(result, {placeholder: value})
        )
    np.testing.assert_array_equal(call.evaluate(VALUE), [210.0, 543.0])


@pytest.mark.parametrize(
    'value',
    [VALUE.astype(np.float64), VALUE.astype(np.int64), VALUE.tolist(), VALUE.T.copy().T],
    ids=['float64', 'int64', 'list', 'column-major'],
)
def test_value_is_cast(graph, value):
    session, placeholder, result = graph
    call = PreparedCall(session, result, placeholder)
    np.testing.assert_array_equal(call.evaluate(value), [210.0, 543.0])


@pytest.mark.parametrize('shape', [(3, 2), (6,), (1, 2, 3), ()])
def test_wrong_shape(graph, shape):
    session, placeholder, result = graph
    call = PreparedCall(session, result, placeholder)
    with pytest.raises(ValueError, match=r'Placeholder.* takes shape \(2, 3\), got \('):
        call.evaluate(np.zeros(shape))


def test_executes_every_operation_once_a_call(graph):
    session, _, _ = graph
    variables = [v1.get_variable(name, initializer=0) for name in ('first', 'second')]
    session.run(v1.global_variables_initializer())
    additions = [variables[0].assign_add(1), (variables[1].assign_add(10).op, tf.no_op())]
    call = PreparedCall(session, additions)
    assert is_prepared(call)
    for _ in range(3):
        assert call.execute() is None
    assert session.run(variables) == [3, 30]


def test_is_for_exactly_its_objects(graph):
    session, placeholder, result = graph
    call = PreparedCall(session, result, placeholder)
    assert call.is_for(session, result, placeholder)
    assert not call.is_for(v1.Session(), result, placeholder)
    assert not call.is_for(session, tf.identity(result), placeholder)
    assert not call.is_for(session, result, v1.placeholder(tf.float32, [2, 3]))
    assert not call.is_for(session, result)


def test_graph_may_grow_afterwards(graph):
    session, placeholder, result = graph
    call = PreparedCall(session, result, placeholder)
    assert not session.graph.finalized
    more = tf.constant(5) + 1
    assert session.run(more) == 6
    np.testing.assert_array_equal(call.evaluate(VALUE), [210.0, 543.0])


# What is left to `Session.run`.


def test_session_without_the_private_method(graph, monkeypatch):
    session, placeholder, result = graph
    private = '_make_callable_from_options'
    owner = next(cls for cls in v1.Session.__mro__ if private in vars(cls))
    monkeypatch.delattr(owner, private)
    call = PreparedCall(session, result, placeholder)
    assert not is_prepared(call)
    np.testing.assert_array_equal(call.evaluate(VALUE), [210.0, 543.0])
    variable = v1.get_variable('variable', initializer=0)
    session.run(variable.initializer)
    PreparedCall(session, [variable.assign_add(2)]).execute()
    assert session.run(variable) == 2


class CountingSession(v1.Session):
    runs = 0

    def run(self, *arguments, **keywords):
        self.runs += 1
        return super().run(*arguments, **keywords)


def test_session_that_overrides_run(graph):
    _, placeholder, result = graph
    session = CountingSession()
    call = PreparedCall(session, result, placeholder)
    np.testing.assert_array_equal(call.evaluate(VALUE), [210.0, 543.0])
    PreparedCall(session, [tf.no_op()]).execute()
    assert session.runs == 2


def test_session_whose_run_is_patched(graph, monkeypatch):
    session, placeholder, result = graph
    before = PreparedCall(session, result, placeholder)
    monkeypatch.setattr(session, 'run', lambda *arguments: 'patched')
    assert not before.is_for(session, result, placeholder)
    call = PreparedCall(session, result, placeholder)
    assert call.is_for(session, result, placeholder)
    assert call.evaluate(VALUE) == 'patched'


class Stranger:
    """A session that is none, and asks for no certain fetches or values."""

    def __init__(self):
        self.asked = []

    def run(self, *arguments):
        self.asked.append(arguments)
        return 'anything'


def test_session_of_another_class():
    session, fetches, feed = Stranger(), object(), object()
    assert PreparedCall(session, fetches, feed).evaluate('value') == 'anything'
    PreparedCall(session, fetches).execute()
    assert session.asked == [(fetches, {feed: 'value'}), (fetches,)]


def test_placeholder_of_unknown_shape(graph):
    session, _, _ = graph
    placeholder = v1.placeholder(tf.float32, [None])
    call = PreparedCall(session, 2 * placeholder, placeholder)
    assert not is_prepared(call)
    np.testing.assert_array_equal(call.evaluate([1, 2, 3]), [2.0, 4.0, 6.0])
    np.testing.assert_array_equal(call.evaluate([1]), [2.0])


def test_fetches_that_are_no_tensor(graph):
    session, placeholder, result = graph
    call = PreparedCall(session, {'sum': result, 'twice': 2 * result}, placeholder)
    assert not is_prepared(call)
    np.testing.assert_array_equal(call.evaluate(VALUE)['twice'], [420.0, 1086.0])
    call = PreparedCall(session, [v1.get_variable('a_variable', initializer=1.0)])
    assert not is_prepared(call)
    with pytest.raises(tf.errors.FailedPreconditionError):
        call.execute()  # it was run: it is not initialized
