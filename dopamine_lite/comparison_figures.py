"""Pictures of several runs: curves, score distributions and performance profiles."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dopamine_lite import colours, comparison, drawing, files

FORMATS = ('png', 'svg')
_PANEL = (4.6, 3.3)  # inches


class Looks:
    """How each agent of a comparison is drawn: as everywhere, and variants of one agent apart."""

    def __init__(self, agents: Sequence[str]):
        self._styles = {agent: colours.agent_style(agent) for agent in agents}
        self._markers = {agent: colours.agent_marker(agent) for agent in agents}
        variants = [agent for agent in agents if ' = ' in agent]
        lines = ('-', '--', '-.', ':')
        for index, agent in enumerate(variants):
            colour = colours.SERIES[index % len(colours.SERIES)]
            self._styles[agent] = {'color': colour, 'linestyle': lines[index % len(lines)]}
            self._markers[agent] = 'os^Dv<>'[index % 7]

    def style(self, agent: str) -> dict[str, Any]:
        return self._styles.get(agent) or colours.agent_style(agent)

    def marker(self, agent: str) -> str:
        return self._markers[agent]


def save(figure: Any, folder: str, name: str) -> list[str]:
    """Writes a figure in each of `FORMATS`; returns the files."""
    paths = []
    for ending in FORMATS:
        path = os.path.join(folder, f'{name}.{ending}')
        metadata = {'Date': None} if ending == 'svg' else None
        with files.atomic_write(path) as file:
            figure.savefig(file, format=ending, dpi=140, metadata=metadata)
        paths.append(path)
    return paths


def _panels(number: int, extra_height: float = 0.0) -> tuple[Any, list[Any]]:
    """A figure with so many axes, in up to four columns, and room for a legend at the bottom."""
    columns = min(number, 2 if number <= 4 else 3 if number <= 9 else 4)
    rows = math.ceil(number / columns)
    width = _PANEL[0] * columns if columns > 1 else 7.0
    height = _PANEL[1] * rows if columns > 1 else 4.2
    figure = drawing.figure((width, height + extra_height))
    figure.set_layout_engine('constrained')
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for unused in axes[number:]:
        unused.remove()
    return figure, list(axes[:number])


def _legend(figure: Any, handles: Sequence[Any], labels: Sequence[str]) -> None:
    width = figure.get_size_inches()[0]
    longest = max(map(len, labels))
    columns = max(1, min(len(labels), int(width / (0.085 * longest + 0.6))))
    labels = [label.replace('$', r'\$') for label in labels]  # no formulas
    figure.legend(
        handles, labels, loc='outside lower center', ncols=columns, fontsize=10, frameon=False
    )


def _label_axes(figure: Any, panels: Sequence[Any], y_label: str, x_label: str = '') -> None:
    # Not the figure's own label for x, which the legend would cover.
    columns = panels[0].get_gridspec().ncols
    for axes in panels[-columns:]:
        axes.set_xlabel(x_label, fontsize=11)
    figure.supylabel(y_label, fontsize=11, multialignment='center')


def _plain(axes: Any) -> None:
    axes.grid(alpha=0.3)
    axes.set_axisbelow(True)
    axes.tick_params(labelsize=10)
    for side in ('top', 'right'):
        axes.spines[side].set_visible(False)


def curves(
    groups: Sequence[comparison.Group],
    bands: Sequence[comparison.Band],
    published: Sequence[comparison.Published],
    looks: Looks,
    *,
    x: str,
    y_label: str,
) -> Any:
    """Draws a panel a game, with a curve an agent and its interval.

    Args:
      groups: what is drawn.
      bands: the statistic of each group.
      published: drawn behind, in lighter colours.
      looks: of all agents.
      x: 'steps' (of the agent) or 'frames' (of the environment).
      y_label: says what a curve is.
    """
    from matplotlib.ticker import EngFormatter

    games = list(dict.fromkeys(group.game for group in groups))
    figure, panels = _panels(len(games), extra_height=0.5)
    entries: dict[str, Any] = {}
    for game, axes in zip(games, panels, strict=True):
        for curve in published:
            xs = curve.steps if x == 'steps' else curve.frames
            if curve.game in (None, game) and xs is not None:
                style = {**looks.style(curve.agent), 'alpha': 0.35, 'linewidth': 4.0, 'zorder': 1}
                (line,) = axes.plot(xs, curve.returns, **style)
                entries.setdefault(f'{curve.agent}, published', line)
        for group, band in zip(groups, bands, strict=True):
            if group.game != game:
                continue
            xs = group.steps if x == 'steps' else group.frames
            style = looks.style(group.agent)
            marker = looks.marker(group.agent) if len(xs) <= 12 else ''
            (line,) = axes.plot(
                xs, band.value, linewidth=1.9, zorder=3, marker=marker, markersize=5, **style
            )
            if band.low is not None:
                axes.fill_between(
                    xs, band.low, band.high, color=style['color'], alpha=0.18, linewidth=0, zorder=2
                )
            entries.setdefault(_label(group.agent, groups), line)
        axes.set_title(game, fontsize=12, parse_math=False)
        axes.xaxis.set_major_formatter(EngFormatter(sep=''))
        _plain(axes)
    _label_axes(
        figure, panels, y_label, 'agent steps' if x == 'steps' else 'frames of the environment'
    )
    _legend(figure, list(entries.values()), list(entries))
    return figure


def _label(agent: str, groups: Sequence[comparison.Group]) -> str:
    counts = sorted({len(group.runs) for group in groups if group.agent == agent})
    runs = f'{counts[0]}' if len(counts) == 1 else f'{counts[0]} to {counts[-1]}'
    return f'{agent} ({runs} run{"" if runs == "1" else "s"})'


def scores(
    groups: Sequence[comparison.Group],
    bands: Sequence[comparison.Band],
    looks: Looks,
    *,
    y_label: str,
) -> Any:
    """Draws the score of each run, a panel a game, with the statistic of each agent beside them.

    Args:
      groups: what is drawn.
      bands: the statistic of the scores of each group, with T = 1.
      looks: of all agents.
      y_label: says what a score is.
    """
    games = list(dict.fromkeys(group.game for group in groups))
    agents = list(dict.fromkeys(group.agent for group in groups))
    figure, panels = _panels(len(games), extra_height=0.5)
    entries: dict[str, Any] = {}
    for game, axes in zip(games, panels, strict=True):
        for group, band in zip(groups, bands, strict=True):
            if group.game != game:
                continue
            place = agents.index(group.agent)
            colour = looks.style(group.agent)['color']
            values = comparison.final_scores(group)
            # To the left of their statistic; a single run needs none.
            several = len(values) > 1
            dots = axes.scatter(
                place + (np.linspace(-0.24, 0.0, len(values)) if several else 0.0),
                np.sort(values),
                marker=looks.marker(group.agent),
                s=30,
                facecolor=colour,
                edgecolor='white',
                linewidth=0.5,
            )
            if several:
                error = None
                if band.low is not None:
                    error = np.abs(np.array([band.low, band.high]) - band.value)
                axes.errorbar(
                    [place + 0.2],
                    band.value,
                    error,
                    fmt='_',
                    color=colour,
                    capsize=4,
                    markersize=14,
                )
            entries.setdefault(_label(group.agent, groups), dots)
        axes.set_xlim(-0.6, len(agents) - 0.4)
        axes.set_xticks([])
        axes.set_title(game, fontsize=12, parse_math=False)
        _plain(axes)
    _label_axes(figure, panels, y_label)
    _legend(figure, list(entries.values()), list(entries))
    return figure


def profiles(
    aggregates: Mapping[str, comparison.Band],
    thresholds: np.ndarray,
    shares: Mapping[str, comparison.Band],
    looks: Looks,
    *,
    num_games: int,
    statistic: str,
    score: str,
) -> Any:
    """Draws the statistic over all games, and the performance profiles, an agent a colour.

    Args:
      aggregates: agent -> the statistic of its scaled scores, with T = 1.
      thresholds: [T], of the profiles.
      shares: agent -> [T], the share of its runs above each threshold.
      looks: of all agents.
      num_games: how many games these are.
      statistic: its name.
      score: says what a scaled score is.
    """
    figure = drawing.figure((10.5, 4.6))
    figure.set_layout_engine('constrained')
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.4))
    lines = []
    for place, (agent, band) in enumerate(aggregates.items()):
        style = looks.style(agent)
        error = None
        if band.low is not None:
            error = np.abs(np.array([band.low, band.high]) - band.value)
        left.errorbar(
            band.value,
            [place],
            xerr=error,
            fmt=looks.marker(agent),
            color=style['color'],
            capsize=5,
            markersize=8,
            linewidth=2,
        )
        (line,) = right.plot(thresholds, shares[agent].value, linewidth=1.9, **style)
        if shares[agent].low is not None:
            right.fill_between(
                thresholds,
                shares[agent].low,
                shares[agent].high,
                color=style['color'],
                alpha=0.18,
                linewidth=0,
            )
        lines.append(line)
    left.set_yticks(range(len(aggregates)), list(aggregates))
    left.set_ylim(len(aggregates) - 0.5, -0.5)
    left.set_title(f'{statistic} over {num_games} games', fontsize=12)
    left.set_xlabel('scaled score', fontsize=11)
    right.set_title('performance profiles', fontsize=12)
    right.set_xlabel('scaled score s', fontsize=11)
    right.set_ylabel('share of runs with a score above s', fontsize=11)
    right.set_ylim(-0.02, 1.02)
    for axes in (left, right):
        _plain(axes)
    figure.suptitle(score, fontsize=10)
    _legend(figure, lines, list(aggregates))
    return figure
