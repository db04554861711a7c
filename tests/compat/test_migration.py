"""Each row of the migration table does what it says."""

import warnings

import gin
import pytest

from dopamine_lite import compat
from dopamine_lite.compat import dopamine_alias, migration
from dopamine_lite.discrete_domains import run_experiment  # noqa: F401  (registers everything)


@pytest.fixture(autouse=True)
def _installed():
    compat.install()
    yield
    dopamine_alias.uninstall()


def _run(row):
    if row.python:
        exec(row.python, {'__name__': 'program'})
    if row.gin:
        gin.parse_config(row.gin)


@pytest.mark.parametrize('row', migration.ROWS, ids=lambda row: f'{row.era}: {row.what}')
def test_each_row_does_what_it_says(row):
    assert row.python or row.gin
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter('always')
        if row.outcome == migration.REFUSED:
            with pytest.raises(Exception) as error:  # noqa: PT011
                _run(row)
            assert row.says and row.says in str(error.value)
            return
        _run(row)
    ours = [w for w in caught if issubclass(w.category, compat.CompatibilityWarning)]
    if row.outcome == migration.UNCHANGED:
        assert not ours
    else:
        assert row.outcome == migration.TRANSLATED
        assert row.says and row.says in str(ours[0].message)


def test_the_table_has_a_line_for_each_row():
    lines = migration.table().split('\n')
    assert len(lines) == 2 + len(migration.ROWS)
    assert {line.count('|') for line in lines} == {5}
