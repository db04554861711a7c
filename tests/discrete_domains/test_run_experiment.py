import glob
import inspect
import json
import logging as python_logging
import os
import pickle
from unittest import mock

import fakes
import gin
import gymnasium
import numpy as np
import pytest
import tensorflow as tf

from dopamine_lite.discrete_domains import (
    atari_lib,
    checkpointer,
    gym_lib,
    logger,
    run_experiment,
)
from dopamine_lite.metrics import collector_dispatcher
from dopamine_lite.tf.agents.dqn import dqn_agent
from dopamine_lite.tf.agents.implicit_quantile import implicit_quantile_agent
from dopamine_lite.tf.agents.rainbow import rainbow_agent

# (reward, is_terminal, game_over, truncated)
GO_ON = (1.0, False, False, False)
LOSE_A_LIFE = (-5.0, True, False, False)
END = (2.5, True, True, False)
CUT = (0.5, False, True, True)
CUT_WHERE_THE_GAME_GOES_ON = (0.5, False, False, np.True_)
END_AT_A_CUT = (0.5, True, True, True)


def make_runner(base_dir, script=((GO_ON, END),), agent=None, runner=None, **kwargs):
    """A runner on fakes; its agent's tape is `runner._agent.tape`."""
    agent = agent or fakes.TapeAgent()
    made = (runner or run_experiment.Runner)(
        str(base_dir),
        lambda sess, environment, summary_writer: agent,
        lambda: fakes.TapeEnvironment(script),
        **kwargs,
    )
    agent.tape.clear()
    return made


# Episodes, as the agent lives them.


def test_an_episode_to_its_end(tmp_path):
    runner = make_runner(tmp_path, [[GO_ON, GO_ON, END]])
    assert runner._run_one_episode() == (3, 4.5)
    assert runner._agent.tape == [('begin', 0), ('step', 1, 1), ('step', 1, 2), ('end', 1)]


def test_rewards_as_they_are(tmp_path):
    runner = make_runner(tmp_path, [[GO_ON, END]], clip_rewards=False)
    assert runner._run_one_episode() == (2, 3.5)
    assert runner._agent.tape == [('begin', 0), ('step', 1.0, 1), ('end', 2.5)]


def test_a_lost_life_ends_an_episode_for_the_agent_alone(tmp_path):
    runner = make_runner(tmp_path, [[GO_ON, LOSE_A_LIFE, GO_ON, END]])
    assert runner._run_one_episode() == (4, -0.5)
    assert runner._agent.tape == [
        ('begin', 0),
        ('step', 1, 1),
        ('end', -1),
        ('begin', 2),
        ('step', 1, 3),
        ('end', 1),
    ]


ENDINGS = {
    'the game is over': ([[GO_ON, END]], 10, True),
    'over at the step limit': ([[GO_ON, END]], 2, True),
    'the step limit': ([[GO_ON, GO_ON, END]], 2, False),
    'a life lost at the step limit': ([[GO_ON, LOSE_A_LIFE, END]], 2, True),
    'truncated': ([[GO_ON, CUT]], 10, False),
    'truncated at the step limit': ([[GO_ON, CUT]], 2, False),
    'truncated, though not game over': ([[GO_ON, CUT_WHERE_THE_GAME_GOES_ON, END]], 10, False),
    'truncated and terminal': ([[GO_ON, END_AT_A_CUT]], 10, False),
}


@pytest.mark.parametrize('ending', ENDINGS)
@pytest.mark.parametrize('terminal_on_time_limit', [True, False])
def test_how_an_episode_ends(tmp_path, ending, terminal_on_time_limit):
    script, max_steps, ended = ENDINGS[ending]
    runner = make_runner(
        tmp_path,
        script,
        fakes.TimeLimitAgent(),
        max_steps_per_episode=max_steps,
        terminal_on_time_limit=terminal_on_time_limit,
    )
    steps, _ = runner._run_one_episode()
    assert steps == 2
    last_reward = float(np.clip(script[0][1][0], -1, 1))
    terminal = ended or terminal_on_time_limit
    assert runner._agent.tape == [('begin', 0), ('step', 1, 1), ('end', last_reward, terminal)]


def test_an_agent_that_takes_only_the_reward_gets_only_the_reward(tmp_path):
    runner = make_runner(
        tmp_path, [[GO_ON, GO_ON]], max_steps_per_episode=2, terminal_on_time_limit=False
    )
    runner._run_one_episode()
    assert runner._agent.tape == [('begin', 0), ('step', 1, 1), ('end', 1)]


def test_gin_binds_what_a_time_limit_means(tmp_path):
    gin.parse_config('Runner.terminal_on_time_limit = False')
    runner = make_runner(tmp_path, [[GO_ON]], fakes.TimeLimitAgent(), run_experiment.TrainRunner)
    runner._max_steps_per_episode = 1
    runner._run_one_episode()
    assert runner._agent.tape == [('begin', 0), ('end', 1, False)]


def test_an_unfinished_episode_is_continued(tmp_path):
    runner = make_runner(tmp_path, [[GO_ON] * 6 + [END]], max_steps_per_episode=None)
    assert runner._run_continued_episode(0, 2) == (3, 3.0)  # while start + steps <= 2
    assert (runner.episode_ended, runner.action) == (False, 4)
    assert runner._run_continued_episode(1, 2) == (2, 2.0)
    assert runner._run_continued_episode(0, 9) == (2, 3.5)
    assert runner.episode_ended
    assert runner._run_continued_episode(0, 0) == (1, 1.0)
    assert runner._agent.tape == [
        ('begin', 0),
        *(('step', 1, n) for n in range(1, 7)),
        ('end', 1),
        ('begin', 0),
        ('step', 1, 1),
    ]


@pytest.mark.parametrize('last, terminal', [(CUT, False), (END, True)])
def test_how_a_continued_episode_ends(tmp_path, last, terminal):
    runner = make_runner(
        tmp_path,
        [[LOSE_A_LIFE, last]],
        fakes.TimeLimitAgent(),
        max_steps_per_episode=None,
        terminal_on_time_limit=False,
    )
    steps, _ = runner._run_continued_episode(0, 10)
    assert (steps, runner.episode_ended) == (2, True)
    reward = float(np.clip(last[0], -1, 1))
    assert runner._agent.tape == [
        ('begin', 0),
        ('end', -1, True),
        ('begin', 1),
        ('end', reward, terminal),
    ]


# Phases and iterations.


def test_a_phase_runs_whole_episodes(tmp_path):
    runner = make_runner(tmp_path, [[GO_ON, END], [GO_ON, GO_ON, END]])
    statistics = []
    assert runner._run_one_phase(4, statistics, 'test') == (5, 8.0, 2)
    assert statistics == [
        {'test_episode_lengths': 2, 'test_episode_returns': 3.5},
        {'test_episode_lengths': 3, 'test_episode_returns': 4.5},
    ]


def test_a_phase_of_continued_episodes(tmp_path):
    runner = make_runner(tmp_path, [[GO_ON] * 4 + [END]], max_steps_per_episode=None)
    statistics = []
    assert runner._run_one_phase(2, statistics, 'train') == (3, 3.0, 1)
    assert runner._run_one_phase(3, statistics, 'train') == (4, 5.5, 2)
    assert [s['train_episode_lengths'] for s in statistics] == [3, 2, 2]


def test_an_iteration_trains_then_evaluates(tmp_path):
    runner = make_runner(tmp_path, training_steps=3, evaluation_steps=2)
    modes = []
    original = runner._run_one_phase
    runner._run_one_phase = lambda *args: (modes.append(runner._agent.eval_mode), original(*args))[
        1
    ]
    statistics = runner._run_one_iteration(7)
    assert modes == [False, True]
    assert statistics.pop('train_average_steps_per_second')[0] > 0
    assert statistics == {
        'train_episode_lengths': [2, 2],
        'train_episode_returns': [3.5, 3.5],
        'train_average_return': [3.5],
        'eval_episode_lengths': [2],
        'eval_episode_returns': [3.5],
        'eval_average_return': [3.5],
    }


def test_a_train_runner_does_not_evaluate(tmp_path):
    gin.parse_config('Runner.training_steps = 3')
    runner = make_runner(tmp_path, runner=run_experiment.TrainRunner)
    assert sorted(runner._run_one_iteration(0)) == [
        'train_average_return',
        'train_average_steps_per_second',
        'train_episode_lengths',
        'train_episode_returns',
    ]


class ListDispatcher:
    """Keeps what it is given, one entry a call."""

    def __init__(self, base_dir):
        self.written = []
        self.flushed = 0

    def write(self, statistics):
        self.written.append([(s.name, s.step, s.value) for s in statistics])

    def flush(self):
        self.flushed += 1


TAGS = [
    'Train/NumEpisodes',
    'Train/AverageReturns',
    'Train/AverageStepsPerSecond',
    'Eval/NumEpisodes',
    'Eval/AverageReturns',
]


def test_five_statistics_in_one_write_an_iteration(tmp_path, monkeypatch):
    monkeypatch.setattr(collector_dispatcher, 'CollectorDispatcher', ListDispatcher)
    runner = make_runner(tmp_path, num_iterations=2, training_steps=3, evaluation_steps=2)
    runner.run_experiment()
    dispatcher = runner._collector_dispatcher
    assert dispatcher.flushed == 2
    for iteration, written in enumerate(dispatcher.written):
        assert [(name, step) for name, step, _ in written] == [(tag, iteration) for tag in TAGS]
        values = [value for _, _, value in written]
        assert values[:2] + values[3:] == [2, 3.5, 1, 3.5]


@pytest.mark.parametrize(
    'skipped, left', [('training_steps', 'eval'), ('evaluation_steps', 'train')]
)
def test_a_phase_of_no_steps_is_skipped(tmp_path, monkeypatch, skipped, left):
    monkeypatch.setattr(collector_dispatcher, 'CollectorDispatcher', ListDispatcher)
    steps = {'training_steps': 2, 'evaluation_steps': 2, skipped: 0}
    runner = make_runner(tmp_path, **steps)
    statistics = runner._run_one_iteration(0)
    assert {name.split('_')[0] for name in statistics} == {left}
    (written,) = runner._collector_dispatcher.written
    assert [name for name, _, _ in written] == [t for t in TAGS if t.lower().startswith(left)]
    assert len(runner._agent.tape) == 3  # one episode


def test_an_agent_is_given_the_dispatcher(tmp_path):
    agent = fakes.TapeAgent()
    handed = []
    agent.set_collector_dispatcher = handed.append
    runner = make_runner(tmp_path, agent=agent)
    assert handed == [runner._collector_dispatcher]


# The run as a whole.


def test_what_a_run_leaves_behind_and_in_which_order(tmp_path):
    runner = make_runner(tmp_path, num_iterations=2, training_steps=2, evaluation_steps=0)
    tape = runner._agent.tape
    save = runner._checkpointer.save_checkpoint
    runner._checkpointer.save_checkpoint = lambda n, data: (
        tape.append(('save', n, sorted(data))),
        save(n, data),
    )
    runner.run_experiment()
    folder = str(tmp_path / 'checkpoints')
    episode = [('begin', 0), ('step', 1, 1), ('end', 1)]
    keys = ['actions', 'current_iteration', 'logs']
    assert tape == [
        *episode,
        ('bundle', folder, 0),
        ('save', 0, keys),
        *episode,
        ('bundle', folder, 1),
        ('save', 1, keys),
    ]
    assert sorted(os.listdir(tmp_path)) == [
        'checkpoints',
        'logs',
        'metrics',
        'operative_config.gin',
        'run.json',
    ]
    assert sorted(os.listdir(tmp_path / 'logs')) == ['log_0', 'log_1']
    with open(tmp_path / 'logs' / 'log_1', 'rb') as file:
        assert sorted(pickle.load(file)) == ['iteration_0', 'iteration_1']


def test_the_data_saved_is_the_very_bundle(tmp_path):
    runner = make_runner(tmp_path, use_legacy_logger=False)
    bundle = {'mine': 1}
    runner._agent.bundle_and_checkpoint = lambda checkpoint_dir, n: bundle
    runner._checkpointer = mock.Mock()
    runner._checkpoint_experiment(5)
    runner._checkpointer.save_checkpoint.assert_called_once_with(5, bundle)
    assert runner._checkpointer.save_checkpoint.call_args.args[1] is bundle
    assert bundle == {'mine': 1, 'current_iteration': 5}


def test_an_agent_that_saves_nothing(tmp_path):
    runner = make_runner(tmp_path)
    runner._agent.bundle_and_checkpoint = lambda checkpoint_dir, n: None
    runner._checkpoint_experiment(0)
    assert os.listdir(tmp_path / 'checkpoints') == []


def test_the_agent_saves_only_when_a_checkpoint_is_due(tmp_path):
    gin.parse_config('Checkpointer.checkpoint_frequency = 2')
    runner = make_runner(tmp_path)
    for iteration in range(4):
        runner._checkpoint_experiment(iteration)
    assert [call[2] for call in runner._agent.tape] == [0, 2]


def test_logs_every_n(tmp_path):
    runner = make_runner(tmp_path, logging_file_prefix='mine', log_every_n=2)
    for iteration in range(4):
        runner._log_experiment(iteration, 'statistics')
    assert sorted(os.listdir(tmp_path / 'logs')) == ['mine_0', 'mine_2']
    assert runner._logger.data == {f'iteration_{i}': 'statistics' for i in range(4)}


def test_no_iteration_left(tmp_path, caplog):
    runner = make_runner(tmp_path, num_iterations=0)
    with caplog.at_level(python_logging.WARNING, logger='absl'):
        runner.run_experiment()
    assert 'num_iterations is 0' in caplog.text
    assert runner._agent.tape == []
    assert not (tmp_path / 'run.json').exists()


def test_what_was_run_is_recorded(tmp_path):
    gin.parse_config('Runner.training_steps = 2\nRunner.evaluation_steps = 0')
    for iterations in (1, 2):
        gin.parse_config(f'Runner.num_iterations = {iterations}')
        make_runner(tmp_path).run_experiment()
    starts = json.loads((tmp_path / 'run.json').read_text())
    assert [start['start_iteration'] for start in starts] == [0, 1]
    assert starts[0]['versions']['tensorflow'] == tf.__version__
    config = (tmp_path / 'operative_config.gin').read_text()
    gin.clear_config()
    gin.parse_config(config)
    assert gin.query_parameter('Runner.num_iterations') == 2
    assert gin.query_parameter('Runner.log_every_n') == 1


def test_a_damaged_run_json_is_set_aside(tmp_path):
    (tmp_path / 'run.json').write_text('{"not": "a list"}')
    make_runner(tmp_path, num_iterations=1, training_steps=1, evaluation_steps=0).run_experiment()
    assert (tmp_path / 'run.json.damaged').read_text() == '{"not": "a list"}'
    assert len(json.loads((tmp_path / 'run.json').read_text())) == 1


# Resuming.


def saved_run(base_dir, iterations):
    settings = dict(training_steps=2, evaluation_steps=0)
    make_runner(base_dir, num_iterations=iterations, **settings).run_experiment()


def unbundled(tape):
    return [(call[0], call[2]) for call in tape if call[0] == 'unbundle']


def resume(base_dir, agent=None):
    """A new runner in the folder of an old one, and its agent's tape from the start."""
    agent = agent or fakes.TapeAgent()
    runner = run_experiment.Runner(
        str(base_dir), lambda *args, **kwargs: agent, lambda: fakes.TapeEnvironment([[END]])
    )
    return runner, agent.tape


def test_a_run_goes_on_after_its_last_checkpoint(tmp_path):
    saved_run(tmp_path, 2)
    runner, tape = resume(tmp_path)
    ((_, folder, number, data),) = tape
    assert (folder, number) == (str(tmp_path / 'checkpoints'), 1)
    assert sorted(data) == ['actions', 'current_iteration', 'logs']
    assert runner._start_iteration == 2
    assert runner._agent.actions == 4
    assert sorted(runner._logger.data) == ['iteration_0', 'iteration_1']


def test_the_iteration_is_that_of_the_data(tmp_path):
    checkpointer.Checkpointer(tmp_path / 'checkpoints').save_checkpoint(
        3, {'actions': 0, 'current_iteration': 1729, 'logs': {'a': 1}}
    )
    runner, _ = resume(tmp_path)
    assert runner._start_iteration == 1730
    assert runner._logger.data == {'a': 1}


def test_without_a_sentinel_there_is_nothing_to_resume(tmp_path):
    saved_run(tmp_path, 1)
    os.remove(tmp_path / 'checkpoints' / 'sentinel_checkpoint_complete.0')
    runner, tape = resume(tmp_path)
    assert (runner._start_iteration, tape) == (0, [])


@pytest.mark.parametrize('damage', ['cut', 'removed', 'hostile', 'refused by the agent'])
def test_the_next_older_checkpoint_takes_the_place_of_a_damaged_one(tmp_path, damage, caplog):
    saved_run(tmp_path, 3)
    agent = fakes.TapeAgent()
    path = tmp_path / 'checkpoints' / 'ckpt.2'
    if damage == 'cut':
        path.write_bytes(path.read_bytes()[:-10])
    elif damage == 'removed':
        path.unlink()
    elif damage == 'hostile':
        path.write_bytes(pickle.dumps(os.getcwd))
    else:
        original = agent.unbundle
        agent.unbundle = lambda folder, n, data: original(folder, n, data) and n != 2
    with caplog.at_level(python_logging.WARNING, logger='absl'):
        runner, tape = resume(tmp_path, agent)
    assert runner._start_iteration == 2
    assert unbundled(tape)[-1] == ('unbundle', 1)
    assert 'checkpoint 2 is damaged: ' in caplog.text


def test_no_intact_checkpoint_is_an_error_that_changes_nothing(tmp_path):
    saved_run(tmp_path, 2)
    for number in (0, 1):
        (tmp_path / 'checkpoints' / f'ckpt.{number}').write_bytes(b'')
    before = sorted(os.listdir(tmp_path / 'checkpoints'))
    problems = r'checkpoint 1 is damaged: .*checkpoint 0 is damaged: .*Nothing was changed'
    with pytest.raises(RuntimeError, match=problems):
        resume(tmp_path)
    assert sorted(os.listdir(tmp_path / 'checkpoints')) == before


def test_a_checkpoint_that_was_asked_for_has_no_substitute(tmp_path):
    saved_run(tmp_path, 3)
    gin.parse_config('get_latest_checkpoint_number.override_number = 1')
    runner, tape = resume(tmp_path)
    assert (runner._start_iteration, unbundled(tape)) == (2, [('unbundle', 1)])
    (tmp_path / 'checkpoints' / 'ckpt.1').write_bytes(b'')
    with pytest.raises(RuntimeError, match='checkpoint 1 is damaged: '):
        resume(tmp_path)


def test_a_look_up_that_finds_what_is_not_there(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(checkpointer, 'get_latest_checkpoint_number', lambda folder: 10)
    with caplog.at_level(python_logging.WARNING, logger='absl'):
        runner, tape = resume(tmp_path)
    assert runner._start_iteration == 0
    assert tape == [('unbundle', str(tmp_path / 'checkpoints'), 10, None)]
    assert 'Starting from iteration 0' in caplog.text


def test_replaced_modules_are_used(tmp_path):
    agent = mock.Mock()
    data = {'current_iteration': 1729, 'logs': {'a': 1, 'b': 2}}
    with (
        mock.patch.object(checkpointer, 'get_latest_checkpoint_number', return_value=7),
        mock.patch.object(checkpointer, 'Checkpointer') as make_checkpointer,
        mock.patch.object(logger, 'Logger') as make_logger,
        mock.patch.object(collector_dispatcher, 'CollectorDispatcher') as make_dispatcher,
    ):
        make_checkpointer.return_value.load_checkpoint.return_value = data
        runner = run_experiment.Runner(
            str(tmp_path), lambda sess, env, summary_writer: agent, mock.Mock
        )
    folder = f'{tmp_path}/checkpoints'
    make_checkpointer.assert_called_once_with(folder, 'ckpt')
    make_checkpointer.return_value.load_checkpoint.assert_called_once_with(7)
    agent.unbundle.assert_called_once_with(folder, 7, data)
    make_logger.assert_called_once_with(f'{tmp_path}/logs')
    make_dispatcher.assert_called_once_with(str(tmp_path))
    agent.set_collector_dispatcher.assert_called_once_with(make_dispatcher.return_value)
    assert runner._start_iteration == 1730
    assert runner._logger.data == {'a': 1, 'b': 2}


def test_a_mock_agent_runs_an_experiment(tmp_path):
    agent = mock.Mock()
    agent.bundle_and_checkpoint.side_effect = lambda folder, n: {'test': 'test'}
    agent.summary_writer = tf.compat.v1.summary.FileWriter(str(tmp_path))
    runner = run_experiment.Runner(
        str(tmp_path),
        lambda sess, env, summary_writer: agent,
        lambda: fakes.TapeEnvironment([[GO_ON, CUT]]),
        num_iterations=2,
        training_steps=1,
        evaluation_steps=1,
        terminal_on_time_limit=False,
    )
    runner.run_experiment()
    assert agent.end_episode.call_args_list == [mock.call(0.5)] * 4
    (path,) = glob.glob(f'{tmp_path}/events.out.tfevents.*')
    tags = [
        (event.step, value.tag)
        for event in tf.compat.v1.train.summary_iterator(path)
        for value in event.summary.value
    ]
    assert tags == [(iteration, tag) for iteration in range(2) for tag in TAGS]


@pytest.mark.parametrize('kind', ['folder', 'v2 writer'])
def test_other_summary_writers(tmp_path, kind):
    agent = fakes.TapeAgent()
    agent.summary_writer = str(tmp_path)
    if kind == 'v2 writer':
        with run_experiment.tensorboard_collector.eager_mode():
            agent.summary_writer = tf.summary.create_file_writer(str(tmp_path))
    make_runner(
        tmp_path, agent=agent, num_iterations=1, training_steps=1, evaluation_steps=1
    ).run_experiment()
    (path,) = glob.glob(f'{tmp_path}/events.out.tfevents.*')
    events = tf.compat.v1.train.summary_iterator(path)
    assert [value.tag for event in events for value in event.summary.value] == TAGS
    assert tf.compat.v1.get_default_graph().get_operations() == []


# Agents and runners by name.


@pytest.mark.parametrize(
    'name, module, cls',
    [
        ('dqn', dqn_agent, 'DQNAgent'),
        ('dqn_something', dqn_agent, 'DQNAgent'),
        ('rainbow', rainbow_agent, 'RainbowAgent'),
        ('implicit_quantile', implicit_quantile_agent, 'ImplicitQuantileAgent'),
    ],
)
@pytest.mark.parametrize('debug_mode', [True, False])
def test_create_agent(name, module, cls, debug_mode):
    environment = mock.Mock()
    environment.action_space.n = 5
    with mock.patch.object(module, cls) as make:
        agent = run_experiment.create_agent(
            'session', environment, name, summary_writer='writer', debug_mode=debug_mode
        )
    assert agent is make.return_value
    make.assert_called_once_with(
        'session', num_actions=5, summary_writer='writer' if debug_mode else None
    )


def test_create_agent_refuses():
    environment = mock.Mock()
    with pytest.raises(AssertionError):
        run_experiment.create_agent(None, environment)
    with pytest.raises(ValueError, match='Unknown agent: rainbo '):
        run_experiment.create_agent(None, environment, 'rainbo')
    environment.action_space = gymnasium.spaces.Box(-1, 1, (2,))
    with pytest.raises(ValueError, match='discrete action space, got Box'):
        run_experiment.create_agent(None, environment, 'dqn')


@pytest.mark.parametrize(
    'schedule, cls',
    [
        (None, 'Runner'),
        ('continuous_train_and_eval', 'Runner'),
        ('continuous_train', 'TrainRunner'),
    ],
)
def test_create_runner(schedule, cls):
    if schedule:
        gin.parse_config(f"create_runner.schedule = '{schedule}'")
    with (
        mock.patch.object(run_experiment, cls) as make,
        mock.patch.object(run_experiment, 'create_agent') as create_agent,
    ):
        assert run_experiment.create_runner('folder') is make.return_value
    make.assert_called_once_with('folder', create_agent)


def test_create_runner_refuses():
    with pytest.raises(ValueError, match='Unknown schedule: sometimes '):
        run_experiment.create_runner('folder', 'sometimes')
    with pytest.raises(AssertionError):
        run_experiment.create_runner(None)


def test_load_gin_configs_passes_everything_on():
    with mock.patch.object(gin, 'parse_config_files_and_bindings') as parse:
        run_experiment.load_gin_configs(['a.gin', 'missing.gin'], ['a = 1'])
    parse.assert_called_once_with(['a.gin', 'missing.gin'], bindings=['a = 1'], skip_unknown=False)


# With a real agent.

CARTPOLE = """
DQNAgent.observation_shape = (4, 1)
DQNAgent.observation_dtype = %gym_lib.CARTPOLE_OBSERVATION_DTYPE
DQNAgent.stack_size = 1
DQNAgent.network = @legacy_networks.CartpoleDQNNetwork
DQNAgent.min_replay_history = 20
WrappedReplayBuffer.replay_capacity = 200
WrappedReplayBuffer.batch_size = 8
create_agent.agent_name = 'dqn'
create_gym_environment.environment_name = 'CartPole'
create_gym_environment.version = 'v1'
Runner.create_environment_fn = @gym_lib.create_gym_environment
Runner.num_iterations = 2
Runner.training_steps = 30
Runner.evaluation_steps = 10
"""


def test_a_real_agent_trains_and_resumes(tmp_path):
    gin.parse_config(CARTPOLE)
    first = run_experiment.create_runner(str(tmp_path))
    first.run_experiment()
    weights = first._sess.run(first._agent.online_convnet.variables)
    trained = first._agent.training_steps

    tf.compat.v1.reset_default_graph()
    gin.parse_config('Runner.num_iterations = 8')
    second = run_experiment.create_runner(str(tmp_path))
    assert second._start_iteration == 2
    assert second._agent.training_steps == trained
    for mine, theirs in zip(
        second._sess.run(second._agent.online_convnet.variables), weights, strict=True
    ):
        np.testing.assert_array_equal(mine, theirs)

    second.run_experiment()
    names = os.listdir(tmp_path / 'checkpoints')
    for pattern in ('ckpt.{}', 'tf_ckpt-{}.index', 'add_count_ckpt.{}.gz'):
        assert [n for n in range(8) if pattern.format(n) in names] == [4, 5, 6, 7]


def test_surplus_tf_checkpoints_are_swept_at_a_resume(tmp_path):
    gin.parse_config(CARTPOLE)
    run_experiment.create_runner(str(tmp_path)).run_experiment()
    checkpoints = tmp_path / 'checkpoints'
    for number in range(10, 15):
        for suffix in ('index', 'data-00000-of-00001'):
            (checkpoints / f'tf_ckpt-{number}.{suffix}').write_bytes(b'')

    tf.compat.v1.reset_default_graph()
    run_experiment.create_runner(str(tmp_path))
    left = [int(n.split('-')[1].split('.')[0]) for n in os.listdir(checkpoints) if '.index' in n]
    assert sorted(left) == [0, 1, 11, 12, 13, 14]  # those of complete checkpoints, and the newest


def test_variables_made_by_a_subclass_are_initialised_and_no_others(tmp_path):
    gin.parse_config(CARTPOLE)

    class WithMore(dqn_agent.DQNAgent):
        def __init__(self, sess, num_actions, summary_writer=None):
            super().__init__(sess, num_actions, summary_writer=summary_writer)
            self._set = tf.compat.v1.get_variable('set', initializer=1.0)
            self._sess.run(self._set.initializer)
            self._sess.run(self._set.assign(5.0))
            self._new = tf.compat.v1.get_variable('new', initializer=3.0)

    runner = run_experiment.Runner(
        str(tmp_path),
        lambda sess, environment, summary_writer: WithMore(sess, environment.action_space.n),
        gym_lib.create_gym_environment,
    )
    assert runner._sess.run([runner._agent._set, runner._agent._new]) == [5.0, 3.0]


def test_observations_that_do_not_fit(tmp_path):
    agent = mock.Mock(spec=dqn_agent.DQNAgent)
    agent.observation_shape = (5, 1)
    environment = mock.Mock(observation_space=gymnasium.spaces.Box(-1, 1, (4,)))
    with pytest.raises(ValueError, match=r'shape \(5, 1\), the environment gives \(4,\)'):
        run_experiment.Runner(str(tmp_path), lambda *args, **kwargs: agent, lambda: environment)


def test_atari_is_the_default():
    for runner in (run_experiment.Runner, run_experiment.TrainRunner):
        default = inspect.signature(runner).parameters['create_environment_fn'].default
        assert default is atari_lib.create_atari_environment
