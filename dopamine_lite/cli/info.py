"""`dopamine-lite info`: what a run folder holds, read without running anything."""

import argparse
import itertools
import json
import os
import shlex
from collections.abc import Iterator
from typing import NamedTuple

from dopamine_lite import gin_text
from dopamine_lite.cli import UserError

SUMMARY = 'says what was trained in a folder, how far, with what, and whether it is intact'
EXAMPLE = 'dopamine-lite info runs/cartpole'

_SIGNS_OF_A_RUN = ('checkpoints', 'logs', 'run.json', gin_text.KEPT)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of the command."""
    parser.add_argument('base_dir', metavar='BASE_DIR', help='the folder of the run')


def run(arguments: argparse.Namespace) -> int:
    """Prints what is known of a run; returns 1 if something in its folder is damaged, else 0."""
    base_dir = arguments.base_dir
    if not os.path.isdir(base_dir):
        raise UserError(f'there is no folder {base_dir}')
    if not any(os.path.exists(os.path.join(base_dir, name)) for name in _SIGNS_OF_A_RUN):
        raise UserError(
            f'{base_dir} is no folder of a run: it holds none of {", ".join(_SIGNS_OF_A_RUN)}'
        )
    intact = True
    for line in itertools.chain(_what(base_dir), _how_far(base_dir), _checkpoints(base_dir)):
        # The text may be a stranger's: no escape sequences to the terminal.
        text = ''.join(c if c.isprintable() else '?' for c in line.text)
        print(f'{line.label:14}{text}', flush=True)
        intact = intact and not line.damaged
    return 0 if intact else 1


class _Line(NamedTuple):
    label: str
    text: str
    damaged: bool = False


def _what(base_dir: str) -> Iterator[_Line]:
    """What was trained, and each start of it."""
    try:
        settings = gin_text.Settings(gin_text.read_kept(base_dir))
        yield _Line('trained', str(gin_text.experiment(settings)))
    except gin_text.NothingKept:
        yield _Line('trained', f'not known: there is no {gin_text.KEPT}')
    except (UserError, SyntaxError) as error:
        yield _Line('trained', f'not known: {gin_text.KEPT} is damaged: {error}', damaged=True)
    path = os.path.join(base_dir, 'run.json')
    try:
        with open(path, encoding='utf-8') as file:
            starts = json.load(file)
        for start in starts:
            versions = ' '.join(f'{k} {v}' for k, v in start['versions'].items())
            yield _Line(
                'started',
                f'{start["started"]} at iteration {start["start_iteration"]}, seed {start["seed"]}',
            )
            yield _Line('  by', shlex.join(start['command']))
            yield _Line('  with', versions)
    except FileNotFoundError:
        yield _Line('started', 'not known: there is no run.json')
    except (OSError, AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
        yield _Line('started', f'not known: run.json is damaged: {error!r}', damaged=True)


def _how_far(base_dir: str) -> Iterator[_Line]:
    """The iterations in the newest log, and the returns of the last one."""
    from dopamine_lite.discrete_domains import learning_curve

    try:
        curves = learning_curve.curves(learning_curve.read(base_dir))
    except learning_curve.NoCurve as error:
        yield _Line('trained for', f'not known: {error}')
        return
    for phase, label in (('train', 'training'), ('eval', 'evaluation')):
        if phase in curves:
            steps, returns = curves[phase]
            yield _Line(
                label,
                f'{len(returns)} iterations, {steps[-1]} agent steps trained; mean return '
                f'{returns[-1]:.2f} in the last, {max(returns):.2f} in the best',
            )


def _checkpoints(base_dir: str) -> Iterator[_Line]:
    """Each complete checkpoint, compared with its manifest."""
    from dopamine_lite.discrete_domains import checkpointer

    folder = os.path.join(base_dir, 'checkpoints')
    numbers = checkpointer.complete_checkpoints(folder)
    if not numbers:
        yield _Line('checkpoints', 'none')
    for number in numbers:
        names = checkpointer.files_of(folder, number)
        size = sum(os.path.getsize(os.path.join(folder, name)) for name in names)
        verified = os.path.exists(os.path.join(folder, checkpointer.manifest_name(number)))
        # Any file of the manifest will do: the runner's own may have another prefix.
        problem = checkpointer.damage(folder, number)
        state = problem or ('intact' if verified else 'not verified: it has no manifest')
        yield _Line(
            f'checkpoint {number}',
            ('damaged: ' if problem else '') + f'{state} ({len(names)} files, {size / 1e6:.1f} MB)',
            damaged=bool(problem),
        )
