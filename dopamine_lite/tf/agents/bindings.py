"""Gin bindings that would have no effect, because what they are bound on is not what is used."""

from __future__ import annotations

from typing import Any

import gin


def refuse_hidden(parameter: str, agent: type, *parents: type) -> None:
    """Refuses a parameter of a parent in the place of which an agent has a default of its own.

    Raises:
      ValueError: gin binds `parameter` on one of `parents` and not on `agent`.
    """
    if parameter in gin.get_bindings(agent):
        return
    for parent in parents:
        if parameter in gin.get_bindings(parent):
            raise ValueError(
                f'{parent.__name__}.{parameter} is bound, but {agent.__name__} has a {parameter} of '
                f'another kind: bind {agent.__name__}.{parameter}'
            )


def refuse_elsewhere(used: type, unused: type, defaults: dict[str, Any]) -> None:
    """Refuses parameters that are bound on one of two alternatives where the other is used.

    Args:
      used: the class that is used.
      unused: the other one.
      defaults: the values of the parameters in question where nothing is bound.

    Raises:
      ValueError: gin binds one of them on `unused` alone, to another value than its default.
    """
    there, here = gin.get_bindings(unused), gin.get_bindings(used)
    for parameter, default in defaults.items():
        if parameter not in here and there.get(parameter, default) != default:
            raise ValueError(
                f'{unused.__name__}.{parameter} = {there[parameter]} is bound, but what is used is '
                f'{used.__name__}: bind {used.__name__}.{parameter}'
            )
