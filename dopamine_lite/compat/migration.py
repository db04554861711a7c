"""What becomes of code that was written for Dopamine: one table, for readers and for the tests.

`python -m dopamine_lite.compat.migration` prints it in Markdown. Each row has an example, Python or
gin, that the tests run: an unchanged one without a warning, a translated one with a
`CompatibilityWarning`, a refused one with an error that says what to change.
"""

from __future__ import annotations

import dataclasses

UNCHANGED = 'unchanged'
TRANSLATED = 'translated, with a warning'
REFUSED = 'refused, with what to do'


@dataclasses.dataclass(frozen=True)
class Row:
    """What was written, in which versions of Dopamine, and what happens to it here.

    Attributes:
        era: the versions that have it.
        what: what it is.
        outcome: `UNCHANGED`, `TRANSLATED` or `REFUSED`.
        today: how it is written today, or what is done about it.
        python: an example as a program, or empty.
        gin: an example as gin text, or empty.
        says: what the warning or the error has to say, as a part of its text.
    """

    era: str
    what: str
    outcome: str
    today: str
    python: str = ''
    gin: str = ''
    says: str = ''


ROWS = (
    Row(
        'all',
        '`import dopamine...`, in a program started by the alias, and in gin files',
        UNCHANGED,
        'the module of `dopamine_lite` itself',
        python='import dopamine.discrete_domains.run_experiment',
        gin='import dopamine.discrete_domains.run_experiment',
    ),
    Row(
        '1.0 to 4.0',
        '`dopamine.agents.*`, `dopamine.replay_memory.*`',
        UNCHANGED,
        '`dopamine.tf.agents.*`, `dopamine.tf.replay_memory.*`',
        python='from dopamine.replay_memory.sum_tree import SumTree; SumTree(4)',
        gin='dopamine.agents.dqn.dqn_agent.DQNAgent.gamma = 0.9',
    ),
    Row(
        '1.x',
        '`dopamine.atari.*`, `dopamine.common.*`',
        UNCHANGED,
        '`dopamine.discrete_domains.*`',
        python='from dopamine.atari import run_experiment; run_experiment.Runner',
        gin='dopamine.atari.run_experiment.Runner.num_iterations = 3',
    ),
    Row(
        '1.x',
        '`Runner.game_name`, `Runner.sticky_actions`, in gin and as arguments',
        TRANSLATED,
        '`create_atari_environment.game_name`, `create_atari_environment.sticky_actions`',
        gin="Runner.game_name = 'Pong'",
        says='write create_atari_environment.game_name',
    ),
    Row(
        '1.x',
        '`create_agent_fn(sess, environment)`',
        TRANSLATED,
        '`create_agent_fn(sess, environment, summary_writer=None)`',
        python=(
            'from dopamine_lite.compat import runner\n'
            'class R:\n'
            '    @runner.accept_old_arguments\n'
            '    def __init__(self, create_agent_fn): pass\n'
            'R(lambda sess, environment: None)'
        ),
        says='summary_writer=None',
    ),
    Row(
        '1.x',
        'flags `--agent_name`, `--schedule`, `--debug_mode` of `dopamine.atari.train`',
        TRANSLATED,
        '`--gin_bindings="create_agent.agent_name = \'dqn\'"` and so on',
        python=(
            'from dopamine_lite.compat import atari_train\n'
            "assert atari_train.modern_arguments(['--agent_name=dqn']) == "
            '["--gin_bindings=create_agent.agent_name = \'dqn\'"]'
        ),
        says='--gin_bindings="create_agent.agent_name',
    ),
    Row(
        '1.x',
        '`dqn_agent.OBSERVATION_SHAPE`, `dqn_agent.STACK_SIZE`',
        TRANSLATED,
        '`NATURE_DQN_OBSERVATION_SHAPE`, `NATURE_DQN_STACK_SIZE`',
        python='from dopamine.agents.dqn import dqn_agent; dqn_agent.STACK_SIZE',
        says='NATURE_DQN_STACK_SIZE',
    ),
    Row(
        '1.x to 4.0.2',
        '`CHECKPOINT_DURATION`, `MAX_SAMPLE_ATTEMPTS` of the replay, the checkpointer, the logger',
        TRANSLATED,
        'the arguments `checkpoint_duration`, `logs_duration`, `max_sample_attempts`',
        python='from dopamine.common import checkpointer; checkpointer.CHECKPOINT_DURATION',
        says='checkpoint_duration',
    ),
    Row(
        '1.x to 3.1',
        '`@gin.configurable(blacklist=[...])`, `whitelist`, which gin-config has renamed',
        UNCHANGED,
        '`denylist`, `allowlist`',
        python='import gin\n@gin.configurable(blacklist=["a"])\ndef old_spelling(a=1, b=2): pass',
    ),
    Row(
        '2.x',
        '`_build_networks` overridden with `tf.make_template` and a function as `network`',
        UNCHANGED,
        '`_create_network(self, name)`',
        python=(
            'import collections\n'
            'from dopamine_lite.compat import networks\n'
            "types = collections.namedtuple('types', ['q_values'])\n"
            'def f(num_actions, network_type, state): return network_type(state)\n'
            'assert networks.adapt(f)(2, types, 3) == types(3)'
        ),
    ),
    Row(
        '1.x, 2.x',
        '`_network_template` and `_get_network_type` overridden in an agent, or used as inherited',
        REFUSED,
        '`network=` a Keras class or a function, or `_create_network(self, name)`',
        python=(
            'from dopamine.agents.dqn.dqn_agent import DQNAgent\n'
            'class A(DQNAgent):\n'
            '    def _network_template(self, state): pass\n'
            'A(None, 2)'
        ),
        says='override _create_network(self, name)',
    ),
    Row(
        '1.x, 2.x',
        '`tf.contrib` (slim) in a network',
        REFUSED,
        '`tf.compat.v1.layers` or Keras layers',
        python=(
            'import tensorflow as tf\n'
            'from dopamine_lite.compat import networks\n'
            'def f(num_actions, network_type, state):\n'
            '    return tf.contrib.slim.fully_connected(state, 2)\n'
            "networks.adapt(f)(2, name='Online')(None)"
        ),
        says='tf.compat.v1.layers',
    ),
    Row(
        '1.0 to 4.0.3',
        "agents of one's own on the session and the summary writer that the runner gives",
        UNCHANGED,
        'since then they get `sess=None` and a folder; those that need a session have one still',
        python=(
            'from dopamine_lite.compat import runner\n'
            'class A:\n'
            '    def __init__(self, sess): self._sess = sess\n'
            'def create_agent(sess, environment, summary_writer=None): return A(sess)\n'
            "runner.make_agent(create_agent, None, 'folder')._sess.graph"
        ),
    ),
    Row(
        '2.x',
        'networks as functions `(num_actions, network_type, state)`, Rainbow and IQN likewise',
        UNCHANGED,
        "adapted; a Keras class is today's form",
        gin='DQNAgent.network = @gym_lib.cartpole_dqn_network',
    ),
    Row(
        '1.0 to 4.0',
        "environments of one's own with the interface of the old gym",
        REFUSED,
        '`GymPreprocessing(environment, use_legacy_gym=True)`, `AtariPreprocessing` likewise',
        python=(
            'from dopamine.discrete_domains import gym_lib\n'
            'class Old:\n'
            '    def reset(self): return [0.0]\n'
            'gym_lib.GymPreprocessing(Old()).reset()'
        ),
        says='use_legacy_gym=True',
    ),
    Row(
        '3.0 to 4.1',
        'networks under `gym_lib` and `atari_lib`',
        UNCHANGED,
        '`legacy_networks`',
        gin='DQNAgent.network = @gym_lib.CartpoleDQNNetwork',
    ),
    Row(
        '3.x, 4.x',
        'networks as classes of `tf.keras`',
        UNCHANGED,
        'Keras 2, by the package tf-keras',
        python=(
            'import tensorflow as tf\n'
            'from dopamine_lite.compat import networks\n'
            'class Net(tf.keras.Model): pass\n'
            'assert networks.adapt(Net) is Net'
        ),
    ),
    Row(
        'none',
        'networks as classes of Keras 3',
        REFUSED,
        'import `dopamine_lite` before TensorFlow, or set `TF_USE_LEGACY_KERAS=1`',
        python=(
            'import keras\n'
            'from dopamine_lite.compat import networks\n'
            'class Net(keras.Model): pass\n'
            'networks.adapt(Net)'
        ),
        says='TF_USE_LEGACY_KERAS=1',
    ),
    Row(
        'all',
        "gin files by their paths in Dopamine's repository",
        UNCHANGED,
        'the packaged file of that name, where there is none on disk',
        gin="include 'dopamine/agents/dqn/configs/dqn_cartpole.gin'",
    ),
    Row(
        'all',
        '`import gin.tf.external_configurables`',
        UNCHANGED,
        'a stand-in, for the original no longer imports',
        gin='import gin.tf.external_configurables\ntf.train.AdamOptimizer.learning_rate = 0.1',
    ),
    Row(
        'forks',
        'parameters that neither Dopamine nor this package has',
        REFUSED,
        'bind them on the subclass that has them, or remove the line',
        gin='DQNAgent.double_dqn = True',
        says='remove the line',
    ),
    Row(
        '3.1 on',
        'JAX agents, PPO, SAC, Mujoco',
        REFUSED,
        'this is the TensorFlow path: DQN, C51, Rainbow, implicit quantiles',
        gin='JaxDQNAgent.gamma = 0.9',
        says='TensorFlow path',
    ),
    Row(
        'all',
        "files that hold objects of a program's own classes",
        REFUSED,
        '`dopamine_lite.compat.allow(MyClass)`',
        python=(
            'import fractions, pickle\n'
            'from dopamine_lite.compat import pickles\n'
            'pickles.loads(pickle.dumps(fractions.Fraction(1, 2)))'
        ),
        says='dopamine_lite.compat.allow(MyClass)',
    ),
)


def table() -> str:
    """The rows as a table in Markdown."""
    lines = ['| Dopamine | What | Outcome | Today |', '|---|---|---|---|']
    lines += [f'| {row.era} | {row.what} | {row.outcome} | {row.today} |' for row in ROWS]
    return '\n'.join(lines)


if __name__ == '__main__':
    print(table())
