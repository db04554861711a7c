"""What the commands share."""

import gc
import sys

import pytest

from dopamine_lite import console


@pytest.fixture
def _before_tensorflow(monkeypatch):
    monkeypatch.delitem(sys.modules, 'tensorflow')
    frozen = gc.get_freeze_count()
    yield
    if not frozen:
        gc.unfreeze()


@pytest.mark.usefixtures('_before_tensorflow')
def test_nothing_is_collected_during_the_import_nor_looked_at_after_it():
    with console._garbage_collector_paused():
        assert not gc.isenabled()
        made = [[] for _ in range(1000)]
    assert gc.isenabled()
    assert gc.get_freeze_count() >= len(made)


@pytest.mark.usefixtures('_before_tensorflow')
def test_an_import_that_fails_leaves_the_collector_as_it_was():
    with pytest.raises(ImportError):
        with console._garbage_collector_paused():
            raise ImportError
    assert gc.isenabled()
    gc.disable()
    try:
        with console._garbage_collector_paused():
            pass
        assert not gc.isenabled()  # the program's own choice
    finally:
        gc.enable()


def test_where_tensorflow_is_imported_already_nothing_is_frozen():
    before = gc.get_freeze_count()
    with console._garbage_collector_paused():
        assert gc.isenabled()
    assert gc.get_freeze_count() == before
