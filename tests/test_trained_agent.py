"""An agent of a checkpoint plays as it did in its run, without the replay and without the lock."""

import os
import random
import shutil
from pathlib import Path

import fakes
import gin
import numpy as np
import pytest
import small_runs
import tensorflow as tf

from dopamine_lite import trained_agent
from dopamine_lite.console import UserError
from dopamine_lite.discrete_domains import atari_100k, run_experiment, run_lock  # noqa: F401
from dopamine_lite.gin_text import Experiment

STATE = np.array([0.1, -0.2, 0.03, 0.4]).reshape(1, 4, 1, 1)


def values(agent):
    return agent._sess.run(agent._net_outputs.q_values, {agent.state_ph: STATE})


@pytest.fixture(scope='module')
def original(tmp_path_factory):
    """A run of DQN with checkpoints 0 and 1, and the values of its agent at the end."""
    folder = tmp_path_factory.mktemp('original')
    runner = small_runs.run(folder, 2, *small_runs.RUNS['dqn'], seed=1)
    return folder, values(runner._agent)


@pytest.fixture
def run(original, tmp_path):
    """A copy of it."""
    return shutil.copytree(original[0], tmp_path / 'run')


def damage(run, name):
    path = run / 'checkpoints' / name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def test_the_newest_checkpoint_is_restored_but_for_its_replay(run, original, monkeypatch):
    for path in (run / 'checkpoints').glob('*_ckpt.1.gz'):
        path.unlink()
    monkeypatch.setattr(run_lock, 'lock', lambda folder: pytest.fail('the lock was taken'))
    gin.parse_config('DQNAgent.stack_size = 7')  # of another experiment in the process
    loaded = trained_agent.load(str(run))
    np.testing.assert_array_equal(values(loaded.agent), original[1])
    assert loaded.agent.eval_mode
    assert loaded.iteration == 1
    assert loaded.experiment == ('DQN', 'CartPole-v1')
    assert loaded.name == 'DQN on CartPole-v1'
    memory = loaded.agent._replay.memory
    assert memory.add_count == 0
    assert memory._store['observation'].shape[0] == trained_agent._REPLAY_CAPACITY
    assert 'load' not in vars(memory)
    assert not tf.compat.v1.get_default_graph().get_operations()


def test_damage_to_the_network_falls_back_and_other_damage_does_not_matter(run, original):
    damage(run, '$store$_observation_ckpt.1.gz')
    assert trained_agent.load(str(run)).iteration == 1
    [data] = [p.name for p in (run / 'checkpoints').glob('tf_ckpt-1.data*')]
    damage(run, data)
    loaded = trained_agent.load(str(run))
    assert loaded.iteration == 0
    assert not np.array_equal(values(loaded.agent), original[1])
    with pytest.raises(UserError, match=rf'checkpoint 1 is damaged: {data}: checksum mismatch'):
        trained_agent.load(str(run), checkpoint=1)
    damage(run, 'ckpt.0')
    with pytest.raises(UserError, match=r'checkpoint 1 is.*; checkpoint 0 is damaged: ckpt\.0'):
        trained_agent.load(str(run))


def test_a_checkpoint_without_a_manifest_is_taken_as_dopamines_is(run, original):
    for path in (run / 'checkpoints').glob('manifest.*'):
        path.unlink()
    (run / 'operative_config.gin').unlink()
    with pytest.raises(UserError, match=r'holds no operative_config\.gin.*--gin_files'):
        trained_agent.load(str(run))
    (run / 'mine.gin').write_text('\n'.join([small_runs.SMALL, *small_runs.RUNS['dqn']]))
    loaded = trained_agent.load(str(run), gin_files=[str(run / 'mine.gin')])
    np.testing.assert_array_equal(values(loaded.agent), original[1])
    (run / 'checkpoints' / 'tf_ckpt-1.index').unlink()
    assert trained_agent.load(str(run), gin_files=[str(run / 'mine.gin')]).iteration == 0


def test_the_kept_text_is_not_read_where_gin_files_are_named(run):
    (run / 'operative_config.gin').write_text('import hostile')
    with pytest.raises(UserError, match='import hostile is refused'):
        trained_agent.load(str(run))
    (run / 'mine.gin').write_text('\n'.join([small_runs.SMALL, *small_runs.RUNS['dqn']]))
    assert trained_agent.load(str(run), gin_files=[str(run / 'mine.gin')]).iteration == 1


BAD_SOURCES = {
    'nothing': ({}, r'name either BASE_DIR.* or --tf_checkpoint'),
    'two': ({'base_dir': '{run}', 'tf_checkpoint': 'x'}, 'name either BASE_DIR'),
    'no folder': ({'base_dir': '{run}/nix'}, 'there is no folder .*nix'),
    'a foreign folder': ({'base_dir': '{run}/logs'}, r'no complete checkpoint .*sentinel_\w+\.0'),
    'no such checkpoint': (
        {'base_dir': '{run}', 'checkpoint': 7},
        r'there is no checkpoint 7 in .*run, only 0, 1$',
    ),
    'no such file': (
        {'tf_checkpoint': '{run}/nix', 'gin_files': ['dqn.gin']},
        r'no TensorFlow checkpoint .*nix \(no file .*nix\.index\)',
    ),
    'a number for a file': (
        {'tf_checkpoint': 'x', 'checkpoint': 1, 'gin_files': ['dqn.gin']},
        '--checkpoint is a number in BASE_DIR',
    ),
    'a file of an unknown experiment': (
        {'tf_checkpoint': '{run}/checkpoints/tf_ckpt-1'},
        '--tf_checkpoint needs --gin_files',
    ),
    'another network': (
        {
            'base_dir': '{run}',
            'gin_bindings': [
                "create_agent.agent_name = 'rainbow'",
                'RainbowAgent.network = @legacy_networks.CartpoleRainbowNetwork',
            ],
        },
        r'of another network: the shape of Online/\S+ is \[512, 2\] in the checkpoint, '
        r'\[512, 102\] in the settings; other shapes that differ: \d+$',
    ),
}


@pytest.mark.parametrize('case', BAD_SOURCES)
def test_what_cannot_be_loaded_is_told(run, case):
    arguments, message = BAD_SOURCES[case]
    arguments = {
        key: value.format(run=run) if isinstance(value, str) else value
        for key, value in arguments.items()
    }
    with pytest.raises(ValueError, match=message):
        trained_agent.load(**arguments)


def acting_variables(run, rename):
    """Writes a TensorFlow checkpoint with what acts alone, under other names; returns its path."""
    reader = tf.train.load_checkpoint(str(run / 'checkpoints' / 'tf_ckpt-1'))
    names = [n for n in reader.get_variable_to_shape_map() if n.startswith('Online/')]
    names = [n for n in names if n.endswith(('/kernel', '/bias'))]
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        held = {rename(n): tf.compat.v1.Variable(reader.get_tensor(n)) for n in names}
        session.run(tf.compat.v1.global_variables_initializer())
        return tf.compat.v1.train.Saver(held).save(session, str(run / 'published'))


def test_a_bare_checkpoint_and_names_of_before_keras(run, original):
    gin_files = [str(run / 'mine.gin')]
    Path(gin_files[0]).write_text('\n'.join([small_runs.SMALL, *small_runs.RUNS['dqn']]))
    loaded = trained_agent.load(
        tf_checkpoint=acting_variables(run, lambda name: name), gin_files=gin_files
    )
    np.testing.assert_array_equal(values(loaded.agent), original[1])
    assert loaded.iteration is None

    old = {'kernel': 'weights', 'bias': 'biases'}
    path = acting_variables(run, lambda n: '/'.join(old.get(p, p) for p in n.split('/')))
    with pytest.raises(UserError, match=r'it has no Online/\S+/kernel, but .*: --legacy_names'):
        trained_agent.load(tf_checkpoint=path, gin_files=gin_files)
    loaded = trained_agent.load(tf_checkpoint=path, gin_files=gin_files, legacy_names=True)
    np.testing.assert_array_equal(values(loaded.agent), original[1])
    with open(f'{path}.index', 'wb') as file:
        file.write(b'nonsense')
    with pytest.raises(UserError, match='published cannot be read'):
        trained_agent.load(tf_checkpoint=path, gin_files=gin_files)


def test_a_seed_repeats_the_games(run):
    def games(seed):
        random.seed(os.urandom(8))
        loaded = trained_agent.load(
            str(run), seed=seed, gin_bindings=['DQNAgent.epsilon_eval = 0.5']
        )
        moments = loaded.play()
        return [tuple(next(moments)[:2]) for _ in range(40)]

    assert games(3) == games(3)
    assert games(3) != games(4)


# Playing.

SCRIPT = [
    [(3.0, False, False, False), (-0.5, True, False, False), (2.0, True, True, False)],
    [(0.25, False, False, False), (0.0, False, False, True)],
    [(1.0, False, False, False)] * 9,
]


@pytest.mark.parametrize('clip', [True, False])
def test_plays_as_the_runner_evaluates(tmp_path, clip):
    tape = []
    runner = run_experiment.Runner(
        str(tmp_path),
        lambda sess, environment, summary_writer: fakes.TapeAgent(tape),
        lambda: fakes.TapeEnvironment(SCRIPT),
        max_steps_per_episode=4,
        clip_rewards=clip,
    )
    expected = [runner._run_one_episode() for _ in SCRIPT]

    agent = fakes.TapeAgent()
    player = trained_agent.TrainedAgent(
        *(agent, fakes.TapeEnvironment(SCRIPT), None, Experiment('a', 'b')),
        max_steps_per_episode=4,
        clip_rewards=clip,
        max_noops=0,
    )
    found, actions = [], []
    for moment in player.play():
        actions.append(moment.action)
        if moment.over:
            found.append((moment.episode_steps, moment.episode_return))
        if len(found) == len(SCRIPT):
            break
    assert found == expected == [(3, 4.5), (2, 0.25), (4, 4.0)]
    assert agent.tape == tape
    assert actions == [1, 2, 3, None, 4, 5, None, 6, 7, 8, 9, None]


def test_games_of_atari_100k_begin_with_no_ops():
    environment = fakes.TapeEnvironment([[(1.0, False, False, False)] * 99])
    player = trained_agent.TrainedAgent(
        fakes.TapeAgent(), environment, None, Experiment('a', 'b'), 2, True, max_noops=29
    )
    begins = set()
    for moment in player.play():
        if moment.over:
            begins.add(environment._step - 2)
            if len(begins) > 10:
                break
    assert min(begins) >= 0 and max(begins) <= 29


def test_the_schedule_decides_whose_settings_hold(monkeypatch):
    gin.parse_config("""
create_runner.schedule = 'continuous_train'
Runner.create_environment_fn = @create_atari_environment
Runner.max_steps_per_episode = 77
TrainRunner.create_environment_fn = @create_gym_environment
DataEfficientAtariRunner.max_noops = 3
""")
    setting = trained_agent._runner_setting
    assert setting('create_environment_fn').__name__ == 'create_gym_environment'
    assert setting('max_steps_per_episode') == 77
    assert setting('clip_rewards') is True
    assert setting('max_noops', 0) == 0
    gin.parse_config("create_runner.schedule = 'atari_100k'")
    assert setting('create_environment_fn').__name__ == 'create_atari_environment'
    assert setting('max_noops', 0) == 3
