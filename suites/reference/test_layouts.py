"""From the layouts of engines to the packed mask and back, on masks of any content."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from reference.layouts import (
    bits_from_packed,
    bounds_from_packed,
    packed_from_bits,
    packed_from_bounds,
    packed_from_matrices,
    packed_from_padded,
    visible_from_additive,
)
from reference.tokens import INTEGER_DTYPES, MaskBatch

BATCH = MaskBatch(torch.zeros(3, dtype=torch.int64), [2, 1], [0, 1])
PACKED = torch.ones(6, dtype=torch.bool)


@st.composite
def _masks(draw: st.DrawFn) -> tuple[MaskBatch, list[Tensor]]:
    """A batch and a matrix of any content for each request."""
    sizes = draw(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=4))
    queries, prefixes = [q for q, _ in sizes], [p for _, p in sizes]
    batch = MaskBatch(torch.zeros(sum(queries), dtype=torch.int32), queries, prefixes)
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**32 - 1)))
    return batch, [torch.rand(q, p + q, generator=generator) < 0.5 for q, p in sizes]


@given(drawn=_masks())
def test_matrices_follow_one_another(drawn: tuple[MaskBatch, list[Tensor]]) -> None:
    batch, matrices = drawn
    packed = packed_from_matrices(batch, matrices)
    assert packed.is_contiguous()
    assert packed.dtype is torch.bool
    assert packed.tolist() == [cell for matrix in matrices for row in matrix.tolist() for cell in row]


@pytest.mark.parametrize("padding", ["right", "left"])
@given(drawn=_masks(), more=st.integers(0, 2), fill=st.booleans())
def test_padding_is_cut_off(padding: str, drawn: tuple[MaskBatch, list[Tensor]], more: int, fill: bool) -> None:
    batch, matrices = drawn
    rows, columns = (max((m.shape[axis] for m in matrices), default=0) + more for axis in (0, 1))
    mask = torch.full((len(matrices), 1, rows, columns), fill)
    for place, matrix in zip(mask, matrices, strict=True):
        q, k = matrix.shape
        top, left = (0, 0) if padding == "right" else (rows - q, columns - k)
        place[0, top : top + q, left : left + k] = matrix
    assert torch.equal(packed_from_padded(batch, mask, padding), packed_from_matrices(batch, matrices))  # type: ignore[arg-type]


@pytest.mark.parametrize("shape", [(2, 2, 2), (2, 1, 2), (2, 1, 2, 2, 1), (1, 1, 2, 2), (2, 2, 2, 2)], ids=str)
def test_a_padded_mask_has_a_place_for_each_request_and_one_head(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=re.escape(f"mask has shape {shape}, expected [B, 1, Q, K] with B=2, one head")):
        packed_from_padded(BATCH, torch.ones(shape).bool())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float64], ids=str)
@pytest.mark.parametrize("least", [False, True], ids=["-inf", "least"])
@given(drawn=_masks())
def test_what_is_added_to_the_scores_is_read(dtype: torch.dtype, least: bool, drawn: tuple[MaskBatch, list[Tensor]]) -> None:
    hidden = torch.finfo(dtype).min if least else -torch.inf
    for matrix in drawn[1]:
        added = torch.zeros(matrix.shape, dtype=dtype).masked_fill(~matrix, hidden)
        assert torch.equal(visible_from_additive(added), matrix)


@given(drawn=_masks())
def test_bits_are_those_of_numpy_request_by_request(drawn: tuple[MaskBatch, list[Tensor]]) -> None:
    batch, matrices = drawn
    packed = packed_from_matrices(batch, matrices)
    bits, indptr = bits_from_packed(batch, packed)
    segments = [np.packbits(matrix.numpy().ravel(), bitorder="little") for matrix in matrices]
    assert bits.tolist() == [byte for segment in segments for byte in segment]
    assert indptr.tolist() == [sum(map(len, segments[:end])) for end in range(len(segments) + 1)]
    assert (bits.dtype, indptr.dtype) == (torch.uint8, torch.int64)
    assert torch.equal(packed_from_bits(batch, bits, indptr), packed)


@given(drawn=_masks(), data=st.data())
def test_bounds_come_back(drawn: tuple[MaskBatch, list[Tensor]], data: st.DataObject) -> None:
    batch, _ = drawn
    drawn_bounds = []
    for segment in batch.segments():
        for _ in range(segment.queries):
            keys = st.integers(0, segment.keys - 1)
            drawn_bounds.append(sorted((data.draw(keys), data.draw(keys))))
    bounds = torch.tensor(drawn_bounds, dtype=torch.int32).view(-1, 2)
    packed = packed_from_bounds(batch, bounds)
    assert int(packed.sum()) == sum(last - first + 1 for first, last in drawn_bounds)
    found = bounds_from_packed(batch, packed)
    assert (found.dtype, found.tolist()) == (torch.int32, bounds.tolist())


@pytest.mark.parametrize("dtype", sorted(INTEGER_DTYPES, key=str), ids=str)
def test_bounds_are_read_in_any_integer_dtype(dtype: torch.dtype) -> None:
    """In a request longer than the narrowest of them counts."""
    bounds = torch.tensor([[0, 100], [7, 7], [3, 127]])
    batch = MaskBatch(torch.zeros(3, dtype=torch.int64), [3], [600])
    assert torch.equal(packed_from_bounds(batch, bounds.to(dtype)), packed_from_bounds(batch, bounds))


def _seen(cells: Tensor) -> list[int]:
    keys: list[int] = cells.nonzero().flatten().tolist()
    return keys


@given(drawn=_masks())
def test_a_row_that_is_not_one_interval_has_no_bounds(drawn: tuple[MaskBatch, list[Tensor]]) -> None:
    """The first that is blind or has a gap is named, with what it sees; where there is none, all have bounds."""
    batch, matrices = drawn
    rows = [
        (index, row, cells.nonzero().flatten().tolist()) for index, m in enumerate(matrices) for row, cells in enumerate(m)
    ]
    broken = [place for place in rows if not place[2] or place[2] != list(range(place[2][0], place[2][-1] + 1))]
    packed = packed_from_matrices(batch, matrices)
    if not broken:
        assert bounds_from_packed(batch, packed).tolist() == [[keys[0], keys[-1]] for _, _, keys in rows]
        return
    index, row, keys = broken[0]
    named = re.escape(f"row {row} of request {index} sees the keys {keys}, expected one interval of at least one key")
    with pytest.raises(ValueError, match=named):
        bounds_from_packed(batch, packed)


@given(drawn=_masks())
def test_what_is_made_lies_where_the_given_lies(drawn: tuple[MaskBatch, list[Tensor]]) -> None:
    """Not where torch makes tensors by default: an engine on a GPU sets that as it likes."""
    batch, matrices = drawn
    packed = packed_from_matrices(batch, matrices)
    bits, indptr = bits_from_packed(batch, packed)
    bounds = torch.tensor([[0, p] for q, p in zip(batch.query_lengths, batch.prefix_lengths, strict=True) for _ in range(q)])
    bounds = bounds.to(torch.int32).view(-1, 2)
    painted = packed_from_bounds(batch, bounds)
    with torch.device("meta"):
        assert torch.equal(packed_from_matrices(batch, matrices), packed)
        assert all(map(torch.equal, bits_from_packed(batch, packed), (bits, indptr)))
        assert torch.equal(packed_from_bits(batch, bits, indptr), packed)
        assert torch.equal(packed_from_bounds(batch, bounds), painted)
        assert torch.equal(bounds_from_packed(batch, painted), bounds)


def test_matrices_are_packed_where_the_batch_lies() -> None:
    batch = MaskBatch(torch.zeros(2, dtype=torch.int64, device="meta"), [2], check_values=False)
    packed = packed_from_matrices(batch, [torch.ones(2, 2).bool()])
    assert (packed.device.type, packed.shape) == ("meta", (4,))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: packed_from_matrices(BATCH, []), "matrices: 0, expected one for each of the 2 requests"),
        (
            lambda: packed_from_matrices(BATCH, [torch.ones(2, 2).bool(), torch.ones(1, 1).bool()]),
            r"matrices\[1\] has shape \(1, 1\), expected \(1, 2\): Q=1 rows of P \+ Q = 2 keys",
        ),
        (
            lambda: packed_from_padded(BATCH, torch.ones(2, 1, 1, 2).bool()),
            "mask has 1 rows and 2 columns",
        ),
        (lambda: packed_from_padded(BATCH, torch.ones(2, 1, 2, 2).bool(), "top"), "padding is 'top'"),  # type: ignore[arg-type]
        (lambda: visible_from_additive(torch.tensor([[0.0, -1.0]])), r"mask\[0, 1\] is -1.0, expected 0, -inf or -3.4"),
        (lambda: visible_from_additive(torch.tensor([torch.nan])), r"mask\[0\] is nan"),
        (
            lambda: packed_from_bits(BATCH, torch.zeros(1).byte(), torch.tensor([0, 4, 6])),
            r"indptr is \[0, 4, 6\], expected \[0, 1, 2\]: bytes",
        ),
        (lambda: packed_from_bits(BATCH, torch.zeros(1).byte(), torch.tensor([0, 1, 2])), "bits has 1 bytes, expected 2"),
        (lambda: bits_from_packed(BATCH, PACKED[:5]), r"mask has shape \(5,\), expected \(6,\)"),
        (lambda: packed_from_bounds(BATCH, torch.zeros(2, 2).int()), r"bounds has shape \(2, 2\), expected \(3, 2\)"),
        (
            lambda: packed_from_bounds(BATCH, torch.tensor([[0, 0], [0, 1], [1, 2]])),
            "row 0 of request 1 are 1 and 2, expected 0 <= first <= last < 2",
        ),
        (
            lambda: packed_from_bounds(BATCH, torch.tensor([[0, 0], [1, 0], [0, 1]])),
            "row 1 of request 0 are 1 and 0, expected 0 <= first <= last < 2",
        ),
    ],
)
def test_what_does_not_fit_is_refused_by_name(call: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()  # type: ignore[operator]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: packed_from_matrices(BATCH, [PACKED.int(), PACKED]), r"matrices\[0\] is torch.int32 of shape \(6,\)"),
        (lambda: packed_from_padded(BATCH, torch.zeros(2, 1, 2, 2)), "mask is torch.float32 .* expected a bool tensor"),
        (lambda: visible_from_additive(PACKED), "mask is torch.bool .* expected a floating-point tensor"),
        (lambda: packed_from_bits(BATCH, PACKED, torch.tensor([0, 1, 2])), "bits is torch.bool .* expected .* uint8"),
        (lambda: packed_from_bits(BATCH, torch.zeros(2).byte(), torch.zeros(3)), "indptr is torch.float32"),
        (lambda: packed_from_bounds(BATCH, torch.zeros(3, 2)), "bounds is torch.float32 .* expected integers"),
        (lambda: bounds_from_packed(BATCH, [True]), "mask is a list, expected a bool tensor"),  # type: ignore[arg-type]
    ],
)
def test_what_has_another_type_is_refused_by_name(call: object, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        call()  # type: ignore[operator]
