"""Value-based deep reinforcement learning in TensorFlow graph mode, mirroring Dopamine.

Importing this package loads no TensorFlow. It only prepares the process for it: the networks are
Keras 2 models, so `tf.keras` has to mean the `tf-keras` package, which TensorFlow decides by an
environment variable when it is first imported; and gin files may say `import
gin.tf.external_configurables`, a module that gin-config ships but that no longer imports.
"""

import os

os.environ.setdefault('TF_USE_LEGACY_KERAS', '1')

from dopamine_lite.compat import gin_tf

gin_tf.install()

__version__ = '0.1.0'
