"""Deep Q-network (DQN).

The agent of Mnih et al. (2015), "Human-level control through deep reinforcement learning". With

    Y = r + gamma^n * max_a Q_target(s', a) * (1 - terminal),

the n-step target of a sampled transition (s, a, r, s', terminal), a training step minimises the mean
over the batch of the Huber loss of Y - Q_online(s, a). The paper has n = 1 and clips the gradient of
the error to [-1, 1], which is the Huber loss with threshold 1.

Shapes are given by these letters: B transitions in a batch, A actions, K frames in a state.
"""

from __future__ import annotations

import inspect
import os
import random
from collections.abc import Callable
from typing import Any

import gin
import numpy as np
import tensorflow as tf
from absl import logging

from dopamine_lite import bounds, files
from dopamine_lite.compat import networks as network_adapter
from dopamine_lite.discrete_domains import legacy_networks
from dopamine_lite.metrics import statistics_instance
from dopamine_lite.tf.agents import non_finite
from dopamine_lite.tf.prepared_call import PreparedCall
from dopamine_lite.tf.replay_memory import circular_replay_buffer

NATURE_DQN_OBSERVATION_SHAPE = legacy_networks.NATURE_DQN_OBSERVATION_SHAPE
NATURE_DQN_DTYPE = legacy_networks.NATURE_DQN_DTYPE
NATURE_DQN_STACK_SIZE = legacy_networks.NATURE_DQN_STACK_SIZE
nature_dqn_network = legacy_networks.NatureDQNNetwork


@gin.configurable
def linearly_decaying_epsilon(
    decay_period: float, step: int, warmup_steps: int, epsilon: float
) -> float:
    """Exploration that falls linearly from 1 to `epsilon` after a warm-up (Mnih et al., 2015).

    Args:
      decay_period: agent steps over which it falls.
      step: agent steps trained so far.
      warmup_steps: agent steps before it starts to fall.
      epsilon: the final value.

    Returns:
      The probability of a random action at `step`.

    Raises:
      ValueError: `decay_period` is not above 0.
    """
    if not decay_period > 0:
        raise ValueError(f'epsilon_decay_period must be above 0, got {decay_period}')
    steps_left = decay_period + warmup_steps - step
    bonus = (1.0 - epsilon) * steps_left / decay_period
    return epsilon + min(max(bonus, 0.0), 1.0 - epsilon)


@gin.configurable
def identity_epsilon(
    unused_decay_period: float, unused_step: int, unused_warmup_steps: int, epsilon: float
) -> float:
    """Exploration that is `epsilon` from the first step to the last."""
    return epsilon


def bellman_target(
    rewards: tf.Tensor, terminals: tf.Tensor, next_values: tf.Tensor, discount: float
) -> tf.Tensor:
    """The n-step target r + gamma^n * V(s') * (1 - terminal).

    Args:
      rewards: [B], discounted n-step sums.
      terminals: [B], 1 where the episode ended within the n steps.
      next_values: [B], the value of the state n steps on.
      discount: gamma^n.

    Returns:
      [B], of the dtype of `next_values`.
    """
    continues = 1.0 - tf.cast(terminals, next_values.dtype)
    return tf.cast(rewards, next_values.dtype) + discount * next_values * continues


def values_of_actions(values: tf.Tensor, actions: tf.Tensor) -> tf.Tensor:
    """Picks one entry a row: [B, A] values and [B] actions give [B]."""
    num_actions = values.shape.as_list()[1]
    return tf.reduce_sum(values * tf.one_hot(actions, num_actions, dtype=values.dtype), axis=1)


def huber_loss(targets: tf.Tensor, predictions: tf.Tensor) -> tf.Tensor:
    """The Huber loss with threshold 1 of each element: e^2 / 2 for |e| <= 1, else |e| - 1/2."""
    return tf.compat.v1.losses.huber_loss(
        targets, predictions, reduction=tf.compat.v1.losses.Reduction.NONE
    )


def usable_device(tf_device: str) -> str:
    """`tf_device`, or the CPU where it asks for a GPU and TensorFlow sees none."""
    if 'gpu' in str(tf_device).lower() and not tf.config.list_physical_devices('GPU'):
        return '/cpu:*'
    return tf_device


def create_session() -> tf.compat.v1.Session:
    """A session in the default graph that takes GPU memory only as it needs it."""
    config = tf.compat.v1.ConfigProto(allow_soft_placement=True)
    # Threads that spin while they wait for work slow down the others where two share a core: with 2
    # virtual cores DQN on CartPole makes 400 agent steps a second with them and 500 without.
    config.experimental.disable_thread_spinning = True
    config.gpu_options.allow_growth = True
    return tf.compat.v1.Session('', config=config)


@gin.configurable
class DQNAgent:
    """An agent that learns action values with DQN and acts epsilon-greedily on them.

    Subclasses override the hooks that build the graph (`_create_network`, `_build_networks`,
    `_build_replay_buffer`, `_build_target_q_op`, `_build_train_op`, `_build_sync_op`) or those that
    act on it (`_select_action`, `_store_transition`, `_train_step`, `_record_observation`,
    `_reset_state`). The constructor calls the former in that order, in the default graph.

    Attributes that programs read or replace: `state` [1, *observation_shape, K], the stacked frames
    that are fed to `state_ph`; `action`, the one last chosen; `training_steps`, the training steps
    taken so far, one an agent step; `eval_mode`, in which the agent neither stores nor trains.
    """

    # Set while `end_episode` stores a transition at which the episode was cut, not ended.
    _episode_cut = False
    _act_call: PreparedCall | None = None
    _train_call: PreparedCall | None = None
    _sync_call: PreparedCall | None = None
    _collector_dispatcher: Any = None
    _summarized_at: int | None = None

    def __init__(
        self,
        sess: tf.compat.v1.Session | None,
        num_actions: int,
        observation_shape: tuple[int, ...] = NATURE_DQN_OBSERVATION_SHAPE,
        observation_dtype: tf.DType = NATURE_DQN_DTYPE,
        stack_size: int = NATURE_DQN_STACK_SIZE,
        network: Callable[..., Any] = legacy_networks.NatureDQNNetwork,
        gamma: float = 0.99,
        update_horizon: int = 1,
        min_replay_history: int = 20000,
        update_period: int = 4,
        target_update_period: int = 8000,
        epsilon_fn: Callable[[float, int, int, float], float] = linearly_decaying_epsilon,
        epsilon_train: float = 0.01,
        epsilon_eval: float = 0.001,
        epsilon_decay_period: float = 250000,
        tf_device: str = '/cpu:*',
        eval_mode: bool = False,
        use_staging: bool = False,
        max_tf_checkpoints_to_keep: int = 4,
        optimizer: tf.compat.v1.train.Optimizer | None = None,
        summary_writer: Any = None,
        summary_writing_frequency: int = 500,
        allow_partial_reload: bool = False,
    ):
        """Builds the graph and initialises its variables.

        Args:
          sess: the session to run in; None makes one in the default graph.
          num_actions: how many actions there are.
          observation_shape: shape of one observation (a frame), without the stack.
          observation_dtype: dtype of an observation.
          stack_size: how many observations make a state.
          network: called as `network(num_actions, name=...)`; the result maps a batch of states to a
            namedtuple with `q_values` [B, A]. A Keras model class, or a function of Dopamine 2
            `(num_actions, network_type, state)`.
          gamma: discount factor of one agent step, in [0, 1].
          update_horizon: n of the n-step target, in agent steps.
          min_replay_history: stored transitions above which training starts.
          update_period: agent steps from one update of the online network to the next.
          target_update_period: agent steps from one copy to the target network to the next.
          epsilon_fn: called with (epsilon_decay_period, training_steps, min_replay_history,
            epsilon_train); returns the probability of a random action while training.
          epsilon_train: the final probability of a random action while training.
          epsilon_eval: the probability of a random action in evaluation.
          epsilon_decay_period: agent steps over which `epsilon_fn` decays.
          tf_device: where the graph is placed; a GPU that is not there means the CPU.
          eval_mode: whether the agent starts in evaluation.
          use_staging: whether the replay gathers the next batch while the graph works on this one.
          max_tf_checkpoints_to_keep: how many TensorFlow checkpoints are kept.
          optimizer: None means an own RMSProp, centered, with learning rate 0.00025, decay 0.95, no
            momentum and epsilon 0.00001.
          summary_writer: a `tf.compat.v1.summary.FileWriter`, the folder for one, or None.
          summary_writing_frequency: agent steps from one summary to the next; 0 for none. See
            `set_collector_dispatcher`.
          allow_partial_reload: whether `unbundle` accepts a checkpoint with parts missing.

        Raises:
          AssertionError: `observation_shape` is not a tuple.
          ValueError: a number is outside its range.
        """
        assert isinstance(observation_shape, tuple), (
            f'observation_shape must be a tuple, got {observation_shape!r}'
        )
        bounds.require_whole(1, num_actions=num_actions, stack_size=stack_size)
        bounds.require_at_least(
            1, update_period=update_period, target_update_period=target_update_period
        )
        bounds.require_finite(min_replay_history=min_replay_history)
        bounds.require_at_least(0, summary_writing_frequency=summary_writing_frequency)
        bounds.require_at_least(0, epsilon_decay_period=epsilon_decay_period)
        bounds.require_share(epsilon_train=epsilon_train, epsilon_eval=epsilon_eval)
        circular_replay_buffer.check_horizon_and_gamma(update_horizon, gamma)
        network_adapter.refuse_old_hooks(type(self))
        tf.compat.v1.disable_v2_behavior()

        self.num_actions = num_actions
        self.observation_shape = tuple(observation_shape)
        self.observation_dtype = tf.as_dtype(observation_dtype)
        self.stack_size = stack_size
        self.network = network_adapter.adapt(network)
        self.gamma = gamma
        self.update_horizon = update_horizon
        self.cumulative_gamma = gamma**update_horizon
        self.min_replay_history = min_replay_history
        self.update_period = update_period
        self.target_update_period = target_update_period
        self.epsilon_fn = epsilon_fn
        self.epsilon_train = epsilon_train
        self.epsilon_eval = epsilon_eval
        self.epsilon_decay_period = epsilon_decay_period
        self.eval_mode = eval_mode
        self.training_steps = 0
        self.optimizer = self._default_optimizer() if optimizer is None else optimizer
        if isinstance(summary_writer, (str, os.PathLike)):
            summary_writer = tf.compat.v1.summary.FileWriter(os.fspath(summary_writer))
        self.summary_writer = summary_writer
        self.summary_writing_frequency = summary_writing_frequency
        self.allow_partial_reload = allow_partial_reload

        # Summaries that the graph computes, by name, each of shape [].
        self._summary_tensors: dict[str, tf.Tensor] = {}

        self._sess = create_session() if sess is None else sess
        with tf.device(usable_device(tf_device)):
            state_shape = (1, *self.observation_shape, stack_size)
            self.state = np.zeros(state_shape, self.observation_dtype.as_numpy_dtype)
            self.state_ph = tf.compat.v1.placeholder(
                self.observation_dtype, state_shape, name='state_ph'
            )
            self._replay = self._build_replay_buffer(use_staging)
            self._build_networks()
            self._train_op = self._build_train_op()
            self._sync_qt_ops = self._build_sync_op()
            q_values = self._batch_q_values()
            if tf.is_tensor(q_values):
                self._summary_tensors['Q'] = tf.reduce_mean(tf.reduce_max(q_values, axis=1))

        self._merged_summaries = None
        if self.summary_writer is not None:
            self._merged_summaries = tf.compat.v1.summary.merge_all()
        self._saver = tf.compat.v1.train.Saver(
            legacy_networks.maybe_transform_variable_names(tf.compat.v1.global_variables()),
            max_to_keep=max_tf_checkpoints_to_keep,
        )
        if isinstance(self._sess, tf.compat.v1.Session):
            initialize_new_variables(self._sess)

        # What the agent saw and did last. `action` is an index into the environment's actions.
        self._observation: np.ndarray | None = None
        self._last_observation: np.ndarray | None = None
        self.action: int | None = None

    def _default_optimizer(self) -> tf.compat.v1.train.Optimizer:
        """A new optimizer, the agent's own: its slots belong to this agent's variables."""
        return tf.compat.v1.train.RMSPropOptimizer(
            learning_rate=0.00025, decay=0.95, momentum=0.0, epsilon=0.00001, centered=True
        )

    # The graph.

    def _create_network(self, name: str) -> Any:
        """Makes the network called `name`, whose variables live under `name/`."""
        return self.network(self.num_actions, name=name)

    def _build_networks(self) -> None:
        """Applies the online and the target network to the states that acting and training need."""
        self.online_convnet = self._create_network(name='Online')
        self.target_convnet = self._create_network(name='Target')
        self._net_outputs = self.online_convnet(self.state_ph)
        self._q_argmax = tf.argmax(self._net_outputs.q_values, axis=1)[0]
        self._replay_net_outputs = self.online_convnet(self._replay.states)
        self._replay_next_target_net_outputs = self.target_convnet(self._replay.next_states)

    def _build_replay_buffer(self, use_staging: bool) -> Any:
        """Makes the replay buffer; its tensors give a new batch at every run of the session."""
        return circular_replay_buffer.WrappedReplayBuffer(
            observation_shape=self.observation_shape,
            stack_size=self.stack_size,
            use_staging=use_staging,
            update_horizon=self.update_horizon,
            gamma=self.gamma,
            observation_dtype=self.observation_dtype.as_numpy_dtype,
        )

    def _build_target_q_op(self) -> tf.Tensor:
        """Returns the targets [B] of the sampled transitions."""
        next_values = tf.reduce_max(self._replay_next_target_net_outputs.q_values, axis=1)  # [B]
        return bellman_target(
            self._replay.rewards, self._replay.terminals, next_values, self.cumulative_gamma
        )

    def _build_train_op(self) -> tf.Operation:
        """Returns the op that takes one gradient step on a sampled batch."""
        predictions = values_of_actions(
            self._replay_net_outputs.q_values, self._replay.actions
        )  # [B]
        targets = tf.stop_gradient(self._build_target_q_op())  # [B]
        losses = huber_loss(targets, predictions)  # [B]
        loss = tf.reduce_mean(losses)  # []
        self._summarize_loss('HuberLoss', loss)
        check = non_finite.check(losses, getattr(self._replay, 'indices', None))
        return self._gradient_step(loss, check)

    def _gradient_step(self, loss: tf.Tensor, after: tf.Operation) -> tf.Operation:
        """Returns the op that minimises a loss []; the norm of its gradients is a summary.

        The gradients may be computed beside the op `after`, but no variable changes before it.
        """
        own = getattr(self.optimizer.minimize, '__func__', None)
        if own is not tf.compat.v1.train.Optimizer.minimize:
            with tf.control_dependencies([after]):
                return self.optimizer.minimize(loss)  # a user's may do more than these two calls
        gradients = self.optimizer.compute_gradients(loss)
        self._summary_tensors['GradientNorm'] = tf.linalg.global_norm([g for g, _ in gradients])
        with tf.control_dependencies([after]):
            return self.optimizer.apply_gradients(gradients)

    def _summarize_loss(self, name: str, loss: tf.Tensor) -> None:
        self._summary_tensors['Loss'] = loss
        if self.summary_writer is not None:
            with tf.compat.v1.variable_scope('Losses'):
                tf.compat.v1.summary.scalar(name, loss)

    def _batch_q_values(self) -> tf.Tensor | None:
        """Returns the online network's values [B, A] of the sampled states, for the summaries."""
        return getattr(getattr(self, '_replay_net_outputs', None), 'q_values', None)

    def _build_sync_op(self) -> list[tf.Operation]:
        """Returns one op a variable, which together copy the online to the target network."""
        scope = tf.compat.v1.get_default_graph().get_name_scope()
        online, target = (
            tf.compat.v1.get_collection(
                tf.compat.v1.GraphKeys.TRAINABLE_VARIABLES, scope=os.path.join(scope, name)
            )
            for name in ('Online', 'Target')
        )
        if len(online) != len(target):
            raise ValueError(
                'the online and the target network must have the same variables, got '
                f'{[v.op.name for v in online]} and {[v.op.name for v in target]}'
            )
        return [t.assign(o, use_locking=True) for o, t in zip(online, target, strict=True)]

    def set_collector_dispatcher(self, collector_dispatcher: Any) -> None:
        """Says where summaries of training go, beside the `summary_writer`.

        At each training step that is a multiple of `summary_writing_frequency`, and at which a batch
        is trained on, these are written, as measurements of the type 'summary':

        * `Agent/Loss`, the batch's mean loss, which the training step minimises,
        * `Agent/Q`, the batch's mean of the online network's largest action value,
        * `Agent/GradientNorm`, the norm of the gradients of all variables together,
        * `Agent/Epsilon`, the probability of a random action,
        * `Agent/PriorityQuantile/q` for q = 0, 0.25, 0.5, 0.75 and 1, with prioritized replay.

        Args:
          collector_dispatcher: has a method `write`, as `CollectorDispatcher`; the runner gives its
            own.
        """
        self._collector_dispatcher = collector_dispatcher

    # Acting and learning.

    def begin_episode(self, observation: np.ndarray) -> int:
        """Starts an episode: forgets the last one, takes one training step, and acts.

        Args:
          observation: the environment's first observation.

        Returns:
          The action chosen.
        """
        self._reset_state()
        self._record_observation(observation)
        if not self.eval_mode:
            self._train_step()
        self.action = self._select_action()
        return self.action

    def step(self, reward: float, observation: np.ndarray) -> int:
        """Stores what the last action led to, takes one training step, and acts.

        Args:
          reward: of the last action.
          observation: that came after it.

        Returns:
          The action chosen.
        """
        self._last_observation = self._observation
        self._record_observation(observation)
        if not self.eval_mode:
            self._store_transition(self._last_observation, self.action, reward, False)
            self._train_step()
        self.action = self._select_action()
        return self.action

    def end_episode(self, reward: float, terminal: bool = True) -> None:
        """Stores the last transition of an episode.

        Args:
          reward: of the last action.
          terminal: False where the episode was cut (a time limit) rather than ended. The transition
            is then stored as the end of an episode that is not a terminal, so that no target takes
            the value of what would have followed for zero (Pardo et al., 2018).
        """
        if self.eval_mode:
            return
        self._episode_cut = not terminal
        try:
            self._store_transition(self._observation, self.action, reward, terminal)
        finally:
            self._episode_cut = False

    def _select_action(self) -> int:
        """Returns a random action with probability epsilon, otherwise a greedy one."""
        if random.random() <= self._exploration():
            return random.randint(0, self.num_actions - 1)
        call = self._act_call
        if call is None or not call.is_for(self._sess, self._q_argmax, self.state_ph):
            call = self._act_call = PreparedCall(self._sess, self._q_argmax, self.state_ph)
        return call.evaluate(self.state)

    def _exploration(self) -> float:
        """The present probability of a random action."""
        if self.eval_mode:
            return self.epsilon_eval
        return self.epsilon_fn(
            self.epsilon_decay_period,
            self.training_steps,
            self.min_replay_history,
            self.epsilon_train,
        )

    def _train_step(self) -> None:
        """Counts one training step, and trains and copies to the target network when they are due.

        Nothing is trained or copied before more than `min_replay_history` transitions are stored.
        """
        if self._replay.memory.add_count > self.min_replay_history:
            if self.training_steps % self.update_period == 0:
                self._update_online_network()
            if self.training_steps % self.target_update_period == 0:
                call = self._sync_call
                if call is None or not call.is_for(self._sess, self._sync_qt_ops):
                    call = self._sync_call = PreparedCall(self._sess, self._sync_qt_ops)
                call.execute()
        self.training_steps += 1

    def _update_online_network(self) -> None:
        """Runs the train op, and the summaries of the same batch when they are due.

        Raises:
          non_finite.NonFiniteLoss: a loss is NaN or infinite. Neither the network nor a priority
            was changed.
        """
        try:
            self._run_train_op()
        except tf.errors.InvalidArgumentError as error:
            offending = non_finite.offending_transitions(error)
            if offending is None:
                raise
            raise non_finite.NonFiniteLoss(
                f'the loss is NaN or infinite at training step {self.training_steps}, for the '
                f'transitions at {offending} of the replay buffer'
            ) from error

    def _run_train_op(self) -> None:
        if self._run_train_op_with_summaries():
            return
        call = self._train_call
        if call is None or not call.is_for(self._sess, self._train_op):
            call = self._train_call = PreparedCall(self._sess, self._train_op)
        call.execute()

    def _run_train_op_with_summaries(self) -> bool:
        """Runs the train op with the summaries, if they are due and wanted; returns whether."""
        step, frequency = self.training_steps, self.summary_writing_frequency
        if step <= 0 or not frequency or step % frequency or step == self._summarized_at:
            return False
        fetches = {}
        if self.summary_writer is not None and self._merged_summaries is not None:
            fetches['events'] = self._merged_summaries
        if self._collector_dispatcher is not None:
            fetches['values'] = self._summary_tensors
        if not fetches:
            return False
        _, fetched = self._sess.run([self._train_op, fetches])
        self._summarized_at = step
        if 'events' in fetched:
            self.summary_writer.add_summary(fetched['events'], step)
        if 'values' in fetched:
            self._collector_dispatcher.write(
                [
                    statistics_instance.StatisticsInstance(
                        f'Agent/{name}', float(value), step, type='summary'
                    )
                    for name, value in {**fetched['values'], **self._summary_values()}.items()
                ]
            )
        return True

    def _summary_values(self) -> dict[str, float]:
        """Returns the summaries that the graph does not compute, by name."""
        return {'Epsilon': self._exploration()}

    def _record_observation(self, observation: np.ndarray) -> None:
        """Puts an observation, reshaped to `observation_shape`, in the place of the oldest."""
        self._observation = np.reshape(observation, self.observation_shape)
        # A new array each time: programs keep the states they were shown.
        state = np.empty_like(self.state)
        state[..., :-1] = self.state[..., 1:]
        state[0, ..., -1] = self._observation
        self.state = state

    def _store_transition(
        self, last_observation: np.ndarray, action: int, reward: float, is_terminal: bool
    ) -> None:
        """Adds a transition to the replay buffer."""
        self._add_to_replay(last_observation, action, reward, is_terminal)

    def _add_to_replay(self, *transition: Any) -> None:
        """Calls the replay's `add`, saying `episode_end` where the episode was cut."""
        add = self._replay.add
        if not self._episode_cut:
            add(*transition)
        elif _accepts(add, 'episode_end'):
            add(*transition, episode_end=True)
        else:
            logging.log_first_n(
                logging.WARNING,
                '%s.add does not take episode_end: cut episodes are stored as terminal',
                1,
                type(self._replay).__name__,
            )
            add(*transition[:3], True, *transition[4:])

    def _reset_state(self) -> None:
        """Clears the stacked frames."""
        self.state.fill(0)

    # Checkpoints.

    def bundle_and_checkpoint(
        self, checkpoint_dir: str, iteration_number: int
    ) -> dict[str, Any] | None:
        """Saves the graph's variables and the replay, and returns the rest of the agent's state.

        Args:
          checkpoint_dir: an existing folder.
          iteration_number: the number in the names of the files.

        Returns:
          A dictionary with `state` and `training_steps`; None if the folder does not exist, and then
          nothing is saved.
        """
        if not tf.io.gfile.exists(checkpoint_dir):
            return None
        # The graph itself is built from the settings and is not saved.
        self._saver.save(
            self._sess,
            os.path.join(checkpoint_dir, 'tf_ckpt'),
            global_step=iteration_number,
            write_meta_graph=False,
        )
        self._replay.save(checkpoint_dir, iteration_number)
        return {'state': self.state, 'training_steps': self.training_steps}

    def unbundle(
        self,
        checkpoint_dir: str,
        iteration_number: int,
        bundle_dictionary: dict[str, Any] | None,
    ) -> bool:
        """Restores what `bundle_and_checkpoint` saved.

        Args:
          checkpoint_dir: the folder that was saved to.
          iteration_number: the number that was saved under.
          bundle_dictionary: what was returned then, or more; every key that names an attribute of
            the agent is restored.

        Returns:
          Whether the agent was restored. Without `allow_partial_reload` a missing part means False,
          and nothing was changed; with it what is there is restored.

        Raises:
          ValueError: the checkpoint holds variables of another shape.
        """
        path = os.path.join(checkpoint_dir, f'tf_ckpt-{iteration_number}')
        has_graph = self._has_variables(path)
        if not self.allow_partial_reload and (bundle_dictionary is None or not has_graph):
            return False
        try:
            self._replay.load(checkpoint_dir, iteration_number)
        except tf.errors.NotFoundError as error:
            if not self.allow_partial_reload:
                return False
            logging.warning('the replay buffer was not restored: %s', error.message)
        if bundle_dictionary is None:
            logging.warning("the agent's attributes were not restored: the bundle is missing")
        else:
            for key in self.__dict__:
                if key in bundle_dictionary:
                    self.__dict__[key] = bundle_dictionary[key]
        if has_graph:
            with files.without_wildcards(path) as literal_path:
                self._saver.restore(self._sess, literal_path)
        else:
            logging.warning('the networks were not restored: %s is missing', path)
        return True

    def _has_variables(self, path: str) -> bool:
        """Whether the saver can restore `path`, as far as the files tell.

        Raises:
          ValueError: the checkpoint holds variables of another shape.
        """
        if tf.io.gfile.exists(f'{path}.index'):
            self._check_shapes(path)
            return True
        # An older format has one file of that name; a program's own saver knows its files itself.
        return tf.io.gfile.exists(path) or not isinstance(self._saver, tf.compat.v1.train.Saver)

    def _check_shapes(self, path: str) -> None:
        """Raises ValueError if variables of the checkpoint have other shapes than the graph's."""
        with files.without_wildcards(path) as literal_path:
            saved = tf.train.load_checkpoint(literal_path).get_variable_to_shape_map()
        variables = legacy_networks.maybe_transform_variable_names(tf.compat.v1.global_variables())
        named = variables if isinstance(variables, dict) else {v.op.name: v for v in variables}
        differing = [
            f'{name}: expected {v.shape.as_list()}, got {saved[name]}'
            for name, v in named.items()
            if name in saved and v.shape.as_list() != saved[name]
        ]
        if differing:
            raise ValueError(f'{path} is of another network: ' + '; '.join(differing))


def initialize_new_variables(session: tf.compat.v1.Session) -> None:
    """Initialises the variables that have no value in `session` yet, and no others."""
    variables = tf.compat.v1.global_variables()
    if not variables:
        return
    missing = set(session.run(tf.compat.v1.report_uninitialized_variables(variables)))
    session.run(
        tf.compat.v1.variables_initializer([v for v in variables if v.op.name.encode() in missing])
    )


def _accepts(function: Callable[..., Any], parameter: str) -> bool:
    """Whether `function` can be called with the keyword argument `parameter`."""
    parameters = inspect.signature(function).parameters
    return parameter in parameters or any(
        p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values()
    )
