"""Trains the classic-control agents and checks what they learn against Dopamine's own runs.

    python scripts/bench/learning.py [NAME ...] [--seeds 0 1 2] [--iterations 30] [--jobs 1]

Trains each experiment of `EXPERIMENTS` (or those named) with each seed, in a process of its own,
under `runs/learning`; a run that is there already is resumed or reused. Prints the figures that
`EXPERIMENTS` asks for as a table and writes every mean return to `results/learning.json`. Ends with
status 1 if a figure is outside its bounds. About 40 minutes for everything on two cores.
"""

import argparse
import concurrent.futures
import json
import math
import pathlib
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from dopamine_lite.colab import utils

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Figure(NamedTuple):
    """A figure of the mean return over the seeds [iterations], and its bounds.

    `phase` is 'train' or 'eval'. `least` may be the name of an experiment: the same figure of that.
    """

    description: str
    value: Callable[[np.ndarray], float]
    least: float | str = -math.inf
    most: float = math.inf
    phase: str = 'train'


class Experiment(NamedTuple):
    """A gin file, bindings beside it, and the figures to check."""

    gin_file: str
    figures: Sequence[Figure]
    bindings: Sequence[str] = ()


_DQN_FIGURES = (
    Figure('iteration 0', lambda curve: curve[0], least=8, most=17),
    Figure('mean of iterations 3-5', lambda curve: curve[3:6].mean(), least=110),
)
_SOLVED = (Figure('best evaluation', lambda curve: curve.max(), least=195, phase='eval'),)
_AT_20000_STEPS = 'mean of iterations 15-19'
# The bounds of the first are those of Dopamine's own agents, TensorFlow path, on the same
# environments.
EXPERIMENTS = {
    'dqn_cartpole': Experiment('dqn_cartpole.gin', _DQN_FIGURES),
    'rainbow_cartpole': Experiment(
        'rainbow_cartpole.gin',
        (Figure('best of iterations 1-10', lambda curve: curve[1:11].max(), least=120),),
    ),
    'c51_cartpole': Experiment(
        'c51_cartpole.gin',
        (Figure('best of iterations 1-15', lambda curve: curve[1:16].max(), least=60),),
    ),
    'dqn_acrobot': Experiment(
        'dqn_acrobot.gin',
        (Figure('mean of iterations 10-29', lambda curve: curve[10:30].mean(), least=-200),),
    ),
    # What the agents below, whose gin files store cut episodes as cut too, are compared with.
    'dqn_cartpole_cut': Experiment(
        'dqn_cartpole.gin',
        (
            Figure('mean of iterations 3-5', lambda curve: curve[3:6].mean()),
            Figure(_AT_20000_STEPS, lambda curve: curve[15:20].mean()),
        ),
        ('Runner.terminal_on_time_limit = False',),
    ),
    'ddqn_per_cartpole': Experiment(
        'ddqn_per_cartpole.gin',
        (Figure(_AT_20000_STEPS, lambda curve: curve[15:20].mean(), least='dqn_cartpole_cut'),),
    ),
    **{
        name: Experiment(
            f'{name}.gin', (Figure(_AT_20000_STEPS, lambda curve: curve[15:20].mean(), least=110),)
        )
        for name in ('dueling_ddqn_per_cartpole', 'sarsa_cartpole')
    },
    **{
        name: Experiment(f'{name}.gin', _SOLVED)
        for name in ('full_rainbow_cartpole', 'quantile_cartpole', 'implicit_quantile_cartpole')
    },
}


def train(name: str, seed: int, iterations: int) -> dict[str, list[float]]:
    """Trains one seed of an experiment; returns the mean returns of each phase's iterations."""
    experiment = EXPERIMENTS[name]
    base_dir = ROOT / 'runs' / 'learning' / name / str(seed)
    bindings = [
        f'Runner.num_iterations = {iterations}',
        'Runner.fine_grained_print_to_console = False',
        *experiment.bindings,
    ]
    command = [
        *(sys.executable, '-m', 'dopamine_lite.discrete_domains.train'),
        *(f'--base_dir={base_dir}', f'--gin_files={experiment.gin_file}', f'--seed={seed}'),
        *(f'--gin_bindings={binding}' for binding in bindings),
    ]
    finished = subprocess.run(command, capture_output=True, text=True)
    if finished.returncode:
        raise RuntimeError(f'{name}, seed {seed}: {finished.stderr[-2000:]}')
    data, _ = utils.load_statistics(str(base_dir / 'logs'), verbose=False)
    returns = {
        phase: [
            float(np.mean(data[f'iteration_{i}'][f'{phase}_episode_returns']))
            for i in range(iterations)
        ]
        for phase in ('train', 'eval')
    }
    for phase, values in returns.items():
        text = ' '.join(f'{value:.0f}' for value in values)
        print(f'{name}, seed {seed}, {phase}: {text}', flush=True)
    return returns


def measured(figure: Figure, name: str, recorded: dict[str, dict[str, list[float]]]) -> float:
    """Returns a figure of an experiment; NaN, which no bound admits, where it was not measured."""
    of_seeds = recorded.get(name if figure.phase == 'train' else f'{name} eval', {})
    curves = list(of_seeds.values())
    mean = np.mean(curves, axis=0) if curves else np.array([np.nan])
    return figure.value(mean) if np.isfinite(mean).all() else math.nan


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('names', nargs='*', choices=[*EXPERIMENTS, []], help='all, if none')
    parser.add_argument('--seeds', nargs='+', type=int, default=[0, 1, 2])
    parser.add_argument('--iterations', type=int, default=30)
    parser.add_argument('--jobs', type=int, default=1, help='runs at the same time')
    parser.add_argument('--output', default=str(ROOT / 'results' / 'learning.json'))
    arguments = parser.parse_args()
    names = arguments.names or list(EXPERIMENTS)

    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        futures = {
            (name, seed): pool.submit(train, name, seed, arguments.iterations)
            for name in names
            for seed in arguments.seeds
        }
        curves = {
            name: {seed: futures[name, seed].result() for seed in arguments.seeds} for name in names
        }

    output = pathlib.Path(arguments.output)
    recorded = json.loads(output.read_text()) if output.exists() else {}
    for name, of_seeds in curves.items():
        recorded[name] = {str(seed): phases['train'] for seed, phases in of_seeds.items()}
        recorded[f'{name} eval'] = {str(seed): phases['eval'] for seed, phases in of_seeds.items()}
    output.parent.mkdir(exist_ok=True)
    output.write_text(json.dumps(recorded, indent=1) + '\n')

    outside = 0
    print('\n| run | figure | value | bounds |\n|---|---|---|---|')
    for name in names:
        for figure in EXPERIMENTS[name].figures:
            value, least = measured(figure, name, recorded), figure.least
            if isinstance(least, str):
                least = measured(figure, least, recorded)
            met = least <= value <= figure.most
            outside += not met
            bounds = (
                'none'
                if math.isinf(least)
                else f'at least {least:g}'
                + (f', at most {figure.most:g}' if figure.most < math.inf else '')
            )
            if isinstance(figure.least, str):
                bounds += f' ({figure.least})'
            bounds += '' if met else ' (missed)'
            print(f'| {name} | {figure.description} | {value:.1f} | {bounds} |')
    return int(outside > 0)


if __name__ == '__main__':
    sys.exit(main())
