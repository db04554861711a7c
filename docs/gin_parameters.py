"""Writes `docs/gin_parameters.md`, the table of every parameter that a gin file can bind.

    python docs/gin_parameters.py

Names, defaults and what a parameter does come from the code. Units and the papers' values are listed
here; one that names a parameter that no longer exists stops the program.
"""

from __future__ import annotations

import inspect
import pathlib
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

import gin
import tensorflow as tf

from dopamine_lite import compat
from dopamine_lite.discrete_domains import atari_100k, minatar_lib, run_experiment

OUTPUT = pathlib.Path(__file__).with_suffix('.md')

HEADER = """\
# Every gin parameter

Generated from the code by `python docs/gin_parameters.py`. A gin file binds one as
`DQNAgent.gamma = 0.99`; what it does not bind has the default of the table, and what a run had in
force is in its `operative_config.gin`.

Arguments that the code itself always gives (`num_actions`, the name of a network) are not listed. An
agent has the parameters of the agents that it builds on as well, bound under *their* names:
`ImplicitQuantileAgent` those of `RainbowAgent`, `QuantileAgent` those of `PrioritizedDQNAgent` and
`DQNAgent`. The agents give the replay buffer their own `update_horizon`, `gamma` and types.

An *agent step* is one action, on Atari `frame_skip` = 4 frames. The papers' values are of Atari,
with frames turned into agent steps; `–` means that the paper has no such parameter, or does not say.
"""

# Parameter -> unit. Those that count nothing have none.
UNITS = {
    'DataEfficientAtariRunner.max_noops': 'agent steps',
    'MaxEpisodeEvalRunner.num_eval_episodes': 'episodes',
    'Runner.log_every_n': 'iterations',
    'Runner.num_iterations': 'iterations',
    'Runner.training_steps': 'agent steps an iteration',
    'Runner.evaluation_steps': 'agent steps an iteration',
    'Runner.max_steps_per_episode': 'agent steps',
    'AtariPreprocessing.frame_skip': 'frames an agent step',
    'AtariPreprocessing.screen_size': 'pixels',
    'Checkpointer.checkpoint_frequency': 'iterations',
    'Checkpointer.checkpoint_duration': 'checkpoints',
    'Checkpointer.keep_every': 'checkpoints',
    'Logger.logs_duration': 'files',
    'get_latest_checkpoint_number.override_number': 'iterations',
    **{
        f'{agent}.{name}': unit
        for agent in ('DQNAgent', 'RainbowAgent')
        for name, unit in {
            'stack_size': 'frames',
            'gamma': 'an agent step',
            'update_horizon': 'agent steps',
            'min_replay_history': 'agent steps',
            'update_period': 'agent steps',
            'target_update_period': 'agent steps',
            'epsilon_train': 'probability',
            'epsilon_eval': 'probability',
            'epsilon_decay_period': 'agent steps',
            'summary_writing_frequency': 'agent steps',
        }.items()
    },
    'DQNAgent.max_tf_checkpoints_to_keep': 'checkpoints',
    'RainbowAgent.num_atoms': 'atoms',
    'RainbowAgent.vmin': 'return',
    'RainbowAgent.vmax': 'return',
    'ImplicitQuantileAgent.kappa': 'return',
    'ImplicitQuantileAgent.num_tau_samples': 'samples',
    'ImplicitQuantileAgent.num_tau_prime_samples': 'samples',
    'ImplicitQuantileAgent.num_quantile_samples': 'samples',
    'ImplicitQuantileAgent.quantile_embedding_dim': 'cosines',
    'ImplicitQuantileAgent.summary_writing_frequency': 'agent steps',
    'PrioritizedDQNAgent.beta_anneal_steps': 'agent steps',
    'PrioritizedDQNAgent.priority_epsilon': 'return',
    'QuantileAgent.kappa': 'return',
    'QuantileAgent.num_quantiles': 'quantiles',
    'FullRainbowAgent.num_atoms': 'atoms',
    'FullRainbowAgent.epsilon_train': 'probability',
    'FullRainbowAgent.beta_anneal_steps': 'agent steps',
    'FullRainbowAgent.num_updates_per_train_step': 'gradient steps an update',
    **{
        f'{prefix}{buffer}.{name}': unit
        for buffer in ('ReplayBuffer', 'PrioritizedReplayBuffer')
        for prefix, names in {
            'Wrapped': {'replay_capacity': 'transitions', 'batch_size': 'transitions'},
            'OutOfGraph': {'checkpoint_duration': 'checkpoints', 'keep_every': 'checkpoints'},
        }.items()
        for name, unit in {
            **names,
            'update_horizon': 'agent steps',
            'gamma': 'an agent step',
            'max_sample_attempts': 'draws',
        }.items()
    },
}

# Class -> the papers whose values are given.
SOURCES = {
    'Runner': 'Hessel et al. 2018 (Rainbow)',
    'DataEfficientAtariRunner': 'Mnih et al. 2015',
    'AtariPreprocessing': 'Mnih et al. 2015 (DQN)',
    'create_atari_environment': 'Machado et al. 2018',
    'DQNAgent': 'Mnih et al. 2015 (DQN)',
    'RainbowAgent': 'Hessel et al. 2018 (Rainbow), Bellemare et al. 2017 (C51)',
    'FullRainbowAgent': 'Hessel et al. 2018 (Rainbow)',
    'Atari100kRainbowAgent': 'van Hasselt et al. 2019 (DER), Kostrikov et al. 2021 (DrQ)',
    'ImplicitQuantileAgent': 'Dabney et al. 2018 (IQN)',
    'QuantileAgent': 'Dabney et al. 2018 (QR-DQN)',
    'PrioritizedDQNAgent': 'Schaul et al. 2016, proportional variant',
    'WrappedReplayBuffer': 'Mnih et al. 2015 (DQN)',
    'WrappedPrioritizedReplayBuffer': 'Schaul et al. 2016, Hessel et al. 2018',
    'tf.train.AdamOptimizer': 'the papers of the agents',
    'tf.train.RMSPropOptimizer': 'Mnih et al. 2015 (DQN)',
}

# Parameter -> the paper's value.
PAPER_VALUES = {
    'Runner.num_iterations': '200 (200 million frames)',
    'Runner.training_steps': '250000',
    'Runner.evaluation_steps': '125000',
    'Runner.max_steps_per_episode': '27000',
    'Runner.clip_rewards': 'True',
    'DataEfficientAtariRunner.max_noops': '30',
    'AtariPreprocessing.frame_skip': '4',
    'AtariPreprocessing.terminal_on_life_loss': 'True',
    'AtariPreprocessing.screen_size': '84',
    'create_atari_environment.sticky_actions': 'True',
    'DQNAgent.observation_shape': '(84, 84)',
    'DQNAgent.stack_size': '4',
    'DQNAgent.gamma': '0.99',
    'DQNAgent.update_horizon': '1',
    'DQNAgent.min_replay_history': '50000',
    'DQNAgent.update_period': '4',
    'DQNAgent.target_update_period': '10000 parameter updates',
    'DQNAgent.epsilon_train': '0.1',
    'DQNAgent.epsilon_eval': '0.05',
    'DQNAgent.epsilon_decay_period': '1000000',
    'RainbowAgent.observation_shape': '(84, 84)',
    'RainbowAgent.stack_size': '4',
    'RainbowAgent.num_atoms': '51',
    'RainbowAgent.vmin': '-10',
    'RainbowAgent.vmax': '10',
    'RainbowAgent.gamma': '0.99',
    'RainbowAgent.update_horizon': '3 (Rainbow), 1 (C51)',
    'RainbowAgent.min_replay_history': '20000 (Rainbow), 50000 (C51)',
    'RainbowAgent.update_period': '4',
    'RainbowAgent.target_update_period': '8000 (Rainbow), 10000 parameter updates (C51)',
    'RainbowAgent.epsilon_train': '0, with noisy layers (Rainbow), 0.01 (C51)',
    'RainbowAgent.epsilon_eval': '0.001 (C51)',
    'RainbowAgent.replay_scheme': "'prioritized' (Rainbow), 'uniform' (C51)",
    'FullRainbowAgent.noisy': 'True',
    'FullRainbowAgent.dueling': 'True',
    'FullRainbowAgent.double_dqn': 'True',
    'FullRainbowAgent.distributional': 'True',
    'FullRainbowAgent.num_atoms': '51',
    'FullRainbowAgent.epsilon_train': '0',
    'FullRainbowAgent.alpha': '0.5',
    'FullRainbowAgent.beta': '0.4',
    'FullRainbowAgent.beta_anneal_steps': 'the whole run (50 million)',
    'FullRainbowAgent.num_updates_per_train_step': '1',
    'Atari100kRainbowAgent.data_augmentation': 'False (DER), True (DrQ)',
    'ImplicitQuantileAgent.kappa': '1',
    'ImplicitQuantileAgent.num_tau_samples': '64',
    'ImplicitQuantileAgent.num_tau_prime_samples': '64',
    'ImplicitQuantileAgent.num_quantile_samples': '32',
    'ImplicitQuantileAgent.quantile_embedding_dim': '64',
    'ImplicitQuantileAgent.double_dqn': 'False',
    'ImplicitQuantileAgent.update_priorities': 'False',
    'QuantileAgent.kappa': '1',
    'QuantileAgent.num_quantiles': '200',
    'PrioritizedDQNAgent.target': "'double'",
    'PrioritizedDQNAgent.double_dqn': 'True',
    'PrioritizedDQNAgent.replay_scheme': "'prioritized'",
    'PrioritizedDQNAgent.alpha': '0.6',
    'PrioritizedDQNAgent.beta': '0.4',
    'PrioritizedDQNAgent.beta_anneal_steps': 'the whole run (50 million)',
    'WrappedReplayBuffer.replay_capacity': '1000000',
    'WrappedReplayBuffer.batch_size': '32',
    'WrappedPrioritizedReplayBuffer.replay_capacity': '1000000',
    'WrappedPrioritizedReplayBuffer.batch_size': '32',
    'tf.train.AdamOptimizer.learning_rate': '0.0000625 (Rainbow), 0.00025 (C51), '
    '0.00005 (IQN, QR-DQN)',
    'tf.train.AdamOptimizer.epsilon': '0.00015 (Rainbow), 0.01 / 32 (C51, IQN, QR-DQN)',
    'tf.train.RMSPropOptimizer.learning_rate': '0.00025',
    'tf.train.RMSPropOptimizer.decay': '0.95',
    'tf.train.RMSPropOptimizer.momentum': '0 (its 0.95 is the decay of the mean gradient)',
    'tf.train.RMSPropOptimizer.epsilon': '0.01',
    'tf.train.RMSPropOptimizer.centered': 'True',
}

# What TensorFlow's own parameters do; those not listed are of no use to the agents.
OPTIMIZERS = {
    'tf.train.AdamOptimizer': {
        'learning_rate': 'the size of a step',
        'beta1': 'decay of the mean of the gradients',
        'beta2': 'decay of the mean of their squares',
        'epsilon': 'is added to the root of that mean, by which a step is divided',
    },
    'tf.train.RMSPropOptimizer': {
        'learning_rate': 'the size of a step',
        'decay': 'decay of the mean of the squared gradients',
        'momentum': 'the part of a step that is repeated in the next',
        'epsilon': 'is added to that mean, by whose root a step is divided',
        'centered': 'whether the square of the mean gradient is taken off that mean',
    },
}

# What the docstrings leave out.
OTHER_WORDS = {
    'BasicDiscreteDomainNetwork.num_atoms': 'atoms of a distribution; None for one value',
    'BasicDiscreteDomainNetwork.activation_fn': 'of the hidden layers',
    '_basic_discrete_domain_network.num_atoms': 'atoms of a distribution; None for one value',
    'FourierDQNNetwork.fourier_basis_order': 'order of the Fourier basis',
    'fourier_dqn_network.fourier_basis_order': 'order of the Fourier basis',
    'DuelingDQNNetwork.dueling': 'whether values and advantages are separate',
    'CartpoleDuelingDQNNetwork.dueling': 'whether values and advantages are separate',
}

# Heading -> the modules whose configurables stand below it, in this order.
SECTIONS = {
    'The run': ('run_experiment', 'atari_100k'),
    'Environments': ('atari_lib', 'gym_lib', 'minatar_lib'),
    'Agents': (
        *('dqn_agent', 'rainbow_agent', 'full_rainbow_agent', 'implicit_quantile_agent'),
        *('prioritized_dqn_agent', 'quantile_agent', 'atari_100k_rainbow_agent'),
    ),
    'Replay memory': ('circular_replay_buffer', 'prioritized_replay_buffer'),
    'Networks': ('legacy_networks', 'networks'),
    'Checkpoints, logs and metrics': (
        *('checkpointer', 'logger', 'collector_dispatcher', 'console_collector'),
        'wandb_collector',
    ),
}
assert atari_100k and minatar_lib and run_experiment  # register what is in the tables


def configurables() -> dict[str, list[tuple[str, Callable[..., Any]]]]:
    """Returns (name, what gin calls) of the package's configurables by module, each in order."""
    found: dict[str, list[tuple[str, Callable[..., Any]]]] = {}
    for selector, configurable in sorted(gin.config._REGISTRY.items()):
        # A module that a user dropped into the package is in gin's registry, too.
        inside = selector.rpartition('.')[0] in sys.modules
        if selector.startswith('dopamine_lite.') and inside and '.utils.' not in selector:
            module = selector.split('.')[-2]
            found.setdefault(module, []).append((configurable.name, configurable.wrapper))
    return found


def parameters(function: Callable[..., Any]) -> Iterator[tuple[str, Any]]:
    """The names and defaults of what a gin file can usefully bind."""
    for parameter in inspect.signature(function).parameters.values():
        of_network = parameter.name == 'name' and is_network(function)
        if parameter.default is not inspect.Parameter.empty and not of_network:
            yield parameter.name, parameter.default


def is_network(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, tf.Module)


def descriptions(function: Any) -> dict[str, str]:
    """What the docstrings say about each parameter."""
    owners = reversed(function.__mro__) if isinstance(function, type) else [function]
    found = {}
    for owner in owners:
        documented = owner.__dict__.get('__init__', owner) if isinstance(owner, type) else owner
        text = inspect.getdoc(documented) or ''
        block = re.search(r'^Args:\n((?:[ ]+.*\n?|\n)+)', text, re.MULTILINE)
        for entry in re.split(r'\n(?=  \S)', '\n' + block[1] if block else ''):
            if match := re.match(r'\n?  (\w+): (.*)', entry, re.DOTALL):
                found[match[1]] = ' '.join(match[2].split()).removesuffix('.')
    return found


def as_gin(value: Any) -> str:
    """A default as a gin file would write it."""
    if value is inspect.Parameter.empty:
        return 'gin.REQUIRED'
    if isinstance(value, tf.DType):
        return f'%tf.{value.name}'
    if isinstance(value, type) and value.__module__ == 'numpy':
        return f'numpy.{value.__name__}'
    if callable(value):
        module = value.__module__.split('.')
        return f'@{module[-1] if module[0] == "dopamine_lite" else "tf.nn"}.{value.__name__}'
    return repr(value)


def table(name: str, rows: list[tuple[str, Any, str]]) -> Iterator[str]:
    """The lines of a table from (parameter, default, description)."""
    paper = SOURCES.get(name)
    yield f'### {name}'
    yield ''
    if paper:
        yield f'Paper: {paper}.'
        yield ''
    cells = [['parameter', 'unit', 'default', *(['paper'] if paper else []), 'what it is']]
    cells.append(['---'] * len(cells[0]))
    for parameter, default, description in rows:
        full_name = f'{name}.{parameter}'
        value = PAPER_VALUES.get(full_name, '–')
        cells.append(
            [
                f'`{parameter}`',
                UNITS.get(full_name, ''),
                f'`{as_gin(default)}`',
                *([value] if paper else []),
                description,
            ]
        )
    for row in cells:
        yield '| ' + ' | '.join(cell.replace('|', '\\|') for cell in row) + ' |'
    yield ''


def generate() -> str:
    """Returns the page.

    Raises:
      KeyError: nothing says what a parameter does.
      ValueError: a unit, a paper's value or a section is of something that does not exist, or a
        module has no section.
    """
    compat.install()
    import gin.tf.external_configurables  # noqa: F401  (the optimizers)

    by_module = configurables()
    named = {module for modules in SECTIONS.values() for module in modules}
    if named != set(by_module):
        raise ValueError(f'modules and sections differ in {sorted(named ^ set(by_module))}')
    lines = [HEADER]
    known = set()
    for heading, modules in SECTIONS.items():
        lines += [f'## {heading}', '']
        without = []
        for name, function in (entry for module in modules for entry in by_module[module]):
            known_words = descriptions(function)
            rows = [
                (p, default, known_words.get(p) or OTHER_WORDS[f'{name}.{p}'])
                for p, default in parameters(function)
            ]
            known |= {f'{name}.{p}' for p, _, _ in rows}
            if rows:
                lines += table(name, rows)
            else:
                without.append(f'`{name}`')
        if without:
            lines += [f'Without parameters of their own: {", ".join(without)}.', '']
    lines += [
        '## Optimizers',
        '',
        "TensorFlow's; every other one of `tf.train` can be bound too.",
        '',
    ]
    for name, words in OPTIMIZERS.items():
        signature = inspect.signature(getattr(tf.compat.v1.train, name.rpartition('.')[2]))
        rows = [(p, signature.parameters[p].default, words[p]) for p in words]
        known |= {f'{name}.{p}' for p in words}
        lines += table(name, rows)
    lost = {**UNITS, **PAPER_VALUES, **OTHER_WORDS}.keys() - known
    if lost:
        raise ValueError(f'there are no parameters {sorted(lost)}')
    return '\n'.join(lines).rstrip() + '\n'


def main() -> int:
    OUTPUT.write_text(generate(), encoding='utf-8')
    return 0


if __name__ == '__main__':
    sys.exit(main())
