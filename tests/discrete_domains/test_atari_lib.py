"""The preprocessing against Dopamine's frames, a plain oracle, and the emulator's own `step`."""

import hashlib

import gin
import gymnasium
import numpy as np
import pytest

from dopamine_lite.discrete_domains import atari_lib, legacy_networks


class FakeEmulator:
    """Lives and screens as an episode's script says, and the environment of itself.

    `screens` and `lives` have a value for the reset and for each frame after it.
    """

    action_space = gymnasium.spaces.Discrete(3)
    observation_space = gymnasium.spaces.Box(0, 255, (10, 8, 3), np.uint8)
    metadata = {'fake': True}

    def __init__(self, screens, lives=None, end=None, truncate=None, legacy=False):
        self.screens, self._lives = screens, lives or [3] * len(screens)
        self.end, self.truncate, self.legacy = end, truncate, legacy
        self.frame, self.actions = 0, []
        self.env = self.ale = self

    def lives(self):
        return self._lives[self.frame]

    def getScreenGrayscale(self, output):
        output[...] = self.screens[self.frame]

    def reset(self):
        self.frame = 0

    def step(self, action):
        self.frame += 1
        self.actions.append(action)
        terminated, truncated = self.frame == self.end, self.frame == self.truncate
        info = {'frame': self.frame}
        if self.legacy:
            return None, 0.25 * self.frame, terminated, info
        return None, 0.25 * self.frame, terminated, truncated, info


def flat(observation):
    """The value of an observation all of whose pixels are equal."""
    assert observation.dtype == np.uint8
    assert np.unique(observation).size == 1
    return int(observation[0, 0, 0])


@pytest.mark.parametrize('game', ['Pong', 'Breakout', 'Seaquest'])
def test_frames_equal_dopamines(golden, game):
    want = golden('atari_preprocessing')
    environment = atari_lib.create_atari_environment(game, sticky_actions=False)
    observations, rewards, terminals = [environment.reset()], [], []
    for action in want[f'{game}/actions']:
        observation, reward, is_terminal, _ = environment.step(int(action))
        observations.append(observation)
        rewards.append(reward)
        terminals.append(is_terminal)
    hashes = [hashlib.sha256(np.ascontiguousarray(o).tobytes()).hexdigest() for o in observations]
    assert hashes == want[f'{game}/sha256'].tolist()
    np.testing.assert_array_equal(rewards, want[f'{game}/rewards'])
    np.testing.assert_array_equal(terminals, want[f'{game}/terminals'])
    assert environment.game_over == terminals[-1]
    assert not environment.truncated


class PassThrough(gymnasium.Wrapper):
    """Something between, so that the environment is stepped by its own `step`."""

    @property
    def ale(self):
        return self.env.ale


def twins(game, seed, **kwargs):
    """The same game twice: as built, and stepped through Gymnasium."""
    direct = atari_lib.create_atari_environment(game, sticky_actions=True)
    stepped = atari_lib.create_atari_environment(game, sticky_actions=True)
    direct = atari_lib.AtariPreprocessing(direct.environment, **kwargs)
    stepped = atari_lib.AtariPreprocessing(PassThrough(stepped.environment), **kwargs)
    assert atari_lib._direct_emulator(direct.environment) is not None
    assert atari_lib._direct_emulator(stepped.environment) is None
    for environment in (direct, stepped):
        environment.environment.reset(seed=seed)
    return direct, stepped


@pytest.mark.parametrize(
    ('game', 'kwargs'),
    [
        ('Breakout', {}),
        ('Pong', {'frame_skip': 1}),
        ('Seaquest', {'frame_skip': 3, 'screen_size': 50, 'terminal_on_life_loss': True}),
    ],
)
def test_the_direct_path_equals_the_emulators_own_step(game, kwargs):
    direct, stepped = twins(game, 7, **kwargs)
    rng = np.random.default_rng(1)
    np.testing.assert_array_equal(direct.reset(), stepped.reset())
    ends = 0
    for _ in range(400):
        action = int(rng.integers(direct.action_space.n))
        got, want = direct.step(action), stepped.step(action)
        np.testing.assert_array_equal(got[0], want[0])
        assert got[1:] == want[1:]
        assert type(got[1]) is type(want[1]) is float
        assert (direct.game_over, direct.truncated) == (stepped.game_over, stepped.truncated)
        assert direct.lives == stepped.lives
        if got[2]:
            ends += 1
            np.testing.assert_array_equal(direct.reset(), stepped.reset())
    assert ends > 0 or game == 'Pong'
    # Gymnasium's own wrapper is as usable as before.
    assert len(direct.environment.step(0)) == 5


def test_the_direct_path_reports_truncation_as_the_emulator_does():
    def make(wrap):
        environment = gymnasium.make(
            'ALE/Pong-v5', frameskip=1, repeat_action_probability=0.0, max_num_frames_per_episode=30
        ).env
        return atari_lib.AtariPreprocessing(wrap(environment))

    direct, stepped = make(lambda e: e), make(PassThrough)
    assert atari_lib._direct_emulator(direct.environment) is not None
    for environment in (direct, stepped):
        environment.reset()
    for _ in range(20):
        got, want = direct.step(0), stepped.step(0)
        np.testing.assert_array_equal(got[0], want[0])
        assert got[1:] == want[1:]
        if got[2]:
            break
    for environment in (direct, stepped):
        assert environment.game_over
        assert environment.truncated
        environment.reset()
        assert not environment.game_over
        assert not environment.truncated


def test_a_replaced_step_is_called():
    environment = atari_lib.create_atari_environment('Pong')
    environment.reset()
    inner, calls = environment.environment, []

    def step(action):
        calls.append(action)
        return type(inner).step(inner, action)

    inner.step = step
    environment.step(2)
    assert calls == [2, 2, 2, 2]


def test_other_frame_skips_are_stepped_by_gymnasium():
    inner = gymnasium.make('ALE/Pong-v5', frameskip=2).env
    assert atari_lib._direct_emulator(inner) is None
    environment = atari_lib.AtariPreprocessing(inner)
    environment.reset()
    before = inner.env.ale.getFrameNumber()
    environment.step(0)
    assert inner.env.ale.getFrameNumber() - before == 8


def test_the_environment_is_gymnasiums_stack_less_its_outermost_wrapper(monkeypatch):
    given = []
    monkeypatch.setattr(atari_lib, 'AtariPreprocessing', lambda *args: given.append(args) or 'made')
    assert atari_lib.create_atari_environment('Pong') == 'made'
    ((environment,),) = given
    assert str(environment) == '<PassiveEnvChecker<AtariEnv<ALE/Pong-v5>>>'


@pytest.mark.parametrize(('sticky', 'probability'), [(True, 0.25), (False, 0.0)])
def test_the_emulator_is_set_as_promised(sticky, probability):
    environment = atari_lib.create_atari_environment('Pong', sticky_actions=sticky)
    ale = environment.environment.env.ale
    assert ale.getFloat('repeat_action_probability') == pytest.approx(probability)
    assert ale.getInt('max_num_frames_per_episode') == 100_000
    assert environment.action_space.n == 6
    assert environment.observation_space.shape == (84, 84, 1)
    assert environment.observation_space.dtype == np.uint8
    assert environment.screen_buffer[0].shape == (210, 160)
    environment.reset()
    assert environment.render('rgb_array').shape == (210, 160, 3)


def test_an_observation_is_the_maximum_of_the_last_two_screens():
    emulator = FakeEmulator([50, 200, 201, 40, 60, 0, 0, 70, 30])
    environment = atari_lib.AtariPreprocessing(emulator)
    assert flat(environment.reset()) == 50
    observation, reward, is_terminal, info = environment.step(2)
    assert observation.shape == (84, 84, 1)
    assert flat(observation) == 60
    assert reward == 0.25 * (1 + 2 + 3 + 4)
    assert is_terminal is False
    assert info == {'frame': 4}
    assert emulator.actions == [2] * 4
    assert flat(environment.step(1)[0]) == 70


def test_without_frame_skip_an_observation_is_the_newest_screen():
    environment = atari_lib.AtariPreprocessing(FakeEmulator([9, 5, 3]), frame_skip=1)
    assert flat(environment.reset()) == 9
    assert [flat(environment.step(0)[0]) for _ in range(2)] == [5, 3]


def test_a_game_that_ends_shows_the_screens_kept_before():
    environment = atari_lib.AtariPreprocessing(FakeEmulator([5, 0, 0, 7, 8, 255, 0], end=5))
    environment.reset()
    environment.step(0)
    observation, reward, is_terminal, _ = environment.step(0)
    assert (flat(observation), reward, is_terminal) == (8, 0.25 * 5, True)
    assert environment.game_over
    assert not environment.truncated


def test_truncation_ends_the_game_as_a_cut():
    emulator = FakeEmulator([1] * 9, truncate=6)
    environment = atari_lib.AtariPreprocessing(emulator)
    environment.reset()
    assert environment.step(0)[2] is False
    assert environment.step(0)[2] is True
    assert environment.game_over
    assert environment.truncated
    assert emulator.frame == 6


def test_an_end_that_is_also_a_truncation_is_a_true_end():
    environment = atari_lib.AtariPreprocessing(FakeEmulator([1] * 5, end=2, truncate=2))
    environment.reset()
    assert environment.step(0)[2] is True
    assert environment.game_over
    assert not environment.truncated


def test_a_lost_life_is_terminal_only_when_asked():
    lives = [3, 3, 3, 2, 2, 2, 2]
    for asked, frames in ((False, 4), (True, 3)):
        emulator = FakeEmulator([1] * 7, lives=lives)
        environment = atari_lib.AtariPreprocessing(emulator, terminal_on_life_loss=asked)
        environment.reset()
        assert environment.lives == 3
        assert environment.step(0)[2] is asked
        assert emulator.frame == frames
        assert not environment.game_over
        if asked:
            assert environment.lives == 2
            emulator.frame = 2
            assert environment.step(0)[2] is False  # no life less than at the last look


def test_the_old_interface_of_four_values():
    emulator = FakeEmulator([1] * 9, end=5, legacy=True)
    environment = atari_lib.AtariPreprocessing(emulator, use_legacy_gym=True)
    environment.reset()
    assert environment.step(0)[2] is False
    assert environment.step(0)[2] is True
    assert environment.game_over
    assert not environment.truncated


def test_a_step_of_the_other_interface_is_refused():
    environment = atari_lib.AtariPreprocessing(FakeEmulator([1], legacy=True))
    environment.reset()
    with pytest.raises(ValueError, match=r'returned 4 values, expected 5 .*use_legacy_gym=True'):
        environment.step(0)


def test_what_is_passed_through():
    emulator = FakeEmulator([1])
    environment = atari_lib.AtariPreprocessing(emulator)
    assert environment.action_space is emulator.action_space
    assert environment.metadata is emulator.metadata
    assert environment.reward_range == (-np.inf, np.inf)


@pytest.mark.parametrize('value', [0, -1])
def test_frame_skip_and_screen_size_are_positive(value):
    with pytest.raises(
        ValueError, match=rf'^Frame skip should be strictly positive, got {value}\b'
    ):
        atari_lib.AtariPreprocessing(FakeEmulator([1]), frame_skip=value)
    with pytest.raises(
        ValueError, match=rf'^Target screen size should be strictly positive, got {value}\b'
    ):
        atari_lib.AtariPreprocessing(FakeEmulator([1]), screen_size=value)


@pytest.mark.parametrize(
    ('arguments', 'error', 'message'),
    [
        ({}, AssertionError, 'needs a game_name'),
        ({'game_name': 'Pogn'}, ValueError, "no Atari game 'Pogn' .*; did you mean 'Pong'\\?"),
        ({'game_name': 'space_invaders'}, ValueError, "did you mean 'SpaceInvaders'\\?"),
        ({'game_name': 'Pong', 'use_ppo_preprocessing': True}, ValueError, 'use_ppo_preproc'),
        ({'game_name': 'Pong', 'continuous_action_threshold': 0.5}, ValueError, 'got 0.5'),
    ],
)
def test_what_cannot_be_made_is_refused_by_name(arguments, error, message):
    with pytest.raises(error, match=message):
        atari_lib.create_atari_environment(**arguments)


def test_use_legacy_gym_warns_and_makes_the_same_game():
    with pytest.warns(UserWarning, match='use_legacy_gym is ignored'):
        environment = atari_lib.create_atari_environment('Pong', use_legacy_gym=True)
    assert atari_lib._direct_emulator(environment.environment) is not None
    environment.reset()
    assert len(environment.step(0)) == 4


def test_game_over_wrapper():
    for legacy in (True, False):
        emulator = FakeEmulator([1, 2, 3], end=2, legacy=legacy)
        environment = atari_lib.GameOverWrapper(emulator)
        assert environment.observation_space is emulator.observation_space
        assert environment.action_space is emulator.action_space
        environment.reset()
        assert environment.step(0) == (None, 0.25, False, {'frame': 1})
        assert not environment.game_over
        assert environment.step(0)[2] is True
        assert environment.game_over
        assert not environment.truncated
        environment.reset()
        assert not environment.game_over


def test_gin_and_old_addresses():
    gin.parse_config(
        'atari_lib.create_atari_environment.game_name = "Pong"\n'
        'AtariPreprocessing.frame_skip = 2\n'
        'dopamine_lite.discrete_domains.atari_lib.AtariPreprocessing.terminal_on_life_loss = True\n'
    )
    environment = atari_lib.create_atari_environment()
    assert (environment.frame_skip, environment.terminal_on_life_loss) == (2, True)
    assert atari_lib.NatureDQNNetwork is legacy_networks.NatureDQNNetwork
    assert atari_lib.DQNNetworkType is legacy_networks.DQNNetworkType
