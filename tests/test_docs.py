"""The documentation: its code runs and prints what it says, its links and names exist."""

import argparse
import ast
import contextlib
import csv
import functools
import importlib
import importlib.util
import io
import re
import shlex
import sys
from pathlib import Path

import gin
import pytest
from absl import flags

from dopamine_lite import comparison, packaged_configs
from dopamine_lite.cli import main as cli
from dopamine_lite.compat import dopamine_alias, migration
from dopamine_lite.discrete_domains import run_experiment, train  # noqa: F401  (defines its flags)

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / 'docs'
PAGES = {path.relative_to(ROOT).as_posix(): path for path in sorted(DOCS.rglob('*.md'))}
WITH_README = {'README.md': ROOT / 'README.md', **PAGES}
# A page whose blocks are files of the reader's: a test of its own runs it.
RUN_ELSEWHERE = {'docs/own_environment.md'}
RUN_HERE = {page: path for page, path in WITH_README.items() if page not in RUN_ELSEWHERE}

_FENCE = re.compile(r'^ *```(\w*)\n(.*?)^ *```$', re.DOTALL | re.MULTILINE)
_LINK = re.compile(r'\[([^][]*)\]\(([^()\s]+)\)')


def blocks(path: Path) -> list[tuple[str, str]]:
    """The fenced blocks of a page, as (language, text)."""
    return [(match[1], match[2]) for match in _FENCE.finditer(path.read_text(encoding='utf-8'))]


def links(path: Path) -> list[tuple[str, str]]:
    """The links of a page to files of the project, as (text, target), images included."""
    prose = _FENCE.sub('', path.read_text(encoding='utf-8'))
    return [(match[1], match[2]) for match in _LINK.finditer(prose) if '://' not in match[2]]


@functools.cache
def names_in(path: Path) -> frozenset[str]:
    """What a Python file defines: functions, classes, constants, and `Class.method`."""
    names = set()

    def walk(body, prefix=''):
        for node in body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                names.add(prefix + node.name)
                if isinstance(node, ast.ClassDef):
                    walk(node.body, f'{node.name}.')
            elif isinstance(node, ast.Assign):
                names.update(prefix + t.id for t in node.targets if isinstance(t, ast.Name))

    walk(ast.parse(path.read_text(encoding='utf-8')).body)
    return frozenset(names)


@functools.cache
def anchors_of(path: Path) -> frozenset[str]:
    """The anchors that GitHub makes of a page's headings."""
    prose = _FENCE.sub('', path.read_text(encoding='utf-8'))
    headings = re.findall(r'^#+ (.*)$', prose, re.MULTILINE)
    return frozenset(re.sub(r'[^\w\- ]', '', h).lower().replace(' ', '-') for h in headings)


# Links and names.


@pytest.mark.parametrize('page', WITH_README)
def test_links_lead_somewhere(page):
    for text, target in links(WITH_README[page]):
        name, _, anchor = target.partition('#')
        path = (WITH_README[page].parent / name).resolve() if name else WITH_README[page]
        assert path.exists(), f'{text}: there is no {target}'
        if anchor:
            assert anchor in anchors_of(path), f'{text}: {path.name} has no heading #{anchor}'


@pytest.mark.parametrize('page', PAGES)
def test_every_name_is_defined_in_the_file_that_it_links_to(page):
    for text, target in links(PAGES[page]):
        named = re.fullmatch(r'`([\w.]+)`', text)
        if named is None or not target.endswith('.py') or named[1].endswith('.py'):
            continue
        path = (PAGES[page].parent / target).resolve()
        assert named[1] in names_in(path), f'{target} does not define {named[1]}'


def test_every_agent_has_a_page():
    linked = {text.strip('`') for page in PAGES.values() for text, _ in links(page)}
    for path in (ROOT / 'dopamine_lite' / 'tf' / 'agents').glob('*/*_agent.py'):
        agents = {name for name in names_in(path) if name.endswith('Agent')}
        assert agents and agents <= linked, f'no page tells of {agents - linked}'


def test_every_gin_file_that_a_page_names_is_packaged():
    for page in PAGES.keys() - RUN_ELSEWHERE:
        prose = _FENCE.sub('', PAGES[page].read_text(encoding='utf-8'))
        for pattern in set(re.findall(r'`([\w/*]+\.gin)`', prose)) - {'operative_config.gin'}:
            assert list((ROOT / 'configs').glob(pattern)), f'{page}: there is no {pattern}'


def test_the_index_lists_every_page_and_the_readme_links_to_it():
    listed = {(DOCS / target).resolve() for _, target in links(DOCS / 'README.md')}
    assert set(PAGES.values()) - {DOCS / 'README.md'} <= listed
    assert 'docs/README.md' in {target for _, target in links(ROOT / 'README.md')}


def test_every_picture_is_shown():
    shown = {
        (path.parent / target).resolve()
        for path in WITH_README.values()
        for _, target in links(path)
    }
    assert set(DOCS.rglob('*.png')) <= shown


def test_braces_and_dollars_of_formulas_are_balanced():
    for page, path in PAGES.items():
        text = path.read_text(encoding='utf-8')
        prose = re.sub(r'`[^`]*`', '', _FENCE.sub('', text))
        for part in re.split(r'\n\n|\n(?=\|)', prose):
            # In a table a bar within a formula would begin the next cell.
            for cell in part.split('|') if part.startswith('|') else [part]:
                assert cell.count('$') % 2 == 0, f'{page}: {cell}'
        formulas = re.findall(r'\$([^$]*)\$', prose)
        formulas += [body for language, body in blocks(path) if language == 'math']
        for formula in formulas:
            bare = re.sub(r'\\[{}]', '', formula)
            assert bare.count('{') == bare.count('}'), f'{page}: {formula}'
            assert formula.count(r'\left') == formula.count(r'\right'), f'{page}: {formula}'


# Code.


@pytest.fixture
def _in_root(monkeypatch):
    monkeypatch.chdir(ROOT)
    yield
    dopamine_alias.uninstall()


PYTHON_PAGES = [
    page
    for page, path in RUN_HERE.items()
    if any(language == 'python' for language, _ in blocks(path))
]


@pytest.mark.usefixtures('_in_root')
@pytest.mark.parametrize('page', PYTHON_PAGES)
def test_python_blocks_print_what_stands_below_them(page):
    namespace = {'__name__': 'page'}
    page_blocks = blocks(RUN_HERE[page])
    following = [*page_blocks[1:], ('', '')]
    for (language, text), (next_language, expected) in zip(page_blocks, following, strict=True):
        if language != 'python':
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(text, page, 'exec'), namespace)
        assert printed.getvalue() == (expected if next_language == 'text' else '')


@pytest.mark.parametrize('page', RUN_HERE)
def test_gin_blocks_are_understood(page):
    for language, text in blocks(RUN_HERE[page]):
        if language == 'gin':
            gin.clear_config()
            gin.parse_config(text)


def commands(text: str) -> list[list[str]]:
    """The command lines of a block for the shell, split into words."""
    lines = text.replace('\\\n', ' ').splitlines()
    lines = [re.sub(r'^\s*(for .*; do|done)\s*$', '', line) for line in lines]
    return [words for words in (shlex.split(line, comments=True) for line in lines) if words]


def check_train_flags(words: list[str]) -> None:
    values = {}
    for word in words:
        name, _, value = word.removeprefix('--').partition('=')
        assert word.startswith('--') and name in flags.FLAGS, f'train has no flag {word}'
        values.setdefault(name, []).append(value)
    files = [packaged_configs.find(name) or name for name in values.get('gin_files', [])]
    gin.clear_config()
    run_experiment.load_gin_configs(files, values.get('gin_bindings', []))


def check_command(words: list[str]) -> None:
    """Raises unless this is a command that a reader can give, as far as is told without running."""
    program, *rest = words
    if program in ('python', 'python3') and rest[0] == '-m':
        module, *arguments = rest[1:]
        assert importlib.util.find_spec(module), f'there is no module {module}'
        if module == 'dopamine_lite.discrete_domains.train':
            check_train_flags(arguments)
    elif program in ('python', 'python3'):
        assert (ROOT / rest[0]).is_file(), f'there is no {rest[0]}'
    elif program.startswith('scripts/'):
        assert (ROOT / program).is_file(), f'there is no {program}'
        if program == 'scripts/train.sh':
            check_train_flags(rest)
    elif program == 'dopamine-lite':
        name, *arguments = rest
        assert name in cli.COMMANDS, f'dopamine-lite has no command {name}'
        if name == 'train':
            check_train_flags(arguments)
        else:
            parser = argparse.ArgumentParser(exit_on_error=False)
            importlib.import_module(f'dopamine_lite.cli.{name}').add_arguments(parser)
            parser.parse_args(arguments)
    elif words != ['source', '.venv/bin/activate']:
        assert words[:2] == ['pip', 'install'], f'not a command of this project: {words}'


@pytest.mark.parametrize('page', RUN_HERE)
def test_shell_blocks_give_commands_that_exist(page):
    for language, text in blocks(RUN_HERE[page]):
        if language == 'bash':
            for words in commands(text):
                check_command(words)


def test_wrong_commands_are_found():
    for command in (
        'dopamine-lite trian --base_dir=x',
        'dopamine-lite train --base_dirs=x',
        'dopamine-lite train --gin_files=none.gin',
        "dopamine-lite train --gin_files=dqn.gin --gin_bindings='DQNAgent.gama = 1'",
        'python -m dopamine_lite.none',
        'python docs/figures/none.py',
        'rm -rf runs',
    ):
        with pytest.raises(Exception):  # noqa: B017, PT011
            check_command(shlex.split(command))


def test_the_migration_page_has_the_table():
    page = (DOCS / 'migration.md').read_text(encoding='utf-8')
    assert page.endswith(f'\n\n{migration.table()}\n'), (
        'docs/migration.md must end with what `python -m dopamine_lite.compat.migration` prints'
    )


def test_the_page_and_the_file_of_published_returns_agree():
    with open(DOCS / 'published_returns.csv', encoding='utf-8', newline='') as file:
        rows = list(csv.DictReader(file))
    page = (DOCS / 'reproducing.md').read_text(encoding='utf-8')
    heading, *lines = re.search(r'^\| game \| iteration \| DQN .*\n(?:\|.*\n)+', page, re.M)[
        0
    ].splitlines()
    agents = [cell.strip() for cell in heading.split('|')[3:-1]]
    in_page = set()
    for line in lines[1:]:
        game, iteration, *cells = (cell.strip() for cell in line.split('|')[1:-1])
        in_page.update(
            (agent, game, iteration, *cell.split(' ± '))
            for agent, cell in zip(agents, cells, strict=True)
        )
    in_file = {
        tuple(row[name] for name in ('agent', 'game', 'iteration', 'value', 'deviation'))
        for row in rows
    }
    assert in_page == in_file and len(rows) == len(in_file) == 28
    assert {
        curve.agent for curve in comparison.read_published(str(DOCS / 'published_returns.csv'))
    } == {*agents}


# Figures.

FIGURES = sorted((DOCS / 'figures').glob('*.png')) + [DOCS / 'cartpole.png']


@pytest.mark.parametrize('picture', FIGURES, ids=lambda path: path.stem)
def test_pictures_are_what_their_scripts_draw(picture, monkeypatch):
    import cv2
    import matplotlib
    import numpy as np

    monkeypatch.syspath_prepend(str(DOCS / 'figures'))
    spec = importlib.util.spec_from_file_location(
        f'figure_{picture.stem}', DOCS / 'figures' / f'{picture.stem}.py'
    )
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    figure = script.draw()
    drawn = io.BytesIO()
    figure.savefig(drawn)
    sys.modules.pop('drawing', None)

    # Nothing is cut off.
    box, renderer = figure.bbox, figure.canvas.get_renderer()
    for text in figure.findobj(matplotlib.text.Text):
        if text.get_visible() and text.get_text() and text.axes is not None:
            extent = text.get_window_extent(renderer)
            if np.isfinite(extent.extents).all() and _is_drawn(text):
                assert box.x0 <= extent.x0 and extent.x1 <= box.x1, text
                assert box.y0 <= extent.y0 and extent.y1 <= box.y1, text

    now = cv2.imdecode(np.frombuffer(drawn.getvalue(), np.uint8), cv2.IMREAD_COLOR)
    then = cv2.imread(str(picture), cv2.IMREAD_COLOR)
    assert now.shape == then.shape
    if f'version{matplotlib.__version__}'.encode() in picture.read_bytes().replace(b' ', b''):
        assert np.abs(now.astype(int) - then).mean() < 0.5, f'draw {picture.name} anew'


def _is_drawn(text) -> bool:
    """Whether a text is not a tick label outside the axes' limits, which matplotlib leaves out."""
    axes = text.axes
    for axis in (axes.xaxis, axes.yaxis):
        labels = [*axis.get_ticklabels(), *axis.get_ticklabels(minor=True)]
        if text in labels:
            low, high = sorted(axis.get_view_interval())
            place = text.get_position()[0 if axis is axes.xaxis else 1]
            return low <= place <= high
    return True
