"""Programs of each era of Dopamine run unchanged, and its gin files as they were shipped."""

import os
import re
import subprocess
import sys
from pathlib import Path

import gin
import pytest

import dopamine_lite
from dopamine_lite import compat, packaged_configs
from dopamine_lite.compat import dopamine_alias
from dopamine_lite.discrete_domains import run_experiment  # noqa: F401  (registers everything)

ERAS = Path(__file__).with_name('eras')
ENVIRONMENT = {
    **os.environ,
    'PYTHONPATH': str(Path(dopamine_lite.__file__).parents[1]),
    'TF_CPP_MIN_LOG_LEVEL': '2',
    'CUDA_VISIBLE_DEVICES': '-1',
}


def _alias(*arguments):
    command = [sys.executable, '-m', 'dopamine_lite.compat.dopamine_alias', *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT)


@pytest.mark.parametrize('era', [1, 2, 3, 4])
def test_programs_of_every_era_run_unchanged(era, tmp_path):
    result = _alias(ERAS / f'dopamine_{era}.py', tmp_path)
    assert result.returncode == 0, result.stderr[-3000:]
    assert result.stdout.strip().split('\n')[-1] == 'DONE'


def test_the_command_of_dopamine_1_trains(tmp_path):
    result = _alias(
        '-m',
        'dopamine.atari.train',
        '--agent_name=dqn',
        '--schedule',
        'continuous_train_and_eval',
        f'--base_dir={tmp_path}',
        '--gin_files=dopamine/agents/dqn/configs/dqn_cartpole.gin',
        '--gin_bindings=Runner.num_iterations = 1',
        '--gin_bindings=Runner.training_steps = 20',
    )
    assert result.returncode == 0, result.stderr[-3000:]
    assert (tmp_path / 'checkpoints' / 'ckpt.0').exists()
    assert """write --gin_bindings="create_agent.agent_name = 'dqn'\"""" in result.stderr


def _as_shipped(text, era):
    """A gin file of ours under the names that it has, or had, in Dopamine."""
    text = text.replace('dopamine_lite.', 'dopamine.')
    if era < 4:
        text = text.replace('dopamine.tf.', 'dopamine.')
        text = text.replace('import dopamine.discrete_domains.legacy_networks\n', '')
        text = text.replace('legacy_networks.', 'gym_lib.')
    return text


def _bindings(text):
    text = re.sub(r'@gym_lib\.(\w+Network)', r'@legacy_networks.\1', text)
    return [line for line in text.split('\n') if not line.startswith('import')]


@pytest.mark.parametrize('era', [3, 4])
@pytest.mark.parametrize('name', [name for name in packaged_configs.names() if '/' not in name])
def test_gin_files_are_read_as_dopamine_shipped_them(name, era):
    text = _as_shipped((packaged_configs.directory() / name).read_text(), era)
    compat.install()
    try:
        gin.parse_config(text)
        as_shipped = gin.config_str()
        gin.clear_config()
        gin.parse_config_file(name)
        ours = gin.config_str()
    finally:
        dopamine_alias.uninstall()
    assert len(as_shipped) > 200
    assert _bindings(as_shipped) == _bindings(ours)
