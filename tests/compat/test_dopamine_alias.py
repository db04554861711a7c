"""`dopamine` is `dopamine_lite`: the same modules, at the addresses of every era."""

import importlib
import importlib.util
import inspect
import os
import pickle
import pkgutil
import subprocess
import sys
import types
from pathlib import Path
from unittest import mock

import gin
import pytest

import dopamine_lite
from dopamine_lite import compat
from dopamine_lite.compat import addresses, dopamine_alias
from dopamine_lite.discrete_domains import atari_lib, run_experiment
from dopamine_lite.tf.agents.dqn import dqn_agent

SAME = {
    'dopamine': 'dopamine_lite',
    'dopamine.tf.agents.dqn.dqn_agent': 'dopamine_lite.tf.agents.dqn.dqn_agent',
    'dopamine.agents': 'dopamine_lite.tf.agents',
    'dopamine.agents.dqn': 'dopamine_lite.tf.agents.dqn',
    'dopamine.agents.dqn.dqn_agent': 'dopamine_lite.tf.agents.dqn.dqn_agent',
    'dopamine.agents.rainbow.rainbow_agent': 'dopamine_lite.tf.agents.rainbow.rainbow_agent',
    'dopamine.agents.implicit_quantile.implicit_quantile_agent': (
        'dopamine_lite.tf.agents.implicit_quantile.implicit_quantile_agent'
    ),
    **{
        f'dopamine.{package}replay_memory.{module}': f'dopamine_lite.tf.replay_memory.{module}'
        for package in ('', 'tf.')
        for module in ('circular_replay_buffer', 'prioritized_replay_buffer', 'sum_tree')
    },
    **{
        f'dopamine.{package}.{module}': f'dopamine_lite.discrete_domains.{module}'
        for package in ('common', 'discrete_domains')
        for module in ('checkpointer', 'iteration_statistics', 'logger')
    },
    'dopamine.discrete_domains.run_experiment': 'dopamine_lite.discrete_domains.run_experiment',
    'dopamine.discrete_domains.legacy_networks': 'dopamine_lite.discrete_domains.legacy_networks',
    'dopamine.atari.preprocessing': 'dopamine_lite.discrete_domains.atari_lib',
    'dopamine.metrics.collector_dispatcher': 'dopamine_lite.metrics.collector_dispatcher',
    'dopamine.utils.test_utils': 'dopamine_lite.utils.test_utils',
}


@pytest.fixture
def alias():
    """The alias, installed; everything is as before afterwards."""
    modules, finders = dict(sys.modules), list(sys.meta_path)
    attributes = {name: set(vars(module)) for name, module in _ours().items()}
    dopamine_alias.install()
    yield dopamine_alias
    dopamine_alias.uninstall()
    # Libraries that were imported meanwhile may have brought finders of their own.
    assert [finder for finder in sys.meta_path if finder in finders] == finders
    assert '_AliasFinder' not in str(sys.meta_path)
    assert not [name for name in sys.modules if name.split('.')[0] == 'dopamine']
    # Of our own modules only submodules that were imported meanwhile are new.
    for name, before in attributes.items():
        gained = set(vars(_ours()[name])) - before
        assert {n for n in gained if f'{name}.{n}' not in sys.modules} == set(), name
    assert set(modules) <= set(sys.modules)


def _ours():
    return {name: m for name, m in sys.modules.items() if name.split('.')[0] == 'dopamine_lite'}


@pytest.mark.parametrize('name', SAME)
def test_every_address_is_the_module_itself(alias, name):
    module = importlib.import_module(name)
    assert module is importlib.import_module(SAME[name])
    assert module.__name__ == module.__spec__.name == SAME[name]
    assert sys.modules[name] is module


def test_the_statements_of_programs_work(alias):
    import dopamine.agents.dqn.dqn_agent
    import dopamine.replay_memory.sum_tree as sum_tree
    from dopamine.discrete_domains import run_experiment as runner
    from dopamine.tf.agents import rainbow  # noqa: F401
    from dopamine.tf.agents.dqn.dqn_agent import DQNAgent

    assert dopamine.agents.dqn.dqn_agent.DQNAgent is DQNAgent is dqn_agent.DQNAgent
    assert runner is run_experiment
    assert sum_tree.__name__ == 'dopamine_lite.tf.replay_memory.sum_tree'


def test_nothing_is_registered_twice(alias):
    import dopamine.agents.dqn.dqn_agent
    import dopamine.tf.agents.dqn.dqn_agent  # noqa: F401

    gin.bind_parameter('DQNAgent.gamma', 0.5)
    assert gin.query_parameter('dopamine.agents.dqn.dqn_agent.DQNAgent.gamma') == 0.5


def test_tools_see_ordinary_modules(alias):
    import dopamine
    from dopamine.common import iteration_statistics
    from dopamine.replay_memory import sum_tree

    assert importlib.reload(iteration_statistics) is iteration_statistics
    assert inspect.getsourcefile(sum_tree).endswith('dopamine_lite/tf/replay_memory/sum_tree.py')
    assert inspect.getmodule(sum_tree.SumTree) is sum_tree
    found = {module.name for module in pkgutil.iter_modules(dopamine.__path__, 'dopamine.')}
    assert {'dopamine.tf', 'dopamine.discrete_domains', 'dopamine.compat'} <= found
    assert importlib.util.find_spec('dopamine.agents.dqn') is not None
    assert importlib.util.find_spec('dopamine.agents.nope') is None
    function = dqn_agent.identity_epsilon
    assert pickle.loads(pickle.dumps(function)) is function
    at_the_old_address = b'cdopamine.agents.dqn.dqn_agent\nidentity_epsilon\n.'
    assert pickle.loads(at_the_old_address) is function


def test_dopamine_1_finds_more_names_in_its_runner_but_we_do_not(alias):
    from dopamine.atari import run_experiment as old
    from dopamine.atari import train as old_train

    assert old is sys.modules['dopamine.atari.run_experiment']
    assert old.Runner is run_experiment.Runner
    assert old.create_atari_environment is atari_lib.create_atari_environment
    assert {'Runner', 'create_atari_environment'} <= set(dir(old))
    assert not hasattr(run_experiment, 'create_atari_environment')
    assert callable(old_train.launch_experiment) and callable(old_train.create_runner)
    with pytest.raises(AttributeError, match="'dopamine.atari.run_experiment' has no .* 'nope'"):
        old.nope  # noqa: B018
    namespace = {}
    exec('from dopamine.atari.run_experiment import *', namespace)
    assert namespace['Runner'] is run_experiment.Runner


@pytest.mark.parametrize(
    ('target', 'owner', 'name'),
    [
        ('dopamine.atari.run_experiment', run_experiment, 'Runner'),
        ('dopamine.atari.run_experiment', atari_lib, 'create_atari_environment'),
        ('dopamine.agents.dqn.dqn_agent', dqn_agent, 'DQNAgent'),
    ],
)
def test_what_is_patched_at_an_old_address_is_patched_for_all(alias, target, owner, name):
    original = getattr(owner, name)
    with mock.patch(f'{target}.{name}') as patched:
        assert getattr(owner, name) is patched
    assert getattr(owner, name) is original


@pytest.mark.parametrize(
    ('module', 'name', 'value', 'successor'),
    [
        ('agents.dqn.dqn_agent', 'OBSERVATION_SHAPE', 84, 'NATURE_DQN_OBSERVATION_SHAPE'),
        ('agents.dqn.dqn_agent', 'STACK_SIZE', 4, 'NATURE_DQN_STACK_SIZE'),
        ('replay_memory.circular_replay_buffer', 'MAX_SAMPLE_ATTEMPTS', 1000, 'max_sample_att'),
        ('common.checkpointer', 'CHECKPOINT_DURATION', 4, 'checkpoint_duration'),
        ('common.logger', 'CHECKPOINT_DURATION', 4, 'logs_duration'),
    ],
)
def test_old_constants_are_there_with_a_warning(alias, module, name, value, successor):
    old = importlib.import_module(f'dopamine.{module}')
    with pytest.warns(compat.CompatibilityWarning, match=f'Use .*{successor}'):
        assert getattr(old, name) == value
    with pytest.raises(AttributeError, match=f"'{old.__name__}' has no attribute 'NOPE'"):
        old.NOPE  # noqa: B018


@pytest.mark.parametrize('name', ['jax', 'jax.agents.dqn.dqn_agent', 'labs.sac', 'jax.networks'])
def test_jax_modules_say_that_this_is_the_tensorflow_path(alias, name):
    with pytest.raises(ImportError, match="^'dopamine.(jax|labs).*this is|.*the TensorFlow path"):
        importlib.import_module(f'dopamine.{name}')
    with pytest.raises(ImportError, match='TensorFlow path'):
        gin.parse_config(f'import dopamine.{name}')


@pytest.mark.parametrize('name', ['dopamine.nope', 'dopamine.agents.nope', 'dopamine.atari.nope'])
def test_what_is_not_there_is_reported_under_the_name_asked_for(alias, name):
    with pytest.raises(ModuleNotFoundError, match=f"^No module named '{name}'$"):
        importlib.import_module(name)


def test_modules_that_users_drop_in_are_found_under_both_names(alias, tmp_path, monkeypatch):
    from dopamine_lite import discrete_domains

    (tmp_path / 'my_lib.py').write_text(
        'import gin\n@gin.configurable\ndef my_environment(size=1):\n    return size\n'
    )
    monkeypatch.setattr(discrete_domains, '__path__', [*discrete_domains.__path__, str(tmp_path)])
    import dopamine.discrete_domains.my_lib as mine

    assert sys.modules['dopamine_lite.discrete_domains.my_lib'] is mine
    gin.bind_parameter('dopamine.discrete_domains.my_lib.my_environment.size', 3)
    assert mine.my_environment() == 3
    del sys.modules['dopamine_lite.discrete_domains.my_lib'], discrete_domains.my_lib


def test_installing_twice_is_installing_once(alias):
    finders = list(sys.meta_path)
    alias.install()
    assert sys.meta_path == finders


def test_another_dopamine_is_never_mixed_with_ours(monkeypatch):
    other = types.ModuleType('dopamine')
    other.__file__ = '/elsewhere/dopamine/__init__.py'
    monkeypatch.setitem(sys.modules, 'dopamine', other)
    finders = list(sys.meta_path)
    with pytest.raises(ImportError, match='already imported, from /elsewhere/dopamine/__init__.py'):
        dopamine_alias.install()
    assert sys.meta_path == finders and sys.modules['dopamine'] is other


def test_an_alias_that_others_made_is_no_other_dopamine(monkeypatch):
    monkeypatch.setitem(sys.modules, 'dopamine', types.ModuleType('dopamine'))
    monkeypatch.setitem(sys.modules, 'dopamine.agents.dqn.dqn_agent', dqn_agent)
    dopamine_alias.install()
    dopamine_alias.uninstall()


def test_without_the_alias_there_is_no_dopamine():
    with pytest.raises(ModuleNotFoundError, match="^No module named 'dopamine'$"):
        importlib.import_module('dopamine')
    assert not hasattr(dopamine_lite, 'agents')


def test_the_table_of_addresses_goes_both_ways():
    for old, new in SAME.items():
        assert addresses.canonical(old) == new
        if not old.startswith('dopamine.agents') and old.count('.') > 1:
            assert old in addresses.former(new)
    with pytest.raises(ValueError, match='numpy is no address of Dopamine'):
        addresses.canonical('numpy')


# The command line.

ENVIRONMENT = {
    **os.environ,
    'PYTHONPATH': str(Path(dopamine_lite.__file__).parents[1]),
    'TF_CPP_MIN_LOG_LEVEL': '2',
    'CUDA_VISIBLE_DEVICES': '-1',
}


def _python(*arguments, cwd=None):
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
        cwd=cwd,
    )


def _alias(*arguments, cwd=None):
    return _python('-m', 'dopamine_lite.compat.dopamine_alias', *arguments, cwd=cwd)


def test_importing_the_package_costs_nothing(tmp_path):
    program = (
        'import sys; before = set(sys.modules); import dopamine_lite; '
        'new = {n.split(".")[0] for n in set(sys.modules) - before}; '
        'assert not new & {"tensorflow", "gin", "numpy", "dopamine"}, new; '
        'assert "dopamine_lite.compat.dopamine_alias" not in sys.modules; '
        'import importlib.util; assert importlib.util.find_spec("dopamine") is None'
    )
    result = _python('-c', program, cwd=tmp_path)
    assert result.returncode == 0, result.stderr


def test_a_program_without_the_alias_gets_nothing_of_it(tmp_path):
    program = (
        'import gin, importlib.util, sys\n'
        'from dopamine_lite.discrete_domains import run_experiment\n'
        'gin.parse_config("run_experiment.Runner.num_iterations = 1")\n'
        'assert gin.query_parameter("Runner.num_iterations") == 1\n'
        'assert "dopamine_lite.compat.dopamine_alias" not in sys.modules\n'
        'assert not [n for n in sys.modules if n.split(".")[0] == "dopamine"]\n'
        'assert importlib.util.find_spec("dopamine") is None\n'
    )
    result = _python('-c', program, cwd=tmp_path)
    assert result.returncode == 0, result.stderr


def test_a_script_runs_as_python_runs_it(tmp_path):
    (tmp_path / 'beside.py').write_text('VALUE = 7')
    script = tmp_path / 'script.py'
    script.write_text(
        'import sys, beside, dopamine.metrics.statistics_instance as s\n'
        'assert __name__ == "__main__"\n'
        'print(beside.VALUE, sys.argv, s.__name__)\n'
        'sys.exit(3)\n'
    )
    result = _alias(script, '--flag', 'x')
    assert result.returncode == 3, result.stderr
    expected = ['7', f'{[str(script), "--flag", "x"]}', 'dopamine_lite.metrics.statistics_instance']
    assert result.stdout.split('\n')[0] == ' '.join(expected)


_AGENT = """
import tensorflow as tf
from dopamine.agents.dqn import dqn_agent
class Agent(dqn_agent.DQNAgent):
    def {}
Agent(None, 2)
"""


@pytest.mark.parametrize(
    ('program', 'advice'),
    [
        ('import tensorflow as tf\ntf.placeholder(tf.float32)', 'tf.placeholder is TensorFlow 1'),
        (
            'import tensorflow as tf\ntf.train.RMSPropOptimizer(0.1)',
            'tf.train.RMSPropOptimizer is TensorFlow 1',
        ),
        ('import tensorflow.contrib.slim as slim', 'tf.contrib is gone since TensorFlow 2'),
        ('import tf_slim as slim', 'tf.contrib is gone since TensorFlow 2'),
        ('import gym', 'write `import gymnasium as gym`'),
        # What passes a configurable of gin has lost all but its text.
        (
            _AGENT.format('_build_train_op(self): tf.placeholder(tf.float32, ())'),
            'tf.placeholder is TensorFlow 1: write `import tensorflow.compat.v1 as tf`',
        ),
        (
            _AGENT.format('_create_network(self, name): return tf.contrib.slim'),
            'tf.contrib is gone since TensorFlow 2',
        ),
        (
            _AGENT.format('_build_train_op(self): tf.losses.huber_loss(1, 2)'),
            'tf.losses.huber_loss is TensorFlow 1',
        ),
        (
            _AGENT.format('_build_train_op(self): tf.reduce_sum([1.0], reduction_indices=0)'),
            'reduction_indices is TensorFlow 1',
        ),
        (
            _AGENT.format('_build_networks(self): self.network(2, object, self.state_ph)'),
            'networks are Keras classes since Dopamine 3',
        ),
        ('sess = None\nsess.run(1)', 'agents are made with sess=None since Dopamine 4.0.4'),
        (
            'def _run_train_phase(): return 1, 2.0, 3.0\nn, mean = _run_train_phase()',
            '_run_train_phase returns (episodes, mean return, agent steps a second) since',
        ),
    ],
)
def test_programs_that_cannot_run_end_with_what_to_change(
    tmp_path, program, advice, alias, monkeypatch, capsys
):
    script = tmp_path / 'script.py'
    script.write_text(program)
    monkeypatch.setattr(sys, 'argv', list(sys.argv))
    monkeypatch.setattr(sys, 'path', list(sys.path))
    assert alias.main([str(script)]) == 1
    error = capsys.readouterr().err
    assert 'Traceback' in error  # where it happened stays visible
    assert advice in error.strip().split('\n')[-1]


def test_errors_of_the_program_itself_are_pythons(tmp_path, alias, monkeypatch):
    script = tmp_path / 'script.py'
    script.write_text('raise ZeroDivisionError("mine")')
    monkeypatch.setattr(sys, 'argv', list(sys.argv))
    monkeypatch.setattr(sys, 'path', list(sys.path))
    with pytest.raises(ZeroDivisionError, match='mine'):
        alias.main([str(script)])


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        ((), 'usage: python -m dopamine_lite.compat.dopamine_alias'),
        (('-m',), '-m needs the name of a module'),
        (('nope.py',), 'no such file: nope.py'),
        (('-m', 'dopamine.nope'), 'No module named'),
    ],
)
def test_a_wrong_command_is_refused(arguments, message):
    result = _alias(*arguments)
    assert result.returncode != 0
    assert message in result.stderr
