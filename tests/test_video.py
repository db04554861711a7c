"""Frames go in, the same frames come out of the file; or no file is left."""

import os
import sys

import cv2
import numpy as np
import pytest

from dopamine_lite import video

FRAMES = [np.full((33, 46, 3), (shade, 40, 200), np.uint8) for shade in (0, 80, 160, 240)]


def write(path, frames=FRAMES):
    with video.writer(path, 10) as film:
        for frame in frames:
            film.add(frame)


def read(path):
    capture = cv2.VideoCapture(str(path))
    frames = []
    while True:
        found, frame = capture.read()
        if not found:
            return frames
        frames.append(frame[..., ::-1])


@pytest.mark.parametrize('name', ['film.mp4', 'film.gif'])
def test_frames_are_kept_in_their_order_and_colours(name, tmp_path):
    write(tmp_path / name)
    frames = read(tmp_path / name)
    assert len(frames) == len(FRAMES)
    for frame, expected in zip(frames, FRAMES, strict=True):
        # H.264 pads an odd height, and blends the colours of the last row with the padding's.
        difference = frame[:32, :46].astype(int) - expected[:32]
        assert np.abs(difference).max() <= 16
    assert os.listdir(tmp_path) == [name]


def test_the_playback_rate_is_the_one_asked_for(tmp_path):
    write(tmp_path / 'film.mp4')
    assert cv2.VideoCapture(str(tmp_path / 'film.mp4')).get(cv2.CAP_PROP_FPS) == 10


@pytest.mark.parametrize(
    ('frames', 'message'),
    [
        ([], 'at least one frame'),
        ([FRAMES[0], FRAMES[1][:30]], r'one shape, got \(33, 46, 3\) and \(30, 46, 3\)'),
        ([FRAMES[0].astype(float)], r'uint8 \[height, width, 3\], got float64'),
        ([FRAMES[0][..., 0]], r'got uint8 \[33, 46\]'),
    ],
)
def test_what_is_no_video_leaves_no_file(frames, message, tmp_path):
    (tmp_path / 'film.mp4').write_bytes(b'earlier')
    with pytest.raises(ValueError, match=message):
        write(tmp_path / 'film.mp4', frames)
    assert os.listdir(tmp_path) == ['film.mp4']
    assert (tmp_path / 'film.mp4').read_bytes() == b'earlier'


@pytest.mark.parametrize(
    ('name', 'message'),
    [('film.avi', r'film.avi must end in .mp4 or .gif'), ('no/film.mp4', 'there is no folder')],
)
def test_a_name_that_cannot_be_written_is_refused(name, message, tmp_path):
    with pytest.raises(video.UserError, match=message):
        write(tmp_path / name)


def test_without_the_encoder_the_error_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, 'imageio_ffmpeg', None)
    with pytest.raises(ImportError, match=r'pip install "dopamine_lite\[video\]"'):
        write(tmp_path / 'film.mp4')
