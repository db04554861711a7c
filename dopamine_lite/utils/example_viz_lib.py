"""A trained agent watched at play: its game, rewards and values in one video.

Agents that remember what they estimate, a runner that plays with a trained one, and `run`, which
puts both together with the plotters. `example_viz` is the program.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import gin
import numpy as np
import tensorflow as tf
from absl import logging

from dopamine_lite import drawing
from dopamine_lite.discrete_domains import (
    iteration_statistics,
    legacy_networks,
    run_experiment,
)
from dopamine_lite.tf.agents.dqn import dqn_agent
from dopamine_lite.tf.agents.rainbow import rainbow_agent
from dopamine_lite.utils import agent_visualizer, atari_plotter, bar_plotter, line_plotter


class MyDQNAgent(dqn_agent.DQNAgent):
    """A DQN agent that remembers the Q-values and rewards of the steps that it plays.

    Attributes:
        q_values: for each action, the list of its values, one a step.
        rewards: the sum of rewards so far, one a step, starting at 0.
    """

    def __init__(self, sess: Any, num_actions: int, summary_writer: Any = None):
        """As `DQNAgent`, configured by gin."""
        super().__init__(sess, num_actions, summary_writer=summary_writer)
        self.q_values: list[list[float]] = [[] for _ in range(num_actions)]
        self.rewards: list[float] = []

    def step(self, reward: float, observation: np.ndarray) -> int:
        """Remembers the reward, then acts as `DQNAgent.step` does."""
        _add_reward(self.rewards, reward)
        return super().step(reward, observation)

    def _select_action(self) -> int:
        action = super()._select_action()
        values = self._sess.run(self._net_outputs.q_values, {self.state_ph: self.state})[0]
        for history, value in zip(self.q_values, values, strict=True):
            history.append(float(value))
        return action

    def reload_checkpoint(self, checkpoint_path: str, use_legacy_checkpoint: bool = False) -> None:
        """Restores the variables; see `_reload`."""
        _reload(self._sess, checkpoint_path, use_legacy_checkpoint)

    def get_q_values(self) -> list[list[float]]:
        """The lines of a plot of Q-values: one an action."""
        return self.q_values

    def get_rewards(self) -> list[list[float]]:
        """The lines of a plot of rewards: their running sum alone."""
        return [self.rewards]


class MyRainbowAgent(rainbow_agent.RainbowAgent):
    """A Rainbow agent that remembers the rewards and shows the distributions that it predicts.

    Attributes:
        rewards: the sum of rewards so far, one a step, starting at 0.
    """

    def __init__(self, sess: Any, num_actions: int, summary_writer: Any = None):
        """As `RainbowAgent`, configured by gin."""
        super().__init__(sess, num_actions, summary_writer=summary_writer)
        self.rewards: list[float] = []

    def step(self, reward: float, observation: np.ndarray) -> int:
        """Remembers the reward, then acts as `RainbowAgent.step` does."""
        _add_reward(self.rewards, reward)
        return super().step(reward, observation)

    def reload_checkpoint(self, checkpoint_path: str, use_legacy_checkpoint: bool = False) -> None:
        """Restores the variables; see `_reload`."""
        _reload(self._sess, checkpoint_path, use_legacy_checkpoint)

    def get_probabilities(self) -> np.ndarray:
        """The predicted distribution of returns of each action: [actions, atoms]."""
        outputs = self._net_outputs.probabilities
        return self._sess.run(outputs, {self.state_ph: self.state})[0]

    def get_rewards(self) -> list[list[float]]:
        """The lines of a plot of rewards: their running sum alone."""
        return [self.rewards]


def _add_reward(rewards: list[float], reward: float) -> None:
    rewards.append((rewards[-1] if rewards else 0.0) + float(reward))


def _reload(sess: Any, checkpoint_path: str, use_legacy_checkpoint: bool) -> None:
    """Restores those variables of the graph that the checkpoint has.

    Args:
        sess: the session that holds the variables.
        checkpoint_path: a TensorFlow checkpoint, without the ending (`.../tf_ckpt-199`).
        use_legacy_checkpoint: whether its variables are named as before Dopamine 3.

    Raises:
        ValueError: the checkpoint has no network of the agent's.
    """
    stored = {name for name, _ in tf.train.list_variables(checkpoint_path)}
    with sess.graph.as_default():
        names = legacy_networks.maybe_transform_variable_names(
            tf.compat.v1.global_variables(), legacy_checkpoint_load=use_legacy_checkpoint
        )
        if not isinstance(names, dict):
            names = {variable.op.name: variable for variable in names}
        found = {name: variable for name, variable in names.items() if name in stored}
        if not any(name.split('/')[0] == 'Online' for name in found):
            raise ValueError(
                f'{checkpoint_path} has no variables of the online network '
                f'({sorted(set(names) - stored)[:3]} ...): for a checkpoint of Dopamine 1 or 2, '
                'say use_legacy_checkpoint'
            )
        tf.compat.v1.train.Saver(found).restore(sess, checkpoint_path)
    logging.info('Restored %d variables from %s', len(found), checkpoint_path)


class MyRunner(run_experiment.Runner):
    """A runner that starts with a trained agent and only plays."""

    def __init__(
        self,
        base_dir: str,
        trained_agent_ckpt_path: str,
        create_agent_fn: Callable[..., Any],
        use_legacy_checkpoint: bool = False,
    ):
        """Restores the agent.

        Args:
            base_dir: the folder that logs go to.
            trained_agent_ckpt_path: a TensorFlow checkpoint (`.../tf_ckpt-199`).
            create_agent_fn: makes an agent with `reload_checkpoint`.
            use_legacy_checkpoint: whether the variables are named as before Dopamine 3.
        """
        self._trained_agent_ckpt_path = trained_agent_ckpt_path
        self._use_legacy_checkpoint = use_legacy_checkpoint
        super().__init__(base_dir, create_agent_fn)

    def _initialize_checkpointer_and_maybe_resume(self, checkpoint_file_prefix: str) -> None:
        self._agent.reload_checkpoint(self._trained_agent_ckpt_path, self._use_legacy_checkpoint)
        self._start_iteration = 0

    def _run_one_iteration(self, iteration: int) -> dict[str, list]:
        statistics = iteration_statistics.IterationStatistics()
        logging.info('Starting iteration %d', iteration)
        self._run_eval_phase(statistics)
        return statistics.data_lists

    def visualize(self, record_path: str, num_global_steps: int = 500) -> None:
        """Plays, and makes `video.mp4` of it.

        Args:
            record_path: the folder that frames and video go to.
            num_global_steps: agent steps to play; an episode is not cut, and as many as needed
                are played.
        """
        self._agent.eval_mode = True
        visualizer = agent_visualizer.AgentVisualizer(
            record_path=record_path, plotters=self._plotters(), screen_width=600, screen_height=630
        )
        steps = 0
        while steps < num_global_steps:
            action = self._agent.begin_episode(self._environment.reset())
            while True:
                observation, reward, is_terminal, _ = self._environment.step(action)
                steps += 1
                visualizer.visualize()
                if self._environment.game_over or steps >= num_global_steps:
                    self._agent.end_episode(reward)
                    break
                if is_terminal:  # a life is lost
                    self._agent.end_episode(reward)
                    action = self._agent.begin_episode(observation)
                else:
                    action = self._agent.step(reward, observation)
        visualizer.generate_video()

    def _plotters(self) -> list[Any]:
        """The game on the left, rewards below it, and what the agent expects on the right."""
        drawing.prepare_screen(self._environment)
        screen = drawing.screen(self._environment).shape
        half = {'width': 300, 'height': 315}
        rewards = {'get_line_data_fn': self._agent.get_rewards, 'xlabel': 'steps'}
        panes = [
            atari_plotter.AtariPlotter(
                {
                    'environment': self._environment,
                    'input_width': screen[1],
                    'input_height': screen[0],
                    **half,
                }
            ),
            line_plotter.LinePlotter(
                {**rewards, 'title': 'rewards', 'x': 0, 'y': 315, **half, 'fontsize': 20}
            ),
        ]
        right = {'x': 300, 'y': 0, 'width': 300, 'height': 630, 'figsize': (6, 12), 'fontsize': 20}
        if hasattr(self._agent, 'get_q_values'):
            panes.append(
                line_plotter.LinePlotter(
                    {
                        'get_line_data_fn': self._agent.get_q_values,
                        'title': 'Q-values',
                        'xlabel': 'steps',
                        'legend': self._action_names(),
                        **right,
                    }
                )
            )
        else:
            panes.append(
                bar_plotter.BarPlotter(
                    {
                        'get_bar_data_fn': self._agent.get_probabilities,
                        'title': 'returns',
                        'legend': self._action_names(),
                        **right,
                    }
                )
            )
        return panes

    def _action_names(self) -> list[str]:
        return drawing.action_names(self._environment, self._agent.num_actions)


def create_dqn_agent(sess: Any, environment: Any, summary_writer: Any = None) -> MyDQNAgent:
    """Makes the DQN agent for the environment's actions."""
    return MyDQNAgent(sess, environment.action_space.n, summary_writer=summary_writer)


def create_rainbow_agent(sess: Any, environment: Any, summary_writer: Any = None) -> MyRainbowAgent:
    """Makes the Rainbow agent for the environment's actions."""
    return MyRainbowAgent(sess, environment.action_space.n, summary_writer=summary_writer)


def create_runner(
    base_dir: str,
    trained_agent_ckpt_path: str,
    agent: str = 'dqn',
    use_legacy_checkpoint: bool = False,
) -> MyRunner:
    """Makes the runner of a trained agent, `agent` being 'dqn' or 'rainbow'."""
    makers = {'dqn': create_dqn_agent, 'rainbow': create_rainbow_agent}
    if agent not in makers:
        raise ValueError(f"agent must be 'dqn' or 'rainbow', got {agent!r}")
    return MyRunner(base_dir, trained_agent_ckpt_path, makers[agent], use_legacy_checkpoint)


def run(
    agent: str,
    game: str,
    num_steps: int,
    root_dir: str,
    restore_ckpt: str,
    use_legacy_checkpoint: bool = False,
) -> None:
    """Plays a game with a trained agent; frames and video go to `root_dir/agent_viz/game/agent`.

    Args:
        agent: 'dqn' or 'rainbow'.
        game: an Atari game, as 'Breakout'.
        num_steps: agent steps to play.
        root_dir: the folder for everything that is written.
        restore_ckpt: a TensorFlow checkpoint (`.../tf_ckpt-199`).
        use_legacy_checkpoint: whether its variables are named as before Dopamine 3.
    """
    tf.compat.v1.reset_default_graph()
    gin.parse_config(
        f"""
        atari_lib.create_atari_environment.game_name = '{game}'
        WrappedReplayBuffer.replay_capacity = 300
        WrappedPrioritizedReplayBuffer.replay_capacity = 300
        """
    )
    base_dir = os.path.join(root_dir, 'agent_viz', game, agent)
    runner = create_runner(base_dir, restore_ckpt, agent, use_legacy_checkpoint)
    runner.visualize(os.path.join(base_dir, 'images'), num_global_steps=num_steps)
