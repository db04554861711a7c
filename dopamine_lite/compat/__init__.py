"""What exists only for compatibility: other names, older addresses, older files.

Importing this package is cheap; its parts are imported when they are used.
"""


def allow(cls: type) -> type:
    """Lets pickles in run folders hold instances of `cls`; usable as a decorator.

    Files of a run folder are read by allow-list. An attribute of one's own class that was saved
    with a replay buffer or an agent is refused by name when it is read back, unless the program
    says beforehand that the class may be rebuilt. Raises TypeError for anything but a class.
    """
    from dopamine_lite.compat import pickles

    return pickles.allow(cls)
