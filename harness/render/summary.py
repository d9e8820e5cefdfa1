"""``summary.md``: what GitHub shows of a step (``cat summary.md >> "$GITHUB_STEP_SUMMARY"``)."""

from __future__ import annotations

from harness.render.scope import MEANING, judged, lists, scope
from harness.render.templates import environment
from harness.statuses import Status
from harness.verdict import Conformance

ROWS = 50
"""Requirements and tests that are shown: GitHub takes at most a MiB a step."""
TESTS = 5
"""Tests that are named of a requirement."""
TEXT = 300
"""Characters of a message."""
COMMANDS = 10
COMMAND = 4000
"""Characters of a command; half a command is of no use, so a longer one is left out."""


def summary_md(conformance: Conformance) -> bytes:
    """The summary, in Markdown that no id or message can break out of."""
    by_id = {test.id: test for test in conformance.tests}
    bad = {test.id for test in conformance.tests if test.status.is_failure or test.status is Status.HARNESS_ERROR}
    failed = [
        (one, [by_id[node_id] for node_id in one.tests if node_id in bad])
        for one in conformance.requirements
        if bad.intersection(one.tests)
    ]
    bare = [by_id[node_id] for node_id in by_id if node_id in bad and not by_id[node_id].requirements]
    commands = [test.failure.replay for test in conformance.tests if test.failure is not None]
    return (
        environment()
        .get_template("summary.md.jinja")
        .render(
            conformance=conformance,
            judged=judged(conformance),
            lists=lists(conformance),
            meaning=MEANING[conformance.verdict],
            scope=scope(conformance),
            failed=failed,
            bare=bare,
            commands=commands,
            rows=ROWS,
            tests=TESTS,
            text=TEXT,
            most_commands=COMMANDS,
            most_characters=COMMAND,
        )
        .encode()
    )
