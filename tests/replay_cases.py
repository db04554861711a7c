"""Episodes and what is to be sampled from them, as named data.

Each case adds transitions to a buffer of frames of shape (1,) with gamma 0.5; the frame, action and
reward of the j-th transition are 10 + j, j and 2 ** j. It then says, for each index that may be
sampled, the state, the n-step reward, the terminal, and the next state where it has a meaning. All
by hand.
"""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Case:
    """One buffer and its valid transitions.

    Attributes:
      transitions: one letter each: `.` goes on, `T` a terminal, `C` a cut.
      expected: index -> (state, reward, terminal, next state or None).
    """

    name: str
    capacity: int
    stack_size: int
    horizon: int
    transitions: str
    expected: dict


CASES = [
    # Places:  0  1  2  3
    # frames: 10 11 12 13      cursor 4; the last transition has no next state yet
    Case(
        'one step, no end',
        capacity=8,
        stack_size=1,
        horizon=1,
        transitions='....',
        expected={
            0: ([10], 1.0, 0, [11]),
            1: ([11], 2.0, 0, [12]),
            2: ([12], 4.0, 0, [13]),
        },
    ),
    # Places:  0  1  2  3   4
    # frames:  0 10 11 12  13   one padding before the first
    Case(
        'a stack of two is padded at the start',
        capacity=8,
        stack_size=2,
        horizon=1,
        transitions='....',
        expected={
            1: ([0, 10], 1.0, 0, [10, 11]),
            2: ([10, 11], 2.0, 0, [11, 12]),
            3: ([11, 12], 4.0, 0, [12, 13]),
        },
    ),
    # Places:  0  1  2T 3  4  5
    # rewards: 1  2  4  8 16 32
    Case(
        'the steps stop at a terminal',
        capacity=8,
        stack_size=1,
        horizon=3,
        transitions='..T...',
        expected={
            0: ([10], 1.0 + 0.5 * 2 + 0.25 * 4, 1, None),
            1: ([11], 2.0 + 0.5 * 4, 1, None),
            2: ([12], 4.0, 1, None),
        },
    ),
    # Places:  0  1  2C 3  4  5  6
    # rewards: 1  2  4  8 16 32 64
    Case(
        'what leads to a cut within the horizon is never sampled',
        capacity=9,
        stack_size=1,
        horizon=2,
        transitions='..C....',
        expected={
            0: ([10], 1.0 + 0.5 * 2, 0, [12]),
            3: ([13], 8.0 + 0.5 * 16, 0, [15]),
            4: ([14], 16.0 + 0.5 * 32, 0, [16]),
        },
    ),
    # Places:  0  1  2  3T 4  5  6  7     paddings at 0, 1 and 4, 5
    # frames:  0  0 10 11  0  0 12 13
    Case(
        'the padding after a terminal is never sampled, the first frame after it is',
        capacity=12,
        stack_size=3,
        horizon=1,
        transitions='.T..',
        expected={
            2: ([0, 0, 10], 1.0, 0, [0, 10, 11]),
            3: ([0, 10, 11], 2.0, 1, None),
            6: ([0, 0, 12], 4.0, 0, [0, 12, 13]),
        },
    ),
    # Places:  0  1  2C 3  4  5     paddings at 0 and 3
    # frames:  0 10 11  0 12 13
    Case(
        'the padding after a cut is never sampled either',
        capacity=12,
        stack_size=2,
        horizon=1,
        transitions='.C..',
        expected={
            1: ([0, 10], 1.0, 0, [10, 11]),
            4: ([0, 12], 4.0, 0, [12, 13]),
        },
    ),
    # Seven transitions in five places; the cursor is at 2.
    # Places:  0  1 |2  3  4
    # frames: 15 16 12 13 14      2 is the oldest: no stack reaches across the cursor
    Case(
        'wrapped around',
        capacity=5,
        stack_size=1,
        horizon=2,
        transitions='.......',
        expected={
            3: ([13], 8.0 + 0.5 * 16, 0, [15]),
            4: ([14], 16.0 + 0.5 * 32, 0, [16]),
        },
    ),
    # Seven transitions and a padding in six places; the cursor is at 2.
    # Places:  0  1 |2  3  4  5
    # frames: 15 16 11 12 13 14
    Case(
        'a stack across the end of the array',
        capacity=6,
        stack_size=2,
        horizon=1,
        transitions='.......',
        expected={
            4: ([12, 13], 8.0, 0, [13, 14]),
            5: ([13, 14], 16.0, 0, [14, 15]),
            0: ([14, 15], 32.0, 0, [15, 16]),
        },
    ),
]
