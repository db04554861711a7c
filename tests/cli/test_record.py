"""A run is recorded, and what cannot be is said in one line."""

import sys

import cv2
import numpy as np
import pytest
import small_runs
from gymnasium.envs.classic_control import cartpole

from dopamine_lite import drawing
from dopamine_lite.cli import main


@pytest.fixture(scope='module')
def base_dir(tmp_path_factory):
    """A short run of Rainbow on CartPole."""
    folder = tmp_path_factory.mktemp('rainbow')
    small_runs.run(folder, 1, "create_agent.agent_name = 'rainbow'")
    return folder


def frames(path):
    capture = cv2.VideoCapture(str(path))
    found = []
    while True:
        is_frame, frame = capture.read()
        if not is_frame:
            return found
        found.append(frame)


def test_a_run_is_recorded_for_as_many_steps_as_asked_for(base_dir, tmp_path, capsys):
    assert main.main(['record', str(base_dir), '--steps=12', '--seed=3']) == 0
    printed = capsys.readouterr().out
    assert f'Recording: {base_dir / "recording.mp4"}' in printed
    assert 'Rainbow on CartPole-v1, checkpoint 0, seed 3\n12 agent steps' in printed
    recorded = frames(base_dir / 'recording.mp4')
    games_over = 0 if 'none finished' in printed else printed.count(',') - 2
    assert len(recorded) >= 12 + games_over
    assert recorded[0].shape == (drawing.HEIGHT, drawing.WIDTH, 3)
    left, top, width, height = drawing._GAME_BOX
    game = recorded[0][top : top + height, left : left + width]
    assert (game < 50).all(axis=-1).sum() > 300  # the cart is black
    assert (recorded[0] != recorded[-1]).any()
    # The same seed gives the same frames, up to what the encoder makes of them.
    again = tmp_path / 'again.mp4'
    assert main.main(['record', str(base_dir), '--steps=4', '--seed=3', f'--output={again}']) == 0
    np.testing.assert_allclose(np.mean(frames(again)[3]), np.mean(recorded[3]), atol=0.05)


def test_a_gif_is_written_in_its_place(base_dir, tmp_path):
    output = tmp_path / 'short.gif'
    assert main.main(['record', str(base_dir), '--steps=3', '--gif', f'--output={output}']) == 0
    assert output.read_bytes()[:6] == b'GIF89a'
    assert len(frames(output)) >= 3


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        (['--steps=0'], '--steps must be at least 1, got 0'),
        (['--output={tmp}/film.avi'], '{tmp}/film.avi must end in .mp4 or .gif'),
        (['--output={tmp}/film.mp4', '--gif'], 'with --gif the output must end in .gif'),
        (['--checkpoint=7'], 'there is no checkpoint 7 in'),
    ],
)
def test_mistakes_are_one_line(base_dir, arguments, message, tmp_path, capsys):
    arguments = [argument.format(tmp=tmp_path) for argument in arguments]
    assert main.main(['record', str(base_dir), *arguments]) == 1
    error = capsys.readouterr().err
    assert error.startswith('record: ' + message.format(tmp=tmp_path)) and error.count('\n') == 1


def test_an_empty_folder_is_one_line(tmp_path, capsys):
    assert main.main(['record', str(tmp_path)]) == 1
    error = capsys.readouterr().err
    assert 'holds no complete checkpoint of a run' in error and error.count('\n') == 1


def test_an_environment_that_cannot_be_drawn_is_one_line(base_dir, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(cartpole.CartPoleEnv.metadata, 'render_modes', ['human'])
    output = tmp_path / 'film.mp4'
    assert main.main(['record', str(base_dir), f'--output={output}']) == 1
    error = capsys.readouterr().err
    assert error == (
        "record: CartPole-v1 cannot be drawn: it has no render mode 'rgb_array', but only human\n"
    )
    assert not output.exists()


def test_without_the_encoder_it_is_said_before_anything_slow(base_dir, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, 'imageio_ffmpeg', None)
    assert main.main(['record', str(base_dir)]) == 1
    error = capsys.readouterr().err
    assert 'pip install "dopamine_lite[video]"' in error and error.count('\n') == 1
