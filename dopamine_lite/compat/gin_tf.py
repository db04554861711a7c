"""A stand-in for `gin.tf`, which gin files import and which no longer imports.

gin-config ships `gin.tf.external_configurables`, a module that makes TensorFlow's optimizers,
losses, schedules and types known to gin files. Its package needs `distutils` and `tf.estimator`,
which Python and TensorFlow have dropped. `install` puts a finder in front that serves both names
from the table below, under the same gin names, so `import gin.tf.external_configurables` works in
gin files and in programs. Nothing is registered, and no TensorFlow loaded, until it is imported.
"""

import functools
import importlib.abc
import importlib.machinery
import sys
import types
from typing import Any

# Where TensorFlow keeps the names -> (the gin module they are registered under, the names). The
# compat.v1 spellings matter: `tf.train.AdamOptimizer` of a gin file is a graph-mode optimizer.
_CONFIGURABLES = (
    (
        'compat.v1.train',
        'tf.train',
        'exponential_decay inverse_time_decay natural_exp_decay polynomial_decay '
        'GradientDescentOptimizer AdadeltaOptimizer AdagradOptimizer AdagradDAOptimizer '
        'MomentumOptimizer AdamOptimizer FtrlOptimizer ProximalGradientDescentOptimizer '
        'ProximalAdagradOptimizer RMSPropOptimizer',
    ),
    (
        'compat.v1.losses',
        'tf.losses',
        'absolute_difference cosine_distance hinge_loss huber_loss log_loss '
        'mean_pairwise_squared_error mean_squared_error sigmoid_cross_entropy '
        'softmax_cross_entropy sparse_softmax_cross_entropy',
    ),
    ('math', 'tf.math', 'squared_difference'),
    (
        'keras.optimizers',
        'tf.keras.optimizers',
        'Adadelta Adagrad Adam Adamax Ftrl Nadam RMSprop SGD',
    ),
    (
        'keras.optimizers.schedules',
        'tf.keras.optimizers.schedules',
        'ExponentialDecay PiecewiseConstantDecay PolynomialDecay InverseTimeDecay CosineDecay '
        'CosineDecayRestarts',
    ),
    (
        'nn',
        'tf.nn',
        'crelu dropout elu leaky_relu relu relu6 sigmoid softmax softplus softsign tanh',
    ),
    ('', 'tf', 'identity'),
    (
        'random',
        'tf.random',
        'gamma normal poisson truncated_normal uniform stateless_categorical stateless_normal '
        'stateless_truncated_normal stateless_uniform',
    ),
    ('compat.v1.random', 'tf.random', 'multinomial'),
    ('compat.v2.distribute', 'tf.compat.v2.distribute', 'MirroredStrategy'),
)

# Registered as %tf.float32 and so on.
_TYPES = (
    'float16 float32 float64 bfloat16 complex64 complex128 int8 uint8 uint16 int16 int32 int64 '
    'bool string qint8 quint8 qint16 quint16 qint32 resource variant'
).split()

_NAMES = ('gin.tf', 'gin.tf.external_configurables')


def install() -> None:
    """Makes `import gin.tf` and `import gin.tf.external_configurables` work; idempotent.

    Imports neither gin nor TensorFlow. Where the real `gin.tf` is imported already it stays.
    """
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds and loads the two modules of `_NAMES`."""

    def find_spec(self, fullname, path=None, target=None):
        if fullname not in _NAMES:
            return None
        if fullname != 'gin.tf' and not isinstance(_loader_of(sys.modules.get('gin.tf')), _Finder):
            return None  # the real package is in use
        return importlib.machinery.ModuleSpec(fullname, self, is_package=fullname == 'gin.tf')

    def create_module(self, spec):
        module = types.ModuleType(spec.name)
        module.__doc__ = 'Stand-in for the module of gin-config: see dopamine_lite.compat.gin_tf.'
        return module

    def exec_module(self, module):
        if module.__name__ != 'gin.tf':
            _register()


def _loader_of(module: Any) -> Any:
    return getattr(getattr(module, '__spec__', None), 'loader', None)


def _lookup(root: Any, path: str) -> Any:
    try:
        return functools.reduce(getattr, path.split('.') if path else (), root)
    except (AttributeError, ImportError):
        return None


def _register() -> None:
    """Registers with gin what the table names, TensorFlow still has and gin does not know yet."""
    import tensorflow as tf
    from gin import config

    for address, gin_module, names in _CONFIGURABLES:
        home = _lookup(tf, address)
        for name in names.split():
            value = getattr(home, name, None)
            if value is not None and not _is_registered(config, f'{gin_module}.{name}'):
                config.external_configurable(value, name, module=gin_module)

    if not _is_registered(config, 'tf.train.piecewise_constant'):
        config.external_configurable(
            _piecewise_constant(tf.compat.v1.train.piecewise_constant),
            'piecewise_constant',
            module='tf.train',
        )

    for name in _TYPES:
        value = getattr(tf, name, None)
        if value is not None and not config._CONSTANTS.matching_selectors(f'tf.{name}'):
            config.constant(f'tf.{name}', value)


def _is_registered(config: Any, selector: str) -> bool:
    return selector in config._REGISTRY


def _piecewise_constant(function: Any) -> Any:
    @functools.wraps(function)
    def piecewise_constant(x, boundaries, values, name=None):
        # Python ints become int32, which an int64 global step cannot be compared with.
        import numpy as np

        return function(x, list(np.int64(boundaries)), values, name)

    return piecewise_constant
