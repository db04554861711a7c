"""The loop of an experiment: iterations of training and evaluation, logged and checkpointed.

Importing this module makes every agent, replay buffer, network and environment of the package
known to gin.
"""

import contextlib
import datetime
import glob
import importlib
import importlib.metadata
import inspect
import json
import math
import numbers
import os
import pickle
import platform
import random
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import gin
import gymnasium
import numpy as np
import tensorflow as tf
from absl import logging

import dopamine_lite
from dopamine_lite import bounds, files
from dopamine_lite.compat import addresses, gin_selectors
from dopamine_lite.compat import runner as old_runner
from dopamine_lite.discrete_domains import (
    atari_lib,
    checkpoint_sets,
    checkpointer,
    environment_state,
    gym_lib,  # noqa: F401  (its selectors)
    inferred_settings,
    iteration_statistics,
    legacy_networks,  # noqa: F401  (its selectors)
    logger,
    minatar_lib,  # noqa: F401  (its selectors)
    networks,  # noqa: F401  (its selectors)
    progress,
    resume_state,
    run_lock,
    stopping,
)
from dopamine_lite.metrics import (
    collector_dispatcher,
    statistics_instance,
    tables_collector,
    tensorboard_collector,
)
from dopamine_lite.tf.agents import non_finite
from dopamine_lite.tf.agents.atari_100k import atari_100k_rainbow_agent
from dopamine_lite.tf.agents.dqn import dqn_agent
from dopamine_lite.tf.agents.full_rainbow import full_rainbow_agent
from dopamine_lite.tf.agents.implicit_quantile import implicit_quantile_agent
from dopamine_lite.tf.agents.prioritized_dqn import prioritized_dqn_agent
from dopamine_lite.tf.agents.quantile import quantile_agent
from dopamine_lite.tf.agents.rainbow import rainbow_agent

# Packages whose versions can change what a run does.
_RECORDED_PACKAGES = (
    *('tensorflow', 'tf-keras', 'numpy', 'numba', 'gin-config'),
    *('gymnasium', 'ale-py', 'opencv-python-headless', 'isal'),
)

# What was started in a folder: a JSON list, an entry a start.
_RECORD = 'run.json'
# What else a run leaves in its folder.
_RUN_FILES = (
    *('checkpoints', 'logs', 'metrics', 'operative_config.gin', 'learning_curve.png'),
    *('events.out.tfevents.*', 'evaluation.json', 'recording.*'),
    *('curves.*', 'scores.*', 'profiles.*'),
)

gin_selectors.install()


def load_gin_configs(gin_files: Sequence[str], gin_bindings: Sequence[str]) -> None:
    """Reads gin files, then single bindings, which win.

    Args:
      gin_files: paths, or names that gin's search paths resolve.
      gin_bindings: bindings such as `'Runner.training_steps = 1000'`.

    Raises:
      OSError: a file cannot be found or read.
      ValueError, SyntaxError: a binding names nothing that exists, or is malformed.
    """
    # Its module imports this one.
    importlib.import_module('dopamine_lite.discrete_domains.atari_100k')
    try:
        gin.parse_config_files_and_bindings(gin_files, bindings=gin_bindings, skip_unknown=False)
    except (ValueError, SyntaxError):
        for binding in gin_bindings:
            _check_syntax(binding)
        raise


def _check_syntax(binding: str) -> None:
    """Raises ValueError, with the binding, if it is not gin's language; gin names a line of it."""
    try:
        list(gin.config_parser.ConfigParser(binding, gin.config.ParserDelegate(skip_unknown=True)))
    except (ValueError, SyntaxError) as error:
        problem = str(error).partition('\n')[0].partition(': <ast')[0]
        raise ValueError(
            f"the binding {binding!r} is not of the form 'Class.parameter = value', with quotes "
            f'around text ({problem})'
        ) from error


# Agent names -> the class, looked up when an agent is made so that programs can replace it.
_AGENTS: dict[str, Callable[[], Callable[..., Any]]] = {
    'dqn': lambda: dqn_agent.DQNAgent,
    'rainbow': lambda: rainbow_agent.RainbowAgent,
    'implicit_quantile': lambda: implicit_quantile_agent.ImplicitQuantileAgent,
    'prioritized_dqn': lambda: prioritized_dqn_agent.PrioritizedDQNAgent,
    'quantile': lambda: quantile_agent.QuantileAgent,
    'full_rainbow': lambda: full_rainbow_agent.FullRainbowAgent,
    'atari_100k_rainbow': lambda: atari_100k_rainbow_agent.Atari100kRainbowAgent,
}


@gin.configurable
def create_agent(
    sess: tf.compat.v1.Session | None,
    environment: Any,
    agent_name: str | None = None,
    summary_writer: Any = None,
    debug_mode: bool = False,
) -> Any:
    """Makes the agent that gin names.

    Args:
      sess: the session for the agent; None lets the agent make its own.
      environment: has a discrete `action_space`.
      agent_name: 'prioritized_dqn', 'quantile', 'rainbow', 'full_rainbow', 'atari_100k_rainbow',
        'implicit_quantile', or a name that starts with 'dqn'.
      summary_writer: where the agent writes TensorBoard summaries, a writer or a folder.
      debug_mode: whether it does; otherwise the agent gets no writer.

    Raises:
      AssertionError: there is no agent name.
      ValueError: there is no such agent, or the actions are not discrete.
    """
    assert agent_name is not None, f'create_agent.agent_name must be one of {sorted(_AGENTS)}'
    name = 'dqn' if agent_name.startswith('dqn') else agent_name
    if name not in _AGENTS:
        if re.match(r'jax_|ppo|sac', agent_name):
            raise ValueError(f'create_agent.agent_name: {addresses.refusal_of_jax(agent_name)}')
        raise ValueError(f'Unknown agent: {agent_name} (the agents are {", ".join(_AGENTS)})')
    space = environment.action_space
    if isinstance(space, gymnasium.spaces.Space) and not isinstance(
        space, gymnasium.spaces.Discrete
    ):
        raise ValueError(f'the agents need a discrete action space, got {space}')
    agent_class = _AGENTS[name]()
    with inferred_settings.bound(agent_class, environment):
        return agent_class(
            sess,
            num_actions=space.n,
            summary_writer=summary_writer if debug_mode else None,
        )


@gin.configurable
def create_runner(base_dir: str, schedule: str = 'continuous_train_and_eval') -> 'Runner':
    """Makes the runner that gin names.

    Args:
      base_dir: the folder of the run.
      schedule: 'continuous_train_and_eval', 'continuous_train' for no evaluation, or 'atari_100k' for
        the benchmark of that name.

    Raises:
      ValueError: there is no such schedule.
    """
    assert base_dir is not None, 'base_dir must be the folder of the run, got None'
    return runner_class(schedule)(base_dir, create_agent)


def runner_class(schedule: str = 'continuous_train_and_eval') -> Callable[..., 'Runner']:
    """Returns the runner of a schedule, see `create_runner`.

    Raises:
      ValueError: there is no such schedule.
    """
    if schedule == 'continuous_train_and_eval':
        return Runner
    if schedule == 'continuous_train':
        return TrainRunner
    if schedule == 'atari_100k':
        # Its module imports this one.
        from dopamine_lite.discrete_domains import atari_100k

        return atari_100k.DataEfficientAtariRunner
    raise ValueError(
        f'Unknown schedule: {schedule} '
        '(the schedules are continuous_train_and_eval, continuous_train and atari_100k)'
    )


@gin.configurable
class Runner:
    """Runs an experiment: iterations of a training and an evaluation phase, resumed if interrupted.

    Attributes:
      action: where `max_steps_per_episode` is None, the action that the agent chose last.
      episode_ended: where `max_steps_per_episode` is None, whether the next phase starts an
        episode rather than going on with one.
    """

    # Defaults for subclasses with constructors of their own.
    _legacy_logger_enabled = True
    _fine_grained_print_to_console_enabled = True
    _terminal_on_time_limit = True
    _clip_rewards = True
    _progress = progress.Progress()
    _sess: Any = None
    _summary_writer: Any = None
    _tables: tables_collector.TablesCollector | None = None
    _iteration = 0
    _seed: int | None = None
    # The complete checkpoints in the folder when this runner last looked, None if it never did.
    _complete: list[int] | None = None
    # Those that the run leaves behind, where it was told to go back to an older one.
    _abandoned: Sequence[int] = ()
    action: Any = None
    episode_ended = True

    @old_runner.accept_old_arguments
    def __init__(
        self,
        base_dir: str,
        create_agent_fn: Callable[..., Any],
        create_environment_fn: Callable[[], Any] = atari_lib.create_atari_environment,
        checkpoint_file_prefix: str = 'ckpt',
        logging_file_prefix: str = 'log',
        log_every_n: int = 1,
        num_iterations: int = 200,
        training_steps: int = 250000,
        evaluation_steps: int = 125000,
        max_steps_per_episode: int | None = 27000,
        clip_rewards: bool = True,
        use_legacy_logger: bool = True,
        fine_grained_print_to_console: bool = True,
        terminal_on_time_limit: bool = True,
        seed: int | None = None,
    ):
        """Makes the environment and the agent, and resumes from the newest checkpoint in `base_dir`.

        Args:
          base_dir: the folder of the run; it gets `checkpoints`, `logs` and `metrics`.
          create_agent_fn: called as `create_agent_fn(None, environment, summary_writer=base_dir)`;
            returns an agent with `begin_episode`, `step`, `end_episode`, `bundle_and_checkpoint`,
            `unbundle` and the attributes `eval_mode` and `summary_writer`.
          create_environment_fn: called without arguments; returns an environment with `reset`,
            `step` (observation, reward, is_terminal, anything) and `game_over`.
          checkpoint_file_prefix: first part of the names of the checkpoint files.
          logging_file_prefix: first part of the names of the log files.
          log_every_n: every how many iterations the log is written.
          num_iterations: iterations in the whole run.
          training_steps: agent steps of a training phase, at least; 0 for no training.
          evaluation_steps: agent steps of an evaluation phase, at least; 0 for no evaluation.
          max_steps_per_episode: agent steps after which an episode is cut; None never cuts, and
            carries an unfinished episode over to the next phase.
          clip_rewards: whether the agent sees rewards clipped to [-1, 1].
          use_legacy_logger: whether `logs` is written.
          fine_grained_print_to_console: whether the progress within a phase is shown.
          terminal_on_time_limit: whether the agent is told that an episode ended where it was cut.
            False lets it bootstrap from what would have followed (Pardo et al., 2018,
            arXiv:1712.00378), if its `end_episode` takes `terminal`.
          seed: seeds Python's and NumPy's global generators, TensorFlow's default graph and the
            environment, before either is made; in [0, 2^32). None leaves them as the program set
            them. A run that is resumed keeps the seed that it began with.

        Raises:
          ValueError: a number is outside its range, the folder cannot be made, the run in it began
            with another seed, or the agent's observations are of another size than the
            environment's.
          SettingsMismatch: the checkpoint was written with a replay buffer, a stack or a network of
            other sizes; a ValueError.
          RuntimeError: there are checkpoints, but none that can be resumed from.
        """
        assert base_dir is not None, 'base_dir must be the folder of the run, got None'
        if not isinstance(num_iterations, numbers.Integral):
            raise ValueError(f'num_iterations must be a whole number, got {num_iterations!r}')
        bounds.require_at_least(0, training_steps=training_steps, evaluation_steps=evaluation_steps)
        bounds.require_at_least(1, log_every_n=log_every_n)
        if max_steps_per_episode is not None:
            bounds.require_at_least(1, max_steps_per_episode=max_steps_per_episode)
        self._base_dir = base_dir
        self._logging_file_prefix = logging_file_prefix
        self._log_every_n = log_every_n
        self._num_iterations = num_iterations
        self._training_steps = training_steps
        self._evaluation_steps = evaluation_steps
        self._max_steps_per_episode = max_steps_per_episode
        self._clip_rewards = clip_rewards
        self._legacy_logger_enabled = use_legacy_logger
        self._fine_grained_print_to_console_enabled = fine_grained_print_to_console
        self._terminal_on_time_limit = terminal_on_time_limit
        self._progress = progress.Progress()
        self._seed = settled_seed(base_dir, seed)
        self._create_directories()

        if self._seed is not None:
            _seed_generators(self._seed)
        self._environment = create_environment_fn()
        if self._seed is not None and not environment_state.seed(self._environment, self._seed):
            logging.warning(
                '%s is no Gymnasium environment: the seed does not reach it',
                type(self._environment).__name__,
            )
        self._agent = old_runner.make_agent(create_agent_fn, self._environment, self._base_dir)
        _check_observation_shape(self._agent, self._environment)
        self._summary_writer = old_runner.summary_writer(self)
        self._sess = getattr(self._agent, '_sess', None)
        if isinstance(self._sess, tf.compat.v1.Session):
            # Subclasses of the agents make variables after the constructor of their parent.
            with self._sess.graph.as_default():
                dqn_agent.initialize_new_variables(self._sess)
        self._initialize_checkpointer_and_maybe_resume(checkpoint_file_prefix)

        self._collector_dispatcher = collector_dispatcher.CollectorDispatcher(self._base_dir)
        self._tables = tables_collector.TablesCollector(self._base_dir)
        if hasattr(self._collector_dispatcher, 'add'):
            self._collector_dispatcher.add(self._tables)
        if hasattr(self._agent, 'set_collector_dispatcher'):
            self._agent.set_collector_dispatcher(self._collector_dispatcher)

    @property
    def _use_legacy_logger(self) -> bool:
        return self._legacy_logger_enabled

    @property
    def _has_collector_dispatcher(self) -> bool:
        return hasattr(self, '_collector_dispatcher')

    @property
    def _has_own_checkpointer(self) -> bool:
        # Programs replace the class by what need not be one.
        own = checkpointer.Checkpointer
        return isinstance(own, type) and isinstance(self._checkpointer, own)

    @property
    def _fine_grained_print_to_console(self) -> bool:
        return self._fine_grained_print_to_console_enabled

    # Checkpoints and logs.

    def _create_directories(self) -> None:
        """Names the folder of the checkpoints and opens the log."""
        self._checkpoint_dir = os.path.join(self._base_dir, 'checkpoints')
        if self._use_legacy_logger:
            self._logger = logger.Logger(os.path.join(self._base_dir, 'logs'))

    def _initialize_checkpointer_and_maybe_resume(self, checkpoint_file_prefix: str) -> None:
        """Resumes from the newest complete checkpoint that can be restored, if there is any.

        One that is damaged, or cannot be restored, is passed over for the next older one, with a
        warning; one that was asked for (`get_latest_checkpoint_number.override_number`) is not.

        Args:
          checkpoint_file_prefix: first part of the names of the checkpoint files.

        Raises:
          RuntimeError: none of the checkpoints can be restored; nothing was changed on disk.
          SettingsMismatch: one does not fit the settings; nothing was changed.
        """
        self._checkpointer = checkpointer.Checkpointer(self._checkpoint_dir, checkpoint_file_prefix)
        self._start_iteration = 0
        latest = checkpointer.get_latest_checkpoint_number(self._checkpoint_dir)
        on_disk = checkpointer.complete_checkpoints(self._checkpoint_dir)
        self._complete = on_disk
        if latest < 0:
            return
        candidates = [latest]
        if _is_override(latest):
            self._abandoned = [number for number in on_disk if number > latest]
        elif on_disk and latest == on_disk[-1]:
            candidates += on_disk[-2::-1]
        problems, cause = [], None
        for number in candidates:
            try:
                problem = self._resume(number)
            except checkpoint_sets.SettingsMismatch:
                raise
            except (OSError, EOFError, ValueError, pickle.UnpicklingError, tf.errors.OpError) as e:
                if not on_disk:
                    raise
                cause = cause or e
                problem = str(e).split('\n')[0] or type(e).__name__
            if not problem:
                checkpoint_sets.sweep_saver(self._agent, self._checkpoint_dir, on_disk)
                return
            problems.append(f'checkpoint {number} is damaged: {problem}')
            logging.warning('%s', problems[-1])
        if on_disk:
            raise RuntimeError(
                f'none of the checkpoints in {self._checkpoint_dir} can be resumed from '
                f'({"; ".join(problems)}). Nothing was changed; --fresh or another base_dir starts '
                'anew'
            ) from cause
        logging.warning('Starting from iteration 0')

    def _resume(self, number: int) -> str | None:
        """Restores one checkpoint; returns what is wrong with it where it cannot."""
        if self._has_own_checkpointer:
            problem = self._checkpointer.damage(number)
            if problem:
                return problem
        state = resume_state.read(self._checkpoint_dir, number)
        data = self._checkpointer.load_checkpoint(number)
        if data is not None and not (
            isinstance(data, dict) and isinstance(data.get('current_iteration'), numbers.Integral)
        ):
            return f'its data are no dictionary with the current_iteration, but {data!r:.100}'
        if data is not None and not isinstance(data.get('logs', {}), dict):
            return f'its logs are no dictionary, but {data["logs"]!r:.100}'
        checkpoint_sets.check_settings(self._agent, self._checkpoint_dir, number, data)
        if not self._agent.unbundle(self._checkpoint_dir, number, data):
            return 'the agent could not be restored, for a file of it is missing'
        if data is None:
            return None
        if self._use_legacy_logger and 'logs' in data:
            self._logger.data = data['logs']
        self._start_iteration = data['current_iteration'] + 1
        if state is not None:
            goes_on, action = resume_state.restore(
                state, self._agent, self._environment, self._max_steps_per_episode is None
            )
            if goes_on:
                self.episode_ended, self.action = False, action
        logging.info('Resumed from checkpoint %d: iteration %d', number, self._start_iteration)
        return None

    def _log_experiment(self, iteration: int, statistics: Any) -> None:
        """Adds the statistics of an iteration to the log, and writes it if it is due."""
        self._logger[f'iteration_{iteration}'] = statistics
        if iteration % self._log_every_n == 0:
            self._logger.log_to_file(self._logging_file_prefix, iteration)

    def _checkpoint_experiment(self, iteration: int) -> None:
        """Saves the agent, then what the runner needs, then the sentinel; deletes what is too old.

        Raises:
          OSError: it cannot be written; nothing of it is left, and older ones are as they were.
        """
        own = self._has_own_checkpointer
        if own and not self._checkpointer.is_due(iteration):
            return  # without a sentinel the agent's files would be waste
        with self._writing(f'checkpoint {iteration}'):
            try:
                if own:
                    self._checkpointer.begin(iteration)
                with checkpoint_sets.keeping_everything(self._agent):
                    data = self._agent.bundle_and_checkpoint(self._checkpoint_dir, iteration)
                if data is None:
                    if own and not os.path.isdir(self._checkpoint_dir):
                        raise FileNotFoundError('the folder is gone')
                    logging.warning('The agent saved nothing: no checkpoint %d', iteration)
                    return
                data['current_iteration'] = iteration
                if self._use_legacy_logger:
                    data['logs'] = self._logger.data
                if own:
                    self._write_resume_state(iteration)
                self._checkpointer.save_checkpoint(iteration, data)
            except BaseException:
                if own and iteration not in checkpointer.complete_checkpoints(self._checkpoint_dir):
                    self._discard_checkpoint(iteration)
                raise
            if own:
                self._delete_old_checkpoints(iteration)

    def _write_resume_state(self, iteration: int) -> None:
        in_episode = self._max_steps_per_episode is None and not self.episode_ended
        state = resume_state.capture(self._agent, self._environment, self.action, in_episode)
        resume_state.write(self._checkpoint_dir, iteration, state)

    def _discard_checkpoint(self, number: int) -> None:
        checkpoint_sets.discard(
            self._checkpoint_dir, number, self._checkpointer.data_filename(number)
        )

    def _delete_old_checkpoints(self, newest: int) -> None:
        for number in self._abandoned:
            if number > newest:
                self._checkpointer.begin(number)
        if self._abandoned and self._use_legacy_logger:
            self._logger.discard_after(self._logging_file_prefix, newest)
        self._abandoned = ()
        self._complete = checkpointer.complete_checkpoints(self._checkpoint_dir)
        checkpoint_sets.sweep(self._agent, self._checkpoint_dir, newest, self._complete)

    @contextlib.contextmanager
    def _writing(self, what: str) -> Iterator[None]:
        """Turns errors of the disk into one that says what could not be written, and what is left."""
        try:
            yield
        except (OSError, tf.errors.OpError) as error:
            reason = getattr(error, 'strerror', None) or getattr(error, 'message', None) or error
            raise OSError(
                f'{what} could not be written to {self._base_dir}: {str(reason).splitlines()[0]}; '
                f'{self._last_checkpoint()}'
            ) from error

    def _last_checkpoint(self) -> str:
        complete = checkpointer.complete_checkpoints(self._checkpoint_dir)
        return f'the last checkpoint is {complete[-1]}' if complete else 'there is no checkpoint'

    # Episodes.

    def _initialize_episode(self) -> Any:
        """Resets the environment and returns the agent's first action."""
        return self._agent.begin_episode(self._environment.reset())

    def _run_one_step(self, action: Any) -> tuple[Any, Any, bool]:
        """Takes one agent step; returns (observation, reward, is_terminal)."""
        stopping.check()
        observation, reward, is_terminal, _ = self._environment.step(action)
        self._progress.step()
        return observation, reward, is_terminal

    def _end_episode(self, reward: Any, terminal: bool = True) -> None:
        """Tells the agent that an episode is over.

        Args:
          reward: the last reward.
          terminal: whether the episode ended; False where it was only cut. The agent hears of the
            difference if `terminal_on_time_limit` is False and its `end_episode` takes `terminal`.
        """
        end_episode = self._agent.end_episode
        if (
            not (terminal or self._terminal_on_time_limit)
            and 'terminal' in inspect.signature(end_episode).parameters
        ):
            end_episode(reward, terminal=False)
        else:
            end_episode(reward)

    def _was_truncated(self) -> bool:
        """Whether the environment itself cut the episode at the last step."""
        truncated = getattr(self._environment, 'truncated', False)
        return isinstance(truncated, (bool, np.bool_)) and bool(truncated)

    def _clipped(self, reward: Any) -> Any:
        # Most rewards need no clipping, and `np.clip` takes longer than the rest of the loop.
        if not self._clip_rewards or (type(reward) in (int, float) and -1 <= reward <= 1):
            return reward
        return np.clip(reward, -1, 1)

    def _run_one_episode(self) -> tuple[int, Any]:
        """Runs an episode to its end or the step limit; returns (agent steps, return)."""
        steps = 0
        total_reward = 0.0
        action = self._initialize_episode()
        while True:
            observation, reward, is_terminal = self._run_one_step(action)
            total_reward += reward
            steps += 1
            reward = self._clipped(reward)
            over = self._environment.game_over
            truncated = self._was_truncated()
            if over or truncated or steps == self._max_steps_per_episode:
                terminal = bool(over or is_terminal) and not truncated
                old_runner.call_hook(self._end_episode, reward, terminal)
                return steps, total_reward
            if is_terminal:
                # A lost life: to the agent an episode ends, while the game goes on.
                self._end_episode(reward)
                action = self._agent.begin_episode(observation)
            else:
                action = self._agent.step(reward, observation)

    def _run_continued_episode(self, start_step_count: int, max_step_count: int) -> tuple[int, Any]:
        """Goes on with the unfinished episode, or begins one, while the phase lasts.

        Sets `episode_ended` and `action` for the next call.

        Args:
          start_step_count: agent steps that the phase took before.
          max_step_count: it goes on while the steps of the phase are at most this.

        Returns:
          (agent steps, sum of rewards) of this part of the episode.
        """
        steps = 0
        total_reward = 0.0
        if self.episode_ended:
            self.action = self._initialize_episode()
            self.episode_ended = False
        while start_step_count + steps <= max_step_count:
            observation, reward, is_terminal = self._run_one_step(self.action)
            total_reward += reward
            steps += 1
            reward = self._clipped(reward)
            over = self._environment.game_over
            truncated = self._was_truncated()
            if over or truncated:
                old_runner.call_hook(self._end_episode, reward, not truncated)
                self.episode_ended = True
                break
            if is_terminal:
                self._end_episode(reward)
                self.action = self._agent.begin_episode(observation)
            else:
                self.action = self._agent.step(reward, observation)
        return steps, total_reward

    # Phases and iterations.

    def _run_one_phase(
        self, min_steps: int, statistics: Any, run_mode_str: str
    ) -> tuple[int, Any, int]:
        """Runs whole episodes until they took at least `min_steps` agent steps.

        Args:
          min_steps: 0 runs nothing.
          statistics: has a method `append`, called with a dictionary an episode.
          run_mode_str: 'train' or 'eval', the prefix of the dictionary's keys.

        Returns:
          (agent steps, sum of returns, episodes).
        """
        step_count, sum_returns, num_episodes = 0, 0.0, 0
        if self._fine_grained_print_to_console and min_steps > 0:
            self._progress.start(
                f'iteration {self._iteration} {run_mode_str}', min_steps, self._epsilon
            )
        try:
            while step_count < min_steps:
                stopping.check()
                began = time.perf_counter()
                if self._max_steps_per_episode is None:
                    length, episode_return = self._run_continued_episode(step_count, min_steps)
                else:
                    length, episode_return = self._run_one_episode()
                statistics.append(
                    {
                        f'{run_mode_str}_episode_lengths': length,
                        f'{run_mode_str}_episode_returns': episode_return,
                    }
                )
                step_count += length
                sum_returns += episode_return
                num_episodes += 1
                self._progress.episode(length, episode_return)
                if self._tables is not None:
                    seconds = time.perf_counter() - began
                    with self._writing('the metrics'):
                        self._tables.write_episode(
                            *(run_mode_str, length, episode_return),
                            *(self._frames_per_step(), seconds),
                        )
        finally:
            self._progress.finish()
        return step_count, sum_returns, num_episodes

    def _frames_per_step(self) -> int:
        frame_skip = getattr(self._environment, 'frame_skip', 1)
        return frame_skip if isinstance(frame_skip, int) else 1

    def _epsilon(self) -> float | None:
        """The agent's present probability of a random action, None if it has none."""
        agent = self._agent
        if not resume_state.is_own_agent(agent):
            return None
        return agent._exploration()

    def _run_train_phase(self, statistics: Any) -> tuple[int, Any, float]:
        """Runs a training phase; returns (episodes, mean return, agent steps a second).

        A phase without episodes leaves no averages in `statistics`, and returns zeros.
        """
        self._agent.eval_mode = False
        began = time.perf_counter()
        steps, sum_returns, num_episodes = self._run_one_phase(
            self._training_steps, statistics, 'train'
        )
        if not num_episodes:
            return 0, 0.0, 0.0
        average_return = sum_returns / num_episodes
        steps_per_second = steps / max(time.perf_counter() - began, 1e-9)
        statistics.append({'train_average_return': average_return})
        statistics.append({'train_average_steps_per_second': steps_per_second})
        logging.info('Average undiscounted return per training episode: %s', average_return)
        logging.info('Average training steps per second: %.2f', steps_per_second)
        return num_episodes, average_return, steps_per_second

    def _run_eval_phase(self, statistics: Any) -> tuple[int, Any]:
        """Runs an evaluation phase; returns (episodes, mean return).

        A phase without episodes leaves no average in `statistics`, and returns zeros.
        """
        self._agent.eval_mode = True
        _, sum_returns, num_episodes = self._run_one_phase(
            self._evaluation_steps, statistics, 'eval'
        )
        if not num_episodes:
            return 0, 0.0
        average_return = sum_returns / num_episodes
        statistics.append({'eval_average_return': average_return})
        logging.info('Average undiscounted return per evaluation episode: %s', average_return)
        return num_episodes, average_return

    def _timed_train_phase(self, statistics: Any) -> tuple[int, Any, float]:
        """Runs `_run_train_phase`; overrides for older Dopamines return no steps a second."""
        start = time.time()
        num_episodes, average_return, *measured = self._run_train_phase(statistics)
        if measured:
            return num_episodes, average_return, measured[0]
        steps = sum(statistics.data_lists.get('train_episode_lengths', ()))
        return num_episodes, average_return, steps / max(time.time() - start, 1e-9)

    def _run_one_iteration(self, iteration: int) -> dict[str, list[Any]]:
        """Runs a training, then an evaluation phase; returns what was measured, lists by name."""
        self._iteration = iteration
        statistics = iteration_statistics.IterationStatistics()
        num_train, average_train, steps_per_second = self._timed_train_phase(statistics)
        num_eval, average_eval = self._run_eval_phase(statistics)
        if self._has_collector_dispatcher:
            self._collector_dispatcher.write(
                _instances(
                    iteration,
                    _train_statistics(num_train, average_train, steps_per_second)
                    + _eval_statistics(num_eval, average_eval),
                )
            )
        if self._summary_writer is not None:
            old_runner.call_hook(
                self._save_tensorboard_summaries,
                *(iteration, num_train, average_train, num_eval, average_eval, steps_per_second),
            )
        return statistics.data_lists

    def _save_tensorboard_summaries(
        self,
        iteration: int,
        num_episodes_train: int,
        average_reward_train: Any,
        num_episodes_eval: int,
        average_reward_eval: Any,
        average_steps_per_second: float,
    ) -> None:
        """Writes what was measured in an iteration to the agent's summary writer."""
        self._write_summaries(
            iteration,
            _train_statistics(num_episodes_train, average_reward_train, average_steps_per_second)
            + _eval_statistics(num_episodes_eval, average_reward_eval),
        )

    def _write_summaries(self, iteration: int, statistics: list[tuple[str, Any]]) -> None:
        if hasattr(self._summary_writer, 'add_summary'):
            values = [
                tf.compat.v1.Summary.Value(tag=name, simple_value=value)
                for name, value in statistics
            ]
            self._summary_writer.add_summary(tf.compat.v1.Summary(value=values), iteration)
            return
        with tensorboard_collector.eager_mode():
            if isinstance(self._summary_writer, (str, os.PathLike)):
                # The agent kept the folder that it was given.
                self._summary_writer = tf.summary.create_file_writer(
                    os.fspath(self._summary_writer)
                )
            with self._summary_writer.as_default():
                for name, value in statistics:
                    tensorboard_collector.write_scalar(name, value, iteration)

    def run_experiment(self) -> None:
        """Runs the iterations that are left, and logs and checkpoints each.

        With no iteration left it warns and does nothing. Ctrl-C (KeyboardInterrupt) and SIGTERM
        (SystemExit) stop it between two steps, a second one at once.

        Raises:
          RuntimeError: another process trains in the folder, or has done since this runner was
            made; or a loss is NaN or infinite (`non_finite.NonFiniteLoss`).
          OSError: a file cannot be written.
        """
        if self._num_iterations <= self._start_iteration:
            logging.warning(
                'Nothing to do: num_iterations is %d, and the run in %s is at iteration %d',
                self._num_iterations,
                self._base_dir,
                self._start_iteration,
            )
            return
        os.makedirs(self._base_dir, exist_ok=True)
        with run_lock.lock(self._base_dir), stopping.between_steps():
            self._check_unchanged()
            try:
                self._run_iterations()
            except BaseException:
                self._close_writers()
                raise
            finally:
                if self._tables is not None:
                    self._tables.close()

    def _run_iterations(self) -> None:
        with self._writing('the record of the run'):
            self._record_start()
        with self._writing('the metrics'):
            self._start_tables()
        for iteration in range(self._start_iteration, self._num_iterations):
            stopping.check()
            if self._tables is not None:
                self._tables.begin_iteration(iteration)
            logging.info('Starting iteration %d', iteration)
            try:
                statistics = self._run_one_iteration(iteration)
            except non_finite.NonFiniteLoss as error:
                raise non_finite.NonFiniteLoss(f'{error}; {self._last_checkpoint()}') from error
            if self._use_legacy_logger:
                with self._writing('the log'):
                    self._log_experiment(iteration, statistics)
            if self._tables is not None:
                # Before the checkpoint: the run that resumes from it needs these rows.
                with self._writing('the metrics'):
                    self._tables.flush()
            self._checkpoint_experiment(iteration)
            with self._writing('the metrics'):
                if self._has_collector_dispatcher:
                    self._collector_dispatcher.flush()
                if hasattr(self._summary_writer, 'flush'):
                    with tensorboard_collector.eager_mode():
                        self._summary_writer.flush()
                if iteration == self._start_iteration:
                    self._record_configuration()  # by now everything that gin configures was made

    def _start_tables(self) -> None:
        if self._tables is None:
            return
        taken = getattr(self._agent, 'training_steps', 0)
        self._tables.start(self._start_iteration, taken if isinstance(taken, int) else 0)

    def _check_unchanged(self) -> None:
        """Raises RuntimeError if another process trained in the folder since this runner looked."""
        complete = checkpointer.complete_checkpoints(self._checkpoint_dir)
        if self._complete is not None and complete[-1:] != self._complete[-1:]:
            raise RuntimeError(
                f'the run in {self._base_dir} went on while this runner was made: it was at '
                f'checkpoint {self._complete[-1:] or None}, and is at {complete[-1:] or None}'
            )

    def _close_writers(self) -> None:
        """Closes what is written to during a run, whatever state it is in."""
        for writer in (getattr(self, '_collector_dispatcher', None), self._summary_writer):
            if hasattr(writer, 'close'):
                try:
                    with tensorboard_collector.eager_mode():
                        writer.close()
                except Exception as error:
                    logging.warning('%s was not closed: %s', type(writer).__name__, error)

    # What was run.

    def _record_configuration(self) -> None:
        """Writes the gin bindings that the run uses to `operative_config.gin`."""
        with files.atomic_write(os.path.join(self._base_dir, 'operative_config.gin')) as file:
            file.write(gin.operative_config_str().encode())

    def _record_start(self) -> None:
        """Adds an entry to the list in `run.json`: when, what, with which versions, on what."""
        os.makedirs(self._base_dir, exist_ok=True)
        self._record_configuration()
        path = os.path.join(self._base_dir, _RECORD)
        try:
            starts = _read_record(self._base_dir)
        except ValueError as error:
            logging.warning('%s is damaged (%s); it is kept as run.json.damaged', path, error)
            os.replace(path, path + '.damaged')
            starts = []
        starts.append(
            {
                'started': datetime.datetime.now(datetime.timezone.utc).isoformat(),
                'command': sys.argv,
                'start_iteration': self._start_iteration,
                'seed': self._seed,
                'versions': {'python': platform.python_version(), **_versions()},
                'machine': {'platform': platform.platform(), 'cpus': os.cpu_count()},
            }
        )
        with files.atomic_write(path) as file:
            file.write(json.dumps(starts, indent=2).encode())


@gin.configurable
class TrainRunner(Runner):
    """A runner without evaluation phases."""

    @old_runner.accept_old_arguments
    def __init__(
        self,
        base_dir: str,
        create_agent_fn: Callable[..., Any],
        create_environment_fn: Callable[[], Any] = atari_lib.create_atari_environment,
    ):
        """As `Runner`, whose other parameters gin binds.

        Args:
          base_dir: the folder of the run.
          create_agent_fn: makes the agent.
          create_environment_fn: makes the environment; `Runner.create_environment_fn` is not used.
        """
        super().__init__(base_dir, create_agent_fn, create_environment_fn)
        self._agent.eval_mode = False

    def _run_one_iteration(self, iteration: int) -> dict[str, list[Any]]:
        """Runs a training phase; returns what was measured, lists by name."""
        self._iteration = iteration
        statistics = iteration_statistics.IterationStatistics()
        num_episodes, average_return, steps_per_second = self._timed_train_phase(statistics)
        if self._has_collector_dispatcher:
            self._collector_dispatcher.write(
                _instances(
                    iteration, _train_statistics(num_episodes, average_return, steps_per_second)
                )
            )
        if self._summary_writer is not None:
            old_runner.call_hook(
                self._save_tensorboard_summaries,
                *(iteration, num_episodes, average_return, steps_per_second),
            )
        return statistics.data_lists

    def _save_tensorboard_summaries(
        self,
        iteration: int,
        num_episodes: int,
        average_reward: Any,
        average_steps_per_second: float,
    ) -> None:
        """Writes what was measured in an iteration to the agent's summary writer."""
        self._write_summaries(
            iteration, _train_statistics(num_episodes, average_reward, average_steps_per_second)
        )


def _train_statistics(
    num_episodes: int, average_return: Any, steps_per_second: float
) -> list[tuple[str, Any]]:
    """Names and values of a training phase; none if it had no episode, for nothing was measured."""
    if not num_episodes:
        return []
    return [
        ('Train/NumEpisodes', num_episodes),
        ('Train/AverageReturns', average_return),
        ('Train/AverageStepsPerSecond', steps_per_second),
    ]


def _eval_statistics(num_episodes: int, average_return: Any) -> list[tuple[str, Any]]:
    """Names and values of an evaluation phase; none if it had no episode."""
    if not num_episodes:
        return []
    return [('Eval/NumEpisodes', num_episodes), ('Eval/AverageReturns', average_return)]


def _instances(
    iteration: int, statistics: list[tuple[str, Any]]
) -> list[statistics_instance.StatisticsInstance]:
    return [
        statistics_instance.StatisticsInstance(name, value, iteration) for name, value in statistics
    ]


def _is_override(number: int) -> bool:
    """Whether gin asks for this checkpoint."""
    # Unlike `query_parameter` this gives the number behind a macro.
    bound = gin.get_bindings('get_latest_checkpoint_number')
    return bound.get('override_number') == number


def _check_observation_shape(agent: Any, environment: Any) -> None:
    """Raises ValueError if the environment's observations cannot be reshaped to the agent's."""
    space = getattr(environment, 'observation_space', None)
    if not resume_state.is_own_agent(agent) or not isinstance(space, gymnasium.spaces.Space):
        return
    # An agent that overrides one of these may crop or convert what it is given.
    for hook in ('begin_episode', 'step', '_record_observation'):
        base = getattr(dqn_agent.DQNAgent, hook)
        if getattr(type(agent), hook, base) is not base:
            return
    if space.shape is not None and math.prod(space.shape) != math.prod(agent.observation_shape):
        raise ValueError(
            f'the agent expects observations of shape {tuple(agent.observation_shape)}, '
            f'the environment gives {tuple(space.shape)}'
        )


def _read_record(base_dir: str) -> list[Any]:
    """Returns the entries of a run's `run.json`, none if there is no such file.

    Raises:
      ValueError: the file is damaged.
    """
    try:
        with open(os.path.join(base_dir, _RECORD), encoding='utf-8') as file:
            starts = json.load(file)
    except (FileNotFoundError, NotADirectoryError):
        return []
    if not isinstance(starts, list):
        raise ValueError(f'expected a list, got {type(starts).__name__}')
    return starts


def settled_seed(base_dir: str, seed: int | None) -> int | None:
    """Returns the seed of the run in a folder, where it has one, and otherwise `seed`.

    Raises:
      ValueError: the run began with another seed than `seed`, or `seed` is none.
    """
    if seed is not None:
        is_whole = isinstance(seed, numbers.Integral) and not isinstance(seed, bool)
        if not is_whole or not 0 <= seed < 2**32:
            raise ValueError(f'seed must be a whole number in [0, 2^32), got {seed!r}')
    try:
        starts = _read_record(base_dir)
    except (RecursionError, ValueError):
        starts = []
    seeds = [start.get('seed') for start in starts if isinstance(start, dict)]
    recorded = next((s for s in reversed(seeds) if type(s) is int and 0 <= s < 2**32), None)
    if recorded is None:
        return None if seed is None else int(seed)
    if seed not in (None, recorded):
        raise ValueError(
            f'seed must be that of the run in {base_dir}, which began with {recorded}, got {seed}; '
            '--fresh or another base_dir starts anew'
        )
    return recorded


def set_aside(base_dir: str) -> str | None:
    """Moves what a run left in a folder into `previous_K` there, so that a new one starts.

    Returns:
      The folder that it was moved to, None if there was nothing to move.

    Raises:
      RuntimeError: another process trains in the folder.
      OSError: it cannot be moved.
    """
    if not os.path.isdir(base_dir):
        return None
    with run_lock.lock(base_dir):
        found = [
            path
            for pattern in (_RECORD, f'{_RECORD}.damaged', *_RUN_FILES)
            for path in glob.glob(os.path.join(glob.escape(base_dir), pattern))
        ]
        if not found:
            return None
        number = 1
        while os.path.exists(os.path.join(base_dir, f'previous_{number}')):
            number += 1
        folder = os.path.join(base_dir, f'previous_{number}')
        os.mkdir(folder)
        for path in found:
            os.rename(path, os.path.join(folder, os.path.basename(path)))
        return folder


def _seed_generators(seed: int) -> None:
    random.seed(int(seed))
    np.random.seed(seed)
    # `set_random_seed` would seed the eager context instead, where that is still on.
    tf.compat.v1.get_default_graph().seed = int(seed)


def _versions() -> dict[str, str]:
    versions = {'dopamine_lite': dopamine_lite.__version__}
    for package in _RECORDED_PACKAGES:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            pass  # imported from a source tree
    return versions
