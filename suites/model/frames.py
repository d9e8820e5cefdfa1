"""Gemma 4's processor: its video processor is its own where torchvision is installed, and a stand-in elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch


class FramesAsImages:
    """A video processor that takes every frame of a video for an image.

    Torchvision is no dependency of this project: a build of it for another torch breaks the import of every model. Which
    tokens stand for a frame is decided by the processor above; what differs is the rounding of pixels.
    """

    model_input_names = ("pixel_values_videos", "video_position_ids", "num_frames_per_video")

    def __init__(self, images: Any) -> None:
        """Takes Gemma 4's image processor."""
        self._images = images

    def __call__(self, videos: Sequence[Any], video_metadata: Sequence[Mapping[str, Any]], **options: Any) -> dict[str, Any]:
        """As Gemma4VideoProcessor, for frames that are sampled already."""
        from transformers.video_utils import VideoMetadata

        each = [self._images(list(video), return_tensors="pt") for video in videos]
        return {
            "pixel_values_videos": torch.cat([frames["pixel_values"] for frames in each]),
            "video_position_ids": torch.cat([frames["image_position_ids"] for frames in each]),
            "num_frames_per_video": torch.tensor([len(video) for video in videos]),
            "num_soft_tokens_per_video": [int(frames["num_soft_tokens_per_image"][0]) for frames in each],
            "video_metadata": [VideoMetadata(**one) for one in video_metadata],
        }


def gemma4_processor(audio: Any, images: Any, words: Any, patches: Mapping[str, int], template: str) -> Any:
    """Makes the processor of its parts; ``patches`` are the image processor's options."""
    from transformers import Gemma4Processor
    from transformers.utils import is_torchvision_available

    if is_torchvision_available():
        from transformers import Gemma4VideoProcessor

        videos = Gemma4VideoProcessor(do_sample_frames=False, **patches)
        return Gemma4Processor(audio, images, words, videos, chat_template=template)

    class Unchecked(Gemma4Processor):
        """Takes any video processor: without torchvision there is no class to compare it with."""

        def check_argument_for_proper_class(self, argument_name: str, argument: Any) -> Any:
            if argument_name != "video_processor":
                return super().check_argument_for_proper_class(argument_name, argument)
            return None

    return Unchecked(audio, images, words, FramesAsImages(images), chat_template=template)
