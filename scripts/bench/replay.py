"""Times the prioritized replay on Atari-sized transitions, beside the cost of copying its bytes.

    python scripts/bench/replay.py [--stored 10000 100000] [--repeats 2000] [--json replay.json]

Prints the median of each operation in microseconds. `copy` moves the frames of a batch's stacks from
the same store into memory that is already there: the floor for `sample`. `session` is a run of the
graph that draws a batch and sets its priorities. Where dopamine-rl, cpprb, tianshou or
stable-baselines3 is installed, its buffer is filled with the same transitions and timed in turns with
ours. A million transitions take 7.1 GB for each buffer: add `--no-others` there.
"""

import os
import random
import sys

os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '2')

import measure
import numpy as np

from dopamine_lite.tf.agents.dqn import dqn_agent
from dopamine_lite.tf.prepared_call import PreparedCall
from dopamine_lite.tf.replay_memory import prioritized_replay_buffer

import tensorflow as tf  # isort: skip  (after the package, which says which Keras it is)

SHAPE, STACK_SIZE, HORIZON, BATCH_SIZE, GAMMA = (84, 84), 4, 3, 32, 0.99
FRAMES = np.random.default_rng(0).integers(0, 256, (997, *SHAPE), np.uint8)
PRIORITIES = np.random.default_rng(1).uniform(0.5, 2.0, BATCH_SIZE).astype(np.float32)


def transition(i):
    """Returns the i-th transition: (frame, action, reward, terminal)."""
    return FRAMES[i % len(FRAMES)], i % 4, 1.0, i % 1000 == 999


def filled(stored):
    """Returns a wrapped buffer of `stored` places, full, with random priorities."""
    replay = prioritized_replay_buffer.WrappedPrioritizedReplayBuffer(
        SHAPE,
        STACK_SIZE,
        replay_capacity=stored,
        batch_size=BATCH_SIZE,
        update_horizon=HORIZON,
        gamma=GAMMA,
    )
    for i in range(stored):
        replay.add(*transition(i), 1.0)
    memory = replay.memory
    indices = np.arange(stored, dtype=np.int32)
    noise = np.random.default_rng(2).uniform(0.5, 2.0, stored)
    # Padding keeps its priority of zero.
    memory.set_priority(indices, memory.get_priority(indices) * noise)
    return replay


def check(memory):
    """Stops unless a batch is what slicing and stacking in NumPy give."""
    batch = memory.sample_transition_batch()
    frames, rewards = memory._store['observation'], memory._store['reward']
    for row, index in enumerate(batch[7]):
        assert memory.is_valid_transition(index)
        steps = np.arange(index, index + HORIZON) % len(frames)
        ended = np.flatnonzero(memory._store['terminal'][steps])
        steps = steps[: ended[0] + 1] if ended.size else steps
        back = np.arange(index - STACK_SIZE + 1, index + 1) % len(frames)
        following = (back + len(steps)) % len(frames)
        assert np.array_equal(batch[0][row], np.moveaxis(frames[back], 0, -1))
        assert np.array_equal(batch[3][row], np.moveaxis(frames[following], 0, -1))
        expected = sum(GAMMA**k * rewards[step] for k, step in enumerate(steps))
        assert np.isclose(batch[2][row], expected)
        assert batch[6][row] == bool(ended.size)
        assert batch[8][row] == np.float32(memory.sum_tree.get(int(index)))


def check_stacks(states, next_states, steps):
    """Stops unless most rows [K, 84, 84] hold consecutive frames, and the next ones `steps` later.

    Those at the end of an episode need not.
    """
    ids = {frame.tobytes(): i for i, frame in enumerate(FRAMES)}
    right = 0
    for state, next_state in zip(states, next_states, strict=True):
        first = ids[state[0].tobytes()]
        found = [ids.get(frame.tobytes()) for frame in (*state, *next_state)]
        right += found == [*range(first, first + 4), *range(first + steps, first + steps + 4)]
    assert right >= 0.8 * len(states), f'{right} of {len(states)} rows are as expected'


def our_operations(replay):
    memory = replay.memory
    stored = memory._replay_capacity
    rows = memory._store['observation'].reshape(stored, -1)
    copied = np.empty((2 * BATCH_SIZE, STACK_SIZE, rows.shape[1]), np.uint8)
    rng = np.random.default_rng(3)

    def places():
        return rng.integers(STACK_SIZE, stored - STACK_SIZE - HORIZON, BATCH_SIZE)

    drawn = [places().tolist() for _ in range(997)]
    updated = [places().astype(np.int32) for _ in range(997)]
    counter = iter(range(sys.maxsize))

    def copy():
        for row, place in enumerate(drawn[next(counter) % 997]):
            copied[row] = rows[place - STACK_SIZE + 1 : place + 1]
            place += HORIZON
            copied[BATCH_SIZE + row] = rows[place - STACK_SIZE + 1 : place + 1]

    step = PreparedCall(
        dqn_agent.create_session(),
        [replay.tf_set_priority(replay.indices, tf.constant(PRIORITIES)), replay.states],
    )
    return {
        'copy': copy,
        'sample': memory.sample_transition_batch,
        'set_priority': lambda: memory.set_priority(updated[next(counter) % 997], PRIORITIES),
        'add': lambda: memory.add(*transition(next(counter)), 1.0),
        'session': step.execute,
    }


def dopamine(stored):
    """Dopamine's own buffer; it gives our batch for our seed, which is checked."""
    from dopamine.tf.replay_memory import prioritized_replay_buffer as theirs

    memory = theirs.OutOfGraphPrioritizedReplayBuffer(
        SHAPE, STACK_SIZE, stored, BATCH_SIZE, update_horizon=HORIZON, gamma=GAMMA
    )
    ours = prioritized_replay_buffer.OutOfGraphPrioritizedReplayBuffer(
        SHAPE, STACK_SIZE, 3000, BATCH_SIZE, update_horizon=HORIZON, gamma=GAMMA
    )
    small = theirs.OutOfGraphPrioritizedReplayBuffer(
        SHAPE, STACK_SIZE, 3000, BATCH_SIZE, update_horizon=HORIZON, gamma=GAMMA
    )
    batches = []
    for buffer in (ours, small):
        for i in range(2500):
            buffer.add(*transition(i), 1.0)
        random.seed(0)
        batches.append(buffer.sample_transition_batch())
    for a, b in zip(*batches, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)
    for i in range(stored):
        memory.add(*transition(i), 1.0)
    rng = np.random.default_rng(3)
    indices = rng.integers(4, stored - 8, BATCH_SIZE).astype(np.int32)
    counter = iter(range(sys.maxsize))
    return {
        'sample': memory.sample_transition_batch,
        'set_priority': lambda: memory.set_priority(indices, PRIORITIES),
        'add': lambda: memory.add(*transition(next(counter)), 1.0),
    }


def cpprb(stored):
    """cpprb's prioritized buffer with its n-step returns and compressed stacks."""
    import cpprb as theirs

    buffer = theirs.PrioritizedReplayBuffer(
        stored,
        {
            'obs': {'shape': (*SHAPE, STACK_SIZE), 'dtype': np.uint8},
            'act': {'dtype': np.int32},
            'rew': {},
            'next_obs': {'shape': (*SHAPE, STACK_SIZE), 'dtype': np.uint8},
            'done': {},
        },
        next_of='obs',
        stack_compress='obs',
        Nstep={'size': HORIZON, 'gamma': GAMMA, 'rew': 'rew', 'next': 'next_obs'},
    )
    stacks = [np.moveaxis(FRAMES[i : i + STACK_SIZE + 1], 0, -1).copy() for i in range(900)]
    counter = iter(range(sys.maxsize))

    def add():
        i = next(counter)
        stack = stacks[i % 900]
        done = i % 900 == 899
        buffer.add(obs=stack[..., :-1], act=0, rew=1.0, next_obs=stack[..., 1:], done=done)
        if done:
            buffer.on_episode_end()

    for _ in range(stored):
        add()
    batch = buffer.sample(BATCH_SIZE)
    check_stacks(np.moveaxis(batch['obs'], -1, 1), np.moveaxis(batch['next_obs'], -1, 1), HORIZON)
    return {
        'sample': lambda: buffer.sample(BATCH_SIZE),
        'set_priority': lambda: buffer.update_priorities(batch['indexes'], PRIORITIES),
        'add': add,
    }


def tianshou(stored):
    """tianshou's prioritized buffer with stacks; it has no n-step returns in a batch."""
    from tianshou.data import Batch, PrioritizedReplayBuffer

    buffer = PrioritizedReplayBuffer(
        stored, alpha=1.0, beta=0.5, stack_num=STACK_SIZE, ignore_obs_next=True
    )
    counter = iter(range(sys.maxsize))

    def add():
        frame, action, reward, terminal = transition(next(counter))
        buffer.add(
            Batch(
                obs=frame, act=action, rew=reward, terminated=terminal, truncated=False,
                obs_next=frame, info={},
            )
        )  # fmt: skip

    for _ in range(stored):
        add()
    batch, indices = buffer.sample(BATCH_SIZE)
    check_stacks(batch.obs, batch.obs_next, 1)
    return {
        'sample': lambda: buffer.sample(BATCH_SIZE),
        'set_priority': lambda: buffer.update_weight(indices, PRIORITIES),
        'add': add,
    }


def stable_baselines3(stored):
    """Stable-Baselines3's uniform buffer; it stores whole stacks, so a tenth of the places."""
    import gymnasium
    from stable_baselines3.common.buffers import ReplayBuffer

    space = gymnasium.spaces.Box(0, 255, (STACK_SIZE, *SHAPE), np.uint8)
    buffer = ReplayBuffer(
        max(stored // 10, 1000), space, gymnasium.spaces.Discrete(4), optimize_memory_usage=False
    )
    stacks = [FRAMES[None, i : i + STACK_SIZE] for i in range(900)]
    counter = iter(range(sys.maxsize))

    def add():
        i = next(counter)
        buffer.add(
            stacks[i % 900], stacks[(i + 1) % 900], np.array([0]), np.array([1.0]),
            np.array([i % 900 == 899]), [{}],
        )  # fmt: skip

    for _ in range(buffer.buffer_size):
        add()
    batch = buffer.sample(BATCH_SIZE)
    check_stacks(batch.observations.numpy(), batch.next_observations.numpy(), 1)
    return {'sample': lambda: buffer.sample(BATCH_SIZE), 'add': add}


OTHERS = {
    'dopamine-rl': dopamine,
    'cpprb': cpprb,
    'tianshou': tianshou,
    'stable-baselines3': stable_baselines3,
}


def measured(stored, repeats, with_others):
    """Returns the medians of our operations, and of the others' by package."""
    tf.compat.v1.reset_default_graph()
    random.seed(0)
    replay = filled(stored)
    check(replay.memory)
    operations = our_operations(replay)
    for package, make in OTHERS.items() if with_others else ():
        try:
            theirs = make(stored)
        except ImportError as error:
            print(f'{package}: not measured ({error})')
            continue
        operations |= {f'{package} {name}': call for name, call in theirs.items()}
    return measure.medians_us(operations, repeats)


def main():
    parser = measure.parser(__doc__)
    parser.add_argument('--stored', type=int, nargs='+', default=[10_000, 100_000])
    parser.add_argument('--repeats', type=int, default=2000, help='timed calls of each operation')
    parser.add_argument('--no-others', action='store_true', help='leave other packages out')
    arguments = parser.parse_args()
    tf.compat.v1.disable_v2_behavior()
    sizes = {}
    for stored in arguments.stored:
        times = measured(stored, arguments.repeats, not arguments.no_others)
        over_copy = times['sample'] / times['copy']
        print(f'{stored} stored')
        for name, value in times.items():
            ours = name.split()[-1]
            ratio = '' if name == ours else f'{value / times[ours]:8.1f} times ours'
            print(f'  {name:32}{value:10.1f} us{ratio}')
        print(f'  sample takes {over_copy:.2f} times the copy of its stacks')
        sizes[stored] = {'median_us': times, 'sample_over_copy': over_copy}
    least = sizes[arguments.stored[0]]['median_us']
    scaling = {
        stored: {name: value / least[name] for name, value in figures['median_us'].items()}
        for stored, figures in sizes.items()
    }
    measure.finish(
        {'batch_size': BATCH_SIZE, 'by_stored': sizes, 'times_the_first': scaling}, arguments.json
    )
    return 0


if __name__ == '__main__':
    sys.exit(main())
