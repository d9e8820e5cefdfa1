"""Runs to render: a realistic one that failed, and drawn ones whose texts hold anything."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from harness.failures import Failure, replay
from harness.records import ListRecord, Manifest, Picture, Shard, TestRecord
from harness.statuses import Status
from harness.verdict import Conformance, TestResult, conclude

REQUIREMENTS = {
    "MASK-BASE-1": "Without an overlay a query sees the keys at and before its own position, subject to the window.",
    "MASK-BLOB-1": "With overlay VISION, tokens of one blob see each other in both directions.",
    "MASK-ORDER-1": "Order WINDOW_LAST: a key is visible if `(base or blob) and past and future`.",
    "MASK-PREFIX-1": "Prefix WINDOWED: a cached key obeys the rule as any other key does.",
    "MASK-OUTPUT-1": "Every byte of the result is written, and is 0 or 1.",
    "MASK-OFFSET-1": "Offsets into the mask are 64 bits wide: the base of a request, the start of a row and the cell.",
    "MASK-GRAPH-1": "Where claimed: a call captured in a CUDA graph gives, after the token types in the captured buffers "
    "change, the mask of the new types at each replay.",
    "MASK-REFUSE-1": "A batch or rule that makes no sense is refused with a ValueError or TypeError naming the argument.",
    "CACHE-ORDER-1": "The embedding of a request is its items' rows in item order, whichever were hits.",
}

HOSTILE = "</code></script><script>window.injected = 1; alert(1)</script><img src=x onerror=alert(1)>\"'javascript:alert(1)"
"""Text that would act if a report let it."""

_COMMAND = ["--mask-impl", "my_engine.masks:build"]


def manifest(tests: Sequence[TestResult], **changes: Any) -> Manifest:
    """What a run of these tests set out to do."""
    unmet = ["system_gpu_count is 0, expected 1", "no gpu, expected *b200*"]
    values: dict[str, Any] = {
        "run": "2027-01-04T08-30-00-l0_b200",
        "started": "2027-01-04T08:30:00+00:00",
        "lists": [ListRecord("l0_b200", "test_lists/l0_b200.yml", unmet)],
        "conditions": "report",
        "implementations": {"--mask-impl": "my_engine.masks:build", "--cache-impl": "gemma4"},
        "device": "CPU, Triton's interpreter",
        "machine": {"cpu": "x86_64", "os": "linux", "linux_distribution_name": "debian", "system_gpu_count": 0},
        "versions": {"python": "3.12.11", "torch": "2.13.0", "triton": "3.9.0", "hypothesis": "6.170.17", "pytest": "9.2.0"},
        "commit": "0123456789abcdef0123456789abcdef01234567",
        "registered": "0123456789abcdef",
        "command": _COMMAND,
        "requirements": REQUIREMENTS,
        "narrowed": [],
        "universe": [test.id for test in tests],
        "tests": [TestRecord(test.id, test.requirements, test.waiver) for test in tests],
    }
    return Manifest(**{**values, **changes})


def run_of(*tests: TestResult, errors: Sequence[str] = (), **changes: Any) -> Conformance:
    """The verdict on these tests; ``changes`` are fields of the manifest."""
    return conclude(manifest(tests, **changes), tests, errors)


def failure(node_id: str, message: str = "AssertionError: 3 of 49 cells are wrong", **changes: Any) -> Failure:
    """A failure of a test."""
    values: dict[str, Any] = {
        "message": message,
        "text": f"suites/mask/checks.py:61: in judge\n    assert not wrong, explain(case)\nE   {message}",
        "example": None,
        "replay": replay(node_id, _COMMAND, None),
        "picture": None,
    }
    return Failure(**{**values, **changes})


def wrong_mask(queries: int = 24, prefix: int = 12, window: int = 9) -> Picture:
    """A sliding mask whose blobs are seen beyond the window, and in which one key is lost at the edge of a tile."""
    keys = prefix + queries
    blobs = ("." * 4 + "a" * 14 + "." * 3 + "b" * 3 + "c" * 3).ljust(keys, ".")
    expected, got = [], []
    for p in range(prefix, keys):
        one_blob = [blobs[c] != "." and blobs[c] == blobs[p] for c in range(keys)]
        past = [c > p - window for c in range(keys)]
        right = [(c <= p or one_blob[c]) and past[c] for c in range(keys)]
        wrong = [(c <= p and past[c] and not (c == 16 and p > 20)) or one_blob[c] for c in range(keys)]
        expected.append("".join("#" if cell else "." for cell in right))
        got.append("".join("#" if cell else "." for cell in wrong))
    got[-1] = got[-1][:-2] + "??"
    title = f"gemma3-sliding: W={window}, visible: (c <= p or same blob) and c > p-W, blobs by run"
    return Picture(title, expected, got, blobs, prefix, prefix, 0, 16)


def failing_run() -> Conformance:
    """A run in which every status comes up, as one sees it after a change of a kernel."""

    def test(name: str, status: Status, *requirements: str, file: str = "mask/test_dense.py", **fields: Any) -> TestResult:
        return TestResult(f"suites/{file}::{name}", status, list(requirements), **{"seconds": 0.004, **fields})

    oracle = "suites/mask/test_dense.py::test_the_mask_is_the_oracles[gemma3-sliding]"
    wrong = failure(
        oracle,
        "AssertionError: gemma3-sliding: W=9, visible: (c <= p or same blob) and c > p-W, blobs by run",
        example="case=Case(\n    profile='gemma3-sliding',\n    window=9,\n    requests=[Request('0' * 4 + '1' * 14"
        " + '0' * 3 + '1' * 3 + '2' * 3 + '0' * 9, 'a' * 36, cached=12)],\n    dtype='int32',\n)",
        replay=replay(oracle, _COMMAND, "AXicY2BgYGBkYGBgYmBgYGZgAAAAdgAN"),
        picture=wrong_mask(),
    )
    chunks = "suites/mask/test_metamorphic.py::test_chunks_stacked_are_the_mask_of_one_shot"
    return run_of(
        test(
            "test_the_mask_is_the_oracles[gemma3-full]", Status.PASSED, "MASK-BASE-1", "MASK-BLOB-1", examples=400, seconds=4
        ),
        test(
            "test_the_mask_is_the_oracles[gemma3-sliding]",
            Status.FAILED,
            "MASK-ORDER-1",
            "MASK-BLOB-1",
            "MASK-PREFIX-1",
            examples=57,
            seconds=1.92,
            failure=wrong,
        ),
        test("test_the_mask_is_the_oracles[gemma4-full]", Status.PASSED, "MASK-BASE-1", examples=400, seconds=3.87),
        test(
            "test_the_mask_is_the_oracles[vllm-gemma3-sliding]",
            Status.NOT_CLAIMED,
            "MASK-ORDER-1",
            reason="not claimed: profile vllm-gemma3-sliding",
        ),
        test(
            "test_golden[M05-blob-longer-than-window]",
            Status.FAILED,
            "MASK-ORDER-1",
            failure=failure(
                "suites/mask/test_dense.py::test_golden[M05-blob-longer-than-window]",
                "AssertionError: 5 of 81 cells are wrong",
                picture=wrong_mask(9, 0, 3),
            ),
        ),
        test("test_golden[M13-first-key-of-the-window]", Status.PASSED, "MASK-BASE-1", "MASK-PREFIX-1"),
        test(
            "test_chunks_stacked_are_the_mask_of_one_shot",
            Status.TIMED_OUT,
            "MASK-PREFIX-1",
            file="mask/test_metamorphic.py",
            seconds=60.0,
            failure=failure(chunks, "timed out after 60 s"),
        ),
        test("test_poison_does_not_shine_through", Status.PASSED, "MASK-OUTPUT-1", examples=200, seconds=1.1),
        test(
            "test_offsets_are_64_bits_wide",
            Status.NOT_RUN,
            "MASK-OFFSET-1",
            file="mask/test_contract.py",
            reason="not run: needs a CUDA device with 12 GiB of memory, found none",
        ),
        test(
            "test_replays_follow_the_types",
            Status.NOT_CLAIMED,
            "MASK-GRAPH-1",
            file="mask/test_contract.py",
            reason="not claimed: graph capture",
        ),
        test(
            "test_windows_below_1_are_refused",
            Status.WAIVED,
            "MASK-REFUSE-1",
            file="mask/test_contract.py",
            reason="https://bugs.example/123",
            waiver="waives.txt:3: suites/mask/test_contract.py::test_windows_below_1_are_refused XFAIL (https://bugs.example/123)",
        ),
        test(
            "test_unknown_types_are_refused",
            Status.SKIPPED,
            "MASK-REFUSE-1",
            file="mask/test_contract.py",
            reason="skipped by waiver: https://bugs.example/124",
            waiver="waives.txt:4: suites/mask/test_contract.py::test_unknown_types_are_refused SKIP (https://bugs.example/124)",
            waived_run="failed: AssertionError: type 7 was taken",
        ),
        test("test_the_case_prints_as_code", Status.PASSED, file="mask/test_report.py"),
        test("test_histories_agree_with_the_model", Status.UNFINISHED, file="cache/test_store.py", seconds=12.0),
    )


TEXT = st.text(max_size=30) | st.sampled_from(
    [HOSTILE, "a|b\n\n# `x` *y* [z](javascript:1)", "\x00\x1b[31m\ud800\r\n\u202e", ""]
)
"""Any text, and often one that breaks a format."""
_IDS = st.text(min_size=1, max_size=30) | st.builds("{}.py::Test::test_x[{}]".format, TEXT, TEXT) | st.just(HOSTILE)
_ROWS = st.lists(st.text("#.? ", max_size=6), max_size=4)
PICTURES = st.builds(
    Picture, TEXT, _ROWS, _ROWS, st.text(".ab$", max_size=6), *[st.integers(0, 9)] * 3, tile=st.sampled_from([0, 1, 4])
)
"""Pictures that need be no rectangle."""
_FAILURES = st.builds(Failure, TEXT, TEXT, st.none() | TEXT, TEXT, st.none() | PICTURES)


@st.composite
def _results(draw: st.DrawFn, node_id: str) -> TestResult:
    status = draw(st.sampled_from(Status))
    failed = status.is_failure or status is Status.HARNESS_ERROR
    return TestResult(
        id=node_id,
        status=status,
        requirements=draw(st.lists(st.sampled_from(["R-1", "R-2", HOSTILE]), unique=True)),
        seconds=draw(st.floats(-1, 1e4)),
        examples=draw(st.none() | st.integers(0, 10**6)),
        reason=None if failed else draw(st.none() | TEXT),
        waiver=draw(st.none() | TEXT),
        waived_run=draw(st.none() | TEXT),
        failure=draw(_FAILURES) if failed else None,
    )


@st.composite
def runs(draw: st.DrawFn) -> Conformance:
    """Any run: texts that break formats, every status, failures with and without pictures."""
    tests = [draw(_results(node_id)) for node_id in draw(st.lists(_IDS, unique=True, max_size=4))]
    names = st.dictionaries(TEXT, TEXT, max_size=2)
    return run_of(
        *tests,
        errors=draw(st.lists(TEXT, max_size=2)),
        started=draw(st.just("2027-01-04T08:30:00Z") | TEXT),
        lists=draw(st.lists(st.builds(ListRecord, TEXT, TEXT, st.lists(TEXT, max_size=2)), max_size=2)),
        implementations=draw(names),
        device=draw(TEXT),
        machine=draw(st.dictionaries(TEXT, TEXT | st.integers(0, 9), max_size=2)),
        versions=draw(names),
        command=draw(st.lists(TEXT, max_size=2)),
        requirements=draw(st.dictionaries(st.sampled_from(["R-1", "R-3"]), TEXT)),
        narrowed=draw(st.lists(TEXT, max_size=1)),
        shard=draw(st.none() | st.just(Shard(1, 2))),
    )
