"""Gymnasium environments with discrete actions, as the agents and the runner take them."""

import contextlib
import difflib
import re
import warnings
from typing import Any

import gin
import gymnasium
import numpy as np
import tensorflow as tf
from gymnasium.wrappers import TimeLimit

# Gin files and programs written for Dopamine up to 4.1 find the networks and their bounds here.
from dopamine_lite import bounds
from dopamine_lite.discrete_domains.legacy_networks import (  # noqa: F401
    ACROBOT_MAX_VALS,
    ACROBOT_MIN_VALS,
    CARTPOLE_MAX_VALS,
    CARTPOLE_MIN_VALS,
    MOUNTAINCAR_MAX_VALS,
    MOUNTAINCAR_MIN_VALS,
    AcrobotDQNNetwork,
    AcrobotFourierDQNNetwork,
    AcrobotRainbowNetwork,
    BasicDiscreteDomainNetwork,
    CartpoleDQNNetwork,
    CartpoleFourierDQNNetwork,
    CartpoleRainbowNetwork,
    FourierBasis,
    FourierDQNNetwork,
    LunarLanderDQNNetwork,
    MountainCarDQNNetwork,
    _basic_discrete_domain_network,
    acrobot_dqn_network,
    acrobot_fourier_dqn_network,
    acrobot_rainbow_network,
    cartpole_dqn_network,
    cartpole_fourier_dqn_network,
    cartpole_rainbow_network,
    fourier_dqn_network,
)

MUJOCO_GAMES = ('Ant', 'HalfCheetah', 'Hopper', 'Humanoid', 'Walker2d')

# Gin files say `%gym_lib.CARTPOLE_OBSERVATION_SHAPE` and the like.
for _environment, _size in (('CARTPOLE', 4), ('ACROBOT', 6), ('LUNAR', 8), ('MOUNTAINCAR', 2)):
    for _name, _value in (
        ('OBSERVATION_SHAPE', (_size, 1)),
        ('OBSERVATION_DTYPE', tf.float64),
        ('STACK_SIZE', 1),
    ):
        with contextlib.suppress(ValueError):  # defined already, when this module is reloaded
            gin.constant(f'gym_lib.{_environment}_{_name}', _value)

# Ids that some Gymnasium releases still register, as out of date.
_SUCCESSORS = {'CartPole-v0': 'CartPole-v1'}


def _registered_id(full_id: str) -> str:
    """Returns `full_id`, or its newest successor (with a warning) where it has been retired.

    Raises:
      ValueError: nothing of that name is registered; says what is nearest.
    """
    successor = _SUCCESSORS.get(full_id)
    if successor not in gymnasium.registry:
        if full_id in gymnasium.registry or ':' in full_id:  # 'module:id' imports its module
            return full_id
        name, _, version = full_id.rpartition('-v')
        versions = [
            int(match[1])
            for match in (re.fullmatch(f'{re.escape(name)}-v(\\d+)', i) for i in gymnasium.registry)
            if match
        ]
        if not (version.isdigit() and versions and int(version) < max(versions)):
            nearest = difflib.get_close_matches(full_id, gymnasium.registry, n=1, cutoff=0.5)
            hint = f"; did you mean '{nearest[0]}'?" if nearest else ''
            raise ValueError(f"no environment '{full_id}' is registered with Gymnasium{hint}")
        successor = f'{name}-v{max(versions)}'
    warnings.warn(
        f"the environment '{full_id}' has been retired: taking its successor '{successor}'",
        stacklevel=3,
    )
    return successor


def _without_time_limit(environment):
    """Takes every TimeLimit out of a stack of wrappers, wherever it is."""
    if isinstance(environment, TimeLimit):
        return _without_time_limit(environment.env)
    if isinstance(environment, gymnasium.Wrapper):
        environment.env = _without_time_limit(environment.env)
    return environment


@gin.configurable
def create_gym_environment(
    environment_name: str | None = None,
    version: str = 'v0',
    use_legacy_gym: bool = False,
    use_ppo_preprocessing: bool = False,
) -> 'GymPreprocessing':
    """Makes the Gymnasium environment `{environment_name}-{version}`, without its time limit.

    The registered limit is taken off: the cap on an episode is `Runner.max_steps_per_episode`
    alone. A retired id is made as its newest successor, with a warning.

    Args:
      environment_name: the id without its version, such as 'CartPole'.
      version: such as 'v1'.
      use_legacy_gym: is ignored with a warning; there is no support for the old `gym` package.
      use_ppo_preprocessing: must be False; PPO is not among the agents.

    Returns:
      The environment in a `GymPreprocessing`.

    Raises:
      ValueError: no such environment, or one whose actions are not discrete or whose observations
        are not arrays.
      gymnasium.error.DependencyNotInstalled: the environment needs a package that is missing.
    """
    assert environment_name is not None, 'create_gym_environment needs an environment_name'
    bounds.require_text(environment_name=environment_name, version=version)
    if use_ppo_preprocessing:
        raise ValueError('use_ppo_preprocessing is for PPO, which is not among the agents here')
    if use_legacy_gym:
        warnings.warn(
            'use_legacy_gym is ignored: the environment is made by Gymnasium', stacklevel=2
        )
    full_id = f'{environment_name}-{version}'
    if environment_name in MUJOCO_GAMES:
        raise ValueError(
            f"'{full_id}' has continuous actions; the agents of the TensorFlow path choose among "
            'discrete ones'
        )
    registered = _registered_id(full_id)
    try:
        environment = gymnasium.make(registered)
    except gymnasium.error.DependencyNotInstalled as error:
        raise gymnasium.error.DependencyNotInstalled(
            f"the environment '{registered}' needs a package that is missing: {error}"
        ) from error
    if not isinstance(environment, gymnasium.Env):
        # Programs put a stand-in in the place of `gymnasium.make`, whose limit is its outermost part.
        return GymPreprocessing(environment.env)
    try:
        _check_spaces(registered, environment)
    except ValueError:
        environment.close()
        raise
    return GymPreprocessing(_counting_from_zero(_without_time_limit(environment)))


def _check_spaces(registered: str, environment: gymnasium.Env) -> None:
    """Raises ValueError, with the reason, for an environment that no agent here can act in."""
    actions, observations = environment.action_space, environment.observation_space
    if isinstance(actions, gymnasium.spaces.Space) and not isinstance(
        actions, gymnasium.spaces.Discrete
    ):
        kind = ' (continuous)' if isinstance(actions, gymnasium.spaces.Box) else ''
        raise ValueError(
            f"'{registered}' has the action space {actions}{kind}; the agents of the TensorFlow path "
            'need a Discrete one'
        )
    if isinstance(observations, gymnasium.spaces.Space) and observations.shape is None:
        raise ValueError(
            f"'{registered}' has the observation space {observations}; an agent sees one array, so "
            'register the environment with gymnasium.wrappers.FlattenObservation around it'
        )


def _counting_from_zero(environment: gymnasium.Env) -> gymnasium.Env:
    """Lets actions that count from another number than 0 count from 0, as the agents do."""
    start = getattr(environment.action_space, 'start', 0)
    if not isinstance(start, (int, np.integer)) or start == 0:
        return environment
    return gymnasium.wrappers.TransformAction(
        environment,
        lambda action: action + start,
        gymnasium.spaces.Discrete(environment.action_space.n),
    )


def step_environment(environment: Any, action: Any, use_legacy_gym: bool) -> tuple[Any, ...]:
    """Returns (observation, reward, terminated, truncated, info).

    Args:
      environment: to be stepped.
      action: what its `step` takes.
      use_legacy_gym: whether `step` returns four values, without `truncated`, as in the old `gym`.

    Raises:
      ValueError: `step` returns another number of values.
    """
    result = environment.step(action)
    expected = 4 if use_legacy_gym else 5
    if len(result) != expected:
        text = f'step of {environment} returned {len(result)} values, expected {expected} with '
        text += f'use_legacy_gym={use_legacy_gym}'
        if len(result) == 4:
            text += '; for the interface of the old gym: use_legacy_gym=True'
        raise ValueError(text)
    if use_legacy_gym:
        observation, reward, terminated, info = result
        return observation, reward, terminated, False, info
    return result


@gin.configurable
class GymPreprocessing:
    """A Gymnasium environment in the form that the runner takes.

    `step` returns four values and `reset` only the observation.

    Attributes:
      environment: the wrapped environment.
      game_over: whether the episode has ended.
      truncated: whether it was ended by a limit of the environment rather than by the task.
    """

    def __init__(self, environment, use_legacy_gym: bool = False):
        """Wraps `environment`.

        Args:
          environment: of Gymnasium's interface.
          use_legacy_gym: says that `environment` has that of the old `gym`: its `reset` returns the
            observation and its `step` four values.
        """
        self.environment = environment
        self.game_over = False
        self.truncated = False
        self._use_legacy_gym = use_legacy_gym

    @property
    def observation_space(self):
        return self.environment.observation_space

    @property
    def action_space(self):
        return self.environment.action_space

    @property
    def reward_range(self):
        # Gymnasium 1.0 dropped the attribute.
        return getattr(self.environment, 'reward_range', (-np.inf, np.inf))

    @property
    def metadata(self):
        return self.environment.metadata

    def reset(self):
        """Starts an episode and returns its first observation."""
        self.game_over = False
        self.truncated = False
        result = self.environment.reset()
        if self._use_legacy_gym:
            return result
        if not isinstance(result, (tuple, list)) or len(result) != 2:
            raise ValueError(
                f'reset of {self.environment} returned one {type(result).__name__}, expected '
                '(observation, info); for the interface of the old gym: use_legacy_gym=True'
            )
        return result[0]

    def step(self, action):
        """Returns (observation, reward, is_terminal, info); an end by truncation is one too."""
        observation, reward, terminated, truncated, info = step_environment(
            self.environment, action, self._use_legacy_gym
        )
        self.game_over = terminated or truncated
        self.truncated = bool(truncated) and not terminated
        return observation, reward, self.game_over, info

    def render(self, *args, **kwargs):
        return self.environment.render(*args, **kwargs)

    def close(self):
        return self.environment.close()
