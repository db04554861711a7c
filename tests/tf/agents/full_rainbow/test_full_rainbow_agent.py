"""Each part of Rainbow by hand, and all of them off as `RainbowAgent`."""

import random

import agent_cases
import agent_oracles
import gin
import numpy as np
import pytest
import tensorflow as tf

from dopamine_lite.discrete_domains import legacy_networks, networks
from dopamine_lite.tf.agents.dqn import dqn_agent
from dopamine_lite.tf.agents.full_rainbow import full_rainbow_agent
from dopamine_lite.tf.agents.rainbow import rainbow_agent

v1 = tf.compat.v1
SUPPORT = np.array([-2.0, 0.0, 2.0])
# [2, A, Z]: of A = 2 actions and Z = 3 atoms.
ONLINE = np.array([[[0.5, 1.0, 2.0], [-1.0, 0.0, 0.5]], [[0.25, 0.5, 0.0], [1.0, 1.5, -0.5]]])
TARGET = np.array([[[2.0, 0.0, 1.0], [0.5, -2.0, 1.0]], [[-1.0, 2.0, 0.5], [0.0, 1.0, 2.5]]])


class LinearNetwork(agent_cases.LinearRainbowNetwork):
    def __init__(self, num_actions, num_atoms, support, noisy, dueling, name=None):
        assert not noisy and not dueling
        super().__init__(num_actions, num_atoms, support, name=name)


class LinearValueNetwork(agent_cases.LinearNetwork):
    def __init__(self, num_actions, num_atoms, support, noisy, dueling, name=None):
        assert num_atoms is None and support is None
        super().__init__(num_actions, name=name)


def make_agent(network, online, target, **options):
    agent_class = agent_cases.with_replay(
        full_rainbow_agent.FullRainbowAgent, probabilities=(4.0, 1.0)
    )
    agent = agent_class(
        None,
        num_actions=2,
        network=network,
        noisy=False,
        dueling=False,
        optimizer=v1.train.GradientDescentOptimizer(1.0),
        **agent_cases.ARGUMENTS,
        **options,
    )
    agent_cases.set_weights(agent, online.reshape(2, -1), target.reshape(2, -1))
    return agent


def c51_by_hand(double, weights):
    """Returns (losses, the online weights after a step of rate 1), in float64."""
    losses, gradient = np.zeros(2), np.zeros(ONLINE.shape)
    for row in range(2):
        state, next_state = agent_cases.STATES[row, :, 0], agent_cases.NEXT_STATES[row, :, 0]
        of_target = [agent_oracles.softmax(z) for z in np.tensordot(next_state, TARGET, 1)]
        of_online = [agent_oracles.softmax(z) for z in np.tensordot(next_state, ONLINE, 1)]
        best = int(np.argmax([p @ SUPPORT for p in (of_online if double else of_target)]))
        continues = 0.25 * (1 - agent_cases.TERMINALS[row])
        moved = agent_cases.REWARDS[row] + continues * SUPPORT
        labels = agent_oracles.project_distribution([moved], [of_target[best]], SUPPORT)[0]
        action = agent_cases.ACTIONS[row]
        predicted = agent_oracles.softmax(state @ ONLINE[:, action])
        losses[row] = -labels @ np.log(predicted)
        gradient[:, action] += weights[row] / 2 * np.outer(state, predicted - labels)
    return losses, ONLINE - gradient


@pytest.mark.parametrize('double', [False, True])
def test_a_distributional_step_is_the_one_by_hand(double):
    agent = make_agent(
        LinearNetwork, ONLINE, TARGET, double_dqn=double, num_atoms=3, vmax=2.0, beta=0.4
    )
    weights = np.array([4.0, 1.0]) ** -0.4
    losses, after = c51_by_hand(double, weights)
    np.testing.assert_allclose(agent._sess.run(agent._train_op)[1], weights * losses, rtol=1e-5)
    np.testing.assert_allclose(
        agent_cases.online_weights(agent), after.reshape(2, 6), rtol=1e-5, atol=1e-6
    )
    ((_, priorities),) = agent._replay.priorities
    np.testing.assert_allclose(priorities, np.sqrt(losses), rtol=1e-5)


def test_the_two_choices_of_the_next_action_differ_on_the_batch():
    assert c51_by_hand(True, [1, 1])[0][0] != c51_by_hand(False, [1, 1])[0][0]


@pytest.mark.parametrize('double', [False, True])
def test_a_step_without_distributions_is_the_one_by_hand(double):
    online, target = ONLINE[:, :, 1] + [[0, 3], [0, 0]], TARGET[:, :, 2]
    agent = make_agent(
        LinearValueNetwork, online, target, double_dqn=double, distributional=False, beta=1.0
    )
    losses, weights, gradient = np.zeros(2), [0.25, 1.0], np.zeros(online.shape)
    for row in range(2):
        state, next_state = agent_cases.STATES[row, :, 0], agent_cases.NEXT_STATES[row, :, 0]
        best = np.argmax(next_state @ (online if double else target))
        value = (next_state @ target)[best] * (1 - agent_cases.TERMINALS[row])
        action = agent_cases.ACTIONS[row]
        error = (state @ online)[action] - agent_cases.REWARDS[row] - 0.25 * value
        losses[row] = agent_oracles.huber(error, 1.0)
        gradient[:, action] += weights[row] / 2 * state * np.clip(error, -1, 1)
    np.testing.assert_allclose(agent._sess.run(agent._train_op)[1], losses * weights, rtol=1e-5)
    np.testing.assert_allclose(agent_cases.online_weights(agent), online - gradient, rtol=1e-5)
    ((_, priorities),) = agent._replay.priorities
    np.testing.assert_allclose(priorities, np.sqrt(losses + 1e-10), rtol=1e-5)


# Real replay and networks, for CartPole's states.
REAL = dict(
    observation_shape=(4, 1),
    observation_dtype=tf.float64,
    stack_size=1,
    min_replay_history=20,
    update_period=4,
    target_update_period=20,
    update_horizon=3,
)


def play(agent, steps):
    """Plays a made-up environment; returns the actions."""
    generator = np.random.RandomState(7)
    actions = [agent.begin_episode(generator.normal(size=4))]
    for step in range(steps):
        reward = generator.normal()
        if step % 17 == 16:
            agent.end_episode(reward)
            actions.append(agent.begin_episode(generator.normal(size=4)))
        else:
            actions.append(agent.step(reward, generator.normal(size=4)))
    return actions


def variables(agent):
    return agent.online_convnet.trainable_variables, agent.target_convnet.trainable_variables


def test_all_but_rainbows_own_parts_off_is_rainbow_value_for_value():
    outcomes = []
    for agent_class, network, options in (
        (rainbow_agent.RainbowAgent, legacy_networks.CartpoleRainbowNetwork, {}),
        (
            full_rainbow_agent.FullRainbowAgent,
            networks.CartpoleFullRainbowNetwork,
            dict(noisy=False, dueling=False, double_dqn=False),
        ),
    ):
        v1.reset_default_graph()
        agent = agent_class(None, 2, network=network, **REAL, **options)
        generator = np.random.RandomState(5)
        for of_network in variables(agent):
            for variable in of_network:
                value = generator.normal(0, 0.1, variable.shape.as_list())
                variable.load(value.astype(np.float32), agent._sess)
        random.seed(3)
        np.random.seed(3)
        agent.epsilon_decay_period = 50  # so that some of the actions are greedy
        actions = play(agent, 150)
        memory = agent._replay.memory
        outcomes.append(
            [
                actions,
                *agent._sess.run(variables(agent)[0]),
                *agent._sess.run(variables(agent)[1]),
                memory.sum_tree.get(np.arange(150, dtype=np.int32)),
                agent._sess.run(agent._train_op)[1],
            ]
        )
        agent._sess.close()
    for of_rainbow, of_full in zip(*outcomes, strict=True):
        np.testing.assert_array_equal(of_rainbow, of_full)


def make_noisy(**options):
    return full_rainbow_agent.FullRainbowAgent(
        None, 2, network=networks.CartpoleFullRainbowNetwork, **REAL, **options
    )


def test_noise_is_drawn_anew_for_actions_and_is_off_in_evaluation():
    agent = make_noisy()
    fed = {agent.state_ph: np.reshape([0.1, -0.2, 0.05, 0.3], [1, 4, 1, 1])}

    def values():
        return agent._sess.run(agent._net_outputs.q_values, fed)

    noisy = [values() for _ in range(3)]
    assert len({value.tobytes() for value in noisy}) == 3
    agent.eval_mode = True
    means = [values() for _ in range(3)]
    assert len({value.tobytes() for value in means}) == 1
    assert means[0].tobytes() not in {value.tobytes() for value in noisy}


def test_the_three_networks_of_a_batch_draw_noise_of_their_own():
    agent = make_noisy()
    agent._sess.run(agent._sync_qt_ops)
    play(agent, 25)
    agent._sess.run(agent._sync_qt_ops)
    # The same states and weights: what differs is the noise.
    online, target = agent._sess.run(
        [agent._replay_next_net_outputs.q_values, agent._replay_next_target_net_outputs.q_values]
    )
    assert not np.allclose(online, target)


def test_noise_takes_the_place_of_epsilon():
    agent = make_noisy()
    assert agent.epsilon_train == 0
    assert agent.epsilon_fn is dqn_agent.identity_epsilon
    v1.reset_default_graph()
    agent = make_noisy(noisy=False)
    assert agent.epsilon_train == 0.01
    assert agent.epsilon_fn is dqn_agent.linearly_decaying_epsilon


def test_several_updates_a_training_step():
    agent = make_noisy(num_updates_per_train_step=3)
    batches = []
    sample = agent._replay.memory.sample_index_batch
    agent._replay.memory.sample_index_batch = lambda size: batches.append(0) or sample(size)
    play(agent, 32)
    assert agent.training_steps == 33
    # More than 20 transitions are stored from training step 21 on; 24, 28 and 32 are due.
    assert len(batches) == 3 * 3


def test_a_noisy_run_is_repeatable():
    outcomes = []
    for _ in range(2):
        v1.reset_default_graph()
        v1.set_random_seed(4)
        random.seed(4)
        np.random.seed(4)
        agent = make_noisy(beta=0.4, beta_anneal_steps=30)
        outcomes.append((play(agent, 40), agent._sess.run(variables(agent)[0])))
        agent._sess.close()
    assert outcomes[0][0] == outcomes[1][0]
    for first, second in zip(outcomes[0][1], outcomes[1][1], strict=True):
        np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        ({'epsilon_train': 0.01}, 'noisy layers take the place .* got None and 0.01'),
        ({'epsilon_fn': dqn_agent.linearly_decaying_epsilon}, 'noisy layers take the place'),
        ({'distributional': False, 'num_atoms': 51}, 'without distributional .* num_atoms = 51'),
        ({'num_atoms': 1}, 'num_atoms must be at least 2, got 1'),
        ({'num_updates_per_train_step': 0}, 'num_updates_per_train_step must be at least 1'),
        ({'alpha': -1}, r'alpha must be in \[0, 1\], got -1'),
        ({'beta': 1.01}, r'beta must be in \[0, 1\], got 1.01'),
        ({'replay_scheme': 'rank'}, 'Invalid replay scheme: rank'),
        ({'noisy': 'False'}, "noisy must be True or False, got 'False'"),
        ({'distributional': 'no'}, 'distributional must be True or False'),
    ],
)
def test_contradicting_and_unknown_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        make_noisy(**options)


def test_exploration_that_is_bound_on_rainbow_holds_here():
    gin.parse_config(
        'RainbowAgent.epsilon_fn = @dqn_agent.identity_epsilon\nRainbowAgent.epsilon_train = 0.2'
    )
    agent = make_noisy_off()
    assert (agent.epsilon_fn(1, 2, 3, 0.5), agent.epsilon_train) == (0.5, 0.2)
    agent = make_noisy_off(epsilon_train=0.3)
    assert (agent.epsilon_fn(1, 2, 3, 0.5), agent.epsilon_train) == (0.5, 0.3)


def make_noisy_off(**options):
    v1.reset_default_graph()
    bindings = {name: value for name, value in REAL.items() if not name.startswith('epsilon')}
    return full_rainbow_agent.FullRainbowAgent(
        None, 2, network=networks.CartpoleFullRainbowNetwork, noisy=False, **bindings, **options
    )


@pytest.mark.parametrize('text', ['epsilon_train = 0.1', 'epsilon_fn = @identity_epsilon'])
def test_noise_contradicts_exploration_that_is_bound_on_rainbow(text):
    gin.parse_config(f'RainbowAgent.{text}')
    with pytest.raises(ValueError, match='noisy layers take the place'):
        make_noisy()


def test_a_network_bound_on_rainbow_is_not_passed_over():
    gin.parse_config('RainbowAgent.network = @networks.CartpoleFullRainbowNetwork')
    with pytest.raises(ValueError, match=r'RainbowAgent\.network is bound, .* bind FullRainbow'):
        full_rainbow_agent.FullRainbowAgent(None, 2, **REAL)
    gin.parse_config('FullRainbowAgent.network = @networks.CartpoleFullRainbowNetwork')
    full_rainbow_agent.FullRainbowAgent(None, 2, **REAL)


@pytest.mark.parametrize(
    ('distributional', 'name'), [(True, 'CrossEntropyLoss'), (False, 'HuberLoss')]
)
def test_the_loss_has_its_name_in_the_summaries(distributional, name):
    agent = make_noisy(distributional=distributional, summary_writer=None)
    assert agent._name_of_loss() == name
