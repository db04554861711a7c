import numpy as np
import tensorflow as tf

from dopamine_lite.tf.replay_memory import prioritized_replay_buffer as prb


def wrapped():
    return prb.WrappedPrioritizedReplayBuffer((3, 2), 2, replay_capacity=20, batch_size=4)


def test_a_run_of_the_session_draws_one_batch():
    replay = wrapped()
    for i in range(15):
        replay.add(np.full((3, 2), i), i, float(i), 0, 1.0)
    assert replay.states.shape == (4, 3, 2, 2)
    assert list(replay.transition) == [
        'state',
        'action',
        'reward',
        'next_state',
        'next_action',
        'next_reward',
        'terminal',
        'indices',
        'sampling_probabilities',
    ]
    with tf.compat.v1.Session() as session:
        got = session.run(replay.transition)
        indices = got['indices']
        # One padding transition comes first, so that index i holds frame i - 1.
        np.testing.assert_array_equal(got['action'], indices - 1)
        np.testing.assert_array_equal(got['state'][:, 0, 0, 1], indices - 1)
        np.testing.assert_array_equal(got['next_state'][:, 0, 0, 1], indices)
        session.run(
            replay.tf_set_priority(np.array([3, 3], np.int32), np.array([2.0, 5.0], np.float32))
        )
        priorities = session.run(replay.tf_get_priority(np.array([3, 0, 4], np.int32)))
        np.testing.assert_array_equal(priorities, [5.0, 0.0, 1.0])
