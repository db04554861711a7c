"""Networks against the values, names and shapes that Dopamine computed, and against NumPy."""

import itertools
import math
import pickle

import gin
import numpy as np
import pytest
import tensorflow as tf

from dopamine_lite.discrete_domains import legacy_networks

v1 = tf.compat.v1

ATARI = ('NatureDQNNetwork', 'RainbowNetwork', 'ImplicitQuantileNetwork')
CLASSIC = (
    'CartpoleDQNNetwork',
    'CartpoleRainbowNetwork',
    'CartpoleFourierDQNNetwork',
    'AcrobotDQNNetwork',
    'AcrobotRainbowNetwork',
    'AcrobotFourierDQNNetwork',
    'LunarLanderDQNNetwork',
    'MountainCarDQNNetwork',
)
NETWORKS = ATARI + CLASSIC  # in the golden file's order, which its weight seeds count
FUNCTIONS = {
    'NatureDQNNetwork': 'nature_dqn_network',
    'RainbowNetwork': 'rainbow_network',
    'ImplicitQuantileNetwork': 'implicit_quantile_network',
    'CartpoleDQNNetwork': 'cartpole_dqn_network',
    'CartpoleRainbowNetwork': 'cartpole_rainbow_network',
    'CartpoleFourierDQNNetwork': 'cartpole_fourier_dqn_network',
    'AcrobotDQNNetwork': 'acrobot_dqn_network',
    'AcrobotRainbowNetwork': 'acrobot_rainbow_network',
    'AcrobotFourierDQNNetwork': 'acrobot_fourier_dqn_network',
}
OUTPUT_TYPES = {
    'DQN': legacy_networks.DQNNetworkType,
    'Rainbow': legacy_networks.RainbowNetworkType,
    'Implicit': legacy_networks.ImplicitQuantileNetworkType,
}


class Golden:
    """What Dopamine computed for one network: arguments, input, weights and outputs."""

    def __init__(self, values, name):
        self._values, self._name = values, name
        arguments = self['arguments']
        self.arguments = [int(x) for x in arguments[:2]]
        if len(arguments) == 3:
            num_atoms, vmax = int(arguments[1]), float(arguments[2])
            self.arguments.append(tf.linspace(-vmax, vmax, num_atoms))
        self.input = self['input']
        self.state = v1.placeholder(tf.as_dtype(self.input.dtype), self.input.shape)
        self.is_iqn = name == 'ImplicitQuantileNetwork'
        self.output_type = next(t for key, t in OUTPUT_TYPES.items() if key in name)

    def __getitem__(self, key):
        return self._values[f'{self._name}/{key}']

    def weights(self, shapes):
        rng = np.random.default_rng(int(self._values['weight_seed']) + NETWORKS.index(self._name))
        return [
            (rng.normal(0, 0.08, s) if len(s) > 1 else np.full(s, 0.01)).astype(np.float32)
            for s in shapes
        ]

    def check_outputs(self, session, outputs):
        feed = {self.state: self.input}
        if self.is_iqn:
            feed[outputs.quantiles] = self['quantiles']
        assert type(outputs) is self.output_type
        for field in outputs._fields:
            if field != 'quantiles':
                tensor = getattr(outputs, field)
                assert tensor.dtype == tf.float32
                assert tuple(tensor.shape) == self[field].shape
                np.testing.assert_allclose(
                    session.run(tensor, feed), self[field], rtol=2e-3, atol=2e-3
                )


@pytest.mark.parametrize('name', NETWORKS)
def test_model_has_dopamines_variables_and_outputs(golden, name):
    want = Golden(golden('networks'), name)
    network = getattr(legacy_networks, name)(*want.arguments, name='Online')
    extra = (4,) if want.is_iqn else ()
    outputs = network(want.state, *extra)
    variables = network.trainable_variables
    assert [v.op.name for v in variables] == want['variable_names'].tolist()
    shapes = [tuple(v.shape) for v in variables]
    assert [','.join(map(str, s)) for s in shapes] == want['variable_shapes'].tolist()
    with v1.Session() as session:
        for variable, value in zip(variables, want.weights(shapes), strict=True):
            variable.load(value, session)
        want.check_outputs(session, outputs)


@pytest.mark.parametrize('name', sorted(FUNCTIONS))
def test_function_computes_what_its_model_does(golden, name):
    want = Golden(golden('networks'), name)
    function = getattr(legacy_networks, FUNCTIONS[name])

    def network(state):
        extra = (4,) if want.is_iqn else ()
        return function(*want.arguments, want.output_type, state, *extra)

    template = v1.make_template('Online', network)
    outputs = template(want.state)
    names = [v.op.name for v in v1.trainable_variables()]
    template(tf.zeros_like(want.state))
    assert [v.op.name for v in v1.trainable_variables()] == names  # the second call shares them

    expected = [n.replace('/basic_discrete_domain_network', '') for n in want['variable_names']]
    if want.is_iqn:  # the embedding is made before the dense layers here, and counts as one
        expected = [
            n.replace('fully_connected_1', 'fully_connected_2')
            .replace('fully_connected/', 'fully_connected_1/')
            .replace('dense/', 'fully_connected/')
            for n in expected
        ]
    expected = [n.replace('kernel', 'weights').replace('bias', 'biases') for n in expected]
    assert sorted(names) == sorted(expected)
    with v1.Session() as session:
        by_name = {v.op.name: v for v in v1.trainable_variables()}
        shapes = [tuple(by_name[n].shape) for n in expected]
        for n, value in zip(expected, want.weights(shapes), strict=True):
            by_name[n].load(value, session)
        want.check_outputs(session, outputs)


def variable_names(network, *inputs):
    network(*inputs)
    return [v.op.name for v in network.trainable_variables]


def test_the_target_has_the_onlines_names_but_for_keras_numbering():
    state = v1.placeholder(tf.float64, (1, 4, 1, 1))
    online = legacy_networks.CartpoleDQNNetwork(2, name='Online')
    target = legacy_networks.CartpoleDQNNetwork(2, name='Target')
    first = variable_names(online, state)
    assert variable_names(target, state) == [
        n.replace('Online/basic_discrete_domain_network', 'Target/basic_discrete_domain_network_1')
        for n in first
    ]


def test_the_quantile_embedding_of_the_target_is_dense_1():
    state = v1.placeholder(tf.uint8, (2, 84, 84, 4))
    online = legacy_networks.ImplicitQuantileNetwork(3, 8, name='Online')
    target = legacy_networks.ImplicitQuantileNetwork(3, 8, name='Target')
    assert variable_names(online, state, 2)[-1] == 'Online/dense/bias'
    assert variable_names(online, state, 5)[-1] == 'Online/dense/bias'  # one embedding, shared
    assert variable_names(target, state, 5)[-1] == 'Target/dense_1/bias'
    outputs = target(state, 5)
    assert tuple(outputs.quantile_values.shape) == (10, 3)
    assert tuple(outputs.quantiles.shape) == (10, 1)


def test_quantiles_are_uniform_and_drawn_anew():
    quantiles = legacy_networks._draw_quantiles(5000)
    with v1.Session() as session:
        first, second = session.run(quantiles), session.run(quantiles)
    assert first.shape == (5000, 1)
    assert 0.0 <= first.min() < 0.01
    assert 0.99 < first.max() < 1.0
    assert abs(first.mean() - 0.5) < 0.02
    assert not np.array_equal(first, second)


@pytest.mark.parametrize('name', ['RainbowNetwork', 'ImplicitQuantileNetwork'])
def test_distributional_kernels_are_uniform_by_fan_in(name):
    state = v1.placeholder(tf.uint8, (1, 84, 84, 4))
    arguments = (6, 51, tf.linspace(-10.0, 10.0, 51)) if name == 'RainbowNetwork' else (6, 64)
    network = getattr(legacy_networks, name)(*arguments, name='Online')
    network(*((state,) if name == 'RainbowNetwork' else (state, 1)))
    kernels = [v for v in network.trainable_variables if 'kernel' in v.op.name]
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        for kernel in session.run(kernels):
            limit = math.sqrt(math.sqrt(3.0) / np.prod(kernel.shape[:-1]))
            assert 0.98 * limit < np.abs(kernel).max() <= limit


def test_fourier_features_are_the_cosines_of_every_combination():
    basis = legacy_networks.FourierBasis(2, np.array([-1.0, 0.0]), np.array([1.0, 4.0]), order=2)
    values = np.array([[0.0, 1.0], [1.0, 4.0]], np.float32)
    scaled = np.array([[0.5, 0.25], [1.0, 1.0]])
    np.testing.assert_allclose(basis.scale(values), scaled)
    combinations = list(itertools.product(range(3), repeat=2))[1:]
    want = [[math.cos(math.pi * np.dot(c, row)) for c in combinations] for row in scaled]
    with v1.Session() as session:
        got = session.run(basis.compute_features(tf.constant(values)))
    np.testing.assert_allclose(got, want, atol=1e-6)


def test_fourier_basis_without_a_maximum_only_shifts():
    basis = legacy_networks.FourierBasis(2, min_vals=1.0)
    np.testing.assert_array_equal(basis.scale(np.array([3.0, 1.0])), [2.0, 0.0])


def test_states_of_another_width_are_refused():
    network = legacy_networks.CartpoleDQNNetwork(2, name='Online')
    with pytest.raises(ValueError, match='bounds for 4 values a state, got states of 6 values'):
        network(v1.placeholder(tf.float64, (1, 6, 1, 1)))


def test_output_types_survive_pickling():
    outputs = [
        legacy_networks.DQNNetworkType(1),
        legacy_networks.RainbowNetworkType(1, 2, 3),
        legacy_networks.ImplicitQuantileNetworkType(1, 2),
    ]
    loaded = pickle.loads(pickle.dumps(outputs))
    assert loaded == outputs
    assert [type(x) for x in loaded] == [type(x) for x in outputs]


def test_variable_names_turn_to_the_old_ones_only_when_asked():
    with v1.variable_scope('Online/bias_net/fully_connected'):
        kernel = v1.get_variable('kernel', (2, 3))
        bias = v1.get_variable('bias', (3,))
    variables = [kernel, bias]
    assert legacy_networks.maybe_transform_variable_names(variables) is variables
    gin.bind_parameter('maybe_transform_variable_names.legacy_checkpoint_load', True)
    assert legacy_networks.maybe_transform_variable_names(variables) == {
        'Online/bias_net/fully_connected/weights': kernel,
        'Online/bias_net/fully_connected/biases': bias,
    }


def test_gin_finds_the_networks_and_binds_the_parts_they_share():
    gin.parse_config('FourierDQNNetwork.fourier_basis_order = 1')
    gin.parse_config(
        'maker.network = @legacy_networks.CartpoleFourierDQNNetwork', skip_unknown=True
    )
    network = legacy_networks.CartpoleFourierDQNNetwork(2, name='Online')
    network(v1.placeholder(tf.float64, (1, 4, 1, 1)))
    assert tuple(network.trainable_variables[0].shape) == (2**4 - 1, 2)
    for name in NETWORKS:
        gin.config.parse_value(f'@legacy_networks.{name}')
