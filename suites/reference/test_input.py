"""Bad input is refused by name, before anything is launched or written."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from reference.dense import packed_mask
from reference.profiles import PROFILES
from reference.rules import MAX_WINDOW, MaskRule
from reference.tokens import MAX_CELLS, MAX_KEYS, MaskBatch

TYPES = torch.tensor([0, 1, 1, 0])
ONE = torch.tensor([0], dtype=torch.int8)
HUGE = torch.tensor([0, 2**63 + 5], dtype=torch.uint64)


@pytest.mark.requirement("MASK-REFUSE-1", "MASK-INPUT-4")
@pytest.mark.parametrize(
    ("error", "named", "arguments"),
    [
        (ValueError, r"query_lengths\[1\] is -1", {"query_lengths": [5, -1]}),
        (TypeError, r"query_lengths\[0\] is 4.0 \(float\), expected an int", {"query_lengths": [4.0]}),
        (TypeError, r"query_lengths is 4 \(int\), expected a sequence", {"query_lengths": 4}),
        (TypeError, r"prefix_lengths is None", {"prefix_lengths": None}),
        (TypeError, r"query_lengths\[0\] is True", {"query_lengths": [True]}),
        (ValueError, r"prefix_lengths\[0\] is -2", {"prefix_lengths": [-2]}),
        (ValueError, "prefix_lengths: 2 lengths", {"prefix_lengths": [1, 2]}),
        (ValueError, "token_types has 4 elements, expected at least 5 = sum.query_lengths.$", {"query_lengths": [5]}),
        (
            ValueError,
            r"token_types\[2\] is 4, .* 0 TEXT, 1 IMAGE, 2 VIDEO, 3 AUDIO$",
            {"token_types": torch.tensor([0, 1, 4, 0])},
        ),
        (ValueError, r"token_types\[0\] is -1", {"token_types": torch.tensor([-1, 1, 1, 0])}),
        (ValueError, r"token_types\[1\] is 9223372036854775813", {"token_types": HUGE, "query_lengths": [2]}),
        (TypeError, "token_types has dtype torch.float32", {"token_types": TYPES.float()}),
        (TypeError, "token_types has dtype torch.bool", {"token_types": TYPES.bool()}),
        (TypeError, "token_types is a list", {"token_types": [0, 1, 1, 0]}),
        (ValueError, r"token_types has shape \(2, 2\)", {"token_types": TYPES.view(2, 2)}),
        (
            ValueError,
            "prefix_types has 3 .* exactly 2 = sum.prefix_lengths.$",
            {"prefix_lengths": [2], "prefix_types": TYPES[:3]},
        ),
        (ValueError, r"prefix_types\[1\] is 9", {"prefix_lengths": [2], "prefix_types": torch.tensor([0, 9])}),
        (ValueError, "^item_ids has 3 elements, expected at least 4 = sum.query_lengths.$", {"item_ids": TYPES[:3]}),
        (TypeError, "item_ids has dtype torch.float64", {"item_ids": TYPES.double()}),
        (
            ValueError,
            "prefix_item_ids has 1 .* exactly 2 = sum.prefix_lengths.$",
            {"prefix_lengths": [2], "prefix_item_ids": ONE},
        ),
        (
            ValueError,
            "prefix_item_ids has dtype torch.int8",
            {"prefix_lengths": [1], "item_ids": TYPES, "prefix_item_ids": ONE},
        ),
        (ValueError, "prefix_types is on meta, expected cpu", {"prefix_lengths": [2], "prefix_types": TYPES[:2].to("meta")}),
        (ValueError, "item_ids is on meta, expected cpu", {"item_ids": TYPES.to("meta")}),
    ],
)
def test_a_bad_batch_is_refused_by_name(error: type[Exception], named: str, arguments: dict[str, Any]) -> None:
    with pytest.raises(error, match=named):
        MaskBatch(**{"token_types": TYPES, "query_lengths": [4], **arguments})


def _sized(sizes: list[tuple[int, int]]) -> MaskBatch:
    """A batch of requests of so many queries and cached keys, whose types take one byte however many they are."""
    types = torch.zeros(1, dtype=torch.int8).expand(sum(q for q, _ in sizes))
    return MaskBatch(types, [q for q, _ in sizes], [p for _, p in sizes], check_values=False)


LARGEST = [(MAX_KEYS, 0), (MAX_KEYS, 0), (4, MAX_KEYS - 4), (1, 0)]
"""Requests of 2**63 - 1 cells together."""


@pytest.mark.requirement("MASK-INPUT-4", "MASK-OFFSET-1")
def test_a_batch_has_as_many_cells_as_an_offset_can_count_and_no_more() -> None:
    assert _sized(LARGEST).cells == MAX_CELLS == 2**63 - 1
    for more in ([(1, 0)], [(0, 5), (1, 0)], [(1, MAX_KEYS - 1)]):
        cells = MAX_CELLS + sum(q * (p + q) for q, p in more)
        for sizes in (LARGEST + more, more + LARGEST):
            with pytest.raises(ValueError, match=f"ask for {cells} cells, expected at most {MAX_CELLS}$"):
                _sized(sizes)


@pytest.mark.requirement("MASK-INPUT-4")
@pytest.mark.parametrize("queries", [0, 1, 4, MAX_KEYS])
def test_a_request_has_as_many_keys_as_a_bound_can_count_and_no_more(queries: int) -> None:
    assert next(_sized([(queries, MAX_KEYS - queries)]).segments()).keys == MAX_KEYS == 2**31 - 1
    named = rf"prefix_lengths\[1\] \+ query_lengths\[1\] is {2**31}, expected at most {MAX_KEYS} keys a request$"
    with pytest.raises(ValueError, match=named):
        _sized([(1, 1), (queries, 2**31 - queries)])


@pytest.mark.requirement("MASK-REFUSE-1")
@pytest.mark.parametrize(
    ("error", "named", "arguments"),
    [
        (ValueError, "window is 0, expected at least 1", {"window": 0}),
        (ValueError, "window is -3", {"window": -3}),
        (ValueError, "window is 2147483648, expected at most 2147483647", {"window": 2**31}),
        (TypeError, "window is 2.5", {"window": 2.5}),
        (TypeError, "window is True", {"window": True}),
        (TypeError, r"overlay is 'vision' \(str\), expected a Overlay", {"overlay": "vision"}),
        (TypeError, "order is None", {"order": None}),
        (TypeError, "prefix is 'open'", {"prefix": "open"}),
        (TypeError, "segmentation is 1", {"segmentation": 1}),
        (TypeError, "bound_future is 1", {"bound_future": 1}),
    ],
)
def test_a_bad_rule_is_refused_by_name(error: type[Exception], named: str, arguments: dict[str, Any]) -> None:
    with pytest.raises(error, match=named):
        MaskRule(**arguments)


@pytest.mark.requirement("MASK-PACK-3")
def test_generation_tokens_may_be_anything() -> None:
    """They are ignored, their values included."""
    assert MaskBatch(torch.tensor([0, 1, 77, -5]), [2]).query_total == 2


@pytest.mark.parametrize("profile", [name for name, profile in PROFILES.items() if profile.window])
def test_a_sliding_profile_needs_a_window(profile: str) -> None:
    with pytest.raises(ValueError, match=f"window is None, expected an int of at least 1: profile {profile}"):
        PROFILES[profile].rule()
    with pytest.raises(ValueError, match="window is 0"):
        PROFILES[profile].rule(0)


@pytest.mark.requirement("MASK-SCOPE-4")
@given(window=st.integers(1, 5000))
def test_without_causality_the_configured_window_is_halved(window: int) -> None:
    """Gemma 3 hides |p-c| = W//2+1, Gemma 4 still shows it."""
    assert PROFILES["gemma3-all-sliding"].rule(window).window == window // 2 + 1
    assert PROFILES["gemma4-all-sliding"].rule(window).window == window // 2 + 2


def test_every_profile_names_its_source() -> None:
    assert all(profile.source.startswith("https://") for profile in PROFILES.values())


class _Index:
    """An integer of another library."""

    def __init__(self, value: int) -> None:
        self._value = value

    def __index__(self) -> int:
        return self._value


def test_any_integer_is_taken_as_an_int() -> None:
    rule = MaskRule(_Index(4))  # type: ignore[arg-type]
    batch = MaskBatch(torch.tensor([0, 1]), [_Index(2)], [_Index(3)])  # type: ignore[list-item]
    for value in (rule.window, *batch.query_lengths, *batch.prefix_lengths):
        assert type(value) is int
    assert (rule, batch.cells) == (MaskRule(4), 10)


def test_the_widest_window_is_the_longest_request() -> None:
    assert MaskRule(MAX_WINDOW).window == MAX_WINDOW
    with pytest.raises(ValueError, match=f"window is {MAX_WINDOW + 1}, expected at most {MAX_WINDOW}"):
        MaskRule(MAX_WINDOW + 1)


@pytest.mark.requirement("MASK-REFUSE-2")
@pytest.mark.parametrize(
    ("missing", "named"), [("item_ids", "item_ids is None"), ("prefix_item_ids", "prefix_item_ids is None")]
)
def test_the_oracle_refuses_to_segment_by_items_that_are_not_there(missing: str, named: str) -> None:
    given = {"token_types": [1, 1], "prefix_types": [1], "item_ids": [5, 5], "prefix_item_ids": [5]}
    tensors = {name: torch.tensor(value) for name, value in given.items() if name != missing}
    with pytest.raises(ValueError, match=f"^{missing} is None, expected the item of every "):
        packed_mask(MaskBatch(query_lengths=[2], prefix_lengths=[1], **tensors), PROFILES["vllm-gemma3-full"].rule())
