"""Checkpoints are verified, damaged ones passed over, and none goes before its successor is there."""

import io
import json
import logging as python_logging
import os
import pickle
import re
import resource
import shutil
import subprocess

import fakes
import gin
import numpy as np
import pytest
import tensorflow as tf
from small_runs import RUNS, SMALL, run

from dopamine_lite import files, trained_agent
from dopamine_lite.colab import utils
from dopamine_lite.discrete_domains import (
    checkpoint_sets,
    checkpointer,
    learning_curve,
    resume_state,
    run_experiment,
)
from dopamine_lite.tf.agents.rainbow import rainbow_agent

END = [[(1.0, True, True, False)]]


@pytest.fixture(scope='module')
def finished(tmp_path_factory):
    """The folder of a run with three checkpoints; to be copied, not changed."""
    folder = tmp_path_factory.mktemp('finished')
    run(folder, 3, *RUNS['rainbow'], seed=5)
    gin.clear_config()
    return folder


@pytest.fixture(scope='module')
def agent(finished):
    """An agent as the run's; module-wide, for building one takes long."""
    graph = tf.Graph()
    with graph.as_default():
        gin.parse_config(SMALL)
        made = rainbow_agent.RainbowAgent(None, 2)
        gin.clear_config()
        return made


def resume(folder, agent, **kwargs):
    with agent._sess.graph.as_default():
        return run_experiment.Runner(
            str(folder),
            lambda sess, environment, summary_writer: agent,
            lambda: fakes.TapeEnvironment(END),
            **kwargs,
        )


def names_of(folder, number):
    checkpoints = folder / 'checkpoints'
    return [*checkpointer.files_of(checkpoints, number), checkpointer.manifest_name(number)]


def flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def cut(path):
    path.write_bytes(path.read_bytes()[:-1])


DAMAGES = {'flipped': flip, 'cut': cut, 'removed': os.remove}


@pytest.mark.parametrize('damage', DAMAGES)
def test_each_file_damaged_in_turn(finished, agent, tmp_path, damage, caplog):
    names = names_of(finished, 2)
    assert len(names) == 13
    for name in names:
        folder = tmp_path / name
        shutil.copytree(finished, folder)
        DAMAGES[damage](folder / 'checkpoints' / name)
        caplog.clear()
        with caplog.at_level(python_logging.WARNING, logger='absl'):
            runner = resume(folder, agent)
        if (name, damage) == ('manifest.2.json', 'removed'):
            assert runner._start_iteration == 3  # as in Dopamine's folders, and all else is intact
            continue
        assert runner._start_iteration == 2, name
        assert 'checkpoint 2 is damaged: ' in caplog.text
        if not name.startswith('manifest'):
            said = {'flipped': 'checksum mismatch', 'cut': 'expected', 'removed': 'missing'}[damage]
            assert f'checkpoint 2 is damaged: {name}: {said}' in caplog.text


def test_without_a_manifest_damage_is_found_by_loading(finished, agent, tmp_path, caplog):
    for name in names_of(finished, 2):
        if name.startswith(('manifest', 'resume_state')):
            continue
        folder = tmp_path / name
        shutil.copytree(finished, folder)
        (folder / 'checkpoints' / 'manifest.2.json').unlink()
        cut(folder / 'checkpoints' / name)
        with caplog.at_level(python_logging.WARNING, logger='absl'):
            assert resume(folder, agent)._start_iteration == 2, name


def test_none_intact_is_an_error_that_lists_each(finished, agent, tmp_path):
    folder = tmp_path / 'run'
    shutil.copytree(finished, folder)
    flip(folder / 'checkpoints' / 'ckpt.0')
    cut(folder / 'checkpoints' / 'sum_tree_ckpt.1.gz')
    (folder / 'checkpoints' / 'tf_ckpt-2.index').unlink()
    before = {p: p.read_bytes() for p in folder.rglob('*') if p.is_file()}
    with pytest.raises(RuntimeError) as raised:
        resume(folder, agent)
    message = str(raised.value)
    assert 'checkpoint 0 is damaged: ckpt.0: checksum mismatch' in message
    assert re.search(r'checkpoint 1 is damaged: sum_tree_ckpt\.1\.gz: expected \d+ bytes', message)
    assert 'checkpoint 2 is damaged: tf_ckpt-2.index: missing' in message
    assert '--fresh' in message
    assert {p: p.read_bytes() for p in folder.rglob('*') if p.is_file()} == before


def test_fresh_moves_the_run_aside(finished, tmp_path):
    folder = tmp_path / 'run'
    shutil.copytree(finished, folder)
    (folder / 'notes.txt').write_text('mine')
    for name in ('evaluation.json', 'recording.mp4', 'curves.png'):
        (folder / name).write_text('of the earlier run')
    for number in (1, 2):
        moved = run_experiment.set_aside(str(folder))
        assert moved == str(folder / f'previous_{number}')
        assert sorted(os.listdir(folder)) == [
            'notes.txt',
            *(f'previous_{i}' for i in range(1, number + 1)),
        ]
        shutil.copytree(finished / 'logs', folder / 'logs')
    assert (folder / 'previous_1' / 'checkpoints' / 'ckpt.2').exists()
    assert run_experiment.set_aside(str(tmp_path / 'absent')) is None


def test_a_bound_number_resumes_exactly_that_and_leaves_the_later_ones(finished, tmp_path):
    folder = tmp_path / 'run'
    shutil.copytree(finished, folder)
    back = 'get_latest_checkpoint_number.override_number = 0'
    runner = run(folder, 2, *RUNS['rainbow'], back)
    assert runner._start_iteration == 1
    assert checkpointer.complete_checkpoints(folder / 'checkpoints') == [0, 1]
    assert sorted(os.listdir(folder / 'logs')) == ['log_0', 'log_1']


def test_the_number_may_be_a_macro(finished, tmp_path):
    folder = tmp_path / 'run'
    shutil.copytree(finished, folder)
    back = 'get_latest_checkpoint_number.override_number = %NUMBER'
    run(folder, 2, *RUNS['rainbow'], 'NUMBER = 0', back)
    assert checkpointer.complete_checkpoints(folder / 'checkpoints') == [0, 1]


@pytest.mark.parametrize('position', [-1, 625, 10**9, 1.5])
def test_a_generator_does_not_read_beside_its_numbers(finished, tmp_path, position):
    shutil.copytree(finished, tmp_path / 'run')
    checkpoints = str(tmp_path / 'run' / 'checkpoints')
    state = resume_state.read(checkpoints, 2)
    state['numpy']['state']['pos'] = position
    resume_state.write(checkpoints, 2, state)
    with pytest.raises(ValueError, match=r'resume_state\.2\.json: no state of a run'):
        resume_state.read(checkpoints, 2)


@pytest.mark.parametrize('name', ['r [a]*', 'a[', 'a\\b', 'a?'])
def test_a_folder_whose_name_is_a_pattern(finished, agent, tmp_path, name):
    folder = tmp_path / name
    shutil.copytree(finished, folder)
    assert resume(folder, agent)._start_iteration == 3
    other = shutil.copytree(finished, tmp_path / 'plain')
    weights = agent._sess.run(agent.online_convnet.variables)
    resume(other, agent)
    for a, b in zip(weights, agent._sess.run(agent.online_convnet.variables), strict=True):
        np.testing.assert_array_equal(a, b)


# Settings.


def test_settings_that_do_not_fit_are_refused_with_both_values(finished, tmp_path):
    folder = tmp_path / 'run'
    shutil.copytree(finished, folder)
    before = {p: p.read_bytes() for p in folder.rglob('*') if p.is_file()}
    cases = {
        'WrappedPrioritizedReplayBuffer.replay_capacity = 160': (
            'replay_capacity is 150 in the checkpoint, 160 in the settings'
        ),
        'RainbowAgent.num_atoms = 11': (
            r'the shape of Online/\S* is \[\d+, 102\] in the checkpoint, \[\d+, 22\] in the settings'
        ),
        'RainbowAgent.optimizer = @tf.train.RMSPropOptimizer()': 'a variable of the network is ',
    }
    for binding, message in cases.items():
        with pytest.raises(ValueError, match=message) as raised:
            run(folder, 4, *RUNS['rainbow'], binding, *OPTIMIZER)
        assert isinstance(raised.value, checkpoint_sets.SettingsMismatch)
    assert {p: p.read_bytes() for p in folder.rglob('*') if p.is_file()} == before


OPTIMIZER = ['import gin.tf.external_configurables', 'RMSPropOptimizer.learning_rate = 0.1']


def test_a_replay_of_another_kind(finished, agent, tmp_path):
    checkpoints = shutil.copytree(finished, tmp_path / 'run') / 'checkpoints'
    (checkpoints / 'sum_tree_ckpt.2.gz').unlink()
    message = 'the replay is uniform in the checkpoint, prioritized in the settings'
    with pytest.raises(checkpoint_sets.SettingsMismatch, match=message):
        checkpoint_sets.check_settings(agent, str(checkpoints), 2, None)
    (checkpoints / 'manifest.2.json').unlink()  # then it may be missing
    checkpoint_sets.check_settings(agent, str(checkpoints), 2, None)


def test_a_stack_and_observations_of_another_shape_or_dtype(finished, agent):
    memory = agent._replay.memory
    store = memory._store['observation']
    memory._store['observation'] = np.zeros((150, 2, 2), np.uint8)
    data = {'state': np.zeros((1, 4, 1, 3))}
    try:
        with pytest.raises(checkpoint_sets.SettingsMismatch) as raised:
            checkpoint_sets.check_settings(agent, str(finished / 'checkpoints'), 2, data)
    finally:
        memory._store['observation'] = store
    message = str(raised.value)
    assert 'stack_size is 3 in the checkpoint, 1 in the settings' in message
    assert 'the shape of observation is (4, 1) in the checkpoint, (2, 2) in the sett' in message
    assert 'the dtype of observation is float64 in the checkpoint, uint8 in the sett' in message


# What is kept.


def sets(folder):
    """Which numbers have which files, but for the sentinels."""
    numbers = {}
    for name in os.listdir(folder):
        match = re.search(r'[.-](\d+)(\.(gz|json|index)|)$', name)
        if match and not name.startswith('sentinel') and '.data-' not in name:
            numbers.setdefault(int(match[1]), set()).add(name.replace(match[1], 'N'))
    return numbers


KEPT = {
    'the newest four': ([], 7, [3, 4, 5, 6]),
    'every third': (
        [
            'Checkpointer.keep_every = 3',
            'Checkpointer.checkpoint_duration = 2',
            'OutOfGraphReplayBuffer.checkpoint_duration = 2',
            'DQNAgent.max_tf_checkpoints_to_keep = 2',
        ],
        8,
        [0, 3, 6, 7],
    ),
    'every second due': (['Checkpointer.checkpoint_frequency = 2'], 12, [4, 6, 8, 10]),
    'more than the replay and the saver would': (
        [
            'Checkpointer.checkpoint_duration = 5',
            'OutOfGraphReplayBuffer.checkpoint_duration = 2',
            'DQNAgent.max_tf_checkpoints_to_keep = 1',
        ],
        8,
        [3, 4, 5, 6, 7],
    ),
}


@pytest.mark.parametrize('case', KEPT)
def test_complete_sets_are_kept_and_nothing_else(tmp_path, case):
    bindings, iterations, kept = KEPT[case]
    gin.parse_config([SMALL, *bindings, 'Runner.num_iterations = 100'])
    gin.parse_config("create_agent.agent_name = 'dqn'")
    runner = run_experiment.create_runner(str(tmp_path))
    for iteration in range(iterations):
        runner._checkpoint_experiment(iteration)
    folder = tmp_path / 'checkpoints'
    assert checkpointer.complete_checkpoints(folder) == kept
    found = sets(folder)
    assert sorted(found) == kept
    assert len({frozenset(names) for names in found.values()}) == 1
    for number in kept:
        assert checkpointer.damage(folder, number, f'ckpt.{number}') is None


def test_what_a_killed_process_left_half_written_goes(tmp_path):
    gin.parse_config([SMALL, "create_agent.agent_name = 'dqn'"])
    runner = run_experiment.create_runner(str(tmp_path))
    folder = tmp_path / 'checkpoints'
    left = [
        'tf_ckpt-0.data-00000-of-00001.tempstate13260877338761578505',
        'tf_ckpt-7.index.tempstate12',
        f'.ckpt.0.{"0" * 32}.tmp',
    ]
    mine = ['notes.tmp', '.hidden', 'tempstate.txt']
    for name in [*left, *mine]:
        (folder / name).write_text('half')
    runner._checkpoint_experiment(0)
    assert not {*left} & {*os.listdir(folder)}
    assert {*mine} < {*os.listdir(folder)}
    assert not {*left} & {*json.loads((folder / 'manifest.0.json').read_text())['files']}


def test_nothing_is_deleted_before_its_successor_is_complete(tmp_path, monkeypatch):
    gin.parse_config([SMALL, 'DQNAgent.max_tf_checkpoints_to_keep = 1'])
    gin.parse_config("create_agent.agent_name = 'dqn'\nCheckpointer.checkpoint_duration = 1")
    gin.parse_config('OutOfGraphReplayBuffer.checkpoint_duration = 1')
    runner = run_experiment.create_runner(str(tmp_path))
    runner._checkpoint_experiment(0)
    folder = tmp_path / 'checkpoints'
    write = files.atomic_write

    def write_and_look(path):
        assert checkpointer.damage(folder, 0, 'ckpt.0') is None
        return write(path)

    monkeypatch.setattr(files, 'atomic_write', write_and_look)
    runner._checkpoint_experiment(1)
    assert checkpointer.complete_checkpoints(folder) == [1]


def test_a_checkpoint_that_cannot_be_written(tmp_path, monkeypatch):
    gin.parse_config([SMALL, "create_agent.agent_name = 'dqn'"])
    runner = run_experiment.create_runner(str(tmp_path))
    runner._checkpoint_experiment(0)
    before = sorted(os.listdir(tmp_path / 'checkpoints'))
    calls = []

    def full(path):
        calls.append(path)
        raise OSError(28, 'No space left on device')

    real = files.atomic_write
    for count in range(12):  # at each file in turn
        seen = iter(range(100))
        monkeypatch.setattr(
            files,
            'atomic_write',
            lambda p, seen=seen, n=count: (full if next(seen) == n else real)(p),
        )
        if count == 10:
            break
        with pytest.raises(
            OSError, match='checkpoint 1 could not be written to .*No space left'
        ) as e:
            runner._checkpoint_experiment(1)
        assert str(e.value).endswith('the last checkpoint is 0')
        left = sorted(os.listdir(tmp_path / 'checkpoints'))
        assert left == before
    assert len(calls) == 10


def test_a_limit_on_the_size_of_files(tmp_path):
    gin.parse_config([SMALL, "create_agent.agent_name = 'dqn'"])
    runner = run_experiment.create_runner(str(tmp_path))
    runner._checkpoint_experiment(0)
    before = sorted(os.listdir(tmp_path / 'checkpoints'))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(OSError, match='checkpoint 1 could not be written to '):
            runner._checkpoint_experiment(1)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert sorted(os.listdir(tmp_path / 'checkpoints')) == before
    assert checkpointer.damage(tmp_path / 'checkpoints', 0, 'ckpt.0') is None


@pytest.fixture
def disk(tmp_path):
    """A disk of its own, of 64 MB, where the system lets tests mount one."""
    folder = tmp_path / 'disk'
    folder.mkdir()
    try:
        subprocess.run(
            ['mount', '-t', 'tmpfs', '-o', 'size=64m', 'tmpfs', folder],
            check=True,
            capture_output=True,
        )
    except (OSError, subprocess.CalledProcessError):
        pytest.skip('nothing can be mounted here')
    yield folder
    while os.path.ismount(folder):
        subprocess.run(['umount', '--lazy', folder], check=True)


def test_a_small_disk_fills_up(disk):
    gin.parse_config([SMALL, "create_agent.agent_name = 'dqn'"])
    runner = run_experiment.create_runner(str(disk))
    runner._checkpoint_experiment(0)
    checkpoints = disk / 'checkpoints'
    before = sorted(os.listdir(checkpoints))
    size = sum(path.stat().st_blocks * 512 for path in checkpoints.iterdir())
    page = os.statvfs(disk).f_frsize
    for left in (0, page, size // 3, size * 2 // 3, size * 9 // 10):
        free = os.statvfs(disk).f_bavail * page
        (disk / 'filler').write_bytes(bytes(free - left // page * page))
        with pytest.raises(OSError, match='checkpoint 1 could not be written to ') as error:
            runner._checkpoint_experiment(1)
        assert str(error.value).endswith('the last checkpoint is 0')
        assert sorted(os.listdir(checkpoints)) == before
        assert checkpointer.damage(checkpoints, 0, 'ckpt.0') is None
        (disk / 'filler').unlink()
    runner._checkpoint_experiment(1)
    assert checkpointer.complete_checkpoints(checkpoints) == [0, 1]


def test_a_disk_that_became_read_only(disk):
    gin.parse_config([SMALL, "create_agent.agent_name = 'dqn'"])
    runner = run_experiment.create_runner(str(disk))
    runner._checkpoint_experiment(0)
    before = sorted(os.listdir(disk / 'checkpoints'))
    # Once more in the same place: what is open already may go on writing, new files may not.
    subprocess.run(['mount', '--bind', disk, disk], check=True)
    subprocess.run(['mount', '-o', 'remount,bind,ro', disk], check=True)
    with pytest.raises(OSError, match='could not be written.*Read-only.*the last checkpoint is 0'):
        runner._checkpoint_experiment(1)
    assert sorted(os.listdir(disk / 'checkpoints')) == before
    tf.compat.v1.reset_default_graph()
    with pytest.raises((OSError, ValueError), match='other') as error:
        run_experiment.create_runner(str(disk / 'other'))
    assert 'Read-only' in str(error.value) or 'Unable to create' in str(error.value)
    tf.compat.v1.reset_default_graph()
    with pytest.raises(OSError, match=f'Read-only file system: .*{disk}'):
        run_experiment.create_runner(str(disk))


def test_a_folder_that_is_gone(tmp_path):
    gin.parse_config([SMALL, "create_agent.agent_name = 'dqn'"])
    runner = run_experiment.create_runner(str(tmp_path / 'run'))
    shutil.rmtree(tmp_path / 'run')
    with pytest.raises(OSError, match='could not be written to .*the folder is gone; there is no'):
        runner._checkpoint_experiment(0)
    assert not (tmp_path / 'run').exists()


# Hostile files.


class Evil:
    def __init__(self, witness):
        self.witness = str(witness)

    def __reduce__(self):
        return os.system, (f'touch {self.witness}',)


def pickled(value):
    return pickle.dumps(value)


def array_of_objects(value):
    stream = io.BytesIO()
    np.save(stream, np.array([value], object), allow_pickle=True)
    return stream.getvalue()


def replace(folder, name, content):
    """Replaces a file of checkpoint 2; whoever writes the file writes the manifest too."""
    with files.atomic_write(folder / 'checkpoints' / name) as file:
        if name.endswith('.gz'):
            with files.open_gzip_write(file) as stream:
                stream.write(content)
        else:
            file.write(content)
    checkpointer.Checkpointer(folder / 'checkpoints')._write_manifest(2)


@pytest.mark.parametrize('form', [pickled, array_of_objects])
def test_a_hostile_file_makes_its_checkpoint_a_damaged_one(finished, agent, tmp_path, form, caplog):
    names = [n for n in names_of(finished, 2) if n == 'ckpt.2' or n.endswith('.gz')]
    assert len(names) == 9
    for name in names:
        folder, witness = tmp_path / name, tmp_path / 'witness'
        shutil.copytree(finished, folder)
        replace(folder, name, form(Evil(witness)))
        caplog.clear()
        with caplog.at_level(python_logging.WARNING, logger='absl'):
            assert resume(folder, agent)._start_iteration == 2, name
        assert 'checkpoint 2 is damaged: ' in caplog.text
        if form is pickled:
            said = rf'checkpoint 2 is damaged: .*{re.escape(name)}.*posix\.system'
            assert re.search(said, caplog.text)
        assert not witness.exists()


def test_a_forged_file_of_the_network_makes_its_checkpoint_a_damaged_one(
    finished, agent, tmp_path, caplog
):
    """Strings in the place of numbers, under the right names and of the right shapes."""
    shutil.copytree(finished, tmp_path / 'run')
    prefix = tmp_path / 'run' / 'checkpoints' / 'tf_ckpt-2'
    shapes = tf.train.load_checkpoint(str(prefix)).get_variable_to_shape_map()
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        forged = [tf.fill(shape, '__import__("os")') for shape in shapes.values()]
        session.run(
            tf.raw_ops.SaveV2(
                prefix=str(prefix),
                tensor_names=[*shapes],
                shape_and_slices=[''] * len(shapes),
                tensors=forged,
            )
        )
    prefix.with_name('manifest.2.json').unlink()
    with caplog.at_level(python_logging.WARNING, logger='absl'):
        assert resume(tmp_path / 'run', agent)._start_iteration == 2
    assert 'checkpoint 2 is damaged: ' in caplog.text


def test_hostile_files_are_refused_by_whoever_reads_them(finished, tmp_path):
    folder, witness = tmp_path / 'run', tmp_path / 'witness'
    shutil.copytree(finished, folder)
    replace(folder, 'ckpt.2', pickled(Evil(witness)))
    assert trained_agent.load(str(folder)).iteration == 1
    for path in (folder / 'logs').iterdir():
        path.write_bytes(pickled(Evil(witness)))
    baselines = tmp_path / 'baselines' / 'dqn' / 'Pong.pkl'
    baselines.parent.mkdir(parents=True)
    baselines.write_bytes(pickled(Evil(witness)))
    logs = str(folder / 'logs')
    for error, read in (
        (pickle.UnpicklingError, lambda: utils.load_statistics(logs, verbose=False)),
        (pickle.UnpicklingError, lambda: utils.read_experiment(logs)),
        (pickle.UnpicklingError, lambda: utils.load_baselines(str(tmp_path / 'baselines'))),
        (learning_curve.NoCurve, lambda: learning_curve.draw(str(folder))),
    ):
        with pytest.raises(error, match=r'posix\.system'):
            read()
    assert not witness.exists()


# Of checkpoint 2: what its runner's own files might hold.
NONSENSE = {
    'ckpt.2': [
        *map(
            pickled, (None, [1], {}, {'current_iteration': 'x'}, {'current_iteration': np.ones(2)})
        ),
        pickled({'current_iteration': 2, 'logs': [1]}),
    ],
    'resume_state.2.json': [
        *(b'', b'[]', b'{}', b'{"python": 1, "numpy": {}, "environment": {}}'),
        b'{"python": [3, {"$array": ["<u4", [1], "AAAAAA=="]}, null], "numpy": {}}',
        b'[' * 100_000,
    ],
}


@pytest.mark.parametrize('name', NONSENSE)
def test_nonsense_makes_its_checkpoint_a_damaged_one(finished, agent, tmp_path, name, caplog):
    for number, content in enumerate(NONSENSE[name]):
        folder = tmp_path / str(number)
        shutil.copytree(finished, folder)
        replace(folder, name, content)
        caplog.clear()
        with caplog.at_level(python_logging.WARNING, logger='absl'):
            assert resume(folder, agent)._start_iteration == 2
        assert 'checkpoint 2 is damaged: ' in caplog.text


MANIFESTS = {
    'no json': '{',
    'a list': '[]',
    'without files': '{}',
    'empty': '{"files": {}}',
    'of another folder': '{"files": {"ckpt.0": {"size": 1, "sha256": ""}, "../x": {}}}',
    'deep': '[' * 100_000,
    'of infinite size': '{"files": {"ckpt.0": {"size": 1e999, "sha256": ""}}}',
}


@pytest.mark.parametrize('case', MANIFESTS)
def test_a_damaged_manifest_is_a_damaged_checkpoint(tmp_path, case):
    writer = checkpointer.Checkpointer(tmp_path)
    writer.save_checkpoint(0, 'data')
    assert writer.damage(0) is None
    (tmp_path / 'manifest.0.json').write_text(MANIFESTS[case])
    assert writer.damage(0) is not None


def test_a_manifest_names_no_file_elsewhere(tmp_path):
    (tmp_path / 'outside').write_bytes(b'x')
    writer = checkpointer.Checkpointer(tmp_path / 'run')
    writer.save_checkpoint(0, 'data')
    manifest = json.loads((tmp_path / 'run' / 'manifest.0.json').read_text())
    manifest['files']['../outside'] = {'size': 1, 'sha256': '00'}
    (tmp_path / 'run' / 'manifest.0.json').write_text(json.dumps(manifest))
    assert writer.damage(0) == '../outside: missing'


def test_an_agent_without_files_of_this_package(tmp_path):
    checkpoint_sets.check_settings(fakes.TapeAgent(), str(tmp_path), 0, {})
    with checkpoint_sets.keeping_everything(fakes.TapeAgent()):
        pass
