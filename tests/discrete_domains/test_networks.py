"""Torsos, heads and noisy layers against NumPy; the networks' shapes and meanings."""

import math

import numpy as np
import pytest
import tensorflow as tf

from dopamine_lite.discrete_domains import legacy_networks, networks

v1 = tf.compat.v1


def evaluate(*tensors):
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        return session.run(tensors)


def test_noise_has_its_stated_mean_and_variance():
    (noise,) = evaluate(networks.draw_noise(200_000))
    assert abs(noise.mean()) < 0.01
    assert noise.var() == pytest.approx(math.sqrt(2 / math.pi), abs=0.01)  # E|e|
    assert np.mean(noise**4) == pytest.approx(1.0, abs=0.02)  # E[e^2]


def test_noisy_weights_are_the_factorised_ones():
    layer = networks.NoisyDense(3, 'relu')
    x = np.array([[1.0, -2.0], [0.5, 3.0]], np.float32)
    noise = np.array([0.3, -1.2, 0.7, -0.4, 2.0], np.float32)
    output = layer(tf.constant(x), tf.constant(noise))
    kernel_mu, kernel_sigma, bias_mu, bias_sigma, actual = evaluate(
        layer.kernel_mu, layer.kernel_sigma, layer.bias_mu, layer.bias_sigma, output
    )
    kernel = kernel_mu + kernel_sigma * np.outer(noise[:2], noise[2:])
    expected = np.maximum(x @ kernel + bias_mu + bias_sigma * noise[2:], 0)
    np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-6)


def test_noisy_parameters_start_as_in_the_paper():
    layer = networks.NoisyDense(50)
    layer(tf.zeros([1, 400]), tf.zeros([450]))
    kernel_mu, kernel_sigma, bias_mu, bias_sigma = evaluate(
        layer.kernel_mu, layer.kernel_sigma, layer.bias_mu, layer.bias_sigma
    )
    bound = 1 / math.sqrt(400)
    for means in (kernel_mu, bias_mu):
        assert np.abs(means).max() <= bound
        assert np.abs(means).max() > 0.8 * bound
    assert kernel_mu.std() == pytest.approx(bound / math.sqrt(3), rel=0.03)
    np.testing.assert_allclose(kernel_sigma, 0.5 * bound)
    np.testing.assert_allclose(bias_sigma, 0.5 * bound)


def test_noisy_outputs_have_the_mean_and_variance_of_their_weights():
    head = networks.Head(2, 1, hidden_units=None, noisy=True)
    x = np.array([[1.0, -2.0, 0.5]], np.float32)
    output = head(tf.constant(x))
    layer = head.advantage
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        draws = np.array([session.run(output)[0, :, 0] for _ in range(4000)])
        mean, sigma, bias, bias_sigma = session.run(
            [layer.kernel_mu, layer.kernel_sigma, layer.bias_mu, layer.bias_sigma]
        )
    # Kernel and bias share f(e'_j); given it, the outputs are normal-like with these moments.
    variance = 2 / math.pi * (x**2 @ sigma**2) + math.sqrt(2 / math.pi) * bias_sigma**2
    np.testing.assert_allclose(draws.mean(0), (x @ mean + bias)[0], atol=0.08)
    np.testing.assert_allclose(draws.var(0), variance[0], rtol=0.12)


def test_without_noise_the_means_are_left():
    head = networks.Head(2, 3, hidden_units=4, noisy=True, dueling=True)
    x = np.random.RandomState(0).normal(size=(5, 6)).astype(np.float32)
    quiet = head(tf.constant(x), noise=0.0)
    weights = [
        (layer.kernel_mu, layer.bias_mu) for layer in (head.hidden, head.value, head.advantage)
    ]
    flat = [part for layer in weights for part in layer]
    actual, *values = evaluate(quiet, *flat)
    hidden = np.maximum(x @ values[0] + values[1], 0)
    value = (hidden @ values[2] + values[3])[:, None, :]
    advantage = (hidden @ values[4] + values[5]).reshape(5, 2, 3)
    expected = value + advantage - advantage.mean(1, keepdims=True)
    np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-5)


def test_noise_is_one_draw_for_all_states_of_a_batch():
    head = networks.Head(2, 1, hidden_units=8, noisy=True)
    (output,) = evaluate(head(tf.ones([3, 6])))
    np.testing.assert_allclose(output[0], output[1], rtol=1e-6)
    np.testing.assert_allclose(output[0], output[2], rtol=1e-6)


def test_a_dueling_head_is_values_and_centred_advantages():
    head = networks.Head(3, 2, hidden_units=4, dueling=True)
    x = np.random.RandomState(1).normal(size=(5, 6)).astype(np.float32)
    output = head(tf.constant(x))
    layers = (head.hidden, head.value, head.advantage)
    actual, *values = evaluate(output, *(part for layer in layers for part in layer.weights))
    hidden = np.maximum(x @ values[0] + values[1], 0)
    value = (hidden @ values[2] + values[3])[:, None, :]
    advantage = (hidden @ values[4] + values[5]).reshape(5, 3, 2)
    np.testing.assert_allclose(
        actual, value + advantage - advantage.mean(1, keepdims=True), rtol=1e-4, atol=1e-5
    )
    np.testing.assert_allclose(actual.mean(1), value[:, 0], rtol=1e-4, atol=1e-5)


SUPPORT = np.linspace(-1, 1, 5, dtype=np.float32)


@pytest.mark.parametrize(
    ('pair', 'state_shape', 'arguments'),
    [
        (('DuelingDQNNetwork', 'NatureDQNNetwork'), (2, 84, 84, 4), ()),
        (('FullRainbowNetwork', 'RainbowNetwork'), (2, 84, 84, 4), (5, SUPPORT)),
        (('CartpoleDuelingDQNNetwork', 'CartpoleDQNNetwork'), (2, 4, 1, 1), ()),
        (('CartpoleFullRainbowNetwork', 'CartpoleRainbowNetwork'), (2, 4, 1, 1), (5, SUPPORT)),
    ],
)
def test_without_their_parts_the_networks_are_dopamines(pair, state_shape, arguments):
    states = np.random.RandomState(0).randint(0, 256, state_shape)
    states = tf.constant(states, tf.uint8 if 84 in state_shape else tf.float32)
    parts = {'dueling': False, **({'noisy': False} if arguments else {})}
    ours = getattr(networks, pair[0])(3, *arguments, **parts, name='ours')
    theirs = getattr(legacy_networks, pair[1])(3, *arguments, name='theirs')
    outputs = [ours(states).q_values, theirs(states).q_values]
    generator = np.random.RandomState(1)
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        for mine, other in zip(ours.variables, theirs.variables, strict=True):
            assert mine.shape == other.shape
            value = generator.normal(0, 0.1, mine.shape.as_list()).astype(np.float32)
            mine.load(value, session)
            other.load(value, session)
        np.testing.assert_array_equal(*session.run(outputs))


@pytest.mark.parametrize('name', ['QuantileNetwork', 'CartpoleQuantileNetwork'])
def test_quantile_networks_give_quantiles_and_their_means(name):
    pixels = name == 'QuantileNetwork'
    states = tf.ones([2, 84, 84, 4], tf.uint8) if pixels else tf.ones([2, 4, 1, 1])
    network = getattr(networks, name)(3, 7, name='Online')
    outputs = network(states)
    assert outputs.quantile_values.shape.as_list() == [2, 3, 7]
    q_values, quantiles = evaluate(outputs.q_values, outputs.quantile_values)
    np.testing.assert_allclose(q_values, quantiles.mean(2), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(('num_atoms', 'support'), [(5, SUPPORT), (None, None)])
def test_full_rainbow_networks_give_distributions_or_values(num_atoms, support):
    network = networks.CartpoleFullRainbowNetwork(3, num_atoms, support, name='Online')
    outputs = network(tf.ones([2, 4, 1, 1]))
    assert outputs.q_values.shape.as_list() == [2, 3]
    assert hasattr(outputs, 'logits') == (num_atoms is not None)
    if num_atoms:
        q_values, probabilities = evaluate(outputs.q_values, outputs.probabilities)
        np.testing.assert_allclose(probabilities.sum(2), np.ones([2, 3]), rtol=1e-5)
        np.testing.assert_allclose(q_values, probabilities @ SUPPORT, rtol=1e-4, atol=1e-6)


def test_variables_live_under_the_networks_name():
    for name in ('Online', 'Target'):
        networks.CartpoleFullRainbowNetwork(2, 5, SUPPORT, name=name)(tf.ones([2, 4, 1, 1]))
    expected = {
        f'{name}/{rest}'
        for name in ('Online', 'Target')
        for rest in (
            *('torso/fully_connected/kernel', 'torso/fully_connected/bias'),
            *(
                f'head/{layer}/{part}_{kind}'
                for layer in ('hidden', 'advantage', 'value')
                for part in ('kernel', 'bias')
                for kind in ('mu', 'sigma')
            ),
        )
    }
    assert {variable.op.name for variable in v1.trainable_variables()} == expected


def test_cartpoles_iqn_is_the_embedding_times_the_features(monkeypatch):
    fractions = np.array([[0.1], [0.9], [0.5], [0.25]], np.float32)
    monkeypatch.setattr(legacy_networks, '_draw_quantiles', lambda rows: tf.constant(fractions))
    network = networks.CartpoleImplicitQuantileNetwork(3, 6, name='Online')
    states = np.random.RandomState(0).normal(size=(2, 4, 1, 1)).astype(np.float32)
    outputs = network(tf.constant(states), 2)
    layers = (network.torso.dense, network.quantile_layer, network.head.hidden)
    parts = [*(p for layer in layers for p in layer.weights), *network.head.advantage.weights]
    actual, drawn, *w = evaluate(outputs.quantile_values, outputs.quantiles, *parts)
    np.testing.assert_array_equal(drawn, fractions)
    low, high = legacy_networks.CARTPOLE_MIN_VALS, legacy_networks.CARTPOLE_MAX_VALS
    scaled = 2 * (states.reshape(2, 4) - low) / (high - low) - 1
    features = np.maximum(scaled @ w[0] + w[1], 0)
    cosines = np.cos(np.pi * np.arange(1, 7) * fractions)
    embedding = np.maximum(cosines @ w[2] + w[3], 0)
    hidden = np.maximum((np.tile(features, [2, 1]) * embedding) @ w[4] + w[5], 0)
    np.testing.assert_allclose(actual, hidden @ w[6] + w[7], rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(
    ('name', 'arguments', 'last'),
    [
        ('MinAtarDQNNetwork', (), 6),
        ('MinAtarRainbowNetwork', (5, SUPPORT), 30),
        ('MinAtarQuantileNetwork', (4,), 24),
    ],
)
def test_minatars_networks_are_a_convolution_and_one_layer(name, arguments, last):
    network = getattr(networks, name)(6, *arguments, name='Online')
    outputs = network(tf.ones([2, 10, 10, 7, 1], tf.uint8))
    assert outputs.q_values.shape.as_list() == [2, 6]
    shapes = [variable.shape.as_list() for variable in network.variables]
    assert shapes == [[3, 3, 7, 16], [16], [1600, last], [last]]
