"""The command `dopamine-lite`; `main` is its entry, and each other module a subcommand.

A subcommand has `SUMMARY`, a line; `EXAMPLE`, a command line; `add_arguments(parser)`; and
`run(arguments)`, which returns the exit status. What is slow to import it imports in `run`.
"""

from dopamine_lite.console import UserError

__all__ = ['UserError']
