"""Stopping at a loss that is NaN or infinite, before the network or a priority learns from it."""

import math
import re

import tensorflow as tf


class NonFiniteLoss(RuntimeError):
    """Training met a loss that is NaN or infinite, and stopped before learning from it."""


_NON_FINITE_LOSS = 'the loss is not finite:'


def check(losses: tf.Tensor, indices: tf.Tensor | None) -> tf.Operation:
    """Returns an op that fails unless the sum of the losses is finite; let training depend on it.

    The sum is finite only if each loss is, and costs less than to look at each.

    Args:
      losses: [B], of the sampled transitions.
      indices: [B], where the transitions are stored; None, for a user's buffer that does not say,
        means their rows in the batch.
    """
    if indices is None:
        indices = tf.range(tf.size(losses))
    # The op itself: around it `tf.debugging.Assert` builds a condition, which costs more to run.
    return tf.raw_ops.Assert(
        condition=tf.math.is_finite(tf.reduce_sum(losses)),
        data=[_NON_FINITE_LOSS, indices, losses],
        summarize=1 << 20,
    )


def offending_transitions(error: tf.errors.OpError) -> list[int] | None:
    """Reads what `check` says; returns the indices, None if the error is another.

    They are those of the losses that are not finite; of all, if only the sum is not.
    """
    said = re.search(rf'{_NON_FINITE_LOSS}\]\s*\[([^]]*)\]\s*\[([^]]*)\]', error.message or '')
    if said is None:
        return None
    indices = [int(index) for index in said[1].split()]
    losses = [float(loss) for loss in said[2].split()]
    offending = [i for i, loss in zip(indices, losses, strict=False) if not math.isfinite(loss)]
    return offending or indices
