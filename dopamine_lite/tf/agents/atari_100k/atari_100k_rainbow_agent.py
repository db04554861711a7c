"""The agents of the Atari 100k benchmark (Kaiser et al., 2020): DER, OTRainbow and DrQ.

They are settings of Rainbow, in `configs/`:

    DER.gin        data-efficient Rainbow (van Hasselt et al., 2019, arXiv:1906.05243)
    OTRainbow.gin  overtrained Rainbow (Kielak, 2020, arXiv:2003.10181): eight updates a step
    DrQ.gin        data-regularized Q (Yarats et al., 2021, arXiv:2004.13649): Double DQN with a
                   dueling network, from augmented images
    DrQ_eps.gin    DrQ with the exploration of DQN (Agarwal et al., 2021, arXiv:2108.13264)

What this class adds to `FullRainbowAgent` is the augmentation of DrQ.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gin
import tensorflow as tf

from dopamine_lite import bounds
from dopamine_lite.discrete_domains import networks
from dopamine_lite.tf import random_streams
from dopamine_lite.tf.agents import bindings
from dopamine_lite.tf.agents.full_rainbow import full_rainbow_agent
from dopamine_lite.tf.agents.rainbow import rainbow_agent

_PADDING = 4  # pixels
_INTENSITY = 0.05


def shift_images(images: tf.Tensor, rows: tf.Tensor, columns: tf.Tensor) -> tf.Tensor:
    """Crops each image, padded by 4 pixels equal to its edge, to its size again.

    Args:
      images: [B, height, width, channels].
      rows: int32 [B], in 0..8: where the crop begins; 4 leaves the image as it is.
      columns: the same.

    Returns:
      As `images`: pixel (y, x) is pixel (y + rows - 4, x + columns - 4), moved to the nearest of
      the image.
    """
    _, height, width, _ = images.shape.as_list()
    y = tf.clip_by_value(tf.range(height) + rows[:, None] - _PADDING, 0, height - 1)  # [B, height]
    x = tf.clip_by_value(tf.range(width) + columns[:, None] - _PADDING, 0, width - 1)  # [B, width]
    # Columns before rows, so that the larger of the two copies moves whole rows.
    across = tf.gather(images, x, axis=2, batch_dims=1)
    return tf.gather(across, y, axis=1, batch_dims=1)


def scale_intensity(images: tf.Tensor, normal: tf.Tensor) -> tf.Tensor:
    """Returns float32 images, each times 1 + 0.05 clip(normal, -2, 2); `normal` is [B]."""
    scale = 1.0 + _INTENSITY * tf.clip_by_value(normal, -2.0, 2.0)
    return tf.cast(images, tf.float32) * scale[:, None, None, None]


def augment(images: tf.Tensor) -> tf.Tensor:
    """Shifts each image of [B, height, width, channels] by -4 to 3 pixels and scales its intensity.

    The channels of an image are treated alike. The offsets are those of Dopamine (`0 <= offset < 8`).
    """
    batch = images.shape.as_list()[0]
    offsets = tf.cast(2 * _PADDING * random_streams.uniform([2, batch]), tf.int32)
    shifted = shift_images(images, offsets[0], offsets[1])
    return scale_intensity(shifted, random_streams.normal([batch]))


@gin.configurable
class Atari100kRainbowAgent(full_rainbow_agent.FullRainbowAgent):
    """`FullRainbowAgent` with augmented images.

    Unlike there, noisy layers may go with an epsilon: Dopamine's DER has both.
    """

    def __init__(
        self,
        sess: tf.compat.v1.Session | None,
        num_actions: int,
        network: Callable[..., Any] = networks.Atari100kNetwork,
        data_augmentation: bool = False,
        **kwargs: Any,
    ):
        """Builds the graph.

        Args:
          sess: the session to run in; None makes one.
          num_actions: how many actions there are.
          network: see `FullRainbowAgent`.
          data_augmentation: whether the states of a batch and, separately, its next states are
            augmented before the networks see them.
          **kwargs: of `FullRainbowAgent` and `RainbowAgent`.

        Raises:
          ValueError: as `FullRainbowAgent`, or `data_augmentation` of what are no images.
        """
        bounds.require_flag(data_augmentation=data_augmentation)
        if network is networks.Atari100kNetwork:
            bindings.refuse_hidden(
                'network',
                Atari100kRainbowAgent,
                full_rainbow_agent.FullRainbowAgent,
                rainbow_agent.RainbowAgent,
            )
        self._data_augmentation = data_augmentation
        super().__init__(sess, num_actions, network=network, **kwargs)

    def _check_exploration(self, noisy: bool, epsilon_fn: Any, epsilon_train: float | None) -> None:
        """Accepts both."""

    def _build_networks(self) -> None:
        is_image = len(self.observation_shape) == 2 and self.observation_dtype.is_integer
        if self._data_augmentation and not is_image:
            raise ValueError(
                'data_augmentation shifts images: expected integer observations of shape (height, '
                f'width), got {self.observation_dtype.name} of {self.observation_shape}'
            )
        super()._build_networks()

    def _sampled_states(self) -> tuple[tf.Tensor, tf.Tensor]:
        states, next_states = super()._sampled_states()
        if not self._data_augmentation:
            return states, next_states
        return augment(states), augment(next_states)
