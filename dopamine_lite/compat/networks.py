"""What agents accept as `network`: Keras 2 classes as they are, and functions of Dopamine 2.

Up to Dopamine 2 a network was a function that builds the graph from a state,

    fn(num_actions, network_type, state)                                     DQN
    fn(num_actions, num_atoms, support, network_type, state)                 Rainbow
    fn(num_actions, quantile_embedding_dim, network_type, state, n)          IQN

and returns `network_type(...)`. Since Dopamine 3 it is a class, made once as `Net(num_actions, ...,
name=...)` and called with a state as often as is needed, always with the same variables. `adapt`
makes the second of the first.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any


def adapt(network: Any) -> Any:
    """Returns `network` itself, or, for a function of Dopamine 2, a class that stands for it.

    Args:
        network: a Keras 2 model class, any callable that makes a network from `(num_actions, ...,
            name=...)`, or a function as in the module docstring.

    Raises:
        TypeError: `network` is a model or layer of Keras 3, which cannot be built in graph mode.
    """
    _refuse_keras_3(network)
    if isinstance(network, type) or not _is_graph_function(network):
        return network

    class Network(FunctionNetwork):
        function = staticmethod(network)

    Network.__name__ = Network.__qualname__ = getattr(network, '__name__', 'Network')
    Network.__doc__ = getattr(network, '__doc__', None)
    return Network


def _refuse_keras_3(network: Any) -> None:
    cls = network if isinstance(network, type) else type(network)
    # The package `keras` is Keras 3; the Keras 2 that we use is the package `tf_keras`.
    if any(base.__module__.split('.')[0] == 'keras' for base in cls.__mro__):
        raise TypeError(
            f'network: {cls.__module__}.{cls.__qualname__} is a Keras 3 class, which cannot be '
            'built in graph mode: import dopamine_lite (or run under its `dopamine` alias) before '
            'TensorFlow, or set the environment variable TF_USE_LEGACY_KERAS=1, so that tf.keras '
            'is Keras 2'
        )


def _is_graph_function(network: Any) -> bool:
    """Whether `network` builds from a state, judged by the parameters that it takes."""
    if not callable(network):
        return False
    try:
        parameters = inspect.signature(network).parameters
    except (TypeError, ValueError):
        return False
    if 'network_type' in parameters and 'state' in parameters:
        return True
    takes_name = 'name' in parameters or any(
        parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()
    )
    required = [
        parameter
        for parameter in parameters.values()
        if parameter.default is parameter.empty
        and parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ]
    return not takes_name and len(required) >= 3


class FunctionNetwork:
    """A network whose graph is built by the function `function`.

    The variables are made by the first call, under the variable scope `name`. Later calls share
    them: `tf.compat.v1.get_variable` finds them by their names, and whatever else makes variables
    (a Keras layer made anew in each call, `tf.Variable`) is given those of the first call, in the
    order in which they were made.

    In Dopamine 2 an agent's `network` was the function itself, which hooks of that time call with
    the type and the state of which to build: so called, the class returns what the function does.
    """

    function: Callable[..., Any]

    def __new__(cls, *arguments: Any, name: str | None = None):
        if any(isinstance(each, type) and issubclass(each, tuple) for each in arguments):
            return cls.function(*arguments)
        return super().__new__(cls)

    def __init__(self, *arguments: Any, name: str | None = None):
        self.name = name or type(self).__name__
        self._arguments = arguments  # num_actions and what else comes before network_type
        self._network_type = _network_type(len(arguments))
        self._scope: Any = None
        self.variables: list[Any] = []
        self._anew: list[Any] = []  # those that a later call would make again

    @property
    def trainable_variables(self) -> list[Any]:
        return [variable for variable in self.variables if variable.trainable]

    weights = property(lambda self: self.variables)
    trainable_weights = trainable_variables

    def __call__(self, state: Any, *arguments: Any) -> Any:
        """Applies the network to `state` [B, ...]; IQN's takes the number of quantiles as well."""
        import tensorflow as tf

        first = self._scope is None
        found_by_name = set()
        made_before = iter(self._anew)

        def get(getter: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
            variable = getter(*arguments, **keywords)
            found_by_name.add(id(variable))
            return variable

        def create(creator: Callable[..., Any], **keywords: Any) -> Any:
            if first:
                self.variables.append(creator(**keywords))
                return self.variables[-1]
            variable = next(made_before, None)
            if variable is None:
                raise ValueError(f'{self.name}: a later call makes more variables than the first')
            return variable

        scope = tf.compat.v1.variable_scope(
            self._scope, self.name, custom_getter=get, reuse=None if first else True
        )
        with scope as entered, tf.variable_creator_scope(create):
            self._scope = entered
            outputs = self._call_function(state, arguments)
        if first:
            self._anew = [v for v in self.variables if id(v) not in found_by_name]
        return outputs

    def _call_function(self, state: Any, arguments: tuple) -> Any:
        try:
            return type(self).function(*self._arguments, self._network_type, state, *arguments)
        except AttributeError as error:
            if getattr(error, 'name', None) != 'contrib':
                raise
            raise AttributeError(
                f'{type(self).__name__} uses tf.contrib, which TensorFlow 2 does not have: use '
                'tf.compat.v1.layers or Keras layers instead (slim.conv2d -> '
                'tf.compat.v1.layers.conv2d, slim.fully_connected -> tf.compat.v1.layers.dense)'
            ) from error


def _network_type(num_arguments: int) -> Any:
    from dopamine_lite.discrete_domains import legacy_networks

    types = {
        1: legacy_networks.DQNNetworkType,
        2: legacy_networks.ImplicitQuantileNetworkType,
        3: legacy_networks.RainbowNetworkType,
    }
    return types.get(num_arguments, legacy_networks.DQNNetworkType)


def refuse_old_hooks(agent_class: type) -> None:
    """Raises TypeError where a subclass relies on a hook that Dopamine 3 dropped.

    Until then an agent's network was the method `_network_template(state)`, applied by
    `tf.make_template`. Such an override would never be called here, and the agent would learn with
    the default network instead; unless the subclass builds its networks itself. Then it may not
    use the hook as one that it inherits.
    """
    builders = [
        vars(cls)[hook]
        for cls in agent_class.__mro__
        for hook in ('_create_network', '_build_networks')
        if hook in vars(cls) and not cls.__module__.startswith('dopamine_lite.')
    ]
    for hook in ('_network_template', '_get_network_type'):
        has_hook = hasattr(agent_class, hook)
        inherits = not has_hook and any(hook in _names_used(builder) for builder in builders)
        if has_hook and not builders or inherits:
            raise TypeError(
                f'{agent_class.__qualname__}.{hook} is a hook of Dopamine 1 and 2 that is no longer '
                'there: pass the network as `network=`, a Keras class or a function '
                '(num_actions, network_type, state), or override _create_network(self, name)'
            )


def _names_used(function: Any) -> tuple[str, ...]:
    """The attributes and globals that a function written in Python names."""
    return getattr(getattr(function, '__code__', None), 'co_names', ())
