"""`dopamine.atari.train`, the command line of Dopamine 1, on today's trainer.

    python -m dopamine_lite.compat.dopamine_alias -m dopamine.atari.train \\
        --agent_name=dqn --base_dir=/tmp/dqn --gin_files=dopamine/agents/dqn/configs/dqn.gin

The agent and the schedule were flags then, and are gin bindings now.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from absl import app, flags

from dopamine_lite.compat import CompatibilityWarning
from dopamine_lite.discrete_domains import run_experiment, train

FLAGS = flags.FLAGS

# Flag -> (its gin binding of today, how its value is written there).
_BINDINGS = {
    'agent_name': 'create_agent.agent_name',
    'schedule': 'create_runner.schedule',
    'debug_mode': 'create_agent.debug_mode',
}


def _define_flags() -> None:
    if 'agent_name' not in FLAGS:
        flags.DEFINE_string('agent_name', None, 'dqn, rainbow or implicit_quantile.')
    if 'schedule' not in FLAGS:
        flags.DEFINE_string(
            'schedule', None, 'continuous_train_and_eval (the default) or continuous_train.'
        )
    if 'debug_mode' not in FLAGS:
        flags.DEFINE_bool('debug_mode', None, 'Whether TensorFlow summaries are written.')


_define_flags()


def _bindings_of_flags() -> list[str]:
    if not FLAGS.is_parsed():
        return []
    values = {name: getattr(FLAGS, name) for name in _BINDINGS}
    bindings = [
        f'{_BINDINGS[name]} = {value!r}' for name, value in values.items() if value is not None
    ]
    for binding in bindings:
        warnings.warn(
            f'a flag of Dopamine 1, translated: write --gin_bindings="{binding}"',
            CompatibilityWarning,
            stacklevel=3,
        )
    return bindings


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


def main(unused_argv: list[str]) -> Any:
    """Runs the trainer with the old flags as gin bindings."""
    FLAGS.gin_bindings = [*FLAGS.gin_bindings, *_bindings_of_flags()]
    return train.main(unused_argv)


if __name__ == '__main__':
    flags.mark_flag_as_required('base_dir')
    app.run(main)
