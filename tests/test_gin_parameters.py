"""The committed table of gin parameters is what the code gives."""

import importlib.util
import inspect
import sys
from pathlib import Path

import gin
import pytest

DOCS = Path(__file__).parents[1] / 'docs'


@pytest.fixture(scope='module')
def program():
    spec = importlib.util.spec_from_file_location('gin_parameters', DOCS / 'gin_parameters.py')
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_table_is_up_to_date(program):
    committed = (DOCS / 'gin_parameters.md').read_text(encoding='utf-8')
    assert committed == program.generate(), 'run python docs/gin_parameters.py'


def test_every_parameter_is_in_it(program):
    """Of everything that is registered, whatever the sections say."""
    committed = (DOCS / 'gin_parameters.md').read_text(encoding='utf-8')
    tables = {part.split('\n')[0]: part for part in committed.split('\n### ')[1:]}
    checked = 0
    for selector, configurable in gin.config._REGISTRY.items():
        if not selector.startswith('dopamine_lite.') or '.utils.' in selector:
            continue
        if selector.rpartition('.')[0] not in sys.modules:  # another test's
            continue
        for parameter in inspect.signature(configurable.wrapper).parameters.values():
            if parameter.default is not parameter.empty and parameter.name != 'name':
                assert f'\n| `{parameter.name}` |' in tables[configurable.name]
                checked += 1
    assert checked > 150


@pytest.mark.parametrize('table', ['UNITS', 'PAPER_VALUES', 'OTHER_WORDS'])
def test_what_does_not_exist_is_named(program, monkeypatch, table):
    monkeypatch.setitem(getattr(program, table), 'DQNAgent.gama', '1')
    with pytest.raises(ValueError, match=r"no parameters \['DQNAgent\.gama'\]"):
        program.generate()
