"""Where Dopamine kept its modules, from 1.0 to today, and where they are here.

A table of names, read by the `dopamine` alias, by gin's selectors and by the migration page.
"""

OURS = 'dopamine_lite'
THEIRS = 'dopamine'

# Old package (below `dopamine`) -> the package (below `dopamine_lite`) whose modules it held.
# What is not listed kept its place.
PACKAGES = {
    'agents': 'tf.agents',
    'replay_memory': 'tf.replay_memory',
    'common': 'discrete_domains',
}

# Old module -> the module that it is now.
MODULES = {
    'atari.preprocessing': 'discrete_domains.atari_lib',
}

# Old module -> the module that replaced it, with what else was found there. These stand apart from
# their successors, which would otherwise grow the additional names.
EXTENDED = {
    'atari.run_experiment': (
        'discrete_domains.run_experiment',
        {'create_atari_environment': 'discrete_domains.atari_lib'},
    ),
    'atari.train': (
        'discrete_domains.train',
        {
            'create_agent': 'compat.atari_train',
            'create_runner': 'compat.atari_train',
            'launch_experiment': 'compat.atari_train',
            'main': 'compat.atari_train',
        },
    ),
}

# Module -> the old modules that its gin configurables were registered under.
FORMER_HOMES = {
    'discrete_domains.run_experiment': ('atari.run_experiment', 'atari.train'),
    'discrete_domains.atari_lib': ('atari.preprocessing', 'atari.run_experiment'),
    'discrete_domains.legacy_networks': (
        'discrete_domains.gym_lib',
        'discrete_domains.atari_lib',
    ),
}

# Parts of Dopamine that are written in JAX.
JAX_PACKAGES = ('jax', 'labs', 'continuous_domains')

# Module -> constants it once had: their value and what to say now.
CONSTANTS = {
    'tf.agents.dqn.dqn_agent': {
        'OBSERVATION_SHAPE': (84, 'NATURE_DQN_OBSERVATION_SHAPE, a tuple'),
        'STACK_SIZE': (4, 'NATURE_DQN_STACK_SIZE'),
    },
    'tf.replay_memory.circular_replay_buffer': {
        'MAX_SAMPLE_ATTEMPTS': (1000, 'the argument max_sample_attempts'),
        'CHECKPOINT_DURATION': (4, 'the argument checkpoint_duration'),
    },
    'discrete_domains.checkpointer': {
        'CHECKPOINT_DURATION': (4, 'the argument checkpoint_duration'),
    },
    'discrete_domains.logger': {
        'CHECKPOINT_DURATION': (4, 'the argument logs_duration'),
    },
}


def below(package: str, name: str) -> str | None:
    """What follows `package` in the dotted `name`; '' for the package itself, None if outside."""
    if name == package:
        return ''
    return name[len(package) + 1 :] if name.startswith(package + '.') else None


def canonical(name: str) -> str:
    """The name below `dopamine_lite` of the module at Dopamine's address `name`, of any era."""
    path = below(THEIRS, name)
    if path is None:
        raise ValueError(f'{name} is no address of Dopamine')
    path = MODULES.get(path, path)
    for old, new in PACKAGES.items():
        rest = below(old, path)
        if rest is not None:
            path = f'{new}.{rest}' if rest else new
    return f'{OURS}.{path}' if path else OURS


def former(module: str) -> list[str]:
    """Every address of Dopamine that the module `module` of ours answers to."""
    path = below(OURS, module)
    if path is None:
        return []
    paths = [path, *FORMER_HOMES.get(path, ())]
    for old, new in PACKAGES.items():
        rest = below(new, path)
        if rest:
            paths.append(f'{old}.{rest}')
    return [f'{THEIRS}.{each}' if each else THEIRS for each in paths]


def refusal_of_jax(name: str) -> str:
    """What to say about `name`, which belongs to the JAX part of Dopamine."""
    return (
        f"'{name}' belongs to Dopamine's JAX agents (JAX, PPO, SAC, Mujoco): "
        'dopamine_lite is the TensorFlow path, with DQN, Rainbow and implicit quantiles'
    )


def is_jax_module(name: str) -> bool:
    """Whether the address `name` of Dopamine is in its JAX part."""
    path = below(THEIRS, name)
    return bool(path) and path.split('.')[0] in JAX_PACKAGES
