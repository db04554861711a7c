"""Rainbow: its projection, target, losses and gradient step, against hand-computed values."""

import inspect
import math

import agent_cases
import agent_oracles
import gin
import numpy as np
import pytest
import tensorflow as tf

from dopamine_lite.discrete_domains import legacy_networks
from dopamine_lite.tf.agents import prioritization
from dopamine_lite.tf.agents.dqn import dqn_agent
from dopamine_lite.tf.agents.rainbow import rainbow_agent
from dopamine_lite.tf.replay_memory import prioritized_replay_buffer

v1 = tf.compat.v1
project_distribution = rainbow_agent.project_distribution


def run(fetches, feed=None):
    with v1.Session() as session:
        return session.run(fetches, feed)


def project(supports, weights, target_support, dtype=np.float32, **arguments):
    return run(
        project_distribution(
            *(tf.constant(np.array(x, dtype)) for x in (supports, weights, target_support)),
            **arguments,
        )
    )


# The projection.

SUPPORTS = [[0, 2, 4, 6, 8], [1, 3, 4, 5, 6]]
WEIGHTS = [[0.1, 0.6, 0.1, 0.1, 0.1], [0.1, 0.2, 0.5, 0.1, 0.1]]


@pytest.mark.parametrize('validate', [False, True])
def test_projection_of_the_docstring(validate):
    """Its example, and that the docstring still has these figures."""
    supports, weights = [0, 2, 4, 6, 8], [0.1, 0.3, 0.1, 0.2, 0.3]
    target, projection = [4, 5, 6, 7, 8], [0.5, 0.0, 0.2, 0.0, 0.3]
    result = project([supports], [weights], target, validate_args=validate)
    np.testing.assert_allclose(result, [projection], atol=1e-6)
    lines = [line.split() for line in inspect.getdoc(project_distribution).splitlines()]
    for name, values in [
        ('supports', supports),
        ('weights', weights),
        ('target_support', target),
        ('projection', projection),
    ]:
        assert [name, *map(str, values)] in lines


@pytest.mark.parametrize('validate', [False, True])
@pytest.mark.parametrize('case', range(5))
def test_golden_projection(golden, case, validate):
    values = golden('project_distribution')
    arguments = [values[f'{case}/{x}'] for x in ('supports', 'weights', 'target_support')]
    result = project(*arguments, validate_args=validate)
    np.testing.assert_allclose(result, values[f'{case}/projection'], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize('seed', range(20))
def test_projection_equals_its_definition(seed):
    """Rows and atoms of every number, inside and outside the target, and on its atoms."""
    generator = np.random.default_rng(seed)
    num_rows, num_atoms = generator.integers(1, 6), generator.integers(2, 60)
    low, high = np.sort(generator.normal(0, 10, 2))
    target = np.linspace(low, high, num_atoms, dtype=np.float32)
    width = high - low
    supports = generator.uniform(low - width / 2, high + width / 2, (num_rows, num_atoms))
    supports[0] = generator.permutation(target)
    weights = generator.dirichlet(np.ones(num_atoms), num_rows)
    supports, weights = supports.astype(np.float32), weights.astype(np.float32)
    result = project(supports, weights, target, validate_args=True)
    expected = agent_oracles.project_distribution(supports, weights, target)
    np.testing.assert_allclose(result, expected, atol=5e-5)
    np.testing.assert_allclose(result.sum(axis=1), np.ones(num_rows), atol=1e-4)
    assert (result >= 0).all()


def test_projection_keeps_the_mean_inside_the_support():
    supports = [[-0.75, -0.25, 0.125, 0.5, 1.0]]
    weights = [[0.25, 0.125, 0.125, 0.25, 0.25]]
    target = [-1.0, -0.5, 0.0, 0.5, 1.0]
    result = project(supports, weights, target)
    assert np.dot(result[0], target) == pytest.approx(np.dot(weights[0], supports[0]), abs=1e-6)


def test_projection_onto_itself_is_exact():
    target = np.arange(-2, 3)
    result = project([target, target[::-1]], WEIGHTS, target)
    np.testing.assert_array_equal(result, np.float32([WEIGHTS[0], WEIGHTS[1][::-1]]))


def test_projection_of_float64():
    target = np.linspace(-10, 10, 51)
    supports, weights = [target + 0.1], [np.ones(51) / 51]
    result = project(supports, weights, target, np.float64, validate_args=True)
    assert result.dtype == np.float64
    expected = agent_oracles.project_distribution(supports, weights, target)
    np.testing.assert_allclose(result, expected, atol=1e-12)


def test_static_shape_of_the_projection():
    result = project_distribution(
        v1.placeholder(tf.float32, [None, 5]),
        v1.placeholder(tf.float32, [None, 5]),
        tf.constant([4.0, 5, 6, 7, 8]),
    )
    assert result.shape.as_list() == [None, 5]


# What it refuses while the graph is built.


@pytest.mark.parametrize(
    'supports, weights, target, message',
    [
        ([2, 5], [2, 4], [5], 'are incompatible'),
        ([2, 5], [3, 5], [5], 'are incompatible'),
        ([2, 5], [2, 5], [4], 'are incompatible'),
        ([2, 5], [2, 5], [1, 5], 'out of bounds'),
        ([2, 5], [2, 5], [2, 5], 'are incompatible'),
        ([2, 5], [2, 5], [], 'scalar|Cannot slice|too many|must be at least'),
    ],
)
@pytest.mark.parametrize('validate', [False, True])
def test_static_shapes_that_do_not_fit(supports, weights, target, message, validate):
    with pytest.raises(ValueError, match=message):
        project_distribution(
            *(v1.placeholder(tf.float32, shape) for shape in (supports, weights, target)),
            validate_args=validate,
        )


# What it refuses when the graph runs.


@pytest.mark.parametrize(
    'supports, weights, target, message',
    [
        (SUPPORTS, [[0.5, 0.5]], [4, 5, 6, 7, 8], 'supports and weights must have one shape'),
        (SUPPORTS, WEIGHTS[:1], [4, 5, 6, 7, 8], 'supports and weights must have one shape'),
        (SUPPORTS, WEIGHTS[0], [4, 5, 6, 7, 8], 'supports and weights must have one shape'),
        (SUPPORTS, WEIGHTS, [4, 5, 6], 'target_support must be as wide as supports'),
        (SUPPORTS, WEIGHTS, [[4] * 5] * 5, 'target_support must have one dimension'),
        (SUPPORTS, WEIGHTS, [8, 7, 6, 5, 4], 'target_support must be strictly increasing'),
        (SUPPORTS, WEIGHTS, [4, 4, 6, 8, 10], 'target_support must be strictly increasing'),
        (SUPPORTS, WEIGHTS, [4, 6, 7, 9, 10], 'target_support must be equally spaced'),
        (SUPPORTS, WEIGHTS, [4, 5, 6, 7, 8.001], 'target_support must be equally spaced'),
    ],
)
def test_run_time_checks(supports, weights, target, message):
    """With inputs of unknown rank, so that nothing is known before."""
    values = [np.array(x, np.float32) for x in (supports, weights, target)]
    placeholders = [v1.placeholder(tf.float32, None) for _ in values]
    projection = project_distribution(*placeholders, validate_args=True)
    with pytest.raises(tf.errors.InvalidArgumentError, match='assertion failed') as caught:
        run(projection, dict(zip(placeholders, values, strict=True)))
    assert message in caught.value.message


def test_inputs_of_unknown_rank():
    values = [np.array(x, np.float32) for x in (SUPPORTS, WEIGHTS, [4, 5, 6, 7, 8])]
    placeholders = [v1.placeholder(tf.float32, None) for _ in values]
    for validate in (False, True):
        projection = project_distribution(*placeholders, validate_args=validate)
        np.testing.assert_allclose(
            run(projection, dict(zip(placeholders, values, strict=True))),
            [[0.8, 0.0, 0.1, 0.0, 0.1], [0.8, 0.1, 0.1, 0.0, 0.0]],
            atol=1e-6,
        )


@pytest.mark.parametrize('num_atoms', [51, 201])
@pytest.mark.parametrize('vmax', [1.0, 3.3, 10.0, 100.0])
def test_rounding_of_a_linspace_is_not_unevenness(num_atoms, vmax):
    support = run(tf.linspace(-vmax, vmax, num_atoms))
    weights = np.full((1, num_atoms), 1 / num_atoms)
    result = project([support], weights, support, validate_args=True)
    np.testing.assert_allclose(result, weights, atol=1e-5)
    uneven = support.copy()
    uneven[num_atoms // 2] += 0.01 * (support[1] - support[0])
    with pytest.raises(tf.errors.InvalidArgumentError, match='equally spaced'):
        project([support], weights, uneven, validate_args=True)


# Targets and weights.


def test_distributional_target():
    result = rainbow_agent.distributional_target(
        tf.constant([1.0, -2.0]), tf.constant([0, 1], tf.uint8), tf.constant([-1.0, 0.0, 4.0]), 0.5
    )
    np.testing.assert_array_equal(run(result), [[0.5, 1.0, 3.0], [-2.0, -2.0, -2.0]])


def test_importance_weights():
    result = run(prioritization.importance_weights(tf.constant([4.0, 1.0, 16.0])))
    np.testing.assert_allclose(result, [0.5, 1.0, 0.25], rtol=1e-6)
    # A priority of zero has the weight 1e5 before the division.
    result = run(prioritization.importance_weights(tf.constant([0.0, 1.0])))
    np.testing.assert_allclose(result, [1.0, 1e-5], rtol=1e-6)


# A step on two transitions, with the support (-1, 0, 1) and the discount 0.5:
#     row 0: state (1, 2), action 1, reward 1/4, next state (1, 0); its probabilities for the target
#            network are (1/2, 1/4, 1/4) and (1/4, 1/4, 1/2), so that action 1 is best. The atoms go
#            to (-1/4, 1/4, 3/4), and with the weights (1/4, 1/4, 1/2) the target is
#            (1/16, 3/16 + 3/16 + 1/8, 1/16 + 3/8) = (1, 8, 7) / 16.
#     row 1: state (0, 1), action 0, reward -2, terminal; all atoms go to -1: (1, 0, 0).
# The online network's logits are zero: predictions (1/3, 1/3, 1/3), cross-entropies log 3.
# With the priorities 4 and 1 the weights are 1/2 and 1.

BATCH = dict(
    reward=np.array([0.25, -2.0], np.float32),
    next_state=np.array([[1, 0], [5, -3]], np.float32).reshape(2, 2, 1),
)
TARGET = np.log([[2, 1, 1, 1, 1, 2], [9, 8, 7, 6, 5, 4]])
LABELS = np.array([[1, 8, 7], [16, 0, 0]]) / 16


def make(agent_class=rainbow_agent.RainbowAgent, **arguments):
    settings = {
        **agent_cases.ARGUMENTS,
        'update_horizon': 1,
        'network': agent_cases.LinearRainbowNetwork,
        'num_atoms': 3,
        'vmax': 1.0,
        'epsilon_fn': dqn_agent.identity_epsilon,
        'epsilon_train': 0.0,
        'optimizer': v1.train.GradientDescentOptimizer(1.0),
    }
    settings.update(arguments)
    return agent_class(None, 2, **settings)


def hand_computed(**arguments):
    agent = make(agent_cases.with_replay(rainbow_agent.RainbowAgent, **BATCH), **arguments)
    agent_cases.set_weights(agent, np.zeros((2, 6)), TARGET)
    return agent


def test_target_distribution():
    agent = hand_computed()
    result = agent._sess.run(agent._build_target_distribution())
    np.testing.assert_allclose(result, LABELS, atol=1e-6)


@pytest.mark.parametrize('scheme, weights', [('prioritized', [0.5, 1.0]), ('uniform', [1.0, 1.0])])
def test_losses_priorities_and_gradient_step(scheme, weights):
    agent = hand_computed(replay_scheme=scheme)
    _, losses = agent._sess.run(agent._train_op)
    np.testing.assert_allclose(losses, np.multiply(weights, math.log(3)), rtol=1e-5)

    if scheme == 'prioritized':
        ((indices, priorities),) = agent._replay.priorities
        np.testing.assert_array_equal(indices, agent_cases.INDICES)
        np.testing.assert_allclose(priorities, [math.sqrt(math.log(3))] * 2, rtol=1e-5)
    else:
        assert agent._replay.priorities == []

    expected = np.zeros((2, 2, 3))  # W by state, action, atom
    expected[:, 1] -= weights[0] / 2 * np.outer([1, 2], 1 / 3 - LABELS[0])
    expected[:, 0] -= weights[1] / 2 * np.outer([0, 1], 1 / 3 - LABELS[1])
    result = agent_cases.online_weights(agent).reshape(2, 2, 3)
    np.testing.assert_allclose(result, expected, atol=1e-6)


@pytest.mark.parametrize('seed', range(3))
def test_step_equals_the_oracles(seed):
    generator = np.random.default_rng(seed)
    online, target = generator.normal(size=(2, 2, 2, 3))
    batch = (
        generator.normal(size=(2, 2)),
        np.array([1, 0]),
        generator.normal(size=2),
        generator.normal(size=(2, 2)),
        np.array([0, 0]),
    )
    priorities = generator.uniform(0.1, 3, 2)
    replay = dict(
        state=batch[0][..., None].astype(np.float32),
        action=batch[1].astype(np.int32),
        reward=batch[2].astype(np.float32),
        next_state=batch[3][..., None].astype(np.float32),
        terminal=batch[4].astype(np.uint8),
    )
    agent = make(
        agent_cases.with_replay(
            rainbow_agent.RainbowAgent, probabilities=tuple(priorities), **replay
        ),
        vmin=-0.5,
        vmax=1.5,
    )
    agent_cases.set_weights(agent, online.reshape(2, 6), target.reshape(2, 6))
    _, weighted = agent._sess.run(agent._train_op)
    losses, weights, kernel = agent_oracles.c51_step(
        batch, [-0.5, 0.5, 1.5], 0.5, online, target, priorities
    )
    np.testing.assert_allclose(weighted, losses * weights, rtol=1e-4)
    np.testing.assert_allclose(agent._replay.priorities[0][1], np.sqrt(losses), rtol=1e-4)
    np.testing.assert_allclose(
        agent_cases.online_weights(agent), kernel.reshape(2, 6), rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize('name', ['c51', 'rainbow'])
def test_golden_train_steps(golden, name):
    values = golden('train_steps')
    gin.parse_config(
        [
            'WrappedPrioritizedReplayBuffer.replay_capacity = 500',
            'WrappedPrioritizedReplayBuffer.batch_size = 32',
        ]
    )
    agent = rainbow_agent.RainbowAgent(
        None,
        2,
        observation_shape=(4, 1),
        observation_dtype=tf.float64,
        stack_size=1,
        network=legacy_networks.CartpoleRainbowNetwork,
        update_horizon=1 if name == 'c51' else 3,
        replay_scheme='uniform' if name == 'c51' else 'prioritized',
        optimizer=v1.train.AdamOptimizer(1e-3, epsilon=3.125e-4),
    )
    agent_cases.set_golden_weights(agent, 11, 12)
    elements = ('obs', 'action', 'reward', 'terminal', 'priority')
    for row in zip(*(values[f'{name}/{x}'] for x in elements), strict=True):
        agent._replay.add(*row)
    probe = values[f'{name}/probe']

    def q_values():
        return np.array(
            [
                agent._sess.run(agent._net_outputs.q_values, {agent.state_ph: state[None]})[0]
                for state in probe
            ]
        )

    np.testing.assert_allclose(q_values(), values[f'{name}/q_initial'], rtol=1e-5, atol=1e-5)
    after, results = agent_cases.golden_steps(agent, 5, q_values)
    for steps, result in after.items():
        np.testing.assert_allclose(
            result, values[f'{name}/q_after_{steps}'], rtol=2e-3, atol=2e-3, err_msg=f'{steps}'
        )
    np.testing.assert_allclose(
        [losses for _, losses in results],
        values[f'{name}/loss_per_transition_40x32'],
        rtol=2e-3,
        atol=2e-3,
    )
    if name == 'rainbow':
        np.testing.assert_allclose(
            agent._replay.memory.get_priority(np.arange(300, dtype=np.int32)),
            values['rainbow/priorities_after_40'],
            rtol=2e-3,
            atol=2e-3,
        )


# Support and schemes.


@pytest.fixture
def small_replay():
    gin.parse_config(
        [
            'WrappedPrioritizedReplayBuffer.replay_capacity = 20',
            'WrappedPrioritizedReplayBuffer.batch_size = 2',
        ]
    )


@pytest.mark.parametrize(
    'vmin, expected',
    [(None, [-4, -2, 0, 2, 4]), (0, [0, 1, 2, 3, 4]), (0.0, [0, 1, 2, 3, 4]), (2, None)],
)
def test_support(small_replay, vmin, expected):
    agent = make(vmin=vmin, vmax=4, num_atoms=5)
    expected = [2, 2.5, 3, 3.5, 4] if expected is None else expected
    np.testing.assert_array_equal(agent._sess.run(agent._support), expected)
    assert agent._num_atoms == 5


@pytest.mark.parametrize(
    'arguments, message',
    [
        (
            dict(replay_scheme='unknown'),
            "Invalid replay scheme: unknown. Expected 'prioritized' or 'uniform'.",
        ),
        (dict(num_atoms=1), 'num_atoms must be at least 2, got 1'),
        (dict(vmin=3.0, vmax=3.0), 'vmin must be below vmax, got vmin = 3.0 and vmax = 3.0'),
        (dict(vmax=0.0), 'vmin must be below vmax'),
    ],
)
def test_settings_out_of_range(arguments, message):
    with pytest.raises(ValueError, match=message):
        make(**arguments)


@pytest.mark.parametrize(
    'scheme, recorded, expected', [('prioritized', 7.0, 7.0), ('uniform', 7.0, 1.0)]
)
def test_priority_of_a_new_transition(small_replay, scheme, recorded, expected):
    agent = make(replay_scheme=scheme, min_replay_history=1000)
    agent._replay.memory.sum_tree.set(19, recorded)
    agent.begin_episode([1, 2])
    agent.step(0.5, [3, 4])
    agent.end_episode(1.0)
    assert agent._replay.memory.get_priority(np.array([0, 1], np.int32)).tolist() == [expected] * 2
    assert agent._replay.memory._store['terminal'][:2].tolist() == [0, 1]
    agent._store_transition(np.zeros(2), 0, 0.0, False, priority=0.125)
    assert agent._replay.memory.get_priority(np.int32([2]))[0] == 0.125


def test_priority_is_the_fifth_argument_of_add():
    agent = make(agent_cases.with_replay(rainbow_agent.RainbowAgent))
    agent._replay.memory.max_recorded_priority = 3.0
    agent.begin_episode([1, 2])
    agent.end_episode(1.0)
    agent.end_episode(2.0, terminal=False)  # `FixedReplay` does not take `episode_end`
    assert [row[2:] for row in agent._replay.added] == [(1.0, True, 3.0), (2.0, True, 3.0)]


def test_nothing_is_stored_in_eval_mode(small_replay):
    agent = make()
    agent.eval_mode = True
    agent.begin_episode([1, 2])
    agent.step(0.5, [3, 4])
    agent.end_episode(1.0)
    assert agent._replay.memory.add_count == 0


def test_cut_episode(small_replay):
    agent = make()
    agent.begin_episode([1, 2])
    agent.end_episode(1.0, terminal=False)
    assert agent._replay.memory._store['terminal'][0] == 0
    assert agent._replay.memory.episode_end_indices == {0}


def test_both_schemes_use_the_prioritized_buffer(small_replay):
    agent = make(replay_scheme='uniform')
    assert isinstance(agent._replay, prioritized_replay_buffer.WrappedPrioritizedReplayBuffer)


def test_summary_tag(tmp_path):
    agent = hand_computed(summary_writer=str(tmp_path))
    summary = v1.Summary.FromString(agent._sess.run(agent._merged_summaries))
    ((tag, value),) = [(v.tag, v.simple_value) for v in summary.value]
    assert tag == 'Losses/CrossEntropyLoss'
    assert value == pytest.approx(0.75 * math.log(3), rel=1e-5)  # of the weighted losses


def test_checkpoint_round_trip(small_replay, tmp_path):
    agent = make(min_replay_history=3, update_period=1)
    agent.begin_episode([1, 2])
    for i in range(5):
        agent.step(1.0, [i, 2])
    bundle = agent.bundle_and_checkpoint(str(tmp_path), 0)
    priorities = agent._replay.memory.get_priority(np.arange(5, dtype=np.int32))
    weights = agent_cases.online_weights(agent)
    v1.reset_default_graph()
    restored = make()
    assert restored.unbundle(str(tmp_path), 0, bundle)
    np.testing.assert_array_equal(agent_cases.online_weights(restored), weights)
    np.testing.assert_array_equal(
        restored._replay.memory.get_priority(np.arange(5, dtype=np.int32)), priorities
    )
    assert restored.training_steps == 6


# Inheritance.


def test_own_optimizer(small_replay):
    agent = make(optimizer=None)
    assert isinstance(agent.optimizer, v1.train.AdamOptimizer)


def test_gin_bindings_on_dqn_reach_what_rainbow_does_not_pass(small_replay):
    gin.parse_config(
        [
            'DQNAgent.allow_partial_reload = True',
            'DQNAgent.eval_mode = True',
            'DQNAgent.max_tf_checkpoints_to_keep = 2',
            'DQNAgent.gamma = 0.125',  # passed by Rainbow
        ]
    )
    agent = make()
    assert agent.allow_partial_reload is True
    assert agent.eval_mode is True
    assert agent._saver.saver_def.max_to_keep == 2
    assert agent.gamma == 0.5


def test_what_rainbow_passes_to_dqn(small_replay, monkeypatch):
    passed = {}

    def record(self, **arguments):
        passed.update(arguments)

    monkeypatch.setattr(dqn_agent.DQNAgent, '__init__', record)
    make()
    of_dqn = set(inspect.signature(rainbow_agent.RainbowAgent).parameters)
    own = {'num_atoms', 'vmin', 'vmax', 'replay_scheme'}
    assert set(passed) == of_dqn - own
    assert not {'eval_mode', 'max_tf_checkpoints_to_keep', 'allow_partial_reload'} & set(passed)


def test_diamond_of_user_classes(small_replay):
    """The parent's constructor is called by name: another second base is not asked for."""

    class Mixin(dqn_agent.DQNAgent):
        def __init__(self, *arguments, **keywords):
            raise AssertionError('not in the line of RainbowAgent')

        def bonus(self):
            return 5

    class Agent(rainbow_agent.RainbowAgent, Mixin):
        def __init__(self, *arguments, **keywords):
            rainbow_agent.RainbowAgent.__init__(self, *arguments, **keywords)

    agent = make(Agent)
    assert agent.bonus() == 5
    assert agent.begin_episode([1, 2]) in (0, 1)


def graph_function(num_actions, num_atoms, support, network_type, state):
    """A network of Dopamine 2."""
    features = tf.reshape(tf.cast(state, tf.float32), [-1, 2])
    kernel = v1.get_variable(
        'kernel', [2, num_actions * num_atoms], initializer=v1.zeros_initializer()
    )
    logits = tf.reshape(tf.matmul(features, kernel), [-1, num_actions, num_atoms])
    probabilities = tf.nn.softmax(logits)
    return network_type(tf.reduce_sum(support * probabilities, axis=2), logits, probabilities)


def test_function_of_dopamine_2_as_network():
    agent = hand_computed(network=graph_function)
    np.testing.assert_allclose(
        agent._sess.run(agent._build_target_distribution()), LABELS, atol=1e-6
    )
    _, losses = agent._sess.run(agent._train_op)
    np.testing.assert_allclose(losses, np.multiply([0.5, 1.0], math.log(3)), rtol=1e-5)
    assert np.abs(agent_cases.online_weights(agent)).max() > 0.1
