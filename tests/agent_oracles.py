"""Slow, obvious twins of the agents' targets and losses, in Python loops over NumPy arrays."""

import math

import numpy as np


def project_distribution(supports, weights, target_support):
    """Eq. 7 of Bellemare et al. (2017), all B * Z * N terms of it, in float64."""
    supports, weights, target = (np.asarray(x, float) for x in (supports, weights, target_support))
    spacing = target[1] - target[0]
    projection = np.zeros((len(supports), len(target)))
    for row in range(len(supports)):
        for i, atom in enumerate(target):
            for moved, probability in zip(supports[row], weights[row], strict=True):
                moved = min(max(moved, target[0]), target[-1])
                nearness = 1 - abs(moved - atom) / spacing
                projection[row, i] += min(max(nearness, 0), 1) * probability
    return projection


def softmax(logits):
    exponentials = np.exp(logits - np.max(logits))
    return exponentials / exponentials.sum()


def huber(error, threshold):
    size = abs(error)
    if size <= threshold:
        return 0.5 * size**2
    return threshold * (size - 0.5 * threshold)


def quantile_huber_loss(targets, predictions, fractions, kappa):
    """Eq. 3 of Dabney et al. (2018), term by term; returns (losses [B], gradient [B, N])."""
    num_rows, num_predictions = predictions.shape
    losses, gradient = np.zeros(num_rows), np.zeros(predictions.shape)
    for row in range(num_rows):
        for i in range(num_predictions):
            for target in targets[row]:
                error = target - predictions[row, i]
                weight = abs(fractions[row, i] - (error < 0)) / kappa / len(targets[row])
                losses[row] += weight * huber(error, kappa)
                gradient[row, i] -= weight * min(max(error, -kappa), kappa)
    return losses, gradient


def c51_step(batch, support, discount, online, target, probabilities=None, learning_rate=1.0):
    """One step of gradient descent of C51 with logits x W.

    Args:
        batch: (states [B, 2], actions, rewards, next states, terminals).
        support: [Z].
        discount: gamma^n.
        online: W of the online network, [2, A, Z].
        target: W of the target network.
        probabilities: [B] priorities; None for equal weights.
        learning_rate: of the step.

    Returns:
        (cross-entropies [B], weights [B], the new W of the online network).
    """
    states, actions, rewards, next_states, terminals = batch
    num_rows = len(states)
    weights = np.ones(num_rows)
    if probabilities is not None:
        weights = np.array([1 / math.sqrt(p + 1e-10) for p in probabilities])
        weights /= weights.max()
    losses, gradient = np.zeros(num_rows), np.zeros(online.shape)
    for row in range(num_rows):
        next_probabilities = [softmax(z) for z in np.tensordot(next_states[row], target, 1)]
        values = [float(np.dot(p, support)) for p in next_probabilities]
        best = int(np.argmax(values))
        moved = rewards[row] + discount * (1 - terminals[row]) * np.asarray(support)
        labels = project_distribution([moved], [next_probabilities[best]], support)[0]
        predicted = softmax(states[row] @ online[:, actions[row]])
        losses[row] = -np.dot(labels, np.log(predicted))
        gradient[:, actions[row]] += (
            weights[row] / num_rows * np.outer(states[row], predicted - labels)
        )
    return losses, weights, online - learning_rate * gradient
