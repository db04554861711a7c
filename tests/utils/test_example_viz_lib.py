"""A trained agent is restored, watched, and put on video."""

import os

import gin
import numpy as np
import pytest
import tensorflow as tf

from dopamine_lite.discrete_domains import legacy_networks
from dopamine_lite.utils import example_viz_lib

tf1 = tf.compat.v1
MAKERS = {
    'dqn': example_viz_lib.create_dqn_agent,
    'rainbow': example_viz_lib.create_rainbow_agent,
}


class Environment:
    """Three actions on a screen of noise; an episode has five steps, with a life lost at each."""

    class action_space:
        n = 3

    game_over = False

    def reset(self):
        self.steps, self.game_over = 0, False
        return np.zeros((84, 84, 1), np.uint8)

    def step(self, action):
        self.steps += 1
        self.game_over = self.steps == 5
        observation = np.full((84, 84, 1), self.steps, np.uint8)
        return observation, 1.0, self.steps in (3, 5), {}

    def render(self, mode):
        return np.zeros((210, 160, 3), np.uint8)


@gin.configurable
def make_environment():
    return Environment()


@pytest.fixture(autouse=True)
def _small():
    gin.parse_config(
        """
        Runner.create_environment_fn = @make_environment
        WrappedReplayBuffer.replay_capacity = 50
        WrappedPrioritizedReplayBuffer.replay_capacity = 50
        RainbowAgent.num_atoms = 5
        DQNAgent.optimizer = None
        """
    )


@pytest.fixture(params=list(MAKERS))
def agent(request):
    return request.param


def _checkpoint(agent, path, legacy):
    """Writes a checkpoint of the agent; returns the values of its online network."""
    made = MAKERS[agent](None, Environment())
    variables = {v.op.name: v for v in tf1.global_variables()}
    if legacy:
        # The names that networks had before they were Keras models.
        variables = {
            name.replace('kernel', 'weights').replace('bias', 'biases'): variable
            for name, variable in variables.items()
        }
    tf1.train.Saver(variables).save(made._sess, str(path))
    values = made._sess.run(made.online_convnet.variables)
    tf1.reset_default_graph()
    return values


@pytest.mark.parametrize(('agent', 'legacy'), [('dqn', True), ('rainbow', False)])
def test_a_checkpoint_is_restored_under_its_names(agent, legacy, tmp_path):
    path = tmp_path / 'tf_ckpt-199'
    saved = _checkpoint(agent, path, legacy)
    runner = example_viz_lib.create_runner(
        str(tmp_path / 'run'), str(path), agent, use_legacy_checkpoint=legacy
    )
    restored = runner._agent._sess.run(runner._agent.online_convnet.variables)
    for value, expected in zip(restored, saved, strict=True):
        np.testing.assert_array_equal(value, expected)


def test_a_checkpoint_of_the_other_era_is_refused(tmp_path):
    path = tmp_path / 'tf_ckpt-199'
    _checkpoint('dqn', path, legacy=True)
    # Optimizer slots aside, no name is the same.
    with pytest.raises(ValueError, match='say use_legacy_checkpoint'):
        example_viz_lib.create_runner(str(tmp_path / 'run'), str(path), 'dqn')


def test_playing_is_recorded(agent, tmp_path):
    path = tmp_path / 'tf_ckpt-0'
    _checkpoint(agent, path, legacy=False)
    runner = example_viz_lib.create_runner(str(tmp_path / 'run'), str(path), agent)
    runner.visualize(str(tmp_path / 'images'), num_global_steps=6)
    files = sorted(os.listdir(tmp_path / 'images'))
    assert files == [f'frame_00000{n}.png' for n in range(6)] + ['video.mp4']
    # Steps 3 and 5 end a life and the game, 6 the video: their rewards are not of a `step`.
    assert runner._agent.get_rewards() == [[1.0, 2.0, 3.0]]
    assert runner._agent.training_steps == 0 and runner._agent._replay.memory.is_empty()
    if agent == 'dqn':
        values = runner._agent.get_q_values()
        assert len(values) == 3 and {len(line) for line in values} == {6}
        outputs = runner._agent._sess.run(
            runner._agent._net_outputs.q_values, {runner._agent.state_ph: runner._agent.state}
        )
        np.testing.assert_allclose([line[-1] for line in values], outputs[0], rtol=1e-5)
    else:
        probabilities = runner._agent.get_probabilities()
        assert probabilities.shape == (3, 5)
        np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-5)


def test_an_iteration_only_evaluates(tmp_path):
    path = tmp_path / 'tf_ckpt-0'
    _checkpoint('dqn', path, legacy=False)
    gin.bind_parameter('Runner.evaluation_steps', 6)
    runner = example_viz_lib.create_runner(str(tmp_path / 'run'), str(path))
    statistics = runner._run_one_iteration(0)
    assert statistics['eval_episode_returns'] == [5.0, 5.0]
    assert not any(name.startswith('train') for name in statistics)


def test_an_unknown_agent_is_refused(tmp_path):
    with pytest.raises(ValueError, match="agent must be 'dqn' or 'rainbow', got 'iqn'"):
        example_viz_lib.create_runner(str(tmp_path), 'path', 'iqn')


def test_run_plays_the_game_by_its_name(tmp_path, monkeypatch):
    path = tmp_path / 'tf_ckpt-0'
    gin.clear_config()
    legacy_network = legacy_networks.NatureDQNNetwork(6, name='Online')
    legacy_network(tf1.placeholder(tf.uint8, (1, 84, 84, 4)))
    with tf1.Session() as sess:
        sess.run(tf1.global_variables_initializer())
        tf1.train.Saver().save(sess, str(path))
    example_viz_lib.run('dqn', 'Pong', 2, str(tmp_path), str(path))
    images = tmp_path / 'agent_viz' / 'Pong' / 'dqn' / 'images'
    assert sorted(os.listdir(images)) == ['frame_000000.png', 'frame_000001.png', 'video.mp4']


def test_the_program_has_its_flags():
    from dopamine_lite.utils import example_viz

    flags = example_viz.FLAGS
    defaults = {
        'agent': 'dqn',
        'game': 'Breakout',
        'root_dir': '/tmp/dopamine/',
        'restore_checkpoint': None,
        'num_steps': 2000,
        'use_legacy_checkpoint': False,
    }
    assert {name: flags[name].default for name in defaults} == defaults
