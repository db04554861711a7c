"""One seed makes a run repeatable, and a resumed run keeps it."""

import json
import random
from unittest import mock

import fakes
import numpy as np
import pytest
import tensorflow as tf

from dopamine_lite.discrete_domains import run_experiment


def make(base_dir, seed=None, agent=None, **settings):
    return run_experiment.Runner(
        str(base_dir),
        lambda sess, environment, summary_writer: agent or fakes.TapeAgent(),
        lambda: fakes.TapeEnvironment([[(1.0, True, True, False)]]),
        num_iterations=1,
        training_steps=1,
        evaluation_steps=0,
        seed=seed,
        **settings,
    )


def draws():
    return (random.random(), np.random.random(), tf.compat.v1.get_default_graph().seed)


def test_a_seed_seeds_every_generator(tmp_path):
    make(tmp_path / 'a', 7)
    first = draws()
    make(tmp_path / 'b', 7)
    assert draws() == first
    make(tmp_path / 'c', 8)
    assert draws() != first
    assert first[2] == 7


def test_generators_are_seeded_before_the_environment_and_the_agent_are_made(tmp_path):
    seen = []

    def create(*args, **kwargs):
        seen.append(draws())
        return mock.MagicMock()

    for folder in 'ab':
        run_experiment.Runner(str(tmp_path / folder), create, create, seed=7)
    assert seen[:2] == seen[2:]


def test_without_a_seed_the_generators_stay_as_they_are(tmp_path):
    random.seed(1)
    np.random.seed(1)
    expected = (random.getstate(), np.random.get_state()[1].tolist())
    make(tmp_path)
    assert (random.getstate(), np.random.get_state()[1].tolist()) == expected
    assert tf.compat.v1.get_default_graph().seed is None


def test_a_run_keeps_its_seed(tmp_path):
    make(tmp_path, 7).run_experiment()
    runner = make(tmp_path)
    assert runner._seed == 7
    runner._num_iterations = 2
    runner.run_experiment()
    assert make(tmp_path, np.int64(7))._seed == 7
    with pytest.raises(ValueError, match='began with 7, got 8'):
        make(tmp_path, 8)
    starts = json.loads((tmp_path / 'run.json').read_text())
    assert [start['seed'] for start in starts] == [7, 7]


@pytest.mark.parametrize('seed', [-1, 2**32, 1.0, 'x', np.nan])
def test_what_is_no_seed(tmp_path, seed):
    with pytest.raises(ValueError, match=r'seed must be a whole number in \[0, 2\^32\)'):
        make(tmp_path / 'run', seed)
    assert not (tmp_path / 'run').exists()


@pytest.mark.parametrize('record', ['', '{}', '[1]', '[{"seed": "x"}]', '[{"seed": true}]'])
def test_a_record_without_a_seed(tmp_path, record):
    (tmp_path / 'run.json').write_text(record)
    assert make(tmp_path, 3)._seed == 3
