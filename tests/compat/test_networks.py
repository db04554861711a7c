"""Functions of Dopamine 2 as networks: called often, one set of variables each."""

import collections
import warnings

import numpy as np
import pytest
import tensorflow as tf

from dopamine_lite.compat import networks
from dopamine_lite.discrete_domains import legacy_networks
from dopamine_lite.tf.agents.dqn import dqn_agent

tf1 = tf.compat.v1


def by_name(num_actions, network_type, state):
    x = tf.reshape(tf.cast(state, tf.float32), [-1, 4])
    kernel = tf1.get_variable('kernel', [4, num_actions])
    return network_type(tf.matmul(x, kernel))


def by_keras_layers(num_actions, network_type, state):
    x = tf.reshape(tf.cast(state, tf.float32), [-1, 4])
    x = tf.keras.layers.Dense(3)(x)
    return network_type(tf.keras.layers.Dense(num_actions)(x))


def by_variables(num_actions, network_type, state):
    x = tf.reshape(tf.cast(state, tf.float32), [-1, 4])
    return network_type(tf.matmul(x, tf.Variable(tf1.random_normal([4, num_actions]))))


def by_all_of_them(num_actions, network_type, state):
    x = tf.reshape(tf.cast(state, tf.float32), [-1, 4])
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        x = tf1.layers.dense(x, 5, name='first')
        x = tf.keras.layers.Dense(4)(x) * tf.Variable(tf.ones([4]))
        x = tf.matmul(x, tf1.get_variable('middle', [4, 5]))
        return network_type(tf1.layers.dense(x, num_actions))


KINDS = {
    by_name: 1,
    by_keras_layers: 4,
    by_variables: 1,
    by_all_of_them: 8,
}


@pytest.mark.parametrize('function', KINDS)
def test_calls_share_variables_and_networks_do_not(function):
    make = networks.adapt(function)
    online, target = make(2, name='Online'), make(2, name='Target')
    state = tf1.placeholder(tf.float32, (None, 4, 1))
    first, second, other = online(state), online(2.0 * state), target(state)
    again = online(state)
    assert type(first) is legacy_networks.DQNNetworkType

    assert len(online.variables) == len(target.variables) == KINDS[function]
    assert online.trainable_variables == online.variables
    for network in (online, target):
        collected = tf1.get_collection(tf1.GraphKeys.TRAINABLE_VARIABLES, scope=network.name)
        assert collected == network.variables  # what an agent's sync op copies
    gradients = tf1.gradients(second.q_values, online.variables)
    assert all(gradient is not None for gradient in gradients)

    with tf1.Session() as sess:
        sess.run(tf1.global_variables_initializer())
        feed = {state: np.random.normal(size=(3, 4, 1))}
        values, values_again, others = sess.run(
            [first.q_values, again.q_values, other.q_values], feed
        )
        np.testing.assert_array_equal(values, values_again)
        assert not np.allclose(values, others)


def test_two_agents_of_a_graph_do_not_share_variables():
    make = networks.adapt(by_name)
    state = tf1.placeholder(tf.float32, (None, 4, 1))
    one, two = make(2, name='Online'), make(2, name='Online')
    one(state), two(state)
    assert one.variables[0].op.name == 'Online/kernel'
    assert two.variables[0].op.name == 'Online_1/kernel'


def test_rainbows_and_iqns_functions_get_their_arguments():
    seen = []

    def rainbow(num_actions, num_atoms, support, network_type, state):
        seen.append((num_actions, num_atoms, support, network_type, state))
        return network_type(1, 2, 3)

    def iqn(num_actions, quantile_embedding_dim, network_type, state, num_quantiles):
        seen.append((num_actions, quantile_embedding_dim, network_type, state, num_quantiles))
        return network_type(1, 2)

    assert networks.adapt(rainbow)(4, 51, 'support', name='Online')('s').logits == 2
    assert networks.adapt(iqn)(4, 64, name='Online')('s', 32).quantiles == 2
    assert seen == [
        (4, 51, 'support', legacy_networks.RainbowNetworkType, 's'),
        (4, 64, legacy_networks.ImplicitQuantileNetworkType, 's', 32),
    ]


class KerasNetwork(tf.keras.Model):
    pass


def a_factory(num_actions, name=None):
    return KerasNetwork(name=name)


def another_factory(*args, **keywords):
    return KerasNetwork(**keywords)


@pytest.mark.parametrize(
    'network', [KerasNetwork, a_factory, another_factory, None, legacy_networks.NatureDQNNetwork]
)
def test_what_is_no_function_of_dopamine_2_stays_as_it_is(network):
    assert networks.adapt(network) is network


@pytest.mark.parametrize('base', ['Model', 'Layer'])
def test_keras_3_is_refused_with_both_remedies(base):
    import keras

    bases = {'Model': keras.Model, 'Layer': keras.layers.Layer}
    network = type('MyNetwork', (bases[base],), {})
    with pytest.raises(TypeError, match='MyNetwork is a Keras 3 class') as caught:
        networks.adapt(network)
    assert 'import dopamine_lite' in str(caught.value)
    assert 'TF_USE_LEGACY_KERAS=1' in str(caught.value)


def test_tf_contrib_is_refused_with_its_successor():
    def slim(num_actions, network_type, state):
        return network_type(tf.contrib.slim.fully_connected(state, num_actions))

    with pytest.raises(AttributeError, match='slim uses tf.contrib.*tf.compat.v1.layers.dense'):
        networks.adapt(slim)(2, name='Online')(tf1.placeholder(tf.float32, (1, 4, 1)))


def test_hooks_that_would_never_be_called_are_refused():
    class Agent(dqn_agent.DQNAgent):
        def _network_template(self, state):
            pass

    with pytest.raises(TypeError, match='Agent._network_template is a hook of Dopamine 1 and 2'):
        Agent(None, 2)

    class BuildsItself(Agent):
        def _build_networks(self):
            pass

    networks.refuse_old_hooks(BuildsItself)
    networks.refuse_old_hooks(dqn_agent.DQNAgent)

    class UsesWhatIsGone(dqn_agent.DQNAgent):
        def _build_networks(self):
            super()._build_networks()
            self._other = self.network(2, self._get_network_type(), self.state_ph)

    with pytest.raises(TypeError, match='UsesWhatIsGone._get_network_type is a hook of Dopamine'):
        UsesWhatIsGone(None, 2)


def test_hooks_of_dopamine_2_call_the_function_that_network_was():
    types = collections.namedtuple('DQN_network', ['q_values'])

    class Agent(dqn_agent.DQNAgent):
        def _network_template(self, state):
            return self.network(self.num_actions, types, state)

        def _build_networks(self):
            self.online_convnet = tf1.make_template('Online', self._network_template)
            self.target_convnet = tf1.make_template('Target', self._network_template)
            self._net_outputs = self.online_convnet(self.state_ph)
            self._q_argmax = tf.argmax(self._net_outputs.q_values, axis=1)[0]
            self._replay_net_outputs = self.online_convnet(self._replay.states)
            self._replay_next_target_net_outputs = self.target_convnet(self._replay.next_states)

    agent = Agent(
        None,
        2,
        observation_shape=(4, 1),
        observation_dtype=tf.float64,
        stack_size=1,
        network=legacy_networks.cartpole_dqn_network,
        min_replay_history=4,
        update_period=1,
        target_update_period=1,
    )
    assert type(agent._net_outputs) is types
    online, target = (
        tf1.get_collection(tf1.GraphKeys.TRAINABLE_VARIABLES, scope=name)
        for name in ('Online', 'Target')
    )
    assert len(online) == len(target) == 6  # of three layers, however often they are applied
    before = agent._sess.run(online)
    agent.begin_episode(np.ones((4, 1)))
    for _ in range(60):
        agent.step(1.0, np.ones((4, 1)))
    after, copied = agent._sess.run([online, target])
    assert any((a != b).any() for a, b in zip(before, after, strict=True))
    for a, b in zip(after, copied, strict=True):
        np.testing.assert_array_equal(a, b)
