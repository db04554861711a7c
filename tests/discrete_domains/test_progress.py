import io
import sys
import time

import pytest

from dopamine_lite.discrete_domains import progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    """The time in seconds, set by the test."""
    now = [1000.0]
    monkeypatch.setattr(time, 'monotonic', lambda: now[0])
    return now


def test_lines_where_the_output_is_no_terminal(clock, monkeypatch):
    output = io.StringIO()
    monkeypatch.setattr(sys, 'stderr', output)
    shown = progress.Progress()
    shown.start('iteration 3 train', 1200, lambda: 0.25)
    for step in range(1, 601):
        clock[0] += 0.125
        shown.step()
        if step % 200 == 0:
            shown.episode(200, step / 10)
    shown.finish()
    clock[0] += 100
    shown.step()
    assert output.getvalue().splitlines() == [
        'iteration 3 train: 240 of 1,200 steps, 8 steps/s, 02:00 left, 1 episodes, '
        'last return 20, mean return 20, epsilon 0.25',
        'iteration 3 train: 480 of 1,200 steps, 8 steps/s, 01:30 left, 2 episodes, '
        'last return 40, mean return 30, epsilon 0.25',
    ]


def test_short_phases_share_the_time_between_lines(clock, monkeypatch):
    output = io.StringIO()
    monkeypatch.setattr(sys, 'stderr', output)
    shown = progress.Progress()
    for phase in range(5):
        shown.start(f'phase {phase}', 10)
        clock[0] += 10
        shown.episode(10, -1.0)  # of an agent whose steps were not seen
        shown.finish()
    assert output.getvalue().splitlines() == [
        'phase 2: 10 of 10 steps, 1 steps/s, 00:00 left, 1 episodes, last return -1, mean return -1'
    ]


def test_a_bar_on_a_terminal(monkeypatch):
    output = Terminal()
    monkeypatch.setattr(sys, 'stderr', output)
    shown = progress.Progress()
    shown.start('iteration 0 eval', 10, lambda: 0.001)
    bar = shown._bar
    for _ in range(4):
        shown.step()
    shown.episode(4, 12.0)
    shown.episode(9, 15.0)  # goes beyond the total
    assert (bar.n, bar.total) == (10, 10)
    assert bar.postfix == 'last return 15, mean return 13.5, epsilon 0.001'
    shown.finish()
    assert shown._bar is None


def test_silent_before_and_after(monkeypatch):
    output = Terminal()
    monkeypatch.setattr(sys, 'stderr', output)
    shown = progress.Progress()
    shown.step()
    shown.episode(3, 1.0)
    shown.finish()
    assert output.getvalue() == ''
