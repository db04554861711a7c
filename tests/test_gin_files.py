"""Every gin file of `configs/` trains, checkpoints and resumes, on a run made very short.

The run is begun with the file as it is and resumed with its imports spelled as Dopamine spells them.
"""

import re
from pathlib import Path
from unittest import mock

import gin
import numpy as np
import pytest
import tensorflow as tf

from dopamine_lite import compat
from dopamine_lite.compat import dopamine_alias
from dopamine_lite.discrete_domains import run_experiment

CONFIGS = Path(__file__).parents[1] / 'configs'
GIN_FILES = sorted(str(path.relative_to(CONFIGS)) for path in CONFIGS.glob('**/*.gin'))


def short_run(text, num_iterations):
    """Returns bindings that make the run of a gin text about 20 steps an iteration.

    Args:
        text: the gin file.
        num_iterations: of the run.
    """

    def bound(parameter):
        return re.findall(rf'^(\w+)\.{parameter}\s*=\s*(\S+)', text, re.MULTILINE)

    horizon = max((int(value) for _, value in bound('update_horizon')), default=1)
    bindings = [
        f'{configurable}.{parameter} = {value}'
        for parameter, value in [
            ('min_replay_history', horizon + 6),
            ('target_update_period', 4),
            ('replay_capacity', 200),
            ('batch_size', 2),
            ('num_eval_episodes', 1),
        ]
        for configurable, _ in bound(parameter)
    ]
    return [
        *bindings,
        f'Runner.num_iterations = {num_iterations}',
        f'Runner.training_steps = {20 + horizon}',
        f'Runner.max_steps_per_episode = {20 + horizon}',
        'Runner.evaluation_steps = 2',
    ]


@pytest.fixture
def dopamine():
    """The name `dopamine`, as the trainer installs it."""
    compat.install()
    yield
    dopamine_alias.uninstall()


def make_runner(name, folder, num_iterations, package='dopamine_lite', *bindings):
    text = (CONFIGS / name).read_text(encoding='utf-8')
    path = folder / f'{package}.gin'
    path.write_text(text.replace('import dopamine_lite.', f'import {package}.'), encoding='utf-8')
    gin.clear_config()
    tf.compat.v1.reset_default_graph()
    run_experiment.load_gin_configs([str(path)], [*short_run(text, num_iterations), *bindings])
    return run_experiment.create_runner(str(folder / 'run'))


def weights(agent):
    return agent._sess.run(agent.online_convnet.trainable_variables)


def equal(first, second):
    return all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


def test_all_of_dopamines_files_are_here():
    assert {'dqn.gin', 'c51.gin', 'rainbow.gin', 'implicit_quantile.gin'} <= set(GIN_FILES)
    assert len(GIN_FILES) >= 21


@pytest.mark.parametrize('name', GIN_FILES)
def test_trains_checkpoints_and_resumes(name, tmp_path, dopamine):
    runner = make_runner(name, tmp_path, 1)
    agent, memory = runner._agent, runner._agent._replay.memory
    assert memory._replay_capacity == 200
    initial = weights(agent)
    assert runner._start_iteration == 0
    runner.run_experiment()
    trained = weights(agent)
    assert not equal(trained, initial)
    assert all(np.isfinite(weight).all() for weight in trained)
    assert agent.training_steps >= 20
    training_steps, add_count = agent.training_steps, int(memory.add_count)
    frames = memory._store['observation'].copy()
    agent._sess.close()

    runner = make_runner(name, tmp_path, 2, 'dopamine')
    agent, memory = runner._agent, runner._agent._replay.memory
    assert runner._start_iteration == 1
    assert agent.training_steps == training_steps
    assert memory.add_count == add_count
    np.testing.assert_array_equal(memory._store['observation'], frames)
    assert equal(weights(agent), trained)
    runner.run_experiment()
    assert agent.training_steps >= training_steps + 20
    assert not equal(weights(agent), trained)
    assert sorted(runner._logger.data) == ['iteration_0', 'iteration_1']
    agent._sess.close()


# One of each kind of agent: the other files bind other numbers and environments.
SEEDED = [
    'DrQ_eps.gin',
    'ddqn_per_cartpole.gin',
    'dqn_cartpole.gin',
    'full_rainbow_cartpole.gin',
    'implicit_quantile_cartpole.gin',
    'minatar/quantile_breakout.gin',
    'rainbow_cartpole.gin',
]


@pytest.mark.parametrize('name', SEEDED)
def test_the_same_seed_is_the_same_run(name, tmp_path):
    runs = []
    for folder in (tmp_path / 'first', tmp_path / 'second'):
        folder.mkdir()
        runner = make_runner(name, folder, 1, 'dopamine_lite', 'Runner.seed = 1')
        runner._run_train_phase(mock.Mock())
        agent = runner._agent
        stored = agent._replay.memory._store
        runs.append([*weights(agent), stored['action'], stored['observation'], stored['reward']])
        agent._sess.close()
    assert equal(*runs)
