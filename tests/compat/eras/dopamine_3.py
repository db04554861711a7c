"""An experiment as written for Dopamine 3 (2020): Keras networks, and every hook overridden."""

import collections
import os
import sys

import gin
import numpy as np
import tensorflow as tf
from dopamine.agents.dqn import dqn_agent
from dopamine.agents.rainbow import rainbow_agent
from dopamine.discrete_domains import atari_lib, gym_lib, run_experiment
from dopamine.replay_memory import circular_replay_buffer, prioritized_replay_buffer

BASE_DIR = sys.argv[1]

gin.parse_config(
    """
    import gin.tf.external_configurables
    HORIZON = 2
    RainbowAgent.observation_shape = %gym_lib.CARTPOLE_OBSERVATION_SHAPE
    RainbowAgent.observation_dtype = %gym_lib.CARTPOLE_OBSERVATION_DTYPE
    RainbowAgent.stack_size = %gym_lib.CARTPOLE_STACK_SIZE
    RainbowAgent.network = @gym_lib.CartpoleRainbowNetwork
    RainbowAgent.update_horizon = %HORIZON
    RainbowAgent.min_replay_history = 20
    RainbowAgent.epsilon_fn = @dqn_agent.identity_epsilon
    RainbowAgent.num_atoms = 5
    DQNAgent.allow_partial_reload = True
    DQNAgent.observation_shape = %gym_lib.CARTPOLE_OBSERVATION_SHAPE
    DQNAgent.observation_dtype = %gym_lib.CARTPOLE_OBSERVATION_DTYPE
    DQNAgent.stack_size = 1
    DQNAgent.min_replay_history = 20
    OutOfGraphPrioritizedReplayBuffer.replay_capacity = 200
    WrappedReplayBuffer.replay_capacity = 200
    WrappedReplayBuffer.batch_size = 4
    Runner.num_iterations = 1
    Runner.training_steps = 40
    Runner.evaluation_steps = 5
    Runner.max_steps_per_episode = 20
    create_gym_environment.environment_name = 'CartPole'
    create_gym_environment.version = 'v0'
    """
)


class OwnReplay(prioritized_replay_buffer.OutOfGraphPrioritizedReplayBuffer):
    """Stores one number more with each transition, and shows it in the batch."""

    def __init__(self, *args, **kwargs):
        super().__init__(
            *args,
            extra_storage_types=[circular_replay_buffer.ReplayElement('magic', (), np.float32)],
            **kwargs,
        )

    def is_valid_transition(self, index):
        return super().is_valid_transition(index)

    def sample_index_batch(self, batch_size):
        indices = super().sample_index_batch(batch_size)
        assert len(indices) == batch_size
        return indices

    def get_transition_elements(self, batch_size=None):
        return super().get_transition_elements(batch_size)


class EveryHook(rainbow_agent.RainbowAgent):
    """Overrides each hook and counts how often it was called."""

    def __init__(self, sess, num_actions, summary_writer=None):
        self.calls = collections.Counter()
        super().__init__(sess, num_actions, summary_writer=summary_writer)

    def _create_network(self, name):
        self.calls['_create_network'] += 1
        return super()._create_network(name)

    def _build_networks(self):
        self.calls['_build_networks'] += 1
        super()._build_networks()

    def _build_replay_buffer(self, use_staging):
        self.calls['_build_replay_buffer'] += 1
        memory = OwnReplay(
            observation_shape=self.observation_shape,
            stack_size=self.stack_size,
            batch_size=4,
            update_horizon=self.update_horizon,
            gamma=self.gamma,
            observation_dtype=self.observation_dtype.as_numpy_dtype,
        )
        return prioritized_replay_buffer.WrappedPrioritizedReplayBuffer(
            observation_shape=self.observation_shape,
            stack_size=self.stack_size,
            use_staging=use_staging,
            update_horizon=self.update_horizon,
            gamma=self.gamma,
            batch_size=4,
            wrapped_memory=memory,
        )

    def _build_target_distribution(self):
        self.calls['_build_target_distribution'] += 1
        return super()._build_target_distribution()

    def _build_train_op(self):
        self.calls['_build_train_op'] += 1
        return super()._build_train_op()

    def _build_sync_op(self):
        self.calls['_build_sync_op'] += 1
        return super()._build_sync_op()

    def begin_episode(self, observation):
        self.calls['begin_episode'] += 1
        return super().begin_episode(observation)

    def step(self, reward, observation):
        self.calls['step'] += 1
        return super().step(reward, observation)

    def end_episode(self, reward):
        self.calls['end_episode'] += 1
        super().end_episode(reward)

    def _select_action(self):
        self.calls['_select_action'] += 1
        return super()._select_action()

    def _train_step(self):
        self.calls['_train_step'] += 1
        super()._train_step()

    def _record_observation(self, observation):
        self.calls['_record_observation'] += 1
        super()._record_observation(observation)

    def _reset_state(self):
        self.calls['_reset_state'] += 1
        super()._reset_state()

    def _store_transition(self, last_observation, action, reward, is_terminal, priority=None):
        self.calls['_store_transition'] += 1
        if priority is None:
            priority = self._replay.memory.sum_tree.max_recorded_priority
        if not self.eval_mode:
            self._replay.add(last_observation, action, reward, is_terminal, 42.0, priority)

    def bundle_and_checkpoint(self, checkpoint_dir, iteration_number):
        self.calls['bundle_and_checkpoint'] += 1
        return super().bundle_and_checkpoint(checkpoint_dir, iteration_number)

    def unbundle(self, checkpoint_dir, iteration_number, bundle_dictionary):
        self.calls['unbundle'] += 1
        return super().unbundle(checkpoint_dir, iteration_number, bundle_dictionary)


def create_agent(sess, environment, summary_writer=None):
    return EveryHook(sess, environment.action_space.n, summary_writer)


base_dir = os.path.join(BASE_DIR, 'hooks')
runner = run_experiment.Runner(base_dir, create_agent, gym_lib.create_gym_environment)
runner.run_experiment()
overridden = {
    name for name, value in vars(EveryHook).items() if callable(value) and name != '__init__'
}
assert overridden - set(runner._agent.calls) == {'unbundle'}, runner._agent.calls
batch = runner._agent._sess.run(runner._agent._replay.transition)
assert (batch['magic'] == 42.0).all()

# Another runner on the same folder goes on where the first one stopped.
with gin.unlock_config():
    gin.bind_parameter('Runner.num_iterations', 2)
tf.compat.v1.reset_default_graph()
again = run_experiment.Runner(base_dir, create_agent, gym_lib.create_gym_environment)
assert again._start_iteration == 1 and again._agent.calls['unbundle'] == 1
assert again._agent.training_steps == runner._agent.training_steps
again.run_experiment()


class OwnNetwork(tf.keras.Model):
    """A network of the user's own."""

    def __init__(self, num_actions, name=None):
        super().__init__(name=name)
        self.dense1 = tf.keras.layers.Dense(8, activation='relu', name='dense1')
        self.dense2 = tf.keras.layers.Dense(num_actions, name='dense2')

    def call(self, state):
        x = tf.cast(state, tf.float32)
        x = tf.reshape(x, [-1, 4])
        return atari_lib.DQNNetworkType(self.dense2(self.dense1(x)))


# Many runners in one process, each in a graph of its own.
for index in range(3):
    with tf.Graph().as_default():

        def create_dqn(sess, environment, summary_writer=None):
            return dqn_agent.DQNAgent(
                sess, num_actions=environment.action_space.n, network=OwnNetwork
            )

        runner = run_experiment.TrainRunner(
            os.path.join(BASE_DIR, str(index)), create_dqn, gym_lib.create_gym_environment
        )
        runner.run_experiment()
        assert len(runner._agent._sync_qt_ops) == 4
print('DONE')
