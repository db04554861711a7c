"""Frames and videos of an agent at work, put together from the panes of several plotters."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import cv2
import gin
import numpy as np

from dopamine_lite import video
from dopamine_lite.utils import plotter as plotter_lib

_FRAMES_A_SECOND = 30


@gin.configurable
class AgentVisualizer:
    """Draws the plotters' panes onto one frame, and writes frames to files.

    Attributes:
        record_frame: the last frame, uint8 [screen_height, screen_width, 3], red first.
        step: how often `visualize` was called.
    """

    def __init__(
        self,
        record_path: str,
        plotters: Sequence[Any],
        screen_width: int = 160,
        screen_height: int = 210,
        render_rate: int = 1,
        file_types: Sequence[str] = ('png', ''),
        filename_format: str = 'frame_{:06d}',
    ):
        """Prepares an empty frame.

        Args:
            record_path: the folder that frames and video go to; made when it is missing.
            plotters: objects with `draw()`, which returns a pygame surface, and `x` and `y`, its
                place in pixels; drawn in this order.
            screen_width: width of a frame in pixels.
            screen_height: height of a frame in pixels.
            render_rate: a frame is drawn at every so many calls of `visualize`.
            file_types: what a frame is written as: endings of image files, or 'npy' for the array;
                '' writes nothing.
            filename_format: name of a frame's file without its ending, given the frame's number.
        """
        self.record_path = record_path
        self.plotters = plotters
        self.screen_width = screen_width
        self.screen_height = screen_height
        self.render_rate = render_rate
        self.file_types = file_types
        self.filename_format = filename_format
        self.step = 0
        self.record_frame = np.zeros((screen_height, screen_width, 3), np.uint8)
        self._pygame = plotter_lib.require_pygame()
        self.screen = self._pygame.Surface((screen_width, screen_height))

    def visualize(self) -> None:
        """Counts a step; at every `render_rate`-th, draws the panes and saves the frame."""
        if self.step % self.render_rate == 0:
            self.screen.fill((0, 0, 0))
            for plotter in self.plotters:
                self.screen.blit(plotter.draw(), (plotter.x, plotter.y))
            self.save_frame()
        self.step += 1

    def save_frame(self) -> None:
        """Takes what is on `screen` as `record_frame`, and writes it in each of the file types."""
        columns_first = self._pygame.surfarray.array3d(self.screen)
        self.record_frame[...] = columns_first.transpose(1, 0, 2)
        name = self.filename_format.format(self.step // self.render_rate)
        os.makedirs(self.record_path, exist_ok=True)
        for file_type in self.file_types:
            path = os.path.join(self.record_path, f'{name}.{file_type}')
            if file_type == 'npy':
                np.save(path, self.record_frame)
            elif file_type and not cv2.imwrite(path, self.record_frame[..., ::-1]):
                raise OSError(f'cannot write {path}')

    def generate_video(self, video_file: str = 'video.mp4') -> None:
        """Makes a video of the PNG frames in `record_path`, 30 a second, in the same folder.

        Raises ValueError where there are none or the name ends neither in .mp4 nor in .gif, OSError
        where the video cannot be written, ImportError without imageio-ffmpeg.
        """
        frames = sorted(name for name in os.listdir(self.record_path) if name.endswith('.png'))
        if not frames:
            raise ValueError(f'no PNG frames in {self.record_path}')
        path = os.path.join(self.record_path, video_file)
        with video.writer(path, _FRAMES_A_SECOND) as film:
            for name in frames:
                image = cv2.imread(os.path.join(self.record_path, name))
                if image is not None and image.shape == self.record_frame.shape:
                    film.add(image[..., ::-1])
