"""What an implementation may claim, how it is adapted, and how its rule is said."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from reference.cache_contracts import (
    CacheClaims,
    CacheImplementation,
    StoreClaims,
    StoreImplementation,
    as_cache_implementation,
    as_store_implementation,
)
from reference.contracts import Claims, as_mask_implementation
from reference.dense import packed_mask
from reference.gating import FULL, PLAIN_CAUSAL, SLIDING, LayerMask, gate
from reference.profiles import PROFILES
from reference.rules import MaskRule, Order, Overlay, Prefix, Segmentation
from reference.tokens import MaskBatch
from suites.strategies.masks import MaskCase, request


@pytest.mark.parametrize(
    ("claims", "error", "message"),
    [
        ({"profiles": "gemma3-full"}, TypeError, "claims.profiles is 'gemma3-full', expected a frozenset of names"),
        ({"layouts": "dense"}, TypeError, "claims.layouts is 'dense', expected"),
        ({"devices": 3}, TypeError, "claims.devices is 3, expected"),
        ({"profiles": frozenset()}, ValueError, "claims.profiles is empty, expected at least one name"),
        ({"layouts": frozenset()}, ValueError, "claims.layouts is empty"),
        ({"devices": frozenset()}, ValueError, "claims.devices is empty"),
        ({"profiles": frozenset({"gemma9", "gemma3-full"})}, ValueError, r"claims.profiles names \['gemma9'\], expected a"),
        (
            {"layouts": frozenset({"sparse"})},
            ValueError,
            r"claims.layouts names \['sparse'\], expected a subset",
        ),
        ({"devices": frozenset({"tpu"})}, ValueError, r"claims.devices names \['tpu'\], expected a subset of \['cpu'"),
    ],
)
def test_what_cannot_be_claimed_is_refused_by_name(claims: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Claims(**claims)


def test_profiles_that_are_not_named_are_all_claimed() -> None:
    assert Claims().profile_names == sorted(PROFILES)
    assert Claims(profiles=frozenset({"gemma4-full", "gemma3-full"})).profile_names == ["gemma3-full", "gemma4-full"]


def _plain(batch: object, rule: object) -> tuple[object, ...]:
    return batch, rule


class _Builder:
    claims = Claims(multi_request=False)

    def build(self, batch: object, rule: object, layout: str = "dense") -> tuple[object, ...]:
        return batch, rule, layout


class _Gate(_Builder):
    claims = Claims(gating=True)

    def gate(self, config: object, batch: object) -> list[object]:
        return [config, batch]


def test_a_callable_an_object_and_a_class_are_adapted() -> None:
    assert as_mask_implementation(SimpleNamespace(build=_plain), "plain").claims == Claims()
    plain = as_mask_implementation(_plain, "plain")
    assert (plain.name, plain.claims, plain.gate) == ("plain", Claims(), None)
    assert plain.build(1, 2) == plain.build(1, 2, layout="dense") == (1, 2)
    for candidate in (_Builder, _Builder()):
        builder = as_mask_implementation(candidate, "builder")
        assert (builder.name, builder.claims, builder.gate) == ("builder", _Builder.claims, None)
        assert builder.build(1, 2, layout="bits") == (1, 2, "bits")
    assert as_mask_implementation(SimpleNamespace(build=_plain, gate=print), "unclaimed").gate is None
    claimed = as_mask_implementation(_Gate(), "gate").gate
    assert claimed is not None
    assert claimed({}, None) == [{}, None]  # type: ignore[arg-type]


class _Needy:
    def __init__(self, path: str, *more: str, size: int = 3) -> None: ...


@pytest.mark.parametrize(
    ("candidate", "message"),
    [
        (3, "x is a int, expected a callable"),
        (_Needy, r"x is a class that needs the arguments \['path'\]; name an object of it instead"),
        (type("X", (), {"build": print, "claims": 1}), "x.claims is a int, expected reference.contracts.Claims"),
        (type("X", (), {"build": print, "claims": Claims(gating=True)}), "x claims gating, expected a method gate"),
    ],
)
def test_what_is_no_mask_builder_is_refused(candidate: object, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        as_mask_implementation(candidate, "x")


def test_rules_of_the_same_words_see_the_same() -> None:
    """A failure names its rule in words: two rules that differ on some case must not read alike."""
    # Blobs of two types and of touching items, longer than the windows, around the end of the prefix and behind it.
    batch = MaskCase((request("0112|2110 1111 03 220", "pabbbccqddeersffr"),), prefix_known=True).batch()
    seen: dict[str, list[bool]] = {}
    for terms in itertools.product((None, 2, 3), Overlay, Order, Prefix, Segmentation, (False, True)):
        rule = MaskRule(*terms)
        mask = packed_mask(batch, rule).tolist()
        assert seen.setdefault(rule.in_words(), mask) == mask, rule


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (MaskRule(), "no window, visible: c <= p"),
        (MaskRule(4), "W=4, visible: p-W < c <= p"),
        (MaskRule(None, Overlay.VISION), "no window, visible: c <= p or same blob, blobs by run"),
        (MaskRule(4, Overlay.VISION), "W=4, visible: (c <= p or same blob) and c > p-W, blobs by run"),
        (
            MaskRule(4, Overlay.VISION, Order.OR_LAST, Prefix.OPEN, Segmentation.TYPE, True),
            "W=4, visible: p-W < c <= p or same blob, blobs by type, prefix columns all visible",
        ),
        (
            MaskRule(4, Overlay.VISION, Order.DROP_LONGER, segmentation=Segmentation.ITEM),
            "W=4, visible: p-W < c <= p or same blob, blobs by item, a blob longer than W counts as text",
        ),
        (MaskRule(None, Overlay.ALL), "no window, visible: every key"),
        (
            MaskRule(4, Overlay.ALL, Order.OR_LAST, bound_future=True),
            "W=4, visible: every key less than W behind, and c < p+W",
        ),
    ],
)
def test_a_rule_in_words_says_each_term_that_counts(rule: MaskRule, words: str) -> None:
    assert rule.in_words() == words


def test_stores_and_caches_are_adapted_as_they_are() -> None:
    store_claims, cache_claims = StoreClaims(), CacheClaims(clear=False)
    plain, claiming = SimpleNamespace(make=_plain), SimpleNamespace(make=_plain, claims=cache_claims)
    assert as_store_implementation(_plain, "x") == StoreImplementation("x", store_claims, _plain)
    assert as_cache_implementation(plain, "x") == CacheImplementation("x", CacheClaims(), _plain)
    assert as_cache_implementation(claiming, "x") == CacheImplementation("x", cache_claims, _plain)


@pytest.mark.parametrize(
    ("layouts", "message"),
    [
        ({"gemma9"}, r"claims.layouts names \['gemma9'\], expected a subset of \['gemma4-image', "),
        ((), r"claims.layouts is empty, expected at least one of \['gemma4-image', "),
    ],
)
def test_a_cache_claims_layouts_that_there_are(layouts: Collection[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        CacheClaims(layouts=frozenset(layouts))


@pytest.mark.parametrize(
    ("adapt", "candidate", "message"),
    [
        (as_store_implementation, 3, r"x is a int, expected a callable make\(max_bytes\) or a class of stores"),
        (as_store_implementation, type("X", (), {"claims": 1}), "x.claims is a int, expected .*StoreClaims"),
        (as_cache_implementation, 3, r"x is a int, expected an object with make\(encoder, max_bytes, warn\)"),
        (as_cache_implementation, _Needy, r"x is a class that needs the arguments \['path'\]; name an object of it instead"),
        (as_cache_implementation, SimpleNamespace(make=_plain, claims=1), "x.claims is a int, expected .*CacheClaims"),
    ],
)
def test_what_is_no_store_and_no_cache_is_refused(adapt: Callable[..., object], candidate: object, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        adapt(candidate, "x")


NO_TYPES = {"model_type": "gemma3", "layer_types": None, "num_hidden_layers": 6}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model_type": "llama"}, "model_type is 'llama', expected one of gemma3, "),
        ({"use_bidirectional_attention": "audio"}, r"use_bidirectional_attention is 'audio', expected one of \[.*'gemma4'"),
        ({"use_bidirectional_attention": ["all"]}, r"use_bidirectional_attention is \['all'\], expected one of"),
        ({"layer_types": ["chunked"]}, r"layer_types\[0\] is 'chunked', expected 'full_attention' or 'sliding_attention'"),
        ({"layer_types": None}, r"layer_types is missing, .*\(got None and 6\)"),
        ({"layer_types": None, "num_hidden_layers": "6"}, r"layer_types is missing, .*\(got '6' and 6\)"),
        ({**NO_TYPES, "sliding_window_pattern": 0}, r"layer_types is missing, .*\(got 6 and 0\)"),
        ({**NO_TYPES, "sliding_window_pattern": "x"}, r"layer_types is missing, .*\(got 6 and 'x'\)"),
        ({"sliding_window": None}, "sliding_window is missing, expected an int of at least 1: layer 0 slides"),
    ],
)
def test_the_oracle_of_gating_refuses_what_no_model_has(changes: dict[str, Any], message: str) -> None:
    config = {"model_type": "gemma4", "layer_types": [SLIDING, FULL], "sliding_window": 4, **changes}
    with pytest.raises(ValueError, match=message):
        gate(config, MaskBatch(torch.tensor([0, 1, 1, 0]), [4]))


@pytest.mark.parametrize("types", [(0, 1, 1, 0), (0, 0, 0, 2), (0, 3, 3, 0), (0, 0, 0, 0)])
def test_a_full_layer_needs_a_mask_where_a_token_is_vision(types: tuple[int, ...]) -> None:
    config = {"model_type": "gemma3", "layer_types": [SLIDING, FULL], "sliding_window": 4}
    sliding, full = gate(config, MaskBatch(torch.tensor(types), [4]))
    assert sliding == LayerMask("gemma3-sliding", PROFILES["gemma3-sliding"].rule(4))
    assert full == (LayerMask("gemma3-full", PROFILES["gemma3-full"].rule()) if {1, 2} & {*types} else PLAIN_CAUSAL)


@pytest.mark.parametrize("pattern", [{}, {"sliding_window_pattern": 6}])
def test_without_layer_types_every_sixth_layer_is_full(pattern: dict[str, int]) -> None:
    config = {"model_type": "gemma3", "num_hidden_layers": 13, "sliding_window": 4, **pattern}
    layers = gate(config, MaskBatch(torch.tensor([1, 1]), [2]))
    assert [index for index, layer in enumerate(layers) if layer.profile == "gemma3-full"] == [5, 11]
