"""Between the layouts of masks that engines use and the packed dense mask that the suite judges (SPEC.md, layouts).

An adapter calls its engine, then one of the ``packed_from_...`` functions here. Every one takes the batch, which says how
many queries and keys each request has, and checks what it is given against that. None of them knows any rule of a mask.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

from reference.tokens import MaskBatch


def packed_from_matrices(batch: MaskBatch, matrices: Sequence[Tensor]) -> Tensor:
    """Packs one matrix a request.

    Args:
        batch: The requests.
        matrices: A bool tensor ``[Q, P + Q]`` for each request, requests without queries included.

    Returns:
        ``[sum Q * (P + Q)]`` bool on the batch's device, contiguous.

    Raises:
        TypeError: A matrix is not bool.
        ValueError: Their number, or the shape of one, does not fit the batch.
    """
    if len(matrices) != len(batch.query_lengths):
        raise ValueError(f"matrices: {len(matrices)}, expected one for each of the {len(batch.query_lengths)} requests")
    for index, (matrix, segment) in enumerate(zip(matrices, batch.segments(), strict=True)):
        _require_bool(f"matrices[{index}]", matrix)
        if matrix.shape != (segment.queries, segment.keys):
            raise ValueError(
                f"matrices[{index}] has shape {tuple(matrix.shape)}, expected {(segment.queries, segment.keys)}: "
                f"Q={segment.queries} rows of P + Q = {segment.keys} keys"
            )
    empty = torch.empty(0, dtype=torch.bool, device=batch.device)
    return torch.cat([empty, *(matrix.flatten().to(batch.device) for matrix in matrices)])


def packed_from_padded(batch: MaskBatch, mask: Tensor, padding: Literal["right", "left"] = "right") -> Tensor:
    """Packs the mask of a padded batch, as SDPA takes it.

    Args:
        batch: The requests.
        mask: ``[B, 1, Q, K]`` bool; Q and K are at least those of every request.
        padding: The side on which shorter requests are padded, queries and keys alike.

    Returns:
        ``[sum Q * (P + Q)]`` bool, the padding cut off.

    Raises:
        TypeError: The mask is not bool; a float mask goes through :func:`visible_from_additive` first.
        ValueError: It has another shape, or is too small for a request.
    """
    _require_bool("mask", mask)
    if padding not in ("right", "left"):
        raise ValueError(f"padding is {padding!r}, expected 'right' or 'left'")
    requests = len(batch.query_lengths)
    if mask.dim() != 4 or mask.shape[:2] != (requests, 1):
        raise ValueError(f"mask has shape {tuple(mask.shape)}, expected [B, 1, Q, K] with B={requests}, one head for all")
    rows, columns = mask.shape[2:]
    matrices = []
    for index, segment in enumerate(batch.segments()):
        if segment.queries > rows or segment.keys > columns:
            raise ValueError(
                f"mask has {rows} rows and {columns} columns, expected at least {segment.queries} and {segment.keys} "
                f"for request {index}"
            )
        top, left = (0, 0) if padding == "right" else (rows - segment.queries, columns - segment.keys)
        matrices.append(mask[index, 0, top : top + segment.queries, left : left + segment.keys])
    return packed_from_matrices(batch, matrices)


def visible_from_additive(mask: Tensor) -> Tensor:
    """Reads a mask that is added to the attention scores.

    Args:
        mask: Floating point, of any shape: 0 where the key is visible, ``-inf`` or the least finite value of its dtype
            where it is hidden.

    Returns:
        Bool of the same shape, True where visible.

    Raises:
        TypeError: The mask is not floating point.
        ValueError: It holds another value, such as a bias: what is visible then is a matter of degree.
    """
    if not isinstance(mask, Tensor) or not mask.is_floating_point():
        raise TypeError(f"mask is {_what(mask)}, expected a floating-point tensor that is added to the scores")
    visible = mask == 0
    hidden = mask <= torch.finfo(mask.dtype).min
    other = ~(visible | hidden)
    if bool(other.any()):
        where = tuple(other.nonzero()[0].tolist())
        raise ValueError(
            f"mask[{', '.join(map(str, where))}] is {mask[where].item()}, "
            f"expected 0, -inf or {torch.finfo(mask.dtype).min}, the least value of {mask.dtype}"
        )
    return visible


def packed_from_bits(batch: MaskBatch, bits: Tensor, indptr: Tensor) -> Tensor:
    """Unpacks FlashInfer's ``packed_custom_mask``.

    Args:
        batch: The requests.
        bits: ``[indptr[-1]]`` uint8: cell ``off`` of a request is bit ``off % 8``, from the least, of byte ``off // 8``
            of its segment. Bits behind its last cell are ignored.
        indptr: ``[B + 1]`` integers, where the segment of each request begins, in bytes.

    Returns:
        ``[sum Q * (P + Q)]`` bool.

    Raises:
        TypeError: ``bits`` are not uint8, or ``indptr`` are no integers.
        ValueError: The segments do not fit the batch: each has ``ceil(Q * (P + Q) / 8)`` bytes.
    """
    if not isinstance(bits, Tensor) or bits.dtype is not torch.uint8 or bits.dim() != 1:
        raise TypeError(f"bits is {_what(bits)}, expected one dimension of uint8")
    if not isinstance(indptr, Tensor) or indptr.is_floating_point() or indptr.dtype is torch.bool:
        raise TypeError(f"indptr is {_what(indptr)}, expected integers")
    want = _byte_indptr(batch)
    if indptr.tolist() != want:
        raise ValueError(f"indptr is {indptr.tolist()}, expected {want}: bytes, every request begins on one")
    if bits.numel() != want[-1]:
        raise ValueError(f"bits has {bits.numel()} bytes, expected {want[-1]} = indptr[-1]")
    cells = (bits[:, None] >> torch.arange(8, dtype=torch.uint8, device=bits.device)) & 1
    matrices = [
        cells[want[index] : want[index + 1]].flatten()[: segment.cells].view(segment.queries, segment.keys).bool()
        for index, segment in enumerate(batch.segments())
    ]
    return packed_from_matrices(batch, matrices)


def bits_from_packed(batch: MaskBatch, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Packs a mask as FlashInfer's ``packed_custom_mask``: the inverse of :func:`packed_from_bits`.

    Args:
        batch: The requests.
        mask: ``[sum Q * (P + Q)]`` bool.

    Returns:
        ``bits``, uint8, bits behind the last cell of a request 0; ``indptr``, ``[B + 1]`` int64, on the mask's device.

    Raises:
        TypeError: The mask is not bool.
        ValueError: It has another number of cells.
    """
    _require_packed(batch, mask)
    indptr = _byte_indptr(batch)
    padded = torch.zeros(8 * indptr[-1], dtype=torch.uint8, device=mask.device)
    for first, segment in zip(indptr, batch.segments(), strict=False):
        padded[8 * first : 8 * first + segment.cells] = mask[segment.first_cell : segment.first_cell + segment.cells]
    weights = 2 ** torch.arange(8, dtype=torch.uint8, device=mask.device)
    bits = (padded.view(-1, 8) * weights).sum(1, dtype=torch.uint8)
    return bits, torch.tensor(indptr, dtype=torch.int64, device=mask.device)


def packed_from_bounds(batch: MaskBatch, bounds: Tensor) -> Tensor:
    """Paints a mask whose every row is one interval.

    Args:
        batch: The requests.
        bounds: ``[sum Q, 2]`` integers: the first and the last visible key of each query, positions in its request.

    Returns:
        ``[sum Q * (P + Q)]`` bool.

    Raises:
        TypeError: The bounds are no integers.
        ValueError: Their shape does not fit the batch, or one lies outside of its request.
    """
    if not isinstance(bounds, Tensor) or bounds.is_floating_point() or bounds.dtype is torch.bool:
        raise TypeError(f"bounds is {_what(bounds)}, expected integers")
    if bounds.shape != (batch.query_total, 2):
        raise ValueError(f"bounds has shape {tuple(bounds.shape)}, expected {(batch.query_total, 2)}: two for each query")
    matrices = []
    for index, segment in enumerate(batch.segments()):
        first, last = bounds[segment.first_query : segment.first_query + segment.queries].to(torch.int64).unbind(1)
        outside = (first < 0) | (last >= segment.keys) | (first > last)
        if bool(outside.any()):
            row = int(outside.nonzero()[0])
            raise ValueError(
                f"bounds of row {row} of request {index} are {first[row].item()} and {last[row].item()}, "
                f"expected 0 <= first <= last < {segment.keys}"
            )
        keys = torch.arange(segment.keys, device=bounds.device)
        matrices.append((keys >= first[:, None]) & (keys <= last[:, None]))
    return packed_from_matrices(batch, matrices)


def bounds_from_packed(batch: MaskBatch, mask: Tensor) -> Tensor:
    """The first and the last visible key of each query: the inverse of :func:`packed_from_bounds`.

    Args:
        batch: The requests.
        mask: ``[sum Q * (P + Q)]`` bool.

    Returns:
        ``[sum Q, 2]`` int32 on the mask's device.

    Raises:
        TypeError: The mask is not bool.
        ValueError: It has another number of cells, or a row is not one interval: it is blind or has a gap.
    """
    _require_packed(batch, mask)
    bounds = [torch.empty((0, 2), dtype=torch.int32, device=mask.device)]
    for index, segment in enumerate(batch.segments()):
        rows = mask[segment.first_cell : segment.first_cell + segment.cells].view(segment.queries, segment.keys)
        if segment.queries == 0:
            continue
        cells = rows.to(torch.uint8)
        first, last = cells.argmax(1), segment.keys - 1 - cells.flip(1).argmax(1)
        broken = last - first + 1 != rows.sum(1)  # a blind row has all keys between its bounds, and sees none
        if bool(broken.any()):
            row = int(broken.nonzero()[0])
            keys = rows[row].nonzero().flatten().tolist()
            raise ValueError(f"row {row} of request {index} sees the keys {keys}, expected one interval of at least one key")
        bounds.append(torch.stack([first, last], 1).to(torch.int32))
    return torch.cat(bounds)


def _byte_indptr(batch: MaskBatch) -> list[int]:
    indptr = [0]
    for segment in batch.segments():
        indptr.append(indptr[-1] + (segment.cells + 7) // 8)
    return indptr


def _require_packed(batch: MaskBatch, mask: Tensor) -> None:
    _require_bool("mask", mask)
    if mask.shape != (batch.cells,):
        raise ValueError(f"mask has shape {tuple(mask.shape)}, expected {(batch.cells,)}: sum Q * (P + Q) cells")


def _require_bool(name: str, mask: object) -> None:
    if not isinstance(mask, Tensor) or mask.dtype is not torch.bool:
        raise TypeError(f"{name} is {_what(mask)}, expected a bool tensor")


def _what(value: object) -> str:
    return f"{value.dtype} of shape {tuple(value.shape)}" if isinstance(value, Tensor) else f"a {type(value).__name__}"
