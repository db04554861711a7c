"""What a run folder holds, and whether it is intact."""

import json
import shutil

import pytest
import small_runs

from dopamine_lite.cli import main


@pytest.fixture(scope='module')
def original(tmp_path_factory):
    """A run of DQN with checkpoints 0 and 1."""
    folder = tmp_path_factory.mktemp('original')
    small_runs.run(folder, 2, *small_runs.RUNS['dqn'], seed=5)
    return folder


@pytest.fixture
def run(original, tmp_path):
    return shutil.copytree(original, tmp_path / 'run')


def info(capsys, run):
    status = main.main(['info', str(run)])
    captured = capsys.readouterr()
    lines = {line[:14].strip(): line[14:] for line in captured.out.splitlines()}
    return status, lines, captured.err


def test_an_intact_run(capsys, run):
    status, lines, error = info(capsys, run)
    assert (status, error) == (0, '')
    assert lines['trained'] == 'DQN on CartPole-v1'
    assert lines['started'].endswith(' at iteration 0, seed 5')
    assert ' tensorflow ' in lines['with'] and lines['by']
    data = json.loads((run / 'run.json').read_text())
    assert len(data) == 1
    assert lines['training'].startswith('2 iterations, ')
    steps = int(lines['training'].split()[2])
    assert steps >= 120
    assert lines['evaluation'].split()[2] == str(steps)
    assert lines['checkpoint 0'].startswith('intact (')
    assert lines['checkpoint 1'].startswith('intact (')


def test_damage_is_named_and_tells_in_the_status(capsys, run):
    path = run / 'checkpoints' / '$store$_reward_ckpt.1.gz'
    path.write_bytes(path.read_bytes()[:-1])
    (run / 'run.json').write_text('{')
    (run / 'operative_config.gin').write_text('a = [')
    status, lines, _ = info(capsys, run)
    assert status == 1
    assert lines['checkpoint 0'].startswith('intact (')
    assert lines['checkpoint 1'].startswith('damaged: $store$_reward_ckpt.1.gz: expected ')
    assert lines['started'].startswith('not known: run.json is damaged')
    assert lines['trained'].startswith('not known: operative_config.gin is damaged')


def test_a_folder_as_dopamine_leaves_it(capsys, run):
    for path in [run / 'run.json', run / 'operative_config.gin']:
        path.unlink()
    for path in (run / 'checkpoints').glob('manifest.*'):
        path.unlink()
    status, lines, _ = info(capsys, run)
    assert status == 0
    assert lines['trained'] == 'not known: there is no operative_config.gin'
    assert lines['started'] == 'not known: there is no run.json'
    assert lines['checkpoint 1'].startswith('not verified: it has no manifest (')


def test_nothing_reaches_the_terminal_but_text(capsys, run):
    starts = json.loads((run / 'run.json').read_text())
    starts[0]['seed'] = '\x1b[31m\r'
    (run / 'run.json').write_text(json.dumps(starts))
    _, lines, _ = info(capsys, run)
    assert lines['started'].endswith('seed ?[31m?')


def test_no_run(capsys, tmp_path):
    assert info(capsys, tmp_path / 'nix')[0::2] == (
        1,
        f'info: there is no folder {tmp_path / "nix"}\n',
    )
    status, lines, error = info(capsys, tmp_path)
    assert (status, lines) == (1, {})
    assert error.startswith(f'info: {tmp_path} is no folder of a run: it holds none of checkpoints')
    (tmp_path / 'checkpoints').mkdir()
    status, lines, _ = info(capsys, tmp_path)
    assert lines['checkpoints'] == 'none'
    assert lines['trained for'].startswith('not known: ')
