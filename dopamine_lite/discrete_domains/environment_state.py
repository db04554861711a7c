"""Seeding the simulator behind an environment, whatever wraps it.

Only what is a Gymnasium environment is touched: any other object may answer to every name, as mocks
do, without meaning anything by it.
"""

from typing import Any

import gymnasium
from ale_py.env import AtariEnv
from gymnasium.utils import seeding

# Under which names wrappers keep what they wrap.
_WRAPPED = ('environment', 'env')


def simulator(environment: Any) -> gymnasium.Env | None:
    """Returns the Gymnasium environment in or behind `environment`, None if there is none."""
    while not isinstance(environment, gymnasium.Env):
        attributes = getattr(environment, '__dict__', {})
        inner = [attributes[name] for name in _WRAPPED if name in attributes]
        if not inner:
            return None
        environment = inner[0]
    return environment


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
