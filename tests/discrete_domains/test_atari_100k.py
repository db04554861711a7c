"""The runner of Atari 100k: exact steps, no-op starts, evaluation at the end, and its score."""

import fakes
import numpy as np
import pytest

from dopamine_lite.discrete_domains import atari_100k, atari_lib, run_experiment


def make_runner(folder, agent, environment, **options):
    options = {
        'num_iterations': 2,
        'training_steps': 10,
        'max_steps_per_episode': 6,
        'num_eval_episodes': 3,
        'max_noops': 0,
        'terminal_on_time_limit': False,
        **options,
    }
    return atari_100k.DataEfficientAtariRunner(
        str(folder),
        lambda sess, environment, summary_writer: agent,
        create_environment_fn=lambda: environment,
        **options,
    )


def episode(length):
    """An episode of `length` steps, reward 1 each."""
    return [(1.0, step == length - 1, step == length - 1, False) for step in range(length)]


def test_phases_have_exactly_their_steps_and_the_last_episode_is_cut(tmp_path):
    tape = []
    agent = fakes.TimeLimitAgent(tape)
    make_runner(tmp_path, agent, fakes.TapeEnvironment([episode(4)])).run_experiment()
    first = tape[: next(i for i, call in enumerate(tape) if call[0] == 'bundle')]
    # Two episodes of four steps and two steps of a third.
    assert [call[0] for call in first] == [
        *(['begin'] + ['step'] * 3 + ['end']) * 2,
        *('begin', 'step', 'end'),
    ]
    assert [call[1:] for call in first if call[0] == 'end'] == [
        (1.0, True),
        (1.0, True),
        (1.0, False),
    ]


def test_evaluation_is_some_episodes_after_the_last_iteration(tmp_path):
    agent = fakes.TimeLimitAgent()
    runner = make_runner(tmp_path, agent, fakes.TapeEnvironment([episode(4), episode(2)]))
    runner.run_experiment()
    first, last = runner._logger.data['iteration_0'], runner._logger.data['iteration_1']
    assert sum(first['train_episode_lengths']) == sum(last['train_episode_lengths']) == 10
    assert not [key for key in first if key.startswith('eval')]
    assert len(last['eval_episode_returns']) == 3
    assert last['eval_average_return'] == [np.mean(last['eval_episode_returns'])]
    assert 'eval_human_normalized_score' not in last
    assert agent.eval_mode


def test_a_longer_run_is_resumed_and_evaluated_again(tmp_path):
    environment = fakes.TapeEnvironment([episode(4)])
    make_runner(tmp_path, fakes.TimeLimitAgent(), environment).run_experiment()
    runner = make_runner(tmp_path, fakes.TimeLimitAgent(), environment, num_iterations=3)
    runner.run_experiment()
    assert sorted(runner._logger.data) == ['iteration_0', 'iteration_1', 'iteration_2']
    assert len(runner._logger.data['iteration_2']['eval_episode_returns']) == 3


class CountingEnvironment:
    """Never ends by itself; observations count the steps since the reset."""

    game_over = False

    def __init__(self, ends_at=None):
        self.starts, self.ends_at = [], ends_at

    def reset(self):
        self.steps = 0
        self.game_over = False
        return 0

    def step(self, action):
        self.steps += 1
        self.starts.append(action)
        self.game_over = self.steps == self.ends_at
        return self.steps, 0.0, self.game_over, {}


def test_episodes_start_with_zero_to_29_no_ops(tmp_path):
    tape = []
    environment = CountingEnvironment()
    runner = make_runner(tmp_path, fakes.TimeLimitAgent(tape), environment, max_noops=29)
    for _ in range(3000):
        runner._initialize_episode()
    starts = [call[1] for call in tape if call[0] == 'begin']
    assert sorted(set(starts)) == list(range(30))
    np.testing.assert_allclose(np.bincount(starts), [100] * 30, atol=45)
    assert set(environment.starts) == {0}


def test_a_game_that_ends_among_the_no_ops_starts_again(tmp_path):
    tape = []
    environment = CountingEnvironment(ends_at=5)
    runner = make_runner(tmp_path, fakes.TimeLimitAgent(tape), environment, max_noops=29)
    for _ in range(300):
        runner._initialize_episode()
        assert not environment.game_over
    assert {call[1] for call in tape if call[0] == 'begin'} == {0, 1, 2, 3, 4}


@pytest.mark.parametrize(
    ('game', 'score', 'normalized'),
    [
        ('Pong', -20.7, 0.0),
        ('Pong', 14.6, 1.0),
        ('Breakout', 16.1, 0.5),
        ('Krull', 530.5, -1.0),
        ('Tetris', 1.0, None),
    ],
)
def test_scores_between_random_play_and_a_human(game, score, normalized):
    expected = normalized if normalized is None else pytest.approx(normalized, abs=1e-6)
    assert atari_100k.human_normalized_score(game, score) == expected


def test_the_games_are_those_of_the_benchmark():
    assert len(atari_100k.RANDOM_AND_HUMAN_SCORES) == 26
    for game, (of_random, of_human) in atari_100k.RANDOM_AND_HUMAN_SCORES.items():
        assert of_random < of_human, game
        atari_lib._check_game(game)


def test_the_score_of_a_real_game_is_measured_and_kept(tmp_path, monkeypatch):
    environment = atari_lib.create_atari_environment('Pong', sticky_actions=False)
    runner = make_runner(
        tmp_path, fakes.TimeLimitAgent(), environment, num_eval_episodes=2, num_iterations=1
    )
    monkeypatch.setattr(runner, '_run_one_phase', lambda *arguments: (1, -3.05, 1))
    statistics = run_experiment.iteration_statistics.IterationStatistics()
    assert runner._run_eval_phase(statistics) == (2, -3.05)
    assert statistics.data_lists['eval_human_normalized_score'] == pytest.approx([0.5])


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        ({'num_eval_episodes': -1}, 'num_eval_episodes must be at least 0, got -1'),
        ({'num_eval_episodes': 1e2}, 'num_eval_episodes must be a whole number, got 100.0'),
        ({'training_steps': 30.5}, 'training_steps must be a whole number, got 30.5'),
        ({'max_noops': -1}, 'max_noops must be at least 0, got -1'),
        ({'max_steps_per_episode': None}, 'max_steps_per_episode must be a number, got None'),
    ],
)
def test_numbers_outside_their_range_are_refused(tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        make_runner(tmp_path, fakes.TimeLimitAgent(), fakes.TapeEnvironment([[]]), **options)


def test_the_schedule_makes_the_runner(tmp_path, monkeypatch):
    monkeypatch.setattr(
        atari_100k, 'DataEfficientAtariRunner', lambda base_dir, create: (base_dir, create)
    )
    runner = run_experiment.create_runner(str(tmp_path), schedule='atari_100k')
    assert runner == (str(tmp_path), run_experiment.create_agent)
