"""Times the start of the trainer to its first agent step, beside importing TensorFlow alone.

    python scripts/bench/startup.py [--config dqn_cartpole] [--repeats 5] [--json startup.json]

Each is a process of its own; the first of each, which fills the caches on disk, is not counted.
"""

import os
import subprocess
import sys
import tempfile
import time

import measure
import numpy as np

os.environ['TF_CPP_MIN_LOG_LEVEL'] = '2'

# The trainer, ended by its first agent step.
_TRAINER = """
import os, sys
from dopamine_lite.discrete_domains import train
def stop_at_first_step():
    from dopamine_lite.tf.agents.dqn import dqn_agent
    step = dqn_agent.DQNAgent.step
    def stop(self, reward, observation):
        step(self, reward, observation)
        print('stepped', flush=True)
        os._exit(0)
    dqn_agent.DQNAgent.step = stop
    return create_runner()
create_runner, train._create_runner = train._create_runner, stop_at_first_step
sys.exit(train.run(['train', '--base_dir=' + sys.argv[1], '--gin_files=' + sys.argv[2] + '.gin']))
"""


def seconds(program, *arguments):
    start = time.perf_counter()
    result = subprocess.run(
        [sys.executable, '-c', program, *arguments], capture_output=True, text=True, check=False
    )
    elapsed = time.perf_counter() - start
    assert result.returncode == 0, result.stderr[-2000:]
    return elapsed, result.stdout


def main():
    parser = measure.parser(__doc__)
    parser.add_argument('--config', default='dqn_cartpole', help='name of a gin file')
    parser.add_argument('--repeats', type=int, default=5, help='timed starts of each')
    arguments = parser.parse_args()
    times = {'import tensorflow': [], 'first agent step': []}
    for _ in range(arguments.repeats + 1):
        times['import tensorflow'].append(seconds('import tensorflow')[0])
        with tempfile.TemporaryDirectory() as folder:
            elapsed, output = seconds(_TRAINER, folder, arguments.config)
        assert 'stepped' in output, output
        times['first agent step'].append(elapsed)
    medians = {name: float(np.median(values[1:])) for name, values in times.items()}
    beyond = medians['first agent step'] - medians['import tensorflow']
    for name, value in medians.items():
        print(f'{name:20}{value:6.2f} s')
    print(f'{beyond:.2f} s beyond the import of TensorFlow')
    figures = {'config': arguments.config, 'median_seconds': medians, 'beyond_import': beyond}
    measure.finish(figures, arguments.json)
    return 0


if __name__ == '__main__':
    sys.exit(main())
