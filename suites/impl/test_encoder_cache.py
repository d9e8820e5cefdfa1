"""Our encoder cache beyond the contract: residuals, refusals, fallbacks and content hashes."""

from __future__ import annotations

import subprocess
import sys
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any

import pytest
import torch

from impl.cache import GEMMA4, GENERIC
from impl.cache.hashing import item_hash
from impl.cache.tensor_lru_cache import TensorLRUCacheStats
from reference.params import EMBEDDING_LENGTHS, MultimodalInput, MultimodalRuntimeData
from suites.cache.encoder import ROW_BYTES, RecordingEncoder, item_checksums
from suites.cache.judge import same
from suites.strategies.caches import CacheRequest, Item

A, B, C = Item(1, length=2, size=2), Item(2, length=3, size=3), Item(3, length=1, size=1)


def _fresh(implementation: Any) -> Any:
    return implementation.make(RecordingEncoder(), 100 * ROW_BYTES, lambda message: None)


def _system(implementation: Any) -> Any:
    """A system that holds A."""
    system = _fresh(implementation)
    system.embed([CacheRequest("gemma4-image", (A,)).params()])
    return system


def _held(system: Any) -> tuple[Any, ...]:
    """Entries, their order and their bytes, but not the counters of look-ups."""
    stats: TensorLRUCacheStats = system.store.stats()
    entries = {key: value.tolist() for key, (value, _) in system.store._entries.items()}
    return list(entries), entries, stats.current_bytes, stats.insertions, stats.replacements, stats.evictions


@pytest.mark.requirement("CACHE-REFUSE-1")
@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"multimodal_lengths": [1]}, "multimodal_lengths has 1 entries, expected 2"),
        ({"multimodal_positions": [0, 1, 2]}, "multimodal_positions has 3 entries, expected 2"),
        ({"multimodal_positions": [0, -1]}, r"multimodal_positions\[1\] is -1"),
        ({"multimodal_lengths": [0, 1]}, r"multimodal_lengths\[0\] is 0"),
        ({"multimodal_uuids": ["a"]}, "multimodal_uuids has 1 entries"),
        ({"multimodal_hashes": [[1, 2], [3]]}, r"multimodal_hashes\[1\] has 1 numbers, expected 2"),
        (
            {"multimodal_run_lengths": [1]},
            "cu_offsets is None, expected all of .*cu_offsets, multimodal_run_positions, multimodal_run_lengths or none$",
        ),
    ],
)
def test_an_input_whose_lists_disagree_is_refused_by_name(fields: dict[str, Any], named: str) -> None:
    given = {"multimodal_hashes": [[1, 2], [3, 4]], "multimodal_positions": [0, 1], "multimodal_lengths": [1, 1], **fields}
    with pytest.raises(ValueError, match=named):
        MultimodalInput(**given)


@pytest.mark.parametrize(
    ("past", "end", "cumsum", "error"),
    [
        (0, 5, torch.tensor([0, 1, 2, 2]), ValueError),
        (3, 2, torch.tensor([0, 1, 2, 2]), ValueError),
        (0, 1, torch.tensor([0, 1], dtype=torch.int32), TypeError),
        (0, 0, torch.zeros(0, dtype=torch.int64), ValueError),
    ],
)
def test_runtime_data_that_lies_outside_the_prompt_is_refused(
    past: int, end: int, cumsum: torch.Tensor, error: type[Exception]
) -> None:
    with pytest.raises(error, match=r"embed_mask_cumsum|chunk_end_pos"):
        MultimodalRuntimeData(past, end, cumsum)


def test_runtime_data_counts_rows() -> None:
    """For every chunk of a prompt, empty ones and the whole prompt too."""
    rows = [0, 1, 1, 1, 0, 1]
    cumsum = torch.tensor(rows).cumsum(0)
    for past, end in combinations_with_replacement(range(len(rows) + 1), 2):
        runtime = MultimodalRuntimeData(past, end, cumsum)
        found = (runtime.num_cached_mm_tokens, runtime.num_mm_tokens_in_chunk, runtime.total_embeds_in_request)
        assert found == (sum(rows[:past]), sum(rows[past:end]), sum(rows))


@pytest.mark.requirement("CACHE-RESIDUAL-1", "CACHE-RESIDUAL-2", "CACHE-RESIDUAL-3")
@pytest.mark.parametrize(
    "layout", ["gemma4-image", "gemma4-audio", "qwen2vl-image", "qwen2vl-video", "pixtral-image", "whisper-audio"]
)
@pytest.mark.parametrize("indices", [[2, 0], [1], [0, 1, 2]])
def test_a_residual_is_the_request_of_those_items(layout: str, indices: list[int]) -> None:
    """Indices in any order; everything of the items, nothing of the run through the model, the source as it was."""
    request = CacheRequest(layout, (A, B, C))
    source, kept = request.params(), request.params()
    residual = _system(GEMMA4).residual(source, indices)
    want = CacheRequest(layout, tuple(request.items[i] for i in indices)).params()
    assert item_checksums(residual, 0) == item_checksums(want, 0)
    assert residual.multimodal_data[EMBEDDING_LENGTHS] == want.multimodal_data[EMBEDDING_LENGTHS]
    assert residual.multimodal_data["prompt_token_ids"] == kept.multimodal_data["prompt_token_ids"], (
        "a list that is not of the items was cut"
    )
    assert residual.multimodal_input is not None
    assert residual.multimodal_input.multimodal_hashes == want.multimodal_input.multimodal_hashes  # type: ignore[union-attr]
    assert (residual.multimodal_runtime, residual.mm_item_order, residual.encoder_event) == (None, None, None)
    assert same(source, kept)


@pytest.mark.requirement("CACHE-RESIDUAL-4")
@pytest.mark.parametrize("indices", [[3], [-1], [0, 7]])
def test_an_index_that_names_no_item_is_refused(indices: list[int]) -> None:
    system = _system(GEMMA4)
    before = _held(system)
    with pytest.raises(IndexError, match=f"item index {indices[-1]} is out of range, expected 0 to 2"):
        system.residual(CacheRequest("gemma4-image", (A, B, C)).params(), indices)
    assert _held(system) == before


@pytest.mark.requirement("CACHE-RESIDUAL-4")
def test_a_layout_that_cannot_be_cut_is_refused_by_name_at_a_partial_hit_and_not_before() -> None:
    system = _system(GENERIC)
    before = _held(system)
    with pytest.raises(NotImplementedError, match=r"cannot cut image inputs with the fields.*image_position_ids"):
        system.embed([CacheRequest("gemma4-image", (A, B)).params()])
    assert _held(system) == before
    assert (
        len(system.embed([CacheRequest("gemma4-image", (B, C)).params(), CacheRequest("gemma4-image", (C, B)).params()]))
        == 2
    )


@pytest.mark.requirement("CACHE-RESIDUAL-4")
def test_a_request_of_two_modalities_cannot_be_cut() -> None:
    params = CacheRequest("gemma4-image", (A, B)).params()
    params.multimodal_data["audio"] = {}
    with pytest.raises(NotImplementedError, match=r"\['image', 'audio'\]"):
        _system(GEMMA4).residual(params, [0])


@pytest.mark.requirement("CACHE-REFUSE-1")
def test_patches_that_do_not_add_up_are_refused_by_name() -> None:
    params = CacheRequest("qwen2vl-image", (A, B)).params()
    params.multimodal_data["image"]["pixel_values"] = torch.zeros(3, 2)
    with pytest.raises(ValueError, match="image_grid_thw says 2 items of 10 patches in all, expected 2 items and 3 patches"):
        _system(GEMMA4).residual(params, [0])


@pytest.mark.requirement("CACHE-FALLBACK-1")
def test_images_without_an_item_axis_are_encoded_whole_with_one_warning() -> None:
    """As TensorRT-LLM does for pixel values with a row too many."""
    warnings: list[str] = []
    encoded: list[int] = []

    def encoder(params: Any) -> list[torch.Tensor]:
        encoded.append(len(params[0].multimodal_data[EMBEDDING_LENGTHS]))
        return [torch.zeros(sum(one.multimodal_data[EMBEDDING_LENGTHS]), 2) for one in params]

    system = GEMMA4.make(encoder, 100 * ROW_BYTES, warnings.append)
    system.embed([CacheRequest("gemma4-image", (A,)).params()])
    for others in ((A, B), (A, C)):
        params = CacheRequest("gemma4-image", others).params()
        fields = params.multimodal_data["image"]
        fields["pixel_values"] = torch.cat([fields["pixel_values"], fields["pixel_values"][:1]])
        system.embed([params])
    assert encoded == [1, 2, 2]
    assert len(warnings) == 1
    assert "pixel_values does not count the 2 items" in warnings[0]


@pytest.mark.requirement("CACHE-KEY-2")
def test_content_hashes_tell_what_the_encoder_would_tell() -> None:
    """C11, C14, C17, C19: geometry, dtype, partition, types of parts; never the name; 256 bits."""
    pixels = torch.arange(18, dtype=torch.uint8)
    items = [
        pixels.reshape(2, 3, 3),
        pixels.reshape(3, 2, 3),
        pixels.reshape(2, 3, 3).to(torch.int16),
        [pixels.reshape(2, 3, 3)],
        [b"ab", b"c"],
        [b"a", b"bc"],
        b"abc",
        "abc",
        {"lora": "foo"},
        {"salt": "foo"},
        1,
        1.0,
        True,
        None,
        [],
        (),
    ]
    hashes = [tuple(item_hash(item)) for item in items]
    assert len(set(hashes)) == len(items)
    assert all(len(one) == 8 and all(-(2**31) <= part < 2**31 for part in one) for one in hashes)
    view = torch.stack([pixels, pixels + 1], 1)[:, 0].reshape(2, 3, 3)
    assert item_hash(view) == item_hash(items[0]), "strides are not content"
    with pytest.raises(TypeError, match="a part of the item is a set"):
        item_hash([{1}])


@pytest.mark.requirement("CACHE-KEY-2")
def test_content_hashes_do_not_depend_on_the_process() -> None:
    """C10."""
    root = Path(__file__).parents[2]
    code = "from impl.cache.hashing import item_hash; print(item_hash([{'b': 1, 'a': b'x'}, 'text']))"
    printed = set()
    for hash_seed in ("1", "2"):
        environ = {"PYTHONHASHSEED": hash_seed, "TRITON_INTERPRET": "1", "PATH": "", "PYTHONPATH": ":".join(sys.path)}
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=root, env=environ, capture_output=True, text=True, check=True
        )
        printed.add(done.stdout)
    assert len(printed) == 1
