"""What the agents' tests share: linear networks, a batch of two transitions, and its replay.

The batch (discount of the target 0.25, states of two numbers):

    row   state    action   reward   next state   terminal
    0     (1, 2)   1        1        (2, 0)       0
    1     (0, 1)   0        -1       (1, 1)       1
"""

import random

import numpy as np
import tensorflow as tf
import tf_keras

from dopamine_lite.discrete_domains import legacy_networks

v1 = tf.compat.v1

STATES = np.array([[1, 2], [0, 1]], np.float32).reshape(2, 2, 1)
ACTIONS = np.array([1, 0], np.int32)
REWARDS = np.array([1, -1], np.float32)
NEXT_STATES = np.array([[2, 0], [1, 1]], np.float32).reshape(2, 2, 1)
TERMINALS = np.array([0, 1], np.uint8)
INDICES = np.array([3, 5], np.int32)

# Of an agent whose observations are those states; gamma^n = 0.25.
ARGUMENTS = dict(
    observation_shape=(2,),
    observation_dtype=tf.float32,
    stack_size=1,
    gamma=0.5,
    update_horizon=2,
)


class LinearNetwork(tf_keras.Model):
    """Action values that are linear in the state: q = x W, with W [2, A]."""

    def __init__(self, num_actions, name=None):
        super().__init__(name=name)
        self.flatten = tf_keras.layers.Flatten()
        self.linear = tf_keras.layers.Dense(num_actions, use_bias=False, name='linear')

    def call(self, state):
        return legacy_networks.DQNNetworkType(self.linear(self.flatten(tf.cast(state, tf.float32))))


class LinearRainbowNetwork(tf_keras.Model):
    """Logits that are linear in the state: x W, with W [2, A * Z]."""

    def __init__(self, num_actions, num_atoms, support, name=None):
        super().__init__(name=name)
        self.shape = [-1, num_actions, num_atoms]
        self.support = support
        self.linear = tf_keras.layers.Dense(num_actions * num_atoms, use_bias=False, name='linear')

    def call(self, state):
        features = tf.reshape(tf.cast(state, tf.float32), [-1, 2])
        logits = tf.reshape(self.linear(features), self.shape)
        probabilities = tf.nn.softmax(logits)
        q_values = tf.reduce_sum(self.support * probabilities, axis=2)
        return legacy_networks.RainbowNetworkType(q_values, logits, probabilities)


class LinearQuantileNetwork(tf_keras.Model):
    """Quantile values tau * (x W), W [2, A], at the fractions tau = (i + 1/2) / N, not drawn."""

    def __init__(self, num_actions, quantile_embedding_dim, name=None):
        super().__init__(name=name)
        self.linear = tf_keras.layers.Dense(num_actions, use_bias=False, name='linear')

    def call(self, state, num_quantiles):
        batch_size = state.shape.as_list()[0]
        features = tf.reshape(tf.cast(state, tf.float32), [batch_size, 2])
        fractions = (tf.range(num_quantiles, dtype=tf.float32) + 0.5) / num_quantiles
        quantiles = tf.repeat(fractions, batch_size)[:, None]
        values = quantiles * tf.tile(self.linear(features), [num_quantiles, 1])
        return legacy_networks.ImplicitQuantileNetworkType(values, quantiles)


class Memory:
    """What an agent reads of a replay's memory."""

    def __init__(self):
        self.add_count = 0
        self.sum_tree = self
        self.max_recorded_priority = 1.0


class FixedReplay:
    """A wrapped replay whose batch is always the one above; it writes down what it is told.

    Attributes:
        added: the arguments of each `add`, a list of tuples.
        priorities: what `tf_set_priority` was given, a list of (indices, priorities).
    """

    def __init__(self, probabilities=(4.0, 1.0), **replaced):
        batch = dict(
            state=STATES,
            action=ACTIONS,
            reward=REWARDS,
            next_state=NEXT_STATES,
            terminal=TERMINALS,
            indices=INDICES,
            sampling_probabilities=np.array(probabilities, np.float32),
        )
        batch.update(replaced)
        # Through a placeholder, so that nothing is computed when the graph is built.
        self.transition = {
            name: v1.placeholder_with_default(value, value.shape) for name, value in batch.items()
        }
        self.states = self.transition['state']
        self.actions = self.transition['action']
        self.rewards = self.transition['reward']
        self.next_states = self.transition['next_state']
        self.terminals = self.transition['terminal']
        self.indices = self.transition['indices']
        self.batch_size = 2
        self.memory = Memory()
        self.added, self.priorities = [], []

    def add(self, *transition):
        self.added.append(transition)
        self.memory.add_count += 1

    def tf_set_priority(self, indices, priorities):
        def write_down(indices, priorities):
            self.priorities.append((indices, priorities))
            return np.int32(0)

        return tf.numpy_function(write_down, [indices, priorities], tf.int32)

    def save(self, checkpoint_dir, iteration_number):
        pass

    def load(self, checkpoint_dir, suffix):
        pass


def with_replay(agent_class, **replay):
    """Returns a subclass of `agent_class` that learns from a `FixedReplay`."""

    class Agent(agent_class):
        def _build_replay_buffer(self, use_staging):
            return FixedReplay(**replay)

    return Agent


def set_weights(agent, online, target):
    """Gives the kernel of the online and of the target network its values."""
    for network, weights in ((agent.online_convnet, online), (agent.target_convnet, target)):
        (kernel,) = network.trainable_variables
        kernel.load(np.asarray(weights, np.float32), agent._sess)


def online_weights(agent):
    (kernel,) = agent.online_convnet.trainable_variables
    return agent._sess.run(kernel)


def set_golden_weights(agent, online_seed, target_seed):
    """Gives both networks the weights that the golden values were computed with."""
    for network, seed in ((agent.online_convnet, online_seed), (agent.target_convnet, target_seed)):
        generator = np.random.default_rng(seed)
        for variable in network.trainable_variables:
            shape = tuple(variable.shape)
            if len(shape) > 1:
                value = generator.normal(0, 0.08, shape)
            else:
                value = np.full(shape, 0.01)
            variable.load(value.astype(np.float32), agent._sess)


def golden_steps(agent, seed, q_values):
    """Takes the 40 train steps of the golden values.

    Args:
        agent: the agent, its replay filled.
        seed: of both generators, just before the first step.
        q_values: returns the Q-values to compare.

    Returns:
        ({steps: Q-values after them}, what each of the 40 runs of `_train_op` returned).
    """
    random.seed(seed)
    np.random.seed(seed)
    values, results = {}, []
    for step in range(1, 41):
        results.append(agent._sess.run(agent._train_op))
        if step == 20:
            agent._sess.run(agent._sync_qt_ops)
        if step in (1, 5, 20, 40):
            values[step] = q_values()
    return values, results
