"""Draws `c51_projection.png`: where `project_distribution` moves the probability of each atom."""

import drawing
import numpy as np
import tensorflow as tf
from matplotlib.figure import Figure

from dopamine_lite import colours
from dopamine_lite.tf.agents.rainbow import rainbow_agent

# The example of `project_distribution`.
SUPPORT = (0.0, 2.0, 4.0, 6.0, 8.0)
WEIGHTS = (0.1, 0.3, 0.1, 0.2, 0.3)
TARGET_SUPPORT = (4.0, 5.0, 6.0, 7.0, 8.0)
# A Bellman update of the same probabilities on the target support.
REWARD, DISCOUNT = 0.7, 0.9


def shares(supports: np.ndarray) -> np.ndarray:
    """Returns what each target atom gets from each atom, [target atoms, atoms].

    Projects one atom at a time: the projection is linear in the weights.
    """
    count = len(supports)
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        parts = rainbow_agent.project_distribution(
            tf.constant(np.tile(supports, (count, 1)), tf.float32),
            tf.constant(np.diag(WEIGHTS), tf.float32),
            tf.constant(TARGET_SUPPORT),
        )
        return session.run(parts).T


def moved_support() -> np.ndarray:
    """Returns r + gamma z for the atoms z of the target support."""
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        moved = rainbow_agent.distributional_target(
            tf.constant([REWARD]), tf.constant([0]), tf.constant(TARGET_SUPPORT), DISCOUNT
        )
        return session.run(moved)[0]


def _label(axes, place: float, height: float) -> None:
    axes.annotate(
        f'{height:.2g}',
        (place, height),
        (0, 4),
        textcoords='offset points',
        ha='center',
        bbox={'facecolor': 'white', 'edgecolor': 'none', 'pad': 0.5},
    )


def _draw_row(before, after, supports: np.ndarray, title: str) -> None:
    palette = colours.SERIES[: len(supports)]
    parts = shares(supports)
    for atom, (place, weight) in enumerate(zip(supports, WEIGHTS, strict=True)):
        before.bar(place, weight, width=0.5, color=palette[atom], edgecolor='black', linewidth=0.6)
        _label(before, place, weight)
    for target in TARGET_SUPPORT:
        before.axvline(target, color=drawing.GREY, linewidth=0.8, linestyle=':', zorder=0)
    for index, target in enumerate(TARGET_SUPPORT):
        height = 0.0
        for atom, part in enumerate(parts[index]):
            if part > 1e-6:
                after.bar(
                    target,
                    part,
                    bottom=height,
                    width=0.5,
                    color=palette[atom],
                    edgecolor='black',
                    linewidth=0.6,
                )
                height += part
        _label(after, target, height)
    before.set_title(title, fontsize=drawing.FONT + 1)
    after.set_title('projected onto the atoms 4, 5, 6, 7, 8', fontsize=drawing.FONT + 1)
    for axes in (before, after):
        axes.set_xlim(-0.7, 8.7)
        axes.set_ylim(0, 0.62)
        axes.set_xticks(range(9))
        axes.set_ylabel('probability')
        axes.set_xlabel('return')


def draw() -> Figure:
    figure = drawing.new_figure(9.5, 6)
    axes = figure.subplots(2, 2)
    _draw_row(*axes[0], np.array(SUPPORT), 'atoms 0, 2, 4, 6, 8')
    moved = moved_support()
    atoms = ', '.join(f'{atom:.1f}' for atom in moved)
    _draw_row(*axes[1], moved, f'atoms {REWARD:g} + {DISCOUNT:g} z:  {atoms}')
    return figure


if __name__ == '__main__':
    drawing.save(draw(), __file__)
