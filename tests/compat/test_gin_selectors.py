"""Selectors and parameters of every era resolve to the one configurable that is registered."""

import types

import gin
import pytest
from gin import config

from dopamine_lite import compat
from dopamine_lite.compat import gin_selectors
from dopamine_lite.discrete_domains import run_experiment  # noqa: F401  (registers everything)

DQN = 'dopamine_lite.tf.agents.dqn.dqn_agent.DQNAgent'
REPLAY = 'dopamine_lite.tf.replay_memory.circular_replay_buffer.WrappedReplayBuffer'
NETWORKS = 'dopamine_lite.discrete_domains.legacy_networks'
RUNNER = 'dopamine_lite.discrete_domains.run_experiment.Runner'

# What a gin file of some era says -> what is registered.
SELECTORS = {
    'DQNAgent': DQN,
    'dqn_agent.DQNAgent': DQN,
    'dopamine.tf.agents.dqn.dqn_agent.DQNAgent': DQN,
    'dopamine.agents.dqn.dqn_agent.DQNAgent': DQN,
    'agents.dqn.dqn_agent.DQNAgent': DQN,
    'dopamine_lite.tf.agents.dqn.dqn_agent.DQNAgent': DQN,
    'WrappedReplayBuffer': REPLAY,
    'circular_replay_buffer.WrappedReplayBuffer': REPLAY,
    'dopamine.replay_memory.circular_replay_buffer.WrappedReplayBuffer': REPLAY,
    'replay_memory.circular_replay_buffer.WrappedReplayBuffer': REPLAY,
    'gym_lib.CartpoleDQNNetwork': f'{NETWORKS}.CartpoleDQNNetwork',
    'dopamine.discrete_domains.gym_lib.CartpoleDQNNetwork': f'{NETWORKS}.CartpoleDQNNetwork',
    'legacy_networks.CartpoleDQNNetwork': f'{NETWORKS}.CartpoleDQNNetwork',
    'gym_lib.acrobot_rainbow_network': f'{NETWORKS}.acrobot_rainbow_network',
    'atari_lib.maybe_transform_variable_names': f'{NETWORKS}.maybe_transform_variable_names',
    'Runner': RUNNER,
    'run_experiment.Runner': RUNNER,
    'dopamine.discrete_domains.run_experiment.Runner': RUNNER,
    'dopamine.atari.run_experiment.Runner': RUNNER,
    'dopamine.atari.preprocessing.AtariPreprocessing': (
        'dopamine_lite.discrete_domains.atari_lib.AtariPreprocessing'
    ),
    'dopamine.common.checkpointer.Checkpointer': (
        'dopamine_lite.discrete_domains.checkpointer.Checkpointer'
    ),
    'create_agent': 'dopamine_lite.discrete_domains.run_experiment.create_agent',
    'dopamine.atari.train.create_agent': (
        'dopamine_lite.discrete_domains.run_experiment.create_agent'
    ),
}


@pytest.mark.parametrize('selector', SELECTORS)
def test_selectors_of_every_era_resolve(selector):
    assert config._REGISTRY.get_match(selector).selector == SELECTORS[selector]


def test_every_way_to_name_a_parameter_reaches_the_same_one():
    gin.parse_config('dopamine.agents.dqn.dqn_agent.DQNAgent.gamma = 0.5')
    assert gin.query_parameter('DQNAgent.gamma') == 0.5
    gin.bind_parameter('dopamine.tf.agents.dqn.dqn_agent.DQNAgent.gamma', 0.6)
    assert gin.query_parameter('dopamine.agents.dqn.dqn_agent.DQNAgent.gamma') == 0.6
    gin.bind_parameter(('my/scope', 'dopamine.agents.dqn.dqn_agent.DQNAgent', 'gamma'), 0.7)
    assert gin.query_parameter('my/scope/DQNAgent.gamma') == 0.7
    assert gin.get_bindings('dopamine.agents.dqn.dqn_agent.DQNAgent') == {'gamma': 0.6}
    assert 'DQNAgent.gamma = 0.6' in gin.config_str()


def test_references_scopes_macros_and_blocks_resolve():
    gin.parse_config(
        """
        import gin.tf.external_configurables
        NETWORK = @gym_lib.CartpoleDQNNetwork
        dopamine.agents.dqn.dqn_agent.DQNAgent:
            network = %NETWORK
            optimizer = @dqn/tf.train.AdamOptimizer()
        dqn/tf.train.AdamOptimizer.learning_rate = 0.5
        cfg/DQNAgent.epsilon_fn = @dopamine.agents.dqn.dqn_agent.identity_epsilon
        DQNAgent.stack_size = %gym_lib.CARTPOLE_STACK_SIZE
        """
    )
    from dopamine_lite.discrete_domains import legacy_networks
    from dopamine_lite.tf.agents.dqn import dqn_agent

    bindings = gin.get_bindings('DQNAgent')
    assert bindings['network'] is legacy_networks.CartpoleDQNNetwork
    assert bindings['optimizer']._lr == 0.5
    assert bindings['stack_size'] == 1
    with gin.config_scope('cfg'):
        assert gin.get_bindings('DQNAgent')['epsilon_fn'] is dqn_agent.identity_epsilon
    # What gin writes, it reads.
    text = gin.config_str()
    gin.clear_config()
    gin.parse_config(text)
    assert gin.get_bindings('DQNAgent')['network'] is legacy_networks.CartpoleDQNNetwork


@pytest.mark.parametrize(
    'selector',
    ['Nope', 'gym_lib.NopeNetwork', 'dopamine.nope.DQNAgent', 'dopamine.agents.dqn.DQNAgent'],
)
def test_unknown_selectors_get_gins_own_error(selector):
    with pytest.raises(ValueError, match=f"^No configurable matching '{selector}'"):
        gin.parse_config(f'{selector}.gamma = 1')
    with pytest.raises(ValueError, match=f"^No configurable matching reference '@{selector}'"):
        gin.parse_config(f'x = @{selector}')
    gin.parse_config(f'{selector}.gamma = 1', skip_unknown=True)


@pytest.mark.parametrize(
    'selector',
    [
        'JaxDQNAgent',
        'dopamine.jax.agents.dqn.dqn_agent.JaxDQNAgent',
        'ppo_agent.PPOAgent',
        'SACAgent',
        'create_optimizer',
        'ReplayBuffer',
        'networks.ClassicControlDQNNetwork',
        'ContinuousRunner',
    ],
)
def test_the_jax_path_is_refused_by_name(selector):
    message = f"^'{selector}' belongs to Dopamine's JAX agents .*: dopamine_lite is the TensorFlow"
    with pytest.raises(ValueError, match=message):
        gin.parse_config(f'{selector}.gamma = 1')
    with pytest.raises(ValueError, match=message):
        gin.parse_config(f'x = @{selector}')
    gin.parse_config(f'{selector}.gamma = 1', skip_unknown=True)


@pytest.mark.parametrize('parameter', ['game_name', 'sticky_actions'])
@pytest.mark.parametrize(
    'runner', ['Runner', 'TrainRunner', 'dopamine.atari.run_experiment.Runner']
)
@pytest.mark.parametrize('scope', ['', 'my/scope/'])
def test_parameters_of_dopamine_1_are_translated_with_a_warning(scope, runner, parameter):
    with pytest.warns(compat.CompatibilityWarning) as caught:
        gin.parse_config(f"{scope}{runner}.{parameter} = 'value'")
    assert gin.query_parameter(f'{scope}create_atari_environment.{parameter}') == 'value'
    assert str(caught[0].message) == (
        f'{scope}{runner}.{parameter} is a parameter of Dopamine 1, translated: write '
        f'{scope}create_atari_environment.{parameter} = ... instead'
    )


def test_parameters_that_nobody_knows_are_refused_with_what_to_do():
    with pytest.raises(
        ValueError, match="^Configurable 'DQNAgent' doesn't have .* 'gama'"
    ) as error:
        gin.bind_parameter('DQNAgent.gama', 1)
    assert "Did you mean 'gamma'?" in str(error.value)
    assert 'bind it there (MySubclass.gama), otherwise remove the line' in str(error.value)
    with pytest.raises(ValueError, match="has denylisted kwarg 'update_horizon'.$"):
        gin.bind_parameter('WrappedReplayBuffer.update_horizon', 3)


def test_errors_about_other_peoples_configurables_stay_as_they_are():
    with pytest.raises(ValueError, match="^Configurable 'gin.macro' doesn't have .* 'x'.$"):
        gin.bind_parameter('gin.macro.x', 1)


@pytest.mark.parametrize(
    'path',
    [
        'dopamine/agents/rainbow/configs/rainbow_cartpole.gin',
        'dopamine/tf/agents/rainbow/configs/rainbow_cartpole.gin',
        '/home/me/dopamine/dopamine/agents/rainbow/configs/rainbow_cartpole.gin',
    ],
)
def test_paths_in_dopamines_repository_find_the_packaged_file(path):
    gin.parse_config_file(path)
    assert gin.query_parameter('create_agent.agent_name') == 'rainbow'


def test_a_file_on_disk_goes_before_a_packaged_one(tmp_path):
    path = tmp_path / 'dopamine/agents/dqn/configs/dqn.gin'
    path.parent.mkdir(parents=True)
    path.write_text('DQNAgent.gamma = 0.25')
    gin.parse_config_file(str(path))
    assert gin.query_parameter('DQNAgent.gamma') == 0.25


@pytest.mark.parametrize('path', ['mine/dqn.gin', 'dopamine/agents/dqn/configs/nope.gin'])
def test_other_paths_are_not_guessed_at(path):
    with pytest.raises(OSError, match=f'Unable to open file: {path}'):
        gin.parse_config_file(path)


def test_a_gin_file_of_the_jax_agents_is_refused():
    path = 'dopamine/jax/agents/dqn/configs/dqn.gin'
    with pytest.raises(ValueError, match=f"'{path}' belongs to Dopamine's JAX agents"):
        gin.parse_config_file(path)


def test_installing_again_changes_nothing():
    parse = config.ParsedBindingKey.parse.__func__
    gin_selectors.install()
    assert config.ParsedBindingKey.parse.__func__ is parse


def test_an_unknown_gin_is_left_alone_with_a_warning(monkeypatch):
    stranger = types.SimpleNamespace(_REGISTRY={})
    monkeypatch.setattr(gin_selectors, 'config', stranger)
    with pytest.warns(compat.CompatibilityWarning, match='this version of gin-config is not known'):
        gin_selectors.install()
    assert vars(stranger) == {'_REGISTRY': {}}


def test_gins_old_argument_names_are_todays():
    @gin.configurable(blacklist=['a'])
    def refuses_a(a=1, b=2):
        return a, b

    @gin.configurable(whitelist=['a'])
    def takes_a(a=1, b=2):
        return a, b

    gin.parse_config('refuses_a.b = 3')
    gin.parse_config('takes_a.a = 3')
    assert (refuses_a(), takes_a()) == ((1, 3), (3, 2))
    for binding in ('refuses_a.a = 3', 'takes_a.b = 3'):
        with pytest.raises(
            ValueError, match="not allowed|blacklist|denylist|allowlist|doesn't have"
        ):
            gin.parse_config(binding)
