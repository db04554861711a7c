"""Gin text read as text: what an experiment is, and the bindings of text that is not trusted.

Nothing here imports what the text names or looks up a configurable, but for `bind_kept`.
"""

import importlib
import io
import itertools
import os
import re
import tokenize
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from gin import config_parser

from dopamine_lite.console import UserError

# The gin text that a run keeps in its folder.
KEPT = 'operative_config.gin'

# What gin text in a run folder may import: this package under both of its names, and gin's own.
_TRUSTED_IMPORT = re.compile(r'(dopamine_lite|dopamine|gin\.tf)(\..+)?')


# What this package itself says where it makes an object: folders, and objects that make them.
_FOLDERS = ('base_dir', 'base_directory', 'logging_dir', 'summary_writer')


class NothingKept(UserError):
    """A run folder without gin text."""


class Reference(NamedTuple):
    """A `@name` (`evaluated` with parentheses), or a `%name` (`is_macro`), not resolved."""

    name: str
    evaluated: bool = False
    is_macro: bool = False


class _Delegate(config_parser.ParserDelegate):
    def configurable_reference(self, scoped_selector, evaluate):
        return Reference(scoped_selector, evaluate)

    def macro(self, name):
        return Reference(name, is_macro=True)


class Settings:
    """The bindings of gin text, found by the last parts of their names."""

    def __init__(self, text: str):
        """Raises SyntaxError for what is no gin text; `include` and `import` are passed over."""
        self._values: dict[tuple[str, str], Any] = {}
        self._macros: dict[str, Any] = {}
        for statement in _statements(text):
            if isinstance(statement, config_parser.BindingStatement):
                scope, selector, parameter, value, _ = statement
                if parameter:
                    self._values[selector.rpartition('.')[2], parameter] = value
                else:
                    self._macros[f'{scope}/{selector}' if scope else selector] = value

    def get(self, selector: str, parameter: str, default: Any = None) -> Any:
        """Returns what is bound: a plain value, a `Reference`, or `default`."""
        value = self._values.get((selector, parameter), default)
        for _ in self._macros:  # a macro may name another
            if isinstance(value, Reference) and value.is_macro:
                value = self._macros.get(value.name, value)
        return value


def _statements(text: str) -> list[Any]:
    """Parses gin text; raises SyntaxError whatever is wrong with it."""
    try:
        return list(config_parser.ConfigParser(text, _Delegate()))
    except (tokenize.TokenError, RecursionError, ValueError) as error:
        raise SyntaxError(str(error) or type(error).__name__) from error


class Experiment(NamedTuple):
    """What was, or will be, trained: the agent's name and the environment's, for people."""

    agent: str
    environment: str

    def __str__(self) -> str:
        return f'{self.agent} on {self.environment}'


def experiment(settings: Settings) -> Experiment:
    """Names the agent and the environment of a configuration; 'unknown' what it does not say."""
    return Experiment(_agent(settings), _environment(settings))


def _agent(settings: Settings) -> str:
    name = str(settings.get('create_agent', 'agent_name', 'unknown'))
    if name == 'rainbow':
        return 'C51' if settings.get('RainbowAgent', 'replay_scheme') == 'uniform' else 'Rainbow'
    if name == 'prioritized_dqn':
        return _prioritized(settings)
    if name == 'atari_100k_rainbow':
        return _atari_100k(settings)
    if name.startswith('dqn'):
        return 'DQN'
    names = {'implicit_quantile': 'IQN', 'quantile': 'QR-DQN', 'full_rainbow': 'Full Rainbow'}
    return names.get(name, name)


def _prioritized(settings: Settings) -> str:
    def get(parameter):
        return settings.get('PrioritizedDQNAgent', parameter)

    target = get('target')
    if target == 'double' or get('double_dqn') is True:
        name = 'Double DQN'
    else:
        name = 'SARSA' if target == 'sarsa' else 'DQN'
    network = get('network') or settings.get('DQNAgent', 'network')
    if isinstance(network, Reference) and 'Dueling' in network.name:
        name = f'Dueling {name}'
    return name if get('replay_scheme') == 'uniform' else f'{name} with PER'


def _atari_100k(settings: Settings) -> str:
    if settings.get('Atari100kRainbowAgent', 'data_augmentation') is True:
        return 'DrQ' if settings.get('FullRainbowAgent', 'epsilon_train') == 0.1 else 'DrQ(eps)'
    return 'OTRainbow' if settings.get('FullRainbowAgent', 'noisy') is False else 'DER'


def _environment(settings: Settings) -> str:
    trains_only = settings.get('create_runner', 'schedule') == 'continuous_train'
    maker = settings.get('TrainRunner' if trains_only else 'Runner', 'create_environment_fn')
    name, otherwise = 'create_atari_environment', 'unknown'
    if isinstance(maker, Reference):
        name = re.split('[./]', maker.name)[-1]
        otherwise = name.removeprefix('create_')
    if name == 'create_gym_environment':
        game = settings.get(name, 'environment_name')
        return f'{game}-{settings.get(name, "version", "v0")}' if game else 'unknown'
    if name == 'create_minatar_environment':
        return f'MinAtar {settings.get(name, "game_name", "unknown")}'
    return str(settings.get(name, 'game_name', otherwise))


def read_kept(base_dir: str | os.PathLike) -> str:
    """Returns the gin text that a run keeps in its folder.

    Raises:
      NothingKept: there is none.
      UserError: it cannot be read.
    """
    path = os.path.join(base_dir, KEPT)
    try:
        with open(path, encoding='utf-8') as file:
            return file.read()
    except FileNotFoundError:
        raise NothingKept(
            f'{base_dir} holds no {KEPT}, which says what was trained (a folder that Dopamine made '
            'has none): name the gin files with --gin_files'
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f'{path} cannot be read: {error}') from error


def bind_kept(base_dir: str | os.PathLike, imported: Collection[str] = ()) -> None:
    """Binds what the gin text kept in a run folder binds, and follows nothing else in it.

    The text is a stranger's: an `import` of this package is followed, one of a module that the user
    named is passed over, and any other is refused, as is whatever could bring one about: `include`,
    dynamic registration, and the id `module:environment` of Gymnasium. So are folders, which what is
    made for them would make.

    Args:
      base_dir: the folder.
      imported: the modules that the user named and that are imported already.

    Raises:
      UserError: the text is missing, malformed, or holds one of these; nothing was bound.
      ValueError: a binding names nothing that exists.
    """
    from gin import config

    path = os.path.join(base_dir, KEPT)
    text = read_kept(base_dir)
    imports = []
    try:
        for statement in _statements(text):
            if isinstance(statement, config_parser.ImportStatement):
                if statement.module not in imported:
                    imports.append(_checked_import(path, statement))
            elif isinstance(statement, config_parser.IncludeStatement):
                raise UserError(
                    f'{path}, line {statement.location.line_num}: include {statement.filename!r} is '
                    'refused, for of the gin text in a run folder only bindings are read; name gin '
                    'files with --gin_files'
                )
            elif isinstance(statement, config_parser.BindingStatement):
                _check_strings(path, statement, imported)
                _check_folder(path, statement)
    except SyntaxError as error:
        raise UserError(f'{path} is no gin text: {str(error).splitlines()[0]}') from error
    for module in imports:
        importlib.import_module(module)
    file = io.StringIO(text)
    file.name = path  # for gin's errors
    for statement in config_parser.ConfigParser(file, config.ParserDelegate()):
        if isinstance(statement, config_parser.BindingStatement):
            scope, selector, parameter, value, _ = statement
            if parameter:
                config.bind_parameter((scope, selector, parameter), value)
            else:
                macro = f'{scope}/{selector}' if scope else selector
                config.bind_parameter((macro, 'gin.macro', 'value'), value)


def _checked_import(path: str, statement: Any) -> str:
    where = f'{path}, line {statement.location.line_num}'
    if statement.module.startswith('__gin__'):
        raise UserError(
            f'{where}: {statement.module} is refused: the gin text in a run folder may not register '
            'what it names; name gin files with --gin_files'
        )
    if not _TRUSTED_IMPORT.fullmatch(statement.module):
        raise UserError(
            f'{where}: import {statement.module} is refused, for a run folder may not import what '
            f'you did not name; if the module is yours: --import={statement.module}'
        )
    return statement.module


def _check_strings(path: str, statement: Any, imported: Collection[str]) -> None:
    for text in _strings(statement.value):
        # Names of devices, such as '/gpu:0', are no ids.
        module, colon, _ = text.partition(':')
        if colon and not text.startswith('/') and module not in imported:
            raise UserError(
                f'{path}, line {statement.location.line_num}: {text!r} is refused, for Gymnasium '
                f'would import {module!r}; if the module is yours: --import={module}'
            )


def _check_folder(path: str, statement: Any) -> None:
    if statement.arg_name in _FOLDERS and statement.value is not None:
        raise UserError(
            f'{path}, line {statement.location.line_num}: {statement.arg_name} is refused, for the '
            'gin text in a run folder may not say where to write; name gin files with --gin_files'
        )


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, Reference):
        return
    if isinstance(value, (str, bytes)):
        yield value if isinstance(value, str) else value.decode('latin-1')
    elif isinstance(value, dict):
        yield from itertools.chain.from_iterable(map(_strings, (*value, *value.values())))
    elif isinstance(value, (list, tuple)):
        yield from itertools.chain.from_iterable(map(_strings, value))
