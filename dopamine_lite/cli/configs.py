"""`dopamine-lite configs`: the gin files that come with the package."""

import argparse
import difflib
import re

from dopamine_lite import gin_text, packaged_configs
from dopamine_lite.cli import UserError

SUMMARY = 'lists the packaged gin files, or shows one'
EXAMPLE = 'dopamine-lite configs show rainbow_cartpole.gin'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of the command."""
    parser.add_argument('action', nargs='?', choices=['list', 'show'], default='list')
    parser.add_argument('name', metavar='NAME', nargs='?', help='of the gin file to show')


def run(arguments: argparse.Namespace) -> int:
    """Prints the list, or a file; returns the exit status."""
    if (arguments.action == 'show') != (arguments.name is not None):
        raise UserError('show needs the NAME of a gin file, and list takes none')
    if arguments.action == 'show':
        print(text_of(arguments.name), end='')
        return 0
    rows = [('NAME', 'AGENT', 'ENVIRONMENT', '')]
    for name in packaged_configs.names():
        text = text_of(name)
        rows.append((name, *gin_text.experiment(gin_text.Settings(text)), first_sentence(text)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print(
            '  '.join(f'{cell:{width}}' for cell, width in zip(row, widths, strict=True)).rstrip()
        )
    return 0


def text_of(name: str) -> str:
    """Returns a packaged gin file; its name may lack the `.gin`.

    Raises:
      UserError: there is no such file.
    """
    names = packaged_configs.names()
    found = name if name in names else f'{name}.gin'
    if found not in names:
        close = difflib.get_close_matches(name, names, n=1)
        hint = f'; did you mean {close[0]!r}?' if close else ''
        raise UserError(f'there is no packaged gin file {name!r}{hint}')
    with open(packaged_configs.find(found), encoding='utf-8') as file:
        return file.read()


def first_sentence(text: str) -> str:
    """Returns the first sentence of the comment that gin text begins with, without citations."""
    comment = ' '.join(
        line.removeprefix('#').strip() for line in re.match('(?:#.*\n)*', text)[0].splitlines()
    )
    comment = re.sub(r' \([^()]*\d{4}[^()]*\)', '', comment)
    return re.split(r'(?<=[.:])(?: |$)', comment)[0].rstrip('.:')
