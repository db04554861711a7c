"""The package as a whole: what importing it loads, and that it has every name of Dopamine's."""

import ast
import dataclasses
import importlib
import inspect
import json
import os
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import gin
import pytest
import tensorflow as tf

import dopamine_lite
from dopamine_lite.discrete_domains import run_experiment

API = Path(__file__).parent / 'testdata' / 'api.txt'

# (owner, parameter) -> why its default is not Dopamine's.
OTHER_DEFAULTS = {
    ('DQNAgent', 'optimizer'): 'None stands for an own optimizer, instead of one that all share',
    ('RainbowAgent', 'optimizer'): 'as for DQNAgent',
}


def run_python(code):
    """Runs code in a process of its own; returns what it printed last, read as JSON."""
    result = subprocess.run(
        [sys.executable, '-c', code],
        capture_output=True,
        text=True,
        env={**os.environ, 'TF_CPP_MIN_LOG_LEVEL': '3'},
    )
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout.splitlines()[-1])


def module_names():
    walk = pkgutil.walk_packages(dopamine_lite.__path__, 'dopamine_lite.')
    return [module.name for module in walk]


# What importing loads.


def test_importing_the_package_loads_nothing_slow():
    loaded = run_python(
        'import dopamine_lite, json, sys; '
        'print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))'
    )
    slow = {'tensorflow', 'keras', 'tf_keras', 'cv2', 'matplotlib', 'numba', 'gymnasium', 'ale_py'}
    assert not slow & set(loaded)
    assert 'dopamine_lite' in loaded


def test_kernels_import_only_numpy_and_numba():
    loaded = run_python(
        'import json, sys; import dopamine_lite.tf.replay_memory.kernels; '
        'print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))'
    )
    assert not {'tensorflow', 'cv2', 'matplotlib', 'gymnasium'} & set(loaded)


def test_no_dead_or_optional_package_is_imported():
    loaded = run_python(
        'import json, sys; import dopamine_lite.discrete_domains.run_experiment; '
        'print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))'
    )
    unwanted = {'gym', 'baselines', 'jax', 'flax', 'tf_slim', 'torch', 'matplotlib', 'wandb'}
    assert not unwanted & set(loaded)


@pytest.mark.parametrize('name', module_names())
def test_every_module_imports(name):
    assert importlib.import_module(name).__name__ == name


# Names and signatures.


class Unknown:
    """A default that the list gives only in words."""

    def __init__(self, text):
        self.text = text


@dataclasses.dataclass
class Entry:
    module: str
    owner: str | None  # the class of a method
    kind: str  # class, def, property, constant, namedtuple
    name: str
    detail: str  # parameters, value, or fields
    base: str | None = None


def read_api():
    """Returns (the entries, the gin selectors, the gin constants) of the list."""
    entries, selectors, constants = [], [], []
    module = owner = section = None
    for line in API.read_text(encoding='utf-8').splitlines():
        if line.startswith('## '):
            section = 'selectors' if 'selectors' in line else None
            section = 'constants' if line.startswith('## gin constants') else section
            module, owner = line.split()[1].replace('dopamine.', 'dopamine_lite.', 1), None
        elif not line.strip():
            continue
        elif section == 'selectors':
            selectors.append(line.strip().replace('dopamine.', 'dopamine_lite.', 1))
        elif section == 'constants':
            constants.append(tuple(line.strip().lstrip('%').split(' = ')))
        elif match := re.fullmatch(r'class (\w+)\((\w*)\) init\((.*)\)', line):
            owner, base, detail = match.groups()
            entries.append(Entry(module, None, 'class', owner, detail, base))
        elif match := re.fullmatch(r'def (\w+)\((.*)\)', line):
            entries.append(Entry(module, None, 'def', match[1], match[2]))
        elif match := re.fullmatch(r'    (\w+)  \[property\]', line):
            entries.append(Entry(module, owner, 'property', match[1], ''))
        elif match := re.fullmatch(r'    (\w+)\((.*)\)', line):
            entries.append(Entry(module, owner, 'def', match[1], match[2]))
        elif match := re.fullmatch(r'(\w+) = namedtuple \w+\((.*)\)', line):
            entries.append(Entry(module, None, 'namedtuple', match[1], match[2]))
        elif match := re.fullmatch(r'(\w+) = (.*)', line):
            entries.append(Entry(module, None, 'constant', match[1], match[2]))
        else:
            raise AssertionError(f'cannot read this line of {API.name}: {line!r}')
    return entries, selectors, constants


ENTRIES, SELECTORS, CONSTANTS = read_api()


def listed_parameters(text):
    """Returns (name, kind, default) of each parameter; no default is `inspect.Parameter.empty`."""
    # `<numpy.uint8>` stands for an object, `tf.uint8` for itself.
    words = re.sub(r'<([^>]*)>', lambda match: repr('<' + match[1]), text)
    arguments = ast.parse(f'def f({words}): pass').body[0].args
    positional = [*arguments.posonlyargs, *arguments.args]
    missing = [inspect.Parameter.empty] * (len(positional) - len(arguments.defaults))
    parameters = [
        (argument.arg, 'positional', default)
        for argument, default in zip(positional, missing + arguments.defaults, strict=True)
    ]
    if arguments.vararg:
        parameters.append((arguments.vararg.arg, '*', inspect.Parameter.empty))
    parameters += [
        (argument.arg, 'keyword', default)
        for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    ]
    return [(name, kind, _value(default)) for name, kind, default in parameters]


def _value(default):
    if default is inspect.Parameter.empty:
        return default
    try:
        value = ast.literal_eval(default)
    except ValueError:
        return Unknown(ast.unparse(default))
    return Unknown(value[1:]) if isinstance(value, str) and value.startswith('<') else value


def same_default(ours, theirs):
    if not isinstance(theirs, Unknown):
        return type(ours) is type(theirs) and ours == theirs or ours == theirs
    if theirs.text.startswith('tf.'):
        return ours == getattr(tf, theirs.text.removeprefix('tf.'))
    # A class or a function: `legacy_networks.NatureDQNNetwork`, `numpy.uint8`.
    return getattr(ours, '__name__', None) == theirs.text.rpartition('.')[2]


def differences(listed, function, owner):
    """Returns in what a function cannot be called as the list says."""
    kinds = inspect.Parameter
    ours = list(inspect.signature(function).parameters.values())
    positional = [p for p in ours if p.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)]
    by_name = {p.name: p for p in ours}
    found = []
    for place, (name, kind, default) in enumerate(listed):
        parameter = by_name.get(name)
        if parameter is None:
            found.append(f'no parameter {name}')
            continue
        if kind == 'positional' and (place >= len(positional) or positional[place] != parameter):
            found.append(f'{name} is not at place {place}')
        if kind == '*' and parameter.kind is not kinds.VAR_POSITIONAL:
            found.append(f'*{name} is {parameter.kind}')
        if (owner, name) in OTHER_DEFAULTS:
            assert not same_default(parameter.default, default), f'{owner}.{name} is no exception'
            continue
        if default is kinds.empty:
            continue  # one that is required there may have a default here
        if parameter.default is kinds.empty or not same_default(parameter.default, default):
            wanted = default.text if isinstance(default, Unknown) else repr(default)
            found.append(f'{name} = {parameter.default!r}, not {wanted}')
    names = {name for name, _, _ in listed}
    for parameter in ours:
        variable = parameter.kind in (kinds.VAR_POSITIONAL, kinds.VAR_KEYWORD)
        if parameter.name not in names and not variable and parameter.default is kinds.empty:
            found.append(f'{parameter.name} is required')
    return found


def label(entry):
    return '.'.join(
        part
        for part in (entry.module.removeprefix('dopamine_lite.'), entry.owner, entry.name)
        if part
    )


@pytest.mark.parametrize('entry', ENTRIES, ids=label)
def test_name_of_dopamine(entry):
    module = importlib.import_module(entry.module)
    holder = module if entry.owner is None else getattr(module, entry.owner)
    assert hasattr(holder, entry.name), f'{holder.__name__} has no {entry.name}'
    ours = getattr(holder, entry.name)
    if entry.kind == 'property':
        assert isinstance(inspect.getattr_static(holder, entry.name), property)
    elif entry.kind == 'namedtuple':
        assert issubclass(ours, tuple)
        assert ours._fields == tuple(re.findall(r"'(\w+)'", entry.detail))
    elif entry.kind == 'constant':
        check_constant(ours, entry.detail)
    elif entry.kind == 'class':
        assert inspect.isclass(ours)
        if entry.base:
            assert entry.base in [cls.__name__ for cls in ours.__mro__]
        assert differences(listed_parameters(entry.detail), ours.__init__, entry.name) == []
    else:
        owner = entry.owner and f'{entry.owner}.{entry.name}'
        assert differences(listed_parameters(entry.detail), ours, owner) == []


def check_constant(ours, text):
    """Compares a constant with the text it has in the list, which is cut short where it is long."""
    if text.startswith('array('):
        listed = ast.literal_eval(re.sub(r'\s+', '', text[len('array(') : -1]))
        assert ours.tolist() == pytest.approx(listed, abs=1e-8)
    elif text.startswith('tf.'):
        assert ours == getattr(tf, text.removeprefix('tf.'))
    elif text.endswith('...'):
        if text.startswith('{'):
            keys = re.findall(r"'(\w+)':", text)
            assert set(keys) <= set(ours)
        else:
            assert repr(ours).startswith(text.removesuffix('...'))
    else:
        assert ours == ast.literal_eval(text)


# gin.


@pytest.fixture(scope='module')
def registered():
    """The selectors that the command line knows, before a gin file imports anything."""
    return run_python(
        'import json; import dopamine_lite.discrete_domains.run_experiment; import gin; '
        'print(json.dumps([name for name, _ in gin.config._REGISTRY.items()]))'
    )


@pytest.mark.parametrize('selector', SELECTORS)
def test_selector_is_registered_once(registered, selector):
    if selector.startswith('dopamine_lite.utils.'):
        importlib.import_module(selector.rpartition('.')[0])
        known = [name for name, _ in gin.config._REGISTRY.items()]
    else:
        known = registered
    assert selector in known
    module, _, name = selector.rpartition('.')
    suffix = f'{module.rpartition(".")[2]}.{name}'  # as gin files spell it
    ending = [s for s in known if s == suffix or s.endswith(f'.{suffix}')]
    assert ending == [selector]
    assert [s for s in known if s.rpartition('.')[2] == name] == [selector]


@gin.configurable(module='test_package')
def taken(value=None):
    return value


@pytest.mark.parametrize('name, text', CONSTANTS)
def test_gin_constant(name, text):
    assert run_experiment.gym_lib  # has defined them
    gin.parse_config(f'taken.value = %{name}')
    if text.startswith('tf.'):
        assert taken() == getattr(tf, text.removeprefix('tf.'))
    else:
        assert taken() == ast.literal_eval(text)
