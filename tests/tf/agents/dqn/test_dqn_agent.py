"""DQN: its target, loss and gradient step on a batch computed by hand, and how the agent acts."""

import logging
import os
import random

import absl.logging
import agent_cases
import gin
import numpy as np
import pytest
import tensorflow as tf
import tf_keras

from dopamine_lite.discrete_domains import legacy_networks
from dopamine_lite.tf.agents.dqn import dqn_agent
from dopamine_lite.tf.prepared_call import PreparedCall
from dopamine_lite.tf.replay_memory import circular_replay_buffer
from dopamine_lite.utils import test_utils

v1 = tf.compat.v1


def make(agent_class=dqn_agent.DQNAgent, sess=None, **arguments):
    """Makes an agent with two actions and a linear network on states of two numbers."""
    settings = {
        **agent_cases.ARGUMENTS,
        'network': agent_cases.LinearNetwork,
        'epsilon_fn': dqn_agent.identity_epsilon,
        'epsilon_train': 0.0,
        'epsilon_eval': 0.0,
        'optimizer': v1.train.GradientDescentOptimizer(1.0),
    }
    settings.update(arguments)
    return agent_class(sess, 2, **settings)


@pytest.fixture
def small_replay():
    gin.parse_config(
        ['WrappedReplayBuffer.replay_capacity = 20', 'WrappedReplayBuffer.batch_size = 2']
    )


def stored(agent, name):
    """The stored elements called `name`, padding included."""
    memory = agent._replay.memory
    return memory._store[name][: int(memory.add_count)]


# Values. With the online and target weights below, the rows of the batch have
#     row 0: Q(s, 1) = 0.5 + 2 * 0.5 = 1.5   Q_target(s') = (4, -2), target 1 + 0.25 * 4 = 2
#     row 1: Q(s, 0) = 2                     terminal, target -1
# so that the errors are 0.5 and -3, the Huber losses 0.125 and 2.5, and their mean 1.3125.

ONLINE = [[1.0, 0.5], [2.0, 0.5]]
TARGET = [[2.0, -1.0], [0.0, 4.0]]


@pytest.fixture
def hand_computed():
    agent = make(agent_cases.with_replay(dqn_agent.DQNAgent))
    agent_cases.set_weights(agent, ONLINE, TARGET)
    return agent


def test_target(hand_computed):
    targets = hand_computed._sess.run(hand_computed._build_target_q_op())
    np.testing.assert_array_equal(targets, [2.0, -1.0])


def test_loss(tmp_path):
    agent = make(agent_cases.with_replay(dqn_agent.DQNAgent), summary_writer=str(tmp_path))
    agent_cases.set_weights(agent, ONLINE, TARGET)
    summary = v1.Summary.FromString(agent._sess.run(agent._merged_summaries))
    assert [(value.tag, value.simple_value) for value in summary.value] == [
        ('Losses/HuberLoss', 1.3125)
    ]


def test_gradient_step(hand_computed):
    # Of the mean: -0.5 / 2 times (1, 2) in the column of action 1, 1 / 2 times (0, 1) in that of 0.
    hand_computed._sess.run(hand_computed._train_op)
    np.testing.assert_array_equal(
        agent_cases.online_weights(hand_computed), [[1.0, 0.75], [1.5, 1.0]]
    )
    (target,) = hand_computed.target_convnet.trainable_variables
    np.testing.assert_array_equal(hand_computed._sess.run(target), TARGET)


def test_sync(hand_computed):
    hand_computed._sess.run(hand_computed._sync_qt_ops)
    (target,) = hand_computed.target_convnet.trainable_variables
    np.testing.assert_array_equal(hand_computed._sess.run(target), ONLINE)
    assert isinstance(hand_computed._sync_qt_ops, list)
    assert len(hand_computed._sync_qt_ops) == 1


def test_step_on_stored_transitions(small_replay):
    """The two transitions of the batch lie in the real replay, and are what it samples."""
    agent = make(update_horizon=1, gamma=0.25)
    agent_cases.set_weights(agent, ONLINE, TARGET)
    memory = agent._replay.memory
    # The frames after each: the first transition's next state is the second's observation.
    memory.add(np.array([1, 2]), 1, 1.0, 0)
    memory.add(np.array([2, 0]), 0, 0.0, 1)
    memory.add(np.array([0, 1]), 0, -1.0, 1)
    memory.sample_index_batch = lambda batch_size: [0, 2]
    agent._sess.run(agent._train_op)
    np.testing.assert_array_equal(agent_cases.online_weights(agent), [[1.0, 0.75], [1.5, 1.0]])


def test_bellman_target():
    with v1.Session() as session:
        result = dqn_agent.bellman_target(
            tf.constant([1.0, 1.0, -2.0]),
            tf.constant([0, 1, 0], tf.uint8),
            tf.constant([4.0, 4.0, 8.0]),
            0.5,
        )
        np.testing.assert_array_equal(session.run(result), [3.0, 1.0, 2.0])


@pytest.mark.parametrize('name, optimizer', [('dqn_adam', 'adam'), ('dqn_rmsprop', None)])
def test_golden_train_steps(golden, name, optimizer):
    values = golden('train_steps')
    gin.parse_config(
        ['WrappedReplayBuffer.replay_capacity = 500', 'WrappedReplayBuffer.batch_size = 32']
    )
    if optimizer == 'adam':
        optimizer = v1.train.AdamOptimizer(1e-3, epsilon=3.125e-4)
    agent = dqn_agent.DQNAgent(
        None,
        2,
        observation_shape=(4, 1),
        observation_dtype=tf.float64,
        stack_size=1,
        network=legacy_networks.CartpoleDQNNetwork,
        optimizer=optimizer,  # None: the default is the RMSProp that was used
    )
    agent_cases.set_golden_weights(agent, 11, 12)
    for row in zip(
        *(values[f'{name}/{x}'] for x in ('obs', 'action', 'reward', 'terminal')), strict=True
    ):
        agent._replay.add(*row)
    probe = values[f'{name}/probe']

    def q_values():
        return np.array(
            [
                agent._sess.run(agent._net_outputs.q_values, {agent.state_ph: state[None]})[0]
                for state in probe
            ]
        )

    np.testing.assert_allclose(q_values(), values[f'{name}/q_initial'], rtol=1e-5, atol=1e-5)
    after, _ = agent_cases.golden_steps(agent, 5, q_values)
    for steps, result in after.items():
        np.testing.assert_allclose(
            result, values[f'{name}/q_after_{steps}'], rtol=2e-3, atol=2e-3, err_msg=f'{steps}'
        )


# Exploration.


@pytest.mark.parametrize(
    'step, expected',
    [(0, 1.0), (20, 1.0), (21, 0.991), (70, 0.55), (119, 0.109), (120, 0.1), (10**6, 0.1)],
)
def test_linearly_decaying_epsilon(step, expected):
    epsilon = dqn_agent.linearly_decaying_epsilon(100, step, 20, 0.1)
    assert epsilon == pytest.approx(expected, abs=1e-12)


def test_identity_epsilon():
    assert dqn_agent.identity_epsilon(100, 5, 20, 0.3) == 0.3


def test_random_actions_draw_as_dopamine(small_replay):
    """`random.random()` a step, and after it `random.randint` where it is at most epsilon."""
    agent = make(epsilon_train=0.5, min_replay_history=1000)
    agent_cases.set_weights(agent, [[0, 0], [0, 0]], TARGET)  # greedy: 0
    random.seed(3)
    actions = [agent.begin_episode(np.zeros(2))]
    actions += [agent.step(0.0, np.zeros(2)) for _ in range(30)]
    state_after = random.getstate()

    random.seed(3)
    expected = [random.randint(0, 1) if random.random() <= 0.5 else 0 for _ in range(31)]
    assert actions == expected
    assert state_after == random.getstate()
    assert 1 in expected


def test_epsilon_of_zero_is_met_by_a_draw_of_zero(small_replay, monkeypatch):
    agent = make()
    agent_cases.set_weights(agent, [[1, 0], [0, 0]], TARGET)
    monkeypatch.setattr(random, 'random', lambda: 0.0)
    monkeypatch.setattr(random, 'randint', lambda low, high: 10 * low + high)
    assert agent.begin_episode(np.array([1.0, 0.0])) == 1  # randint(0, num_actions - 1)


def test_epsilon_fn_is_asked_with_the_agents_settings(small_replay):
    asked = []

    def epsilon_fn(*arguments):
        asked.append(arguments)
        return 0.0

    agent = make(
        epsilon_fn=epsilon_fn, epsilon_train=0.25, epsilon_decay_period=77, min_replay_history=9
    )
    agent.begin_episode(np.zeros(2))
    agent.step(0.0, np.zeros(2))
    assert asked == [(77, 1, 9, 0.25), (77, 2, 9, 0.25)]
    agent.eval_mode = True
    agent.step(0.0, np.zeros(2))
    assert len(asked) == 2


def test_greedy_action_is_of_the_largest_value(small_replay):
    agent = make(eval_mode=True)
    agent_cases.set_weights(agent, [[1, -1], [0, 0]], TARGET)
    assert agent.begin_episode(np.array([2.0, 0.0])) == 0
    assert agent.step(0.0, np.array([-2.0, 0.0])) == 1
    assert agent.action == 1


# Acting and storing.


def test_frames_are_stacked_oldest_first(small_replay):
    agent = make(stack_size=3)
    assert agent.state.shape == (1, 2, 3)
    assert agent.state.dtype == np.float32
    agent.begin_episode(np.array([1, 2]))
    np.testing.assert_array_equal(agent.state[0], [[0, 0, 1], [0, 0, 2]])
    agent.step(0.0, np.array([3, 4]))
    np.testing.assert_array_equal(agent.state[0], [[0, 1, 3], [0, 2, 4]])
    agent.step(0.0, np.array([5, 6]))
    agent.step(0.0, np.array([7, 8]))
    np.testing.assert_array_equal(agent.state[0], [[3, 5, 7], [4, 6, 8]])
    agent.begin_episode(np.array([9, 9]))
    np.testing.assert_array_equal(agent.state[0], [[0, 0, 9], [0, 0, 9]])


def test_observation_is_reshaped(small_replay):
    agent = make()
    agent.begin_episode(np.array([[[5.0]], [[6.0]]]))
    np.testing.assert_array_equal(agent._observation, [5, 6])


def test_what_an_episode_stores(small_replay):
    agent = make(min_replay_history=1000)
    first = agent.begin_episode([1, 2])
    second = agent.step(0.5, [3, 4])
    third = agent.step(0.25, [5, 6])
    agent.end_episode(1.0)
    assert agent._replay.memory.add_count == 3
    np.testing.assert_array_equal(stored(agent, 'observation'), [[1, 2], [3, 4], [5, 6]])
    np.testing.assert_array_equal(stored(agent, 'action'), [first, second, third])
    np.testing.assert_array_equal(stored(agent, 'reward'), [0.5, 0.25, 1.0])
    np.testing.assert_array_equal(stored(agent, 'terminal'), [0, 0, 1])
    assert agent._replay.memory.episode_end_indices == {2}
    assert agent.training_steps == 3  # begin_episode counts one, end_episode none


def test_eval_mode_neither_stores_nor_counts(small_replay):
    agent = make(eval_mode=True)
    agent.begin_episode([1, 2])
    agent.step(0.5, [3, 4])
    agent.end_episode(1.0)
    assert agent._replay.memory.add_count == 0
    assert agent.training_steps == 0


def test_add_is_called_by_position():
    agent = make(agent_cases.with_replay(dqn_agent.DQNAgent), min_replay_history=1000)
    observation = np.array([1.0, 2.0], np.float32)
    agent.begin_episode(observation)
    agent.action = 1
    agent.step('a reward', np.array([3, 4]))
    agent.end_episode(2.5)
    first, last = agent._replay.added
    np.testing.assert_array_equal(first[0], observation)
    assert first[1:] == (1, 'a reward', False)  # passed on as they are
    np.testing.assert_array_equal(last[0], [3, 4])
    assert last[2:] == (2.5, True)


# When it trains and copies.


class Recorder:
    """A session that writes down what it is asked to run."""

    def __init__(self):
        self.fetched = []

    def run(self, fetches, feed_dict=None):
        self.fetched.append(fetches)
        return 1

    def count(self, fetches):
        return sum(fetched is fetches for fetched in self.fetched)


@pytest.fixture
def recorded(small_replay):
    agent = make(min_replay_history=4, update_period=2, target_update_period=6)
    agent._sess = Recorder()
    agent._replay = test_utils.MockReplayBuffer()
    return agent


def test_nothing_is_trained_up_to_min_replay_history(recorded):
    recorded._replay.memory.add_count = 4
    for _ in range(7):
        recorded._train_step()
    assert recorded._sess.fetched == []
    assert recorded.training_steps == 7


def test_periods(recorded):
    recorded._replay.memory.add_count = 5
    trained, copied = [], []
    for step in range(13):
        before = len(recorded._sess.fetched)
        recorded._train_step()
        new = recorded._sess.fetched[before:]
        trained += [step for fetched in new if fetched is recorded._train_op]
        copied += [step for fetched in new if fetched is recorded._sync_qt_ops]
    assert trained == [0, 2, 4, 6, 8, 10, 12]
    assert copied == [0, 6, 12]


def test_periods_are_read_anew_each_time(recorded):
    recorded._replay.memory.add_count = 5
    recorded._train_step()  # trains and copies
    recorded.update_period, recorded.target_update_period = 1, 1
    recorded._train_step()
    assert recorded._sess.count(recorded._train_op) == 2
    assert recorded._sess.count(recorded._sync_qt_ops) == 2
    recorded.min_replay_history = 5
    recorded._train_step()
    assert recorded._sess.count(recorded._train_op) == 2
    recorded._replay.memory.add_count = np.array(6)
    recorded._train_step()
    assert recorded._sess.count(recorded._train_op) == 3
    recorded.training_steps = 100
    recorded._train_step()
    assert recorded.training_steps == 101


def test_replaced_replay_is_used(recorded):
    recorded.begin_episode(np.array([1, 2]))
    recorded.step(0.5, np.array([3, 4]))
    ((observation, *rest), keywords) = recorded._replay.add.call_args
    np.testing.assert_array_equal(observation, [1, 2])
    assert rest == [1, 0.5, False]
    assert keywords == {}


def test_trains_on_its_replay(small_replay):
    agent = make(min_replay_history=3, update_period=1, target_update_period=2)
    agent_cases.set_weights(agent, ONLINE, TARGET)
    agent.begin_episode([1, 2])
    for _ in range(3):
        agent.step(1.0, [1, 2])
    np.testing.assert_array_equal(agent_cases.online_weights(agent), ONLINE)
    agent.step(1.0, [1, 2])  # training step 4: trains, then copies
    assert not np.array_equal(agent_cases.online_weights(agent), ONLINE)
    (target,) = agent.target_convnet.trainable_variables
    np.testing.assert_array_equal(agent._sess.run(target), agent_cases.online_weights(agent))
    assert agent.training_steps == 5


# What programs replace after the first use.


def test_replaced_ops_are_run(small_replay):
    agent = make(
        agent_cases.with_replay(dqn_agent.DQNAgent),
        min_replay_history=0,
        update_period=1,
        target_update_period=1,
    )
    agent_cases.set_weights(agent, ONLINE, TARGET)
    agent._replay.memory.add_count = 1
    agent.begin_episode([1, 2])  # all three calls were made once
    counters = [tf.Variable(0, name=f'counter_{i}') for i in range(2)]
    agent._sess.run(v1.variables_initializer(counters))
    agent._train_op = counters[0].assign_add(1)
    agent._sync_qt_ops = [counters[1].assign_add(1), tf.no_op()]
    agent._q_argmax = tf.constant(7, tf.int64) + tf.cast(0 * agent.state_ph[0, 0, 0], tf.int64)
    assert agent.step(0.0, [1, 2]) == 7
    assert agent.step(0.0, [1, 2]) == 7
    assert agent._sess.run(counters) == [2, 2]


def test_replaced_session_is_used(small_replay):
    agent = make(eval_mode=True)
    agent.begin_episode([1, 2])
    agent._sess = Recorder()
    assert agent.step(0.0, [1, 2]) == 1
    assert agent._sess.fetched == [agent._q_argmax]


def test_replaced_state_is_fed(small_replay):
    agent = make(eval_mode=True)
    agent_cases.set_weights(agent, [[1, -1], [0, 0]], TARGET)
    assert agent.begin_episode([1, 0]) == 0
    agent.state = np.full((1, 2, 1), -1.0)  # float64, cast
    assert agent._select_action() == 1
    agent.state = [[[1.0], [1.0]]]
    assert agent._select_action() == 0
    agent.state = np.zeros((1, 3, 1), np.float32)
    with pytest.raises(ValueError, match=r'takes shape \(1, 2, 1\), got \(1, 3, 1\)'):
        agent._select_action()


def test_replaced_placeholder_is_fed(small_replay):
    agent = make(eval_mode=True)
    agent.begin_episode([1, 0])
    agent.state_ph = v1.placeholder(tf.float32, (1, 2, 1))
    agent._q_argmax = tf.cast(agent.state_ph[0, 0, 0], tf.int64)
    assert agent.step(0.0, [5, 0]) == 5


def test_greedy_acting_is_prepared_once(small_replay):
    agent = make(eval_mode=True)
    agent.begin_episode([1, 0])
    call = agent._act_call
    agent.step(0.0, [1, 0])
    assert isinstance(call, PreparedCall)
    assert agent._act_call is call


# Cut episodes.


def test_cut_episode_is_stored_as_an_end_without_a_terminal(small_replay):
    agent = make(min_replay_history=1000)
    agent.begin_episode([1, 2])
    agent.step(0.0, [3, 4])
    agent.end_episode(1.0, terminal=False)
    np.testing.assert_array_equal(stored(agent, 'terminal'), [0, 0])
    assert agent._replay.memory.episode_end_indices == {1}
    agent.begin_episode([1, 2])
    agent.end_episode(1.0)
    np.testing.assert_array_equal(stored(agent, 'terminal'), [0, 0, 1])


def test_episode_end_is_passed_only_where_the_episode_was_cut(small_replay):
    agent = make()
    agent._replay = test_utils.MockReplayBuffer()
    agent.begin_episode([1, 2])
    agent.end_episode(1.0)
    assert agent._replay.add.call_args.kwargs == {}
    assert agent._replay.add.call_args.args[3] is True
    agent.end_episode(1.0, terminal=False)
    assert agent._replay.add.call_args.kwargs == {'episode_end': True}
    assert agent._replay.add.call_args.args[3] is False


def test_replay_that_does_not_take_episode_end(caplog, monkeypatch):
    """`FixedReplay.add` takes four arguments by position: it gets a terminal, with one warning."""
    # The warning comes once a process, which another test may have used up.
    monkeypatch.setattr(absl.logging, '_log_counter_per_token', {})
    agent = make(agent_cases.with_replay(dqn_agent.DQNAgent))
    agent.begin_episode([1, 2])
    with caplog.at_level(logging.WARNING, 'absl'):
        agent.end_episode(1.0, terminal=False)
        agent.end_episode(2.0, terminal=False)
    assert [row[2:] for row in agent._replay.added] == [(1.0, True), (2.0, True)]
    assert [record.getMessage() for record in caplog.records] == [
        'FixedReplay.add does not take episode_end: cut episodes are stored as terminal'
    ]


def test_overridden_store_transition_takes_four_arguments(small_replay):
    class Agent(dqn_agent.DQNAgent):
        def _store_transition(self, last_observation, action, reward, is_terminal):
            seen.append((reward, is_terminal))
            super()._store_transition(last_observation, action, 2 * reward, is_terminal)

    seen = []
    agent = make(Agent)
    agent.begin_episode([1, 2])
    agent.step(1.0, [3, 4])
    agent.end_episode(4.0, terminal=False)
    assert seen == [(1.0, False), (4.0, False)]
    np.testing.assert_array_equal(stored(agent, 'reward'), [2.0, 8.0])
    assert agent._replay.memory.episode_end_indices == {1}


def test_failed_store_forgets_the_cut(small_replay):
    agent = make()
    agent.begin_episode([1, 2])
    agent._replay = test_utils.MockReplayBuffer()
    agent._replay.add.side_effect = RuntimeError('full')
    with pytest.raises(RuntimeError, match='full'):
        agent.end_episode(1.0, terminal=False)
    agent._replay.add.side_effect = None
    agent.end_episode(1.0)
    assert agent._replay.add.call_args.kwargs == {}


# Checkpoints.


@pytest.fixture
def trained(small_replay):
    agent = make(min_replay_history=3, update_period=1, target_update_period=3)
    agent.begin_episode([1, 2])
    for i in range(5):
        agent.step(1.0, [i, 2])
    return agent


def contents(agent):
    """All that a checkpoint has of an agent."""
    return (
        agent.training_steps,
        agent.state.tolist(),
        agent_cases.online_weights(agent).tolist(),
        agent._sess.run(agent.target_convnet.trainable_variables[0]).tolist(),
        int(agent._replay.memory.add_count),
        agent._replay.memory._store['observation'].tolist(),
    )


def another(**arguments):
    """An agent in a graph of its own."""
    v1.reset_default_graph()
    return make(**arguments)


def test_checkpoint_round_trip(trained, tmp_path):
    bundle = trained.bundle_and_checkpoint(str(tmp_path), 3)
    assert sorted(bundle) == ['state', 'training_steps']
    assert bundle['training_steps'] == 6
    assert (tmp_path / 'tf_ckpt-3.index').exists()
    before = contents(trained)
    restored = another()
    assert contents(restored) != before
    assert restored.unbundle(str(tmp_path), 3, bundle) is True
    assert contents(restored) == before


def test_bundle_without_a_folder(trained, tmp_path):
    assert trained.bundle_and_checkpoint(str(tmp_path / 'none'), 3) is None
    assert not (tmp_path / 'none').exists()


def test_every_key_that_names_an_attribute_is_restored(trained, tmp_path):
    bundle = trained.bundle_and_checkpoint(str(tmp_path), 3)
    bundle.update(epsilon_train=0.75, current_iteration=9, action=1)
    restored = another()
    assert restored.unbundle(str(tmp_path), 3, bundle)
    assert restored.epsilon_train == 0.75
    assert restored.action == 1
    assert not hasattr(restored, 'current_iteration')


@pytest.mark.parametrize('missing', ['bundle', 'graph', 'replay'])
@pytest.mark.parametrize('partial', [False, True])
def test_missing_part(trained, tmp_path, missing, partial):
    bundle = trained.bundle_and_checkpoint(str(tmp_path), 3)
    saved = contents(trained)
    if missing == 'bundle':
        bundle = None
    elif missing == 'graph':
        for path in tmp_path.glob('tf_ckpt*'):
            path.unlink()
    else:
        (tmp_path / 'add_count_ckpt.3.gz').unlink()
    restored = another(allow_partial_reload=partial)
    before = contents(restored)
    assert restored.unbundle(str(tmp_path), 3, bundle) is partial
    if not partial:
        assert contents(restored) == before
        return
    steps, state, online, target, add_count, frames = saved
    new = contents(restored)
    assert new[:2] == ((0, before[1]) if missing == 'bundle' else (steps, state))
    assert new[2:4] == (before[2:4] if missing == 'graph' else (online, target))
    assert new[4:] == (before[4:] if missing == 'replay' else (add_count, frames))


def test_checkpoint_of_another_network_names_the_variables(trained, tmp_path):
    bundle = trained.bundle_and_checkpoint(str(tmp_path), 3)
    v1.reset_default_graph()
    other = make(observation_shape=(3,), network=agent_cases.LinearNetwork)
    before = other.training_steps, other._sess.run(other.online_convnet.trainable_variables[0])
    with pytest.raises(
        ValueError,
        match=r'tf_ckpt-3 is of another network: .*Online/\S*kernel: expected \[3, 2\], got \[2, 2\]',
    ):
        other.unbundle(str(tmp_path), 3, bundle)
    assert other.training_steps == before[0] == 0
    assert other._replay.memory.add_count == 0
    np.testing.assert_array_equal(
        other._sess.run(other.online_convnet.trainable_variables[0]), before[1]
    )


def test_old_tf_checkpoints_are_deleted(small_replay, tmp_path):
    agent = make(max_tf_checkpoints_to_keep=2)
    for number in range(4):
        agent.bundle_and_checkpoint(str(tmp_path), number)
    assert sorted(path.name for path in tmp_path.glob('*.index')) == [
        'tf_ckpt-2.index',
        'tf_ckpt-3.index',
    ]


# Summaries.


def events(folder):
    """Returns (step, tag, value) of each scalar in the event files of a folder."""
    found = []
    for path in sorted(folder.glob('events.out.tfevents.*')):
        for event in v1.train.summary_iterator(str(path)):
            found += [(event.step, value.tag, value.simple_value) for value in event.summary.value]
    return found


@pytest.mark.parametrize('as_text', [True, False])
def test_summaries_are_written_at_their_frequency(tmp_path, as_text):
    agent = make(
        agent_cases.with_replay(dqn_agent.DQNAgent),
        min_replay_history=-1,
        update_period=1,
        target_update_period=1000,
        optimizer=v1.train.GradientDescentOptimizer(0.0),  # so that the loss stays
        summary_writing_frequency=3,
        summary_writer=str(tmp_path) if as_text else v1.summary.FileWriter(str(tmp_path)),
    )
    agent_cases.set_weights(agent, ONLINE, TARGET)
    agent.training_steps = 1  # at 0 the networks are made equal
    for _ in range(7):
        agent._train_step()
    agent.summary_writer.flush()
    assert events(tmp_path) == [(3, 'Losses/HuberLoss', 1.3125), (6, 'Losses/HuberLoss', 1.3125)]


def test_no_writer_no_summaries(small_replay):
    agent = make()
    assert agent.summary_writer is None
    assert agent._merged_summaries is None


# Construction.


def test_each_agent_has_an_optimizer_of_its_own(small_replay):
    first = make(optimizer=None)
    second = make(optimizer=None, network=named_apart('Second'))
    assert isinstance(first.optimizer, v1.train.RMSPropOptimizer)
    assert first.optimizer is not second.optimizer


def named_apart(prefix):
    """A network whose variables do not meet those of another agent in the graph."""
    return lambda num_actions, name: agent_cases.LinearNetwork(num_actions, name=prefix + name)


def test_two_agents_in_one_graph(small_replay):
    """In a name scope each, as the copying op tells them apart by it."""
    agents = []
    for name in ('first', 'second'):
        with tf.name_scope(name):
            agents.append(make(min_replay_history=3, update_period=1, target_update_period=10**6))
        agent_cases.set_weights(agents[-1], ONLINE, TARGET)
    first, second = agents
    assert first._sess.graph is second._sess.graph
    first._sess.run(first._sync_qt_ops)
    np.testing.assert_array_equal(
        first._sess.run(first.target_convnet.trainable_variables[0]), ONLINE
    )
    np.testing.assert_array_equal(
        second._sess.run(second.target_convnet.trainable_variables[0]), TARGET
    )
    for agent in agents:
        agent.begin_episode([1, 2])
        for _ in range(4):
            agent.step(1.0, [1, 2])
        # One step down from Q((1, 2), 0) = 5, whose targets are 1.5 + 5 / 4 and 1.5 + 7 / 4.
        np.testing.assert_array_equal(agent_cases.online_weights(agent), [[0.0, 0.5], [0.0, 0.5]])


def test_making_an_agent_keeps_the_values_of_the_session(small_replay):
    session = v1.Session()
    kept = v1.get_variable('kept', initializer=1.0)
    session.run(kept.initializer)
    kept.load(5.0, session)
    agent = make(sess=session)
    assert agent._sess is session
    assert session.run(kept) == 5.0


def test_session_of_its_own(small_replay):
    agent = make(sess=None)
    assert isinstance(agent._sess, v1.Session)
    assert agent._sess.graph is v1.get_default_graph()
    assert not agent._sess.graph.finalized


def test_gpu_that_is_not_there_means_the_cpu(small_replay):
    if tf.config.list_physical_devices('GPU'):
        pytest.skip('there is a GPU')
    agent = make(tf_device='/gpu:0', eval_mode=True)
    assert 'GPU' not in agent.state_ph.device.upper()
    assert agent.begin_episode([1, 2]) in (0, 1)


@pytest.mark.parametrize('shape', [[2], 2, None])
def test_observation_shape_must_be_a_tuple(shape):
    with pytest.raises(AssertionError, match='observation_shape must be a tuple, got'):
        make(observation_shape=shape)


@pytest.mark.parametrize('name', ['stack_size', 'update_period', 'target_update_period'])
def test_number_out_of_range(name):
    with pytest.raises(ValueError, match=f'{name} must be at least 1, got 0'):
        make(**{name: 0})


@pytest.mark.parametrize(
    'arguments, message',
    [
        (dict(gamma=1.5), r'Discount factor \(gamma\) must be in \[0, 1\]'),
        (dict(update_horizon=0), 'Update horizon must be positive'),
        (dict(update_horizon=100), r'Update horizon \(100\) should be significantly smaller'),
    ],
)
def test_replay_settings_out_of_range(small_replay, arguments, message):
    with pytest.raises(ValueError, match=message):
        make(**arguments)


def test_attributes(small_replay):
    agent = make(min_replay_history=7, epsilon_eval=0.125, summary_writing_frequency=11)
    expected = dict(
        num_actions=2,
        observation_shape=(2,),
        observation_dtype=tf.float32,
        stack_size=1,
        network=agent_cases.LinearNetwork,
        gamma=0.5,
        update_horizon=2,
        cumulative_gamma=0.25,
        min_replay_history=7,
        update_period=4,
        target_update_period=8000,
        epsilon_fn=dqn_agent.identity_epsilon,
        epsilon_train=0.0,
        epsilon_eval=0.125,
        epsilon_decay_period=250000,
        eval_mode=False,
        training_steps=0,
        summary_writer=None,
        summary_writing_frequency=11,
        allow_partial_reload=False,
    )
    assert {name: getattr(agent, name) for name in expected} == expected
    assert isinstance(agent._replay, circular_replay_buffer.WrappedReplayBuffer)
    assert isinstance(agent._train_op, tf.Operation)


def test_subclass_may_set_attributes_first(small_replay):
    class Agent(dqn_agent.DQNAgent):
        def __init__(self, *arguments, **keywords):
            self.bonus = 3.0
            super().__init__(*arguments, **keywords)

        def _build_target_q_op(self):
            return super()._build_target_q_op() + self.bonus

    agent = make(agent_cases.with_replay(Agent))
    agent_cases.set_weights(agent, ONLINE, TARGET)
    np.testing.assert_array_equal(agent._sess.run(agent._build_target_q_op()), [5.0, 2.0])


def test_hooks_are_called_in_order(small_replay):
    called = []

    def hook(name):
        def call(self, *arguments, **keywords):
            called.append(name)
            return getattr(dqn_agent.DQNAgent, name)(self, *arguments, **keywords)

        return call

    names = ['_build_replay_buffer', '_build_networks', '_build_train_op', '_build_sync_op']
    make(type('Agent', (dqn_agent.DQNAgent,), {name: hook(name) for name in names}))
    assert called == names


# Networks.


def graph_function(num_actions, network_type, state):
    """A network as Dopamine 2 had them: it builds a graph, with variables by `get_variable`."""
    features = tf.reshape(tf.cast(state, tf.float32), [-1, 2])
    kernel = v1.get_variable('kernel', [2, num_actions], initializer=v1.zeros_initializer())
    return network_type(tf.matmul(features, kernel))


def test_function_of_dopamine_2_as_network():
    agent = make(agent_cases.with_replay(dqn_agent.DQNAgent), network=graph_function)
    assert [v.op.name for v in v1.trainable_variables()] == ['Online/kernel', 'Target/kernel']
    agent_cases.set_weights(agent, ONLINE, TARGET)
    agent._sess.run(agent._train_op)
    np.testing.assert_array_equal(agent_cases.online_weights(agent), [[1.0, 0.75], [1.5, 1.0]])
    agent._sess.run(agent._sync_qt_ops)
    np.testing.assert_array_equal(
        agent._sess.run(agent.target_convnet.trainable_variables[0]), [[1.0, 0.75], [1.5, 1.0]]
    )


@pytest.mark.parametrize('keras', [tf.keras, tf_keras], ids=['tf.keras', 'tf_keras'])
def test_keras_model_as_network(keras):
    class Network(keras.Model):
        def __init__(self, num_actions, name=None):
            super().__init__(name=name)
            self.flatten = keras.layers.Flatten()
            self.values = keras.layers.Dense(num_actions, use_bias=False)

        def call(self, state):
            return legacy_networks.DQNNetworkType(self.values(self.flatten(state)))

    agent = make(agent_cases.with_replay(dqn_agent.DQNAgent), network=Network)
    agent_cases.set_weights(agent, ONLINE, TARGET)
    agent._sess.run(agent._train_op)
    np.testing.assert_array_equal(agent_cases.online_weights(agent), [[1.0, 0.75], [1.5, 1.0]])


def test_networks_of_different_size_cannot_be_copied(small_replay):
    class Agent(dqn_agent.DQNAgent):
        def _create_network(self, name):
            return self.network(self.num_actions, name='Elsewhere' if name == 'Target' else name)

    with pytest.raises(ValueError, match='must have the same variables, got .*Online'):
        make(Agent)


def test_network_is_made_by_name(small_replay):
    made = []

    def network(num_actions, name=None):
        made.append((num_actions, name))
        return agent_cases.LinearNetwork(num_actions, name=name)

    make(network=network)
    assert made == [(2, 'Online'), (2, 'Target')]
    assert os.path.dirname(v1.trainable_variables()[0].op.name).startswith('Online')


# gin.


def test_gin_configures_the_agent():
    gin.parse_config(
        """
        DQNAgent.gamma = 0.875
        DQNAgent.epsilon_fn = @dqn_agent.identity_epsilon
        WrappedReplayBuffer.replay_capacity = 30
        WrappedReplayBuffer.batch_size = 5
        """
    )
    agent = dqn_agent.DQNAgent(None, 2, observation_shape=(2,), network=agent_cases.LinearNetwork)
    assert agent.gamma == 0.875
    assert agent.epsilon_fn(1, 2, 3, 0.5) == 0.5
    assert agent._replay.memory._replay_capacity == 30
    assert agent._replay.memory._gamma == 0.875
    assert agent._replay.batch_size == 5
