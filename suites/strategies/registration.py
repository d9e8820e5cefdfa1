"""Drawn test lists and waivers: structures that print, lines that people write, and lines gone wrong."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from hypothesis import strategies as st

from harness.entries import Entry
from harness.lists import Block, Condition, TestList
from harness.waives import FIELDS, MARKERS, Waiver

ENTRY_LINES = (
    "accuracy/test_llm_api_pytorch.py::TestLlama3_1_8B::test_nvfp4",
    "accuracy/test_llm_api_pytorch.py::TestLlama3_1_8B::test_nvfp4_streaming[stream_interval_4]",
    "test_e2e.py::test_ptp_quickstart_advanced[Llama3.1-8B-NVFP4-nvfp4-quantized/Meta-Llama-3.1-8B]",
    "suites/mask/",
    "unittest/_torch/thop/parallel TIMEOUT (90)",
    'unittest/_torch -k "not (modeling or multi_gpu or auto_deploy)" TIMEOUT (90)',
    "unittest/_torch/modeling -k modeling_llama -m 'gpu1 and not slow'",
    'unittest/llmapi/test_llm_models.py -m "not (part0 or part1)" -k "a"',
    "unittest/executor/test_base_worker.py ISOLATION",
    "unittest/trt/python_plugin unittest/tools unittest/utils TIMEOUT (5)",
    "triton_server/test_triton.py::test_gpt_2b_ib_lora[gpt-2b-ib-lora] ISOLATION, TIMEOUT (90)",
    "triton_server/test_triton.py::test_gpt_2b_ib_lora[gpt-2b-ib-lora] TIMEOUT (90), ISOLATION",
    'a.py::C::t[x y-"q"]',
    'a.py::t[[1, 2]-(3 ISOLATION] -m "x"',
    "a.py::t[#1 :: a/b] ISOLATION",
)
"""Entries as upstream has them, or could."""

WAIVER_LINES = (
    "examples/test_openai.py::test_llm_openai_triton_1gpu SKIP (https://bugs.example/4963654)",
    "full:GH200/examples/test_qwenvl.py::test_single_gpu[qwen-vl-chat] SKIP (arm is not supported)",
    "perf/test_perf.py::test_perf[t5_base-bs:8-input_output_len:60,20] SKIP # (https://chat.example/p1704525727177449)",
    "perf/test_perf.py::test_perf[a:128,128+512,32-quant:fp8-gpus:8] SKIP (SKIP due to timeout of quantization)",
    "cpp/test_e2e.py::test_model[-encoder-90] SKIP (waive it because it (still) doesn't take batched input)",
    "full:B200_PCIe/unittest/trt/functional SKIP (Disable for Blackwell)",
    "full:B200_PCIe/unittest/trt/attention/test_a.py unittest/llmapi/test_b.py unittest/tools SKIP (Disable)",
    'full:B200_PCIe/unittest/trt/model/test_gpt.py -k "partition0" SKIP (Disable for Blackwell)',
    'unittest/llmapi/test_llm_models.py -m "not (part0 or part1)" SKIP(OOM)',
    "full:sm_120/RequestTest/invalidInputs.py::RequestTest.invalidInputs XFAIL (https://bugs.example/1)",
    "a.py::t[x] XFAIL (https://bugs.example/1) owner=mask until=2027-01-31 example=AXicY2BgAAAABAAB",
    'a.py::t[x SKIP (y)] UNSTABLE (https://bugs.example/1) error="shapes differ" # since May',
    "a.py TIMEOUT (90)",
    "a.py::t[#1] ISOLATION",
)
"""Waivers as upstream has them, or could."""

PATH = Path("l0_x.yml")

_NAMES = st.text("abz19_.", max_size=5).map("n".__add__)
_CHARACTERS = st.characters(exclude_categories=("Cc", "Cs", "Zl", "Zp"))
_PARAMETERS = st.one_of(
    st.text(_CHARACTERS, max_size=12),
    st.lists(
        st.sampled_from(["a", "/", "::", "#", " # ", "[", "]", " ISOLATION", " SKIP (", ")", '"', " -k ", ": "]), max_size=6
    ).map("".join),
)
_EXPRESSIONS = st.lists(st.sampled_from(["a", "not", "and", "(b or c)", "x[y]", "{d}"]), min_size=1, max_size=4).map(
    " ".join
)
_MINUTES = st.integers(1, 999_999)


@st.composite
def _node_ids(draw: st.DrawFn) -> str:
    names = draw(st.lists(_NAMES.map(lambda name: name.replace(".", "_")), min_size=1, max_size=3))
    bracket = draw(st.none() | _PARAMETERS)
    return "::".join([draw(_paths()) + ".py", *names]) + ("" if bracket is None else f"[{bracket}]")


def _paths() -> st.SearchStrategy[str]:
    return st.lists(_NAMES, min_size=1, max_size=3).map("/".join)


def _several_paths() -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(_paths().map(lambda path: f"unittest/{path}"), min_size=2, max_size=3).map(tuple)


def targets() -> st.SearchStrategy[tuple[str, ...]]:
    """The targets of an entry: one path, one node id with whatever parameters, or several paths."""
    return st.one_of((_paths() | _node_ids()).map(lambda target: (target,)), _several_paths())


def entries(path: Path = PATH) -> st.SearchStrategy[Entry]:
    """Entries in the usual order of options and markers."""
    expressions = st.none() | _EXPRESSIONS
    return st.builds(
        Entry, targets(), expressions, expressions, st.none() | _MINUTES, st.booleans(), st.just(path), st.integers(1, 9)
    )


def conditions() -> st.SearchStrategy[Condition]:
    """Conditions whose words YAML could take for something else."""
    words = st.one_of(
        _NAMES, st.text(max_size=6), st.sampled_from(["true", "1", "null", "~", "'", "- a", "a: b", "*b200*", "no"])
    )
    bounds = st.dictionaries(st.sampled_from(["gte", "lte"]), st.integers(-(10**17), 10**17))
    patterns = st.lists(words, min_size=1, max_size=3).map(tuple)
    return st.builds(
        Condition,
        st.dictionaries(words, words, max_size=3),
        st.dictionaries(words, bounds, max_size=2),
        st.dictionaries(words, patterns, max_size=2),
    )


def stages(path: Path) -> st.SearchStrategy[TestList]:
    """Lists that stand in one file."""
    words = (_NAMES | st.text(min_size=1, max_size=6)).filter(str.strip)
    blocks = st.builds(Block, conditions(), st.lists(entries(path), max_size=3).map(tuple))
    contexts = words.filter(lambda name: name != "version")
    return st.builds(TestList, st.just(path), contexts, words, st.lists(blocks, max_size=3).map(tuple))


def _holds_no_end(target: str) -> bool:
    """Whether no marker stands behind a bracket inside of the id, where the id could as well end."""
    return re.search(rf"\]\s+({'|'.join(MARKERS)})([\s(]|\Z)", target) is None


@st.composite
def waivers(draw: st.DrawFn, path: Path = Path("waives.txt")) -> Waiver:
    """Waivers of every marker, with arguments, fields and comments."""
    target = " ".join(draw(targets().filter(lambda found: _holds_no_end(found[0]) and not found[0].startswith("full:"))))
    for option in "km" if draw(st.booleans()) else "":
        target += f' -{option} "{draw(_EXPRESSIONS)}"'
    marker = draw(st.sampled_from(MARKERS))
    prose = st.lists(st.sampled_from(["a", " ", "#", " # ", "(b (c))", "https://x/1", "SKIP", '"']), max_size=4).map("".join)
    argument = draw(_MINUTES.map(str) if marker == "TIMEOUT" else st.none() | prose)
    bare = st.text("ab=#'()/", min_size=1, max_size=4)
    blanks = st.text("a =#'()", min_size=1, max_size=6).filter(str.strip)
    values = {
        "owner": bare | blanks,
        "until": st.dates(date(1000, 1, 1)).map(date.isoformat),
        "example": bare,
        "error": bare | blanks,
    }
    assert set(values) == set(FIELDS)
    names = draw(st.lists(st.sampled_from(sorted(values)), unique=True, max_size=4))
    return Waiver(
        target,
        draw(st.none() | st.sampled_from(["B200", "DGX_B200", "sm_120"])),
        marker,
        argument,
        tuple((name, draw(values[name])) for name in names),
        draw(st.none() | st.text(_CHARACTERS, max_size=8).map(str.strip)),
        path,
        draw(st.integers(1, 9)),
    )


_PIECES = [
    " ", "[", "]", "(", ")", '"', "'", "#", ",", "::", "/", " -k ", " SKIP ", " TIMEOUT (", " TIMEOUT (2)", " ISOLATION,",
    "0", "full:", "=", "\n", "é",
]  # fmt: skip


@st.composite
def damaged(draw: st.DrawFn, lines: Sequence[str]) -> str:
    """A line that is right, after a few cuts, insertions and repeats; or any text."""
    if draw(st.integers(0, 9)) == 0:
        return draw(st.text(max_size=40))
    text = draw(st.sampled_from(lines))
    for _ in range(draw(st.integers(0, 4))):
        start, end = sorted(draw(st.tuples(st.integers(0, len(text)), st.integers(0, len(text)))))
        match draw(st.sampled_from(["cut", "insert", "repeat"])):
            case "cut":
                text = text[:start] + text[min(end, start + 12) :]
            case "insert":
                text = text[:start] + draw(st.sampled_from(_PIECES)) + text[start:]
            case _:
                text = text[:end] + text[start:]
    return text


_LIST = """version: 0.0.1
l0_x:
- condition:
    ranges:
      system_gpu_count: {gte: 1, lte: 8}
    wildcards:
      gpu: ['*b200*', "*h200*"]
      cpu: x86*
    terms:
      stage: pre_merge
  tests:
  # The suite.
  - suites/mask  # all of it
  - 'a.py::t[a: b #1] ISOLATION, TIMEOUT (90)'
  - "a.py -k 'x'"
- terms: {backend: pytorch}
  tests: []
"""
_FRAGMENTS = [
    "- a.py::t[a: b]", "- a.py TIMEOUT", '- "\\U99999999"', "- b.py\n", "l0_y: []\n", "  tests:\n", "gte: 1.5", "&x ", "*x",
    "!!str ", "!t ", "---\n", "...\n", "? ", "- ", ": ", "[", "]", "{", "}", "|\n", ">\n", "%YAML 1.1\n", "\t", "  ", "\n",
    "é", "\ufeff", "'", '"', "<<: ", "0x10", "~", "\u2028", "\x00", "#", ",",
]  # fmt: skip


@st.composite
def yaml_like(draw: st.DrawFn) -> str:
    """A list as YAML, after a few lines were cut, repeated or put elsewhere and fragments put in; or any text."""
    if draw(st.integers(0, 9)) == 0:
        return draw(st.text(max_size=60))
    lines = _LIST.splitlines(keepends=True)
    for _ in range(draw(st.integers(0, 3))):
        place, other = draw(st.tuples(st.integers(0, len(lines) - 1), st.integers(0, len(lines) - 1)))
        match draw(st.sampled_from(["cut", "repeat", "insert"])):
            case "cut" if len(lines) > 1:
                del lines[place]
            case "repeat":
                lines.insert(place, lines[other])
            case _:
                at = draw(st.integers(0, len(lines[place])))
                lines[place] = lines[place][:at] + draw(st.sampled_from(_FRAGMENTS)) + lines[place][at:]
    return "".join(lines)
