"""The files of an agent that belong to one checkpoint: whether they fit, and when they may go.

The agent's saver and its replay buffer each delete what they find too old while they write, before
it is known that the new checkpoint will be complete. Under a runner they delete nothing; it does so
for them once the sentinel is there, and leaves every complete checkpoint whole.
"""

import contextlib
import glob
import os
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from dopamine_lite import files
from dopamine_lite.discrete_domains import checkpointer, legacy_networks, resume_state
from dopamine_lite.tf.replay_memory import circular_replay_buffer


class SettingsMismatch(ValueError):
    """A checkpoint was written with settings that its reader does not have."""


def _saver_of(agent: Any) -> tf.compat.v1.train.Saver | None:
    saver = getattr(agent, '_saver', None)
    return saver if isinstance(saver, tf.compat.v1.train.Saver) else None


@contextlib.contextmanager
def keeping_everything(agent: Any) -> Iterator[None]:
    """Lets an agent write a checkpoint without deleting an older one."""
    saver, memory = _saver_of(agent), resume_state.memory_of(agent)
    with contextlib.ExitStack() as stack:
        if saver is not None and saver.saver_def.max_to_keep:
            stack.callback(_set_max_to_keep, saver, saver.saver_def.max_to_keep)
            _set_max_to_keep(saver, 2**31 - 1)
        if memory is not None:
            stack.callback(setattr, memory, '_checkpoint_duration', memory._checkpoint_duration)
            memory._checkpoint_duration = 2**62
        yield


def _set_max_to_keep(saver: tf.compat.v1.train.Saver, count: int) -> None:
    saver.saver_def.max_to_keep = count


def sweep(agent: Any, checkpoint_dir: str, newest: int, complete: Sequence[int]) -> None:
    """Deletes what the agent's saver and replay buffer would have, but for complete checkpoints.

    Args:
      agent: the agent.
      checkpoint_dir: the folder.
      newest: the number of the checkpoint that was written last.
      complete: the numbers of all complete ones.
    """
    sweep_saver(agent, checkpoint_dir, complete)
    memory = resume_state.memory_of(agent)
    if memory is None:
        return
    for name in memory._return_checkpointable_elements():
        pattern = re.compile(re.escape(f'{name}_ckpt.') + r'(\d+)\.gz')
        for match in filter(None, map(pattern.fullmatch, os.listdir(checkpoint_dir))):
            number = int(match[1])
            spared = memory._keep_every is not None and number % memory._keep_every == 0
            stale = number <= newest - memory._checkpoint_duration
            if stale and not spared and number not in complete:
                os.remove(os.path.join(checkpoint_dir, match[0]))


def sweep_saver(agent: Any, checkpoint_dir: str, complete: Sequence[int]) -> None:
    """Deletes the saver's surplus files, those of runs before this process too.

    A new saver knows nothing of them and would let them pile up.
    """
    saver = _saver_of(agent)
    if saver is None or not saver.saver_def.max_to_keep:
        return
    found = map(re.compile(r'tf_ckpt-(\d+)\.index').fullmatch, os.listdir(checkpoint_dir))
    numbers = sorted(int(match[1]) for match in found if match)
    newest = numbers[-saver.saver_def.max_to_keep :]
    kept = [n for n in numbers if n in newest or n in complete]
    path = os.path.join(checkpoint_dir, 'tf_ckpt-')
    for number in set(numbers) - set(kept):
        for filename in glob.glob(f'{glob.escape(path)}{number}.*'):
            os.remove(filename)
    saver.set_last_checkpoints_with_time(
        [(f'{path}{n}', os.path.getmtime(f'{path}{n}.index')) for n in kept]
    )


def discard(checkpoint_dir: str, number: int, data_filename: str) -> None:
    """Deletes what was written of a checkpoint that failed, as far as that is possible.

    Args:
      checkpoint_dir: the folder.
      number: of the checkpoint.
      data_filename: the path of the runner's own file.
    """
    paths = [
        data_filename,
        resume_state.filename(checkpoint_dir, number),
        os.path.join(checkpoint_dir, checkpointer.manifest_name(number)),
    ]
    for pattern in (f'tf_ckpt-{number}.*', f'*_ckpt.{number}.gz'):
        paths += glob.glob(os.path.join(glob.escape(checkpoint_dir), pattern))
    for path in paths:
        with contextlib.suppress(OSError):
            os.remove(path)


def check_settings(agent: Any, checkpoint_dir: str, number: int, data: Any) -> None:
    """Compares a checkpoint with the settings of an agent of this package, before it is loaded.

    Raises:
      SettingsMismatch: the replay's capacity, observations or other stored elements, the stack or
        the network are not those of the agent; says both values of each.
    """
    if not resume_state.is_own_agent(agent):
        return
    differing = [
        *_stack_mismatches(agent, data),
        *_replay_mismatches(agent, checkpoint_dir, number),
        *_network_mismatches(agent, os.path.join(checkpoint_dir, f'tf_ckpt-{number}')),
    ]
    if differing:
        raise SettingsMismatch(
            f'checkpoint {number} in {checkpoint_dir} was written with other settings: '
            f'{"; ".join(differing)}. Nothing was changed; --fresh or another base_dir starts anew'
        )


def _mismatch(what: str, saved: Any, set_to: Any) -> str:
    return f'{what} is {saved} in the checkpoint, {set_to} in the settings'


def _stack_mismatches(agent: Any, data: Any) -> Iterator[str]:
    saved = data.get('state') if isinstance(data, dict) else None
    if isinstance(saved, np.ndarray) and isinstance(agent.state, np.ndarray):
        if saved.ndim and saved.shape[-1:] != agent.state.shape[-1:]:
            yield _mismatch('stack_size', saved.shape[-1], agent.state.shape[-1])


def _replay_mismatches(agent: Any, checkpoint_dir: str, number: int) -> Iterator[str]:
    memory = resume_state.memory_of(agent)
    if memory is None:
        return
    capacities = set()
    for name, array in memory._store.items():
        prefix = circular_replay_buffer.STORE_FILENAME_PREFIX
        path = memory._generate_filename(checkpoint_dir, prefix + name, number)
        try:
            with files.open_gzip_read(path) as stream:
                shape, dtype = files.read_array_header(stream)
        except (OSError, ValueError, EOFError):
            continue  # missing or damaged, which loading it tells
        if shape[:1] != array.shape[:1]:
            capacities.add((shape[0] if shape else None, array.shape[0]))
        if shape[1:] != array.shape[1:]:
            yield _mismatch(f'the shape of {name}', shape[1:], array.shape[1:])
        if dtype != array.dtype:
            yield _mismatch(f'the dtype of {name}', dtype, array.dtype)
    for saved, set_to in sorted(capacities):
        yield _mismatch('replay_capacity', saved, set_to)
    path = memory._generate_filename(checkpoint_dir, 'sum_tree', number)
    manifest = os.path.join(checkpoint_dir, checkpointer.manifest_name(number))
    # With a manifest nothing of a checkpoint is merely missing.
    if hasattr(memory, 'sum_tree') and os.path.exists(manifest) and not os.path.exists(path):
        yield _mismatch('the replay', 'uniform', 'prioritized')


def saved_variables(agent: Any) -> dict[str, tf.Variable]:
    """Returns the variables that an agent's checkpoints hold, by their names in them."""
    with agent._sess.graph.as_default():
        every = tf.compat.v1.global_variables()
    # What a subclass makes after its parent's constructor is not saved.
    own = getattr(_saver_of(agent), '_var_list', None) or every
    if not isinstance(own, dict):
        own = legacy_networks.maybe_transform_variable_names(list(own))
    return own if isinstance(own, dict) else {v.op.name: v for v in own}


def _network_mismatches(agent: Any, path: str) -> Iterator[str]:
    if _saver_of(agent) is None or not os.path.exists(f'{path}.index'):
        return
    try:
        with files.without_wildcards(path) as literal_path:
            saved = tf.train.load_checkpoint(literal_path).get_variable_to_shape_map()
    except (tf.errors.OpError, ValueError, RuntimeError):
        return  # damaged, which loading it tells
    named = saved_variables(agent)
    missing = [name for name in named if name not in saved]
    if missing:
        surplus = sorted(set(saved) - set(named))
        yield _mismatch('a variable of the network', surplus[0] if surplus else None, missing[0])
    yield from shape_mismatches(named, saved)


def shape_mismatches(named: dict[str, tf.Variable], saved: dict[str, list[int]]) -> Iterator[str]:
    """Says both shapes of a variable whose shape in a checkpoint, `saved`, is another.

    Another network differs in many: the first tells which, and the others are only counted.
    """
    shapes = {name: variable.shape.as_list() for name, variable in named.items()}
    differing = [name for name in shapes if name in saved and shapes[name] != saved[name]]
    if differing:
        first = differing[0]
        yield _mismatch(f'the shape of {first}', saved[first], shapes[first])
    if differing[1:]:
        yield f'other shapes that differ: {len(differing) - 1}'
