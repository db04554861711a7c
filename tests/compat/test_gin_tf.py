"""The stand-in for gin.tf registers what the real module would, once."""

import sys
import types

import gin
import pytest
import tensorflow as tf
from gin import config

from dopamine_lite.compat import gin_tf


@pytest.fixture(autouse=True)
def _imported():
    gin.parse_config('import gin.tf.external_configurables')


def test_a_gin_file_configures_optimizers_of_graph_mode():
    gin.parse_config(
        """
        tf.train.AdamOptimizer.learning_rate = 0.5
        slow/tf.train.AdamOptimizer.learning_rate = 0.25
        tf.train.RMSPropOptimizer.learning_rate = 0.125
        """
    )
    adam = gin.get_configurable('tf.train.AdamOptimizer')()
    assert type(adam) is tf.compat.v1.train.AdamOptimizer and adam._lr == 0.5
    assert gin.get_configurable('slow/tf.train.AdamOptimizer')()._lr == 0.25
    rmsprop = gin.get_configurable('RMSPropOptimizer')()
    assert type(rmsprop) is tf.compat.v1.train.RMSPropOptimizer
    assert rmsprop._learning_rate == 0.125


def test_keras_optimizers_are_those_of_keras_2():
    adam = gin.get_configurable('tf.keras.optimizers.Adam')(learning_rate=0.5)
    assert type(adam).__module__.startswith('tf_keras.')


@pytest.mark.parametrize('name', gin_tf._TYPES)
def test_types_are_constants(name):
    gin.parse_config(f'x = %tf.{name}')
    assert gin.query_parameter(f'tf.{name}') is getattr(tf, name)


@pytest.mark.parametrize(
    'selector',
    [f'{row[1]}.{name}' for row in gin_tf._CONFIGURABLES for name in row[2].split()],
)
def test_every_name_of_the_table_is_registered_once(selector):
    assert config._REGISTRY.matching_selectors(selector) == [selector]


def test_a_schedule_takes_its_boundaries_from_gin():
    gin.parse_config(
        """
        tf.train.piecewise_constant.boundaries = [10, 20]
        tf.train.piecewise_constant.values = [1.0, 0.5, 0.25]
        """
    )
    rate = gin.get_configurable('tf.train.piecewise_constant')
    steps = [tf.constant(step, tf.int64) for step in (10, 11, 21)]
    with tf.compat.v1.Session() as sess:
        assert sess.run([rate(step) for step in steps]) == [1.0, 0.5, 0.25]


def test_registering_again_after_the_constants_were_cleared_is_fine():
    constants = config._CONSTANTS.copy()
    try:
        gin.clear_config(clear_constants=True)
        with pytest.raises(ValueError, match="No configurable matching 'tf'"):
            gin.query_parameter('tf.float32')
        gin_tf._register()
        assert gin.query_parameter('tf.float32') is tf.float32
        assert len(config._REGISTRY.matching_selectors('AdamOptimizer')) == 1
    finally:
        config._CONSTANTS.clear()
        for name, value in constants.items():
            config._CONSTANTS[name] = value


def test_installing_again_changes_nothing_and_the_real_module_stays(monkeypatch):
    finders = list(sys.meta_path)
    gin_tf.install()
    assert sys.meta_path == finders
    monkeypatch.setitem(sys.modules, 'gin.tf', types.ModuleType('gin.tf'))
    finder = next(f for f in finders if isinstance(f, gin_tf._Finder))
    assert finder.find_spec('gin.tf.external_configurables') is None
    assert finder.find_spec('gin.torch') is None
