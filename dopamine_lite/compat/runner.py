"""Arguments of Dopamine 1 that a `Runner` still takes."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any

from dopamine_lite.compat import CompatibilityWarning


def accept_old_arguments(constructor: Callable[..., None]) -> Callable[..., None]:
    """Makes a runner's constructor accept what Dopamine 1 accepted, with a warning.

    `game_name` and `sticky_actions` are now arguments of the environment, and `create_agent_fn`
    may take `(sess, environment)` alone. The signature stays that of `constructor`.
    """
    signature = inspect.signature(constructor)

    @functools.wraps(constructor)
    def __init__(self, *args, **keywords):
        old = {name: keywords.pop(name) for name in _OF_ENVIRONMENT if name in keywords}
        bound = signature.bind_partial(self, *args, **keywords)
        if old:
            bound.arguments['create_environment_fn'] = _environment_function(
                bound.arguments.get('create_environment_fn'), old
            )
        if 'create_agent_fn' in bound.arguments:
            bound.arguments['create_agent_fn'] = _agent_function(bound.arguments['create_agent_fn'])
        return constructor(*bound.args, **bound.kwargs)

    __init__.__signature__ = signature  # gin reads a function's own signature, not the wrapped one
    return __init__


def call_hook(hook: Callable[..., Any], *arguments: Any) -> Any:
    """Calls a hook of the runner; overrides from before it got its last argument take one less."""
    try:
        inspect.signature(hook).bind(*arguments)
    except TypeError:
        return hook(*arguments[:-1])
    return hook(*arguments)


_OF_ENVIRONMENT = ('game_name', 'sticky_actions')


def _environment_function(create: Callable[..., Any] | None, old: dict[str, Any]) -> Any:
    arguments = ', '.join(f'{name}={value!r}' for name, value in old.items())
    _warn(
        f'Runner takes no {" or ".join(old)} since Dopamine 2: pass create_environment_fn='
        f'functools.partial(atari_lib.create_atari_environment, {arguments})'
    )
    if create is None:
        from dopamine_lite.discrete_domains import atari_lib

        return functools.partial(atari_lib.create_atari_environment, **old)
    # A function of the program's own was called with both, by position.
    return functools.partial(create, old.get('game_name'), old.get('sticky_actions', True))


def _agent_function(create: Callable[..., Any]) -> Callable[..., Any]:
    try:
        signature = inspect.signature(create)
        signature.bind(None, None)
    except (TypeError, ValueError):
        return create
    try:
        signature.bind(None, None, summary_writer=None)
        return create
    except TypeError:
        pass
    _warn(
        'create_agent_fn(sess, environment) is the form of Dopamine 1: write '
        'create_agent_fn(sess, environment, summary_writer=None)'
    )

    @functools.wraps(create)
    def create_agent(sess, environment, summary_writer=None):
        del summary_writer
        if sess is None:
            from dopamine_lite.tf.agents.dqn import dqn_agent

            sess = dqn_agent.create_session()
        return create(sess, environment)

    return create_agent


def _warn(message: str) -> None:
    warnings.warn(message, CompatibilityWarning, stacklevel=4)
