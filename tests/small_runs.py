"""Runs on CartPole of a second or two, with every mechanism of the agents under way."""

import random

import gin
import numpy as np
import tensorflow as tf

from dopamine_lite.discrete_domains import run_experiment

SMALL = """
DQNAgent.observation_shape = (4, 1)
DQNAgent.observation_dtype = %gym_lib.CARTPOLE_OBSERVATION_DTYPE
DQNAgent.stack_size = 1
DQNAgent.network = @legacy_networks.CartpoleDQNNetwork
DQNAgent.min_replay_history = 20
DQNAgent.update_period = 2
DQNAgent.target_update_period = 20
RainbowAgent.observation_shape = (4, 1)
RainbowAgent.observation_dtype = %gym_lib.CARTPOLE_OBSERVATION_DTYPE
RainbowAgent.stack_size = 1
RainbowAgent.network = @legacy_networks.CartpoleRainbowNetwork
RainbowAgent.min_replay_history = 20
RainbowAgent.update_horizon = 3
WrappedReplayBuffer.replay_capacity = 150
WrappedReplayBuffer.batch_size = 8
WrappedPrioritizedReplayBuffer.replay_capacity = 150
WrappedPrioritizedReplayBuffer.batch_size = 8
create_gym_environment.environment_name = 'CartPole'
create_gym_environment.version = 'v1'
Runner.create_environment_fn = @gym_lib.create_gym_environment
Runner.training_steps = 60
Runner.evaluation_steps = 15
"""


def run(base_dir, iterations, *bindings, seed=None):
    """Runs up to an iteration, as a process of its own would."""
    tf.compat.v1.reset_default_graph()
    gin.clear_config()
    # What another process would find.
    random.seed(iterations)
    np.random.seed(iterations)
    gin.parse_config([SMALL, *bindings, f'Runner.num_iterations = {iterations}'])
    if seed is not None:
        gin.parse_config(f'Runner.seed = {seed}')
    runner = run_experiment.create_runner(str(base_dir))
    runner.run_experiment()
    return runner


CARRIED = 'Runner.max_steps_per_episode = None'
RUNS = {
    'dqn': ["create_agent.agent_name = 'dqn'"],
    'rainbow': ["create_agent.agent_name = 'rainbow'"],
    'an episode carried over': ["create_agent.agent_name = 'rainbow'", CARRIED],
    'a batch drawn ahead': [
        "create_agent.agent_name = 'rainbow'",
        'RainbowAgent.use_staging = True',
        CARRIED,
    ],
    'no evaluation': [
        "create_agent.agent_name = 'dqn'",
        "create_runner.schedule = 'continuous_train'",
        'TrainRunner.create_environment_fn = @gym_lib.create_gym_environment',
        CARRIED,
    ],
}
