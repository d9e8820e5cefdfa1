"""The oracles agree with each other and with what was written by hand."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from reference.dense import packed_mask, request_mask
from reference.profiles import PROFILES
from reference.rules import MaskRule, Order, Overlay, Prefix, Segmentation
from reference.scalar import visible
from reference.tokens import MaskBatch
from suites.mask.golden import GOLDEN
from suites.strategies.masks import MaskCase, Request, mask_cases, rules

ROOT = Path(__file__).parents[2]


def _runs(letters: str) -> st.SearchStrategy[str]:
    """Words of runs: drawn letter by letter, a blob is hardly ever longer than a window."""
    run = st.builds(str.__mul__, st.sampled_from(letters), st.integers(1, 6))
    return st.lists(run, max_size=6).map("".join)


@st.composite
def small_cases(draw: st.DrawFn) -> MaskCase:
    """One or two requests of up to a dozen tokens."""
    requests = []
    for _ in range(draw(st.integers(1, 2))):
        types = draw(_runs("0112233"))[:12]
        items = draw(_runs("ab")).ljust(len(types), "a")[: len(types)]
        requests.append(Request(types, items, draw(st.integers(0, len(types)))))
    return MaskCase(tuple(requests), prefix_known=draw(st.booleans()))


def _scalar_mask(case: MaskCase, rule: MaskRule) -> list[bool]:
    """The packed mask by the twin, cell by cell, from the case as it is written: not from what the oracle reads."""
    cells = []
    for one in case.requests:
        types, items = [int(digit) for digit in one.types], [ord(letter) for letter in one.items]
        if not case.prefix_known:
            types[: one.cached] = [0] * one.cached
        keys = range(len(types))
        cells += [visible(rule, types, items, one.cached, query, key) for query in keys[one.cached :] for key in keys]
    return cells


@pytest.mark.parametrize("segmentation", Segmentation)
@pytest.mark.parametrize(
    ("overlay", "order"),
    [(Overlay.NONE, Order.WINDOW_LAST), (Overlay.ALL, Order.WINDOW_LAST), *((Overlay.VISION, order) for order in Order)],
)
@given(case=small_cases(), rule=rules)
def test_the_oracle_is_its_scalar_twin(
    segmentation: Segmentation, overlay: Overlay, order: Order, case: MaskCase, rule: MaskRule
) -> None:
    """Term by term: drawn all together, some combinations are hardly ever met."""
    rule = replace(rule, overlay=overlay, order=order, segmentation=segmentation)
    assert packed_mask(case.batch(), rule).tolist() == _scalar_mask(case, rule)


@pytest.mark.parametrize("golden", GOLDEN)
def test_the_oracle_gives_the_rows_written_by_hand(golden: str) -> None:
    expected = GOLDEN[golden]
    rule = PROFILES[expected.profile].rule(expected.case.window)
    assert packed_mask(expected.case.batch(), rule).to(torch.uint8).tolist() == expected.bytes()


@pytest.mark.parametrize("golden", [name for name, one in GOLDEN.items() if one.case.batch().cells <= 1000])
def test_its_twin_gives_the_rows_written_by_hand(golden: str) -> None:
    expected = GOLDEN[golden]
    rule = PROFILES[expected.profile].rule(expected.case.window)
    assert [int(cell) for cell in _scalar_mask(expected.case, rule)] == expected.bytes()


@given(case=mask_cases(), rule=rules, data=st.data())
def test_rows_of_the_oracle_are_the_rows_of_the_whole(case: MaskCase, rule: MaskRule, data: st.DataObject) -> None:
    batch = case.batch()
    index = data.draw(st.integers(0, len(case.requests) - 1))
    whole = request_mask(batch, rule, index)
    start = data.draw(st.integers(0, len(whole)))
    stop = data.draw(st.integers(start, len(whole)))
    assert torch.equal(request_mask(batch, rule, index, range(start, stop)), whole[start:stop])


@given(case=mask_cases(), rule=rules)
def test_a_row_is_one_interval_around_its_query_and_perhaps_an_open_prefix(case: MaskCase, rule: MaskRule) -> None:
    """What an implementation may rely on: two bounds a row are enough."""
    batch = case.batch()
    for index, segment in enumerate(batch.segments()):
        for row, cells in enumerate(request_mask(batch, rule, index)):
            first = segment.prefix if rule.prefix is Prefix.OPEN else 0
            seen = (cells[first:].nonzero().flatten() + first).tolist()
            assert seen == list(range(seen[0], seen[-1] + 1))
            assert segment.prefix + row in seen
            assert rule.prefix is Prefix.WINDOWED or cells[: segment.prefix].all()


@pytest.mark.parametrize("sizes", [[], [(0, 0)], [(0, 3), (0, 0)]])
def test_the_oracles_mask_of_no_queries_is_empty_and_bool(sizes: list[tuple[int, int]]) -> None:
    batch = MaskBatch(torch.zeros(0, dtype=torch.int64), [q for q, _ in sizes], [p for _, p in sizes])
    mask = packed_mask(batch, MaskRule(overlay=Overlay.VISION))
    assert (mask.shape, mask.dtype) == ((0,), torch.bool)


def _imports(package: str) -> set[tuple[str, str]]:
    found = set()
    for path in (ROOT / package).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{path}: relative import"
                names = [node.module or ""]
            found |= {(str(path.relative_to(ROOT)), name) for name in names}
    return found


@pytest.mark.parametrize(
    ("package", "forbidden"),
    [
        ("reference", ("impl", "suites", "harness", "triton", "hypothesis", "pytest")),
        ("impl", ("suites", "harness", "reference.dense", "reference.scalar", "reference.gating")),
        ("harness", ("reference", "impl", "suites", "torch", "triton")),
        ("suites/strategies", ("impl",)),
        ("suites/mask", ("impl",)),
        ("suites/cache", ("impl",)),
    ],
)
def test_arrows_between_folders_run_one_way(package: str, forbidden: tuple[str, ...]) -> None:
    """An oracle that shares code with what it judges proves nothing (report H26)."""
    imports = _imports(package)
    assert imports
    wrong = [(path, name) for path, name in imports if any(name == f or name.startswith(f + ".") for f in forbidden)]
    assert not wrong, f"{package} must not import {forbidden}"
