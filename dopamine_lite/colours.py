"""The colours of every picture, and the names under which agents are shown.

The colours are Okabe and Ito's, which the colour-blind can tell apart. An agent has the same colour,
line and marker wherever it is drawn.
"""

import itertools
import zlib
from typing import NamedTuple

BLACK = '#000000'
ORANGE = '#E69F00'
SKY_BLUE = '#56B4E9'
GREEN = '#009E73'
YELLOW = '#F0E442'
BLUE = '#0072B2'
VERMILION = '#D55E00'
PURPLE = '#CC79A7'

# For lines and bars that are no agents, such as the actions of one, in this order; yellow is too
# pale for a line on white.
SERIES = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY_BLUE, BLACK)

# The phases of a run.
TRAINING, EVALUATION = BLUE, VERMILION


class _Look(NamedTuple):
    colour: str
    linestyle: str
    marker: str


# Name of an agent -> how it is drawn. Those that are compared most differ in colour.
_LOOKS = {
    'DQN': _Look(BLUE, '-', 'o'),
    'Rainbow': _Look(VERMILION, '--', 's'),
    'C51': _Look(GREEN, '-.', '^'),
    'IQN': _Look(PURPLE, ':', 'D'),
    'QR-DQN': _Look(ORANGE, '-', 'v'),
    'Full Rainbow': _Look(SKY_BLUE, '--', 'P'),
    'DQN with PER': _Look(BLACK, '-', 'X'),
    'Double DQN': _Look(SKY_BLUE, ':', '1'),
    'Double DQN with PER': _Look(BLACK, '--', '<'),
    'Dueling Double DQN': _Look(SKY_BLUE, '-.', '2'),
    'Dueling Double DQN with PER': _Look(BLACK, ':', '>'),
    'SARSA': _Look(BLACK, '-.', 'd'),
    'Atari 100k Rainbow': _Look(SKY_BLUE, '-', 'p'),
    'DER': _Look(BLUE, '--', 'h'),
    'OTRainbow': _Look(VERMILION, '-', '*'),
    'DrQ': _Look(GREEN, '-', 'H'),
    'DrQ(eps)': _Look(PURPLE, '-', '8'),
}

# What agents are called in gin files, and by Dopamine's published results.
_ALIASES = {
    'dqn': 'DQN',
    'rainbow': 'Rainbow',
    'c51': 'C51',
    'iqn': 'IQN',
    'implicit_quantile': 'IQN',
    'quantile': 'QR-DQN',
    'qr_dqn': 'QR-DQN',
    'prioritized_dqn': 'DQN with PER',
    'ddqn_per': 'Double DQN with PER',
    'dueling_ddqn_per': 'Dueling Double DQN with PER',
    'drq_eps': 'DrQ(eps)',
}

ALIASES = {
    **{name.lower().replace('-', '_').replace(' ', '_'): name for name in _LOOKS},
    **_ALIASES,
}

# An agent of the user's own takes one of these, always the same.
_FREE_LOOKS = [
    _Look(colour, linestyle, marker)
    for colour, (linestyle, marker) in itertools.product(
        (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY_BLUE, BLACK),
        (((0, (5, 1, 1, 1, 1, 1)), 'o'), ((0, (1, 3)), 's'), ((0, (8, 3)), '^')),
    )
]


def agent_name(name: str) -> str:
    """The name that an agent is shown under: 'implicit_quantile' gives 'IQN'; others stay."""
    return ALIASES.get(name.lower().replace('-', '_').replace(' ', '_'), name)


def _look(name: str) -> _Look:
    name = agent_name(name)
    # Not `hash`, which is another in each process.
    return _LOOKS.get(name) or _FREE_LOOKS[zlib.crc32(name.encode()) % len(_FREE_LOOKS)]


def agent_colour(name: str) -> str:
    """The colour of an agent, '#rrggbb', by its name in gin files ('rainbow') or in pictures."""
    return _look(name).colour


def agent_style(name: str) -> dict:
    """What matplotlib's `plot` is to draw an agent's curve with: color and linestyle."""
    look = _look(name)
    return {'color': look.colour, 'linestyle': look.linestyle}


def agent_marker(name: str) -> str:
    """The marker of an agent's points, in matplotlib's notation."""
    return _look(name).marker


def rgb(colour: str) -> tuple[int, int, int]:
    """A colour '#rrggbb' as red, green and blue from 0 to 255."""
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)
