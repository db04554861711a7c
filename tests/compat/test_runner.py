"""A runner built with the arguments of Dopamine 1."""

import inspect
import warnings
from unittest import mock

import fakes
import gin
import pytest
import tensorflow as tf

from dopamine_lite import compat
from dopamine_lite.compat import runner
from dopamine_lite.discrete_domains import atari_lib, iteration_statistics, run_experiment


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


class OwnAgent:
    """As written before Dopamine 4.0.4: works on the runner's session, and on its writer."""

    eval_mode = False

    def __init__(self, sess, writer):
        self._sess = sess
        self.summary_writer = writer
        self._steps = tf.compat.v1.get_variable('steps', (), initializer=tf.zeros_initializer())
        self._count = self._steps.assign_add(1.0)

    def begin_episode(self, observation):
        return 0

    def step(self, reward, observation):
        self._sess.run(self._count)
        return 0

    def end_episode(self, reward):
        value = tf.compat.v1.Summary.Value(tag='Own', simple_value=self._sess.run(self._steps))
        self.summary_writer.add_summary(tf.compat.v1.Summary(value=[value]), 7)

    def bundle_and_checkpoint(self, checkpoint_dir, iteration):
        return None


def make_environment():
    return fakes.TapeEnvironment([[(1.0, False, False, False), (1.0, True, True, False)]])


LENGTHS = {'num_iterations': 1, 'training_steps': 1, 'evaluation_steps': 0}


def events(folder):
    """Returns what the event files in a folder hold: (tag, value, step)."""
    return [
        (value.tag, value.simple_value, event.step)
        for path in folder.glob('events.out.tfevents.*')
        for event in tf.compat.v1.train.summary_iterator(str(path))
        for value in event.summary.value
    ]


def test_an_agent_of_old_has_a_session_and_a_writer(tmp_path):
    def create_agent(sess, environment, summary_writer=None):
        assert sess is None and summary_writer == str(tmp_path)
        return OwnAgent(sess, summary_writer)

    made = run_experiment.Runner(str(tmp_path), create_agent, make_environment, **LENGTHS)
    assert isinstance(made._agent._sess, tf.compat.v1.Session)
    assert made._sess is made._agent._sess
    made.run_experiment()
    assert ('Own', 1.0, 7) in events(tmp_path)
    assert ('Train/NumEpisodes', 1.0, 0) in events(tmp_path)


def test_an_agent_of_old_that_needs_its_session_at_once_gets_one(tmp_path):
    given = []

    def create_agent(sess, environment, summary_writer=None):
        given.append(sess)
        agent = OwnAgent(sess, summary_writer)
        sess.run(tf.compat.v1.global_variables_initializer())
        return agent

    tf.compat.v1.set_random_seed(5)
    made = run_experiment.Runner(str(tmp_path), create_agent, make_environment, **LENGTHS)
    assert given == [None, made._sess]
    assert made._sess.graph is tf.compat.v1.get_default_graph()
    assert made._sess.graph.seed == 5
    made.run_experiment()
    assert ('Own', 1.0, 7) in events(tmp_path)


@pytest.mark.parametrize(
    'error', [AttributeError('mine'), RuntimeError('mine'), ValueError('mine')]
)
def test_errors_of_the_agents_own_are_raised_at_once(tmp_path, error):
    calls = []

    def create_agent(sess, environment, summary_writer=None):
        calls.append(sess)
        raise error

    with pytest.raises(type(error), match='mine'):
        run_experiment.Runner(str(tmp_path), create_agent, make_environment, **LENGTHS)
    assert calls == [None]


@pytest.mark.parametrize('base', [run_experiment.Runner, run_experiment.TrainRunner])
def test_an_iteration_of_old_has_a_writer_where_the_agent_has_none(tmp_path, base):
    class OldIterations(base):
        def _run_one_iteration(self, iteration):
            statistics = iteration_statistics.IterationStatistics()
            num_episodes, average_return, _ = self._run_train_phase(statistics)
            self._save_tensorboard_summaries(iteration, num_episodes, average_return)
            return statistics.data_lists

        def _save_tensorboard_summaries(self, iteration, num_episodes, average_return):
            value = tf.compat.v1.Summary.Value(tag='Average', simple_value=average_return)
            self._summary_writer.add_summary(tf.compat.v1.Summary(value=[value]), iteration)

    def create_agent(sess, environment, summary_writer=None):
        agent = OwnAgent(None, mock.Mock())
        agent.summary_writer = None
        agent.end_episode = lambda reward: None
        return agent

    gin.parse_config([f'Runner.{name} = {value}' for name, value in LENGTHS.items()])
    OldIterations(str(tmp_path), create_agent, make_environment).run_experiment()
    assert events(tmp_path) == [('Average', 2.0, 0)]


def test_where_nothing_is_written_there_is_no_file(tmp_path):
    def create_agent(sess, environment, summary_writer=None):
        agent = fakes.TapeAgent()
        agent.summary_writer = None
        return agent

    made = run_experiment.Runner(str(tmp_path), create_agent, make_environment, **LENGTHS)
    assert made._summary_writer is None
    folder = runner.SummaryFolder(tmp_path)
    folder.flush()
    folder.close()
    assert events(tmp_path) == [] and list(tmp_path.glob('events*')) == []


def test_a_constructor_copied_from_before_rewards_could_be_left_alone(tmp_path):
    class Copied(run_experiment.Runner):
        def __init__(self, base_dir, create_agent_fn, create_environment_fn):
            self._logging_file_prefix, self._log_every_n = 'log', 1
            self._num_iterations, self._training_steps, self._evaluation_steps = 1, 2, 1
            self._max_steps_per_episode = 20
            self._base_dir = base_dir
            self._create_directories()
            self._summary_writer = tf.compat.v1.summary.FileWriter(base_dir)
            self._environment = create_environment_fn()
            self._agent = create_agent_fn(None, self._environment, self._summary_writer)
            self._initialize_checkpointer_and_maybe_resume('ckpt')

    agent = fakes.TapeAgent()
    reward = 7.0
    Copied(
        str(tmp_path),
        lambda sess, environment, summary_writer: agent,
        lambda: fakes.TapeEnvironment(
            [[(reward, False, False, False), (reward, True, True, False)]]
        ),
    ).run_experiment()
    rewards = [entry[1] for entry in agent.tape if entry[0] in ('step', 'end')]
    assert rewards[:2] == [1.0, 1.0]
    assert (tmp_path / 'checkpoints' / 'sentinel_checkpoint_complete.0').exists()
