"""Videos and animations of frames, encoded by the ffmpeg that the package imageio-ffmpeg brings."""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from typing import Any

import numpy as np

from dopamine_lite.console import UserError

# What comes after the input, by the ending of the file. A GIF has 256 colours, chosen for the video.
_ENCODERS = {
    '.mp4': ['-c:v', 'libx264', '-preset', 'veryfast', '-crf', '18', '-pix_fmt', 'yuv420p'],
    '.gif': [
        '-filter_complex',
        'split[a][b];[a]palettegen[p];[b][p]paletteuse=dither=none',
    ],
}
# H.264 in yuv420p has one colour for 2 x 2 pixels: an odd side gets one more row or column.
_EVEN = ['-vf', 'pad=ceil(iw/2)*2:ceil(ih/2)*2']


def check_name(path: str | os.PathLike) -> str:
    """Returns the ending of a video's name; UserError where it is none that can be written."""
    ending = os.path.splitext(path)[1].lower()
    if ending not in _ENCODERS:
        raise UserError(f'{path} must end in {" or ".join(_ENCODERS)}')
    return ending


def ffmpeg() -> str:
    """Returns the path of ffmpeg; ImportError, with the pip command, where it is missing."""
    try:
        import imageio_ffmpeg
    except ImportError as error:
        raise ImportError(
            'videos need imageio-ffmpeg: pip install "dopamine_lite[video]"', name='imageio_ffmpeg'
        ) from error
    try:
        return imageio_ffmpeg.get_ffmpeg_exe()
    except RuntimeError as error:
        raise UserError(f'imageio-ffmpeg has no ffmpeg for this machine: {error}') from error


class Writer:
    """Takes the frames of one video, one after the other."""

    def __init__(self, command: list[str], stderr: Any):
        self._command = command
        self._stderr = stderr
        self._process: subprocess.Popen | None = None
        self._shape: tuple[int, ...] = ()

    def add(self, frame: np.ndarray) -> None:
        """Adds a frame, uint8 [height, width, 3], red first; all have the shape of the first.

        Raises:
          ValueError: the shape or the dtype is another.
          OSError: ffmpeg cannot write it.
        """
        frame = np.ascontiguousarray(frame)
        if self._process is None:
            self._shape = frame.shape
        if frame.dtype != np.uint8 or frame.ndim != 3 or frame.shape[2] != 3:
            raise ValueError(
                f'a frame must be uint8 [height, width, 3], got {frame.dtype} {list(frame.shape)}'
            )
        if frame.shape != self._shape:
            raise ValueError(f'all frames must have one shape, got {self._shape} and {frame.shape}')
        if self._process is None:
            size = f'{frame.shape[1]}x{frame.shape[0]}'
            command = [part.format(size=size) for part in self._command]
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=self._stderr
            )
        try:
            self._process.stdin.write(frame.data)
        except BrokenPipeError:
            self._fail()

    def finish(self) -> None:
        """Ends the video; ValueError where it has no frame, OSError where ffmpeg failed."""
        if self._process is None:
            raise ValueError('a video needs at least one frame')
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        if self._process.wait() != 0:
            self._fail()

    def abandon(self) -> None:
        """Stops ffmpeg, whatever it is at."""
        if self._process is not None:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.close()
            self._process.kill()
            self._process.wait()

    def _fail(self) -> None:
        self._process.wait()
        self._stderr.seek(0)
        lines = self._stderr.read().decode(errors='replace').strip().splitlines()
        raise OSError(f'ffmpeg cannot write the video: {lines[-1] if lines else "no reason given"}')


@contextlib.contextmanager
def writer(path: str | os.PathLike, frames_per_second: float) -> Iterator[Writer]:
    """Opens a video that appears under `path` only once it is complete.

    Args:
      path: ends in .mp4 or .gif; its folder exists.
      frames_per_second: of playback; a GIF has at most 50.

    Yields:
      What the frames are added to.

    Raises:
      UserError: the name has another ending, or the folder does not exist.
      ImportError: imageio-ffmpeg is missing.
      ValueError, OSError: of `Writer`; nothing is left of the video.
    """
    path = os.fspath(path)
    ending = check_name(path)
    folder, name = os.path.split(path)
    if not os.path.isdir(folder or '.'):
        raise UserError(f'there is no folder {folder} for {name}')
    if not os.access(folder or '.', os.W_OK):
        raise UserError(f'the folder of {path} cannot be written to')
    aside = os.path.join(folder, f'.{uuid.uuid4().hex}{ending}')
    # fmt: off
    command = [
        ffmpeg(), '-y', '-v', 'error',
        '-f', 'rawvideo', '-pix_fmt', 'rgb24', '-s', '{size}', '-r', f'{frames_per_second:g}',
        '-i', '-', *(_EVEN if ending == '.mp4' else []), *_ENCODERS[ending], aside,
    ]
    # fmt: on
    with tempfile.TemporaryFile() as stderr:
        made = Writer(command, stderr)
        try:
            yield made
            made.finish()
            os.replace(aside, path)
        except BaseException:
            made.abandon()
            with contextlib.suppress(OSError):
                os.remove(aside)
            raise
