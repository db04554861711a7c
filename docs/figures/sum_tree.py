"""Draws `sum_tree.png`: a sum tree, and a stratified sample found on it."""

import random

import drawing
import numpy as np
from matplotlib.figure import Figure

from dopamine_lite import colours
from dopamine_lite.tf.replay_memory import sum_tree

PRIORITIES = (2.0, 1.0, 4.0, 1.5, 2.5, 1.0, 3.0, 1.0)
BATCH = 4
SEED = 46
SHOWN = 2  # the draw whose way down is drawn


def sample() -> tuple[sum_tree.SumTree, np.ndarray, list[int]]:
    """Returns the tree, the masses drawn in it, one from each stratum, and the leaves found."""
    tree = sum_tree.SumTree(len(PRIORITIES))
    tree.set(np.arange(len(PRIORITIES)), PRIORITIES)
    random.seed(SEED)
    leaves = tree.stratified_sample(BATCH)
    random.seed(SEED)
    masses = (
        np.array([random.uniform(k / BATCH, (k + 1) / BATCH) for k in range(BATCH)]) * tree.root
    )
    assert tree.query(masses / tree.root).tolist() == leaves
    return tree, masses, leaves


def way_down(tree: sum_tree.SumTree, mass: float) -> list[tuple[int, float]]:
    """Returns the node of each level on the way to a mass, and the mass looked for there."""
    node, way = 0, [(0, mass)]
    for level in tree.nodes[1:]:
        node *= 2
        if mass >= level[node]:
            mass -= level[node]
            node += 1
        way.append((node, mass))
    return way


def draw() -> Figure:
    tree, masses, leaves = sample()
    way = way_down(tree, masses[SHOWN])
    assert way[-1][0] == leaves[SHOWN]
    on_way = {(level, node) for level, (node, _) in enumerate(way)}
    blue, orange = colours.BLUE, colours.VERMILION

    figure = drawing.new_figure(9, 5.4)
    axes = figure.add_subplot()
    axes.set_axis_off()
    # Each leaf stands over the middle of its share, each sum over the middle of its children.
    ends = np.cumsum(PRIORITIES)
    places = [ends - np.array(PRIORITIES) / 2]
    while len(places[0]) > 1:
        places.insert(0, places[0].reshape(-1, 2).mean(axis=1))
    bottom = len(places) - 1
    height = lambda level: 1.5 * (bottom - level) + 1.6  # noqa: E731

    for level in range(bottom):
        for child, x in enumerate(places[level + 1]):
            chosen = (level + 1, child) in on_way
            axes.plot(
                [places[level][child // 2], x],
                [height(level), height(level + 1)],
                color=blue if chosen else '#BBBBBB',
                linewidth=3 if chosen else 1.2,
                zorder=1,
            )
    for level, row in enumerate(places):
        for node, x in enumerate(row):
            chosen = (level, node) in on_way
            axes.text(
                x,
                height(level),
                f'{tree.nodes[level][node]:g}',
                ha='center',
                va='center',
                fontsize=drawing.FONT + 1,
                zorder=2,
                bbox={
                    'boxstyle': 'circle,pad=0.35',
                    'facecolor': 'white',
                    'edgecolor': blue if chosen else drawing.GREY,
                    'linewidth': 2.5 if chosen else 1,
                },
            )
    for level, (node, mass) in enumerate(way[:-1]):
        left = tree.nodes[level + 1][2 * node]
        goes_right = mass >= left
        text = f'{mass:.2f} ≥ {left:g}: right' if goes_right else f'{mass:.2f} < {left:g}: left'
        axes.text(
            places[level][node] + 0.62,
            height(level) + 0.12,
            text,
            color=blue,
            fontsize=drawing.FONT,
            va='bottom',
        )

    for index, (end, priority) in enumerate(zip(ends, PRIORITIES, strict=True)):
        axes.barh(
            0.2,
            priority,
            left=end - priority,
            height=0.7,
            color='#DDDDDD' if index % 2 else '#F2F2F2',
            edgecolor=drawing.GREY,
        )
        axes.text(end - priority / 2, 0.2, f'leaf {index}', ha='center', va='center', fontsize=9)
        axes.plot(
            [end - priority / 2] * 2, [0.55, height(bottom) - 0.4], color='#BBBBBB', ls=':', lw=1
        )
    for k in range(BATCH + 1):
        x = k * tree.root / BATCH
        axes.plot([x, x], [-0.95, -0.15], color='black', linewidth=1.5)
        axes.text(x, -1.05, f'{x:g}', ha='center', va='top', fontsize=drawing.FONT)
    for k, (mass, leaf) in enumerate(zip(masses, leaves, strict=True)):
        colour = blue if k == SHOWN else orange
        axes.annotate(
            f'{mass:.2f} → leaf {leaf}',
            (mass, -0.17),
            (k * tree.root / BATCH + tree.root / BATCH / 2, -0.78),
            ha='center',
            va='center',
            color=colour,
            fontsize=drawing.FONT,
            arrowprops={'arrowstyle': '-|>', 'color': colour, 'shrinkA': 2, 'shrinkB': 0},
        )
    axes.text(
        0,
        height(0) + 0.05,
        'sums of priorities',
        color=drawing.GREY,
        fontsize=drawing.FONT,
        va='center',
    )
    axes.text(
        tree.root / 2,
        -1.6,
        f'priority mass from 0 to the root, in {BATCH} equal strata; one uniform draw in each',
        ha='center',
        va='top',
        fontsize=drawing.FONT,
    )
    axes.set_xlim(-0.3, tree.root + 0.3)
    axes.set_ylim(-2.1, height(0) + 0.7)
    return figure


if __name__ == '__main__':
    drawing.save(draw(), __file__)
