"""Atari 2600 games of the Arcade Learning Environment, as the agents and the runner take them."""

import difflib
import numbers
import warnings

import ale_py
import cv2
import gin
import gymnasium
import numpy as np
from ale_py.env import AtariEnv
from gymnasium.spaces import Box
from gymnasium.wrappers import PassiveEnvChecker

from dopamine_lite import bounds
from dopamine_lite.discrete_domains import gym_lib

# Gin files and programs written for Dopamine up to 4.1 find the networks here.
from dopamine_lite.discrete_domains.legacy_networks import (  # noqa: F401
    NATURE_DQN_DTYPE,
    NATURE_DQN_OBSERVATION_SHAPE,
    NATURE_DQN_STACK_SIZE,
    DQNNetworkType,
    ImplicitQuantileNetwork,
    ImplicitQuantileNetworkType,
    NatureDQNNetwork,
    RainbowNetwork,
    RainbowNetworkType,
    implicit_quantile_network,
    maybe_transform_variable_names,
    nature_dqn_network,
    rainbow_network,
)

gymnasium.register_envs(ale_py)

# Emulator frames, of which 4 make an agent step (Machado et al. 2018 cut at 5 minutes of play).
_MAX_FRAMES_PER_EPISODE = 100_000
_STICKY_ACTION_PROBABILITY = 0.25


def _check_game(game_name: str) -> None:
    prefix, suffix = 'ALE/', '-v5'
    games = [i[len(prefix) : -len(suffix)] for i in gymnasium.registry if i.startswith(prefix)]
    if game_name not in games:
        nearest = difflib.get_close_matches(game_name, games, n=1, cutoff=0.4)
        hint = f"; did you mean '{nearest[0]}'?" if nearest else ''
        raise ValueError(f"no Atari game '{game_name}' is known to ale-py{hint}")


@gin.configurable
def create_atari_environment(
    game_name: str | None = None,
    sticky_actions: bool = True,
    use_legacy_gym: bool = False,
    use_ppo_preprocessing: bool = False,
    continuous_action_threshold: float | None = None,
) -> 'AtariPreprocessing':
    """Makes an Atari game with the preprocessing of DQN.

    An episode ends at the latest after 100,000 emulator frames (25,000 agent steps).

    Args:
      game_name: in the spelling of ale-py's ids, such as 'Pong' or 'SpaceInvaders'.
      sticky_actions: whether the emulator repeats the previous action with probability 0.25 a
        frame (Machado et al. 2018); without it a game is deterministic.
      use_legacy_gym: is ignored with a warning; there is no support for the old `gym` package.
      use_ppo_preprocessing: must be False; PPO is not among the agents.
      continuous_action_threshold: must be None; the agents choose among discrete actions.

    Returns:
      The environment in an `AtariPreprocessing`.

    Raises:
      ValueError: no such game; says which is nearest.
    """
    assert game_name is not None, 'create_atari_environment needs a game_name'
    bounds.require_text(game_name=game_name)
    if use_ppo_preprocessing:
        raise ValueError('use_ppo_preprocessing is for PPO, which is not among the agents here')
    if continuous_action_threshold is not None:
        raise ValueError(
            f'continuous_action_threshold must be None, got {continuous_action_threshold}: the '
            'agents of the TensorFlow path choose among discrete actions'
        )
    if use_legacy_gym:
        warnings.warn('use_legacy_gym is ignored: the game is made by Gymnasium', stacklevel=2)
    _check_game(game_name)
    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)  # no banner for each emulator
    environment = gymnasium.make(
        f'ALE/{game_name}-v5',
        frameskip=1,
        repeat_action_probability=_STICKY_ACTION_PROBABILITY if sticky_actions else 0.0,
        max_num_frames_per_episode=_MAX_FRAMES_PER_EPISODE,
    )
    return AtariPreprocessing(environment.env)  # without the outermost wrapper, OrderEnforcing


def _direct_emulator(environment) -> AtariEnv | None:
    """Returns the emulator of the very stack that `create_atari_environment` builds, else None.

    A frame of that one can be stepped without its `step`, which besides acting only fetches the
    colour screen that nobody looks at.
    """
    if type(environment) is not PassiveEnvChecker or type(environment.env) is not AtariEnv:
        return None
    emulator = environment.env
    kwargs = emulator.spec.kwargs if emulator.spec is not None else {}
    untouched = (
        kwargs.get('frameskip') == 1
        and not kwargs.get('continuous')
        and not kwargs.get('sound_obs')
        and hasattr(emulator, '_action_set')
        and 'step' not in vars(environment)
        and 'step' not in vars(emulator)
    )
    return emulator if untouched else None


def _act(emulator: AtariEnv, action) -> tuple[int, bool, bool]:
    """Steps one frame; returns its reward and whether the game is terminated and truncated."""
    ale = emulator.ale
    reward = ale.act(emulator._action_set[action])
    if not ale.game_over():
        return reward, False, False
    return reward, ale.game_over(with_truncation=False), ale.game_truncated()


@gin.configurable
class AtariPreprocessing:
    """The preprocessing of DQN (Mnih et al. 2015), as Machado et al. 2018 describe it.

    An action is repeated for `frame_skip` emulator frames; the observation is the maximum of the
    last two grayscale screens, resized by area.

    Attributes:
      environment: the wrapped environment.
      game_over: whether the game has ended, whatever lives say.
      truncated: whether it was ended by the limit on an episode's frames.
      lives: at the last look.
      screen_buffer: the last two grayscale screens.
    """

    def __init__(
        self,
        environment,
        frame_skip: int = 4,
        terminal_on_life_loss: bool = False,
        screen_size: int = 84,
        use_legacy_gym: bool = False,
    ):
        """Wraps `environment`.

        Args:
          environment: with an `.env.ale` that has `lives()` and `getScreenGrayscale(array)`; it is
            stepped frame by frame. What its `reset` and `step` observe is not looked at.
          frame_skip: emulator frames an agent step.
          terminal_on_life_loss: whether `step` calls a lost life terminal.
          screen_size: height and width of the observations.
          use_legacy_gym: says that `step` of `environment` returns four values, as in the old `gym`.

        Raises:
          ValueError: `frame_skip` or `screen_size` is not positive.
        """
        if not isinstance(frame_skip, numbers.Integral) or frame_skip <= 0:
            raise ValueError(f'Frame skip should be strictly positive, got {frame_skip}')
        if not isinstance(screen_size, numbers.Integral) or screen_size <= 0:
            raise ValueError(f'Target screen size should be strictly positive, got {screen_size}')
        self.environment = environment
        self.frame_skip = frame_skip
        self.terminal_on_life_loss = terminal_on_life_loss
        self.screen_size = screen_size
        self._use_legacy_gym = use_legacy_gym
        screen_shape = environment.observation_space.shape[:2]
        self.screen_buffer = [np.empty(screen_shape, dtype=np.uint8) for _ in range(2)]
        self.game_over = False
        self.truncated = False
        self.lives = 0

    @property
    def observation_space(self) -> Box:
        shape = (self.screen_size, self.screen_size, 1)
        return Box(low=0, high=255, shape=shape, dtype=np.uint8)

    @property
    def action_space(self):
        return self.environment.action_space

    @property
    def reward_range(self):
        # Gymnasium 1.0 dropped the attribute.
        return getattr(self.environment, 'reward_range', (-np.inf, np.inf))

    @property
    def metadata(self):
        return self.environment.metadata

    @property
    def _ale(self):
        emulator = getattr(self.environment, 'env', self.environment)
        return emulator.ale if hasattr(emulator, 'ale') else self.environment.unwrapped.ale

    def close(self):
        return self.environment.close()

    def reset(self) -> np.ndarray:
        """Starts a game; returns its first observation, uint8 `[screen_size, screen_size, 1]`."""
        self.environment.reset()
        self.game_over = False
        self.truncated = False
        self.lives = self._ale.lives()
        self._fetch_grayscale_observation(self.screen_buffer[0])
        self.screen_buffer[1].fill(0)
        return self._pool_and_resize()

    def render(self, mode: str = 'rgb_array'):
        """Returns the colour screen, uint8 `[height, width, 3]`, or shows it (`mode='human'`)."""
        if mode == 'rgb_array' and isinstance(self._ale, ale_py.ALEInterface):
            return self._ale.getScreenRGB()
        if isinstance(self.environment, gymnasium.Env):
            return self.environment.render()
        return self.environment.render(mode)

    def step(self, action):
        """Repeats `action` for `frame_skip` frames, or until the game ends.

        Returns:
          The observation, uint8 `[screen_size, screen_size, 1]`; the sum of the frames' rewards;
          whether the episode ends (for the agent, with `terminal_on_life_loss`); the last frame's
          info.
        """
        emulator = _direct_emulator(self.environment)
        accumulated_reward = 0.0
        first_kept = max(self.frame_skip - 2, 0)
        for frame in range(self.frame_skip):
            if emulator is not None:
                reward, terminated, truncated = _act(emulator, action)
            else:
                _, reward, terminated, truncated, info = gym_lib.step_environment(
                    self.environment, action, self._use_legacy_gym
                )
            accumulated_reward += reward
            self.game_over = is_terminal = terminated or truncated
            if self.terminal_on_life_loss:
                lives = self._ale.lives()
                is_terminal = is_terminal or lives < self.lives
                self.lives = lives
            if is_terminal:
                break
            if frame >= first_kept:
                self._fetch_grayscale_observation(self.screen_buffer[frame - first_kept])
        self.truncated = bool(truncated) and not terminated
        if emulator is not None:
            info = {
                'lives': emulator.ale.lives(),
                'episode_frame_number': emulator.ale.getEpisodeFrameNumber(),
                'frame_number': emulator.ale.getFrameNumber(),
            }
        return self._pool_and_resize(), accumulated_reward, is_terminal, info

    def _fetch_grayscale_observation(self, output: np.ndarray) -> np.ndarray:
        """Writes the emulator's screen into `output` and returns it."""
        self._ale.getScreenGrayscale(output)
        return output

    def _pool_and_resize(self) -> np.ndarray:
        """Returns the observation of the two buffered screens."""
        screen = self.screen_buffer[0]
        if self.frame_skip > 1:
            np.maximum(screen, self.screen_buffer[1], out=screen)
        size = (self.screen_size, self.screen_size)
        return cv2.resize(screen, size, interpolation=cv2.INTER_AREA)[:, :, np.newaxis]


@gin.configurable
class GameOverWrapper:
    """Gives an environment that is otherwise as the runner wants it a `game_over`.

    Attributes:
      environment: the wrapped environment; its `step` returns four values, or Gymnasium's five.
      game_over: whether the episode has ended.
      truncated: whether it was ended by a limit of the environment rather than by the task.
    """

    def __init__(self, environment):
        self.environment = environment
        self.game_over = False
        self.truncated = False

    @property
    def observation_space(self):
        return self.environment.observation_space

    @property
    def action_space(self):
        return self.environment.action_space

    def reset(self):
        """Starts an episode and returns its first observation."""
        self.game_over = False
        self.truncated = False
        result = self.environment.reset()
        return result[0] if isinstance(result, tuple) else result

    def step(self, action):
        """Returns (observation, reward, is_terminal, info)."""
        observation, reward, terminated, *truncated, info = self.environment.step(action)
        self.game_over = terminated or any(truncated)
        self.truncated = any(truncated) and not terminated
        return observation, reward, self.game_over, info
