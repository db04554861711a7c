"""The command line as a whole: what it offers, and how it tells of mistakes."""

import re
import sys

import pytest

from dopamine_lite import console
from dopamine_lite.cli import UserError, main
from dopamine_lite.cli import evaluate as evaluate_command
from dopamine_lite.discrete_domains import train


def run(capsys, *arguments):
    status = main.main(list(arguments))
    captured = capsys.readouterr()
    return status, captured.out, captured.err


@pytest.mark.parametrize('arguments', [[], ['--help']])
def test_the_overview_names_every_command(capsys, arguments):
    status, out, err = run(capsys, *arguments)
    assert (status, err) == (0, '')
    for name in main.COMMANDS:
        assert f'\n  {name} ' in out
    assert out.splitlines()[-1].startswith('Example: dopamine-lite train ')


@pytest.mark.parametrize('name', main.COMMANDS)
def test_help_fits_a_screen_and_ends_with_an_example(capsys, name):
    status, out, _ = run(capsys, name, '--help')
    lines = out.rstrip().splitlines()
    assert status == 0
    assert len(lines) <= 26
    assert any(f'dopamine-lite {name} ' in line for line in lines[-3:])


MISTAKES = {
    'no command': (['evalute'], r"dopamine-lite: there is no command 'evalute', only train, ev"),
    'no number': (['evaluate', 'x', '--seed=y'], r"evaluate: .*--seed: invalid int value: 'y'"),
    'an unknown flag': (['evaluate', 'x', '--sed=1'], 'evaluate: unrecognized arguments: --sed=1'),
    'nothing to do': (['info'], 'info: .*BASE_DIR'),
}


@pytest.mark.parametrize('case', MISTAKES)
def test_a_mistake_in_the_arguments_is_one_line_and_2(capsys, case):
    arguments, message = MISTAKES[case]
    status, out, err = run(capsys, *arguments)
    assert (status, out) == (2, '')
    assert re.fullmatch(message + '.*\n', err)


@pytest.mark.parametrize(
    ('raised', 'status', 'message'),
    [
        (UserError('no such thing'), 1, 'evaluate: no such thing\n'),
        (KeyboardInterrupt(), 130, 'evaluate: interrupted\n'),
    ],
)
def test_errors_are_one_line(capsys, monkeypatch, raised, status, message):
    def fail(arguments):
        raise raised

    monkeypatch.setattr(evaluate_command, 'run', fail)
    assert run(capsys, 'evaluate', 'x') == (status, '', message)


def test_an_error_of_a_program_keeps_its_traceback(monkeypatch):
    def fail(arguments):
        raise ZeroDivisionError

    monkeypatch.setattr(evaluate_command, 'run', fail)
    with pytest.raises(ZeroDivisionError):
        main.main(['evaluate', 'x'])


@pytest.mark.parametrize(
    ('arguments', 'on_the_path'),
    [(['x'], False), (['x', '--import=mine'], True), (['x', '--gin_files', 'mine.gin'], True)],
)
def test_the_working_directory_is_last_on_the_path_and_only_for_own_modules(
    monkeypatch, tmp_path, arguments, on_the_path
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, 'path', list(sys.path))
    monkeypatch.setattr(evaluate_command, 'run', lambda arguments: 0)
    assert main.main(['evaluate', *arguments]) == 0
    assert (sys.path[-1] == str(tmp_path)) is on_the_path
    assert str(tmp_path) not in sys.path[:-1]


def test_train_is_the_trainer_under_another_name(capsys, monkeypatch):
    called = []
    monkeypatch.setattr(train, 'run', lambda argv, command: called.append((argv, command)) or 130)
    assert main.main(['train', '--base_dir=x']) == 130
    assert called == [(['train', '--base_dir=x'], ('dopamine-lite', 'train'))]


def test_mistakes_of_users_are_told_apart():
    assert console.mistake(UserError('a'), building=False) == 'a'
    assert console.mistake(ValueError('a'), building=True) == 'a'
    assert console.mistake(KeyError('a'), building=True) is None
    unknown = ValueError("No configurable matching reference 'mine.Network'.")
    assert console.mistake(unknown, building=True) == (
        "there is no 'mine.Network'; if the module is yours: --import=mine"
    )
