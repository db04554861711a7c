"""A resumed run is the run that was not interrupted, bit for bit."""

import json
import logging as python_logging
import pickle
import random
import shutil
import sys
from pathlib import Path
from unittest import mock

import ale_py
import fakes
import gymnasium
import numpy as np
import pytest
import tensorflow as tf
from small_runs import CARRIED, RUNS, run

from dopamine_lite import plain_data
from dopamine_lite.discrete_domains import (
    atari_lib,
    environment_state,
    gym_lib,
    resume_state,
    run_experiment,
)
from dopamine_lite.tf import random_streams

sys.path.insert(0, str(Path(__file__).parents[2] / 'scripts' / 'bench'))
import kill_and_resume


@pytest.mark.parametrize('case', RUNS)
def test_an_interrupted_run_equals_the_uninterrupted(tmp_path, case):
    run(tmp_path / 'whole', 3, *RUNS[case], seed=5)
    run(tmp_path / 'parts', 1, *RUNS[case], seed=5)
    resumed = run(tmp_path / 'parts', 3, *RUNS[case])
    assert resumed._start_iteration == 1
    assert kill_and_resume.differences(str(tmp_path / 'whole'), str(tmp_path / 'parts')) == []


def test_without_a_seed_too(tmp_path):
    dqn = RUNS['dqn']
    run(tmp_path / 'whole', 1, *dqn)
    shutil.copytree(tmp_path / 'whole', tmp_path / 'parts')
    run(tmp_path / 'whole', 2, *dqn)
    run(tmp_path / 'parts', 2, *dqn)
    assert kill_and_resume.differences(str(tmp_path / 'whole'), str(tmp_path / 'parts')) == []


def test_the_state_is_json_in_a_file_that_dopamines_tools_do_not_count(tmp_path):
    # With this seed the iteration does not happen to end with an episode.
    run(tmp_path, 1, *RUNS['rainbow'], CARRIED, seed=5)
    name = resume_state.filename('', 0)
    assert not name.endswith('.gz')
    state = json.loads((tmp_path / 'checkpoints' / name).read_text())
    assert {'python', 'numpy', 'environment', 'graph', 'replay', 'episode'} == set(state)
    with open(tmp_path / 'checkpoints' / 'ckpt.0', 'rb') as file:
        assert sorted(pickle.load(file)) == ['current_iteration', 'logs', 'state', 'training_steps']


def test_a_checkpoint_without_the_state_resumes(tmp_path):
    run(tmp_path, 1, *RUNS['dqn'], seed=5)
    for name in ('resume_state.0.json', 'manifest.0.json'):
        (tmp_path / 'checkpoints' / name).unlink()
    assert run(tmp_path, 2, *RUNS['dqn'])._start_iteration == 1


def test_a_strange_environment_starts_a_new_episode_with_a_warning(tmp_path, caplog):
    script = [[(1.0, False, False, False)] * 50]
    kwargs = dict(
        training_steps=3, evaluation_steps=0, num_iterations=1, max_steps_per_episode=None
    )

    def make():
        return run_experiment.Runner(
            str(tmp_path),
            lambda sess, environment, summary_writer: fakes.TapeAgent(),
            lambda: fakes.TapeEnvironment(script),
            **kwargs,
        )

    make().run_experiment()
    with caplog.at_level(python_logging.WARNING, logger='absl'):
        runner = make()
    assert runner.episode_ended
    assert 'TapeEnvironment is not saved whole: a new episode starts' in caplog.text


# Environments.


def roll(environment, seed, steps):
    draws = random.Random(seed)
    seen = []
    for _ in range(steps):
        observation, reward, terminal, _ = environment.step(
            draws.randrange(environment.action_space.n)
        )
        seen.append((observation.tobytes(), float(reward), bool(terminal), environment.game_over))
        if environment.game_over:
            seen.append(environment.reset().tobytes())
    return seen


def limited_cartpole():
    return gym_lib.GymPreprocessing(gymnasium.make('CartPole-v1', max_episode_steps=15))


ENVIRONMENTS = {
    'CartPole': lambda: gym_lib.create_gym_environment('CartPole', 'v1'),
    'CartPole with its own limit': limited_cartpole,
    'Acrobot': lambda: gym_lib.create_gym_environment('Acrobot', 'v1'),
    'MountainCar': lambda: gym_lib.create_gym_environment('MountainCar', 'v0'),
    'Pong': lambda: atari_lib.create_atari_environment('Pong'),
}


@pytest.mark.parametrize('name', ENVIRONMENTS)
@pytest.mark.parametrize('in_episode', [True, False])
def test_an_environment_goes_on_elsewhere(name, in_episode):
    first, second = ENVIRONMENTS[name](), ENVIRONMENTS[name]()
    first.reset()
    roll(first, 1, 40)
    if not in_episode:
        first.reset()
    state = plain_data.loads(plain_data.dumps(environment_state.capture(first, in_episode)))
    assert environment_state.is_known(first)
    assert environment_state.restore(second, state)
    if not in_episode:
        assert first.reset().tobytes() == second.reset().tobytes()
    assert roll(first, 2, 60) == roll(second, 2, 60)


def test_the_action_before_is_settled_in_both_emulators():
    first, second = (atari_lib.create_atari_environment('Breakout') for _ in range(2))
    first.reset()
    for trial in range(15):
        roll(first, trial, 9)
        environment_state.restore(second, environment_state.capture(first, True))
        actions = [ale_py.Action.LEFT, ale_py.Action.RIGHT] * 10
        assert [first._ale.act(a) for a in actions] == [second._ale.act(a) for a in actions]
        assert (first._ale.getRAM() == second._ale.getRAM()).all()


def test_another_environment_than_the_saved_one(caplog):
    state = environment_state.capture(ENVIRONMENTS['CartPole'](), False)
    with pytest.raises(ValueError, match='the environment is .*Acrobot.*the checkpoint has .*Cart'):
        environment_state.restore(ENVIRONMENTS['Acrobot'](), state)
    state = resume_state.capture(mock.Mock(), ENVIRONMENTS['CartPole'](), 0, False)
    with caplog.at_level(python_logging.WARNING, logger='absl'):
        resume_state.restore(state, mock.Mock(), ENVIRONMENTS['Acrobot'](), True)
    assert 'The state of the environment is not restored' in caplog.text


def test_mocks_are_not_asked():
    environment = mock.MagicMock()
    assert environment_state.capture(environment, True) is None
    assert not environment_state.restore(environment, None)
    assert environment.mock_calls == []


def test_random_numbers_in_the_graph_go_on():
    def build():
        graph = tf.Graph()
        with graph.as_default():
            return mock.Mock(_sess=tf.compat.v1.Session(), spec=['_sess']), [
                random_streams.uniform([3])
            ]

    (first, draw), (second, other) = build(), build()
    first._sess.run(draw)
    state = plain_data.loads(plain_data.dumps(resume_state.capture(first, None, None, False)))
    expected = first._sess.run(draw)[0], random.random(), np.random.random()
    assert resume_state.restore(state, second, None, True) == (False, None)
    got = second._sess.run(other)[0], random.random(), np.random.random()
    assert expected[1:] == got[1:]
    np.testing.assert_array_equal(expected[0], got[0])


# Plain data.


def test_plain_data_round_trip():
    value = {
        'numbers': [1, -(2**127), 0.1, float('inf'), True, None],
        'tuple': (1, (b'\x00\xff', 'text')),
        'array': np.arange(6, dtype='>i2').reshape(2, 3).T,
        'scalar': np.float32(0.1),
        'empty': [{}, [], (), b''],
    }
    loaded = plain_data.loads(plain_data.dumps(value))
    np.testing.assert_array_equal(loaded['array'], value['array'])
    assert loaded.pop('array').dtype == value.pop('array').dtype
    assert loaded == value
    assert type(loaded['scalar']) is np.float32


@pytest.mark.parametrize('value', [object(), {1: 2}, {'$array': 1}, {1, 2}, np.array([None])])
def test_what_is_not_plain(value):
    with pytest.raises(TypeError, match='expected plain data'):
        plain_data.dumps(value)


@pytest.mark.parametrize(
    'text',
    [
        b'',
        b'{',
        b'\xff',
        b'{"$array": ["|O", [1], "AAAAAAAAAAA="]}',
        b'{"$array": ["<f8", [3], "AAAA"]}',
        b'{"$array": ["<f8"]}',
        b'{"$bytes": 3}',
        b'{"$bytes": "%%"}',
        b'[' * 100_000,
    ],
)
def test_damaged_plain_data(text):
    with pytest.raises(ValueError, match='.'):
        plain_data.loads(text)
