"""What to change in a program written for an older Dopamine or TensorFlow that fails today."""

from __future__ import annotations

import functools
import re
import sys
import traceback

from dopamine_lite.compat import runner as old_runner


def explain(error: BaseException) -> str | None:
    """One line on what to change, for the failures that old programs have today.

    Judges by the text of the error: gin puts exceptions of its own in the place of those that pass a
    configurable, as everything does that a hook of an agent or a runner raises.
    """
    text = str(error)
    if isinstance(error, ValueError) and 'to unpack' in text:
        if '_run_train_phase(' in (traceback.extract_tb(error.__traceback__)[-1].line or ''):
            return (
                '_run_train_phase returns (episodes, mean return, agent steps a second) since '
                'Dopamine 3.1: unpack three values'
            )
    if isinstance(error, ImportError):
        return _explain_import(text)
    if isinstance(error, TypeError):
        return _explain_call(error, text)
    if not isinstance(error, AttributeError):
        return None
    if old_runner.is_about_no_session(error):
        return (
            'agents are made with sess=None since Dopamine 4.0.4: write `if sess is None: sess = '
            'tf.compat.v1.Session()`'
        )
    missing = re.search(r"module '([\w.]+)' has no attribute '(\w+)'", text)
    return _explain_tensorflow_1(missing[1], missing[2]) if missing else None


_NO_CONTRIB = (
    'tf.contrib is gone since TensorFlow 2: use tf.compat.v1.layers or Keras layers '
    '(slim.conv2d -> tf.compat.v1.layers.conv2d, slim.fully_connected -> '
    'tf.compat.v1.layers.dense)'
)
_TENSORFLOW_1 = 'write `import tensorflow.compat.v1 as tf` instead of `import tensorflow as tf`'


def _explain_import(text: str) -> str | None:
    missing = re.search(r"No module named '([\w.]+)'", text)
    name = missing[1] if missing else ''
    if name.startswith(('tensorflow.contrib', 'tf_slim')):
        return _NO_CONTRIB
    if name.split('.')[0] == 'gym':
        return (
            'the package gym is no longer maintained: write `import gymnasium as gym`, whose reset '
            'returns (observation, info) and whose step returns five values'
        )
    return None


def _explain_call(error: TypeError, text: str) -> str | None:
    old = re.search(r"unexpected keyword argument '(reduction_indices|keep_dims)'", text)
    if old:
        return f'{old[1]} is TensorFlow 1: {_TENSORFLOW_1}'
    lines = [frame.line or '' for frame in traceback.extract_tb(error.__traceback__)]
    if 'positional argument' in text and any('self.network(' in line for line in lines):
        return (
            'networks are Keras classes since Dopamine 3, made by self._create_network(name) and '
            'then called with a state: pass a function (num_actions, network_type, state) as '
            '`network=`, or write network(state)'
        )
    return None


def _explain_tensorflow_1(module: str, name: str) -> str | None:
    """Says how to reach a name that TensorFlow has only under `tf.compat.v1`."""
    if name == 'contrib':
        return _NO_CONTRIB
    parts = re.fullmatch(
        r'(?:tensorflow(?:\._api\.v2)?|tf_keras\.api\._v2\.keras)((?:\.\w+)*)', module
    )
    tensorflow = sys.modules.get('tensorflow')
    if parts is None or tensorflow is None:
        return None
    path = [*parts[1].split('.')[1:], name]
    try:
        functools.reduce(getattr, path, tensorflow.compat.v1)
    except AttributeError:
        return None
    return f'tf.{".".join(path)} is TensorFlow 1: {_TENSORFLOW_1}'
