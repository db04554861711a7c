"""The trainer: `python -m dopamine_lite.discrete_domains.train --base_dir=D --gin_files=F.gin`.

Run the same command again to resume after an interruption. A mistake in the command or in a gin
file is reported in one line; `--verbosity=1` shows where it was found.
"""

import contextlib
import importlib
import os
import random
import re
import shlex
import shutil
import signal
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from absl import flags, logging

from dopamine_lite import console
from dopamine_lite.discrete_domains import run_lock, stopping

# TensorFlow takes seconds to import, which the functions below put off: a mistyped flag is reported
# at once, and Ctrl-C meanwhile is a clean stop too.

flags.DEFINE_string('base_dir', None, 'Folder of the run: checkpoints, logs and metrics.')
flags.DEFINE_multi_string('gin_files', [], 'Gin files, by path or by the name of a packaged one.')
flags.DEFINE_multi_string(
    'gin_bindings',
    [],
    "Single gin bindings, which win over the files, such as 'Runner.training_steps = 1000'.",
)
flags.DEFINE_multi_string(
    'import',
    [],
    "Modules with the user's own agents, networks or environments, imported before the gin files.",
    allow_override=True,
)
flags.DEFINE_integer(
    'seed',
    None,
    'Makes the run repeatable; wins over Runner.seed. Without one, a fresh one is drawn, or that '
    'of the run to resume is taken.',
    lower_bound=0,
    upper_bound=2**32 - 1,
    allow_override=True,  # programs that import this module for its flags may have a seed too
)
flags.DEFINE_bool(
    'fresh',
    False,
    'Starts anew: what an earlier run left in base_dir is moved to base_dir/previous_1 (or _2, ...).',
    allow_override=True,
)

FLAGS = flags.FLAGS

# As the user would type it: `scripts/train.sh` runs an environment that no shell has activated.
_IS_ACTIVE = os.path.dirname(shutil.which('python') or '') == os.path.dirname(sys.executable)
_PYTHON = 'python' if _IS_ACTIVE else sys.executable
_COMMAND = (_PYTHON, '-m', 'dopamine_lite.discrete_domains.train')


def main(unused_argv: Sequence[str]) -> None:
    """Trains as the flags say; to be called by `absl.app.run` or after parsing the flags."""
    if not FLAGS['verbosity'].present:
        logging.set_verbosity(logging.INFO)
    _configure()
    _set_aside()
    _settle_seed()
    _create_runner().run_experiment()


def _configure() -> None:
    from dopamine_lite import compat
    from dopamine_lite.discrete_domains import run_experiment

    compat.install()
    for name in FLAGS['import'].value:
        importlib.import_module(name)
    run_experiment.load_gin_configs(FLAGS.gin_files, FLAGS.gin_bindings)


def _set_aside() -> None:
    if not FLAGS.fresh:
        return
    from dopamine_lite.discrete_domains import run_experiment

    folder = run_experiment.set_aside(FLAGS.base_dir)
    if folder:
        print(f'The earlier run was moved to {folder}', file=sys.stderr)


def _settle_seed() -> None:
    """Binds `Runner.seed`: the flag's, what is bound, that of the run to resume, or a fresh one."""
    import gin

    from dopamine_lite.discrete_domains import checkpointer, run_experiment

    seed = FLAGS.seed
    if seed is None:
        try:
            seed = gin.query_parameter('Runner.seed')
        except ValueError:  # not bound
            pass
        if seed is not None:
            return
        seed = run_experiment.settled_seed(FLAGS.base_dir, None)
    if seed is None:
        # Not from `random`, which the user's own code may have seeded.
        seed = random.SystemRandom().randrange(2**32)
        checkpoints = os.path.join(FLAGS.base_dir, 'checkpoints')
        note = f'--seed={seed} in another base_dir repeats this run'
        if checkpointer.complete_checkpoints(checkpoints):
            note = 'the run to resume does not say with which seed it began'
        print(f'Seed: {seed} ({note})', file=sys.stderr)
    with gin.unlock_config():
        gin.bind_parameter('Runner.seed', seed)


def _create_runner() -> Any:
    from dopamine_lite.discrete_domains import run_experiment

    return run_experiment.create_runner(FLAGS.base_dir)


def run(argv: Sequence[str] | None = None, command: Sequence[str] = _COMMAND) -> int:
    """The command: parses the flags, trains, and draws the learning curve.

    Args:
      argv: the command line with the program's name; None means `sys.argv`.
      command: what the user typed before the flags.

    Returns:
      The exit status: 0, 1 after an error, 2 after a mistake in the flags, 130 after Ctrl-C, 143
      after SIGTERM. An error in the user's own code is raised, with its traceback.
    """
    argv = list(sys.argv if argv is None else argv)
    if {'--help', '-help', '-h', '-?'} & set(argv):
        print(_help(command))
        return 0
    try:
        surplus = FLAGS(argv)[1:]
        if surplus:
            raise flags.Error(
                f'unexpected argument {surplus[0]!r} (a binding with spaces needs quotes)'
            )
        if not FLAGS.base_dir:
            raise flags.Error('--base_dir is missing: the folder for checkpoints and results')
        if not FLAGS.gin_files and not FLAGS.gin_bindings:
            raise flags.Error('--gin_files is missing, such as --gin_files=rainbow_cartpole.gin')
    except flags.Error as error:
        _complain(' '.join(str(error).split()))
        return 2

    with stopping.handled():
        building, is_new = True, not os.path.exists(FLAGS.base_dir)
        try:
            _keep_the_console_clear()
            _configure()
            console.make_folder(FLAGS.base_dir, 'the base_dir')
            # The runner takes it too, but only when the graph is built.
            with run_lock.lock(FLAGS.base_dir):
                # Only while it is locked: the folder may have become another process's run.
                with _taken_back(FLAGS.base_dir, is_new):
                    _set_aside()
                    _settle_seed()
                    runner = _create_runner()
                building = False
                runner.run_experiment()
            _report(FLAGS.base_dir)
            return 0
        except (KeyboardInterrupt, stopping.Terminated):
            return _interrupted(command, argv, stopping.received() or signal.SIGINT)
        except Exception as error:
            # TensorFlow turns an interrupt in one of its callbacks into an error of its own.
            if stopping.received() and re.search('KeyboardInterrupt|Terminated', str(error)):
                return _interrupted(command, argv, stopping.received())
            message = console.mistake(error, building) or console.advice(error)
            if message is None:
                raise
            logging.debug('The error in full:', exc_info=True)
            _complain(message)
            return 1


def _keep_the_console_clear() -> None:
    console.keep_clear()
    if not FLAGS['verbosity'].present:
        logging.set_verbosity(logging.INFO)


def _help(command: Sequence[str]) -> str:
    text = [__doc__.split('\n')[0], '']
    for name in ('base_dir', 'gin_files', 'gin_bindings', 'import', 'seed', 'fresh'):
        # absl adds to what may be given more than once that it may.
        description = FLAGS[name].help.partition(';\n')[0]
        text.append(f'  --{name}: {" ".join(description.split())}')
    text += [
        '  --verbosity: how much is logged: -1 warnings, 0 results (default), 1 more on errors.',
        '',
        'Example:',
        f'  {shlex.join(command)} --base_dir=/tmp/cartpole --gin_files=rainbow_cartpole.gin \\',
        "    --gin_bindings='Runner.num_iterations = 30'",
    ]
    return '\n'.join(text)


def _complain(message: str) -> None:
    print(f'train: {message}', file=sys.stderr)


@contextlib.contextmanager
def _taken_back(folder: str, is_new: bool) -> Iterator[None]:
    """Takes back the folders that were made for a run that cannot start."""
    try:
        yield
    except Exception:
        if is_new:
            for path, _, _ in os.walk(folder, topdown=False):
                with contextlib.suppress(OSError):  # not empty
                    os.rmdir(path)
        raise


def _report(base_dir: str) -> None:
    """Draws the learning curve and prints where everything is."""
    from dopamine_lite.discrete_domains import learning_curve

    print(f'Results: {base_dir}')
    try:
        print(f'Learning curve: {learning_curve.draw(base_dir)}')
    except (learning_curve.NoCurve, ImportError, OSError, ValueError) as error:
        print(f'No learning curve: {error}')


def _interrupted(command: Sequence[str], argv: Sequence[str], signum: int) -> int:
    from dopamine_lite.discrete_domains import checkpointer

    complete = checkpointer.complete_checkpoints(os.path.join(FLAGS.base_dir, 'checkpoints'))
    where = f'after checkpoint {complete[-1]}' if complete else 'from the start (no checkpoint yet)'
    # Once more with --fresh would start anew.
    again = [a for a in argv[1:] if not re.fullmatch('--?fresh(=.*)?', a)]
    same = shlex.join([*command, *again])
    print(f'\nInterrupted. To go on {where}, run the same command: {same}', file=sys.stderr)
    return 128 + signum


if __name__ == '__main__':
    sys.exit(run())
