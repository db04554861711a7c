"""Draws `schedules.png`: epsilon and beta over training, as the packaged gin files set them."""

import drawing
import gin
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from dopamine_lite import colours, packaged_configs
from dopamine_lite.discrete_domains import run_experiment
from dopamine_lite.tf.agents import prioritization
from dopamine_lite.tf.agents.dqn import dqn_agent

STYLES = ('-', '--', ':')
EPSILONS = ('dqn.gin', 'dqn_nature.gin', 'dqn_icml.gin')


def parameters(gin_file: str, agent: str, *names: str) -> list[float]:
    """Returns what a packaged gin file binds of an agent."""
    gin.clear_config()
    run_experiment.load_gin_configs([packaged_configs.find(gin_file)], [])
    values = [gin.query_parameter(f'{agent}.{name}') for name in names]
    gin.clear_config()
    return values


def epsilon(gin_file: str, steps: np.ndarray) -> list[float]:
    """Returns epsilon after so many agent steps."""
    decay_period, warmup_steps, final = parameters(
        gin_file, 'DQNAgent', 'epsilon_decay_period', 'min_replay_history', 'epsilon_train'
    )
    return [
        dqn_agent.linearly_decaying_epsilon(decay_period, step, warmup_steps, final)
        for step in steps
    ]


def annealed_beta(steps: np.ndarray) -> list[float]:
    """Returns the beta of `ddqn_per.gin` after so many agent steps."""
    alpha, beta, anneal_steps = parameters(
        'ddqn_per.gin', 'PrioritizedDQNAgent', 'alpha', 'beta', 'beta_anneal_steps'
    )
    schedule = prioritization.Prioritization(alpha, beta, anneal_steps)
    return [schedule.beta_at(step) for step in steps]


def _in_millions(value: float, _) -> str:
    return f'{value / 1e6:g}'


def draw() -> Figure:
    figure = drawing.new_figure(9.5, 3.8)
    left, right = figure.subplots(1, 2)
    steps = np.linspace(0, 1_200_000, 601)
    colour = colours.agent_colour('DQN')
    for gin_file, style in zip(EPSILONS, STYLES, strict=True):
        left.plot(
            steps, epsilon(gin_file, steps), color=colour, ls=style, linewidth=2, label=gin_file
        )
    left.set_title(r'$\epsilon$: probability of a random action')
    steps = np.linspace(0, 60_000_000, 601)
    constant = prioritization.Prioritization()
    for agent, betas, label in (
        ('ddqn_per', annealed_beta(steps), 'ddqn_per.gin (annealed)'),
        ('rainbow', [constant.beta_at(step) for step in steps], 'rainbow.gin (constant)'),
    ):
        right.plot(steps, betas, linewidth=2, label=label, **colours.agent_style(agent))
    right.set_title(r'$\beta$: how much of the bias the weights undo')
    for axes in (left, right):
        axes.set_xlabel('agent steps, in millions')
        axes.xaxis.set_major_formatter(FuncFormatter(_in_millions))
        axes.set_ylim(0, 1.05)
        axes.grid(alpha=0.3)
    left.legend(loc='upper right')
    right.legend(loc='lower right')
    return figure


if __name__ == '__main__':
    drawing.save(draw(), __file__)
