"""`dopamine-lite COMMAND ...`, also `python -m dopamine_lite.cli COMMAND ...`."""

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import NoReturn

from dopamine_lite import console

PROGRAM = 'dopamine-lite'
COMMANDS = ('train', 'evaluate', 'record', 'plot', 'configs', 'info')


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command.

    Args:
      argv: the arguments, the command's name first; None means those of the process.

    Returns:
      The exit status: 0; 1 after an error; 2 after a mistake in the arguments; 130 after Ctrl-C. An
      error in the user's own code is raised, with its traceback.
    """
    argv = list(sys.argv[1:] if argv is None else argv)
    if not argv or argv[0] in ('-h', '--help', 'help'):
        print(_overview())
        return 0
    name, *rest = argv
    if name not in COMMANDS:
        _complain(PROGRAM, f'there is no command {name!r}, only {", ".join(COMMANDS)}')
        return 2
    command = _module(name)
    if name == 'train':
        _find_users_modules(rest)
        return command.run_flags(rest)
    parser = _Parser(
        prog=f'{PROGRAM} {name}',
        description=command.SUMMARY,
        epilog=f'Example: {command.EXAMPLE}',
        formatter_class=_Formatter,
        allow_abbrev=False,
    )
    command.add_arguments(parser)
    try:
        arguments = parser.parse_args(rest)
    except SystemExit as error:  # after --help, or a mistake that is told
        return error.code or 0
    _find_users_modules(rest)
    try:
        return command.run(arguments)
    except KeyboardInterrupt:
        _complain(name, 'interrupted')
        return 130
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        message = console.mistake(error, building=True) or console.advice(error)
        if message is None:
            raise
        _complain(name, message)
        return 1


def _module(name: str) -> ModuleType:
    return importlib.import_module(f'dopamine_lite.cli.{name}')


def _complain(name: str, message: str) -> None:
    print(f'{name}: {message}', file=sys.stderr)


def _overview() -> str:
    lines = [f'usage: {PROGRAM} COMMAND ...', '', 'Value-based deep reinforcement learning.', '']
    lines += [f'  {name:10}{_module(name).SUMMARY}' for name in COMMANDS]
    lines += ['', f'{PROGRAM} COMMAND --help says more.', f'Example: {_module("train").EXAMPLE}']
    return '\n'.join(lines)


def _find_users_modules(rest: Sequence[str]) -> None:
    """Lets modules in the working directory be imported, where the user asks for modules.

    Last on the path, and not otherwise: it may be a run folder of somebody else.
    """
    if any(argument.lstrip('-').startswith(('import', 'gin_')) for argument in rest):
        sys.path.append(os.getcwd())


class _Parser(argparse.ArgumentParser):
    """A parser whose complaints are one line, like those of the commands."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f'{self.prog.split()[-1]}: {message} (see {self.prog} --help)\n')


class _Formatter(argparse.RawDescriptionHelpFormatter):
    def __init__(self, prog: str):
        super().__init__(prog, max_help_position=20, width=100)
