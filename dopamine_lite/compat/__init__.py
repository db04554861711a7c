"""What exists only for compatibility: other names, older addresses, older files.

Importing this package is cheap; its parts are imported when they are used.
"""


class CompatibilityWarning(UserWarning):
    """Something old was translated; the warning says how it is written today."""


def allow(cls: type) -> type:
    """Lets pickles in run folders hold instances of `cls`; usable as a decorator.

    Files of a run folder are read by allow-list. An attribute of one's own class that was saved
    with a replay buffer or an agent is refused by name when it is read back, unless the program
    says beforehand that the class may be rebuilt. Raises TypeError for anything but a class.
    """
    from dopamine_lite.compat import pickles

    return pickles.allow(cls)


def install() -> None:
    """Prepares the process for experiments of every era; idempotent.

    Installs the name `dopamine`, the translation of gin's selectors and old parameters, and the
    look-up of gin files by their paths in Dopamine's repository.
    """
    from dopamine_lite import packaged_configs
    from dopamine_lite.compat import dopamine_alias

    dopamine_alias.install()
    packaged_configs.install_search_path()
