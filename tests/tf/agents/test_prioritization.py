"""Priorities, weights and beta against the paper's formulas."""

import numpy as np
import pytest
import tensorflow as tf

from dopamine_lite.tf.agents import prioritization
from dopamine_lite.tf.agents.prioritization import Prioritization

v1 = tf.compat.v1


def evaluate(tensor):
    with v1.Session() as session:
        return session.run(tensor)


def weights_of_the_paper(priorities, sampled, beta):
    """w_i = (N P(i))^-beta over the largest of the batch, with P(i) = p_i / sum_k p_k."""
    total, number = sum(priorities), len(priorities)
    weights = [(number * priorities[i] / total) ** -beta for i in sampled]
    return np.array(weights) / max(weights)


@pytest.mark.parametrize('beta', [0.0, 0.4, 0.5, 1.0])
def test_weights_are_the_papers_with_the_number_and_the_total_left_out(beta):
    priorities = [0.5, 3.0, 0.25, 8.0, 1.0]
    sampled = [3, 0, 0, 2]
    given = tf.constant([priorities[i] for i in sampled], tf.float32)
    for exponent in (beta, tf.constant(beta, tf.float32)):
        weights = evaluate(prioritization.importance_weights(given, exponent))
        np.testing.assert_allclose(
            weights, weights_of_the_paper(priorities, sampled, beta), rtol=1e-5
        )


@pytest.mark.parametrize('alpha', [0.0, 0.3, 0.5, 0.6, 1.0])
def test_priorities_are_powers_of_the_errors(alpha):
    errors = np.array([0.0, 0.25, 1.0, 7.0], np.float32)
    priorities = evaluate(Prioritization(alpha=alpha, epsilon=0.01).priorities(tf.constant(errors)))
    np.testing.assert_allclose(priorities, [(e + 0.01) ** alpha for e in errors], rtol=1e-5)


def test_rainbows_setting_has_the_very_numbers_of_square_roots():
    values = np.random.RandomState(3).uniform(0, 9, 200).astype(np.float32)
    tiny = np.float32(1e-10)
    np.testing.assert_array_equal(
        evaluate(Prioritization().priorities(tf.constant(values))), np.sqrt(values + tiny)
    )
    roots = 1 / np.sqrt(values + tiny)
    np.testing.assert_array_equal(
        evaluate(Prioritization().weights(tf.constant(values), lambda: 0)), roots / roots.max()
    )


@pytest.mark.parametrize(
    ('training_steps', 'beta'), [(0, 0.4), (1, 0.406), (50, 0.7), (100, 1.0), (10**9, 1.0)]
)
def test_beta_rises_linearly_to_one(training_steps, beta):
    annealed = Prioritization(beta=0.4, beta_anneal_steps=100)
    assert annealed.beta_at(training_steps) == pytest.approx(beta)
    assert Prioritization(beta=0.4).beta_at(training_steps) == 0.4


def test_annealed_weights_follow_the_training_steps():
    steps = [0]
    sampled = np.array([1.0, 4.0], np.float32)
    weights = Prioritization(beta=0.0, beta_anneal_steps=4).weights(
        tf.constant(sampled), lambda: steps[0]
    )
    with v1.Session() as session:
        for steps[0], second in ((0, 1.0), (2, 0.5), (4, 0.25), (9, 0.25)):
            np.testing.assert_allclose(session.run(weights), [1.0, second], rtol=1e-6)


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        ({'alpha': -0.1}, r'alpha must be in \[0, 1\], got -0.1'),
        ({'alpha': 1.5}, r'alpha must be in \[0, 1\], got 1.5'),
        ({'beta': 2}, r'beta must be in \[0, 1\], got 2'),
        ({'beta': float('nan')}, r'beta must be in \[0, 1\], got nan'),
        ({'beta_anneal_steps': 0}, 'beta_anneal_steps must be above 0, got 0'),
        ({'epsilon': 0.0}, 'priority_epsilon must be above 0, got 0.0'),
    ],
)
def test_values_outside_their_range_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Prioritization(**arguments)
