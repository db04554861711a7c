"""Draws `quantile_huber.png`: the quantile Huber loss of one error."""

import drawing
import numpy as np
import tensorflow as tf
from matplotlib.figure import Figure

from dopamine_lite import colours
from dopamine_lite.tf.agents.implicit_quantile import implicit_quantile_agent

ERRORS = np.linspace(-3.0, 3.0, 601, dtype=np.float32)
FRACTIONS = (0.1, 0.5, 0.9)
KAPPAS = (2.0, 1.0, 0.01)
STYLES = ('-', '--', '-.')


def losses(fraction: float, kappa: float) -> np.ndarray:
    """Returns the loss of each of `ERRORS`: one target, one prediction of zero."""
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        predictions = tf.zeros([ERRORS.size, 1])
        return session.run(
            implicit_quantile_agent.quantile_huber_loss(
                tf.constant(ERRORS[:, None]), predictions, predictions + fraction, kappa
            )
        )


def draw() -> Figure:
    figure = drawing.new_figure(9.5, 3.8)
    by_fraction, by_kappa = figure.subplots(1, 2, sharey=True)
    for fraction, colour, style in zip(FRACTIONS, colours.SERIES, STYLES, strict=False):
        by_fraction.plot(
            ERRORS,
            losses(fraction, 1.0),
            color=colour,
            linestyle=style,
            linewidth=2,
            label=rf'$\tau$ = {fraction:g}',
        )
    by_fraction.set_title(r'three fractions, $\kappa$ = 1')
    for kappa, colour, style in zip(KAPPAS, colours.SERIES[3:], STYLES, strict=False):
        by_kappa.plot(
            ERRORS,
            losses(0.9, kappa),
            color=colour,
            linestyle=style,
            linewidth=2,
            label=rf'$\kappa$ = {kappa:g}',
        )
    by_kappa.set_title(r'three thresholds, $\tau$ = 0.9')
    for axes in (by_fraction, by_kappa):
        axes.set_xlabel(r'error $\delta$ = target - prediction')
        axes.grid(alpha=0.3)
        axes.legend(loc='upper center')
    by_fraction.set_ylabel('loss')
    return figure


if __name__ == '__main__':
    drawing.save(draw(), __file__)
