# ruff: noqa: UP008
"""An experiment as written for Dopamine 1 (2018): game names on the runner, two-argument makers."""

import os
import sys

import gin
import numpy as np
from dopamine.agents.dqn import dqn_agent
from dopamine.agents.rainbow import rainbow_agent
from dopamine.atari import preprocessing, run_experiment, train
from dopamine.common import logger
from dopamine.replay_memory import circular_replay_buffer

BASE_DIR = sys.argv[1]

gin.parse_config(
    """
    import dopamine.atari.run_experiment
    import dopamine.agents.dqn.dqn_agent
    import dopamine.replay_memory.circular_replay_buffer
    import gin.tf.external_configurables
    dopamine.agents.dqn.dqn_agent.DQNAgent.min_replay_history = 8
    DQNAgent.optimizer = @tf.train.RMSPropOptimizer()
    tf.train.RMSPropOptimizer.learning_rate = 0.00025
    dopamine.replay_memory.circular_replay_buffer.WrappedReplayBuffer.replay_capacity = 100
    WrappedReplayBuffer.batch_size = 2
    Runner.game_name = 'Breakout'
    Runner.sticky_actions = False
    Runner.num_iterations = 1
    Runner.evaluation_steps = 4
    Runner.max_steps_per_episode = 6
    """
)


class StickyAgent(dqn_agent.DQNAgent):
    """Now and then repeats its last action."""

    def __init__(self, sess, num_actions, switch_probability=0.5):
        self._last_action = 0
        self._switch_probability = switch_probability
        super(StickyAgent, self).__init__(sess, num_actions)

    def _choose(self):
        if np.random.random() < self._switch_probability:
            self._last_action = np.random.randint(self.num_actions)
        return self._last_action

    def begin_episode(self, observation):
        super(StickyAgent, self).begin_episode(observation)
        return self._choose()

    def step(self, reward, observation):
        super(StickyAgent, self).step(reward, observation)
        return self._choose()


def create_sticky_agent(sess, environment):
    return StickyAgent(sess, num_actions=environment.action_space.n)


# The notebook's way: the game as an argument, and far fewer steps.
runner = run_experiment.Runner(
    os.path.join(BASE_DIR, 'notebook'),
    create_sticky_agent,
    game_name='Pong',
    training_steps=16,
)
assert runner._environment.environment.unwrapped.spec.id == 'ALE/Pong-v5'
runner.run_experiment()
assert runner._agent.training_steps > 8
assert os.path.exists(os.path.join(BASE_DIR, 'notebook', 'logs', 'log_0'))
assert isinstance(runner._environment, preprocessing.AtariPreprocessing)
assert isinstance(runner._logger, logger.Logger)
assert issubclass(rainbow_agent.RainbowAgent, dqn_agent.DQNAgent)
assert circular_replay_buffer.MAX_SAMPLE_ATTEMPTS == 1000
assert dqn_agent.STACK_SIZE == 4


# The program's way: functions given to the trainer.
def create_agent(sess, environment, summary_writer=None):
    return train.create_agent(sess, environment, summary_writer)


def create_runner(base_dir, create_agent_fn):
    return run_experiment.TrainRunner(base_dir, create_agent_fn)


train.FLAGS(
    [
        'train.py',
        '--agent_name=dqn',
        '--base_dir=' + os.path.join(BASE_DIR, 'program'),
        '--gin_bindings=Runner.training_steps = 8',
    ]
)
train.launch_experiment(create_runner, create_agent)
assert os.path.exists(os.path.join(BASE_DIR, 'program', 'checkpoints', 'ckpt.0'))
print('DONE')
