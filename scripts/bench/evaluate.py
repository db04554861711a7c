"""Times `dopamine-lite evaluate` to its first agent step on Atari, and its memory.

    python scripts/bench/evaluate.py [--base_dir RUN] [--repeats 3] [--json evaluate.json]

Without a run it trains a few steps of `rainbow.gin`, whose replay has a capacity of 1,000,000. Beside
it, the import of TensorFlow alone; the first of each, which fills the caches on disk, is not counted.
"""

import os
import subprocess
import sys
import tempfile
import time

import measure
import numpy as np

_COMMAND = [sys.executable, '-m', 'dopamine_lite.cli']
_IMPORT = [sys.executable, '-c', 'import tensorflow; print("imported", flush=True)']
_FEW_STEPS = (
    *('--gin_files=rainbow.gin', '--gin_bindings=Runner.num_iterations = 1'),
    *('--gin_bindings=Runner.training_steps = 50', '--gin_bindings=Runner.evaluation_steps = 0'),
    *('--gin_bindings=Runner.max_steps_per_episode = 50', '--seed=1'),
)
_ONE_STEP = ('--episodes=1', '--gin_bindings=Runner.max_steps_per_episode = 1', '--seed=1')


def cost(arguments, ready=b''):
    """Returns what a process took.

    Args:
      arguments: the command.
      ready: how the line starts that says that the process is ready.

    Returns:
      Seconds to that line, seconds to the end, seconds of processor, the peak memory in bytes.
    """
    start = time.perf_counter()
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    output, seconds = b'', None
    for line in process.stdout:
        output += line
        if seconds is None and line.startswith(ready):
            seconds = time.perf_counter() - start
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0 and seconds, output[-2000:]
    whole = time.perf_counter() - start
    return seconds, whole, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def main():
    parser = measure.parser(__doc__)
    parser.add_argument('--base_dir', help='a run on Atari')
    parser.add_argument('--repeats', type=int, default=3, help='timed starts of each')
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        base_dir = arguments.base_dir or os.path.join(folder, 'pong')
        if arguments.base_dir is None:
            cost([*_COMMAND, 'train', f'--base_dir={base_dir}', *_FEW_STEPS])
        output = os.path.join(folder, 'evaluation.json')
        commands = {
            'import tensorflow': (_IMPORT, b'imported'),
            'evaluate': (
                [*_COMMAND, 'evaluate', base_dir, f'--output={output}', *_ONE_STEP],
                b'episode 1:',
            ),
        }
        costs = {name: [] for name in commands}
        for _ in range(arguments.repeats + 1):
            for name, (command, ready) in commands.items():
                costs[name].append(cost(command, ready))
    figures = {}
    for name, rows in costs.items():
        seconds, whole, processor, peak = np.median(rows[1:], axis=0).tolist()
        figures[name] = {
            'seconds': seconds,
            'seconds_to_the_end': whole,
            'processor_seconds': processor,
            'peak_bytes': peak,
        }
        print(
            f'{name:20}{seconds:6.2f} s, to its end {whole:.2f} s, {processor:.2f} s of processor, '
            f'{peak / 1e6:.0f} MB'
        )
    measure.finish(figures, arguments.json)
    return 0


if __name__ == '__main__':
    sys.exit(main())
