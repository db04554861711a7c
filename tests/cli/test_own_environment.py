"""The example of docs/own_environment.md does what the page says."""

import json
import re
import shlex
import sys
from pathlib import Path

import gymnasium
import pytest
from absl.testing import flagsaver

from dopamine_lite import console
from dopamine_lite.cli.main import main
from dopamine_lite.discrete_domains import train

PAGE = Path(__file__).parents[2] / 'docs' / 'own_environment.md'


def blocks(language):
    return re.findall(rf'```{language}\n(.*?)```', PAGE.read_text(encoding='utf-8'), re.DOTALL)


@pytest.fixture
def workplace(tmp_path, monkeypatch):
    """A working directory; whatever is imported from it is forgotten."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, 'path', list(sys.path))
    monkeypatch.setattr(console, 'keep_clear', lambda: None)
    monkeypatch.setattr(train, '_keep_the_console_clear', lambda: None)
    yield tmp_path
    sys.modules.pop('corridor', None)
    gymnasium.registry.pop('Corridor-v0', None)


def test_the_example(workplace, capsys):
    for block in blocks('python') + blocks('gin'):
        name = re.match(r'# (corridor\.\w+)\n', block)[1]
        (workplace / name).write_text(block)
    [commands] = blocks('bash')
    with flagsaver.flagsaver():
        for command in commands.splitlines():
            program, *arguments = shlex.split(command)
            assert program == 'dopamine-lite'
            assert main(arguments) == 0, capsys.readouterr().err
    run = workplace / 'runs' / 'corridor'
    kept = (run / 'operative_config.gin').read_text()
    assert 'DQNAgent.observation_shape = (6,)\n' in kept
    assert "DQNAgent.observation_dtype = 'float32'\n" in kept
    evaluation = json.loads((run / 'evaluation.json').read_text())
    assert evaluation['environment'] == 'Corridor-v0'
    assert evaluation['lengths'] == [5] * 5
    assert evaluation['returns'] == pytest.approx([0.6] * 5)
    assert 'DQN on Corridor-v0' in capsys.readouterr().out
