"""Old spellings in gin files, strings and calls resolve to what they mean today.

gin finds a configurable by any unambiguous suffix of the address that it is registered under, and
each of ours is registered once, under `dopamine_lite`. `install` adds, inside gin, where its look-up
would fail:

* selectors by Dopamine's addresses of every era (`dopamine.replay_memory.circular_replay_buffer
  .WrappedReplayBuffer`, `gym_lib.CartpoleDQNNetwork`). Registering them a second time instead would
  make every short selector ambiguous;
* parameters of Dopamine 1 that moved elsewhere, with a warning that gives the modern line;
* gin files by their paths in Dopamine's repository, where no such file exists;
* gin's own arguments `blacklist` and `whitelist`, which it calls `denylist` and `allowlist` today;
* errors that say what to do, for the JAX agents and for parameters that nobody knows.

What gin finds by itself is left alone, and so is every selector that is not Dopamine's.
"""

from __future__ import annotations

import difflib
import functools
import inspect
import os
import re
import warnings
from typing import Any

import gin
from gin import config, selector_map

from dopamine_lite import packaged_configs
from dopamine_lite.compat import CompatibilityWarning, addresses

# Parameters that moved: (selector, parameter) -> (selector, parameter) of today.
MOVED_PARAMETERS = {
    (f'{addresses.OURS}.discrete_domains.run_experiment.{runner}', parameter): (
        f'{addresses.OURS}.discrete_domains.atari_lib.create_atari_environment',
        parameter,
    )
    for runner in ('Runner', 'TrainRunner')
    for parameter in ('game_name', 'sticky_actions')
}

# Names that only the JAX part of Dopamine registers.
_JAX_NAME = re.compile(
    r"""(^|\.) (
        Jax\w* | PPO\w* | SAC\w* | Mujoco\w* | mujoco\w* | Continuous\w* | create_continuous_\w+
        | Actor\w*Network | ActorCritic\w* | create_optimizer | FullRainbow\w* | Atari100k\w*
        | DataEfficientAtariRunner | QuantileNetwork | TransitionAccumulator
        | \w+SamplingDistribution | (Prioritized)?ReplayBuffer | ClassicControlDQNNetwork
        | networks\.(Nature|ClassicControl|Fourier|Rainbow|ImplicitQuantile|Quantile)\w*
        | jax | labs | continuous_domains | ppo_agent | sac_agent | full_rainbow_agent
        | quantile_agent | continuous_networks | jax_networks
    ) (\.|$)""",
    re.VERBOSE,
)


class TranslatingSelectorMap(selector_map.SelectorMap):
    """gin's registry, with Dopamine's addresses of every era beside the registered ones."""

    def matching_selectors(self, partial_selector):
        found = super().matching_selectors(partial_selector)
        return found or self._translated(partial_selector)

    def get_match(self, partial_selector, default=None):
        match = super().get_match(partial_selector, None)
        if match is None and _JAX_NAME.search(partial_selector):
            raise ValueError(addresses.refusal_of_jax(partial_selector))
        return default if match is None else match

    def _translated(self, partial_selector: str) -> list[str]:
        module, _, name = partial_selector.rpartition('.')
        if not module:
            return []
        return [
            selector
            for selector in super().matching_selectors(name)
            if any(
                f'.{address}'.endswith(f'.{module}')
                for address in addresses.former(selector.rpartition('.')[0])
            )
        ]


def install() -> None:
    """Teaches gin the old spellings; idempotent.

    Where gin's internals are not the expected ones, one warning says so, and old spellings fail
    with gin's own errors.
    """
    registry = getattr(config, '_REGISTRY', None)
    if isinstance(registry, TranslatingSelectorMap):
        return
    key_class = getattr(config, 'ParsedBindingKey', None)
    if type(registry) is not selector_map.SelectorMap or not hasattr(key_class, 'parse'):
        warnings.warn(
            'this version of gin-config is not known: selectors and parameters of older versions '
            'of Dopamine will not be translated',
            CompatibilityWarning,
            stacklevel=2,
        )
        return
    registry.__class__ = TranslatingSelectorMap
    key_class.parse = _translating_parse(key_class.parse.__func__)
    config.register_file_reader(_open_packaged, _is_packaged)
    for name in ('configurable', 'external_configurable', 'register'):
        function = _with_old_arguments(getattr(config, name))
        for module in (config, gin):
            setattr(module, name, function)


# Arguments of gin's decorators until gin-config 0.5.
_OLD_ARGUMENTS = {'blacklist': 'denylist', 'whitelist': 'allowlist'}


def _with_old_arguments(register: Any) -> Any:
    @functools.wraps(register)
    def with_old_arguments(*arguments, **keywords):
        keywords = {_OLD_ARGUMENTS.get(name, name): value for name, value in keywords.items()}
        return register(*arguments, **keywords)

    return with_old_arguments


def _translating_parse(parse: Any) -> classmethod:
    """gin's parser of binding keys, for parameters that moved or that nobody knows."""

    def parse_binding_key(cls, binding_key):
        try:
            return parse(cls, binding_key)
        except ValueError as error:
            scope, selector, parameter = _split(binding_key)
            configurable = selector and config._REGISTRY.get_match(selector)
            if not configurable:
                raise
            moved = MOVED_PARAMETERS.get((configurable.selector, parameter))
            if moved is None:
                advice = _advice(configurable, parameter)
                raise ValueError(f'{error}{advice}') from None
        modern = parse(cls, (scope, *moved))
        short = config._REGISTRY.minimal_selector(modern.complete_selector)
        prefix = f'{scope}/' if scope else ''
        warnings.warn(
            f'{prefix}{selector}.{parameter} is a parameter of Dopamine 1, translated: write '
            f'{prefix}{short}.{modern.arg_name} = ... instead',
            CompatibilityWarning,
            stacklevel=3,
        )
        return modern

    return classmethod(parse_binding_key)


def _split(binding_key: Any) -> tuple[str, str, str]:
    if isinstance(binding_key, str):
        try:
            return config.config_parser.parse_binding_key(binding_key)
        except (ValueError, SyntaxError):
            return '', '', ''
    return tuple(binding_key)[:3]


def _advice(configurable: Any, parameter: str) -> str:
    """What to add to gin's error about an unknown parameter of one of our configurables."""
    if addresses.below(addresses.OURS, configurable.selector) is None:
        return ''
    parameters = [name for name in inspect.signature(configurable.wrapper).parameters]
    if parameter in parameters:
        return ''  # it exists, but may not be bound
    close = difflib.get_close_matches(parameter, parameters, 1)
    hint = f' Did you mean {close[0]!r}?' if close else ''
    return (
        f'{hint} Neither Dopamine nor dopamine_lite has it: if it belongs to a subclass of yours, '
        f'bind it there (MySubclass.{parameter}), otherwise remove the line. Parameters of '
        f'{configurable.name}: {", ".join(parameters)}.'
    )


def _is_packaged(path: Any) -> bool:
    return _packaged(path) is not None


def _open_packaged(path: Any) -> Any:
    return open(_packaged(path), encoding='utf-8')


# As in .../dopamine/agents/rainbow/configs/rainbow.gin, with or without the `tf` of later years.
_REPOSITORY_PATH = re.compile(r'(?:^|[/\\])(?:tf[/\\])?agents[/\\]\w+[/\\]configs[/\\](\w+\.gin)$')
_JAX_PATH = re.compile(r'(?:^|[/\\])dopamine[/\\](?:jax|labs)[/\\]')


def _packaged(path: Any) -> str | None:
    """The packaged gin file that `path`, a path in Dopamine's repository, stands for."""
    path = str(path)
    if os.path.exists(path):
        return None
    if _JAX_PATH.search(path):
        raise ValueError(addresses.refusal_of_jax(path))
    match = _REPOSITORY_PATH.search(path)
    return match and packaged_configs.find(match[1])
