"""What the commands have in common on the console: quiet libraries, and mistakes told in one line.

TensorFlow takes seconds to import, which the functions below put off: a mistyped flag is reported at
once.
"""

import ast
import atexit
import contextlib
import difflib
import gc
import logging as python_logging
import os
import re
import sys
import sysconfig
import tempfile
import traceback
import warnings
from collections.abc import Iterable, Iterator

from absl import logging


class UserError(ValueError):
    """Something that was asked for is not possible; the message says in one line what and why."""


def keep_clear() -> None:
    """Imports TensorFlow, and silences what neither the user nor this program can act on."""
    logging.use_absl_handler()
    warnings.formatwarning = lambda message, *unused, **unused_too: f'warning: {message}\n'
    # Its native code tells every process without a GPU so, several times. Python errors remain.
    os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')
    with _native_stderr_on_failure(), _garbage_collector_paused():
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


@contextlib.contextmanager
def _garbage_collector_paused() -> Iterator[None]:
    """Keeps the garbage collector out of TensorFlow's import, and its objects out of collections.

    The import makes half a million objects, nearly all of which stay; to look for garbage among them
    again and again takes a quarter of its time.
    """
    if 'tensorflow' in sys.modules or not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
        gc.freeze()
        # At the exit they are garbage; modules whose objects are left over then complain of a leak.
        atexit.register(_unfreeze_for_the_exit)
    finally:
        gc.enable()


def _unfreeze_for_the_exit() -> None:
    gc.unfreeze()
    gc.disable()  # Python collects twice as it ends, the second time in any case


# Telling mistakes of the user from errors in a program.


def mistake(error: Exception, building: bool) -> str | None:
    """Returns what the user did wrong, in one line; None if the error is a program's.

    Args:
      error: what was raised.
      building: whether it was raised while gin files were read and the runner was built, when most
        errors come from a setting; later, few do. A `UserError` is the user's at any time.
    """
    if isinstance(error, UserError):
        return str(error)
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


def advice(error: Exception) -> str | None:
    """What to change in a program written for an older Dopamine or TensorFlow that raised `error`.

    Prints the traceback first, for it is the user's program. None, and nothing printed, where there
    is nothing to say.
    """
    from dopamine_lite.compat import old_programs

    text = old_programs.explain(error)
    if text is not None:
        traceback.print_exception(error)
    return text


def make_folder(folder: str, name: str) -> None:
    """Makes a folder, so that a path that will not do is found before all else.

    Args:
      folder: where; it may be there already.
      name: what the user calls it.

    Raises:
      UserError: it cannot be made, or not be written to.
    """
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise UserError(f'{name} {folder!r} cannot be made: {error.strerror}') from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UserError(f'{name} {folder!r} cannot be written to')


def _files_passed(error: Exception) -> Iterator[str]:
    """The files of the functions that an error passed through, the outermost first."""
    for frame in traceback.extract_tb(error.__traceback__):
        yield frame.filename
    # Keras tells of the layers of a model in the text alone.
    if str(error).startswith('in user code:'):
        yield from re.findall(r'File "([^"]+)"', str(error))


_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
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
        module = match[1].rpartition('.')[0]
        # A name without its module is near to many; `gym_lib.Network` is only near to its likes.
        known = {name for name in _configurables() if '.' in name or not module}
        hint = _did_you_mean(match[1], known)
        if module and not hint:
            hint = f'; if the module is yours: --import={module}'
        first = f'there is no {match[1]!r}{hint}'
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
