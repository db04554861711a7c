"""Gin text that is read, not run; above all that of a stranger's run folder."""

import sys

import gin
import pytest

from dopamine_lite import gin_text, packaged_configs
from dopamine_lite.console import UserError
from dopamine_lite.discrete_domains import run_experiment  # noqa: F401  (its selectors)


def experiment(text):
    return tuple(gin_text.experiment(gin_text.Settings(text)))


PACKAGED = {
    'dqn.gin': ('DQN', 'Pong'),
    'dqn_nature.gin': ('DQN', 'Pong'),
    'c51_cartpole.gin': ('C51', 'CartPole-v0'),
    'rainbow_acrobot.gin': ('Rainbow', 'Acrobot-v1'),
    'implicit_quantile.gin': ('IQN', 'Pong'),
    'quantile.gin': ('QR-DQN', 'Pong'),
    'full_rainbow_cartpole.gin': ('Full Rainbow', 'CartPole-v0'),
    'ddqn_per.gin': ('Double DQN with PER', 'Pong'),
    'dueling_ddqn_per.gin': ('Dueling Double DQN with PER', 'Pong'),
    'sarsa.gin': ('SARSA', 'Pong'),
    'minatar/quantile_breakout.gin': ('QR-DQN', 'MinAtar breakout'),
    'DER.gin': ('DER', 'Pong'),
    'OTRainbow.gin': ('OTRainbow', 'Pong'),
    'DrQ.gin': ('DrQ', 'Pong'),
    'DrQ_eps.gin': ('DrQ(eps)', 'Pong'),
}


@pytest.mark.parametrize('name', PACKAGED)
def test_the_experiment_of_a_packaged_file(name):
    with open(packaged_configs.find(name), encoding='utf-8') as file:
        assert experiment(file.read()) == PACKAGED[name]


def test_nothing_that_the_text_names_is_looked_up():
    text = """
import no_such_module
include 'no_such_file.gin'
GAME = %OTHER
OTHER = 'Asterix'
create_agent.agent_name = 'mine'
Runner.create_environment_fn = @no_such_module.create_my_environment
create_my_environment.game_name = %GAME
"""
    assert experiment(text) == ('mine', 'Asterix')
    settings = gin_text.Settings(text)
    assert settings.get('Runner', 'nothing') is None
    assert settings.get('Runner', 'create_environment_fn') == gin_text.Reference(
        'no_such_module.create_my_environment'
    )
    assert experiment('') == ('unknown', 'unknown')
    assert experiment('A = %B\nB = %A\ncreate_agent.agent_name = %A')[1] == 'unknown'


# What may not happen is told by a module that says when it is imported.


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A run folder beside a package `hostile` that can be imported, as can `dopamine_evil`."""
    (tmp_path / 'path' / 'hostile').mkdir(parents=True)
    code = f'open({str(tmp_path / "executed")!r}, "w").close()\n'
    for name in ('hostile/__init__.py', 'hostile/sub.py', 'dopamine_evil.py', 'evil-.py'):
        (tmp_path / 'path' / name).write_text(code)
    (tmp_path / 'hostile.gin').write_text('import hostile\n')
    monkeypatch.syspath_prepend(str(tmp_path / 'path'))
    monkeypatch.chdir(tmp_path)
    run = tmp_path / 'run'
    run.mkdir()
    yield run
    assert not (tmp_path / 'executed').exists()
    for name in [n for n in sys.modules if n.startswith(('hostile', 'dopamine_evil', 'evil-'))]:
        pytest.fail(f'{name} was imported')


def keep(folder, text):
    (folder / gin_text.KEPT).write_text(text)
    return str(folder)


REFUSED = {
    'an import': ('import hostile', r'import hostile is refused.*--import=hostile$'),
    'of a module within': ('import hostile.sub', r'import hostile\.sub is refused'),
    'from a package': ('from hostile import sub', r'import hostile\.sub is refused'),
    'under another name': ('import hostile as dopamine', 'import hostile is refused'),
    'of a similar name': ('import dopamine_evil', 'import dopamine_evil is refused'),
    'of the standard library': ('import os', 'import os is refused'),
    'after a good one': (
        'import dopamine_lite.discrete_domains.gym_lib\nimport hostile',
        'line 3: import hostile',
    ),
    'over two lines': ('import \\\nhostile', 'import hostile is refused'),
    'an include': ("include 'hostile.gin'", r"include 'hostile\.gin' is refused"),
    'dynamic registration': (
        'from __gin__ import dynamic_registration\nimport os\nos.system.command = "true"',
        r'__gin__\.dynamic_registration is refused',
    ),
    'an environment with its module': (
        "create_gym_environment.environment_name = 'hostile:Env'",
        r"'hostile:Env' is refused.*--import=hostile$",
    ),
    'one in a macro': (
        "NAME = 'hostile:Env'\ncreate_gym_environment.environment_name = %NAME",
        "'hostile:Env' is refused",
    ),
    'one in two parts': (
        "create_gym_environment.environment_name = 'evil'\n"
        "create_gym_environment.version = ':Env-v0'",
        "':Env-v0' is refused",
    ),
    'one in containers': (
        "Runner.seed = [{'a': (1, 'hostile:Env')}]",
        "'hostile:Env' is refused",
    ),
    'a folder': ("Logger.logging_dir = '/elsewhere'", 'logging_dir is refused'),
    'a folder for summaries': (
        "DQNAgent.summary_writer = '/elsewhere'",
        'line 2: summary_writer is refused',
    ),
    'an expression': (
        'Runner.seed = __import__("hostile")',
        r'operative_config\.gin is no gin text',
    ),
    'a call with arguments': ('Runner.seed = @hostile.run("x")', 'is no gin text'),
    'not gin': ('{"cell": [', 'is no gin text'),
    'deep': ('Runner.seed = ' + '(' * 5000, 'is no gin text'),
    'an open string': ("Runner.seed = '''", 'is no gin text'),
}


@pytest.mark.parametrize('case', REFUSED)
def test_what_could_execute_code_is_refused_and_nothing_bound(folder, case):
    text, message = REFUSED[case]
    with pytest.raises(UserError, match=message):
        gin_text.bind_kept(keep(folder, f'Runner.num_iterations = 3\n{text}\n'))
    assert gin.config_str() == ''


@pytest.mark.parametrize('reference', ['@hostile.run()', '@os.system', '@builtins.eval()'])
def test_references_are_to_what_is_registered_alone(folder, reference):
    with pytest.raises(ValueError, match='No configurable matching'):
        gin_text.bind_kept(keep(folder, f'Runner.seed = {reference}'))


def test_bindings_are_read_and_imports_of_this_package_followed(folder):
    text = """
import dopamine_lite.discrete_domains.minatar_lib
import dopamine.tf.agents.rainbow.rainbow_agent
import gin.tf.external_configurables

CAPACITY = 200
RainbowAgent.vmax = -1.5
RainbowAgent.optimizer = @mine/tf.train.AdamOptimizer()
RainbowAgent.tf_device = '/gpu:0'
mine/tf.train.AdamOptimizer.learning_rate = 0.5
WrappedReplayBuffer:
  replay_capacity = %CAPACITY
  batch_size = 4
DQNAgent.observation_shape = %minatar_lib.BREAKOUT_SHAPE
"""
    from dopamine_lite import compat

    compat.install()
    gin_text.bind_kept(keep(folder, text))
    assert gin.query_parameter('RainbowAgent.vmax') == -1.5
    assert gin.query_parameter('mine/tf.train.AdamOptimizer.learning_rate') == 0.5
    assert gin.get_bindings('WrappedReplayBuffer') == {'replay_capacity': 200, 'batch_size': 4}
    assert gin.get_bindings('DQNAgent') == {'observation_shape': (10, 10, 4)}


def test_what_the_user_named_is_passed_over(folder):
    text = "import mine\ncreate_gym_environment.environment_name = 'mine:Env'\n"
    gin_text.bind_kept(keep(folder, text), imported=['mine'])
    assert gin.query_parameter('create_gym_environment.environment_name') == 'mine:Env'
    with pytest.raises(UserError, match=r'import mine\.sub is refused'):
        gin_text.bind_kept(keep(folder, 'import mine.sub'), imported=['mine'])


def test_a_folder_without_a_text(folder):
    with pytest.raises(gin_text.NothingKept, match=r'holds no operative_config\.gin.*--gin_files'):
        gin_text.bind_kept(str(folder))
    (folder / gin_text.KEPT).write_bytes(b'\xff\xfe\x00')
    with pytest.raises(UserError, match='cannot be read'):
        gin_text.bind_kept(str(folder))
