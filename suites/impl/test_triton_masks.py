"""Our Triton masks beyond the contract: tile sizes, pieces of a huge mask, and machine code for GPUs that are not here."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from impl.masks import EAGER, TRITON
from impl.masks.bounds import bounds
from impl.masks.dense import paint
from impl.masks.table import request_table
from impl.masks.triton_masks import TritonMasks
from reference.contracts import MaskBuilder, as_mask_implementation
from reference.dense import packed_mask, request_mask
from reference.profiles import PROFILES
from reference.rules import MaskRule
from reference.tokens import MaskBatch
from suites.mask.checks import check_dense
from suites.mask.report import assert_same
from suites.strategies.masks import MaskCase, mask_cases, rules

ROOT = Path(__file__).parents[2]

TILES = st.sampled_from([(16, 16), (64, 32), (1024, 16), (16, 128)])
"""(chunk, block): at these sizes drawn cases cross many tile edges, and rows are longer than chunks."""


@pytest.mark.requirement("MASK-PACK-1", "MASK-OUTPUT-1", "MASK-OUTPUT-2")
@given(data=st.data())
def test_tile_sizes_do_not_show(device: str, data: st.DataObject) -> None:
    chunk, block = data.draw(TILES, label="tiles")
    profile = data.draw(st.sampled_from(sorted(PROFILES)), label="profile")
    case = data.draw(mask_cases(PROFILES[profile]), label="case")
    cells = case.batch().cells
    if cells > 200 * chunk:  # one program a chunk, and the interpreter takes its time
        chunk = 4096
    check_dense(as_mask_implementation(TritonMasks(chunk, block), "triton"), case, profile, device)


@pytest.mark.requirement("MASK-ORDER-1", "MASK-ORDER-2", "MASK-ORDER-3", "MASK-WINDOW-3")
@pytest.mark.parametrize("builder", [TRITON, EAGER], ids=["triton", "eager"])
@given(case=mask_cases(), rule=rules)
def test_every_combination_of_terms_is_the_oracles(
    device: str, builder: MaskBuilder, case: MaskCase, rule: MaskRule
) -> None:
    """Rules that no profile has included."""
    batch = case.batch(device)
    got, want = builder.build(batch, rule).cpu(), packed_mask(batch, rule)
    assert_same(batch, rule, "a rule", got.view(torch.uint8), want.view(torch.uint8))


@pytest.mark.parametrize(("name", "value"), [("chunk", 0), ("chunk", 24), ("block", 8), ("block", -16)])
def test_a_tile_that_is_no_power_of_two_is_refused(name: str, value: int) -> None:
    with pytest.raises(ValueError, match=f"{name} is {value}, expected a power of two"):
        TritonMasks(**{name: value})


@pytest.mark.parametrize("layout", ["bits", "4d"])
def test_a_layout_that_is_not_claimed_is_refused(layout: str) -> None:
    batch = MaskBatch(torch.tensor([0, 1]), [2])
    with pytest.raises(ValueError, match=f"layout is '{layout}', expected 'dense'"):
        TritonMasks().build(batch, PROFILES["gemma4-full"].rule(), layout)  # type: ignore[arg-type]


@pytest.mark.requirement("MASK-OFFSET-1")
@pytest.mark.parametrize("profile", ["gemma3-sliding", "gemma3-full", "trtllm-gemma4-sliding-open-prefix"])
@pytest.mark.parametrize(
    ("queries", "prefixes", "index", "row"),
    [
        ((46_341,), (0,), 0, 46_340),  # the row's own offset passes 2**31
        ((70_000,), (0,), 0, 65_000),  # and 2**32
        ((30_000, 30_000, 30_000, 3_000), (0, 0, 5_000, 1_000), 3, 2_000),  # the base of the request does, rows span chunks
        ((40_000, 30_000, 700), (0, 0, 0), 2, 600),  # the same, rows narrower than a chunk
    ],
    ids=["row-2**31", "row-2**32", "request-wide", "request-narrow"],
)
def test_cells_beyond_32_bits_without_allocating_them(
    device: str, profile: str, queries: tuple[int, ...], prefixes: tuple[int, ...], index: int, row: int
) -> None:
    """Only the cells around one far row are painted (reports M44, M46, M47, M62)."""
    types = torch.zeros(sum(queries), dtype=torch.uint8, device=device)
    types[-600:-200] = 1
    batch = MaskBatch(types, queries, prefixes)
    rule = PROFILES[profile].rule(100)
    table = request_table(batch)
    segment = list(batch.segments())[index]
    rows = range(row - 1, min(row + 2, segment.queries))
    first = segment.first_cell + rows.start * segment.keys
    assert first > 2**31 - 2 * segment.keys
    got = paint(batch, rule, table, bounds(batch, rule, table), cells=range(first, first + len(rows) * segment.keys))
    assert torch.equal(got.view(len(rows), -1).cpu(), request_mask(batch, rule, index, rows))


_COMPILE = """
import json, sys
import triton
from triton.compiler import ASTSource
from triton.backends.compiler import GPUTarget
from impl.masks.bounds import _bounds_kernel
from impl.masks.dense import _dense_kernel

capability = int(sys.argv[1])
target = GPUTarget("cuda", capability, 32)

def compiled(kernel, types, constants):
    signature = {**types, **dict.fromkeys(constants, "constexpr")}
    attrs = {(i,): [["tt.divisibility", 16]] for i, t in enumerate(types.values()) if t.startswith("*")}
    return triton.compile(ASTSource(fn=kernel, signature=signature, constexprs=constants, attrs=attrs), target=target)

out = {}
for wide, opened, steps in ((False, False, 0), (False, True, 3), (True, False, 0), (True, False, 3), (True, True, 3)):
    kernel = compiled(
        _dense_kernel,
        {"result": "*u8", "bounds": "*i32", "table": "*i64", "first_cell": "i64", "requests": "i32", "queries": "i32"},
        {"STEPS": steps, "OPEN": opened, "WIDE": wide, "CHUNK": 4096, "PIECE": 512},
    )
    out[f"dense wide={wide} open={opened} steps={steps}"] = kernel.asm["ptx"]
for overlay, order, segmentation, see in ((0, 0, 0, False), (1, 0, 0, False), (1, 1, 1, True), (1, 2, 2, True)):
    names = _bounds_kernel.arg_names
    types = dict(zip(names, ["*i32", "*i64", "*u8", "*i64", "*i16", "*i64", *["i64"] * 7]))
    kernel = compiled(
        _bounds_kernel,
        types,
        {"STEPS": 3, "OVERLAY": overlay, "ORDER": order, "SEGMENTATION": segmentation, "BOUND_FUTURE": True,
         "SEE_PREFIX": see, "BLOCK": 128, "TILE": 32},
    )
    out[f"bounds overlay={overlay} order={order} segmentation={segmentation}"] = kernel.asm["ptx"]
print(json.dumps(out))
"""


@pytest.mark.requirement("MASK-OFFSET-1")
@pytest.mark.parametrize("capability", [80, 90, 100, 120])
def test_kernels_compile_for_gpus_that_are_not_here(capability: int, tmp_path: Path) -> None:
    """Every variant makes PTX; the dense one never stores under a mask, and 16 bytes at a time where rows are long."""
    script = tmp_path / "compile.py"
    script.write_text(_COMPILE, encoding="utf-8")
    environ = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
    environ |= {"PYTHONPATH": str(ROOT), "TRITON_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, str(script), str(capability)]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    kernels: dict[str, str] = json.loads(done.stdout)
    assert len(kernels) == 9
    for name, ptx in kernels.items():
        if not name.startswith("dense"):
            continue
        stores = re.findall(r"(@%p\d+\s+)?st\.global\.(\S+)", ptx)
        assert stores, name
        assert ("wide=True" in name) == ("v4.b32" in {width for _, width in stores}), f"{name}: {stores}"
        assert not any(predicate for predicate, _ in stores), f"{name}: a store is predicated"
