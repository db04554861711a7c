"""Times `AtariPreprocessing.step` beside the emulator's own work.

    python scripts/bench/emulator.py [--games Pong ...] [--repeats 2000] [--json emulator.json]

`parts` is what no preprocessing can do without: four frames of the emulator, two grayscale screens, a
maximum and a resize. `wrapped` steps the same game through Gymnasium's wrappers, which fetch a colour
screen at every frame, as Dopamine does. All three play the same game with the same actions.
"""

import random
import sys

import ale_py
import cv2
import measure
import numpy as np

from dopamine_lite.discrete_domains import atari_lib


class Wrapped:
    """Hides from the preprocessing which environment it has, so that it calls `step`."""

    def __init__(self, environment):
        self.env = environment
        self.observation_space = environment.observation_space
        self.action_space = environment.action_space

    def reset(self):
        return self.env.reset()

    def step(self, action):
        return self.env.step(action)

    @property
    def ale(self):
        return self.env.unwrapped.ale

    @property
    def unwrapped(self):
        return self.env.unwrapped


def make(game, seed):
    environment = atari_lib.create_atari_environment(game)
    environment.environment.reset(seed=seed)
    environment.reset()
    return environment


def player(environment, actions):
    """Returns an operation that takes the next action, and starts again when the game is over."""

    def step():
        result = environment.step(next(actions))
        if environment.game_over:
            environment.reset()
        return result

    return step


def parts(environment, actions):
    """Returns an operation that does only the unavoidable work of a step."""
    ale = environment.environment.unwrapped.ale
    legal = ale.getMinimalActionSet()
    screens = [np.empty(environment.screen_buffer[0].shape, np.uint8) for _ in range(2)]

    def step():
        action = legal[next(actions)]
        for frame in range(4):
            ale.act(action)
            if frame >= 2:
                ale.getScreenGrayscale(screens[frame - 2])
        np.maximum(*screens, out=screens[0])
        resized = cv2.resize(screens[0], (84, 84), interpolation=cv2.INTER_AREA)
        if ale.game_over():
            environment.reset()
        return resized

    return step


def drawn(environment, seed):
    rng = random.Random(seed)
    count = environment.action_space.n
    while True:
        yield rng.randrange(count)


def measured(game, repeats):
    environments = [make(game, 0) for _ in range(3)]
    through = environments[1]
    through.environment = Wrapped(through.environment)
    operations = {
        'step': player(environments[0], drawn(environments[0], 0)),
        'wrapped': player(through, drawn(through, 0)),
        'parts': parts(environments[2], drawn(environments[2], 0)),
    }
    for _ in range(300):
        frame, reward, terminal, _ = operations['step']()
        expected = operations['wrapped']()
        assert np.array_equal(frame, expected[0]) and (reward, terminal) == expected[1:3]
        if terminal:  # the parts do not stop in the middle of a step
            break
        assert np.array_equal(frame[..., 0], operations['parts']())
    return measure.medians_us(operations, repeats)


def main():
    parser = measure.parser(__doc__)
    games = ['Pong', 'Breakout', 'SpaceInvaders', 'Seaquest', 'Asterix']
    parser.add_argument('--games', nargs='+', default=games)
    parser.add_argument('--repeats', type=int, default=2000, help='timed calls of each operation')
    arguments = parser.parse_args()
    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
    figures = {}
    for game in arguments.games:
        times = measured(game, arguments.repeats)
        over_parts, saved = times['step'] / times['parts'], times['wrapped'] / times['step']
        figures[game] = {'median_us': times, 'over_parts': over_parts, 'wrapped_over': saved}
        print(
            f'{game:16}{times["step"]:8.0f} us a step, {over_parts:.3f} times its parts, '
            f'{saved:.2f} times as fast as through the wrappers'
        )
    measure.finish({'games': figures}, arguments.json)
    return 0


if __name__ == '__main__':
    sys.exit(main())
