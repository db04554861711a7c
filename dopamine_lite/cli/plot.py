"""`dopamine-lite plot`: the curves of many runs, by agent and game, with intervals."""

import argparse
import os

from dopamine_lite import console
from dopamine_lite.cli import UserError

SUMMARY = 'draws the curves of runs, by agent and game, with 95 % intervals'
EXAMPLE = "dopamine-lite plot 'runs/*_cartpole_*' --statistic=iqm --output=comparison"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of the command."""
    parser.add_argument('runs', metavar='RUN', nargs='+', help='run folders, or patterns of them')
    for flag, options in {
        '--output': {'metavar': 'FOLDER', 'help': "for the pictures; default: the first run's"},
        '--phase': {
            'metavar': 'P',
            'choices': ['train', 'eval'],
            'help': 'train or eval; default: train, if every run has it',
        },
        '--statistic': {
            'metavar': 'S',
            'choices': ['mean', 'iqm'],
            'default': 'mean',
            'help': 'mean, or iqm, the interquartile mean; default: mean',
        },
        '--x': {
            'metavar': 'X',
            'choices': ['steps', 'frames'],
            'default': 'steps',
            'help': 'steps of the agent, or frames of the environment; default: steps',
        },
        '--smooth': {
            'metavar': 'K',
            'type': int,
            'default': 1,
            'help': 'draw the mean of the last K iterations; default: 1',
        },
        '--by': {
            'metavar': 'PARAMETER',
            'help': 'takes runs apart by it, such as DQNAgent.update_horizon',
        },
        '--published': {
            'metavar': 'FILE',
            'action': 'append',
            'help': 'curves drawn behind: CSV or JSON with agent, game, agent_steps or frames, value',
        },
        '--reference': {
            'metavar': 'FILE',
            'help': 'which scores of several games are 0 and 1: CSV or JSON with game, low, high',
        },
    }.items():
        parser.add_argument(flag, **options)


def run(arguments: argparse.Namespace) -> int:
    """Reads, draws and writes; returns the exit status."""
    from dopamine_lite import comparison, comparison_figures

    if arguments.smooth < 1:
        raise UserError(f'--smooth must be at least 1, got {arguments.smooth}')
    published = [
        curve for path in arguments.published or () for curve in comparison.read_published(path)
    ]
    reference = comparison.read_reference(arguments.reference) if arguments.reference else None
    runs, notes = comparison.read_all(arguments.runs, arguments.by)
    phase = comparison.settle_phase(runs, arguments.phase)
    groups, more = comparison.grouped(runs, phase, arguments.smooth)
    notes += more + _unused(published, groups, arguments.x)
    folder = arguments.output or runs[0].folder
    console.make_folder(folder, 'the folder of --output')
    looks = comparison_figures.Looks(list(dict.fromkeys(group.agent for group in groups)))
    written = _curves(folder, groups, published, looks, phase, arguments)
    games = {group.game for group in groups}
    if len(games) > 1:
        paths, more = _scores(folder, groups, looks, phase, reference, arguments.statistic)
        written += paths
        notes += more
    elif reference is not None:
        notes.append('--reference is for several games: there is one')
    for note in notes:
        print(f'note: {note}')
    for group in groups:
        runs, points = len(group.runs), len(group.steps)
        print(f'{group.agent} on {group.game}: {runs} run{"s" * (runs > 1)}, {points} points each')
    print('\n'.join(f'Written: {path}' for path in written))
    return 0


def _unused(published, groups, x: str) -> list[str]:
    games = {group.game for group in groups}
    notes = []
    for curve in published:
        if curve.game not in (None, *games):
            notes.append(f'the published curve of {curve.agent} is of {curve.game}: not drawn')
        elif (curve.steps if x == 'steps' else curve.frames) is None:
            notes.append(f'the published curve of {curve.agent} has no {x}: not drawn')
    return notes


def _curves(folder, groups, published, looks, phase: str, arguments) -> list[str]:
    from dopamine_lite import comparison, comparison_figures

    statistic = arguments.statistic
    bands = [comparison.band(group.returns[:, None, :], statistic) for group in groups]
    label = f'{comparison.PHASES[phase]} return'
    if arguments.smooth > 1:
        label += f', mean of the last {arguments.smooth} iterations'
    label += f'\n{comparison.STATISTICS[statistic]} of runs'
    if any(band.low is not None for band in bands):
        label += ', 95 % interval'
    figure = comparison_figures.curves(
        groups, bands, published, looks, x=arguments.x, y_label=label
    )
    written = comparison_figures.save(figure, folder, 'curves')
    table = os.path.join(folder, 'curves.csv')
    comparison.write_table(
        table,
        (
            *('game', 'agent', 'runs', 'phase', 'statistic', 'smoothed_over'),
            *('agent_steps', 'frames', 'value', 'low', 'high'),
        ),
        (
            (
                *(group.game, group.agent, len(group.runs), phase, statistic, arguments.smooth),
                *(group.steps[i], group.frames[i], *_row(band, i)),
            )
            for group, band in zip(groups, bands, strict=True)
            for i in range(len(group.steps))
        ),
    )
    return [*written, table]


def _row(band, index: int) -> tuple:
    if band.low is None:
        return band.value[index], None, None
    return band.value[index], band.low[index], band.high[index]


def _scores(
    folder, groups, looks, phase: str, reference, statistic: str
) -> tuple[list[str], list[str]]:
    """Draws what several games allow; returns the files and notes."""
    from dopamine_lite import comparison, comparison_figures

    name = comparison.STATISTICS[statistic]
    scores = [comparison.final_scores(group) for group in groups]
    bands = [comparison.band(values[:, None, None], statistic) for values in scores]
    figure = comparison_figures.scores(
        groups,
        bands,
        looks,
        y_label=f'{comparison.PHASES[phase]} return, mean of the last 10 %\n'
        f'each run, and their {name} with 95 % interval',
    )
    written = comparison_figures.save(figure, folder, 'scores')
    scale = comparison.scales(groups, reference)
    table = os.path.join(folder, 'scores.csv')
    comparison.write_table(
        table,
        ('game', 'agent', 'run', 'score', 'scaled_score', 'score_of_0', 'score_of_1'),
        (
            (group.game, group.agent, run.folder, score, comparison.scaled(score, ends), *ends)
            for group, values in zip(groups, scores, strict=True)
            for ends in [scale[group.game]]
            for run, score in zip(group.runs, values, strict=True)
        ),
    )
    written.append(table)
    matrices, notes = comparison.score_matrices(groups, scale)
    if not matrices:
        return written, notes
    aggregates = {
        agent: comparison.band(values[..., None], statistic) for agent, values in matrices.items()
    }
    thresholds, shares = comparison.profiles(matrices)
    ends = 'of all runs' if reference is None else 'of --reference'
    figure = comparison_figures.profiles(
        aggregates,
        thresholds,
        shares,
        looks,
        num_games=len(scale),
        statistic=name,
        score=f'scaled score: 0 is the lowest and 1 the highest score of a game {ends}; '
        'bars and bands are 95 % intervals',
    )
    written += comparison_figures.save(figure, folder, 'profiles')
    table = os.path.join(folder, 'profiles.csv')
    comparison.write_table(
        table,
        ('agent', 'quantity', 'scaled_score', 'value', 'low', 'high'),
        [
            *((agent, statistic, None, *_row(band, 0)) for agent, band in aggregates.items()),
            *(
                (agent, 'share_above', threshold, *_row(band, i))
                for agent, band in shares.items()
                for i, threshold in enumerate(thresholds)
            ),
        ],
    )
    return [*written, table], notes
