"""The packaged gin files, listed and shown."""

import pytest

from dopamine_lite import packaged_configs
from dopamine_lite.cli import configs, main


def test_each_file_has_a_row(capsys):
    assert main.main(['configs']) == 0
    header, *rows = capsys.readouterr().out.splitlines()
    assert header.split() == ['NAME', 'AGENT', 'ENVIRONMENT']
    assert [row.split()[0] for row in rows] == packaged_configs.names()
    [row] = [row for row in rows if row.startswith('c51_cartpole.gin')]
    assert [cell.strip() for cell in row.split('  ') if cell.strip()] == [
        *('c51_cartpole.gin', 'C51', 'CartPole-v0', 'C51 with two dense layers on CartPole'),
    ]
    assert not any('unknown' in row for row in rows)
    start = row.index('C51 with')
    assert all(row[start:] == row[start:].strip() != '' for row in rows)  # each has its line


@pytest.mark.parametrize('name', ['rainbow.gin', 'rainbow', 'minatar/dqn_breakout.gin'])
def test_a_file_is_shown_as_it_is(capsys, name):
    assert main.main(['configs', 'show', name]) == 0
    name = name if name.endswith('.gin') else f'{name}.gin'
    with open(packaged_configs.find(name), encoding='utf-8') as file:
        assert capsys.readouterr().out == file.read()


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        (['show', 'ranbow.gin'], "there is no packaged gin file 'ranbow.gin'; did you mean 'rainb"),
        (['show', '../setup.py'], "there is no packaged gin file '../setup.py'"),
        (['show'], 'show needs the NAME of a gin file'),
        (['list', 'rainbow.gin'], 'list takes none'),
    ],
)
def test_mistakes(capsys, arguments, message):
    assert main.main(['configs', *arguments]) == 1
    assert message in capsys.readouterr().err


def test_the_line_of_a_file_is_its_first_sentence():
    text = '# DQN (Mnih et al. 2015, "Human-level\n# control") on a game. Not this.\n\n# nor this\n'
    assert configs.first_sentence(text) == 'DQN on a game'
    assert configs.first_sentence('x = 1\n') == ''
