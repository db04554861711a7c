"""What the future of a run depends on, beyond what Dopamine's checkpoints hold.

The generators' states, the environment's, an episode under way and a batch drawn ahead: with them a
resumed run equals the one that was not interrupted, bit for bit. They are saved as JSON in a file of
their own, beside the files that Dopamine knows.
"""

import operator
import os
import random
from typing import Any

import numpy as np
import tensorflow as tf
from absl import logging

from dopamine_lite import files, plain_data
from dopamine_lite.discrete_domains import environment_state
from dopamine_lite.tf import random_streams
from dopamine_lite.tf.agents.dqn import dqn_agent
from dopamine_lite.tf.replay_memory import circular_replay_buffer

# Attributes of an agent that matter within an episode; `state` is in its bundle.
_AGENT_ATTRIBUTES = ('_observation', '_last_observation', 'action')
_REPLAY_KEYS = ('episode_starts', 'loaded', 'batch')


def filename(checkpoint_dir: str, number: int) -> str:
    """Returns the path of the file that belongs to a checkpoint."""
    return os.path.join(checkpoint_dir, f'resume_state.{number}.json')


def write(checkpoint_dir: str, number: int, state: dict[str, Any]) -> None:
    """Writes what `capture` returned."""
    with files.atomic_write(filename(checkpoint_dir, number)) as file:
        file.write(plain_data.dumps(state))


def read(checkpoint_dir: str, number: int) -> dict[str, Any] | None:
    """Returns what `write` wrote, None if there is no such file (in Dopamine's checkpoints).

    Raises:
      ValueError: the file is damaged.
    """
    path = filename(checkpoint_dir, number)
    try:
        with open(path, 'rb') as file:
            state = plain_data.loads(file.read())
        _check(state)
    except FileNotFoundError:
        return None
    except (
        *(AttributeError, IndexError, KeyError, OverflowError, RecursionError, TypeError),
        ValueError,
    ) as error:
        raise ValueError(f'{os.path.basename(path)}: no state of a run: {error!r}') from error
    return state


def _check(state: Any) -> None:
    """Raises one of several errors if this is not what `capture` returned, as far as can be told.

    `restore` would else fail halfway, with the agent restored already.
    """
    random.Random().setstate(_python_state(state))
    _check_position(state['numpy'])
    np.random.RandomState().set_state(state['numpy'])
    environment = operator.itemgetter('environment')(state)
    if environment is not None and environment.get('generator'):
        _check_position(environment['generator'])
    if state.get('replay') is not None:
        operator.itemgetter(*_REPLAY_KEYS)(state['replay'])
    if state.get('episode'):
        operator.itemgetter('action')(state['episode'])
        operator.itemgetter(*_AGENT_ATTRIBUTES)(state['episode']['agent'])


def _check_position(generator: dict[str, Any]) -> None:
    """Raises one of several errors if a Mersenne Twister would read beside its numbers."""
    if generator['bit_generator'] == 'MT19937':
        position = operator.index(generator['state']['pos'])
        if not 0 <= position <= 624:
            raise ValueError(f'pos must be in [0, 624], got {position}')


def _python_state(state: dict[str, Any]) -> tuple:
    version, words, gauss = state['python']
    return version, tuple(words.tolist()), gauss


def is_own_agent(agent: Any) -> bool:
    """Whether it is one of this package's agents or a subclass, not merely something like one."""
    # Programs replace the class by what need not be one.
    return isinstance(dqn_agent.DQNAgent, type) and isinstance(agent, dqn_agent.DQNAgent)


def memory_of(agent: Any) -> circular_replay_buffer.OutOfGraphReplayBuffer | None:
    """Returns an agent's replay buffer if it is one of this package's, or of a subclass."""
    memory = getattr(getattr(agent, '_replay', None), 'memory', None)
    own = circular_replay_buffer.OutOfGraphReplayBuffer
    return memory if isinstance(own, type) and isinstance(memory, own) else None


def _graph(agent: Any) -> tf.Graph | None:
    session = getattr(agent, '_sess', None)
    return session.graph if isinstance(session, tf.compat.v1.Session) else None


def capture(agent: Any, environment: Any, action: Any, in_episode: bool) -> dict[str, Any]:
    """Returns the state between two iterations, as plain data.

    Args:
      agent: any agent.
      environment: any environment.
      action: what the agent does next, if an episode is under way.
      in_episode: whether one is, and will go on in the next iteration.
    """
    version, words, gauss = random.getstate()
    # An agent of another type keeps to itself what it knows of its episode.
    in_episode = in_episode and is_own_agent(agent)
    state: dict[str, Any] = {
        'python': [version, np.array(words, np.uint32), gauss],
        'numpy': np.random.get_state(legacy=False),
        'environment': environment_state.capture(environment, in_episode),
    }
    graph, memory = _graph(agent), memory_of(agent)
    if graph is not None:
        state['graph'] = random_streams.get_state(graph)
    if memory is not None:
        state['replay'] = {
            'episode_starts': memory._next_experience_is_episode_start,
            'loaded': memory._was_loaded,
            'batch': None if memory._prefetcher is None else memory._prefetcher.pending(),
        }
    if in_episode:
        state['episode'] = {
            'action': action,
            'agent': {name: getattr(agent, name, None) for name in _AGENT_ATTRIBUTES},
        }
    return state


def restore(state: dict[str, Any], agent: Any, environment: Any, goes_on: bool) -> tuple[bool, Any]:
    """Brings everything back that `capture` saw; the agent has been restored from its own files.

    What no longer fits, because a setting was changed, is left as it is, with a warning.

    Args:
      state: from `capture`.
      agent: the agent.
      environment: the environment.
      goes_on: whether the run carries episodes from one iteration to the next.

    Returns:
      (whether an episode goes on, the agent's next action in it).
    """
    try:
        known = environment_state.restore(environment, state['environment'])
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        logging.warning('The state of the environment is not restored: %s', error)
        known = False
    if not known:
        logging.warning(
            'The state of an environment of type %s is not saved whole: a new episode starts, and '
            'the run may differ from one that was not interrupted',
            type(environment).__name__,
        )
    episode = state.get('episode')
    resumed = bool(episode) and known and goes_on and is_own_agent(agent)
    if resumed:
        for name in _AGENT_ATTRIBUTES:
            setattr(agent, name, episode['agent'][name])
    memory, replay = memory_of(agent), state.get('replay')
    if memory is not None and replay is not None:
        # An episode that does not go on was cut here: the buffer's `load` sees to that.
        if resumed or not episode:
            memory._next_experience_is_episode_start = replay['episode_starts']
            memory._was_loaded = replay['loaded']
        if replay['batch'] is not None and memory._prefetcher is not None:
            memory._prefetcher.resume(replay['batch'])
    graph = _graph(agent)
    if graph is not None and 'graph' in state:
        try:
            random_streams.set_state(graph, state['graph'])
        except ValueError as error:
            logging.warning('The random numbers of the graph start anew: %s', error)
    random.setstate(_python_state(state))
    np.random.set_state(state['numpy'])
    return resumed, episode['action'] if resumed else None
