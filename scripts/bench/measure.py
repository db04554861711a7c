"""What the benchmarks share: timing several operations side by side, and writing figures down."""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

_PACKAGES = (
    *('tensorflow', 'tf-keras', 'numpy', 'numba', 'gymnasium', 'ale-py', 'isal'),
    *('opencv-python-headless', 'dopamine-rl', 'cpprb', 'tianshou', 'stable-baselines3', 'torch'),
)


def parser(description: str) -> argparse.ArgumentParser:
    """Returns a parser with the option that every benchmark has."""
    result = argparse.ArgumentParser(description=description.splitlines()[0])
    result.add_argument('--json', help='where to write the figures')
    return result


def medians_us(
    operations: Mapping[str, Callable[[], Any]], repeats: int, rounds: int = 20
) -> dict[str, float]:
    """Times operations in turns, so that whatever else the machine does strikes all of them alike.

    Args:
      operations: by name, what to call.
      repeats: timed calls of each.
      rounds: how many turns the calls are spread over; each turn starts with two untimed ones.

    Returns:
      The median of each in microseconds.
    """
    calls = max(repeats // rounds, 1)
    times: dict[str, list[int]] = {name: [] for name in operations}
    for _ in range(rounds):
        for name, operation in operations.items():
            operation()
            operation()
            for _ in range(calls):
                start = time.perf_counter_ns()
                operation()
                times[name].append(time.perf_counter_ns() - start)
    return {name: float(np.median(values)) / 1e3 for name, values in times.items()}


def resident_bytes(peak: bool = False) -> int:
    """Returns this process's memory that is in use, or the most that was."""
    wanted = 'VmHWM:' if peak else 'VmRSS:'
    with open('/proc/self/status', encoding='ascii') as file:
        [line] = [line for line in file if line.startswith(wanted)]
    return int(line.split()[1]) * 1024


def finish(figures: dict[str, Any], path: str | None) -> None:
    """Writes the figures with the versions and the machine, if `path` says where."""
    if path is None:
        return
    versions = {'python': platform.python_version()}
    for package in _PACKAGES:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            pass
    load = os.getloadavg()[0] if hasattr(os, 'getloadavg') else None
    machine = {'platform': platform.platform(), 'cpus': os.cpu_count(), 'load_at_the_end': load}
    with open(path, 'w', encoding='utf-8') as file:
        json.dump({**figures, 'versions': versions, 'machine': machine}, file, indent=2)
        file.write('\n')
