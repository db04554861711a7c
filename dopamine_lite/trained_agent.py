"""A trained agent and its environment, for whatever watches it play: of a checkpoint, the network.

Neither the replay buffer of the checkpoint nor the lock of its folder is touched, so that a run can
be looked at while it goes on, and on a machine that could not hold its replay.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import inspect
import os
import pickle
import random
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from absl import logging

from dopamine_lite import console, files
from dopamine_lite.console import UserError

if TYPE_CHECKING:
    from dopamine_lite.gin_text import Experiment

# Enough for any stack and horizon; the buffer of an agent that only plays stays empty.
_REPLAY_CAPACITY = 1000


class Moment(NamedTuple):
    """A point in a game: an agent that has chosen what to do, or the end.

    Attributes:
      action: what the agent does next, for the state in its `state`; None at the end.
      reward: what the action before earned; 0 at the start.
      episode_return: the sum of the rewards so far, not clipped.
      episode_steps: agent steps so far.
      over: whether the game ended here, or was cut.
    """

    action: int | None
    reward: float
    episode_return: float
    episode_steps: int
    over: bool


class TrainedAgent:
    """An agent in evaluation mode, and the environment that it was trained on.

    Attributes:
      agent: the agent; the graph of its session is its own, not the default one.
      environment: has `reset`, `step` (four values) and `game_over`.
      iteration: the number of the checkpoint, None where it has none.
      experiment: the names of agent and environment.
      name: both as a title, such as 'Rainbow on Pong'.
      max_steps_per_episode: agent steps after which a game is cut, None for never.
    """

    def __init__(
        self,
        agent: Any,
        environment: Any,
        iteration: int | None,
        experiment: Experiment,
        max_steps_per_episode: int | None,
        clip_rewards: bool,
        max_noops: int,
    ):
        self.agent = agent
        self.environment = environment
        self.iteration = iteration
        self.experiment = experiment
        self.name = str(experiment)
        self.max_steps_per_episode = max_steps_per_episode
        self._clip_rewards = clip_rewards
        self._max_noops = max_noops

    def play(self) -> Iterator[Moment]:
        """Plays one game after the other, as in an evaluation phase; the last of each is its end."""
        while True:
            yield from self._play_one()

    def _play_one(self) -> Iterator[Moment]:
        import numpy as np

        agent, environment = self.agent, self.environment
        observation = environment.reset()
        if self._max_noops:
            for _ in range(np.random.randint(self._max_noops + 1)):
                observation = environment.step(0)[0]
                if environment.game_over:
                    observation = environment.reset()
        action, reward, total, steps = agent.begin_episode(observation), 0.0, 0.0, 0
        while True:
            yield Moment(action, reward, total, steps, over=False)
            observation, reward, is_terminal, _ = environment.step(action)
            total += reward
            steps += 1
            seen = np.clip(reward, -1, 1) if self._clip_rewards else reward
            truncated = getattr(environment, 'truncated', False)
            if environment.game_over or truncated or steps == self.max_steps_per_episode:
                agent.end_episode(seen)
                yield Moment(None, reward, total, steps, over=True)
                return
            if is_terminal:  # a lost life
                agent.end_episode(seen)
                action = agent.begin_episode(observation)
            else:
                action = agent.step(seen, observation)


def load(
    base_dir: str | None = None,
    checkpoint: int | None = None,
    tf_checkpoint: str | None = None,
    gin_files: Sequence[str] = (),
    gin_bindings: Sequence[str] = (),
    imports: Sequence[str] = (),
    legacy_names: bool = False,
    seed: int | None = None,
) -> TrainedAgent:
    """Makes an agent as it was trained. Clears gin's configuration first.

    Args:
      base_dir: the folder of a run, of this package or of Dopamine.
      checkpoint: the number of one of its checkpoints; None takes the newest intact one.
      tf_checkpoint: instead of a folder, what the names of the files of a TensorFlow checkpoint
        begin with, such as 'tf_ckpt-199'.
      gin_files: say what was trained; none means what the run kept in its folder. Needed for a run
        of Dopamine, which keeps nothing, and for a TensorFlow checkpoint.
      gin_bindings: win over either.
      imports: modules to import first, such as one with the user's own network.
      legacy_names: whether the variables have the names of before Keras (`weights`, `biases`).
      seed: seeds Python's, NumPy's and TensorFlow's generators and the environment.

    Raises:
      UserError: the folder or the checkpoint does not exist, is damaged or of another network, or
        the gin text that is kept in the folder may not be read.
      OSError, ValueError: as `run_experiment.load_gin_configs`, or a setting is out of its range.
    """
    _check_source(base_dir, checkpoint, tf_checkpoint, gin_files, gin_bindings)

    import gin
    import tensorflow as tf

    from dopamine_lite import compat, gin_text
    from dopamine_lite.discrete_domains import environment_state, run_experiment

    compat.install()
    for name in imports:
        importlib.import_module(name)
    gin.clear_config()
    if base_dir is not None and not gin_files:
        gin_text.bind_kept(base_dir, imports)
    run_experiment.load_gin_configs(gin_files, gin_bindings)
    experiment = gin_text.experiment(gin_text.Settings(gin.config_str()))
    _bind_what_playing_needs(legacy_names)

    tf.compat.v1.disable_v2_behavior()
    with tf.Graph().as_default():
        if seed is not None:
            run_experiment._seed_generators(seed)
        environment = _runner_setting('create_environment_fn')()
        if seed is not None:
            environment_state.seed(environment, seed)
        agent = run_experiment.create_agent(None, environment)
        run_experiment._check_observation_shape(agent, environment)
        if base_dir is None:
            number = None
            _restore_variables(agent, tf_checkpoint)
        else:
            number = _restore_newest(agent, base_dir, checkpoint)
    agent.eval_mode = True
    return TrainedAgent(
        agent,
        environment,
        number,
        experiment,
        _runner_setting('max_steps_per_episode'),
        _runner_setting('clip_rewards'),
        _runner_setting('max_noops', 0),
    )


def _check_source(
    base_dir: str | None,
    checkpoint: int | None,
    tf_checkpoint: str | None,
    gin_files: Sequence[str],
    gin_bindings: Sequence[str],
) -> None:
    """Finds, before anything slow, whether there is something to load."""
    if (base_dir is None) == (tf_checkpoint is None):
        raise UserError('name either BASE_DIR, the folder of a run, or --tf_checkpoint')
    if tf_checkpoint is not None:
        if checkpoint is not None:
            raise UserError(
                '--checkpoint is a number in BASE_DIR; --tf_checkpoint is one by itself'
            )
        if not gin_files and not gin_bindings:
            raise UserError('--tf_checkpoint needs --gin_files, which say what was trained')
        path = _prefix(tf_checkpoint)
        if not os.path.isfile(f'{path}.index'):
            raise UserError(f'there is no TensorFlow checkpoint {path} (no file {path}.index)')
        return
    complete = complete_checkpoints(base_dir)
    if checkpoint is not None and checkpoint not in complete:
        raise UserError(
            f'there is no checkpoint {checkpoint} in {base_dir}, only {", ".join(map(str, complete))}'
        )


def complete_checkpoints(base_dir: str) -> list[int]:
    """Returns the numbers of the complete checkpoints of a run, in ascending order; at least one.

    Raises:
      UserError: there is no such folder, or none in it.
    """
    from dopamine_lite.discrete_domains import checkpointer

    if not os.path.isdir(base_dir):
        raise UserError(f'there is no folder {base_dir}')
    complete = checkpointer.complete_checkpoints(os.path.join(base_dir, 'checkpoints'))
    if not complete:
        raise UserError(
            f'{base_dir} holds no complete checkpoint of a run (expected '
            f'{os.path.join("checkpoints", "sentinel_checkpoint_complete.0")} or later)'
        )
    return complete


def _prefix(tf_checkpoint: str) -> str:
    return tf_checkpoint.removesuffix('.index')


def _bind_what_playing_needs(legacy_names: bool) -> None:
    import gin
    from gin import config

    with gin.unlock_config():
        for _, configurable in list(config._REGISTRY.items()):
            made = configurable.wrapper
            if inspect.isclass(made) and 'replay_capacity' in inspect.signature(made).parameters:
                gin.bind_parameter(f'{configurable.selector}.replay_capacity', _REPLAY_CAPACITY)
        if legacy_names:
            gin.bind_parameter('maybe_transform_variable_names.legacy_checkpoint_load', True)


def _runner_setting(name: str, *default: Any) -> Any:
    """Returns what the runner that gin names would be made with."""
    import gin

    from dopamine_lite.discrete_domains import run_experiment

    schedule = gin.get_bindings('create_runner').get('schedule')
    runner = run_experiment.runner_class(*filter(None, [schedule]))
    for cls in runner.__mro__[:-1]:
        bindings = gin.get_bindings(cls)
        if name in bindings:
            return bindings[name]
        parameters = inspect.signature(cls.__init__).parameters
        if name in parameters:
            return parameters[name].default
    return default[0]


# Restoring.


def _restore_newest(agent: Any, base_dir: str, wanted: int | None) -> int:
    """Restores the checkpoint that is wanted, or the newest intact one; returns its number."""
    candidates = [wanted] if wanted is not None else complete_checkpoints(base_dir)[::-1]
    problems = []
    for number in candidates:
        problem = _restore(agent, os.path.join(base_dir, 'checkpoints'), number)
        if problem is None:
            return number
        problems.append(f'checkpoint {number} is damaged: {problem}')
        if number != candidates[-1]:
            logging.warning('%s', problems[-1])
    raise UserError('; '.join(problems))


def _restore(agent: Any, checkpoint_dir: str, number: int) -> str | None:
    """Restores an agent but for its replay; returns what is wrong with the checkpoint, if it is."""
    import tensorflow as tf

    from dopamine_lite.discrete_domains import checkpointer

    prefix = _runner_setting('checkpoint_file_prefix')
    data_file = f'{prefix}.{number}'
    for pattern in (data_file, f'tf_ckpt-{number}.*'):
        problem = checkpointer.damage(checkpoint_dir, number, data_file, pattern)
        if problem:
            return problem
    try:
        data = checkpointer.Checkpointer(checkpoint_dir, prefix).load_checkpoint(number)
        _check_network(agent, os.path.join(checkpoint_dir, f'tf_ckpt-{number}'))
        with _without_replay(agent):
            if not agent.unbundle(checkpoint_dir, number, {} if data is None else data):
                return f'tf_ckpt-{number}.index: missing'
    except UserError:
        raise
    except (OSError, EOFError, ValueError, pickle.UnpicklingError, tf.errors.OpError) as error:
        return str(error).split('\n')[0] or type(error).__name__
    return None


@contextlib.contextmanager
def _without_replay(agent: Any) -> Iterator[None]:
    """Lets an agent restore everything but its replay buffer."""
    from dopamine_lite.discrete_domains import resume_state

    memory = resume_state.memory_of(agent)
    if memory is None:
        yield
        return
    memory.load = lambda checkpoint_dir, suffix: None
    try:
        yield
    finally:
        del memory.load


def _check_network(agent: Any, path: str, acts_only: bool = False) -> None:
    """Raises UserError if the variables of a checkpoint are not those of the agent.

    Args:
      agent: the agent.
      path: what the names of the checkpoint's files begin with.
      acts_only: whether the checkpoint may lack what only learns, such as the target network.
    """
    import tensorflow as tf

    from dopamine_lite.discrete_domains import checkpoint_sets, resume_state

    if not resume_state.is_own_agent(agent) or not os.path.isfile(f'{path}.index'):
        return
    with files.without_wildcards(path) as literal_path:
        saved = tf.train.load_checkpoint(literal_path).get_variable_to_shape_map()
    named = checkpoint_sets.saved_variables(agent)
    differing = list(checkpoint_sets.shape_mismatches(named, saved))
    if differing:
        raise UserError(f'{path} is of another network: {"; ".join(differing)}')
    needed = named
    if acts_only:
        with agent._sess.graph.as_default():
            trained = {variable.op.name for variable in tf.compat.v1.trainable_variables()}
        needed = [n for n, v in named.items() if v.op.name in trained and 'Online' in n.split('/')]
    missing = [name for name in needed if name not in saved]
    if not missing:
        return
    surplus = sorted(set(saved) - set(named))
    text = f'{path} is of another network: it has no {missing[0]}'
    if surplus:
        text += f', but {surplus[0]}'
    if any(name.endswith(('/weights', '/biases')) for name in surplus):
        text += '; these are names of before Keras: --legacy_names'
    raise UserError(text)


def _restore_variables(agent: Any, tf_checkpoint: str) -> None:
    """Restores what a TensorFlow checkpoint holds, which has to be all that acting needs."""
    import tensorflow as tf

    from dopamine_lite.discrete_domains import checkpoint_sets

    path = _prefix(tf_checkpoint)
    try:
        _check_network(agent, path, acts_only=True)
        named = checkpoint_sets.saved_variables(agent)
        with files.without_wildcards(path) as literal_path:
            saved = tf.train.load_checkpoint(literal_path).get_variable_to_shape_map()
            held = {name: variable for name, variable in named.items() if name in saved}
            tf.compat.v1.train.Saver(held).restore(agent._sess, literal_path)
    except UserError:
        raise
    except (tf.errors.OpError, ValueError, RuntimeError) as error:
        raise UserError(f'{path} cannot be read: {str(error).splitlines()[0]}') from error


# The command line.


def add_source_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments that say which agent to load; `load_from` takes what they parse to."""
    parser.add_argument('base_dir', metavar='BASE_DIR', nargs='?', help='the folder of the run')
    for flag, options in {
        '--checkpoint': {'metavar': 'N', 'type': int, 'help': 'number; default: the newest intact'},
        '--tf_checkpoint': {
            'metavar': 'PATH',
            'help': 'instead of BASE_DIR: a TensorFlow checkpoint, such as tf_ckpt-199',
        },
        '--gin_files': {
            'metavar': 'F',
            'action': 'append',
            'help': 'what was trained; default: what the run kept (runs of Dopamine: none)',
        },
        '--gin_bindings': {
            'metavar': 'B',
            'action': 'append',
            'help': 'single bindings, which win',
        },
        '--import': {
            'metavar': 'M',
            'dest': 'imports',
            'action': 'append',
            'help': 'a module of your own',
        },
        '--legacy_names': {'action': 'store_true', 'help': 'variable names of before Keras'},
        '--seed': {'metavar': 'S', 'type': int, 'help': 'repeats it; default: a fresh one'},
    }.items():
        parser.add_argument(flag, **options)


def load_from(arguments: argparse.Namespace) -> TrainedAgent:
    """Loads the agent that the arguments of `add_source_arguments` name; raises as `load` does.

    Where no seed is given, `arguments.seed` is a fresh one afterwards.
    """
    source = {
        'base_dir': arguments.base_dir,
        'checkpoint': arguments.checkpoint,
        'tf_checkpoint': arguments.tf_checkpoint,
        'gin_files': arguments.gin_files or (),
        'gin_bindings': arguments.gin_bindings or (),
    }
    _check_source(**source)
    if arguments.seed is None:
        arguments.seed = random.SystemRandom().randrange(2**32)
    elif not 0 <= arguments.seed < 2**32:
        raise UserError(f'--seed must be in [0, 2^32), got {arguments.seed}')
    console.keep_clear()
    logging.set_verbosity(logging.WARNING)
    return load(
        **source,
        imports=arguments.imports or (),
        legacy_names=arguments.legacy_names,
        seed=arguments.seed,
    )


def output_path(arguments: argparse.Namespace, default_name: str) -> str:
    """Returns where a command writes: `--output`, or a file in BASE_DIR or, without one, here.

    Raises:
      UserError: nothing can be written there.
    """
    path = arguments.output or os.path.join(arguments.base_dir or '', default_name)
    folder = os.path.dirname(path) or '.'
    if not os.path.isdir(folder):
        if not arguments.output:
            return path  # what is wrong with BASE_DIR is for `load_from` to tell
        raise UserError(f'--output: there is no folder {folder}')
    if os.path.isdir(path):
        raise UserError(f'--output: {path} is a folder')
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UserError(f'{folder} cannot be written to; --output=FILE names another place')
    return path
