"""DrQ's augmentation against slow twins, and where it is applied."""

import agent_cases
import gin
import numpy as np
import pytest
import tensorflow as tf
import tf_keras

from dopamine_lite.discrete_domains import legacy_networks
from dopamine_lite.tf.agents.atari_100k import atari_100k_rainbow_agent
from dopamine_lite.tf.agents.dqn import dqn_agent

v1 = tf.compat.v1


def padded_and_cropped(image, row, column):
    """Pads by 4 pixels equal to the edge, then crops."""
    height, width, _ = image.shape
    padded = np.pad(image, [(4, 4), (4, 4), (0, 0)], mode='edge')
    return padded[row : row + height, column : column + width]


def test_shifts_are_crops_of_the_padded_images():
    images = np.random.RandomState(0).randint(0, 256, (9, 12, 10, 4)).astype(np.uint8)
    rows = np.arange(9, dtype=np.int32)
    columns = np.array([8, 0, 4, 1, 4, 7, 3, 0, 8], np.int32)
    shifted = atari_100k_rainbow_agent.shift_images(
        tf.constant(images), tf.constant(rows), tf.constant(columns)
    )
    assert shifted.shape.as_list() == [9, 12, 10, 4]
    expected = [padded_and_cropped(*each) for each in zip(images, rows, columns, strict=True)]
    with v1.Session() as session:
        np.testing.assert_array_equal(session.run(shifted), expected)
    np.testing.assert_array_equal(expected[4], images[4])


def test_the_intensity_is_scaled_by_clipped_noise():
    images = np.full((4, 2, 2, 3), 100, np.uint8)
    scaled = atari_100k_rainbow_agent.scale_intensity(
        tf.constant(images), tf.constant([0.0, 1.0, -1.5, 9.0])
    )
    with v1.Session() as session:
        values = session.run(scaled)
    np.testing.assert_allclose(values[:, 0, 0, 0], [100.0, 105.0, 92.5, 110.0], rtol=1e-6)
    assert np.ptp(values, axis=(1, 2, 3)).max() == 0


def test_offsets_and_intensities_have_dopamines_ranges():
    # An image whose pixels say where they are, so that what was drawn can be read off.
    image = np.zeros((16, 16, 2), np.float32)
    image[..., 0] = 1000 + np.arange(16)[:, None]
    image[..., 1] = 1000 + np.arange(16)[None, :]
    images = tf.constant(np.tile(image, [2000, 1, 1, 1]))
    v1.set_random_seed(1)
    with v1.Session() as session:
        augmented = session.run(atari_100k_rainbow_agent.augment(images))
    # Rows 5 and 10 are away from the edges: their difference, 5, is scaled but not shifted.
    scale = (augmented[:, 10, 8, 0] - augmented[:, 5, 8, 0]) / 5
    shifts = {
        axis: np.rint(augmented[:, 8, 8, channel] / scale - 1008).astype(int)
        for axis, channel in (('rows', 0), ('columns', 1))
    }
    for drawn in shifts.values():
        assert sorted(set(drawn)) == list(range(-4, 4))
        np.testing.assert_allclose(np.bincount(drawn + 4), [250] * 8, atol=60)
    assert abs(np.corrcoef(shifts['rows'], shifts['columns'])[0, 1]) < 0.1
    np.testing.assert_allclose([scale.min(), scale.max()], [0.9, 1.1], atol=1e-3)
    # A standard normal number within two deviations, at the ends where it is beyond.
    np.testing.assert_allclose(scale.mean(), 1.0, atol=0.004)
    np.testing.assert_allclose(scale.std(), 0.05 * np.sqrt(0.9205), atol=0.003)


class PixelNetwork(tf_keras.Model):
    """Values that tell what the network saw: the sum of the pixels, for both actions."""

    seen = []

    def __init__(self, num_actions, num_atoms, support, noisy, dueling, name=None):
        super().__init__(name=name)
        self.scale = tf_keras.layers.Dense(num_actions, use_bias=False, name='linear')

    def call(self, state):
        self.seen.append(state)
        flat = tf.reshape(tf.cast(state, tf.float32), [-1, 6 * 6 * 2])
        return legacy_networks.DQNNetworkType(self.scale(flat))


@pytest.mark.parametrize('augmented', [False, True])
def test_states_and_next_states_are_augmented_apart_and_only_for_training(augmented):
    states = np.random.RandomState(0).randint(1, 256, (2, 6, 6, 2)).astype(np.uint8)
    agent_class = agent_cases.with_replay(
        atari_100k_rainbow_agent.Atari100kRainbowAgent, state=states, next_state=states
    )
    PixelNetwork.seen = []
    agent = agent_class(
        None,
        num_actions=2,
        network=PixelNetwork,
        noisy=False,
        dueling=False,
        distributional=False,
        replay_scheme='uniform',
        data_augmentation=augmented,
        observation_shape=(6, 6),
        stack_size=2,
    )
    acting, *training = PixelNetwork.seen
    assert acting is agent.state_ph
    states_seen, next_seen, next_seen_online = agent._sess.run(training)
    np.testing.assert_array_equal(next_seen, next_seen_online)
    assert np.array_equal(states_seen, next_seen) != augmented
    assert np.array_equal(states_seen, states) != augmented
    if augmented:
        again = agent._sess.run(training[0])
        assert not np.array_equal(states_seen, again)
    agent._sess.run(agent._train_op)


def test_noise_and_epsilon_may_go_together_as_in_der():
    agent = atari_100k_rainbow_agent.Atari100kRainbowAgent(
        None,
        2,
        observation_shape=(8, 8),
        epsilon_fn=dqn_agent.linearly_decaying_epsilon,
        epsilon_train=0.01,
    )
    assert agent.epsilon_train == 0.01
    assert agent._noisy


@pytest.mark.parametrize('shape', [(4, 1), (10, 10, 4)])
def test_only_images_are_augmented(shape):
    with pytest.raises(ValueError, match='data_augmentation shifts images: .* got float64 of'):
        atari_100k_rainbow_agent.Atari100kRainbowAgent(
            None,
            2,
            network=PixelNetwork,
            noisy=False,
            data_augmentation=True,
            observation_shape=shape,
            observation_dtype=tf.float64,
            stack_size=1,
        )


@pytest.mark.parametrize('parent', ['FullRainbowAgent', 'RainbowAgent'])
def test_a_network_bound_on_a_parent_is_not_passed_over(parent):
    gin.parse_config(f'{parent}.network = @networks.CartpoleFullRainbowNetwork')
    with pytest.raises(ValueError, match=f'{parent}.network is bound, .* bind Atari100k'):
        atari_100k_rainbow_agent.Atari100kRainbowAgent(None, 2)
