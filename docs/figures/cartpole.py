"""Draws `docs/cartpole.png` from the returns that `scripts/bench/learning.py` measured."""

import json
import pathlib

import drawing
import numpy as np
from matplotlib.figure import Figure

from dopamine_lite import colours

ROOT = pathlib.Path(__file__).resolve().parents[2]
STEPS_PER_ITERATION = 1000

CURVES = {'dqn_cartpole': 'DQN', 'rainbow_cartpole': 'Rainbow', 'c51_cartpole': 'C51'}


def draw() -> Figure:
    results = json.loads((ROOT / 'results' / 'learning.json').read_text())
    figure = drawing.new_figure(7.5, 4)
    axes = figure.add_subplot()
    for name, agent in CURVES.items():
        curves = np.array(list(results[name].values()))  # [seeds, iterations]
        steps = (np.arange(curves.shape[1]) + 1) * STEPS_PER_ITERATION
        style = colours.agent_style(agent)
        axes.plot(steps, curves.mean(axis=0), label=agent, linewidth=2, **style)
        axes.fill_between(
            steps, curves.min(axis=0), curves.max(axis=0), color=style['color'], alpha=0.15
        )
    seeds = len(results['dqn_cartpole'])
    axes.set_xlabel('agent steps')
    axes.set_ylabel('mean training return')
    axes.set_title(f'CartPole, at most 200 steps an episode: mean and range of {seeds} seeds')
    axes.set_ylim(0, 210)
    axes.grid(alpha=0.3)
    axes.legend(loc='lower right')
    return figure


if __name__ == '__main__':
    drawing.save(draw(), ROOT / 'docs' / 'cartpole.png')
