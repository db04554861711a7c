from dopamine_lite.utils import test_utils


def test_the_mock_replay_records_and_stores_nothing():
    replay = test_utils.MockReplayBuffer()
    replay.add(1, 2, 3, False)
    replay.add.assert_called_once_with(1, 2, 3, False)
    assert replay.memory.add_count == 0
    assert not hasattr(replay, 'add_count')
    assert test_utils.MockReplayBuffer(is_jax=True).add_count == 0
