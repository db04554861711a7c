"""Numbers that users set: each is refused by name where it cannot be meant, NaN and infinity first.

A NaN passes every `value < least`, and shows only hours later, as a run that learned nothing.
"""

import math
import numbers
from typing import Any

import numpy as np


def require_finite(**values: Any) -> None:
    """Raises ValueError, naming the first argument that is no finite number."""
    for name, value in values.items():
        if not isinstance(value, numbers.Real) or isinstance(value, bool):
            raise ValueError(f'{name} must be a finite number, got {value!r}')
        if not math.isfinite(value):
            raise ValueError(f'{name} must be a finite number, got {value!r}')


def require_at_least(least: float, **values: Any) -> None:
    """Raises ValueError, naming the first argument that is no finite number or below `least`."""
    require_finite(**values)
    for name, value in values.items():
        if value < least:
            raise ValueError(f'{name} must be at least {least}, got {value}')


def require_whole(least: int, **values: Any) -> None:
    """Raises ValueError, naming the first argument that is no whole number or below `least`."""
    require_at_least(least, **values)
    for name, value in values.items():
        if not isinstance(value, numbers.Integral):
            raise ValueError(f'{name} must be a whole number, got {value!r}')


def require_flag(**values: Any) -> None:
    """Raises ValueError, naming the first argument that is neither True nor False.

    A text such as 'False' counts as true for Python.
    """
    for name, value in values.items():
        if not isinstance(value, numbers.Integral | np.bool_) or value not in (False, True):
            raise ValueError(f'{name} must be True or False, got {value!r}')


def require_text(**values: Any) -> None:
    """Raises ValueError, naming the first argument that is no text.

    Where it becomes part of an id, another object would bring along whatever its `str` holds.
    """
    for name, value in values.items():
        if not isinstance(value, str):
            raise ValueError(f'{name} must be a text, got {value!r}')


def require_above(bound: float, **values: Any) -> None:
    """Raises ValueError, naming the first argument that is no finite number above `bound`."""
    require_finite(**values)
    for name, value in values.items():
        if not value > bound:
            raise ValueError(f'{name} must be above {bound}, got {value}')


def require_share(**values: Any) -> None:
    """Raises ValueError, naming the first argument that is no number in [0, 1]."""
    for name, value in values.items():
        if not isinstance(value, numbers.Real) or not 0 <= value <= 1:
            raise ValueError(f'{name} must be in [0, 1], got {value!r}')
