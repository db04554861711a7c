"""Each wrong value is refused by name, and nothing changes."""

import copy

import fakes
import numpy as np
import pytest
import tensorflow as tf

from dopamine_lite.discrete_domains import (
    atari_lib,
    checkpointer,
    gym_lib,
    legacy_networks,
    logger,
    minatar_lib,
    run_experiment,
)
from dopamine_lite.tf.agents import prioritization
from dopamine_lite.tf.agents.dqn import dqn_agent
from dopamine_lite.tf.agents.implicit_quantile import implicit_quantile_agent
from dopamine_lite.tf.agents.quantile import quantile_agent
from dopamine_lite.tf.agents.rainbow import rainbow_agent
from dopamine_lite.tf.replay_memory import (
    circular_replay_buffer,
    prioritized_replay_buffer,
    sum_tree,
)

NAN, INF = float('nan'), float('inf')
FRAME = np.zeros((2,), np.float32)


def tree():
    made = sum_tree.SumTree(5)  # eight leaves, three of them padding
    made.set(np.arange(5), np.arange(1.0, 6.0))
    return made


def buffer(**kwargs):
    settings = dict(
        observation_shape=(2,),
        stack_size=1,
        replay_capacity=10,
        batch_size=2,
        observation_dtype=np.float32,
    )
    return prioritized_replay_buffer.OutOfGraphPrioritizedReplayBuffer(**{**settings, **kwargs})


def filled():
    made = buffer()
    for i in range(6):
        made.add(FRAME, 0, 1.0, 0, float(i + 1))
    return made


def dqn(**kwargs):
    small = dict(observation_shape=(4, 1), observation_dtype=tf.float64, stack_size=1)
    network = legacy_networks.CartpoleDQNNetwork
    return dqn_agent.DQNAgent(None, **{'num_actions': 2, 'network': network, **small, **kwargs})


def rainbow(**kwargs):
    return rainbow_agent.RainbowAgent(None, 2, **kwargs)


def iqn(**kwargs):
    return implicit_quantile_agent.ImplicitQuantileAgent(None, 2, **kwargs)


def quantile(**kwargs):
    return quantile_agent.QuantileAgent(None, 2, **kwargs)


def prioritized(**kwargs):
    return prioritization.Prioritization(**kwargs)


def atari(**kwargs):
    return atari_lib.AtariPreprocessing(fakes.TapeEnvironment([]), **kwargs)


def saver(**kwargs):
    return checkpointer.Checkpointer('/nonexistent', **kwargs)


def wrapped(**kwargs):
    settings = dict(observation_shape=(2,), stack_size=1)
    return circular_replay_buffer.WrappedReplayBuffer(**{**settings, **kwargs})


def runner(**kwargs):
    return run_experiment.Runner('/nonexistent/folder', None, **kwargs)


def int32(*values):
    return np.array(values, np.int32)


# What is called -> (error, what its message names).
CASES = {
    # The sum tree.
    'tree capacity 0': (lambda: sum_tree.SumTree(0), ValueError, 'capacity .*0'),
    'tree capacity -1': (lambda: sum_tree.SumTree(-1), ValueError, 'capacity .*-1'),
    'query below 0': (lambda: tree().query(-0.1), ValueError, r'\[0, 1\].*-0\.1'),
    'query above 1': (lambda: tree().sample(1.1), ValueError, r'\[0, 1\].*1\.1'),
    'query NaN': (lambda: tree().query(NAN), ValueError, r'\[0, 1\].*nan'),
    'query array with NaN': (lambda: tree().query([0.1, NAN]), ValueError, r'\[0, 1\].*nan'),
    'empty tree': (lambda: sum_tree.SumTree(3).sample(), ValueError, 'empty'),
    'empty tree, a batch': (lambda: sum_tree.SumTree(3).stratified_sample(2), ValueError, 'empty'),
    'an emptied tree': (lambda: [t := tree(), t.clear(), t.sample()], ValueError, 'empty'),
    'state of another size': (
        lambda: tree().from_state_dict(
            {'capacity': 3, 'priorities': [1.0], 'max_recorded_priority': 1.0}
        ),
        ValueError,
        'expected 3 priorities',
    ),
    # Buffers.
    'stack 0': (lambda: buffer(stack_size=0), ValueError, 'stack_size.*0'),
    'batch 0': (lambda: buffer(batch_size=0), ValueError, 'batch_size.*0'),
    'horizon 0': (lambda: buffer(update_horizon=0), ValueError, 'Update horizon'),
    'horizon -1': (lambda: buffer(update_horizon=-1), ValueError, 'Update horizon'),
    'gamma 1.1': (lambda: buffer(gamma=1.1), ValueError, 'gamma'),
    'gamma -0.1': (lambda: buffer(gamma=-0.1), ValueError, 'gamma'),
    'gamma NaN': (lambda: buffer(gamma=NAN), ValueError, 'gamma'),
    'capacity': (lambda: buffer(replay_capacity=1), ValueError, 'enough capacity'),
    'shape no tuple': (lambda: buffer(observation_shape=2), AssertionError, 'shape.*tuple'),
    'wrapped capacity': (
        lambda: wrapped(replay_capacity=5, update_horizon=5),
        ValueError,
        'Update horizon .5. should be significantly smaller than replay capacity .5.',
    ),
    'wrapped horizon': (lambda: wrapped(update_horizon=0), ValueError, 'Update horizon'),
    'wrapped gamma': (lambda: wrapped(gamma=2.0), ValueError, 'gamma'),
    # Names that become part of an id, in which a dict would bring a colon along.
    'environment': (
        lambda: gym_lib.create_gym_environment({'a': 1}),
        ValueError,
        'environment_name must be a text',
    ),
    'version': (
        lambda: gym_lib.create_gym_environment('evil', {1: 2}),
        ValueError,
        'version must be a text, got {1: 2}',
    ),
    'game': (lambda: atari_lib.create_atari_environment({'a': 1}), ValueError, 'game_name.*text'),
    'MinAtar game': (
        lambda: minatar_lib.create_minatar_environment(['asterix']),
        ValueError,
        'game_name must be a text',
    ),
    'logs': (lambda: logger.Logger('/nonexistent', 0), ValueError, 'logs_duration.*1, got 0'),
    # Agents.
    'no actions': (lambda: dqn(num_actions=0), ValueError, 'num_actions.*0'),
    'agent stack': (lambda: dqn(stack_size=0), ValueError, 'stack_size.*0'),
    'agent horizon': (lambda: dqn(update_horizon=0), ValueError, 'Update horizon'),
    'agent gamma': (lambda: dqn(gamma=-1.0), ValueError, 'gamma'),
    'agent shape': (lambda: dqn(observation_shape=[4, 1]), AssertionError, 'shape.*tuple'),
    'update period': (lambda: dqn(update_period=0), ValueError, 'update_period.*0'),
    'target period': (lambda: dqn(target_update_period=0), ValueError, 'target_update_period.*0'),
    'atoms': (lambda: rainbow(num_atoms=1), ValueError, 'num_atoms.*1'),
    'vmin is vmax': (lambda: rainbow(vmin=10.0, vmax=10.0), ValueError, 'vmin.*10'),
    'vmin above vmax': (lambda: rainbow(vmin=11.0, vmax=10.0), ValueError, 'vmin.*11'),
    'vmax NaN': (lambda: rainbow(vmax=NAN), ValueError, 'vmax.*nan'),
    'scheme': (lambda: rainbow(replay_scheme='x'), ValueError, 'Invalid replay scheme: x'),
    'kappa': (lambda: iqn(kappa=0.0), ValueError, 'kappa.*0'),
    'kappa NaN': (lambda: iqn(kappa=NAN), ValueError, 'kappa.*nan'),
    'tau samples': (lambda: iqn(num_tau_samples=0), ValueError, 'num_tau_samples.*0'),
    'tau prime': (lambda: iqn(num_tau_prime_samples=0), ValueError, 'num_tau_prime_samples.*0'),
    'quantiles': (lambda: iqn(num_quantile_samples=0), ValueError, 'num_quantile_samples.*0'),
    'agent batch': (lambda: buffer(batch_size=2.5), ValueError, r'batch_size.*whole.*2\.5'),
    'exploration above 1': (lambda: dqn(epsilon_train=1.5), ValueError, r'epsilon_train.*1\.5'),
    'exploration below 0': (lambda: dqn(epsilon_eval=-0.1), ValueError, r'epsilon_eval.*-0\.1'),
    'decay': (
        lambda: dqn_agent.linearly_decaying_epsilon(0, 1, 1, 0.1),
        ValueError,
        'epsilon_decay_period must be above 0, got 0',
    ),
    'a part of an action': (lambda: dqn(num_actions=1.5), ValueError, r'num_actions.*1\.5'),
    'a part of an atom': (lambda: rainbow(num_atoms=2.5), ValueError, r'num_atoms.*2\.5'),
    'attempts': (lambda: buffer(max_sample_attempts=-1), ValueError, 'max_sample_attempts.*-1'),
    'keep none': (lambda: buffer(checkpoint_duration=0), ValueError, 'checkpoint_duration.*0'),
    'alpha': (lambda: prioritized(alpha=1.5), ValueError, r'alpha.*\[0, 1\].*1\.5'),
    # Environments.
    'no game': (lambda: atari_lib.create_atari_environment(), AssertionError, 'game_name'),
    'unknown game': (lambda: atari_lib.create_atari_environment('Pongg'), ValueError, "'Pong'"),
    'unknown environment': (
        lambda: gym_lib.create_gym_environment('CartPol', 'v1'),
        ValueError,
        'CartPole-v1',
    ),
    'continuous actions': (
        lambda: gym_lib.create_gym_environment('Pendulum', 'v1'),
        ValueError,
        'Discrete',
    ),
    # The runner.
    'no base_dir': (lambda: run_experiment.Runner(None, None), AssertionError, 'base_dir'),
    'iterations': (lambda: runner(num_iterations=1.5), ValueError, r'num_iterations.*1\.5'),
    'training steps': (lambda: runner(training_steps=-1), ValueError, 'training_steps.*-1'),
    'training NaN': (lambda: runner(training_steps=NAN), ValueError, 'training_steps.*nan'),
    'evaluation steps': (lambda: runner(evaluation_steps=-1), ValueError, 'evaluation_steps.*-1'),
    'episode steps': (
        lambda: runner(max_steps_per_episode=0),
        ValueError,
        'max_steps_per_episode.*0',
    ),
    'log every 0': (lambda: runner(log_every_n=0), ValueError, 'log_every_n.*0'),
    'seed -1': (lambda: runner(seed=-1), ValueError, 'seed.*-1'),
    'seed 2^32': (lambda: runner(seed=2**32), ValueError, 'seed.*4294967296'),
    'schedule': (lambda: run_experiment.create_runner('x', 'now'), ValueError, 'schedule: now'),
    'no agent': (lambda: run_experiment.create_agent(None, None), AssertionError, 'agent_name'),
    'unknown agent': (lambda: run_experiment.create_agent(None, None, 'x'), ValueError, 'agent: x'),
    'no checkpoint folder': (lambda: checkpointer.Checkpointer(''), ValueError, 'No path'),
    'frequency': (
        lambda: checkpointer.Checkpointer('/nonexistent', checkpoint_frequency=0),
        ValueError,
        'checkpoint_frequency.*0',
    ),
    'going back to no checkpoint': (
        lambda: checkpointer.get_latest_checkpoint_number('/nonexistent', -1),
        ValueError,
        'override_number.*-1',
    ),
    'duration': (
        lambda: checkpointer.Checkpointer('/nonexistent', checkpoint_duration=0),
        ValueError,
        'checkpoint_duration.*0',
    ),
}

# Whatever takes a number -> what makes it, and how messages call it. None of them takes NaN or
# infinity.
NUMBERS = {
    'capacity': (sum_tree.SumTree, 'capacity'),
    **{
        name: (lambda value, name=name: buffer(**{name: value}), name)
        for name in (
            *('stack_size', 'batch_size', 'replay_capacity', 'max_sample_attempts'),
            *('checkpoint_duration', 'keep_every'),
        )
    },
    'horizon': (lambda value: buffer(update_horizon=value), 'Update horizon'),
    'gamma': (lambda value: buffer(gamma=value), 'gamma'),
    'wrapped capacity': (lambda value: wrapped(replay_capacity=value), 'replay_capacity'),
    **{
        f'agent {name}': (lambda value, name=name: dqn(**{name: value}), name)
        for name in (
            *('num_actions', 'update_period', 'target_update_period', 'min_replay_history'),
            *('epsilon_train', 'epsilon_eval', 'epsilon_decay_period', 'gamma'),
        )
    },
    'agent horizon': (lambda value: dqn(update_horizon=value), 'Update horizon'),
    **{
        name: (lambda value, name=name: rainbow(**{name: value}), name)
        for name in ('num_atoms', 'vmin', 'vmax')
    },
    **{
        name: (lambda value, name=name: iqn(**{name: value}), name)
        for name in (
            *('kappa', 'num_tau_samples', 'num_tau_prime_samples', 'num_quantile_samples'),
            'quantile_embedding_dim',
        )
    },
    'quantile kappa': (lambda value: quantile(kappa=value), 'kappa'),
    'num_quantiles': (lambda value: quantile(num_quantiles=value), 'num_quantiles'),
    **{
        name: (lambda value, name=name: prioritized(**{name: value}), name)
        for name in ('alpha', 'beta', 'beta_anneal_steps', 'epsilon')
    },
    **{
        name: (lambda value, name=name: runner(**{name: value}), name)
        for name in (
            *('num_iterations', 'training_steps', 'evaluation_steps', 'max_steps_per_episode'),
            *('log_every_n', 'seed'),
        )
    },
    **{
        f'checkpointer {name}': (lambda value, name=name: saver(**{name: value}), name)
        for name in ('checkpoint_frequency', 'checkpoint_duration', 'keep_every')
    },
    'override_number': (
        lambda value: checkpointer.get_latest_checkpoint_number('/nonexistent', value),
        'override_number',
    ),
    'frame_skip': (lambda value: atari(frame_skip=value), 'Frame skip'),
    'screen_size': (lambda value: atari(screen_size=value), 'screen size'),
    'a query': (lambda value: tree().query(value), 'query_value'),
}


@pytest.mark.parametrize('value', [NAN, INF, -INF])
@pytest.mark.parametrize('case', NUMBERS)
def test_no_number_is_nan_or_infinite(case, value):
    make, name = NUMBERS[case]
    with pytest.raises(ValueError, match=f'{name}.*{value}'):
        make(value)


@pytest.mark.parametrize('case', CASES)
def test_refused_by_name(case):
    call, error, message = CASES[case]
    with pytest.raises(error, match=message):
        call()


# On something that has content, which has to stay as it is.
CHANGES = {
    'set NaN': (tree, lambda t: t.set(1, NAN), ValueError, 'nan'),
    'set infinity': (tree, lambda t: t.set(1, INF), ValueError, 'inf'),
    'set negative': (tree, lambda t: t.set(1, -1.0), ValueError, '-1'),
    'set in the padding': (tree, lambda t: t.set(5, 1.0), IndexError, r'\[0, 5\), got 5'),
    'set beyond': (tree, lambda t: t.set(8, 1.0), IndexError, 'got 8'),
    'set before': (tree, lambda t: t.set(-1, 1.0), IndexError, 'got -1'),
    'set many, one NaN': (tree, lambda t: t.set(int32(0, 1), [2.0, NAN]), ValueError, 'nan'),
    'set many, padding': (tree, lambda t: t.set(int32(0, 6), [2.0, 2.0]), IndexError, 'got 6'),
    'set lengths': (tree, lambda t: t.set(int32(0, 1), [2.0]), ValueError, 'as many values'),
    'get in the padding': (tree, lambda t: t.get(7), IndexError, 'got 7'),
    'get many': (tree, lambda t: t.get(int32(0, 5)), IndexError, 'got 5'),
    'get a float': (tree, lambda t: t.get(np.array([0.5])), TypeError, 'integer'),
    'reward NaN': (filled, lambda b: b.add(FRAME, 0, NAN, 0, 1.0), ValueError, 'reward'),
    'reward infinite': (filled, lambda b: b.add(FRAME, 0, -INF, 0, 1.0), ValueError, 'reward'),
    'priority NaN': (filled, lambda b: b.add(FRAME, 0, 1.0, 0, NAN), ValueError, 'priority'),
    'priority -1': (filled, lambda b: b.add(FRAME, 0, 1.0, 0, -1.0), ValueError, 'priority'),
    'observation NaN': (filled, lambda b: b.add(FRAME * NAN, 0, 1, 0, 1), ValueError, 'observ'),
    'observation infinite': (
        filled,
        lambda b: b.add(FRAME + INF, 0, 1.0, 0, 1.0),
        ValueError,
        'observation',
    ),
    'observation shape': (
        filled,
        lambda b: b.add(np.zeros(3), 0, 1.0, 0, 1.0),
        ValueError,
        r'arg has shape \(3,\), expected \(2,\)',
    ),
    'too few': (filled, lambda b: b.add(FRAME, 0, 1.0, 0), ValueError, 'expects 5 .*received 4'),
    'action too large': (filled, lambda b: b.add(FRAME, 2**40, 1.0, 0, 1), ValueError, 'action'),
    'priorities NaN': (
        filled,
        lambda b: b.set_priority(int32(0, 1), [1.0, NAN]),
        ValueError,
        'nan',
    ),
    'priorities infinite': (
        filled,
        lambda b: b.set_priority(int32(0), [INF]),
        ValueError,
        'inf',
    ),
    'priorities, padding': (
        filled,
        lambda b: b.set_priority(int32(0, 12), [1.0, 1.0]),
        IndexError,
        'got 12',
    ),
    'priorities, lengths': (
        filled,
        lambda b: b.set_priority(int32(0, 1), [1.0]),
        ValueError,
        'as many values',
    ),
    'priorities, no int32': (
        filled,
        lambda b: b.set_priority(np.array([0]), [1.0]),
        AssertionError,
        'int32',
    ),
}


def content(thing):
    if isinstance(thing, sum_tree.SumTree):
        return [*(level.tobytes() for level in thing.nodes), thing.max_recorded_priority]
    return [
        *(array.tobytes() for array in thing._store.values()),
        *(int(thing.add_count), thing.invalid_range.tobytes(), thing.episode_end_indices.copy()),
        *(thing._next_experience_is_episode_start, *content(thing.sum_tree)),
    ]


@pytest.mark.parametrize('case', CHANGES)
def test_refused_by_name_with_nothing_changed(case):
    make, change, error, message = CHANGES[case]
    thing = make()
    before = copy.deepcopy(content(thing))
    with pytest.raises(error, match=message):
        change(thing)
    assert content(thing) == before


def test_there_are_many():
    assert len(CASES) + len(CHANGES) >= 60
