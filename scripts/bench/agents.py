"""Times whole agents, environment included, and Rainbow on Pong against the bare cost of its parts.

    python scripts/bench/agents.py [--steps 4000] [--agents dqn_cartpole ...] [--json agents.json]

For each gin file: agent steps a second of its training phase, after the replay has enough to train,
in several parts of which the median is printed, and the time of an update. For Atari the replay is
small and the warm-up short; everything else is the gin file's.

The bare rate of an Atari agent step is what nobody can save: a step of the environment, the call that
acts, and an update's share of the train call on one constant batch, timed apart in the same process
and session; beside it the same parts timed in turn, when each evicts what the next had in the caches.
All three are timed in turns and compared turn by turn, for a machine's speed drifts over minutes.

Where stable-baselines3 is installed, its DQN trains on CartPole with the settings of
`dqn_cartpole.gin`, in turns with ours.
"""

import os
import random
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec

os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '2')

import gin
import measure
import numpy as np

from dopamine_lite.discrete_domains import run_experiment
from dopamine_lite.tf.prepared_call import PreparedCall
from dopamine_lite.tf.replay_memory import circular_replay_buffer

import tensorflow as tf  # isort: skip  (after the package, which says which Keras it is)

CONFIGS = os.path.join(os.path.dirname(__file__), '..', '..', 'configs')
PARTS = 7
SMALL_ATARI = [
    'WrappedReplayBuffer.replay_capacity = 20000',
    'WrappedPrioritizedReplayBuffer.replay_capacity = 20000',
    'DQNAgent.min_replay_history = 500',
    'RainbowAgent.min_replay_history = 500',
    # As after the decay, for a random action costs nothing.
    'DQNAgent.epsilon_decay_period = 1',
    'RainbowAgent.epsilon_decay_period = 1',
]


class Nothing:
    """Statistics that nobody wants."""

    def append(self, statistics):
        pass


def runner(name, bindings=()):
    gin.clear_config()
    tf.compat.v1.reset_default_graph()
    random.seed(0)
    np.random.seed(0)
    tf.compat.v1.set_random_seed(0)
    path = os.path.join(CONFIGS, f'{name}.gin')
    with open(path, encoding='utf-8') as file:
        is_atari = 'create_atari_environment' in file.read()
    run_experiment.load_gin_configs(
        [path],
        [
            'Runner.fine_grained_print_to_console = False',
            *(SMALL_ATARI if is_atari else ()),
            *bindings,
        ],
    )
    return run_experiment.create_runner(tempfile.mkdtemp()), is_atari


def rate(made, steps):
    start = time.perf_counter()
    taken, _, _ = made._run_one_phase(steps, Nothing(), 'train')
    return taken / (time.perf_counter() - start)


def check(made):
    """Stops unless an update changes the online network and nothing is NaN."""
    agent = made._agent
    variables = agent.online_convnet.trainable_variables
    before = agent._sess.run(variables)
    agent._update_online_network()
    after = agent._sess.run(variables)
    assert all(np.isfinite(value).all() for value in after)
    assert any((a != b).any() for a, b in zip(before, after, strict=True))


def constant_batch_agent(name, agent):
    """Returns a runner whose graph trains on one and the same batch of `agent`'s replay."""
    batch = agent._replay.memory.sample_transition_batch()
    original = circular_replay_buffer.WrappedReplayBuffer.create_sampling_ops

    def constant(self, use_staging):
        elements = self.memory.get_transition_elements()
        # Variables, for a constant would be folded into what is computed of it.
        tensors = [
            tf.compat.v1.get_variable(f'batch/{element.name}', initializer=array, trainable=False)
            for element, array in zip(elements, batch, strict=True)
        ]
        self.unpack_transition([tf.identity(tensor) for tensor in tensors], elements)

    circular_replay_buffer.WrappedReplayBuffer.create_sampling_ops = constant
    try:
        made, _ = runner(name, ["RainbowAgent.replay_scheme = 'uniform'"])
    finally:
        circular_replay_buffer.WrappedReplayBuffer.create_sampling_ops = original
    return made


def bare_parts(name, made):
    """Returns the parts of an agent step that nobody can save, as functions."""
    agent = made._agent
    bare = constant_batch_agent(name, agent)
    environment = bare._environment
    environment.reset()

    def step():
        environment.step(random.randrange(environment.action_space.n))
        if environment.game_over:
            environment.reset()

    act = PreparedCall(bare._agent._sess, bare._agent._q_argmax, bare._agent.state_ph)
    train = PreparedCall(bare._agent._sess, bare._agent._train_op)
    state = agent.state
    return {'environment': step, 'act': lambda: act.evaluate(state), 'train': train.execute}


def mean_us(operation, calls):
    """Returns the microseconds of a call, after two untimed ones. The mean, as a rate has it."""
    operation()
    operation()
    start = time.perf_counter()
    for _ in range(calls):
        operation()
    return 1e6 * (time.perf_counter() - start) / calls


def in_turn(parts, period):
    """Returns one update's steps, of parts that follow each other as in training.

    Each finds the processor's caches as the part before it left them, which alone it does not.
    """
    order = [parts[name] for name in ('train', *('act', 'environment') * period)]

    def steps():
        for part in order:
            part()

    return steps


def bare_rates(parts, period):
    """Returns the parts' microseconds, and the steps a second of them apart and in turn."""
    apart = {name: mean_us(part, 25 if name == 'train' else 100) for name, part in parts.items()}
    rate_apart = 1e6 / (apart['environment'] + apart['act'] + apart['train'] / period)
    return apart, rate_apart, 1e6 * period / mean_us(in_turn(parts, period), 25)


def stable_baselines3():
    """Starts the process that trains Stable-Baselines3's DQN."""
    script = os.path.join(os.path.dirname(__file__), 'stable_baselines3_dqn.py')
    return subprocess.Popen(
        [sys.executable, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def stable_baselines3_rate(process, steps):
    """Trains it for so many agent steps; returns how many it took a second."""
    process.stdin.write(f'{steps}\n')
    process.stdin.flush()
    return float(process.stdout.readline())


def main():
    parser = measure.parser(__doc__)
    parser.add_argument('--steps', type=int, default=4000, help='agent steps on classic control')
    parser.add_argument('--atari-steps', type=int, default=1400)
    parser.add_argument(
        '--agents',
        nargs='+',
        default=['dqn_cartpole', 'rainbow_cartpole', 'c51_cartpole', 'rainbow'],
        help='names of gin files',
    )
    arguments = parser.parse_args()
    figures = {}
    for name in arguments.agents:
        made, is_atari = runner(name)
        total = arguments.atari_steps if is_atari else arguments.steps
        rate(made, 1000)
        check(made)
        theirs = None
        if name == 'dqn_cartpole' and find_spec('stable_baselines3'):
            theirs = stable_baselines3()
            stable_baselines3_rate(theirs, 1000)
        parts, period = bare_parts(name, made) if is_atari else {}, made._agent.update_period
        rates, their_rates, bare = [], [], []
        for _ in range(PARTS):
            rates.append(rate(made, total // PARTS))
            if theirs:
                their_rates.append(stable_baselines3_rate(theirs, total // PARTS))
            if parts:
                bare.append(bare_rates(parts, period))
        if theirs:
            theirs.communicate()
        update = measure.medians_us({'update': made._agent._update_online_network}, 200)['update']
        figures[name] = {
            'steps_per_second': float(np.median(rates)),
            'parts': rates,
            'update_us': update,
        }
        print(f'{name:32}{np.median(rates):8.0f} agent steps a second{update:10.0f} us an update')
        if their_rates:
            ratio = np.median(rates) / np.median(their_rates)
            print(f'  {ratio:.2f} times stable-baselines3 ({np.median(their_rates):.0f})')
            figures[name] |= {'stable_baselines3_parts': their_rates, 'over_theirs': ratio}
        if bare:
            apart = {part: float(np.median([each[0][part] for each in bare])) for part in parts}
            figures[name]['bare_us'] = apart
            for column, kind in (1, 'apart'), (2, 'in turn'):
                bare_rate = [each[column] for each in bare]
                share = np.median(np.divide(rates, bare_rate))
                print(f'  {100 * share:.1f} % of {np.median(bare_rate):.0f}, its parts {kind}')
                key = kind.replace(' ', '_')
                figures[name] |= {
                    f'parts_{key}': bare_rate,
                    f'share_of_parts_{key}': share,
                }
            print(f'  {apart}')
    measure.finish({'agents': figures}, arguments.json)
    return 0


if __name__ == '__main__':
    sys.exit(main())
