"""Runs are told apart, put together and averaged; intervals are those of rliable."""

import json

import numpy as np
import pytest
from rliable import metrics
from run_folders import write_run

from dopamine_lite import comparison

C51 = "RainbowAgent.replay_scheme = 'uniform'"


@pytest.fixture
def few_resamples(monkeypatch):
    monkeypatch.setattr(comparison, '_RESAMPLES', 50)


def make(tmp_path, name, *args, **kwargs):
    return comparison.read(str(write_run(tmp_path / name, *args, **kwargs)))


# Reading.


def test_a_run_is_known_by_its_settings(tmp_path):
    run = make(tmp_path, 'a', 'rainbow', 'Pong', [1.0, 2.0], C51)
    assert (run.agent, run.game, run.frame_skip) == ('C51', 'Pong', 4)
    steps, returns = run.curves['train']
    assert steps.tolist() == [1000, 2000] and returns.tolist() == [1, 2]
    assert 'eval' not in run.curves


@pytest.mark.parametrize(
    ('path', 'agent', 'game'),
    [
        ('rainbow/Pong/1', 'Rainbow', 'Pong'),
        ('dqn_space_invaders_3', 'DQN', 'SpaceInvaders'),
        ('results/implicit_quantile-SpaceInvaders', 'IQN', 'SpaceInvaders'),
        ('c51_cartpole', 'C51', 'CartPole'),
        ('full_rainbow_Qbert', 'Full Rainbow', 'Qbert'),
        ('mine/17', '17', 'unknown game'),
    ],
)
def test_a_folder_of_dopamine_is_known_by_its_name(path, agent, game, tmp_path):
    run = make(tmp_path, path, None, None, [1.0])
    assert (run.agent, run.game) == (agent, game)
    assert run.frame_skip == (4 if game in ('Pong', 'SpaceInvaders', 'Qbert') else 1)


def test_patterns_name_folders_once(tmp_path):
    for name in ('a_1', 'a_2', 'b_1'):
        (tmp_path / name).mkdir()
    (tmp_path / 'a_3').write_text('no folder')
    found = comparison.find([f'{tmp_path}/a_*', f'{tmp_path}/a_1/', str(tmp_path / 'b_1')])
    assert found == [str(tmp_path / name) for name in ('a_1', 'a_2', 'b_1')]
    with pytest.raises(comparison.UserError, match=r'there is no folder .*/c_\*'):
        comparison.find([f'{tmp_path}/c_*'])


def test_a_parameter_takes_runs_apart(tmp_path):
    folder = write_run(tmp_path / 'a', 'dqn', 'Pong', [1.0], 'DQNAgent.gamma = 0.9')
    assert comparison.read(str(folder), by='DQNAgent.gamma').agent == 'DQN, gamma = 0.9'
    assert comparison.read(str(folder), by='dqn_agent.DQNAgent.gamma').agent == 'DQN, gamma = 0.9'
    with pytest.raises(comparison.UserError, match='--by=DQNAgent.x: .* has no such parameter'):
        comparison.read(str(folder), by='DQNAgent.x')


def test_the_phase_is_one_that_every_run_has(tmp_path):
    both = make(tmp_path, 'both', 'dqn', 'Pong', [1.0], phases=('train', 'eval'))
    train = make(tmp_path, 'train', 'dqn', 'Pong', [1.0])
    evaluation = make(tmp_path, 'eval', 'dqn', 'Pong', [1.0], phases=('eval',))
    assert comparison.settle_phase([both, train], None) == 'train'
    assert comparison.settle_phase([both, evaluation], None) == 'eval'
    with pytest.raises(comparison.UserError, match='train training and .*eval evaluation returns'):
        comparison.settle_phase([both, train, evaluation], None)
    with pytest.raises(comparison.UserError, match='train has no evaluation returns, only train'):
        comparison.settle_phase([both, train], 'eval')


# Putting together.


def test_runs_of_one_agent_and_game_are_aligned_by_iteration(tmp_path):
    runs = [
        make(tmp_path, 'a', 'dqn', 'Pong', [1.0, 2.0, 3.0]),
        make(tmp_path, 'b', 'dqn', 'Pong', [3.0, 4.0], steps=1200),
        make(tmp_path, 'c', 'rainbow', 'Pong', [5.0]),
    ]
    (dqn, rainbow), notes = comparison.grouped(runs, 'train')
    assert dqn.returns.tolist() == [[1, 2], [3, 4]]
    assert dqn.steps.tolist() == [1100, 2200] and dqn.frames.tolist() == [4400, 8800]
    assert (rainbow.agent, rainbow.returns.tolist()) == ('Rainbow', [[5]])
    assert (
        len(notes) == 1 and 'is drawn up to point 2, where the shortest of its 2 runs' in notes[0]
    )


def test_iterations_of_other_lengths_are_refused(tmp_path):
    runs = [
        make(tmp_path, 'a', 'dqn', 'Pong', [1.0, 2.0]),
        make(tmp_path, 'b', 'dqn', 'Pong', [1.0, 2.0], steps=4000),
    ]
    with pytest.raises(comparison.UserError, match='a has 2000 agent steps and .*b 8000; plot'):
        comparison.grouped(runs, 'train')


def test_other_settings_in_a_group_are_told(tmp_path):
    runs = [
        make(
            tmp_path, str(n), 'dqn', 'Pong', [1.0], f'DQNAgent.gamma = 0.{n}', f'Runner.seed = {n}'
        )
        for n in (8, 9)
    ]
    _, notes = comparison.grouped(runs, 'train')
    assert notes == [
        'DQN on Pong is one group, though DQNAgent.gamma is 0.8 and 0.9 '
        '(--by=DQNAgent.gamma takes them apart)'
    ]


def test_a_smoothed_point_is_the_mean_of_the_last(tmp_path):
    run = make(tmp_path, 'a', 'dqn', 'Pong', [3.0, 6.0, 12.0, 0.0])
    (group,), _ = comparison.grouped([run], 'train', smooth=3)
    assert group.returns.tolist() == [[3, 4.5, 7, 6]]


# Statistics.


def test_the_interquartile_mean_is_rliables():
    scores = np.random.normal(size=(5, 3, 4))
    expected = [metrics.aggregate_iqm(scores[..., i]) for i in range(4)]
    np.testing.assert_allclose(comparison.band(scores[:1], 'mean').value, scores[0].mean(axis=0))
    np.testing.assert_allclose(comparison._iqm(scores), expected)


def test_intervals_hold_the_value_repeat_and_leave_the_generator_alone(few_resamples):
    scores = np.random.normal(size=(6, 2, 3))
    state = np.random.get_state()[1].copy()
    for statistic in comparison.STATISTICS:
        value, low, high = comparison.band(scores, statistic)
        assert (low < value).all() and (value < high).all()
        np.testing.assert_array_equal(comparison.band(scores, statistic).low, low)
    np.testing.assert_array_equal(np.random.get_state()[1], state)
    np.testing.assert_allclose(comparison.band(scores, 'mean').value, scores.mean(axis=(0, 1)))


def test_resampling_is_within_games(few_resamples):
    # Runs of a game are equal: whichever are drawn, the mean over the games is the same.
    scores = np.broadcast_to(np.array([0.0, 10.0])[:, None], (4, 2, 1))
    value, low, high = comparison.band(scores, 'mean')
    assert value == low == high == 5


def test_one_run_has_no_interval():
    assert comparison.band(np.ones((1, 1, 2)), 'iqm')[1:] == (None, None)


def two_games(tmp_path):
    runs = []
    for agent, level in (('dqn', 1.0), ('rainbow', 2.0)):
        for game, factor in (('Pong', 1), ('Breakout', 100)):
            for seed in (0, 1):
                returns = [0.0] * 19 + [factor * (level + seed)]
                runs.append(make(tmp_path, f'{agent}_{game}_{seed}', agent, game, returns))
    groups, notes = comparison.grouped(runs, 'train')
    assert not notes
    return groups


def test_scores_of_games_are_scaled_between_the_lowest_and_the_highest(tmp_path):
    groups = two_games(tmp_path)
    # The last tenth of 20 points are two, of which one is 0.
    assert comparison.final_scores(groups[0]).tolist() == [0.5, 1.0]
    scale = comparison.scales(groups, None)
    assert scale == {'Pong': (0.5, 1.5), 'Breakout': (50, 150)}
    matrices, notes = comparison.score_matrices(groups, scale)
    assert matrices['DQN'].tolist() == [[0, 0], [0.5, 0.5]] and not notes
    assert matrices['Rainbow'].tolist() == [[0.5, 0.5], [1, 1]]
    assert comparison.scales(groups, {'Pong': (0, 2), 'Breakout': (0, 1)})['Pong'] == (0, 2)
    with pytest.raises(comparison.UserError, match='--reference has no scores for Breakout'):
        comparison.scales(groups, {'Pong': (0, 2)})


def test_agents_that_cannot_be_compared_over_games_are_named(tmp_path):
    groups = two_games(tmp_path)
    fewer = groups[0]._replace(runs=groups[0].runs[:1], returns=groups[0].returns[:1])
    matrices, notes = comparison.score_matrices(
        [fewer, groups[1], groups[2]], {'Pong': (0, 1), 'Breakout': (0, 1)}
    )
    assert not matrices
    assert 'it has 1 of Pong, 2 of Breakout' in notes[0]
    assert notes[1] == 'Rainbow is not in the profiles: it has no run on Breakout'


def test_a_profile_is_the_share_of_runs_above_each_threshold(few_resamples):
    scores = np.array([[0.1, 0.5], [0.5, 0.9]])
    thresholds, shares = comparison.profiles({'DQN': scores, 'C51': scores[:1]})
    assert thresholds[0] == 0 and thresholds[-1] == 1
    at = {round(t, 2): i for i, t in enumerate(thresholds)}
    value, low, high = shares['DQN']
    assert [value[at[t]] for t in (0, 0.3, 0.7, 1)] == [1, 0.75, 0.25, 0]
    assert (low <= value).all() and (value <= high).all()
    assert shares['C51'].low is None and shares['C51'].value[at[0.3]] == 0.5


# Tables of others.


def test_published_curves_are_read_from_csv_and_json(tmp_path):
    table = tmp_path / 'a.csv'
    table.write_text('Agent,Game,Frames,Value\niqn,Pong,4,1.5\niqn,Pong,8,2\n')
    (curve,) = comparison.read_published(str(table))
    assert (curve.agent, curve.game, curve.steps) == ('IQN', 'Pong', None)
    assert curve.frames.tolist() == [4, 8] and curve.returns.tolist() == [1.5, 2]
    rows = [{'agent': 'DQN', 'iteration': i, 'value': i} for i in range(2)]
    (tmp_path / 'a.json').write_text(json.dumps({'data': {'values': rows}}))
    (curve,) = comparison.read_published(str(tmp_path / 'a.json'))
    assert curve.game is None and curve.steps.tolist() == [250_000, 500_000]
    assert curve.frames.tolist() == [1e6, 2e6]


@pytest.mark.parametrize(
    ('name', 'text', 'message'),
    [
        ('a.csv', 'agent,value\ndqn,1\n', 'row 1: expected agent, value, and agent_steps, frames'),
        ('a.csv', 'agent,frames,value\ndqn,1,x\n', "row 1: value must be a number, got 'x'"),
        ('a.csv', 'agent,frames,value\n', 'holds no row'),
        ('a.json', '{', 'cannot be read as a table in CSV or JSON'),
        ('a.json', '[1]', 'is no table: expected a list of rows'),
    ],
)
def test_other_tables_are_refused(name, text, message, tmp_path):
    (tmp_path / name).write_text(text)
    with pytest.raises(comparison.UserError, match=message):
        comparison.read_published(str(tmp_path / name))


def test_reference_scores_are_read(tmp_path):
    (tmp_path / 'a.csv').write_text('game,random,human\nPong,-20,15\n')
    assert comparison.read_reference(str(tmp_path / 'a.csv')) == {'Pong': (-20, 15)}
    (tmp_path / 'a.csv').write_text('game,low,high\nPong,1,1\n')
    with pytest.raises(comparison.UserError, match='row 1: expected game, low and high, which'):
        comparison.read_reference(str(tmp_path / 'a.csv'))
