"""`dopamine-lite train`: hands its flags to `dopamine_lite.discrete_domains.train`."""

from collections.abc import Sequence

SUMMARY = 'trains an agent, or goes on where it was stopped'
EXAMPLE = 'dopamine-lite train --base_dir=runs/cartpole --gin_files=rainbow_cartpole.gin'


def run_flags(flags: Sequence[str]) -> int:
    """Trains as the flags say; returns the exit status."""
    from dopamine_lite.discrete_domains import train

    return train.run(['train', *flags], command=('dopamine-lite', 'train'))
