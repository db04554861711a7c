"""A runner built with the arguments of Dopamine 1."""

import inspect
import warnings
from unittest import mock

import gin
import pytest
import tensorflow as tf

from dopamine_lite import compat
from dopamine_lite.compat import runner
from dopamine_lite.discrete_domains import atari_lib, run_experiment


@gin.configurable
class OldRunner:
    @runner.accept_old_arguments
    def __init__(self, base_dir, create_agent_fn, create_environment_fn='default', steps=3):
        self.given = (base_dir, create_agent_fn, create_environment_fn, steps)


def modern(sess, environment, summary_writer=None):
    return 'modern', sess, environment, summary_writer


def two_arguments(sess, environment):
    return 'old', sess, environment


def test_modern_arguments_pass_through_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        assert OldRunner('d', modern, 'env', 5).given == ('d', modern, 'env', 5)
        assert OldRunner('d', create_agent_fn=modern).given == ('d', modern, 'default', 3)
        mocked = mock.Mock()
        assert OldRunner('d', mocked).given[1] is mocked


def test_gin_still_knows_the_parameters():
    gin.bind_parameter('OldRunner.steps', 7)
    assert OldRunner('d', modern).given[3] == 7
    with pytest.raises(ValueError, match="doesn't have a parameter named 'nope'"):
        gin.bind_parameter('OldRunner.nope', 7)
    assert list(inspect.signature(run_experiment.Runner).parameters)[:3] == [
        'base_dir',
        'create_agent_fn',
        'create_environment_fn',
    ]


def test_a_function_of_two_arguments_makes_the_agent():
    with pytest.warns(compat.CompatibilityWarning, match='summary_writer=None'):
        create = OldRunner('d', two_arguments).given[1]
    name, sess, environment = create(None, 'env', summary_writer='d')
    assert (name, environment) == ('old', 'env')
    assert isinstance(sess, tf.compat.v1.Session)
    assert create('session', 'env')[1] == 'session'


def test_game_name_and_sticky_actions_go_to_the_environment(monkeypatch):
    made = mock.Mock()
    monkeypatch.setattr(atari_lib, 'create_atari_environment', made)
    with pytest.warns(compat.CompatibilityWarning, match="create_atari_environment, game_name='Po"):
        create = OldRunner('d', modern, game_name='Pong', steps=4).given[2]
    create()
    made.assert_called_once_with(game_name='Pong')


def test_an_own_environment_function_gets_both_by_position():
    own = mock.Mock()
    with pytest.warns(compat.CompatibilityWarning):
        OldRunner('d', modern, own, game_name='Pong', sticky_actions=False).given[2]()
    own.assert_called_once_with('Pong', False)
