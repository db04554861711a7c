"""Signals, kills and second processes.

With DOPAMINE_LITE_SLOW_TESTS=1 30 runs are killed, otherwise one;
`scripts/bench/kill_and_resume.py` kills 200.
"""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import fakes
import pytest

from dopamine_lite.discrete_domains import checkpointer, run_experiment, run_lock, stopping

ROOT = Path(__file__).parents[2]
KILLS = 30 if os.environ.get('DOPAMINE_LITE_SLOW_TESTS') else 1


class SignallingEnvironment(fakes.TapeEnvironment):
    """Sends this process signals at its fifth step."""

    def __init__(self, *signals):
        super().__init__([[(1.0, False, False, False)] * 3 + [(1.0, True, True, False)]])
        self.signals = signals
        self.steps = 0

    def step(self, action):
        self.steps += 1
        if self.steps == 5:
            for signum in self.signals:
                os.kill(os.getpid(), signum)
        return super().step(action)


def make(base_dir, environment, **kwargs):
    return run_experiment.Runner(
        str(base_dir),
        lambda sess, env, summary_writer: fakes.TapeAgent(),
        lambda: environment,
        **{'num_iterations': 3, 'training_steps': 4, 'evaluation_steps': 0, **kwargs},
    )


@pytest.mark.parametrize(
    'signum, raised', [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, SystemExit)]
)
def test_a_signal_stops_between_two_steps(tmp_path, signum, raised):
    environment = SignallingEnvironment(signum)
    runner = make(tmp_path, environment)
    closed = []
    runner._collector_dispatcher.close = lambda: closed.append(True)
    handlers = [signal.getsignal(s) for s in (signal.SIGINT, signal.SIGTERM)]
    with pytest.raises(raised) as error:
        runner.run_experiment()
    if raised is SystemExit:
        assert error.value.code == 143
    assert environment.steps == 5
    assert runner._agent.tape[-1] == ('step', 1.0, 1)  # the step was finished
    assert closed == [True]
    assert checkpointer.complete_checkpoints(tmp_path / 'checkpoints') == [0]
    assert [signal.getsignal(s) for s in (signal.SIGINT, signal.SIGTERM)] == handlers
    assert make(tmp_path, environment)._start_iteration == 1


def test_a_second_signal_stops_at_once(tmp_path):
    environment = SignallingEnvironment(signal.SIGINT, signal.SIGINT)
    runner = make(tmp_path, environment)
    with pytest.raises(KeyboardInterrupt):
        runner.run_experiment()
    assert runner._agent.tape[-1][0] == 'begin'  # the step was not finished


def test_a_signal_while_a_checkpoint_is_written_waits_for_it(tmp_path):
    runner = make(tmp_path, SignallingEnvironment())
    bundle = runner._agent.bundle_and_checkpoint

    def signalled(folder, number):
        os.kill(os.getpid(), signal.SIGTERM)
        return bundle(folder, number)

    runner._agent.bundle_and_checkpoint = signalled
    with pytest.raises(SystemExit):
        runner.run_experiment()
    assert checkpointer.complete_checkpoints(tmp_path / 'checkpoints') == [0]


def test_signals_that_the_program_handles_are_its_own():
    mine = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with stopping.between_steps():
            os.kill(os.getpid(), signal.SIGTERM)
            stopping.check()
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, mine)


def test_off_the_main_thread_nothing_is_done():
    done = []

    def work():
        with stopping.between_steps():
            stopping.check()
            done.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == [True]


# The lock.

HOLD = """
import sys, time
from dopamine_lite.discrete_domains import run_lock
with run_lock.lock(sys.argv[1]):
    print('held', flush=True)
    time.sleep(60)
"""


def hold(folder):
    process = subprocess.Popen(
        [sys.executable, '-c', HOLD, str(folder)],
        env={**os.environ, 'PYTHONPATH': str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == 'held\n'
    return process


def test_a_second_process_is_refused_and_a_killed_one_leaves_no_lock(tmp_path):
    runner = make(tmp_path, SignallingEnvironment())
    process = hold(tmp_path)
    try:
        make(tmp_path, SignallingEnvironment())  # does not train
        before = sorted(tmp_path.rglob('*'))
        with pytest.raises(RuntimeError, match=f'another process is training in {tmp_path}'):
            runner.run_experiment()
        with pytest.raises(RuntimeError, match='another process'):
            run_experiment.set_aside(str(tmp_path))
        assert sorted(tmp_path.rglob('*')) == before
    finally:
        process.kill()
        process.wait()
    runner.run_experiment()
    assert not [p for p in tmp_path.iterdir() if 'lock' in p.name]


def test_the_same_process_may_hold_it_twice(tmp_path):
    with run_lock.lock(str(tmp_path)), run_lock.lock(str(tmp_path)):
        pass
    process = hold(tmp_path)  # given back
    process.kill()
    process.wait()


def test_a_forked_child_does_not_keep_the_lock(tmp_path):
    with run_lock.lock(str(tmp_path)):
        child = os.fork()
        if not child:
            time.sleep(30)
            os._exit(0)
    try:
        process = hold(tmp_path)
        process.kill()
        process.wait()
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_a_run_that_went_on_elsewhere(tmp_path):
    first, second = (make(tmp_path, SignallingEnvironment()) for _ in range(2))
    first.run_experiment()
    with pytest.raises(RuntimeError, match='went on while this runner was made'):
        second.run_experiment()


# Programs.


def test_sigterm_ends_the_command_with_143(tmp_path):
    process = subprocess.Popen(
        [
            *(sys.executable, '-m', 'dopamine_lite.discrete_domains.train', '--base_dir=run'),
            *('--gin_files=dqn_cartpole.gin', '--gin_bindings=Runner.training_steps = 100'),
        ],
        cwd=tmp_path,
        env={**os.environ, 'PYTHONPATH': str(ROOT)},
        stderr=subprocess.PIPE,
        text=True,
    )
    while process.poll() is None and not (tmp_path / 'run' / 'run.json').exists():
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 143
    assert re.match(r'Interrupted\. To go on .*, run the same command: ', error.splitlines()[-1])
    assert 'Traceback' not in error


def test_killed_runs_resume_identically():
    result = subprocess.run(
        [sys.executable, 'scripts/bench/kill_and_resume.py', f'--kills={KILLS}'],
        cwd=ROOT,
        env={**os.environ, 'PYTHONPATH': str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
        timeout=3600,
    )
    assert result.returncode == 0, result.stdout
    assert f'{KILLS} of {KILLS} kills resumed identically' in result.stdout
