"""Run folders with made-up results, as a run leaves them behind."""

import os
import pickle
import tarfile

import pytest


def write_run(folder, agent, game, returns, *bindings, steps=1000, phases=('train',)):
    """Writes the log and the settings of a run.

    Args:
      folder: a path; made.
      agent: `create_agent.agent_name`; None writes no settings, as Dopamine does.
      game: of Atari.
      returns: the mean return of each iteration.
      *bindings: further gin bindings.
      steps: agent steps of an iteration.
      phases: that were measured.
    """
    (folder / 'logs').mkdir(parents=True)
    data = {}
    for number, value in enumerate(returns):
        data[f'iteration_{number}'] = statistics = {}
        for phase in phases:
            # Two episodes, whose mean is the value.
            statistics[f'{phase}_episode_returns'] = [value - 1, value + 1]
            statistics[f'{phase}_episode_lengths'] = [steps // 4, steps - steps // 4]
    with open(folder / 'logs' / f'log_{len(returns) - 1}', 'wb') as file:
        pickle.dump(data, file)
    if agent is not None:
        lines = [
            f"create_agent.agent_name = '{agent}'",
            f"create_atari_environment.game_name = '{game}'",
            'AtariPreprocessing.frame_skip = 4',
            *bindings,
        ]
        (folder / 'operative_config.gin').write_text('\n'.join(lines))
    return folder


def unpack_dopamines(folder):
    """Unpacks the two runs that Dopamine 4.1 wrote; returns the folder."""
    archive = os.environ.get('DOPAMINE_RUNS')
    if not archive:
        pytest.skip('DOPAMINE_RUNS, the path of the archive of Dopamine 4.1 runs, is not set')
    with tarfile.open(archive) as tar:
        # Older releases of Python 3.10 and 3.11 have no filters.
        safely = {'filter': 'data'} if hasattr(tarfile, 'data_filter') else {}
        tar.extractall(folder, **safely)
    return folder
