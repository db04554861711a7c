"""An experiment as written for Dopamine 4 (2022 on): `dopamine.tf`, collectors, own environments."""

import os
import sys

import gin
import gymnasium as gym
import numpy as np
import tensorflow as tf
from dopamine.colab import utils as colab_utils
from dopamine.discrete_domains import gym_lib, legacy_networks, run_experiment
from dopamine.metrics import collector, collector_dispatcher, statistics_instance
from dopamine.tf.agents.dqn import dqn_agent
from dopamine.tf.agents.implicit_quantile import implicit_quantile_agent
from dopamine.tf.replay_memory import circular_replay_buffer

BASE_DIR = sys.argv[1]


class Corridor(gym.Env):
    """Walk right to the end."""

    observation_space = gym.spaces.Box(0.0, 9.0, (2,), np.float64)
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at = 0
        return np.array([self.at, 9.0]), {}

    def step(self, action):
        self.at = max(0, self.at + (1 if action else -1))
        return np.array([self.at, 9.0]), float(self.at == 3), self.at == 3, False, {}


@gin.configurable
def create_corridor(length=3):
    assert length == 3
    return gym_lib.GymPreprocessing(Corridor())


@gin.configurable
class OwnQuantiles(tf.keras.Model):
    def __init__(self, num_actions, quantile_embedding_dim, name=None):
        super().__init__(name=name)
        self.num_actions = num_actions
        self.dense = tf.keras.layers.Dense(num_actions)

    def call(self, state, num_quantiles):
        x = tf.reshape(tf.cast(state, tf.float32), [-1, 2])
        quantiles = tf.random.uniform([num_quantiles * x.shape[0], 1])
        x = tf.tile(x, [num_quantiles, 1]) * quantiles
        return legacy_networks.ImplicitQuantileNetworkType(self.dense(x), quantiles)


class ListCollector(collector.Collector):
    """Keeps what is reported."""

    seen = []

    def get_name(self):
        return 'list'

    def write(self, statistics):
        self.seen.extend(statistic.name for statistic in statistics)


collector_dispatcher.add_collector('list', ListCollector)

gin.parse_config("""
    import gin.tf.external_configurables
    RainbowAgent.observation_shape = (2,)
    RainbowAgent.observation_dtype = %tf.float64
    RainbowAgent.stack_size = 1
    RainbowAgent.min_replay_history = 20
    ImplicitQuantileAgent.network = @OwnQuantiles
    ImplicitQuantileAgent.num_tau_samples = 4
    ImplicitQuantileAgent.num_tau_prime_samples = 4
    ImplicitQuantileAgent.num_quantile_samples = 3
    dopamine.tf.replay_memory.prioritized_replay_buffer.WrappedPrioritizedReplayBuffer.batch_size = 4
    WrappedPrioritizedReplayBuffer.replay_capacity = 200
    WrappedReplayBuffer.batch_size = 4
    WrappedReplayBuffer.replay_capacity = 200
    Runner.create_environment_fn = @create_corridor
    create_corridor.length = 3
    Runner.num_iterations = 1
    Runner.training_steps = 60
    Runner.evaluation_steps = 10
    Runner.max_steps_per_episode = 20
    create_agent.agent_name = 'implicit_quantile'
    CollectorDispatcher.collectors = ('console', 'pickle', 'list')
    """)

runner = run_experiment.create_runner(os.path.join(BASE_DIR, 'iqn'))
assert type(runner._agent) is implicit_quantile_agent.ImplicitQuantileAgent
runner.run_experiment()
assert 'Train/AverageReturns' in ListCollector.seen and len(ListCollector.seen) >= 5
data, iterations = colab_utils.load_statistics(os.path.join(BASE_DIR, 'iqn', 'logs'))
assert iterations == 0 and len(data['iteration_0']['train_episode_returns']) >= 3


class Diamond(dqn_agent.DQNAgent):
    """Keeps its own statistics, reports them, and skips its parent's replay."""

    def __init__(self, sess, num_actions, summary_writer=None, bonus=1.0):
        self._bonus = bonus
        self._collector = None
        super().__init__(
            sess,
            num_actions,
            observation_shape=(2,),
            observation_dtype=tf.float64,
            stack_size=1,
            network=self._network,
            min_replay_history=20,
            optimizer=tf.compat.v1.train.AdamOptimizer(0.01),
            summary_writer=summary_writer,
        )

    def _network(self, num_actions, name):
        model = tf.keras.Sequential(
            [tf.keras.layers.Flatten(), tf.keras.layers.Dense(num_actions)], name=name
        )
        return lambda state: legacy_networks.DQNNetworkType(model(tf.cast(state, tf.float32)))

    def set_collector_dispatcher(self, dispatcher):
        self._collector = dispatcher

    def _train_step(self):
        super()._train_step()
        if self._collector is not None and self.training_steps % 20 == 0:
            self._collector.write(
                [statistics_instance.StatisticsInstance('Own', self._bonus, self.training_steps)],
                collector_allowlist=('list',),
            )

    def _build_replay_buffer(self, use_staging):
        return circular_replay_buffer.WrappedReplayBuffer(
            self.observation_shape,
            self.stack_size,
            use_staging,
            observation_dtype=self.observation_dtype.as_numpy_dtype,
        )


tf.compat.v1.reset_default_graph()
runner = run_experiment.TrainRunner(
    os.path.join(BASE_DIR, 'diamond'),
    lambda sess, environment, summary_writer=None: Diamond(
        sess, environment.action_space.n, summary_writer
    ),
    create_corridor,
)
runner.run_experiment()
assert 'Own' in ListCollector.seen
assert [f for f in os.listdir(os.path.join(BASE_DIR, 'diamond')) if 'tfevents' in f]
print('DONE')
