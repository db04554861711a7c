"""Pictures and tables of runs: what is in them, and what is refused."""

import csv

import cv2
import pytest
from run_folders import write_run

from dopamine_lite import comparison, comparison_figures
from dopamine_lite.cli import main


@pytest.fixture(autouse=True)
def few_resamples(monkeypatch):
    monkeypatch.setattr(comparison, '_RESAMPLES', 20)


@pytest.fixture
def figures(monkeypatch):
    """What is drawn, by name."""
    found = {}
    save = comparison_figures.save

    def remember(figure, folder, name):
        found[name] = figure
        return save(figure, folder, name)

    monkeypatch.setattr(comparison_figures, 'save', remember)
    return found


def rows(path):
    with open(path, newline='') as file:
        return list(csv.DictReader(file))


def texts(figure):
    """All that is written in a figure."""
    from matplotlib.text import Text

    return {text.get_text() for text in figure.findobj(Text)}


def test_the_mean_of_runs_is_drawn_and_written(tmp_path, figures, capsys):
    for seed, level in enumerate((1.0, 3.0)):
        write_run(tmp_path / f'dqn_{seed}', 'dqn', 'Pong', [level, 2 * level])
    published = tmp_path / 'published.csv'
    published.write_text('agent,game,agent_steps,value\nC51,Pong,500,7\nC51,Pong,900,8\n')
    command = ['plot', f'{tmp_path}/dqn_*', '--smooth=2', f'--published={published}']
    assert main.main(command) == 0
    folder = tmp_path / 'dqn_0'
    table = rows(folder / 'curves.csv')
    assert [(row['agent'], row['game'], row['runs']) for row in table] == [('DQN', 'Pong', '2')] * 2
    assert [float(row['value']) for row in table] == [2, 3]
    assert [float(row['agent_steps']) for row in table] == [1000, 2000]
    assert [float(row['frames']) for row in table] == [4000, 8000]
    assert all(1 <= float(row['low']) <= float(row['value']) for row in table)
    assert cv2.imread(str(folder / 'curves.png')).std() > 5
    assert (folder / 'curves.svg').read_text().startswith('<?xml')
    assert sorted(path.name for path in folder.glob('*.*g')) == ['curves.png', 'curves.svg']
    written = texts(figures['curves'])
    assert {'Pong', 'agent steps', 'DQN (2 runs)', 'C51, published'} <= written
    assert 'training return, mean of the last 2 iterations\nmean of runs, 95 % interval' in written
    (axes,) = figures['curves'].axes
    behind, front = axes.lines
    assert behind.get_ydata().tolist() == [7, 8] and behind.get_zorder() < front.get_zorder()
    assert f'Written: {folder / "curves.csv"}' in capsys.readouterr().out


def test_several_games_are_compared(tmp_path, figures, capsys):
    for agent in ('dqn', 'rainbow'):
        for game in ('Pong', 'Breakout'):
            for seed in (0, 1):
                returns = [seed + (agent == 'rainbow')]
                write_run(tmp_path / f'{agent}_{game}_{seed}', agent, game, returns)
    output = tmp_path / 'new' / 'folder'
    command = ['plot', f'{tmp_path}/*_*_?', '--statistic=iqm', '--x=frames', f'--output={output}']
    assert main.main(command) == 0
    names = {f'{name}.{end}' for name in ('curves', 'scores', 'profiles') for end in ('png', 'svg')}
    assert names < {path.name for path in output.iterdir()}
    assert {row['score'] for row in rows(output / 'scores.csv')} == {'0.0', '1.0', '2.0'}
    table = rows(output / 'profiles.csv')
    aggregates = {row['agent']: float(row['value']) for row in table if row['quantity'] == 'iqm'}
    assert aggregates == {'DQN': 0.25, 'Rainbow': 0.75}
    shares = [row for row in table if row['quantity'] == 'share_above' and row['agent'] == 'DQN']
    assert len(shares) == 101 and float(shares[10]['value']) == 0.5
    assert 'frames of the environment' in texts(figures['curves'])
    assert 'interquartile mean over 2 games' in texts(figures['profiles'])
    colours = [line.get_color() for line in figures['curves'].axes[0].lines]
    assert colours == ['#0072B2', '#D55E00']  # those of DQN and Rainbow everywhere


def test_a_pattern_may_name_runs_that_have_just_begun(tmp_path, figures, capsys):
    folder = write_run(tmp_path / 'b', 'dqn', 'Pong', [1.0, 2.0])
    (tmp_path / 'a').mkdir()
    assert main.main(['plot', f'{tmp_path}/?']) == 0
    assert (folder / 'curves.csv').exists() and not any((tmp_path / 'a').iterdir())
    assert f'note: left out: {tmp_path}/a holds no log of a run' in capsys.readouterr().out
    for command in ([f'{tmp_path}/?', f'{tmp_path}/a'], [f'{tmp_path}/[a]']):
        assert main.main(['plot', *command]) == 1
        assert capsys.readouterr().err.startswith(f'plot: {tmp_path}/a holds no log of a run')


def test_a_single_run_has_a_curve_without_interval(tmp_path, figures):
    folder = write_run(tmp_path / 'a', 'dqn', 'Pong', [1.0, 2.0])
    assert main.main(['plot', str(folder)]) == 0
    assert [row['low'] for row in rows(folder / 'curves.csv')] == ['', '']
    assert 'training return\nmean of runs' in texts(figures['curves'])


def test_labels_stay_inside_the_picture(tmp_path, monkeypatch):
    figures = []

    def draw(figure, folder, name):
        figure.canvas.draw()
        figures.append(figure)
        return []

    monkeypatch.setattr(comparison_figures, 'save', draw)
    for game in ('Pong', 'Breakout', 'SpaceInvaders', 'MontezumaRevenge', 'Qbert'):
        for agent in ('dqn', 'rainbow', 'implicit_quantile', 'quantile', 'full_rainbow'):
            write_run(tmp_path / f'{agent}_{game}', agent, game, [1e5, 2e6])
    command = ['plot', f'{tmp_path}/*_*', '--statistic=iqm', '--smooth=2']
    assert main.main([*command, f'--output={tmp_path}/out']) == 0
    assert len(figures) == 3
    for figure in figures:
        box = figure.get_tightbbox()
        width, height = figure.get_size_inches()
        assert box.x0 >= 0 and box.y0 >= 0 and box.x1 <= width and box.y1 <= height


def test_an_empty_and_a_foreign_folder_are_one_line(tmp_path, capsys):
    (tmp_path / 'logs').mkdir()
    (tmp_path / 'logs' / 'log_0').write_bytes(b'something else')
    (tmp_path / 'empty').mkdir()
    for name, message in (
        ('.', 'no log in'),
        ('empty', 'holds no log of a run'),
        ('x', 'no folder'),
    ):
        assert main.main(['plot', str(tmp_path / name)]) == 1
        error = capsys.readouterr().err
        assert error.startswith('plot: ') and message in error and error.count('\n') == 1


def test_runs_with_different_measurements_are_one_line(tmp_path, capsys):
    one = write_run(tmp_path / 'a', 'dqn', 'Pong', [1.0])
    other = write_run(tmp_path / 'b', 'dqn', 'Pong', [1.0], phases=('eval',))
    assert main.main(['plot', str(one), str(other)]) == 1
    error = capsys.readouterr().err
    assert 'the runs have no measurement in common' in error and error.count('\n') == 1
    assert main.main(['plot', str(one), '--smooth=0']) == 1
    assert capsys.readouterr().err == 'plot: --smooth must be at least 1, got 0\n'


def test_without_rliable_it_is_said_how_to_get_it(tmp_path, capsys, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, 'rliable', None)
    for seed in (0, 1):
        write_run(tmp_path / f'dqn_{seed}', 'dqn', 'Pong', [1.0])
    assert main.main(['plot', f'{tmp_path}/dqn_*']) == 1
    error = capsys.readouterr().err
    assert 'pip install "dopamine_lite[stats]"' in error and error.count('\n') == 1
