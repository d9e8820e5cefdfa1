"""Published fault reports as histories of a few batches, each with the right outcome."""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import Any

import pytest
import torch

from harness.statuses import not_claimed
from reference.cache_contracts import LAYOUTS, CacheImplementation
from reference.cache_model import ModelItem, ModelRequest, SystemModel
from suites.cache.encoder import ROW_BYTES, RecordingEncoder, item_checksums
from suites.cache.judge import Judge
from suites.strategies.caches import COLLIDING, FLAWS, CacheRequest, Item

A, B, C = Item(1, length=2, size=2), Item(2, length=3, size=3), Item(3, length=4, size=1)
PLENTY = 1000 * ROW_BYTES
CUTTABLE = [name for name in LAYOUTS if name != "gemma4-video"]


def _judge(implementation: CacheImplementation, *layouts: str, max_bytes: int = PLENTY) -> Judge:
    for layout in layouts:
        if layout not in implementation.claims.layouts:
            not_claimed(f"layout {layout}")
    return Judge(implementation, max_bytes)


def _image_layout(implementation: CacheImplementation) -> str:
    """A layout of images that is claimed."""
    found = [name for name in CUTTABLE if name.endswith("image") and name in implementation.claims.layouts]
    return found[0] if found else not_claimed("a layout of images")


def _of(layout: str, *items: Item, **rest: object) -> CacheRequest:
    return CacheRequest(layout, items, **rest)  # type: ignore[arg-type]


def _encodes(request: CacheRequest, weights: int = 0) -> Counter[int]:
    return Counter(checksum for checksum, _ in item_checksums(request.params(), weights))


@pytest.mark.requirement("CACHE-RESIDUAL-1", "CACHE-ENCODE-1", "CACHE-PARTITION-1")
@pytest.mark.parametrize("layout", CUTTABLE)
def test_a_partial_hit_encodes_the_rest_with_all_that_is_said_of_it(cache_impl: CacheImplementation, layout: str) -> None:
    """C01: after [A], of [A, B, C] only B and C are encoded, in one call."""
    judge = _judge(cache_impl, layout)
    judge.embed([_of(layout, A)])
    assert judge.embed([_of(layout, A, B, C)]) == [_encodes(_of(layout, B, C))]
    assert judge.embed([_of(layout, C, A, B, A)]) == []


@pytest.mark.requirement("CACHE-VIDEO-1", "CACHE-VIDEO-2", "CACHE-FALLBACK-1")
def test_a_partial_video_hit_encodes_all_with_one_warning(cache_impl: CacheImplementation) -> None:
    """C02: V1 has 2 frames, V2 3."""
    judge = _judge(cache_impl, "gemma4-video")
    assert judge.embed([_of("gemma4-video", A)]) == [_encodes(_of("gemma4-video", A))]
    assert judge.warnings == []
    assert judge.embed([_of("gemma4-video", A, B)]) == [_encodes(_of("gemma4-video", A, B))]
    assert judge.embed([_of("gemma4-video", A, B)]) == []
    assert judge.embed([_of("gemma4-video", A, C)]) == [_encodes(_of("gemma4-video", A, C))]
    assert len(judge.warnings) == 1


@pytest.mark.needs_claim("video_frames")
@pytest.mark.requirement("CACHE-VIDEO-3")
def test_a_partial_video_hit_encodes_the_missing_frames_where_they_are_told(cache_impl: CacheImplementation) -> None:
    judge = _judge(cache_impl, "gemma4-video")
    judge.embed([_of("gemma4-video", B, told=True)])
    assert judge.embed([_of("gemma4-video", A, B, C, told=True)]) == [_encodes(_of("gemma4-video", A, C, told=True))]
    assert judge.warnings == []


@pytest.mark.needs_claim("store")
@pytest.mark.requirement("CACHE-ENCODE-1")
def test_a_full_hit_writes_nothing(cache_impl: CacheImplementation, monkeypatch: pytest.MonkeyPatch) -> None:
    """C04: no encode, no put."""
    judge = _judge(cache_impl, "gemma4-image")
    judge.embed([_of("gemma4-image", A, B)])
    puts = []
    monkeypatch.setattr(judge.system.store, "put", lambda *arguments: puts.append(arguments))
    assert judge.embed([_of("gemma4-image", A, B)]) == []
    assert puts == []


@pytest.mark.needs_claim("collisions")
@pytest.mark.requirement("CACHE-KEY-5", "CACHE-KEY-1")
def test_a_hit_of_another_length_is_a_miss(cache_impl: CacheImplementation) -> None:
    """C08: X of 3 rows and Y of 2 share a hash; alone, in turn, and in one batch."""
    x, y = COLLIDING
    judge = _judge(cache_impl, "gemma4-image")
    judge.embed([_of("gemma4-image", y)])
    assert judge.embed([_of("gemma4-image", x)]) == [_encodes(_of("gemma4-image", x))]
    judge = _judge(cache_impl, "gemma4-image")
    (call,) = judge.embed([_of("gemma4-image", x, y), _of("gemma4-image", y, x)])
    assert set(call) == set(_encodes(_of("gemma4-image", x, y)))


@pytest.mark.requirement("CACHE-KEY-3")
def test_other_options_are_another_item(cache_impl: CacheImplementation) -> None:
    """C13: the same image on a white and on a black background."""
    judge = _judge(cache_impl, "gemma4-image")
    white, black = (_of("gemma4-image", A, options=options) for options in ("white", "black"))
    judge.embed([white])
    assert judge.embed([black]) == [_encodes(black)]
    assert judge.embed([white, black]) == []


@pytest.mark.requirement("CACHE-KEY-3")
@pytest.mark.parametrize("flaw", FLAWS)
def test_an_unkeyable_request_is_encoded_each_time_and_not_written(cache_impl: CacheImplementation, flaw: str) -> None:
    judge = _judge(cache_impl, "gemma4-image")
    unkeyable = _of("gemma4-image", A, B, flaw=flaw)
    for _ in range(2):
        assert judge.embed([unkeyable]) == [_encodes(unkeyable)]
    if cache_impl.claims.store:
        assert len(judge.system.store) == 0


@pytest.mark.needs_claim("weights")
@pytest.mark.requirement("CACHE-KEY-4")
def test_new_weights_encode_anew_and_touch_no_other_cache(cache_impl: CacheImplementation) -> None:
    """C16."""
    judge, other = _judge(cache_impl, "gemma4-image"), _judge(cache_impl, "gemma4-image")
    request = _of("gemma4-image", A)
    for one in (judge, other):
        one.embed([request])
    judge.update_weights()
    assert judge.embed([request]) == [_encodes(request, weights=1)]
    assert other.embed([request]) == []


@pytest.mark.needs_claim("batch_duplicates")
@pytest.mark.requirement("CACHE-ENCODE-2")
def test_an_item_that_stands_twice_is_encoded_once(cache_impl: CacheImplementation) -> None:
    """C26: [A, B, A] and, in the same batch, [B, C]."""
    judge = _judge(cache_impl, "gemma4-image")
    calls = judge.embed([_of("gemma4-image", A, B, A), _of("gemma4-image", B, C)])
    assert sum(calls, Counter()) == _encodes(_of("gemma4-image", A, B, C))


@pytest.mark.requirement("CACHE-PROGRESS-1", "CACHE-ACCOUNT-2")
@pytest.mark.parametrize("rows", [3, 4, 5])
def test_an_item_around_the_budget_is_served(cache_impl: CacheImplementation, rows: int) -> None:
    """C28: 4 rows fit; an item of 4 is kept, one of 5 passes through and evicts nothing."""
    judge = _judge(cache_impl, "gemma4-image", max_bytes=4 * ROW_BYTES)
    large = _of("gemma4-image", Item(1, length=rows, size=2))
    small = _of("gemma4-image", Item(2, length=4, size=2))
    judge.embed([small])
    judge.embed([large])
    assert (judge.embed([large]) == []) == (rows <= 4)
    if rows > 4:
        assert judge.embed([small]) == []


@pytest.mark.needs_claim("clear", "store")
@pytest.mark.requirement("CACHE-ACCOUNT-2")
def test_clearing_gives_every_byte_back(cache_impl: CacheImplementation) -> None:
    """C32."""
    judge = _judge(cache_impl, "gemma4-image")
    judge.embed([_of("gemma4-image", A, B, C)])
    assert judge.system.store.current_bytes == 9 * ROW_BYTES
    judge.clear()
    assert judge.embed([_of("gemma4-image", A)]) == [_encodes(_of("gemma4-image", A))]


@pytest.mark.requirement("CACHE-MATES-1", "CACHE-RESIDUAL-1")
@pytest.mark.parametrize("layout", ["gemma4-audio", "whisper-audio", "pixtral-image"])
def test_an_entry_does_not_depend_on_its_neighbours(cache_impl: CacheImplementation, layout: str) -> None:
    """C34, C35: a short clip and a long one, together or alone, after either of them or both."""
    short, long = Item(1, length=2, size=1), Item(2, length=3, size=4)
    for first, second in product(((short,), (long,), (short, long), (long, short)), repeat=2):
        judge = _judge(cache_impl, layout)
        judge.embed([_of(layout, *first)])
        judge.embed([_of(layout, *second)])


@pytest.mark.requirement("CACHE-ORDER-1", "CACHE-ORDER-2")
def test_results_stand_in_request_order_whatever_the_modality(cache_impl: CacheImplementation) -> None:
    """C37, C38: video, image, audio, image; half of them known."""
    layouts = ["gemma4-video", "gemma4-image", "gemma4-audio"]
    judge = _judge(cache_impl, *layouts)
    judge.embed([_of("gemma4-image", B), _of("gemma4-audio", A)])
    judge.embed([_of(layout, A, B) for layout in (*layouts, "gemma4-image")])
    judge.embed([_of(layout, B, A, B) for layout in reversed(layouts)])


def test_the_model_does_not_guess_what_a_policy_evicts() -> None:
    """The judge's own teeth: certain only while everything offered fits, possible only if it was offered and fits alone."""
    model = SystemModel(5)
    a, b, c = (ModelItem(name, f"slot of {name}", size) for name, size in (("a", 2), ("b", 3), ("c", 1)))
    model.embed([ModelRequest([a, b])], batch_duplicates=True)
    assert model.certain(a)
    model.embed([ModelRequest([c])], batch_duplicates=True)
    assert not model.certain(a)
    assert model.possible("a")
    assert not model.possible("d")


def test_the_model_does_not_guess_whether_colliding_items_take_each_others_place() -> None:
    model = SystemModel(5)
    one, other = ModelItem("one", "slot", 2), ModelItem("other", "slot", 3)
    model.embed([ModelRequest([one])], batch_duplicates=True)
    assert model.certain(one)
    model.embed([ModelRequest([other])], batch_duplicates=True)
    assert not model.certain(one)
    assert not model.certain(other)
    assert model.possible("one")


@pytest.mark.needs_claim("store")
@pytest.mark.requirement("CACHE-REFUSE-1")
@pytest.mark.parametrize("value", [None, [1], torch.zeros(3)])
def test_a_modality_that_is_no_dict_is_refused_and_nothing_is_lost(cache_impl: CacheImplementation, value: object) -> None:
    layout = _image_layout(cache_impl)
    system = cache_impl.make(RecordingEncoder(), 100 * ROW_BYTES, lambda message: None)
    system.embed([_of(layout, A).params()])
    before = (len(system.store), system.store.current_bytes)
    bad = _of(layout, A, B).params()
    bad.multimodal_data["image"] = value
    with pytest.raises(TypeError, match="image"):
        system.embed([_of(layout, C).params(), bad])
    assert (len(system.store), system.store.current_bytes) == before


@pytest.mark.needs_claim("store")
@pytest.mark.requirement("CACHE-REFUSE-1")
@pytest.mark.parametrize("extra", [-1, 1])
def test_an_encoder_that_returns_other_rows_is_refused_and_nothing_is_cached(
    cache_impl: CacheImplementation, extra: int
) -> None:
    good = RecordingEncoder()

    def encoder(params: Any) -> list[torch.Tensor]:
        rows = good(params)
        return rows if len(good.calls) == 1 else [torch.cat([r, r])[: len(r) + extra] for r in rows]

    layout = _image_layout(cache_impl)
    system = cache_impl.make(encoder, 100 * ROW_BYTES, lambda message: None)
    system.embed([_of(layout, A).params()])
    before = (len(system.store), system.store.current_bytes)
    with pytest.raises(ValueError, match="rows"):
        system.embed([_of(layout, A, B).params()])
    assert (len(system.store), system.store.current_bytes) == before
