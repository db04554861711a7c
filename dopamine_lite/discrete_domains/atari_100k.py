"""The Atari 100k benchmark (Kaiser et al. 2020, arXiv:1903.00374): its runner and its scores.

An agent learns from exactly 100,000 agent steps (two hours of play) of a game that starts with up to
29 no-ops, and is then evaluated over 100 episodes. `create_runner.schedule = 'atari_100k'` runs it.
"""

from collections.abc import Callable
from typing import Any

import gin
import numpy as np
from absl import logging

from dopamine_lite import bounds
from dopamine_lite.discrete_domains import environment_state, run_experiment

# Mean returns of random play and of a human tester (Mnih et al. 2015; Wang et al. 2016, Table 2) on
# the games of the benchmark.
RANDOM_AND_HUMAN_SCORES = {
    'Alien': (227.8, 7127.7),
    'Amidar': (5.8, 1719.5),
    'Assault': (222.4, 742.0),
    'Asterix': (210.0, 8503.3),
    'BankHeist': (14.2, 753.1),
    'BattleZone': (2360.0, 37187.5),
    'Boxing': (0.1, 12.1),
    'Breakout': (1.7, 30.5),
    'ChopperCommand': (811.0, 7387.8),
    'CrazyClimber': (10780.5, 35829.4),
    'DemonAttack': (152.1, 1971.0),
    'Freeway': (0.0, 29.6),
    'Frostbite': (65.2, 4334.7),
    'Gopher': (257.6, 2412.5),
    'Hero': (1027.0, 30826.4),
    'Jamesbond': (29.0, 302.8),
    'Kangaroo': (52.0, 3035.0),
    'Krull': (1598.0, 2665.5),
    'KungFuMaster': (258.5, 22736.3),
    'MsPacman': (307.3, 6951.6),
    'Pong': (-20.7, 14.6),
    'PrivateEye': (24.9, 69571.3),
    'Qbert': (163.9, 13455.0),
    'RoadRunner': (11.5, 7845.0),
    'Seaquest': (68.4, 42054.7),
    'UpNDown': (533.4, 11693.2),
}


def human_normalized_score(game_name: str, score: float) -> float | None:
    """Returns a mean return on the scale of 0 (random play) to 1 (a human tester).

    None for a game that is not in the benchmark.
    """
    if game_name not in RANDOM_AND_HUMAN_SCORES:
        return None
    of_random, of_human = RANDOM_AND_HUMAN_SCORES[game_name]
    return (score - of_random) / (of_human - of_random)


@gin.configurable
class MaxEpisodeEvalRunner(run_experiment.Runner):
    """A runner that evaluates after the last iteration only, over a number of episodes."""

    def __init__(
        self,
        base_dir: str,
        create_agent_fn: Callable[..., Any],
        num_eval_episodes: int = 100,
        **kwargs: Any,
    ):
        """As `Runner`.

        Args:
          base_dir: the folder of the run.
          create_agent_fn: makes the agent.
          num_eval_episodes: episodes of the evaluation; 0 for none.
          **kwargs: of `Runner`; `evaluation_steps` has no effect.

        Raises:
          ValueError: a number is outside its range.
        """
        bounds.require_whole(0, num_eval_episodes=num_eval_episodes)
        self._num_eval_episodes = num_eval_episodes
        super().__init__(base_dir, create_agent_fn, **kwargs)
        if self._max_steps_per_episode is None:
            raise ValueError('max_steps_per_episode must be a number, got None')

    def _run_eval_phase(self, statistics: Any) -> tuple[int, Any]:
        """Runs the evaluation, if it is due; returns (episodes, mean return)."""
        if self._iteration < self._num_iterations - 1 or not self._num_eval_episodes:
            return 0, 0.0
        self._agent.eval_mode = True
        returns = []
        for _ in range(self._num_eval_episodes):
            # A phase of at least one step is one episode.
            _, episode_return, _ = self._run_one_phase(1, statistics, 'eval')
            returns.append(episode_return)
        average_return = sum(returns) / len(returns)
        statistics.append({'eval_average_return': average_return})
        logging.info(
            'Average undiscounted return of %d evaluation episodes: %s',
            len(returns),
            average_return,
        )
        return len(returns), average_return


@gin.configurable
class DataEfficientAtariRunner(MaxEpisodeEvalRunner):
    """The runner of Atari 100k: no-op starts, exact numbers of steps, human-normalised scores.

    The last episode of a training phase is cut where the phase ends, so that each has exactly
    `training_steps` agent steps; it counts with the return that it had by then.
    """

    _steps_left: int | None = None

    def __init__(
        self,
        base_dir: str,
        create_agent_fn: Callable[..., Any],
        max_noops: int = 29,
        **kwargs: Any,
    ):
        """As `MaxEpisodeEvalRunner`.

        Args:
          base_dir: the folder of the run.
          create_agent_fn: makes the agent.
          max_noops: an episode starts with 0 to so many no-ops, drawn uniformly; they are no agent
            steps.
          **kwargs: of `MaxEpisodeEvalRunner` and `Runner`.

        Raises:
          ValueError: a number is outside its range.
        """
        bounds.require_whole(0, max_noops=max_noops)
        self._max_noops = max_noops
        super().__init__(base_dir, create_agent_fn, **kwargs)
        if self._training_steps % 1:
            raise ValueError(f'training_steps must be a whole number, got {self._training_steps}')

    def _initialize_episode(self) -> Any:
        observation = self._environment.reset()
        for _ in range(np.random.randint(self._max_noops + 1)):
            observation = self._environment.step(0)[0]
            if self._environment.game_over:
                observation = self._environment.reset()
        return self._agent.begin_episode(observation)

    def _run_train_phase(self, statistics: Any) -> tuple[int, Any, float]:
        self._steps_left = self._training_steps
        try:
            return super()._run_train_phase(statistics)
        finally:
            self._steps_left = None

    def _run_one_episode(self) -> tuple[int, Any]:
        if self._steps_left is None:
            return super()._run_one_episode()
        longest = self._max_steps_per_episode
        self._max_steps_per_episode = min(longest, self._steps_left)
        try:
            steps, episode_return = super()._run_one_episode()
        finally:
            self._max_steps_per_episode = longest
        self._steps_left -= steps
        return steps, episode_return

    def _run_eval_phase(self, statistics: Any) -> tuple[int, Any]:
        num_episodes, average_return = super()._run_eval_phase(statistics)
        if num_episodes:
            game_name = self._game_name()
            score = human_normalized_score(game_name, average_return)
            if score is None:
                logging.info('%s has no human-normalised score', game_name)
            else:
                statistics.append({'eval_human_normalized_score': score})
                logging.info(
                    'Human-normalised score of %s over %d episodes: %.3f',
                    game_name,
                    num_episodes,
                    score,
                )
        return num_episodes, average_return

    def _game_name(self) -> str:
        """Returns the game's name as in `ALE/{name}-v5`; '' where there is none."""
        simulator = environment_state.simulator(self._environment)
        spec = getattr(simulator, 'spec', None)
        return '' if spec is None else spec.name or ''
