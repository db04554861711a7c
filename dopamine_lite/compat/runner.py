"""What a `Runner` took and gave in earlier Dopamines, and still does."""

from __future__ import annotations

import functools
import inspect
import re
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


class SummaryFolder(str):
    """The folder for summaries, as agents get it since Dopamine 4.0.4, and a writer, as before.

    It has the methods of `tf.compat.v1.summary.FileWriter`; the file is made when one is first used.
    """

    @functools.cached_property
    def _writer(self) -> Any:
        import tensorflow as tf

        return tf.compat.v1.summary.FileWriter(str(self))

    def add_summary(self, *arguments: Any, **keywords: Any) -> None:
        self._writer.add_summary(*arguments, **keywords)

    def add_graph(self, *arguments: Any, **keywords: Any) -> None:
        self._writer.add_graph(*arguments, **keywords)

    def flush(self) -> None:
        if '_writer' in vars(self):
            self._writer.flush()

    def close(self) -> None:
        if '_writer' in vars(self):
            self._writer.close()


def make_agent(create_agent_fn: Callable[..., Any], environment: Any, base_dir: str) -> Any:
    """Calls `create_agent_fn(None, environment, summary_writer=base_dir)`; returns the agent.

    Until Dopamine 4.0.4 it was called in graph mode with the runner's session. A function that fails
    for the lack of either is called again as it was then, if the graph was empty before; an agent
    that kept the None gets a session in its place.
    """
    import tensorflow as tf

    from dopamine_lite.tf.agents.dqn import dqn_agent

    folder = SummaryFolder(base_dir)
    graph = tf.compat.v1.get_default_graph()
    empty = not graph.get_operations()
    try:
        agent = create_agent_fn(None, environment, summary_writer=folder)
    except (AttributeError, RuntimeError) as error:
        if not empty or not _lacks_session_or_graph(error):
            raise
        tf.compat.v1.disable_v2_behavior()
        try:
            tf.compat.v1.reset_default_graph()
        except AssertionError:  # it is one that the program entered
            raise error from None
        tf.compat.v1.get_default_graph().seed = graph.seed
        session = dqn_agent.create_session()
        agent = create_agent_fn(session, environment, summary_writer=folder)
    if getattr(agent, '_sess', False) is None:
        agent._sess = dqn_agent.create_session()
    return agent


# By their texts: gin puts exceptions of its own in the place of those that pass a configurable.
_NO_SESSION = re.compile(r"'NoneType' object has no attribute '(run|graph|as_default)'")


def is_about_no_session(error: BaseException) -> bool:
    """Whether None was asked for what a session has."""
    return isinstance(error, AttributeError) and bool(_NO_SESSION.match(str(error)))


def _lacks_session_or_graph(error: BaseException) -> bool:
    return is_about_no_session(error) or 'not compatible with eager execution' in str(error)


def summary_writer(runner: Any) -> Any:
    """Returns the agent's summary writer; where it has none, what a runner of old may write to.

    Until Dopamine 4.0.4 every runner had a writer, and overrides of `_run_one_iteration` use it
    without asking.
    """
    writer = getattr(runner._agent, 'summary_writer', None)
    module = getattr(type(runner)._run_one_iteration, '__module__', None) or ''
    if writer is None and not module.startswith('dopamine_lite.'):
        return SummaryFolder(runner._base_dir)
    return writer


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
