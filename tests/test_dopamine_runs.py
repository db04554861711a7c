"""Run folders that Dopamine 4.1 made resume here, with its values, and go on."""

from pathlib import Path

import gin
import numpy as np
import pytest
import run_folders
import tensorflow as tf

from dopamine_lite.discrete_domains import run_experiment

CONFIGS = Path(__file__).parents[1] / 'configs'
REPLAYS = {
    'dqn_cartpole': 'WrappedReplayBuffer',
    'rainbow_cartpole': 'WrappedPrioritizedReplayBuffer',
}


@pytest.fixture(scope='module')
def runs(tmp_path_factory):
    """The folder that the two runs are unpacked in."""
    return run_folders.unpack_dopamines(tmp_path_factory.mktemp('runs'))


@pytest.mark.parametrize('name', sorted(REPLAYS))
def test_resumes_and_goes_on(runs, golden, name):
    values = golden('dopamine_4_1_runs_expected')
    run_experiment.load_gin_configs(
        [str(CONFIGS / f'{name}.gin')],
        [
            "create_gym_environment.version = 'v1'",
            f'{REPLAYS[name]}.replay_capacity = 500',
            'Runner.num_iterations = 3',
            'Runner.training_steps = 30',
            'Runner.evaluation_steps = 10',
        ],
    )
    runner = run_experiment.create_runner(str(runs / name))
    agent, memory = runner._agent, runner._agent._replay.memory
    assert runner._start_iteration == values[f'{name}/start_iteration']
    assert agent.training_steps == values[f'{name}/training_steps']
    assert memory.add_count == values[f'{name}/add_count']
    q_values = [
        agent._sess.run(agent._net_outputs.q_values, {agent.state_ph: state[None]})[0]
        for state in values[f'{name}/probe_states']
    ]
    np.testing.assert_allclose(q_values, values[f'{name}/probe_q'], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(
        memory._store['observation'].sum(), values[f'{name}/observation_sum'], rtol=1e-9
    )
    if name == 'rainbow_cartpole':
        np.testing.assert_allclose(memory.sum_tree.root, values[f'{name}/sum_tree_root'], rtol=1e-9)
    assert sorted(runner._logger.data) == ['iteration_0', 'iteration_1']
    weights = agent._sess.run(agent.online_convnet.trainable_variables)

    runner.run_experiment()
    new_steps = agent.training_steps - values[f'{name}/training_steps']
    assert new_steps >= 30
    # Every training step but the first of an episode, and its end, is a transition.
    assert memory.add_count == values[f'{name}/add_count'] + new_steps
    assert sorted(runner._logger.data) == ['iteration_0', 'iteration_1', 'iteration_2']
    new_weights = agent._sess.run(agent.online_convnet.trainable_variables)
    assert any(not np.array_equal(a, b) for a, b in zip(weights, new_weights, strict=True))

    # And what was saved is taken up once more.
    steps = agent.training_steps
    with gin.unlock_config():
        gin.bind_parameter('Runner.num_iterations', 4)
    tf.compat.v1.reset_default_graph()
    runner = run_experiment.create_runner(str(runs / name))
    assert runner._start_iteration == 3
    assert runner._agent.training_steps == steps
