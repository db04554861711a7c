"""Trains the Atari-100k and MinAtar agents for their first steps, and compares with random play.

    python scripts/bench/early_learning.py [NAME ...] [--seed 0] [--json results/early_learning.json]

Trains each experiment of `EXPERIMENTS` (or those named) by the settings of its gin file, except for
its length and game, in a process of its own under `runs/early_learning`; a run that is there already
is resumed or reused. Prints a table of the mean returns, with those of random actions over as many
steps and games. Ends with status 1 if an agent that learnt is no better than random.
"""

import json
import pathlib
import random
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from typing import Any, NamedTuple

import gin
import measure
import numpy as np

from dopamine_lite import compat
from dopamine_lite.colab import utils
from dopamine_lite.discrete_domains import atari_100k, run_experiment

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Experiment(NamedTuple):
    """A gin file, the length of its run in agent steps, and what else is bound."""

    gin_file: str
    steps: int
    runner: type[run_experiment.Runner]
    bindings: Sequence[str]


def _atari_100k(name: str, steps: int) -> Experiment:
    # Evaluated over 100 games at the end, as the gin file says.
    game = "atari_lib.create_atari_environment.game_name = 'RoadRunner'"
    return Experiment(f'{name}.gin', steps, atari_100k.DataEfficientAtariRunner, [game])


def _minatar(name: str, steps: int) -> Experiment:
    # Its gin files have no evaluation. While epsilon is still high, training returns say little.
    bindings = [
        "create_runner.schedule = 'continuous_train_and_eval'",
        'Runner.create_environment_fn = @minatar_lib.create_minatar_environment',
        'Runner.evaluation_steps = 20000',
    ]
    return Experiment(f'minatar/{name}.gin', steps, run_experiment.Runner, bindings)


EXPERIMENTS = {
    'DER': _atari_100k('DER', 10_000),
    'DrQ_eps': _atari_100k('DrQ_eps', 10_000),
    'DrQ': _atari_100k('DrQ', 10_000),
    # Its first 20,000 steps are random; each after that costs eight updates.
    'OTRainbow': _atari_100k('OTRainbow', 21_000),
    **{
        f'minatar_{agent}_{game}': _minatar(f'{agent}_{game}', 50_000)
        for game in ('asterix', 'breakout')
        for agent in ('dqn', 'rainbow', 'quantile')
    },
}


class RandomAgent:
    """Draws its actions uniformly, and learns nothing."""

    summary_writer = None
    eval_mode = False

    def __init__(self, sess: Any, environment: Any, summary_writer: Any = None):
        del sess, summary_writer
        self._num_actions = environment.action_space.n

    def begin_episode(self, observation: Any) -> int:
        del observation
        return random.randrange(self._num_actions)

    def step(self, reward: float, observation: Any) -> int:
        del reward
        return self.begin_episode(observation)

    def end_episode(self, reward: float) -> None:
        pass

    def bundle_and_checkpoint(self, checkpoint_dir: str, iteration_number: int) -> None:
        pass


def _bindings(experiment: Experiment) -> list[str]:
    return [
        'Runner.num_iterations = 1',
        f'Runner.training_steps = {experiment.steps}',
        'Runner.fine_grained_print_to_console = False',
        *experiment.bindings,
    ]


def _summary(base_dir: pathlib.Path) -> dict[str, float]:
    """Returns mean returns and what else of a run's one iteration."""
    data, _ = utils.load_statistics(str(base_dir / 'logs'), verbose=False)
    iteration = data['iteration_0']
    train, evaluation = iteration['train_episode_returns'], iteration['eval_episode_returns']
    return {
        'train_return': float(np.mean(train)),
        'train_games': len(train),
        'eval_return': float(np.mean(evaluation)),
        'eval_standard_error': float(np.std(evaluation) / np.sqrt(len(evaluation))),
        'eval_games': len(evaluation),
        'steps_per_second': float(iteration['train_average_steps_per_second'][0]),
    }


def train(name: str, seed: int) -> dict[str, float]:
    """Trains an experiment in a process of its own."""
    base_dir = ROOT / 'runs' / 'early_learning' / name / str(seed)
    experiment = EXPERIMENTS[name]
    command = [
        *(sys.executable, '-m', 'dopamine_lite.discrete_domains.train'),
        *(f'--base_dir={base_dir}', f'--gin_files={experiment.gin_file}', f'--seed={seed}'),
        *(f'--gin_bindings={binding}' for binding in _bindings(experiment)),
    ]
    finished = subprocess.run(command, capture_output=True, text=True)
    if finished.returncode:
        raise RuntimeError(f'{name}, seed {seed}: {finished.stderr[-2000:]}')
    return _summary(base_dir)


def play_at_random(name: str, seed: int) -> dict[str, float]:
    """Plays the game of an experiment, as long, without learning."""
    experiment = EXPERIMENTS[name]
    compat.install()
    gin.clear_config()
    run_experiment.load_gin_configs([experiment.gin_file], _bindings(experiment))
    with tempfile.TemporaryDirectory() as folder:
        experiment.runner(folder, RandomAgent, seed=seed).run_experiment()
        return _summary(pathlib.Path(folder))


def main() -> int:
    parser = measure.parser(__doc__)
    parser.add_argument('names', nargs='*', choices=[*EXPERIMENTS, []], help='all, if none')
    parser.add_argument('--seed', type=int, default=0)
    arguments = parser.parse_args()

    path = arguments.json and pathlib.Path(arguments.json)
    figures = json.loads(path.read_text()) if path and path.exists() else {}
    failed = []
    print('| gin file | agent steps | return in training (random) | in evaluation (random) |')
    print('|---|---|---|---|', flush=True)
    for name in arguments.names or EXPERIMENTS:
        experiment = EXPERIMENTS[name]
        agent, chance = train(name, arguments.seed), play_at_random(name, arguments.seed)
        figures[name] = {
            'agent_steps': experiment.steps,
            'seed': arguments.seed,
            'agent': agent,
            'random': chance,
        }
        measure.finish(figures, arguments.json)  # after each, for they take long
        print(
            f'| {experiment.gin_file} | {experiment.steps:,} '
            f'| {agent["train_return"]:.1f} ({chance["train_return"]:.1f}) '
            f'| {agent["eval_return"]:.1f} ({chance["eval_return"]:.1f}) |',
            flush=True,
        )
        if agent['eval_return'] <= chance['eval_return']:
            failed.append(name)
    if failed:
        print(f'no better than random: {", ".join(failed)}')
    return int(bool(failed))


if __name__ == '__main__':
    sys.exit(main())
