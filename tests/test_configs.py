"""Every binding of Dopamine's gin files is in ours, and no other."""

import csv
from pathlib import Path

import pytest

CONFIGS = Path(__file__).parents[1] / 'configs'
TABLE = Path(__file__).parent / 'testdata' / 'gin_bindings.tsv'


def expected_bindings():
    """Returns, for each file, Dopamine's (binding, value) pairs with our package's name."""
    files = {}
    with TABLE.open(newline='') as table:
        for row in csv.DictReader(table, delimiter='\t', quoting=csv.QUOTE_NONE):
            binding, value = row['binding'], row['value']
            if binding == 'import' and value.startswith('dopamine.'):
                value = value.replace('dopamine.', 'dopamine_lite.', 1)
            files.setdefault(row['file'], []).append((binding, value))
    return files


def written_bindings(text):
    """Returns the (binding, value) pairs of a gin text that has one statement a line."""
    bindings = []
    for line in text.splitlines():
        statement = line.partition('#')[0].strip()
        if statement.startswith('import '):
            bindings.append(('import', statement.removeprefix('import ').strip()))
        elif statement:
            binding, equals, value = statement.partition('=')
            assert equals, f'not a statement: {line!r}'
            bindings.append((binding.strip(), value.strip()))
    return bindings


EXPECTED = expected_bindings()


def test_the_table_holds_the_21_files():
    assert len(EXPECTED) == 21


@pytest.mark.parametrize('name', sorted(EXPECTED))
def test_bindings_equal_dopamines(name):
    text = (CONFIGS / name).read_text(encoding='utf-8')
    assert sorted(written_bindings(text)) == sorted(EXPECTED[name])
    assert text.startswith('# ')  # what it is, and from which paper
