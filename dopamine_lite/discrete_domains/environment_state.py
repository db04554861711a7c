"""Seeding and saving the simulator behind an environment, whatever wraps it.

Only what is a Gymnasium environment is touched: any other object may answer to every name, as mocks
do, without meaning anything by it. Its generator can always be saved. An episode under way can be
saved where every object of the stack is of a type that this module knows, for only then is it known
what its future depends on: the emulator of Atari games and Gymnasium's classic control.
"""

from collections.abc import Iterator
from typing import Any

import ale_py
import gymnasium
import numpy as np
from ale_py.env import AtariEnv
from gymnasium.envs.classic_control.acrobot import AcrobotEnv
from gymnasium.envs.classic_control.cartpole import CartPoleEnv
from gymnasium.envs.classic_control.mountain_car import MountainCarEnv
from gymnasium.utils import seeding
from gymnasium.wrappers import OrderEnforcing, PassiveEnvChecker, TimeLimit

from dopamine_lite.discrete_domains import atari_lib, gym_lib

# Under which names wrappers keep what they wrap.
_WRAPPED = ('environment', 'env')

# Type -> the attributes that change within an episode.
_EPISODE_ATTRIBUTES: dict[type, tuple[str, ...]] = {
    atari_lib.AtariPreprocessing: ('screen_buffer', 'game_over', 'truncated', 'lives'),
    atari_lib.GameOverWrapper: ('game_over', 'truncated'),
    gym_lib.GymPreprocessing: ('game_over', 'truncated'),
    OrderEnforcing: (),
    PassiveEnvChecker: (),
    TimeLimit: ('_elapsed_steps',),
    AtariEnv: (),
    AcrobotEnv: ('state',),
    CartPoleEnv: ('state', 'steps_beyond_terminated'),
    MountainCarEnv: ('state',),
}

# With sticky actions the emulator also depends on the action before, which its state lacks. So many
# frames of one action make that action the one before, except with probability 0.25^64.
_FRAMES_UNTIL_AN_ACTION_STICKS = 64


def simulator(environment: Any) -> gymnasium.Env | None:
    """Returns the Gymnasium environment in or behind `environment`, None if there is none."""
    for level in _levels(environment):
        if isinstance(level, gymnasium.Env):
            return level
    return None


def _levels(environment: Any) -> Iterator[Any]:
    """An environment, what it wraps, and so on."""
    while True:
        yield environment
        attributes = getattr(environment, '__dict__', {})
        inner = [attributes[name] for name in _WRAPPED if name in attributes]
        if not inner:
            return
        environment = inner[0]


def seed(environment: Any, seed: int) -> bool:
    """Makes the next reset of an environment the one that `reset(seed=seed)` would be.

    Returns:
      Whether it could; not for what is no Gymnasium environment.
    """
    env = simulator(environment)
    if env is None:
        return False
    emulator = env.unwrapped
    if isinstance(emulator, AtariEnv):
        emulator.seed_game(seed)
        emulator.load_game()
    elif type(emulator).__module__.startswith('gymnasium.'):
        emulator.np_random, _ = seeding.np_random(seed)
    else:
        env.reset(seed=seed)  # it may keep generators of its own
    return True


def _type_names(environment: Any) -> list[str]:
    return [f'{type(x).__module__}.{type(x).__qualname__}' for x in _levels(environment)]


def is_known(environment: Any) -> bool:
    """Whether everything that the environment's future depends on can be saved."""
    return simulator(environment) is not None and all(
        type(level) in _EPISODE_ATTRIBUTES for level in _levels(environment)
    )


def capture(environment: Any, in_episode: bool) -> dict[str, Any] | None:
    """Returns the state of an environment, in the types that `plain_data` takes.

    Where an episode of an emulator with sticky actions is under way, the emulator afterwards takes
    a no-op for the action before the next one: that is what it will do after `restore` too.

    Args:
      environment: any object.
      in_episode: whether an episode is under way that is to go on.

    Returns:
      None for what is no Gymnasium environment.
    """
    env = simulator(environment)
    if env is None:
        return None
    emulator = env.unwrapped
    state: dict[str, Any] = {'types': _type_names(environment)}
    if isinstance(emulator.np_random, np.random.Generator):
        state['generator'] = emulator.np_random.bit_generator.state
    if in_episode and is_known(environment):
        state['episode'] = [
            {name: getattr(level, name) for name in _EPISODE_ATTRIBUTES[type(level)]}
            for level in _levels(environment)
        ]
    if isinstance(emulator, AtariEnv):
        state['emulator'] = emulator.ale.cloneState(include_rng=True).serialize()
        if 'episode' in state:
            _settle_last_action(emulator.ale, state['emulator'])
    return state


def _settle_last_action(ale: ale_py.ALEInterface, serialized: bytes) -> None:
    """Puts the emulator in a state, with a no-op as the action before."""
    if ale.getFloat('repeat_action_probability') > 0:
        for _ in range(_FRAMES_UNTIL_AN_ACTION_STICKS):
            ale.act(ale_py.Action.NOOP)
    ale.restoreState(ale_py.ALEState(serialized))


def restore(environment: Any, state: dict[str, Any] | None) -> bool:
    """Puts an environment in the state that `capture` returned.

    Returns:
      Whether its future is now that of the captured one: True, unless the environment is of a type
      of which only the generator, or nothing, could be saved.

    Raises:
      ValueError: the state is of another environment; it may have been reset.
    """
    env = simulator(environment)
    if env is None or state is None:
        return False
    if state['types'] != _type_names(environment):
        raise ValueError(
            f'the environment is {" of ".join(_type_names(environment))}, the checkpoint has '
            f'{" of ".join(state["types"])}'
        )
    emulator = env.unwrapped
    environment.reset()  # so that wrappers know of an episode, and the emulator of a game
    if 'episode' in state:
        for level, attributes in zip(_levels(environment), state['episode'], strict=True):
            for name in _EPISODE_ATTRIBUTES[type(level)]:
                setattr(level, name, attributes[name])
    if isinstance(emulator, AtariEnv):
        try:
            _settle_last_action(emulator.ale, state['emulator'])
        except RuntimeError as error:
            raise ValueError(f'the state of the emulator is damaged: {error}') from error
    if 'generator' in state:
        # The types are the same, but another version may have another generator.
        emulator.np_random.bit_generator.state = state['generator']
    return is_known(environment)
