"""The trainer: `python -m dopamine_lite.discrete_domains.train --base_dir=D --gin_files=F.gin`.

Run the same command again to resume after an interruption. A mistake in the command or in a gin
file is reported in one line; `--verbosity=1` shows where it was found.
"""

import ast
import contextlib
import difflib
import logging as python_logging
import os
import random
import re
import shlex
import signal
import sys
import sysconfig
import tempfile
import traceback
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from absl import flags, logging

from dopamine_lite.discrete_domains import stopping

# TensorFlow takes seconds to import, which the functions below put off: a mistyped flag is reported
# at once, and Ctrl-C meanwhile is a clean stop too.

flags.DEFINE_string('base_dir', None, 'Folder of the run: checkpoints, logs and metrics.')
flags.DEFINE_multi_string('gin_files', [], 'Gin files, by path or by the name of a packaged one.')
flags.DEFINE_multi_string(
    'gin_bindings',
    [],
    "Single gin bindings, which win over the files, such as 'Runner.training_steps = 1000'.",
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

_COMMAND = 'python -m dopamine_lite.discrete_domains.train'


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

    from dopamine_lite.discrete_domains import run_experiment

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
        print(f'Seed: {seed} (--seed={seed} in another base_dir repeats this run)', file=sys.stderr)
    with gin.unlock_config():
        gin.bind_parameter('Runner.seed', seed)


def _create_runner() -> Any:
    from dopamine_lite.discrete_domains import run_experiment

    return run_experiment.create_runner(FLAGS.base_dir)


def run(argv: Sequence[str] | None = None) -> int:
    """The command: parses the flags, trains, and draws the learning curve.

    Args:
      argv: the command line with the program's name; None means `sys.argv`.

    Returns:
      The exit status: 0, 1 after an error, 2 after a mistake in the flags, 130 after Ctrl-C, 143
      after SIGTERM. An error in the user's own code is raised, with its traceback.
    """
    argv = list(sys.argv if argv is None else argv)
    if {'--help', '-help', '-h', '-?'} & set(argv):
        print(_help())
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
        building = True
        try:
            _keep_the_console_clear()
            _configure()
            _make_folder(FLAGS.base_dir)
            _set_aside()
            _settle_seed()
            runner = _create_runner()
            building = False
            runner.run_experiment()
            _report(FLAGS.base_dir)
            return 0
        except (KeyboardInterrupt, stopping.Terminated):
            return _interrupted(argv, stopping.received() or signal.SIGINT)
        except Exception as error:
            # TensorFlow turns an interrupt in one of its callbacks into an error of its own.
            if stopping.received() and re.search('KeyboardInterrupt|Terminated', str(error)):
                return _interrupted(argv, stopping.received())
            message = _mistake(error, building)
            if message is None:
                raise
            logging.debug('The error in full:', exc_info=True)
            _complain(message)
            return 1


def _keep_the_console_clear() -> None:
    """Imports TensorFlow, and silences what neither the user nor this program can act on."""
    logging.use_absl_handler()
    if not FLAGS['verbosity'].present:
        logging.set_verbosity(logging.INFO)
    warnings.formatwarning = lambda message, *unused, **unused_too: f'warning: {message}\n'
    # Its native code tells every process without a GPU so, several times. Python errors remain.
    os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')
    with _native_stderr_on_failure():
        import tensorflow as tf
    tf.get_logger().setLevel(python_logging.ERROR)


@contextlib.contextmanager
def _native_stderr_on_failure() -> Iterator[None]:
    """Holds back what native code writes to stderr; shows it only if the body raises."""
    sys.stderr.flush()
    stderr = os.dup(2)
    with tempfile.TemporaryFile() as held_back:
        os.dup2(held_back.fileno(), 2)
        try:
            yield
        except Exception:
            held_back.seek(0)
            os.write(stderr, held_back.read())
            raise
        finally:
            os.dup2(stderr, 2)
            os.close(stderr)


def _help() -> str:
    text = [__doc__.split('\n')[0], '']
    for name in ('base_dir', 'gin_files', 'gin_bindings', 'seed', 'fresh'):
        text.append(f'  --{name}: {" ".join(FLAGS[name].help.split())}')
    text += [
        '  --verbosity: how much is logged: -1 warnings, 0 results (default), 1 more on errors.',
        '',
        'Example:',
        f'  {_COMMAND} --base_dir=/tmp/cartpole --gin_files=rainbow_cartpole.gin \\',
        "    --gin_bindings='Runner.num_iterations = 30'",
    ]
    return '\n'.join(text)


def _complain(message: str) -> None:
    print(f'train: {message}', file=sys.stderr)


def _make_folder(base_dir: str) -> None:
    """Makes the folder of the run, so that a path that will not do is found before all else."""
    try:
        os.makedirs(base_dir, exist_ok=True)
    except OSError as error:
        raise OSError(f'the base_dir {base_dir!r} cannot be made: {error.strerror}') from error
    if not os.access(base_dir, os.W_OK | os.X_OK):
        raise OSError(f'the base_dir {base_dir!r} cannot be written to')


def _report(base_dir: str) -> None:
    """Draws the learning curve and prints where everything is."""
    from dopamine_lite.discrete_domains import learning_curve

    print(f'Results: {base_dir}')
    try:
        print(f'Learning curve: {learning_curve.draw(base_dir)}')
    except (learning_curve.NoCurve, ImportError, OSError, ValueError) as error:
        print(f'No learning curve: {error}')


def _interrupted(argv: Sequence[str], signum: int) -> int:
    from dopamine_lite.discrete_domains import checkpointer

    complete = checkpointer.complete_checkpoints(os.path.join(FLAGS.base_dir, 'checkpoints'))
    where = f'after checkpoint {complete[-1]}' if complete else 'from the start (no checkpoint yet)'
    # Once more with --fresh would start anew.
    again = [a for a in argv[1:] if a.lstrip('-') not in ('fresh', 'fresh=true')]
    command = shlex.join([*_COMMAND.split(), *again])
    print(f'\nInterrupted. To go on {where}, run the same command: {command}', file=sys.stderr)
    return 128 + signum


# Telling mistakes of the user from errors in a program.


def _mistake(error: Exception, building: bool) -> str | None:
    """Returns what the user did wrong, in one line; None if the error is a program's.

    Args:
      error: what was raised.
      building: whether it was raised while gin files were read and the runner was built, when most
        errors come from a setting; later, few do.
    """
    import gymnasium

    files_passed = list(_files_passed(error))
    if any(_is_users(name) for name in files_passed):
        return None
    if isinstance(error, SyntaxError) and (error.filename or '').endswith('.py'):
        return None
    if building:
        kinds = (AssertionError, ImportError, RuntimeError, SyntaxError, TypeError, ValueError)
        if not isinstance(error, (*kinds, OSError, gymnasium.error.Error)) or not str(error):
            return None
    elif not isinstance(error, OSError):
        ours = bool(files_passed) and _is_ours(files_passed[-1])
        if not (ours and isinstance(error, (RuntimeError, ValueError))):
            return None
    return _one_line(error)


def _files_passed(error: Exception) -> Iterator[str]:
    """The files of the functions that an error passed through, the outermost first."""
    for frame in traceback.extract_tb(error.__traceback__):
        yield frame.filename
    # Keras tells of the layers of a model in the text alone.
    if str(error).startswith('in user code:'):
        yield from re.findall(r'File "([^"]+)"', str(error))


_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_STANDARD_LIBRARY = tuple(
    os.path.join(sysconfig.get_path(name), '') for name in ('stdlib', 'platstdlib')
)
_OTHER_PACKAGES = re.compile(
    r'[/\\](?:site|dist)-packages[/\\]'
    r'(?:gin|absl|tensorflow|tf_keras|numpy|numba|gymnasium|ale_py|cv2|isal|tqdm)[/\\]'
)


def _is_ours(filename: str) -> bool:
    return os.path.abspath(filename).startswith(_PACKAGE)


def _is_users(filename: str) -> bool:
    """Whether a file belongs neither to this package nor to one that it is built on."""
    if filename.startswith('<') or '__autograph_generated_file' in filename:
        return False
    if _is_ours(filename) or _OTHER_PACKAGES.search(filename):
        return False
    installed = re.search(r'[/\\](?:site|dist)-packages[/\\]', filename)
    return bool(installed) or not filename.startswith(_STANDARD_LIBRARY)


def _one_line(error: Exception) -> str:
    text = str(error)
    if text.startswith('in user code:'):
        # Keras: the error itself is the last line of its report that names a class.
        reported = re.findall(r'^ *\w*(?:Error|Exception): (.+)$', text, re.MULTILINE)
        return reported[-1] if reported else ' '.join(text.split())
    if match := re.match(r"macro\(\) missing .*in scope '([^']+)'", text, re.DOTALL):
        return f'%{match[1]} has no value: there is no such macro or constant'
    if match := re.match(r"No bindings specified for '(.+)/gin\.macro'", text):
        return f'%{match[1]} has no value: there is no such macro or constant'
    if match := re.match(r'Unable to open file: (.+?)\. Searched config paths: (.*?)\.?$', text):
        return f'there is no gin file {match[1]!r}{_similar_gin_file(match[1], match[2])}'
    first, *rest = text.splitlines()
    if match := re.match(r"No configurable matching (?:reference )?'@?([^']+)'\.$", first):
        first = f'there is no {match[1]!r}{_did_you_mean(match[1], _configurables())}'
    elif match := re.match(r'Unknown agent: (\S+)', first):
        first += _did_you_mean(match[1], _agents())
    elif isinstance(error, ImportError) and (name := getattr(error, 'name', None)):
        first = f'{first} ({name} is not installed, or not on the Python path)'
    return '; '.join([first.rstrip('.:'), *_where(error, rest)])


def _where(error: Exception, rest: Iterable[str]) -> list[str]:
    """What gin adds to an error that helps to find the setting."""
    for line in rest:
        if match := re.match(r'\s+In (?:file|bindings string)', line):
            return [line.strip()[0].lower() + line.strip()[1:]]
        if match := re.match(r"\s+In call to configurable '([^']+)'", line):
            return [f'in {match[1]}'] if isinstance(error, TypeError) else []
    return []


def _did_you_mean(name: str, names: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, sorted(set(names)), n=1)
    return f'; did you mean {close[0]!r}?' if close else ''


def _similar_gin_file(name: str, searched: str) -> str:
    try:
        folders = set(ast.literal_eval(searched))
    except (SyntaxError, ValueError):
        folders = set()
    folder, base = os.path.split(name)
    names = []
    for prefix in folders | {''}:
        try:
            names += os.listdir(os.path.join(prefix, folder) or '.')
        except OSError:
            pass
    close = difflib.get_close_matches(base, sorted({n for n in names if n.endswith('.gin')}), n=1)
    return f'; did you mean {os.path.join(folder, close[0])!r}?' if close else ''


def _configurables() -> Iterator[str]:
    """What gin knows, by every dotted suffix."""
    from gin import config

    for selector, _ in config._REGISTRY.items():
        parts = selector.split('.')
        yield from ('.'.join(parts[i:]) for i in range(len(parts)))


def _agents() -> list[str]:
    from dopamine_lite.discrete_domains import run_experiment

    return list(run_experiment._AGENTS)


if __name__ == '__main__':
    sys.exit(run())
