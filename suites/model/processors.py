"""The models' own processors with a vocabulary of a few words and small pictures, made without a download."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from suites.model.frames import gemma4_processor

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast, ProcessorMixin

Conversation = list[dict[str, Any]]
"""As chat templates take it: a role and the content, parts of a ``type`` and, for text, the ``text``."""

PATCH = 4
"""Pixels of a patch's side."""

POOLED = 2
"""Patches of the side of the square that becomes one token of Gemma 4. With 1 it takes padding for the image."""

GEMMA3_SIDE = 16
"""Pixels of the square that Gemma 3 makes of each image: 16 patches, and as many tokens."""

GEMMA4_TOKENS = 70
"""The most tokens of a Gemma 4 image or frame: the fewest that its processors know."""

_BASE = ["<pad>", "<eos>", "<bos>", "<unk>"]
_WORDS = [chr(letter) for letter in range(ord("a"), ord("z") + 1)]
_SPECIAL = {
    "gemma3": {
        "image_token": "<image_soft_token>",
        "boi_token": "<start_of_image>",
        "eoi_token": "<end_of_image>",
    },
    "gemma4": {
        "image_token": "<|image|>",
        "boi_token": "<|image>",
        "eoi_token": "<image|>",
        "video_token": "<|video|>",
        "audio_token": "<|audio|>",
        "boa_token": "<|audio>",
        "eoa_token": "<audio|>",
    },
}
# What a part of each type stands for in the text: Gemma 3's processor takes the token that begins an image.
_PARTS = {"gemma3": {"image": "boi_token"}, "gemma4": {kind: f"{kind}_token" for kind in ("image", "video", "audio")}}

WORD_IDS = range(len(_BASE), len(_BASE) + len(_WORDS))
"""Ids of tokens that are words."""


@cache
def tokenizer(family: str) -> PreTrainedTokenizerFast:
    """A tokenizer of 26 words that has the special tokens of a model family."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import WhitespaceSplit
    from transformers import PreTrainedTokenizerFast

    words = Tokenizer(WordLevel({word: index for index, word in enumerate(_BASE + _WORDS)}, unk_token="<unk>"))
    words.pre_tokenizer = WhitespaceSplit()
    names = dict(zip(("pad_token", "eos_token", "bos_token", "unk_token"), _BASE, strict=True))
    return PreTrainedTokenizerFast(tokenizer_object=words, extra_special_tokens=_SPECIAL[family], **names)


@cache
def processor(family: str) -> ProcessorMixin:
    """The processor class of a model family."""
    from transformers import Gemma3ImageProcessorPil, Gemma3Processor, Gemma4AudioFeatureExtractor, Gemma4ImageProcessorPil

    words, template = tokenizer(family), _template(family)
    if family == "gemma3":
        images = Gemma3ImageProcessorPil(size={"height": GEMMA3_SIDE, "width": GEMMA3_SIDE})
        return Gemma3Processor(images, words, chat_template=template, image_seq_length=(GEMMA3_SIDE // PATCH) ** 2)
    patches = {"patch_size": PATCH, "pooling_kernel_size": POOLED, "max_soft_tokens": GEMMA4_TOKENS}
    audio, images = Gemma4AudioFeatureExtractor(), Gemma4ImageProcessorPil(**patches)
    return gemma4_processor(audio, images, words, patches, template)


def _template(family: str) -> str:
    """Turns as Gemma's templates write them, parts side by side: what stands between two images is the processor's."""
    parts = {kind: _SPECIAL[family][name] for kind, name in _PARTS[family].items()}
    return (
        "{{ '<bos>' }}{% for turn in messages %}{{ turn.role + ' ' }}{% for part in turn.content %}"
        f"{{{{ part.text if part.type == 'text' else {parts}[part.type] }}}}"
        "{% endfor %}{{ ' <eos> ' }}{% endfor %}"
    )


def prompt(family: str, conversation: Conversation, **options: Any) -> dict[str, Any]:
    """What a model family's processor makes of a conversation whose pictures and sounds are noise.

    Args:
        family: ``gemma3`` or ``gemma4``.
        conversation: Its parts may have ``size``, height and width in pixels; ``frames``; ``samples``, at 16 kHz.
        options: For the processor.

    Returns:
        The inputs of the model: ids, pixels, features, and the types of the tokens.
    """
    made = processor(family)
    text = made.apply_chat_template(conversation, tokenize=False)
    parts = [part for turn in conversation for part in turn["content"]]
    noise = np.random.default_rng(0)

    def pixels(part: dict[str, Any], *frames: int) -> np.ndarray:
        return noise.integers(0, 256, (*frames, *part.get("size", (20, 30)), 3), dtype=np.uint8)

    given: dict[str, list[Any]] = {
        "images": [pixels(part) for part in parts if part["type"] == "image"],
        "videos": [pixels(part, part["frames"]) for part in parts if part["type"] == "video"],
        "audio": [noise.standard_normal(part["samples"]).astype(np.float32) for part in parts if part["type"] == "audio"],
    }
    if given["videos"]:
        options["video_metadata"] = [
            {"total_num_frames": len(video), "frames_indices": list(range(len(video))), "fps": 1}
            for video in given["videos"]
        ]
    return dict(made(text=text, return_tensors="pt", **{name: some for name, some in given.items() if some}, **options))
