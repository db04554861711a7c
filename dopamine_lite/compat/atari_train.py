"""`dopamine.atari.train`, the command line of Dopamine 1, on today's trainer.

    python -m dopamine_lite.compat.dopamine_alias -m dopamine.atari.train \\
        --agent_name=dqn --base_dir=/tmp/dqn --gin_files=dopamine/agents/dqn/configs/dqn.gin

The agent and the schedule were flags then, and are gin bindings now.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from absl import flags

from dopamine_lite.compat import CompatibilityWarning
from dopamine_lite.discrete_domains import run_experiment, train

FLAGS = flags.FLAGS

# Flag -> the gin binding that it is today.
_BINDINGS = {
    'agent_name': 'create_agent.agent_name',
    'schedule': 'create_runner.schedule',
    'debug_mode': 'create_agent.debug_mode',
}


for _name, _help in (
    ('agent_name', 'dqn, rainbow or implicit_quantile.'),
    ('schedule', 'continuous_train_and_eval (the default) or continuous_train.'),
):
    if _name not in FLAGS:
        flags.DEFINE_string(_name, None, _help)
if 'debug_mode' not in FLAGS:
    flags.DEFINE_bool('debug_mode', False, 'Whether TensorFlow summaries are written.')


def modern_arguments(arguments: Sequence[str]) -> list[str]:
    """Command-line arguments of Dopamine 1 as those of today's trainer, with a warning for each."""
    modern = []
    remaining = iter(arguments)
    for argument in remaining:
        match = re.fullmatch(r'--?(no)?(agent_name|schedule|debug_mode)(?:=(.*))?', argument)
        if match is None:
            modern.append(argument)
            continue
        negated, name, value = match.groups()
        if name == 'debug_mode':
            value = not negated and str(value or 'true').lower() in ('1', 't', 'true')
        elif value is None:
            value = next(remaining, '')
        binding = f'{_BINDINGS[name]} = {value!r}'
        warnings.warn(
            f'{argument} is a flag of Dopamine 1, translated: write --gin_bindings="{binding}"',
            CompatibilityWarning,
            stacklevel=2,
        )
        modern.append(f'--gin_bindings={binding}')
    return modern


def create_agent(sess: Any, environment: Any, summary_writer: Any = None) -> Any:
    """Makes the agent that `--agent_name` or gin names."""
    if FLAGS.is_parsed() and FLAGS.agent_name:
        return run_experiment.create_agent(
            sess, environment, agent_name=FLAGS.agent_name, summary_writer=summary_writer
        )
    return run_experiment.create_agent(sess, environment, summary_writer=summary_writer)


def create_runner(base_dir: str, create_agent_fn: Callable[..., Any] = create_agent) -> Any:
    """Makes the runner that `--schedule` names, for the given function that makes the agent."""
    schedule = FLAGS.schedule if FLAGS.is_parsed() else None
    runners = {
        None: run_experiment.Runner,
        'continuous_train_and_eval': run_experiment.Runner,
        'continuous_train': run_experiment.TrainRunner,
    }
    if schedule not in runners:
        raise ValueError(f'Unknown schedule: {schedule}')
    return runners[schedule](base_dir, create_agent_fn)


def launch_experiment(
    create_runner_fn: Callable[..., Any], create_agent_fn: Callable[..., Any]
) -> None:
    """Reads the gin flags, then runs what `create_runner_fn(base_dir, create_agent_fn)` makes."""
    run_experiment.load_gin_configs(FLAGS.gin_files, FLAGS.gin_bindings)
    runner = create_runner_fn(FLAGS.base_dir, create_agent_fn)
    runner.run_experiment()


def main(unused_argv: Sequence[str]) -> None:
    """Trains as the flags say; to be called by `absl.app.run`."""
    FLAGS.gin_bindings = [
        *FLAGS.gin_bindings,
        *(f'{_BINDINGS[name]} = {FLAGS[name].value!r}' for name in _BINDINGS if FLAGS[name].value),
    ]
    train.main(unused_argv)


if __name__ == '__main__':
    sys.exit(train.run([sys.argv[0], *modern_arguments(sys.argv[1:])]))
