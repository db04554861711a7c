"""Trains Dopamine's own DQN agent on CartPole beside this package's, and compares their returns.

    python scripts/bench/same_as_dopamine.py [--seeds 0 1 2] [--iterations 6] [--json F]

Needs dopamine-rl 4.1.2 (`pip install --no-deps dopamine-rl==4.1.2`), whose agent class and replay
buffer run in graph mode on today's TensorFlow; what else its modules import (gym, baselines) is put
aside, and the network is this package's, for that version has none for CartPole any more. Both agents
get the settings of `dqn_cartpole.gin`, the same seeds and the same loop, episodes cut at 200 steps.
Exits with 1 unless every mean return of every iteration of 1,000 agent steps is the same.
"""

import os
import random
import sys
import types
from unittest import mock

os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')

import gin
import gymnasium
import measure
import numpy as np

from dopamine_lite.discrete_domains import legacy_networks
from dopamine_lite.tf.agents.dqn import dqn_agent as ours

import tensorflow as tf  # isort: skip  (after the package, which says which Keras it is)

STEPS, CUT = 1000, 200
REPLAY = {'replay_capacity': 50000, 'batch_size': 128}


def dopamine():
    """Returns the module of Dopamine's DQN agent."""
    absent = {
        name: types.ModuleType(name)
        for name in (
            *('gym', 'gym.wrappers', 'gym.wrappers.time_limit'),
            *('baselines', 'baselines.common', 'baselines.common.atari_wrappers'),
        )
    }
    absent['gym'].Env = absent['gym.wrappers.time_limit'].TimeLimit = object
    absent['baselines.common'].atari_wrappers = absent['baselines.common.atari_wrappers']
    absent['baselines.common.atari_wrappers'].FrameStack = object
    with mock.patch.dict(sys.modules, absent):
        from dopamine.tf.agents.dqn import dqn_agent

    return dqn_agent


def curve(module, seed, iterations):
    """Returns the mean return of each iteration of an agent of `module`."""
    random.seed(seed)
    np.random.seed(seed)
    environment = gymnasium.make('CartPole-v1').unwrapped
    environment.reset(seed=seed)
    with tf.Graph().as_default():
        tf.compat.v1.set_random_seed(seed)
        # One thread each, for sums in another order give other last digits.
        session = tf.compat.v1.Session(
            config=tf.compat.v1.ConfigProto(
                intra_op_parallelism_threads=1, inter_op_parallelism_threads=1
            )
        )
        agent = module.DQNAgent(
            session,
            num_actions=2,
            observation_shape=(4, 1),
            observation_dtype=tf.float64,
            stack_size=1,
            network=legacy_networks.CartpoleDQNNetwork,
            min_replay_history=500,
            target_update_period=100,
            epsilon_fn=module.identity_epsilon,
            tf_device='/cpu:0',
            optimizer=tf.compat.v1.train.AdamOptimizer(learning_rate=0.001, epsilon=0.0003125),
        )
        session.run(tf.compat.v1.global_variables_initializer())
        return [iteration(agent, environment) for _ in range(iterations)]


def iteration(agent, environment):
    """Trains for at least 1,000 agent steps, in whole episodes; returns their mean return."""
    steps, lengths = 0, []
    while steps < STEPS:
        observation, _ = environment.reset()
        action = agent.begin_episode(observation)
        for length in range(1, CUT + 1):
            observation, reward, terminated, _, _ = environment.step(action)
            if terminated or length == CUT:
                break
            action = agent.step(reward, observation)
        agent.end_episode(reward)
        lengths.append(length)
        steps += length
    return float(np.mean(lengths))  # a reward of 1 a step


def main():
    parser = measure.parser(__doc__)
    parser.add_argument('--seeds', nargs='+', type=int, default=[0, 1, 2])
    parser.add_argument('--iterations', type=int, default=6)
    arguments = parser.parse_args()
    tf.compat.v1.disable_v2_behavior()
    theirs = dopamine()
    for package in ('dopamine_lite', 'dopamine'):
        for name, value in REPLAY.items():
            gin.bind_parameter(
                f'{package}.tf.replay_memory.circular_replay_buffer.WrappedReplayBuffer.{name}',
                value,
            )
    curves = {'ours': {}, 'theirs': {}}
    for seed in arguments.seeds:
        for name, module in (('ours', ours), ('theirs', theirs)):
            curves[name][seed] = curve(module, seed, arguments.iterations)
            returns = ' '.join(f'{mean:.1f}' for mean in curves[name][seed])
            print(f'seed {seed}, {name:6} {returns}', flush=True)
    same = curves['ours'] == curves['theirs']
    print('the same returns' if same else 'the returns differ')
    measure.finish({'same': same, 'curves': curves}, arguments.json)
    return int(not same)


if __name__ == '__main__':
    sys.exit(main())
