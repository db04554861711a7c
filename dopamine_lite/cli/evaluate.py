"""`dopamine-lite evaluate`: plays games with a trained agent and says what it earned."""

import argparse
import json
import os
from collections.abc import Sequence
from typing import Any

from dopamine_lite import files, trained_agent
from dopamine_lite.cli import UserError

SUMMARY = 'plays games with a trained agent and reports the returns'
EXAMPLE = 'dopamine-lite evaluate runs/cartpole --episodes=20 --seed=1'

DEFAULT_OUTPUT = 'evaluation.json'
_RESAMPLES = 10_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of the command."""
    trained_agent.add_source_arguments(parser)
    parser.add_argument('--episodes', metavar='E', type=int, default=10, help='games; default: 10')
    parser.add_argument(
        '--output', metavar='FILE', help=f'default: {DEFAULT_OUTPUT} in BASE_DIR, or here'
    )


def run(arguments: argparse.Namespace) -> int:
    """Evaluates, prints and writes the results; returns the exit status."""
    if arguments.episodes < 1:
        raise UserError(f'--episodes must be at least 1, got {arguments.episodes}')
    output = trained_agent.output_path(arguments, DEFAULT_OUTPUT)
    agent = trained_agent.load_from(arguments)
    checkpoint = '' if agent.iteration is None else f', checkpoint {agent.iteration}'
    print(f'{agent.name}{checkpoint}, seed {arguments.seed}')
    returns: list[float] = []
    lengths: list[int] = []
    for moment in agent.play():
        if moment.over:
            returns.append(float(moment.episode_return))
            lengths.append(moment.episode_steps)
            print(
                f'episode {len(returns)}: return {returns[-1]:g} in {lengths[-1]} agent steps'
                + ', cut there' * (lengths[-1] == agent.max_steps_per_episode),
                flush=True,
            )
            if len(returns) == arguments.episodes:
                break
    result = summary(returns)
    print(f'mean {result["mean"]:.2f}', end='')
    if len(returns) > 1:
        low, high = result['interval_95']
        print(f', standard deviation {result["standard_deviation"]:.2f}', end='')
        print(f', 95 % interval of the mean {low:.2f} to {high:.2f} (bootstrap)', end='')
    print(f', {len(returns)} episode{"s" * (len(returns) > 1)}\nResults: {output}')
    record = {
        'agent': agent.experiment.agent,
        'environment': agent.experiment.environment,
        'source': os.path.abspath(arguments.base_dir or arguments.tf_checkpoint),
        'checkpoint': agent.iteration,
        'seed': arguments.seed,
        'epsilon': getattr(agent.agent, 'epsilon_eval', None),
        'max_steps_per_episode': agent.max_steps_per_episode,
        **result,
        'returns': returns,
        'lengths': lengths,
    }
    with files.atomic_write(output) as file:
        file.write(json.dumps(record, indent=2).encode() + b'\n')
    return 0


def summary(returns: Sequence[float]) -> dict[str, Any]:
    """Returns the number of episodes, and of their returns mean, deviation and interval.

    The standard deviation is that of a sample (divided by n - 1). The interval holds the middle 95 %
    of the means of 10,000 samples drawn with replacement from the returns (the percentile bootstrap
    of Efron, 1979), always with the same random numbers. Of one return neither is known: None.
    """
    import numpy as np

    values = np.asarray(returns, np.float64)  # [E]
    deviation = interval = None
    if len(values) > 1:
        deviation = float(np.std(values, ddof=1))
        generator = np.random.default_rng(0)
        means = [generator.choice(values, len(values)).mean() for _ in range(_RESAMPLES)]
        interval = np.percentile(means, [2.5, 97.5]).tolist()
    return {
        'episodes': len(values),
        'mean': float(values.mean()),
        'standard_deviation': deviation,
        'interval_95': interval,
    }
