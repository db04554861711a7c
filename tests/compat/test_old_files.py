"""Files that Dopamine wrote are read, and what is written here, Dopamine's code can read."""

import collections
import functools
import gzip
import pickle
import sys
import types

import gin
import numpy as np
import pytest
import tensorflow as tf

from dopamine_lite.compat import gin_selectors, pickles
from dopamine_lite.discrete_domains import checkpointer, legacy_networks, logger
from dopamine_lite.tf.agents.dqn import dqn_agent
from dopamine_lite.tf.replay_memory import circular_replay_buffer, prioritized_replay_buffer

tf1 = tf.compat.v1

ARRAYS = {
    '$store$_observation': np.arange(8 * 3, dtype=np.uint8).reshape(8, 3),
    '$store$_action': np.arange(8, dtype=np.int32),
    '$store$_reward': np.linspace(0, 1, 8, dtype=np.float32),
    '$store$_terminal': np.array([0, 0, 0, 1, 0, 0, 0, 0], np.uint8),
    'add_count': np.array(6),
    'invalid_range': np.array([5, 6]),
}
EPISODE_ENDS = {np.int64(3)}
ADDRESSES = ('dopamine.replay_memory.sum_tree', 'dopamine.tf.replay_memory.sum_tree')


class SumTree:
    """As Dopamine's: the levels of the tree, and the largest priority so far."""

    def __init__(self, leaves):
        self.nodes = [np.asarray(leaves, np.float64)]
        while len(self.nodes[0]) > 1:
            self.nodes.insert(0, self.nodes[0][0::2] + self.nodes[0][1::2])
        self.max_recorded_priority = 7.0


@pytest.fixture
def their_sum_tree(monkeypatch):
    """Gives the class `SumTree` above an address, as the module there would."""

    def at(address):
        parts = address.split('.')
        for end in range(1, len(parts)):
            name = '.'.join(parts[:end])
            monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
        module = types.ModuleType(address)
        module.SumTree = SumTree
        monkeypatch.setitem(sys.modules, address, module)
        monkeypatch.setattr(SumTree, '__module__', address)

    return at


def _write(folder, suffix, episode_ends=True, tree=None, protocol=pickle.DEFAULT_PROTOCOL):
    for name, array in ARRAYS.items():
        with gzip.open(folder / f'{name}_ckpt.{suffix}.gz', 'wb') as file:
            np.save(file, array, allow_pickle=False)
    pickled = {}
    if episode_ends:
        pickled['episode_end_indices'] = EPISODE_ENDS
    if tree is not None:
        pickled['sum_tree'] = tree
    for name, value in pickled.items():
        with gzip.open(folder / f'{name}_ckpt.{suffix}.gz', 'wb') as file:
            pickle.dump(value, file, protocol)


def _uniform(**arguments):
    return circular_replay_buffer.OutOfGraphReplayBuffer(
        observation_shape=(3,), stack_size=1, replay_capacity=8, batch_size=2, **arguments
    )


@pytest.mark.parametrize('episode_ends', [False, True], ids=['6 files', '7 files'])
def test_replay_folders_are_read(tmp_path, episode_ends):
    _write(tmp_path, 4, episode_ends)
    assert len(list(tmp_path.iterdir())) == 6 + episode_ends
    replay = _uniform()
    replay.load(str(tmp_path), 4)
    assert replay.add_count == 6
    for name, array in ARRAYS.items():
        if name.startswith('$store$_'):
            np.testing.assert_array_equal(replay._store[name[len('$store$_') :]], array)
    assert replay.episode_end_indices == (EPISODE_ENDS if episode_ends else set())
    batch = replay.sample_transition_batch(2, np.array([1, 3]))
    np.testing.assert_array_equal(batch[0][..., 0], ARRAYS['$store$_observation'][[1, 3]])


def test_what_is_written_has_the_names_and_formats_of_dopamine(tmp_path):
    replay = _uniform()
    for step in range(4):
        replay.add(np.full(3, step), step, 0.5, step == 2)
    replay.save(str(tmp_path), 9)
    names = {f'{name}_ckpt.9.gz' for name in (*ARRAYS, 'episode_end_indices')}
    assert {path.name for path in tmp_path.iterdir()} == names
    for name, array in ARRAYS.items():
        with gzip.open(tmp_path / f'{name}_ckpt.9.gz') as file:
            written = np.load(file, allow_pickle=False)
        assert (written.dtype, written.shape) == (array.dtype, array.shape), name
    with gzip.open(tmp_path / 'episode_end_indices_ckpt.9.gz') as file:
        assert pickle.load(file) == {2}


@pytest.mark.parametrize('protocol', [0, 2, pickle.DEFAULT_PROTOCOL])
@pytest.mark.parametrize('address', ADDRESSES)
def test_sum_trees_of_old_checkpoints_are_read(tmp_path, address, protocol, their_sum_tree):
    priorities = [0, 1, 2, 3, 4, 5, 0, 0]
    their_sum_tree(address)
    _write(tmp_path, 4, tree=SumTree(priorities), protocol=protocol)
    replay = prioritized_replay_buffer.OutOfGraphPrioritizedReplayBuffer(
        observation_shape=(3,), stack_size=1, replay_capacity=8, batch_size=2
    )
    replay.load(str(tmp_path), 4)
    indices = np.arange(8, dtype=np.int32)
    np.testing.assert_array_equal(replay.get_priority(indices), priorities)
    assert replay.sum_tree.max_recorded_priority == 7.0
    assert replay.sum_tree._total_priority() == 15.0


def test_dopamine_reads_the_sum_trees_that_are_written_here(tmp_path, their_sum_tree):
    replay = prioritized_replay_buffer.OutOfGraphPrioritizedReplayBuffer(
        observation_shape=(3,), stack_size=1, replay_capacity=5, batch_size=2
    )
    for step in range(3):
        replay.add(np.zeros(3), 0, 0.0, False, priority=step + 1.0)
    replay.save(str(tmp_path), 1)
    their_sum_tree('dopamine.tf.replay_memory.sum_tree')
    with gzip.open(tmp_path / 'sum_tree_ckpt.1.gz') as file:
        tree = pickle.load(file)
    assert type(tree) is SumTree
    assert sorted(vars(tree)) == ['max_recorded_priority', 'nodes']
    assert [level.tolist() for level in tree.nodes] == [
        [6.0],
        [6.0, 0.0],
        [3.0, 3.0, 0.0, 0.0],
        [1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 0.0, 0.0],
    ]


LOGS = {
    'iteration_0': {
        'train_episode_returns': [np.float32(1.0), 2.0],
        'train_average_return': [1.5],
    }
}


@pytest.mark.parametrize('protocol', [0, 2, pickle.HIGHEST_PROTOCOL])
def test_bundles_and_logs_are_read(tmp_path, protocol):
    bundle = {'state': np.zeros((1, 4, 1)), 'training_steps': 5, 'logs': LOGS}
    (tmp_path / 'ckpt.3').write_bytes(pickle.dumps(bundle, protocol))
    (tmp_path / 'sentinel_checkpoint_complete.3').write_bytes(b'done')
    number = checkpointer.get_latest_checkpoint_number(str(tmp_path))
    assert number == 3
    restored = checkpointer.Checkpointer(str(tmp_path)).load_checkpoint(number)
    assert restored['logs'] == LOGS and restored['training_steps'] == 5
    (tmp_path / 'log_3').write_bytes(pickle.dumps(LOGS, protocol))
    with open(tmp_path / 'log_3', 'rb') as file:
        assert pickles.load(file) == LOGS


def test_a_checkpoint_without_its_sentinel_does_not_count(tmp_path):
    (tmp_path / 'ckpt.4').write_bytes(pickle.dumps({}))
    assert checkpointer.get_latest_checkpoint_number(str(tmp_path)) == -1


def test_dopamine_reads_the_logs_that_are_written_here(tmp_path):
    log = logger.Logger(str(tmp_path))
    log['iteration_0'] = LOGS['iteration_0']
    log.log_to_file('log', 0)
    assert pickle.loads((tmp_path / 'log_0').read_bytes()) == LOGS


def test_statistics_that_collectors_pickled_are_read(tmp_path):
    statistics = collections.defaultdict(functools.partial(collections.defaultdict, list))
    statistics['iteration_0']['Train/NumEpisodes'].append(np.int64(3))
    assert pickles.loads(pickle.dumps(statistics, 2)) == {'iteration_0': {'Train/NumEpisodes': [3]}}


def test_an_agent_reads_variables_by_their_names_before_keras(tmp_path):
    def agent():
        return dqn_agent.DQNAgent(
            None,
            2,
            observation_shape=(4, 1),
            observation_dtype=tf.float64,
            stack_size=1,
            network=legacy_networks.CartpoleDQNNetwork,
            optimizer=tf1.train.RMSPropOptimizer(0.1),
        )

    gin.bind_parameter('WrappedReplayBuffer.replay_capacity', 20)
    old = agent()
    names = {
        variable.op.name.replace('kernel', 'weights').replace('bias', 'biases'): variable
        for variable in tf1.global_variables()
    }
    assert 'Online/basic_discrete_domain_network/fully_connected/weights' in names
    tf1.train.Saver(names).save(old._sess, str(tmp_path / 'tf_ckpt-199'))
    old._replay.save(str(tmp_path), 199)
    saved = old._sess.run(old.online_convnet.variables)

    tf1.reset_default_graph()
    gin_selectors.install()
    gin.bind_parameter('atari_lib.maybe_transform_variable_names.legacy_checkpoint_load', True)
    new = agent()
    bundle = {'state': np.ones((1, 4, 1, 1)), 'training_steps': 6}
    assert new.unbundle(str(tmp_path), 199, bundle)
    assert new.training_steps == 6
    for value, expected in zip(new._sess.run(new.online_convnet.variables), saved, strict=True):
        np.testing.assert_array_equal(value, expected)
