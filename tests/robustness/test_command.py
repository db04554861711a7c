"""The trainer's command line, where it must lose nothing."""

import json
import re

import gin
import pytest
import tensorflow as tf
from absl.testing import flagsaver

from dopamine_lite.discrete_domains import train

SMALL = [
    '--gin_files=dqn_cartpole.gin',
    '--gin_bindings=Runner.num_iterations = 1',
    '--gin_bindings=Runner.training_steps = 1',
    '--gin_bindings=Runner.evaluation_steps = 0',
]


@pytest.fixture
def command(tmp_path, monkeypatch, capfd):
    """Runs the command in this process; returns its status and what it wrote to stderr."""
    monkeypatch.setattr(train, '_keep_the_console_clear', lambda: None)

    def run(*arguments, base_dir='run'):
        gin.clear_config()
        tf.compat.v1.reset_default_graph()
        capfd.readouterr()
        with flagsaver.flagsaver():
            status = train.run(['train', f'--base_dir={tmp_path / base_dir}', *SMALL, *arguments])
        return status, capfd.readouterr().err

    return run


def seeds(folder):
    return [start['seed'] for start in json.loads((folder / 'run.json').read_text())]


def test_a_seed_is_drawn_said_and_kept(command, tmp_path):
    status, error = command()
    assert status == 0
    drawn = int(re.search(r'^Seed: (\d+) ', error, re.MULTILINE)[1])
    assert command('--gin_bindings=Runner.num_iterations = 2')[0] == 0
    assert seeds(tmp_path / 'run') == [drawn, drawn]
    status, error = command(f'--seed={(drawn + 1) % 2**32}')
    assert status == 1
    assert re.search(
        rf'train: seed must be .* began with {drawn}, got {(drawn + 1) % 2**32}', error
    )


def test_the_flag_wins_over_the_binding(command, tmp_path):
    bound = '--gin_bindings=Runner.seed = 3'
    assert command(bound)[0] == 0
    assert command(bound, '--seed=4', base_dir='other')[0] == 0
    assert (seeds(tmp_path / 'run'), seeds(tmp_path / 'other')) == ([3], [4])


@pytest.mark.parametrize('seed', ['-1', '4294967296', '1.5', 'x'])
def test_what_is_no_seed(command, seed):
    status, error = command(f'--seed={seed}')
    assert status == 2
    assert re.match('train: flag --seed=', error)
