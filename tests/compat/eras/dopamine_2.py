# ruff: noqa: B905, UP008
"""An experiment as written for Dopamine 2 (2019): networks are functions."""

import os
import sys

import gin
import tensorflow.compat.v1 as tf
from dopamine.agents.dqn import dqn_agent
from dopamine.agents.rainbow import rainbow_agent
from dopamine.discrete_domains import atari_lib, gym_lib, run_experiment
from dopamine.replay_memory import circular_replay_buffer

BASE_DIR = sys.argv[1]


@gin.configurable
def small_network(num_actions, network_type, state):
    net = tf.cast(state, tf.float32)
    net = tf.reshape(net, [-1, 4])
    net = tf.layers.dense(net, 16, activation=tf.nn.relu, name='hidden')
    q_values = tf.layers.dense(net, num_actions, name='q')
    return network_type(q_values)


class DoubleDQNAgent(dqn_agent.DQNAgent):
    """Overrides what builds the graph."""

    def _build_networks(self):
        super(DoubleDQNAgent, self)._build_networks()
        self._next_online = self.online_convnet(self._replay.next_states)

    def _build_replay_buffer(self, use_staging):
        return circular_replay_buffer.WrappedReplayBuffer(
            observation_shape=self.observation_shape,
            stack_size=self.stack_size,
            use_staging=use_staging,
            update_horizon=self.update_horizon,
            gamma=self.gamma,
            observation_dtype=self.observation_dtype.as_numpy_dtype,
        )

    def _build_target_q_op(self):
        best = tf.argmax(self._next_online.q_values, axis=1)
        chosen = tf.one_hot(best, self.num_actions)
        values = tf.reduce_sum(self._replay_next_target_net_outputs.q_values * chosen, axis=1)
        return self._replay.rewards + self.cumulative_gamma * values * (
            1.0 - tf.cast(self._replay.terminals, tf.float32)
        )

    def _build_train_op(self):
        chosen = tf.one_hot(self._replay.actions, self.num_actions)
        q = tf.reduce_sum(self._replay_net_outputs.q_values * chosen, axis=1)
        target = tf.stop_gradient(self._build_target_q_op())
        self.loss = tf.losses.huber_loss(target, q, reduction=tf.losses.Reduction.NONE)
        return self.optimizer.minimize(tf.reduce_mean(self.loss))

    def _build_sync_op(self):
        self.sync_ops = super(DoubleDQNAgent, self)._build_sync_op()
        return self.sync_ops


CONFIG = """
import dopamine.agents.dqn.dqn_agent
import dopamine.agents.rainbow.rainbow_agent
import dopamine.discrete_domains.gym_lib
import dopamine.discrete_domains.run_experiment
import dopamine.replay_memory.circular_replay_buffer
import gin.tf.external_configurables
DQNAgent.observation_shape = %gym_lib.CARTPOLE_OBSERVATION_SHAPE
DQNAgent.observation_dtype = %gym_lib.CARTPOLE_OBSERVATION_DTYPE
DQNAgent.stack_size = %gym_lib.CARTPOLE_STACK_SIZE
DQNAgent.network = @small_network
DQNAgent.min_replay_history = 20
DQNAgent.update_period = 2
DQNAgent.target_update_period = 10
DQNAgent.epsilon_fn = @dqn_agent.identity_epsilon
DQNAgent.tf_device = '/gpu:0'
DQNAgent.optimizer = @tf.train.AdamOptimizer()
RainbowAgent.observation_shape = %gym_lib.CARTPOLE_OBSERVATION_SHAPE
RainbowAgent.observation_dtype = %gym_lib.CARTPOLE_OBSERVATION_DTYPE
RainbowAgent.stack_size = %gym_lib.CARTPOLE_STACK_SIZE
RainbowAgent.network = @gym_lib.cartpole_rainbow_network
RainbowAgent.min_replay_history = 20
RainbowAgent.num_atoms = 5
RainbowAgent.optimizer = @rainbow/tf.train.AdamOptimizer()
rainbow/tf.train.AdamOptimizer.learning_rate = 0.01
tf.train.AdamOptimizer.learning_rate = 0.001
create_gym_environment.environment_name = 'CartPole'
create_gym_environment.version = 'v0'
create_agent.agent_name = 'dqn'
TrainRunner.create_environment_fn = @gym_lib.create_gym_environment
Runner.create_environment_fn = @gym_lib.create_gym_environment
Runner.num_iterations = 2
Runner.training_steps = 40
Runner.evaluation_steps = 10
Runner.max_steps_per_episode = 20
WrappedReplayBuffer.replay_capacity = 200
WrappedReplayBuffer.batch_size = 4
WrappedPrioritizedReplayBuffer.replay_capacity = 200
WrappedPrioritizedReplayBuffer.batch_size = 4
"""
run_experiment.load_gin_configs([], CONFIG.split('\n'))


class ChattyRunner(run_experiment.Runner):
    """Overrides what runs."""

    phases = 0

    def _run_one_phase(self, min_steps, statistics, run_mode_str):
        self.phases += 1
        return super(ChattyRunner, self)._run_one_phase(min_steps, statistics, run_mode_str)

    def _checkpoint_experiment(self, iteration):
        self.saved = iteration
        super(ChattyRunner, self)._checkpoint_experiment(iteration)


def create_agent(sess, environment, summary_writer=None):
    return DoubleDQNAgent(
        sess, num_actions=environment.action_space.n, summary_writer=summary_writer
    )


runner = ChattyRunner(os.path.join(BASE_DIR, 'double'), create_agent)
names = sorted(variable.op.name for variable in runner._agent.online_convnet.variables)
assert names == ['Online/hidden/bias', 'Online/hidden/kernel', 'Online/q/bias', 'Online/q/kernel']
assert len(runner._agent.sync_ops) == 4
before = runner._agent._sess.run(runner._agent.online_convnet.variables)
runner.run_experiment()
after = runner._agent._sess.run(runner._agent.online_convnet.variables)
assert any((old != new).any() for old, new in zip(before, after))
assert runner.phases == 4 and runner.saved == 1

# Dopamine's own functions, and the agent by its name, in a second graph of the same process.
tf.reset_default_graph()
with gin.unlock_config():
    gin.bind_parameter('create_agent.agent_name', 'rainbow')
runner = run_experiment.create_runner(
    os.path.join(BASE_DIR, 'rainbow'), schedule='continuous_train'
)
assert isinstance(runner._agent, rainbow_agent.RainbowAgent)
assert runner._agent.optimizer._lr == 0.01
runner.run_experiment()
assert runner._agent.training_steps >= 80

assert callable(atari_lib.nature_dqn_network) and callable(gym_lib.cartpole_dqn_network)
print('DONE')
