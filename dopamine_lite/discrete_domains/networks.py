"""Networks of the agents that Dopamine's TensorFlow path does not have, composed of parts.

A network is a torso, which makes features [B, D] of a state, and a head, which makes of them Z
numbers for each action, [B, A, Z]. What the numbers mean is up to the network: a value (Z = 1), the
logits of a distribution over a support, or quantiles. Variants for other environments differ in
`make_torso` alone, and so do those of a user:

    @gin.configurable
    class LunarLanderQuantileNetwork(networks.QuantileNetwork):
        make_torso = functools.partial(networks.ClassicControlTorso, None, None)

B batch, A actions, Z numbers an action, N quantiles, D width of the features.
"""

import collections
import functools
import math
from collections.abc import Callable
from typing import Any

import gin
import tensorflow as tf
import tf_keras

from dopamine_lite.discrete_domains import legacy_networks
from dopamine_lite.discrete_domains.legacy_networks import (
    CARTPOLE_MAX_VALS,
    CARTPOLE_MIN_VALS,
    DQNNetworkType,
    ImplicitQuantileNetworkType,
    RainbowNetworkType,
)
from dopamine_lite.tf import random_streams

QuantileNetworkType = quantile_network = collections.namedtuple(
    'quantile_network', ['q_values', 'quantile_values']
)

_glorot_initializer = legacy_networks._glorot_initializer
_fan_in_initializer = legacy_networks._fan_in_initializer
_HIDDEN_UNITS = legacy_networks._HIDDEN_UNITS
_as_written = legacy_networks._as_written


# --- Torsos ---------------------------------------------------------------------------------------


class NatureTorso(tf_keras.layers.Layer):
    """The convolutions of DQN (Mnih et al. 2015), for pixels in 0..255."""

    def __init__(self, make_initializer: Callable[[], Any] = _glorot_initializer):
        super().__init__(name='torso')
        self.convolutions = [
            tf_keras.layers.Conv2D(
                filters,
                kernel_size,
                strides=stride,
                padding='same',
                activation='relu',
                kernel_initializer=make_initializer(),
                name=name,
            )
            for (filters, kernel_size, stride), name in zip(
                legacy_networks._NATURE_CONVOLUTIONS, ('Conv', 'Conv_1', 'Conv_2'), strict=True
            )
        ]

    @_as_written
    def call(self, state):
        return legacy_networks._nature_features(state, self.convolutions)


class ClassicControlTorso(tf_keras.layers.Layer):
    """The first of two hidden layers, for states of a few numbers, which are scaled to [-1, 1]."""

    def __init__(
        self, min_vals, max_vals, make_initializer: Callable[[], Any] = _glorot_initializer
    ):
        super().__init__(name='torso')
        self.min_vals = min_vals
        self.max_vals = max_vals
        self.dense = tf_keras.layers.Dense(
            _HIDDEN_UNITS,
            activation='relu',
            kernel_initializer=make_initializer(),
            name='fully_connected',
        )

    @_as_written
    def call(self, state):
        return self.dense(legacy_networks._rescaled(state, self.min_vals, self.max_vals))


class MinAtarTorso(tf_keras.layers.Layer):
    """The convolution of Young and Tian (2019, arXiv:1903.03176), for [B, 10, 10, channels, 1]."""

    def __init__(self, make_initializer: Callable[[], Any] = _glorot_initializer):
        super().__init__(name='torso')
        self.convolution = tf_keras.layers.Conv2D(
            16,
            3,
            padding='same',
            activation='relu',
            kernel_initializer=make_initializer(),
            name='Conv',
        )

    @_as_written
    def call(self, state):
        if state.shape[-1] != 1:
            raise ValueError(f'MinAtar games have stack_size = 1, got {state.shape[-1]}')
        x = tf.squeeze(tf.cast(state, tf.float32), axis=-1)  # the channels
        return legacy_networks._flatten(self.convolution(x))


_CartpoleTorso = functools.partial(ClassicControlTorso, CARTPOLE_MIN_VALS, CARTPOLE_MAX_VALS)


# --- Heads ----------------------------------------------------------------------------------------


class NoisyDense(tf_keras.layers.Layer):
    """A dense layer whose weights are drawn anew whenever it is applied (arXiv:1706.10295).

    With one standard normal number an input and one an output, f(x) = sign(x) sqrt(|x|), and learnt
    mu and sigma (Fortunato et al. 2018, Eqs. 9 to 11),

        kernel_ij = mu_ij + sigma_ij f(e_i) f(e'_j)        bias_j = mu_j + sigma_j f(e'_j).

    All states of a batch see the same weights. At first mu is uniform in +-1/sqrt(inputs) and sigma
    is 0.5/sqrt(inputs) everywhere.
    """

    sigma_0 = 0.5

    def __init__(self, units: int, activation: Any = None, name: str | None = None):
        super().__init__(name=name)
        self.units = units
        self.activation = tf_keras.activations.get(activation)

    def build(self, input_shape):
        inputs = int(input_shape[-1])
        bound = 1.0 / math.sqrt(inputs)

        def parameters(name, shape):
            mean = self.add_weight(
                f'{name}_mu', shape, initializer=tf_keras.initializers.RandomUniform(-bound, bound)
            )
            deviation = self.add_weight(
                f'{name}_sigma',
                shape,
                initializer=tf_keras.initializers.Constant(self.sigma_0 * bound),
            )
            return mean, deviation

        self.kernel_mu, self.kernel_sigma = parameters('kernel', (inputs, self.units))
        self.bias_mu, self.bias_sigma = parameters('bias', (self.units,))
        super().build(input_shape)

    @_as_written
    def call(self, x, noise):
        """Returns [B, units].

        Args:
          x: [B, inputs].
          noise: [inputs + units], the numbers f(e) of the inputs, then f(e') of the outputs.
        """
        from_inputs, from_outputs = tf.split(noise, self.kernel_mu.shape.as_list())
        kernel = self.kernel_mu + self.kernel_sigma * from_inputs[:, None] * from_outputs
        bias = self.bias_mu + self.bias_sigma * from_outputs
        return self.activation(tf.matmul(x, kernel) + bias)


def draw_noise(size: int) -> tf.Tensor:
    """Draws f(e) = sign(e) sqrt(|e|), e standard normal: mean 0, variance sqrt(2 / pi)."""
    normal = random_streams.normal([size])
    return tf.sign(normal) * tf.sqrt(tf.abs(normal))


class Head(tf_keras.layers.Layer):
    """A hidden layer, then Z numbers for each action.

    Dueling (Wang et al. 2016, arXiv:1511.06581, Eq. 9): the outputs are V + A - mean over the actions
    of A, where the values V [B, 1, Z] and the advantages A [B, A, Z] share the hidden layer, as in
    Dopamine. (In the paper each has one of its own.)
    """

    def __init__(
        self,
        num_actions: int,
        num_outputs: int = 1,
        hidden_units: int | None = _HIDDEN_UNITS,
        dueling: bool = False,
        noisy: bool = False,
        make_initializer: Callable[[], Any] = _glorot_initializer,
    ):
        """Makes the layers.

        Args:
          num_actions: A.
          num_outputs: Z.
          hidden_units: width of the hidden layer; None for none.
          dueling: whether values and advantages are separate.
          noisy: whether the layers are `NoisyDense`.
          make_initializer: makes the initializer of a kernel; noisy layers have their own.
        """
        super().__init__(name='head')
        self.num_actions = int(num_actions)
        self.num_outputs = num_outputs
        self.noisy = noisy

        def dense(units, name, activation=None):
            if noisy:
                return NoisyDense(units, activation, name=name)
            return tf_keras.layers.Dense(
                units, activation, kernel_initializer=make_initializer(), name=name
            )

        self.hidden = None
        if hidden_units is not None:
            self.hidden = dense(hidden_units, 'hidden', 'relu')
        self.advantage = dense(self.num_actions * num_outputs, 'advantage' if dueling else 'output')
        self.value = dense(num_outputs, 'value') if dueling else None

    @_as_written
    def call(self, features, noise=1.0):
        """Returns [B, A, Z].

        Args:
          features: [B, D].
          noise: scales what noisy layers draw, a number or a tensor []: 1, or 0 for their means.
        """
        options = self._draw(features.shape.as_list()[1], noise)
        x = features if self.hidden is None else self.hidden(features, **options[self.hidden])
        outputs = tf.reshape(
            self.advantage(x, **options[self.advantage]),
            [-1, self.num_actions, self.num_outputs],
        )  # [B, A, Z]
        if self.value is None:
            return outputs
        value = self.value(x, **options[self.value])[:, None, :]  # [B, 1, Z]
        return value + outputs - tf.reduce_mean(outputs, axis=1, keepdims=True)

    def _draw(self, width: int, scale: Any) -> dict[Any, dict[str, tf.Tensor]]:
        """Returns what each layer is to be called with: its noise, all in one draw."""
        inputs = {layer: width for layer in (self.hidden, self.advantage, self.value) if layer}
        if self.hidden is not None:
            inputs.update((layer, self.hidden.units) for layer in inputs if layer != self.hidden)
        if not self.noisy:
            return {layer: {} for layer in inputs}
        sizes = [width + layer.units for layer, width in inputs.items()]
        noises = tf.split(scale * draw_noise(sum(sizes)), sizes)
        return {layer: {'noise': noise} for layer, noise in zip(inputs, noises, strict=True)}


# --- Networks -------------------------------------------------------------------------------------


class _Network(tf_keras.Model):
    """A torso and a head.

    Class attributes that variants set:
      make_torso: makes the torso, given `make_initializer`.
      make_initializer: makes the initializer of a kernel.
      hidden_units: of the head.
    """

    make_torso: Callable[..., Any] = NatureTorso
    make_initializer: Callable[[], Any] = _glorot_initializer
    hidden_units: int | None = _HIDDEN_UNITS

    def __init__(self, num_actions: int, num_outputs: int, name: str | None = None, **options):
        super().__init__(name=name)
        cls = type(self)
        self.num_actions = num_actions
        self.torso = cls.make_torso(make_initializer=cls.make_initializer)
        self.head = Head(
            num_actions,
            num_outputs,
            hidden_units=cls.hidden_units,
            make_initializer=cls.make_initializer,
            **options,
        )

    def _outputs(self, state, **options):
        return self.head(self.torso(state), **options)  # [B, A, Z]


@gin.configurable
class DuelingDQNNetwork(_Network):
    """Q-values as values and advantages, of pixels."""

    def __init__(self, num_actions: int, name: str | None = None, dueling: bool = True):
        super().__init__(num_actions, 1, name=name, dueling=dueling)

    @_as_written
    def call(self, state) -> DQNNetworkType:
        """Returns `q_values` float32 [B, A]."""
        return DQNNetworkType(self._outputs(state)[:, :, 0])


@gin.configurable
class CartpoleDuelingDQNNetwork(DuelingDQNNetwork):
    """Q-values as values and advantages, for CartPole."""

    make_torso = _CartpoleTorso


@gin.configurable
class QuantileNetwork(_Network):
    """N quantiles of each action's return (QR-DQN, arXiv:1710.10044), of pixels."""

    make_initializer = _fan_in_initializer

    def __init__(self, num_actions: int, num_quantiles: int, name: str | None = None):
        super().__init__(num_actions, num_quantiles, name=name)

    @_as_written
    def call(self, state) -> QuantileNetworkType:
        """Returns `q_values` [B, A], the means, and `quantile_values` [B, A, N], both float32."""
        quantiles = self._outputs(state)
        return QuantileNetworkType(tf.reduce_mean(quantiles, axis=2), quantiles)


@gin.configurable
class CartpoleQuantileNetwork(QuantileNetwork):
    """N quantiles of each action's return, for CartPole."""

    make_torso = _CartpoleTorso
    make_initializer = _glorot_initializer


@gin.configurable
class FullRainbowNetwork(_Network):
    """The network of Rainbow (arXiv:1710.02298), each part of which can be left out, of pixels."""

    make_initializer = _fan_in_initializer

    def __init__(
        self,
        num_actions: int,
        num_atoms: int | None,
        support: Any,
        noisy: bool = True,
        dueling: bool = True,
        name: str | None = None,
    ):
        """Makes the layers.

        Args:
          num_actions: A.
          num_atoms: Z, or None for one value an action.
          support: [Z], or None.
          noisy: whether the dense layers are noisy.
          dueling: whether values and advantages are separate.
          name: of the model.
        """
        super().__init__(num_actions, num_atoms or 1, name=name, noisy=noisy, dueling=dueling)
        self.num_atoms = num_atoms
        self.support = support

    @_as_written
    def call(self, state, noise=1.0) -> RainbowNetworkType | DQNNetworkType:
        """Returns `q_values` [B, A]; with atoms `logits` and `probabilities` [B, A, Z] as well.

        Args:
          state: [B, ...].
          noise: scales what noisy layers draw: 1, or 0 for their means.
        """
        outputs = self._outputs(state, noise=noise)
        if self.num_atoms is None:
            return DQNNetworkType(outputs[:, :, 0])
        return legacy_networks._c51_outputs(
            RainbowNetworkType, outputs, self.num_actions, self.num_atoms, self.support
        )


@gin.configurable
class Atari100kNetwork(FullRainbowNetwork):
    """The network of Rainbow with Glorot's initializer, as Dopamine's Atari 100k agents have it."""

    make_initializer = _glorot_initializer


@gin.configurable
class CartpoleFullRainbowNetwork(FullRainbowNetwork):
    """The network of Rainbow, for CartPole."""

    make_torso = _CartpoleTorso
    make_initializer = _glorot_initializer


@gin.configurable
class CartpoleImplicitQuantileNetwork(_Network):
    """Values of random quantiles of the return (IQN, arXiv:1806.06923), for CartPole."""

    make_torso = _CartpoleTorso

    def __init__(self, num_actions: int, quantile_embedding_dim: int, name: str | None = None):
        super().__init__(num_actions, 1, name=name)
        self.quantile_embedding_dim = quantile_embedding_dim
        self.quantile_layer = None

    @_as_written
    def call(self, state, num_quantiles: int) -> ImplicitQuantileNetworkType:
        """Returns `quantile_values` [N * B, A] and `quantiles` [N * B, 1], float32.

        Row `n * B + b` belongs to quantile n of state b. The batch has to be known statically.
        """
        features = self.torso(state)  # [B, D]
        if self.quantile_layer is None:
            self.quantile_layer = tf_keras.layers.Dense(
                features.shape[1], activation='relu', name='quantile_embedding'
            )
        quantiles = legacy_networks._draw_quantiles(num_quantiles * state.shape[0])  # [N * B, 1]
        embedding = self.quantile_layer(
            legacy_networks._quantile_cosines(quantiles, self.quantile_embedding_dim)
        )
        joint = tf.tile(features, [num_quantiles, 1]) * embedding  # [N * B, D]
        return ImplicitQuantileNetworkType(self.head(joint)[:, :, 0], quantiles)


@gin.configurable
class MinAtarDQNNetwork(DuelingDQNNetwork):
    """Q-values for MinAtar: a convolution and one linear layer."""

    make_torso = MinAtarTorso
    hidden_units = None

    def __init__(self, num_actions: int, name: str | None = None):
        super().__init__(num_actions, name=name, dueling=False)


@gin.configurable
class MinAtarRainbowNetwork(FullRainbowNetwork):
    """Distributions over a support for MinAtar, for `RainbowAgent`."""

    make_torso = MinAtarTorso
    make_initializer = _glorot_initializer
    hidden_units = None

    def __init__(self, num_actions: int, num_atoms: int, support: Any, name: str | None = None):
        super().__init__(num_actions, num_atoms, support, noisy=False, dueling=False, name=name)


@gin.configurable
class MinAtarQuantileNetwork(QuantileNetwork):
    """N quantiles of each action's return for MinAtar."""

    make_torso = MinAtarTorso
    hidden_units = None
