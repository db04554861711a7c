import fcntl
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from absl import flags
from absl.testing import flagsaver

from dopamine_lite.discrete_domains import checkpointer, run_experiment, run_lock, train

ROOT = Path(__file__).parents[2]

# Small enough to reach the mistake, or the end, at once.
SMALL = """
import dopamine_lite.discrete_domains.run_experiment
DQNAgent.observation_shape = %gym_lib.CARTPOLE_OBSERVATION_SHAPE
DQNAgent.observation_dtype = %gym_lib.CARTPOLE_OBSERVATION_DTYPE
DQNAgent.stack_size = 1
DQNAgent.network = @legacy_networks.CartpoleDQNNetwork
DQNAgent.min_replay_history = 20
RainbowAgent.observation_shape = %gym_lib.CARTPOLE_OBSERVATION_SHAPE
WrappedReplayBuffer.replay_capacity = 200
WrappedReplayBuffer.batch_size = 8
create_agent.agent_name = 'dqn'
create_gym_environment.environment_name = 'CartPole'
create_gym_environment.version = 'v1'
Runner.create_environment_fn = @gym_lib.create_gym_environment
Runner.num_iterations = 1
Runner.training_steps = 30
Runner.evaluation_steps = 10
"""


@pytest.fixture
def command(tmp_path, monkeypatch, capfd):
    """Runs the command in this process; returns its status and what it wrote to stderr."""
    monkeypatch.setattr(train, '_keep_the_console_clear', lambda: None)
    (tmp_path / 'small.gin').write_text(SMALL)

    def run(*arguments, base_dir='run', gin_file='small.gin'):
        argv = ['train']
        if base_dir:
            argv.append(f'--base_dir={tmp_path / base_dir}')
        if gin_file:
            argv.append(f'--gin_files={tmp_path / gin_file}')
        capfd.readouterr()
        with flagsaver.flagsaver():
            status = train.run(argv + [a.format(tmp=tmp_path) for a in arguments])
        return status, capfd.readouterr().err

    return run


def binding(text):
    return '--gin_bindings=' + text


ATARI = binding('Runner.create_environment_fn = @atari_lib.create_atari_environment')

# Command line -> the one line that it gives, as a regular expression.
MISTAKES = [
    ([binding('Runer.training_steps = 1')], r"there is no 'Runer'; did you mean 'Runner'\?"),
    (
        [binding('Runner.trainng_steps = 1')],
        r"(?i)'Runner'.* parameter .*'trainng_steps'.*did you mean 'training_steps'\?",
    ),
    (
        [binding('Runner.training_steps 1')],
        r"the binding 'Runner\.training_steps 1' is not .*\(.*expected ':' or '='",
    ),
    (
        [binding('Runner.training_steps = ten')],
        r"the binding 'Runner\.training_steps = ten' is not .*quotes around text",
    ),
    ([binding('DQNAgent.network = @gym_lib.Nix')], r"there is no 'gym_lib\.Nix'"),
    ([binding('DQNAgent.network = @CartpoleDQNNetwrk')], r"did you mean 'CartpoleDQNNetwork'\?"),
    ([binding('DQNAgent.gamma = %undefined')], r'%undefined has no value'),
    ([binding('DQNAgent.observation_shape = %gym_lib.NIX')], r'%gym_lib\.NIX has no value'),
    ([binding('import no_such_module')], r"No module named 'no_such_module'"),
    (['--gin_files={tmp}/smal.gin'], r"there is no gin file '.*smal\.gin'; did you mean '.*small"),
    (
        ['--gin_files=ranbow.gin'],
        r"there is no gin file 'ranbow\.gin'; did you mean 'rainbow\.gin'",
    ),
    ([binding("create_gym_environment.environment_name = 'CartPol'")], r"mean 'CartPole-v1'\?"),
    ([binding('create_gym_environment.environment_name = None')], 'environment_name'),
    ([ATARI, binding("create_atari_environment.game_name = 'Pongg'")], r"did you mean 'Pong'\?"),
    ([ATARI], r'create_atari_environment .*game_name'),
    ([binding("create_agent.agent_name = 'ranbow'")], r"Unknown agent: ranbow.*mean 'rainbow'\?"),
    ([binding("create_agent.agent_name = 'jax_dqn'")], r"agent_name: 'jax_dqn'.*TensorFlow path"),
    ([binding('create_agent.agent_name = None')], r'create_agent\.agent_name must be one of'),
    ([binding("create_runner.schedule = 'now'")], r'Unknown schedule: now .*continuous_train'),
    (
        [
            binding("create_agent.agent_name = 'rainbow'"),
            binding("RainbowAgent.replay_scheme = 'unifrm'"),
        ],
        r'Invalid replay scheme: unifrm\..*uniform',
    ),
    ([binding('DQNAgent.observation_shape = (5, 1)')], r'4 values.*5 values'),
    ([binding('DQNAgent.observation_shape = 4')], r'observation_shape must be a tuple, got 4'),
    (
        [
            binding("create_gym_environment.environment_name = 'MountainCar'"),
            binding("create_gym_environment.version = 'v0'"),
        ],
        r'agent expects observations of shape \(4, 1\), the environment gives \(2,\)',
    ),
    ([binding("Runner.training_steps = 'many'")], r"training_steps must be .*got 'many'"),
    ([binding('Runner.num_iterations = 2.5')], r'num_iterations must be a whole number, got 2\.5'),
    ([binding("DQNAgent.stack_size = 'x'")], r"stack_size must be a finite number, got 'x'"),
    ([binding('DQNAgent.gamma = 2.0')], r'Discount factor \(gamma\) must be in \[0, 1\]'),
]


@pytest.mark.parametrize('arguments, message', MISTAKES, ids=[m for _, m in MISTAKES])
def test_a_mistake_is_one_line(command, tmp_path, arguments, message):
    status, error = command(*arguments)
    assert status == 1
    (line,) = [line for line in error.splitlines() if line.startswith('train: ')]
    assert re.search(message, line)
    assert 'Traceback' not in error
    assert not (tmp_path / 'run').exists()


FLAG_MISTAKES = [
    (['--base_dr=x'], {}, r"Unknown command line flag 'base_dr'\. Did you mean: base_dir"),
    ([], {'base_dir': None}, '--base_dir is missing'),
    ([], {'gin_file': None}, '--gin_files is missing'),
    (['=', '1'], {}, r"unexpected argument '='"),
]


@pytest.mark.parametrize('arguments, options, message', FLAG_MISTAKES)
def test_a_mistake_in_the_flags(command, tmp_path, arguments, options, message):
    status, error = command(*arguments, **options)
    assert status == 2
    assert re.fullmatch(f'train: .*{message}.*\n', error)
    assert not (tmp_path / 'run').exists()


@pytest.mark.parametrize('base_dir', ['file', 'file/run'])
def test_a_base_dir_that_cannot_be_made(command, tmp_path, base_dir):
    (tmp_path / 'file').write_text('precious')
    status, error = command(base_dir=base_dir)
    assert status == 1
    assert re.search(f"train: the base_dir '.*{base_dir}' cannot be made", error)
    assert (tmp_path / 'file').read_text() == 'precious'


def test_a_mistake_in_the_configuration_makes_no_folder(command, tmp_path):
    command(binding('Runer.training_steps = 1'))
    assert not (tmp_path / 'run').exists()


def test_a_folder_in_use_is_refused_before_anything_is_built(command, tmp_path, monkeypatch):
    (tmp_path / 'run').mkdir()
    monkeypatch.setattr(train, '_create_runner', lambda: pytest.fail('was built'))
    other = os.open(tmp_path / 'run', os.O_RDONLY)
    try:
        fcntl.flock(other, fcntl.LOCK_EX)
        status, error = command()
    finally:
        os.close(other)
    assert status == 1
    assert f'train: another process is training in {tmp_path / "run"}\n' in error
    assert not list((tmp_path / 'run').iterdir())


def test_the_folder_of_a_run_that_began_meanwhile_stays(command, tmp_path, monkeypatch):
    # The other process makes the folder while this one imports TensorFlow, and trains in it.
    configure, descriptors = train._configure, []

    def configure_while_another_begins():
        (tmp_path / 'run' / 'logs').mkdir(parents=True)
        descriptors.append(os.open(tmp_path / 'run', os.O_RDONLY))
        fcntl.flock(descriptors[0], fcntl.LOCK_EX)
        configure()

    monkeypatch.setattr(train, '_configure', configure_while_another_begins)
    try:
        status, error = command()
    finally:
        os.close(descriptors[0])
    assert (status, 'another process is training' in error) == (1, True)
    assert (tmp_path / 'run' / 'logs').exists()


def test_a_folder_that_is_put_in_the_place_of_the_locked_one(tmp_path, monkeypatch):
    folder = tmp_path / 'run'
    folder.mkdir()

    def replaced_meanwhile(descriptor, name):
        folder.rename(tmp_path / 'elsewhere')
        folder.mkdir()

    monkeypatch.setattr(run_lock, '_acquire', replaced_meanwhile)
    with pytest.raises(RuntimeError, match='another process has just removed'):
        with run_lock.lock(str(folder)):
            pass


@pytest.mark.parametrize('flag', ['--fresh', '--fresh=1', '-fresh=True'])
def test_the_command_to_go_on_starts_nothing_anew(tmp_path, capsys, flag):
    with flagsaver.flagsaver():
        argv = ['train', '--base_dir', 'fresh', flag, '--seed=1']
        train.FLAGS(argv)
        assert train._interrupted(('train',), argv, signal.SIGINT) == 130
    assert capsys.readouterr().err.endswith(': train --base_dir fresh --seed=1\n')


def test_a_schedule_is_configured_without_an_import(command, tmp_path):
    status, error = command(
        binding("create_runner.schedule = 'atari_100k'"),
        binding('MaxEpisodeEvalRunner.num_eval_episodes = 1e2'),
    )
    assert status == 1
    assert 'num_eval_episodes must be a whole number, got 100.0' in error


def test_no_checkpoint_that_can_be_resumed_from(command, tmp_path):
    folder = tmp_path / 'run' / 'checkpoints'
    checkpointer.Checkpointer(folder).save_checkpoint(0, {'current_iteration': 0})
    status, error = command()
    assert status == 1
    assert re.search(r'train: none of the checkpoints .* can be resumed from \(checkpoint 0', error)
    names = ['ckpt.0', 'manifest.0.json', 'sentinel_checkpoint_complete.0']
    assert sorted(os.listdir(folder)) == names


USERS = {
    'while importing': ("raise ValueError('mine')", []),
    'a missing import': ('import no_such_module', []),
    'bad syntax': ('def f(:', []),
    'while building': (
        "import gin\n@gin.configurable\ndef users_environment():\n  raise ValueError('mine')",
        [binding('Runner.create_environment_fn = @users_environment')],
    ),
    'while running': (
        'import gin\nfrom dopamine_lite.discrete_domains import gym_lib\n'
        'class Mine:\n'
        '  def __init__(self, inner):\n    self.inner = inner\n    self.game_over = False\n'
        '  def __getattr__(self, name):\n    return getattr(self.inner, name)\n'
        "  def step(self, action):\n    raise ValueError('mine')\n"
        '@gin.configurable\ndef users_environment():\n'
        '  return Mine(gym_lib.create_gym_environment())',
        [binding('Runner.create_environment_fn = @users_environment')],
    ),
    'in a network': (
        'import gin, tf_keras\n@gin.configurable\nclass MyNetwork(tf_keras.Model):\n'
        '  def __init__(self, num_actions, name=None):\n    super().__init__(name=name)\n'
        "  def call(self, state):\n    raise ValueError('mine')",
        [binding('DQNAgent.network = @MyNetwork')],
    ),
}


@pytest.mark.parametrize('case', USERS)
def test_an_error_in_the_users_own_code_keeps_its_traceback(command, tmp_path, monkeypatch, case):
    code, arguments = USERS[case]
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / 'users_module.py').write_text(code)
    monkeypatch.delitem(sys.modules, 'users_module', raising=False)
    with pytest.raises((ValueError, ImportError, SyntaxError)):
        command(binding('import users_module'), *arguments)


def test_main_trains_as_the_flags_say(tmp_path, command):
    (tmp_path / 'small.gin').write_text(SMALL)
    with flagsaver.flagsaver(
        base_dir=str(tmp_path / 'run'),
        gin_files=[str(tmp_path / 'small.gin')],
        gin_bindings=[
            "create_runner.schedule = 'continuous_train'",
            'TrainRunner.create_environment_fn = @gym_lib.create_gym_environment',
        ],
    ):
        flags.FLAGS.mark_as_parsed()
        train.main([])
    assert sorted(os.listdir(tmp_path / 'run' / 'logs')) == ['log_0']
    assert checkpointer.get_latest_checkpoint_number(tmp_path / 'run' / 'checkpoints') == 0


def test_main_looks_the_runner_up_when_called(monkeypatch):
    calls = []

    class FakeRunner:
        def run_experiment(self):
            calls.append('run')

    monkeypatch.setattr(run_experiment, 'load_gin_configs', lambda *args: calls.append(args))
    monkeypatch.setattr(
        run_experiment, 'create_runner', lambda folder: calls.append(folder) or FakeRunner()
    )
    with flagsaver.flagsaver(base_dir='folder', gin_files=['a.gin'], gin_bindings=['b = 1']):
        flags.FLAGS.mark_as_parsed()
        train.main([])
    assert calls == [(['a.gin'], ['b = 1']), 'folder', 'run']


@pytest.mark.parametrize('flag', ['--help', '-h'])
def test_help(capsys, flag):
    assert train.run(['train', flag]) == 0
    text = capsys.readouterr().out
    assert all(name in text for name in ('--base_dir', '--gin_files', '--gin_bindings', 'Example'))
    assert len(text.splitlines()) <= 24


def test_a_finished_run_without_matplotlib(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, 'matplotlib.figure', None)
    train._report(str(tmp_path))
    assert capsys.readouterr().out == (
        f'Results: {tmp_path}\nNo learning curve: the learning curve needs matplotlib: '
        "pip install 'dopamine_lite[plots]'\n"
    )


# As a program of its own.


def start(tmp_path, *arguments, command=(sys.executable, '-m', train.__name__)):
    return subprocess.Popen(
        [*command, *arguments],
        cwd=tmp_path,  # not the folder of the gin files
        env={**os.environ, 'PYTHONPATH': str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_one_line_and_nothing_else(tmp_path):
    process = start(tmp_path, '--base_dir=run', '--gin_files=ranbow.gin')
    output, error = process.communicate()
    assert (process.returncode, output) == (1, '')
    assert error == "train: there is no gin file 'ranbow.gin'; did you mean 'rainbow.gin'?\n"
    assert os.listdir(tmp_path) == []


def test_interrupt_resume_and_finish(tmp_path):
    arguments = [
        '--base_dir=run',
        '--gin_files=dqn_cartpole.gin',
        '--gin_bindings=Runner.training_steps = 50',
        '--gin_bindings=Runner.evaluation_steps = 20',
    ]
    process = start(tmp_path, *arguments)
    sentinels = tmp_path / 'run' / 'checkpoints'
    while process.poll() is None and not checkpointer.complete_checkpoints(sentinels):
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    output, error = process.communicate()
    assert (process.returncode, output) == (130, '')
    last = checkpointer.complete_checkpoints(sentinels)[-1]
    hint, _, same = error.splitlines()[-1].partition(', run the same command: ')
    assert hint == f'Interrupted. To go on after checkpoint {last}'
    assert 'Traceback' not in error

    # From any shell, also one where the environment of the package is not the active one.
    limit = f'--gin_bindings=Runner.num_iterations = {last + 2}'
    process = start(tmp_path, limit, command=shlex.split(same))
    output, error = process.communicate()
    assert process.returncode == 0, error
    assert output == 'Results: run\nLearning curve: run/learning_curve.png\n'
    starts = json.loads((tmp_path / 'run' / 'run.json').read_text())
    assert [s['start_iteration'] for s in starts] == [0, last + 1]
    assert checkpointer.complete_checkpoints(sentinels)[-1] == last + 1


def test_a_run_on_the_emulator_ends_without_a_word_from_native_code(tmp_path):
    process = start(
        tmp_path,
        '--base_dir=run',
        '--gin_files=rainbow.gin',
        binding('Runner.num_iterations = 1'),
        binding('Runner.training_steps = 20'),
        binding('Runner.evaluation_steps = 0'),
        binding('Runner.max_steps_per_episode = 20'),
        binding('WrappedPrioritizedReplayBuffer.replay_capacity = 100'),
    )
    output, error = process.communicate()
    assert process.returncode == 0, error
    assert output == 'Results: run\nLearning curve: run/learning_curve.png\n'
    assert 'leaked' not in error  # what the emulator's binding says when an emulator is left over
