"""Gin files by their bare names, from any working directory."""

import logging

import gin
import pytest

from dopamine_lite import packaged_configs


@pytest.fixture
def searched(monkeypatch):
    """Gin's search paths as in a fresh process."""
    monkeypatch.setattr(gin.config, '_LOCATION_PREFIXES', [''])
    packaged_configs.install_search_path.cache_clear()
    packaged_configs.install_search_path()
    yield
    packaged_configs.install_search_path.cache_clear()


@pytest.fixture
def package(monkeypatch, tmp_path):
    """A package with a file of its own, and the place beside it."""
    folder = tmp_path / 'dopamine_lite'
    (folder / 'configs' / 'minatar').mkdir(parents=True)
    (folder / 'configs' / 'minatar' / 'one.gin').write_text('probe = 1\n')
    (folder / 'configs' / 'two.gin').write_text('probe = 2\n')
    (folder / 'configs' / 'notes.txt').write_text('')
    monkeypatch.setattr(packaged_configs, '_PACKAGE', folder)
    return folder


def test_the_checkouts_files_are_found_where_none_are_installed(monkeypatch, package, tmp_path):
    assert packaged_configs.directory() == package / 'configs'
    (package / 'configs').rename(tmp_path / 'configs')
    assert packaged_configs.directory() == tmp_path / 'configs'


def test_names_are_relative_paths(package):
    assert packaged_configs.names() == ['minatar/one.gin', 'two.gin']


def test_a_file_is_found_by_its_name_or_not_at_all(package):
    assert packaged_configs.find('two.gin') == str(package / 'configs' / 'two.gin')
    assert packaged_configs.find('minatar/one.gin') == str(package / 'configs/minatar/one.gin')
    assert packaged_configs.find('one.gin') is None
    assert packaged_configs.find('minatar') is None


def test_the_packages_own_files_are_there():
    assert {'dqn.gin', 'rainbow.gin', 'c51_cartpole.gin'} <= set(packaged_configs.names())


def test_a_bare_name_is_found_and_an_existing_path_wins(package, searched, monkeypatch, tmp_path):
    elsewhere = tmp_path / 'elsewhere'
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    gin.parse_config_file('minatar/one.gin')
    assert gin.query_parameter('probe/macro.value') == 1
    gin.parse_config_file('two.gin')
    assert gin.query_parameter('probe/macro.value') == 2
    (elsewhere / 'two.gin').write_text('probe = 3\n')
    gin.parse_config_file('two.gin')
    assert gin.query_parameter('probe/macro.value') == 3
    with pytest.raises(OSError, match='three.gin'):
        gin.parse_config_file('three.gin')


def test_the_search_logs_no_error_but_others_are_logged(package, searched, caplog):
    gin.parse_config_file('two.gin')
    assert caplog.messages == []
    logging.error('something else')
    assert caplog.messages == ['something else']


def test_the_search_path_is_added_once(package, searched):
    packaged_configs.install_search_path()
    assert gin.config._LOCATION_PREFIXES == ['', str(package / 'configs')]
