"""The input of a mask builder: a flat batch of typed tokens, cut into requests."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import InitVar, dataclass
from enum import IntEnum
from typing import NamedTuple

import torch
from torch import Tensor


class TokenType(IntEnum):
    """Modality of one token of the prompt, as Hugging Face numbers ``mm_token_type_ids``."""

    TEXT = 0
    IMAGE = 1
    VIDEO = 2
    AUDIO = 3


VISION = frozenset({TokenType.IMAGE, TokenType.VIDEO})
"""The types that can form a blob. Audio and text are always causal (MASK-MODALITY-1)."""

INTEGER_DTYPES = frozenset(
    {
        torch.int8,
        torch.int16,
        torch.int32,
        torch.int64,
        torch.uint8,
        torch.uint16,
        torch.uint32,
        torch.uint64,
    }
)

MAX_KEYS = 2**31 - 1
"""Longest request, in keys: a bound of a row is an int32 (MASK-INPUT-4)."""

MAX_CELLS = 2**63 - 1
"""Largest packed mask, in cells: an offset into it is an int64 (MASK-OFFSET-1)."""


class Segment(NamedTuple):
    """Where one request lies in the flat tensors; every figure counts elements.

    Attributes:
        queries: Q, rows of the request's matrix.
        prefix: P, keys that come from the cache.
        first_query: Index of its first query in the flat token types.
        first_prefix: Index of its first token in the flat prefix types.
        first_cell: Index of its first cell in the packed mask.
    """

    queries: int
    prefix: int
    first_query: int
    first_prefix: int
    first_cell: int

    @property
    def keys(self) -> int:
        """K = P + Q, columns of the request's matrix."""
        return self.prefix + self.queries

    @property
    def cells(self) -> int:
        """Q * K, cells of the request's matrix."""
        return self.queries * self.keys


@dataclass(frozen=True, eq=False)
class MaskBatch:
    """One flat batch of requests, as an engine hands it to its mask builder.

    The tensors are views into memory that the caller owns: they may have any integer dtype, stride
    and storage offset, and a builder must not write to them (MASK-INPUT-1 to MASK-INPUT-3).

    Attributes:
        token_types: ``[T]``, the :class:`TokenType` of every new token: those of request 0, of request 1
            and so on, then those of generation requests, which a mask builder ignores. ``T >= sum(query_lengths)``.
        query_lengths: Q of every context request, each at least 0.
        prefix_lengths: P of every context request, each at least 0; empty means that nothing is cached.
        prefix_types: ``[sum(prefix_lengths)]``, the types of the cached tokens in the same order, or None
            where the engine does not know them: a blob cut by the prefix then starts anew (MASK-CUT-2).
        item_ids: Like ``token_types``: which item each vision token belongs to, needed by segmentation ITEM.
            The value at a token that is not vision is ignored.
        prefix_item_ids: The same for the cached tokens, needed where ``prefix_types`` are given under ITEM.
        check_values: Look for unknown types. On CUDA tensors this waits for the device; an engine
            that has validated its types passes False.

    Raises:
        TypeError: A tensor is not a tensor, has no integer dtype, or a length is not an integer.
        ValueError: A length, a shape, a device or a token type is out of range; the message names the argument.
    """

    token_types: Tensor
    query_lengths: Sequence[int]
    prefix_lengths: Sequence[int] = ()
    prefix_types: Tensor | None = None
    item_ids: Tensor | None = None
    prefix_item_ids: Tensor | None = None
    check_values: InitVar[bool] = True

    def __post_init__(self, check_values: bool) -> None:
        queries = _lengths("query_lengths", self.query_lengths)
        prefixes = _lengths("prefix_lengths", self.prefix_lengths) or (0,) * len(queries)
        if len(prefixes) != len(queries):
            raise ValueError(
                f"prefix_lengths: {len(prefixes)} lengths {list(prefixes)}, expected one for each of the "
                f"{len(queries)} query_lengths {list(queries)}; pass 0 for a request without a cached prefix"
            )
        object.__setattr__(self, "query_lengths", queries)
        object.__setattr__(self, "prefix_lengths", prefixes)

        _check_size(queries, prefixes)
        _vector("token_types", self.token_types, self.token_types, sum(queries), "sum(query_lengths)", exact=False)
        for name, expected, what, exact in (
            ("prefix_types", sum(prefixes), "sum(prefix_lengths)", True),
            ("item_ids", sum(queries), "sum(query_lengths)", False),
            ("prefix_item_ids", sum(prefixes), "sum(prefix_lengths)", True),
        ):
            tensor = getattr(self, name)
            if tensor is not None:
                _vector(name, tensor, self.token_types, expected, what, exact=exact)
        items, cached = self.item_ids, self.prefix_item_ids
        if items is not None and cached is not None and items.dtype != cached.dtype:
            raise ValueError(f"prefix_item_ids has dtype {cached.dtype}, expected {items.dtype}, that of item_ids")
        if check_values:
            _check_types("token_types", self.token_types[: sum(queries)])
            if self.prefix_types is not None:
                _check_types("prefix_types", self.prefix_types)

    @property
    def device(self) -> torch.device:
        """Where every tensor of the batch lies, and where its mask is expected."""
        return self.token_types.device

    @property
    def query_total(self) -> int:
        """Context tokens of the batch: ``sum(query_lengths)``."""
        return sum(self.query_lengths)

    @property
    def cells(self) -> int:
        """Cells of the packed mask: ``sum Q * (P + Q)``, one byte each in the dense layout."""
        return sum(q * (p + q) for q, p in zip(self.query_lengths, self.prefix_lengths, strict=True))

    def require_item_ids(self) -> None:
        """Refuses a batch that cannot be segmented by item (MASK-REFUSE-2).

        Raises:
            ValueError: ``item_ids`` are missing, or ``prefix_item_ids`` where the prefix types are known.
        """
        if self.item_ids is None:
            raise ValueError("item_ids is None, expected the item of every token: the rule segments blobs by item")
        if self.prefix_types is not None and self.prefix_item_ids is None:
            raise ValueError("prefix_item_ids is None, expected the item of every cached token, as prefix_types are given")

    def segments(self) -> Iterator[Segment]:
        """Yields the place of every request, in batch order, empty requests included."""
        query = prefix = cell = 0
        for q, p in zip(self.query_lengths, self.prefix_lengths, strict=True):
            segment = Segment(q, p, query, prefix, cell)
            yield segment
            query, prefix, cell = query + q, prefix + p, cell + segment.cells


def _lengths(name: str, lengths: Sequence[int]) -> tuple[int, ...]:
    checked = []
    if not isinstance(lengths, Iterable) or isinstance(lengths, str):
        raise TypeError(f"{name} is {lengths!r} ({type(lengths).__name__}), expected a sequence of ints, one a request")
    for index, value in enumerate(lengths):
        try:
            length = operator.index(value)
        except TypeError:
            length = None
        if length is None or isinstance(value, bool):
            raise TypeError(
                f"{name}[{index}] is {value!r} ({type(value).__name__}), expected an int: lengths live on the host, "
                f"pass tensor.tolist() for a tensor of lengths"
            )
        if length < 0:
            raise ValueError(f"{name}[{index}] is {length}, expected at least 0")
        checked.append(length)
    return tuple(checked)


def _check_size(queries: tuple[int, ...], prefixes: tuple[int, ...]) -> None:
    cells = 0
    for index, (q, p) in enumerate(zip(queries, prefixes, strict=True)):
        if p + q > MAX_KEYS:
            raise ValueError(
                f"prefix_lengths[{index}] + query_lengths[{index}] is {p + q}, expected at most {MAX_KEYS} keys a request"
            )
        cells += q * (p + q)
    if cells > MAX_CELLS:
        raise ValueError(f"query_lengths and prefix_lengths ask for {cells} cells, expected at most {MAX_CELLS}")


def _vector(name: str, tensor: Tensor, anchor: Tensor, length: int, what: str, *, exact: bool) -> None:
    if not isinstance(tensor, Tensor):
        raise TypeError(f"{name} is a {type(tensor).__name__}, expected a 1-D integer tensor")
    if tensor.dtype not in INTEGER_DTYPES:
        raise TypeError(f"{name} has dtype {tensor.dtype}, expected an integer dtype; convert it with .to(torch.int32)")
    if tensor.dim() != 1:
        raise ValueError(f"{name} has shape {tuple(tensor.shape)}, expected one dimension; flatten the batch first")
    if tensor.device != anchor.device:
        raise ValueError(f"{name} is on {tensor.device}, expected {anchor.device}, where token_types is")
    if (tensor.numel() != length) if exact else (tensor.numel() < length):
        relation = "exactly" if exact else "at least"
        raise ValueError(f"{name} has {tensor.numel()} elements, expected {relation} {length} = {what}")


def _check_types(name: str, types: Tensor) -> None:
    values = types.to(torch.int64)
    unknown = (values < min(TokenType)) | (values > max(TokenType))
    if bool(unknown.any()):
        index = int(unknown.nonzero()[0])
        known = ", ".join(f"{t.value} {t.name}" for t in TokenType)
        raise ValueError(f"{name}[{index}] is {types[index].tolist()}, expected one of {known}")
