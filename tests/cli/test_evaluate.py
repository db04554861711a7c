"""Evaluations: the numbers, what is printed and what is written."""

import json

import numpy as np
import pytest
import run_folders
import small_runs

from dopamine_lite import console
from dopamine_lite.cli import evaluate, main


def test_the_summary():
    result = evaluate.summary([1.0, 3.0, 5.0, 7.0])
    assert result['episodes'] == 4
    assert result['mean'] == 4.0
    assert result['standard_deviation'] == pytest.approx(np.sqrt(20 / 3))
    low, high = result['interval_95']
    # The means of the 4^4 samples: 2.5 % are at most 2, as many at least 6.
    assert (low, high) == pytest.approx((2.0, 6.0), abs=0.26)
    assert result == evaluate.summary([1.0, 3.0, 5.0, 7.0])


def test_the_summary_of_one_return_claims_no_spread():
    assert evaluate.summary([2.0]) == {
        'episodes': 1,
        'mean': 2.0,
        'standard_deviation': None,
        'interval_95': None,
    }


@pytest.fixture(scope='module')
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp('run')
    small_runs.run(folder, 1, *small_runs.RUNS['dqn'], seed=5)
    return folder


@pytest.fixture
def command(monkeypatch, capsys):
    """Evaluates in this process; returns the status, the output and the errors."""
    monkeypatch.setattr(console, 'keep_clear', lambda: None)

    def run_command(*arguments):
        status = main.main(['evaluate', *map(str, arguments)])
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run_command


def test_an_evaluation(run, command):
    status, out, err = command(run, '--episodes=3', '--seed=7')
    assert (status, err) == (0, '')
    record = json.loads((run / 'evaluation.json').read_text())
    assert (record['agent'], record['environment']) == ('DQN', 'CartPole-v1')
    assert (record['checkpoint'], record['seed'], record['episodes']) == (0, 7, 3)
    assert record['epsilon'] == 0.001
    assert record['source'] == str(run)
    assert record['returns'] == record['lengths']  # CartPole: 1 a step
    assert record['mean'] == pytest.approx(np.mean(record['returns']))
    lines = out.splitlines()
    assert lines[0] == 'DQN on CartPole-v1, checkpoint 0, seed 7'
    for number, value in enumerate(record['returns'], start=1):
        assert lines[number] == f'episode {number}: return {value:g} in {value:g} agent steps'
    low, high = record['interval_95']
    assert lines[4] == (
        f'mean {record["mean"]:.2f}, standard deviation {record["standard_deviation"]:.2f}, '
        f'95 % interval of the mean {low:.2f} to {high:.2f} (bootstrap), 3 episodes'
    )
    assert lines[5] == f'Results: {run / "evaluation.json"}'


def test_an_episode_that_was_cut_is_told(run, command, tmp_path):
    cut = '--gin_bindings=Runner.max_steps_per_episode = 3'
    _, out, _ = command(run, '--episodes=1', cut, f'--output={tmp_path / "cut.json"}')
    assert out.splitlines()[1] == 'episode 1: return 3 in 3 agent steps, cut there'
    assert out.splitlines()[2] == 'mean 3.00, 1 episode'


def test_a_checkpoint_of_tensorflow_writes_where_it_is_told(run, command, tmp_path):
    (tmp_path / 'mine.gin').write_text('\n'.join([small_runs.SMALL, *small_runs.RUNS['dqn']]))
    output = tmp_path / 'here.json'
    status, out, _ = command(
        f'--tf_checkpoint={run / "checkpoints" / "tf_ckpt-0.index"}',
        f'--gin_files={tmp_path / "mine.gin"}',
        '--episodes=1',
        f'--output={output}',
    )
    record = json.loads(output.read_text())
    assert status == 0
    assert record['checkpoint'] is None and record['interval_95'] is None
    assert f'seed {record["seed"]}\n' in out
    assert '\nmean ' in out and 'deviation' not in out


MISTAKES = {
    'no episodes': (['{run}', '--episodes=0'], '--episodes must be at least 1, got 0'),
    'a seed': (['{run}', '--seed=-1'], '--seed must be in [0, 2^32), got -1'),
    'no folder': (['{run}/nix'], 'there is no folder {run}/nix'),
    'a foreign folder': (['{run}/logs'], '{run}/logs holds no complete checkpoint of a run'),
    'no checkpoint': (['{run}', '--checkpoint=3'], 'there is no checkpoint 3 in {run}, only 0'),
    'nothing': ([], 'name either BASE_DIR'),
    'no place to write': (['{run}', '--output={run}/a/b'], '--output: there is no folder {run}/a'),
    'a folder to write': (['{run}', '--output={run}/logs'], '--output: {run}/logs is a folder'),
}


@pytest.mark.parametrize('case', MISTAKES)
def test_mistakes_are_found_before_tensorflow_is(run, command, case, monkeypatch):
    monkeypatch.setattr(console, 'keep_clear', lambda: pytest.fail('too late'))
    arguments, message = MISTAKES[case]
    status, out, err = command(*(a.format(run=run) for a in arguments))
    assert (status, out) == (1, '')
    assert err.startswith('evaluate: ' + message.format(run=run))
    assert err.count('\n') == 1


@pytest.mark.parametrize('name', ['dqn_cartpole', 'rainbow_cartpole'])
def test_a_run_of_dopamine(command, tmp_path, name):
    run_folders.unpack_dopamines(tmp_path)
    status, _, err = command(tmp_path / name)
    assert (status, 'name the gin files with --gin_files' in err) == (1, True)
    status, out, _ = command(
        tmp_path / name,
        f'--gin_files={name}.gin',
        "--gin_bindings=create_gym_environment.version = 'v1'",
        '--episodes=2',
    )
    assert status == 0 and ', checkpoint 1, ' in out
    assert len(json.loads((tmp_path / name / 'evaluation.json').read_text())['returns']) == 2
