import random

import numpy as np
import pytest
import tensorflow as tf

from dopamine_lite.tf import random_streams


def build(seed):
    graph = tf.Graph()
    with graph.as_default():
        tf.compat.v1.set_random_seed(seed)
        draws = [random_streams.uniform([2, 3]), random_streams.uniform([2, 3])]
        draws.append(random_streams.normal([1000]))
    return graph, tf.compat.v1.Session(graph=graph), draws


def test_draws_repeat_with_the_seed_and_differ_otherwise():
    (_, first, a), (_, second, b), (_, third, c) = build(5), build(5), build(6)
    for _ in range(3):
        x, y, z = first.run(a), second.run(b), third.run(c)
        for i in range(3):
            np.testing.assert_array_equal(x[i], y[i])
            assert (x[i] != z[i]).any()
        assert (x[0] != x[1]).any()


def test_what_is_drawn():
    _, session, (uniform, _, normal) = build(5)
    values = np.concatenate([session.run(uniform).ravel() for _ in range(300)])
    assert values.dtype == np.float32
    assert 0 <= values.min() and values.max() < 1
    assert len(set(values.tolist())) > 1700
    assert abs(values.mean() - 0.5) < 0.03 and abs(values.std() - 12**-0.5) < 0.02
    values = session.run(normal)
    assert abs(values.mean()) < 0.15 and abs(values.std() - 1) < 0.1
    assert uniform.shape == (2, 3)


def test_the_state_is_plain_and_goes_on_elsewhere():
    graph, session, draws = build(5)
    session.run(draws)
    session.run(draws[0])
    state = random_streams.get_state(graph)
    assert [count for _, count in state] == [2, 1, 1]
    other_graph, other, others = build(None)
    random_streams.set_state(other_graph, state)
    for x, y in zip(session.run(draws), other.run(others), strict=True):
        np.testing.assert_array_equal(x, y)
    with pytest.raises(ValueError, match='3 random streams, got 2'):
        random_streams.set_state(graph, state[:2])
    assert random_streams.get_state(graph) == random_streams.get_state(other_graph)


def test_nothing_else_is_drawn_from_and_no_variable_is_made():
    states = random.getstate(), np.random.get_state()[1].tolist()
    graph, session, draws = build(None)
    session.run(draws)
    assert (random.getstate(), np.random.get_state()[1].tolist()) == states
    with graph.as_default():
        assert tf.compat.v1.global_variables() == []


def test_a_graph_without_draws():
    assert random_streams.get_state(tf.Graph()) == []
    random_streams.set_state(tf.Graph(), [])
