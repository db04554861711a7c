"""What an environment tells of an agent's settings, where gin does not bind them."""

import contextlib
import inspect
import math
from collections.abc import Iterator
from typing import Any

import gin
import gymnasium
from gin import config

from dopamine_lite.discrete_domains import gym_lib, legacy_networks

_DEFAULT_SIZE = math.prod(legacy_networks.NATURE_DQN_OBSERVATION_SHAPE)


@contextlib.contextmanager
def bound(agent_class: Any, environment: Any) -> Iterator[None]:
    """Binds, as long as the body runs, what an agent's constructor is to take from an environment.

    Of a Gymnasium environment, if its observations are not of the size that agents expect by default
    (84x84, four frames a state): `observation_shape` and `observation_dtype` as the environment has
    them, and one observation a state. What gin binds stays; with a shape that it binds, `stack_size`
    and a dtype of integers are the agent's defaults, as in Dopamine. The operative configuration
    shows what was inferred.

    Args:
      agent_class: one of the agents; what is no class is left alone.
      environment: any environment.
    """
    added = []
    with gin.unlock_config():
        for parameter, value in _inferred(agent_class, environment).items():
            owner = next(cls for cls in agent_class.__mro__ if _takes(cls, parameter))
            key = '', f'{owner.__module__}.{owner.__qualname__}'
            gin.bind_parameter((*key, parameter), value)
            added.append((key, parameter))
    try:
        yield
    finally:
        # Otherwise the next agent of the process would find it bound.
        for key, parameter in added:
            config._CONFIG.get(key, {}).pop(parameter, None)
            if not config._CONFIG.get(key, True):
                del config._CONFIG[key]


def _inferred(agent_class: Any, environment: Any) -> dict[str, Any]:
    space = getattr(environment, 'observation_space', None)
    if not inspect.isclass(agent_class) or not isinstance(environment, gym_lib.GymPreprocessing):
        return {}
    if not isinstance(space, gymnasium.spaces.Space) or space.shape is None:
        return {}
    if math.prod(space.shape) == _DEFAULT_SIZE:
        return {}
    shape_is_bound = _is_bound(agent_class, 'observation_shape')
    values: dict[str, Any] = {}
    if not shape_is_bound:
        values = {'observation_shape': tuple(map(int, space.shape)), 'stack_size': 1}
    if not shape_is_bound or space.dtype.kind == 'f':
        values['observation_dtype'] = space.dtype.name  # gin text can hold the name
    return {name: value for name, value in values.items() if not _is_bound(agent_class, name)}


def _is_bound(agent_class: type, parameter: str) -> bool:
    """Whether gin binds what the agent's constructor takes; of a class that passes it on, its own."""
    for cls in agent_class.__mro__:
        if _takes(cls, 'num_actions'):
            if parameter in gin.get_bindings(cls, resolve_references=False):
                return True
            if _takes(cls, parameter):
                return False
    return False


def _takes(cls: type, parameter: str) -> bool:
    """Whether the constructor of the class itself names the parameter."""
    constructor = vars(cls).get('__init__')
    return constructor is not None and parameter in inspect.signature(constructor).parameters
