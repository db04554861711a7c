"""Networks of the TensorFlow agents, for Atari 2600 and for classic control.

A network comes in two forms that compute the same function:

- a Keras model, built as `Network(num_actions, ..., name='Online')`, which is what the agents use
  and whose variable names are those of Dopamine's checkpoints;
- a plain function `network(num_actions, ..., network_type, state)` for code written before the
  agents took Keras models. It creates its variables by `tf.compat.v1.get_variable` under the
  variable scope (or template) that is open, named `weights` and `biases`.

States are `[B, height, width, K]` (Atari, uint8 in 0..255) or `[B, n, 1, 1]` (classic control) with
B the batch, K the stack, A the actions, Z the atoms, N the quantiles and D a flattened width.
"""

import collections
import itertools
import math

import gin
import numpy as np
import tensorflow as tf
import tf_keras

from dopamine_lite.tf import random_streams

NATURE_DQN_OBSERVATION_SHAPE = (84, 84)
NATURE_DQN_DTYPE = tf.uint8
NATURE_DQN_STACK_SIZE = 4

# Bounds that put the observations of classic control in [-1, 1]; velocities have no bound of their
# own, so theirs are what a learning agent meets.
CARTPOLE_MIN_VALS = np.array([-2.4, -5.0, -math.pi / 12.0, -math.pi * 2.0])
CARTPOLE_MAX_VALS = np.array([2.4, 5.0, math.pi / 12.0, math.pi * 2.0])
ACROBOT_MIN_VALS = np.array([-1.0, -1.0, -1.0, -1.0, -5.0, -5.0])
ACROBOT_MAX_VALS = np.array([1.0, 1.0, 1.0, 1.0, 5.0, 5.0])
MOUNTAINCAR_MIN_VALS = np.array([-1.2, -0.07])
MOUNTAINCAR_MAX_VALS = np.array([0.6, 0.07])

# Pickle finds a named tuple by its type name, so each also answers under that name.
DQNNetworkType = dqn_network = collections.namedtuple('dqn_network', ['q_values'])
RainbowNetworkType = c51_network = collections.namedtuple(
    'c51_network', ['q_values', 'logits', 'probabilities']
)
ImplicitQuantileNetworkType = iqn_network = collections.namedtuple(
    'iqn_network', ['quantile_values', 'quantiles']
)

# No `if` or loop of a network depends on a tensor. Asking AutoGraph whether one does, layer by layer,
# takes a third of a second at every start.
_as_written = tf.autograph.experimental.do_not_convert

# The convolutions of Mnih et al. 2015, "Human-level control through deep reinforcement learning":
# filters, kernel size, stride. Like Dopamine, and unlike the paper, they pad to SAME.
_NATURE_CONVOLUTIONS = ((32, 8, 4), (64, 4, 2), (64, 3, 1))
_HIDDEN_UNITS = 512


@gin.configurable(denylist=['variables'])
def maybe_transform_variable_names(variables, legacy_checkpoint_load: bool = False):
    """Returns what a `Saver` takes as `var_list` to read a checkpoint into `variables`.

    Args:
      variables: the graph's variables.
      legacy_checkpoint_load: whether the checkpoint was written before networks were Keras models,
        with `weights` and `biases` where Keras says `kernel` and `bias`.

    Returns:
      `variables` itself, or a dict from each variable's name in such a checkpoint to the variable.
    """
    if not legacy_checkpoint_load:
        return variables
    legacy = {'kernel': 'weights', 'bias': 'biases'}
    return {
        '/'.join(legacy.get(part, part) for part in variable.op.name.split('/')): variable
        for variable in variables
    }


# Initializers come as these makers: one instance gives equal values to kernels of equal shape.
_glorot_initializer = tf_keras.initializers.GlorotUniform


def _fan_in_initializer():
    """Uniform in +-sqrt(sqrt(3) / fan_in), which C51 and IQN use for every kernel."""
    return tf_keras.initializers.VarianceScaling(
        scale=1.0 / math.sqrt(3.0), mode='fan_in', distribution='uniform'
    )


def _flatten(x: tf.Tensor) -> tf.Tensor:
    """Flattens all but the first axis; static shapes need no op but the reshape."""
    return tf.reshape(x, [-1, x.shape[1:].num_elements()])  # [B, D]


def _nature_features(state: tf.Tensor, convolutions) -> tf.Tensor:
    """Applies the convolutions to pixels scaled to [0, 1]."""
    x = tf.cast(state, tf.float32) / 255.0  # [B, height, width, K]
    for convolution in convolutions:
        x = convolution(x)
    return _flatten(x)  # [B, D]


def _rescaled(state: tf.Tensor, min_vals, max_vals) -> tf.Tensor:
    """Maps each of a state's values from [min, max] to [-1, 1]; `min_vals=None` leaves them."""
    x = _flatten(tf.cast(state, tf.float32))  # [B, D]
    if min_vals is None:
        return x
    low, high = np.asarray(min_vals, np.float64), np.asarray(max_vals, np.float64)
    if low.size not in (1, x.shape[1]):
        raise ValueError(
            f'the network has bounds for {low.size} values a state, got states of {x.shape[1]} '
            f'values (shape {tuple(state.shape)})'
        )
    # 2 (x - low) / (high - low) - 1 as one product and one sum.
    scale = 2.0 / (high - low)
    return x * scale.astype(np.float32) - (low * scale + 1.0).astype(np.float32)


def _c51_outputs(network_type, outputs, num_actions: int, num_atoms: int, support):
    """Turns `[B, A * Z]` outputs into distributions over `support` [Z], and their means."""
    logits = tf.reshape(outputs, [-1, num_actions, num_atoms])  # [B, A, Z]
    probabilities = tf.nn.softmax(logits)  # [B, A, Z]
    q_values = tf.reduce_sum(support * probabilities, axis=2)  # [B, A]
    return network_type(q_values, logits, probabilities)


def _draw_quantiles(rows: int) -> tf.Tensor:
    """Draws the quantile fractions tau, uniform in [0, 1), one a row."""
    return random_streams.uniform([rows, 1])  # [N * B, 1]


def _quantile_cosines(quantiles: tf.Tensor, embedding_dim: int) -> tf.Tensor:
    """Returns cos(pi i tau) for i = 1..embedding_dim (Eq. 4 of arXiv:1806.06923, which has i - 1)."""
    frequencies = np.pi * np.arange(1, embedding_dim + 1, dtype=np.float32)
    return tf.cos(quantiles * frequencies)  # [N * B, embedding_dim]


class FourierBasis:
    """Cosine features of Konidaris et al. 2011, "Value function approximation ... Fourier basis".

    Attributes:
      nvars: how many values a state has.
      order: the largest coefficient of a value.
      multipliers: float32 `[(order + 1) ** nvars - 1, nvars]`, every coefficient vector c but zero.
    """

    def __init__(self, nvars: int, min_vals=0, max_vals=None, order: int = 3):
        self.nvars = nvars
        self.order = order
        self.min_vals = min_vals
        self.max_vals = max_vals
        coefficients = itertools.product(range(order + 1), repeat=nvars)
        self.multipliers = np.array(list(coefficients)[1:], dtype=np.float32)

    def scale(self, values):
        """Maps `values` from [min_vals, max_vals] to [0, 1]; without a maximum only shifts them."""
        shifted = values - self.min_vals
        if self.max_vals is None:
            return shifted
        return shifted / (self.max_vals - self.min_vals)

    def compute_features(self, features) -> tf.Tensor:
        """Returns cos(pi c . scaled) for every c: float32 `[B, nvars]` to `[B, features]`."""
        scaled = tf.cast(self.scale(features), tf.float32)
        return tf.cos(tf.matmul(scaled, (np.pi * self.multipliers.T).astype(np.float32)))


def _fourier_features(state: tf.Tensor, min_vals, max_vals, order: int) -> tf.Tensor:
    x = _flatten(tf.cast(state, tf.float32))  # [B, D]
    return FourierBasis(x.shape[1], min_vals, max_vals, order=order).compute_features(x)


# --- Keras models ---------------------------------------------------------------------------------


class _NatureModel(tf_keras.Model):
    """The layers that the three Atari networks share, under the names their checkpoints have."""

    def __init__(self, num_actions: int, num_outputs: int, make_initializer, name=None):
        super().__init__(name=name)
        self.num_actions = num_actions
        self._make_initializer = make_initializer
        self.conv1, self.conv2, self.conv3 = (
            tf_keras.layers.Conv2D(
                filters,
                kernel_size,
                strides=stride,
                padding='same',
                activation='relu',
                kernel_initializer=make_initializer(),
                name=layer_name,
            )
            for (filters, kernel_size, stride), layer_name in zip(
                _NATURE_CONVOLUTIONS, ('Conv', 'Conv_1', 'Conv_2'), strict=True
            )
        )
        self.flatten = tf_keras.layers.Flatten()  # for subclasses with a `call` of their own
        self.dense1 = tf_keras.layers.Dense(
            _HIDDEN_UNITS,
            activation='relu',
            kernel_initializer=make_initializer(),
            name='fully_connected',
        )
        self.dense2 = tf_keras.layers.Dense(
            num_outputs, kernel_initializer=make_initializer(), name='fully_connected_1'
        )

    def _features(self, state):
        return _nature_features(state, (self.conv1, self.conv2, self.conv3))  # [B, D]

    def _outputs(self, features):
        return self.dense2(self.dense1(features))


@gin.configurable
class NatureDQNNetwork(_NatureModel):
    """The convolutional network of DQN (Mnih et al. 2015), for `[B, 84, 84, 4]` uint8 states."""

    def __init__(self, num_actions: int, name=None):
        super().__init__(num_actions, num_actions, _glorot_initializer, name=name)

    @_as_written
    def call(self, state) -> DQNNetworkType:
        """Returns `q_values` float32 [B, A]."""
        return DQNNetworkType(self._outputs(self._features(state)))


@gin.configurable
class RainbowNetwork(_NatureModel):
    """A distribution over `support` [Z] for each action (C51, arXiv:1707.06887), of pixels."""

    def __init__(self, num_actions: int, num_atoms: int, support, name=None):
        super().__init__(num_actions, num_actions * num_atoms, _fan_in_initializer, name=name)
        self.num_atoms = num_atoms
        self.support = support

    @_as_written
    def call(self, state) -> RainbowNetworkType:
        """Returns `q_values` [B, A], `logits` and `probabilities` [B, A, Z], all float32."""
        outputs = self._outputs(self._features(state))
        return _c51_outputs(
            RainbowNetworkType, outputs, self.num_actions, self.num_atoms, self.support
        )


@gin.configurable
class ImplicitQuantileNetwork(_NatureModel):
    """Values of random quantiles of the return (IQN, arXiv:1806.06923), of pixels."""

    def __init__(self, num_actions: int, quantile_embedding_dim: int, name=None):
        super().__init__(num_actions, num_actions, _fan_in_initializer, name=name)
        self.quantile_embedding_dim = quantile_embedding_dim
        self.quantile_layer = None

    @_as_written
    def call(self, state, num_quantiles: int) -> ImplicitQuantileNetworkType:
        """Returns `quantile_values` [N * B, A] and `quantiles` [N * B, 1], float32.

        Row `n * B + b` belongs to quantile n of state b. The batch has to be known statically.
        """
        batch_size = state.shape[0]
        features = self._features(state)  # [B, D]
        if self.quantile_layer is None:
            # Its width is the features', known only now; its name is Keras's own ('dense').
            self.quantile_layer = tf_keras.layers.Dense(
                features.shape[1],
                activation='relu',
                kernel_initializer=self._make_initializer(),
            )
        quantiles = _draw_quantiles(num_quantiles * batch_size)  # [N * B, 1]
        embedding = self.quantile_layer(_quantile_cosines(quantiles, self.quantile_embedding_dim))
        joint = tf.tile(features, [num_quantiles, 1]) * embedding  # [N * B, D]
        return ImplicitQuantileNetworkType(self._outputs(joint), quantiles)


@gin.configurable
class BasicDiscreteDomainNetwork(tf_keras.layers.Layer):
    """Two hidden layers of 512 for states of a few numbers.

    Args:
      min_vals: each value's minimum, which maps to -1; None leaves the states as they are.
      max_vals: each value's maximum, which maps to 1.
      num_actions: A.
      num_atoms: atoms of each action's distribution; None for one value an action.
      name: of the layer, in its variables' names.
      activation_fn: of the hidden layers.
    """

    def __init__(
        self,
        min_vals,
        max_vals,
        num_actions: int,
        num_atoms: int | None = None,
        name=None,
        activation_fn=tf_keras.activations.relu,
    ):
        super().__init__(name=name)
        self.num_actions = num_actions
        self.num_atoms = num_atoms
        self.min_vals = min_vals
        self.max_vals = max_vals
        self.dense1 = tf_keras.layers.Dense(
            _HIDDEN_UNITS, activation=activation_fn, name='fully_connected'
        )
        self.dense2 = tf_keras.layers.Dense(
            _HIDDEN_UNITS, activation=activation_fn, name='fully_connected_1'
        )
        self.last_layer = tf_keras.layers.Dense(
            num_actions * (1 if num_atoms is None else num_atoms), name='fully_connected_2'
        )

    @_as_written
    def call(self, state):
        """Returns float32 [B, A], or [B, A * Z] with atoms."""
        x = _rescaled(state, self.min_vals, self.max_vals)
        return self.last_layer(self.dense2(self.dense1(x)))


class _BasicDQNModel(tf_keras.Model):
    """Q-values by a `BasicDiscreteDomainNetwork` with the bounds of an environment."""

    def __init__(self, min_vals, max_vals, num_actions: int, name=None):
        super().__init__(name=name)
        self.net = BasicDiscreteDomainNetwork(min_vals, max_vals, num_actions)

    @_as_written
    def call(self, state) -> DQNNetworkType:
        """Returns `q_values` float32 [B, A]."""
        return DQNNetworkType(self.net(state))


class _BasicRainbowModel(tf_keras.Model):
    """Distributions by a `BasicDiscreteDomainNetwork` with the bounds of an environment."""

    def __init__(self, min_vals, max_vals, num_actions, num_atoms, support, name=None):
        super().__init__(name=name)
        self.num_actions = num_actions
        self.num_atoms = num_atoms
        self.support = support
        self.net = BasicDiscreteDomainNetwork(min_vals, max_vals, num_actions, num_atoms=num_atoms)

    @_as_written
    def call(self, state) -> RainbowNetworkType:
        """Returns `q_values` [B, A], `logits` and `probabilities` [B, A, Z], all float32."""
        return _c51_outputs(
            RainbowNetworkType, self.net(state), self.num_actions, self.num_atoms, self.support
        )


@gin.configurable
class CartpoleDQNNetwork(_BasicDQNModel):
    """DQN for CartPole."""

    def __init__(self, num_actions: int, name=None):
        super().__init__(CARTPOLE_MIN_VALS, CARTPOLE_MAX_VALS, num_actions, name=name)


@gin.configurable
class AcrobotDQNNetwork(_BasicDQNModel):
    """DQN for Acrobot."""

    def __init__(self, num_actions: int, name=None):
        super().__init__(ACROBOT_MIN_VALS, ACROBOT_MAX_VALS, num_actions, name=name)


@gin.configurable
class LunarLanderDQNNetwork(_BasicDQNModel):
    """DQN for LunarLander, whose observations come scaled."""

    def __init__(self, num_actions: int, name=None):
        super().__init__(None, None, num_actions, name=name)


@gin.configurable
class MountainCarDQNNetwork(_BasicDQNModel):
    """DQN for MountainCar."""

    def __init__(self, num_actions: int, name=None):
        super().__init__(MOUNTAINCAR_MIN_VALS, MOUNTAINCAR_MAX_VALS, num_actions, name=name)


@gin.configurable
class CartpoleRainbowNetwork(_BasicRainbowModel):
    """C51 and Rainbow for CartPole."""

    def __init__(self, num_actions: int, num_atoms: int, support, name=None):
        super().__init__(
            CARTPOLE_MIN_VALS, CARTPOLE_MAX_VALS, num_actions, num_atoms, support, name=name
        )


@gin.configurable
class AcrobotRainbowNetwork(_BasicRainbowModel):
    """C51 and Rainbow for Acrobot."""

    def __init__(self, num_actions: int, num_atoms: int, support, name=None):
        super().__init__(
            ACROBOT_MIN_VALS, ACROBOT_MAX_VALS, num_actions, num_atoms, support, name=name
        )


@gin.configurable
class FourierDQNNetwork(tf_keras.Model):
    """Q-values linear in the Fourier features of the state.

    Args:
      min_vals: each value's minimum, which maps to 0.
      max_vals: each value's maximum, which maps to 1.
      num_actions: A.
      fourier_basis_order: the largest coefficient of a value.
      name: of the model, in its variables' names.
    """

    def __init__(
        self, min_vals, max_vals, num_actions: int, fourier_basis_order: int = 3, name=None
    ):
        super().__init__(name=name)
        self.num_actions = num_actions
        self.fourier_basis_order = fourier_basis_order
        self.min_vals = min_vals
        self.max_vals = max_vals
        self.last_layer = tf_keras.layers.Dense(num_actions, use_bias=False, name='fully_connected')

    @_as_written
    def call(self, state) -> DQNNetworkType:
        """Returns `q_values` float32 [B, A]."""
        features = _fourier_features(state, self.min_vals, self.max_vals, self.fourier_basis_order)
        return DQNNetworkType(self.last_layer(features))


@gin.configurable
class CartpoleFourierDQNNetwork(FourierDQNNetwork):
    """Linear DQN for CartPole."""

    def __init__(self, num_actions: int, name=None):
        super().__init__(CARTPOLE_MIN_VALS, CARTPOLE_MAX_VALS, num_actions, name=name)


@gin.configurable
class AcrobotFourierDQNNetwork(FourierDQNNetwork):
    """Linear DQN for Acrobot."""

    def __init__(self, num_actions: int, name=None):
        super().__init__(ACROBOT_MIN_VALS, ACROBOT_MAX_VALS, num_actions, name=name)


# --- Plain functions ------------------------------------------------------------------------------


def _weights_and_biases(shape, make_initializer, use_bias: bool = True):
    weights = tf.compat.v1.get_variable('weights', shape, tf.float32, make_initializer())
    if not use_bias:
        return weights, None
    biases = tf.compat.v1.get_variable(
        'biases', shape[-1:], tf.float32, tf.compat.v1.zeros_initializer()
    )
    return weights, biases


def _dense(
    x, units: int, activation=None, make_initializer=_glorot_initializer, use_bias: bool = True
):
    """A dense layer whose scope is the next free one of fully_connected, fully_connected_1, ..."""
    with tf.compat.v1.variable_scope(None, default_name='fully_connected'):
        weights, biases = _weights_and_biases([x.shape[1], units], make_initializer, use_bias)
        x = tf.matmul(x, weights)
        if use_bias:
            x = tf.nn.bias_add(x, biases)
        return x if activation is None else activation(x)


def _convolution(filters: int, kernel_size: int, stride: int, make_initializer=_glorot_initializer):
    """A convolution with ReLU whose scope is the next free one of Conv, Conv_1, ..."""

    def apply(x):
        with tf.compat.v1.variable_scope(None, default_name='Conv'):
            weights, biases = _weights_and_biases(
                [kernel_size, kernel_size, x.shape[-1], filters], make_initializer
            )
            x = tf.nn.conv2d(x, weights, strides=stride, padding='SAME')
            return tf.nn.relu(tf.nn.bias_add(x, biases))

    return apply


def _nature_torso(state, make_initializer=_glorot_initializer):
    convolutions = [_convolution(*shape, make_initializer) for shape in _NATURE_CONVOLUTIONS]
    return _nature_features(state, convolutions)


def nature_dqn_network(num_actions, network_type, state):
    """Returns `network_type(q_values)`; see `NatureDQNNetwork`."""
    x = _dense(_nature_torso(state), _HIDDEN_UNITS, tf.nn.relu)
    return network_type(_dense(x, num_actions))


def rainbow_network(num_actions, num_atoms, support, network_type, state):
    """Returns `network_type(q_values, logits, probabilities)`; see `RainbowNetwork`."""
    x = _dense(
        _nature_torso(state, _fan_in_initializer), _HIDDEN_UNITS, tf.nn.relu, _fan_in_initializer
    )
    outputs = _dense(x, num_actions * num_atoms, make_initializer=_fan_in_initializer)
    return _c51_outputs(network_type, outputs, num_actions, num_atoms, support)


def implicit_quantile_network(
    num_actions, quantile_embedding_dim, network_type, state, num_quantiles
):
    """Returns `network_type(quantile_values, quantiles)`; see `ImplicitQuantileNetwork`."""
    features = _nature_torso(state, _fan_in_initializer)  # [B, D]
    quantiles = _draw_quantiles(num_quantiles * state.shape[0])  # [N * B, 1]
    embedding = _dense(
        _quantile_cosines(quantiles, quantile_embedding_dim),
        features.shape[1],
        tf.nn.relu,
        _fan_in_initializer,
    )
    x = tf.tile(features, [num_quantiles, 1]) * embedding  # [N * B, D]
    x = _dense(x, _HIDDEN_UNITS, tf.nn.relu, _fan_in_initializer)
    return network_type(_dense(x, num_actions, make_initializer=_fan_in_initializer), quantiles)


@gin.configurable
def _basic_discrete_domain_network(min_vals, max_vals, num_actions, state, num_atoms=None):
    """Returns float32 [B, A], or [B, A * Z] with atoms; see `BasicDiscreteDomainNetwork`."""
    x = _rescaled(state, min_vals, max_vals)
    for _ in range(2):
        x = _dense(x, _HIDDEN_UNITS, tf.nn.relu)
    return _dense(x, num_actions * (1 if num_atoms is None else num_atoms))


@gin.configurable
def cartpole_dqn_network(num_actions, network_type, state):
    """Returns `network_type(q_values)`; see `CartpoleDQNNetwork`."""
    return network_type(
        _basic_discrete_domain_network(CARTPOLE_MIN_VALS, CARTPOLE_MAX_VALS, num_actions, state)
    )


@gin.configurable
def acrobot_dqn_network(num_actions, network_type, state):
    """Returns `network_type(q_values)`; see `AcrobotDQNNetwork`."""
    return network_type(
        _basic_discrete_domain_network(ACROBOT_MIN_VALS, ACROBOT_MAX_VALS, num_actions, state)
    )


@gin.configurable
def cartpole_rainbow_network(num_actions, num_atoms, support, network_type, state):
    """Returns `network_type(q_values, logits, probabilities)`; see `CartpoleRainbowNetwork`."""
    outputs = _basic_discrete_domain_network(
        CARTPOLE_MIN_VALS, CARTPOLE_MAX_VALS, num_actions, state, num_atoms=num_atoms
    )
    return _c51_outputs(network_type, outputs, num_actions, num_atoms, support)


@gin.configurable
def acrobot_rainbow_network(num_actions, num_atoms, support, network_type, state):
    """Returns `network_type(q_values, logits, probabilities)`; see `AcrobotRainbowNetwork`."""
    outputs = _basic_discrete_domain_network(
        ACROBOT_MIN_VALS, ACROBOT_MAX_VALS, num_actions, state, num_atoms=num_atoms
    )
    return _c51_outputs(network_type, outputs, num_actions, num_atoms, support)


@gin.configurable
def fourier_dqn_network(min_vals, max_vals, num_actions, state, fourier_basis_order=3):
    """Returns Q-values float32 [B, A]; see `FourierDQNNetwork`."""
    features = _fourier_features(state, min_vals, max_vals, fourier_basis_order)
    return _dense(features, num_actions, use_bias=False)


def cartpole_fourier_dqn_network(num_actions, network_type, state):
    """Returns `network_type(q_values)`; see `CartpoleFourierDQNNetwork`."""
    return network_type(
        fourier_dqn_network(CARTPOLE_MIN_VALS, CARTPOLE_MAX_VALS, num_actions, state)
    )


@gin.configurable
def acrobot_fourier_dqn_network(num_actions, network_type, state):
    """Returns `network_type(q_values)`; see `AcrobotFourierDQNNetwork`."""
    return network_type(fourier_dqn_network(ACROBOT_MIN_VALS, ACROBOT_MAX_VALS, num_actions, state))
