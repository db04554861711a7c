"""Agents and environments that write down what happens to them.

A tape is a list of tuples, one a call, which tests compare as a whole. Give an agent and an
environment the same list to see their calls in order.
"""

from typing import Any

import numpy as np


class TapeAgent:
    """An agent that records its calls and acts with the number of actions taken so far."""

    summary_writer = None

    def __init__(self, tape: list | None = None):
        self.tape = [] if tape is None else tape
        self.eval_mode = False
        self.actions = 0

    def _act(self) -> int:
        self.actions += 1
        return self.actions

    def begin_episode(self, observation: Any) -> int:
        self.tape.append(('begin', observation))
        return self._act()

    def step(self, reward: Any, observation: Any) -> int:
        self.tape.append(('step', reward, observation))
        return self._act()

    def end_episode(self, reward: Any) -> None:
        self.tape.append(('end', reward))

    def bundle_and_checkpoint(self, checkpoint_dir: str, iteration_number: int) -> dict | None:
        self.tape.append(('bundle', checkpoint_dir, iteration_number))
        return {'actions': self.actions}

    def unbundle(self, checkpoint_dir: str, iteration_number: int, data: dict | None) -> bool:
        self.tape.append(('unbundle', checkpoint_dir, iteration_number, data))
        if data is None:
            return False
        self.actions = data['actions']
        return True


class TimeLimitAgent(TapeAgent):
    """A `TapeAgent` that can be told that an episode was only cut."""

    def end_episode(self, reward: Any, terminal: bool = True) -> None:
        self.tape.append(('end', reward, terminal))


class TapeEnvironment:
    """An environment that plays back a script.

    Args:
      script: a list of episodes, each a list of (reward, is_terminal, game_over, truncated). When
        it is at its end it starts again. Observations are counted from 0 in each episode, so that
        the observation after the n-th step is n.
    """

    def __init__(self, script: list[list[tuple[float, bool, bool, bool]]]):
        self._script = script
        self._episode = -1
        self.game_over = False
        self.truncated = False

    def reset(self) -> int:
        self._episode = (self._episode + 1) % len(self._script)
        self._step = 0
        self.game_over = self.truncated = False
        return 0

    def step(self, action: Any) -> tuple[int, float, bool, Any]:
        reward, is_terminal, self.game_over, self.truncated = self._script[self._episode][
            self._step
        ]
        self._step += 1
        return self._step, reward, is_terminal, 0


class ChainEnvironment:
    """Three states in a row; action 1 goes right, 0 stays, and the last state ends the episode.

    Observations are float64 arrays [1], the reward is 1 at the end and 0 before.
    """

    num_actions = 2

    def reset(self) -> np.ndarray:
        self.game_over = False
        self._state = 0
        return np.array([0.0])

    def step(self, action: int) -> tuple[np.ndarray, float, bool, dict]:
        if action not in (0, 1):
            raise ValueError(f'expected an action in (0, 1), got {action!r}')
        self._state += int(action)
        self.game_over = self._state == 2
        return np.array([float(self._state)]), float(self.game_over), self.game_over, {}
