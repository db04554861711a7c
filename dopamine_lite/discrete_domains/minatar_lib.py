"""MinAtar's small Atari-like games (Young and Tian 2019, arXiv:1903.03176), as the runner takes them.

They need the extra `minatar` (`pip install dopamine_lite[minatar]`).
"""

import contextlib
import difflib
import logging

import gin
import gymnasium
import numpy as np
import tensorflow as tf

from dopamine_lite import bounds, colours
from dopamine_lite.discrete_domains import gym_lib

_CHANNELS = {'asterix': 4, 'breakout': 4, 'freeway': 7, 'seaquest': 10, 'space_invaders': 6}
GAMES = tuple(_CHANNELS)
# Of the channels, in which the player comes first; with white and two more, for the longest has ten.
_CHANNEL_COLOURS = [
    *map(colours.rgb, ('#FFFFFF', *colours.SERIES[:6], colours.YELLOW, '#999999', '#994F00'))
]

# Gin files say `%minatar_lib.BREAKOUT_SHAPE`. The observations are zeros and ones.
with contextlib.suppress(ValueError):  # defined already, when this module is reloaded
    gin.constant('minatar_lib.DTYPE', tf.uint8)
    for _game, _channels in _CHANNELS.items():
        gin.constant(f'minatar_lib.{_game.upper()}_SHAPE', (10, 10, _channels))


def _register_environments() -> None:
    """Makes MinAtar's environments known to Gymnasium."""
    # On import it warns that it cannot draw without seaborn, on the root logger.
    earlier = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        from minatar import gym as minatar_gym
    except ImportError as error:
        raise ImportError(
            f'the MinAtar games need the package minatar: pip install "dopamine_lite[minatar]" '
            f'({error})',
            name=error.name,
        ) from error
    finally:
        logging.disable(earlier)
    if 'MinAtar/Breakout-v0' not in gymnasium.registry:
        minatar_gym.register_envs()


@gin.configurable
def create_minatar_environment(game_name: str | None = None) -> 'MinAtarEnvironment':
    """Makes a MinAtar game with all six actions, sticky (probability 0.1), of rising difficulty.

    Args:
      game_name: one of `GAMES`.

    Raises:
      ValueError: no such game; says which is nearest.
      ImportError: the package minatar is missing.
    """
    assert game_name is not None, 'create_minatar_environment needs a game_name'
    bounds.require_text(game_name=game_name)
    if game_name not in GAMES:
        nearest = difflib.get_close_matches(game_name, GAMES, n=1, cutoff=0.4)
        hint = f"; did you mean '{nearest[0]}'?" if nearest else ''
        raise ValueError(f"no MinAtar game '{game_name}' among {', '.join(GAMES)}{hint}")
    _register_environments()
    full_id = f'MinAtar/{game_name.title().replace("_", "")}-v0'
    # Made from its specification, which spares the advice to take v1: that has fewer actions.
    return MinAtarEnvironment(gymnasium.make(gymnasium.spec(full_id), disable_env_checker=True))


class MinAtarEnvironment(gym_lib.GymPreprocessing):
    """A MinAtar game whose chance is NumPy's global generator.

    MinAtar's own generator is not part of any state that can be saved. It is seeded from the global
    one at each reset, so that a run that goes on from a checkpoint sees the episodes that it would
    have seen.
    """

    def reset(self):
        self.game_over = False
        self.truncated = False
        # A sticky action repeats the last one, which is to be this episode's.
        self.environment.unwrapped.game.last_action = 0
        return self.environment.reset(seed=np.random.randint(2**31))[0]

    def render(self, *args, **kwargs) -> np.ndarray:
        """The game, uint8 [10, 10, 3]: a colour a channel, the later channels over the earlier.

        MinAtar's own picture needs seaborn.
        """
        picture = np.zeros((*self.observation_space.shape[:2], 3), np.uint8)
        state = self.environment.unwrapped.game.state()
        for channel in range(state.shape[2]):
            picture[state[:, :, channel]] = _CHANNEL_COLOURS[channel]
        return picture
