"""What a verdict holds for, and what it means: said alike by every report."""

from __future__ import annotations

import shlex

from harness.records import ListRecord
from harness.verdict import Conformance, Verdict, names_of

MEANING = {
    Verdict.CONFORMANT: "The whole of the list ran, and nothing but passed, waived and not claimed came of it.",
    Verdict.NOT_CONFORMANT: "Nothing failed, but something that a verdict needs did not run.",
    Verdict.HARNESS_ERROR: "The suite itself failed, so it says nothing of the implementation.",
    Verdict.FAILED: "At least one test speaks against the implementation, or against a waiver.",
}
"""A sentence on each verdict."""


def scope(conformance: Conformance) -> dict[str, dict[str, str]]:
    """What a verdict holds for: group -> name -> value.

    Returns:
        ``implementation``, ``list`` (with whether this machine is what it asks for), ``run``, ``machine`` and ``versions``.
    """
    manifest = conformance.manifest
    run = {
        "name": manifest.run,
        "started": manifest.started,
        "device": manifest.device,
        "conditions": manifest.conditions,
        "tests": f"{len(manifest.tests):,} of {len(manifest.universe):,} selected",
        "examples": f"{conformance.examples:,}",
    }
    if manifest.commit:
        run["commit"] = manifest.commit
    if manifest.command:
        run["options"] = shlex.join(manifest.command)
    if manifest.shard is not None:
        run["shard"] = f"{manifest.shard.group} of {manifest.shard.splits}"
    return {
        "implementation": manifest.implementations,
        "list": {one.name: _conditions(one) for one in manifest.lists},
        "run": run,
        "machine": {name: str(value) for name, value in manifest.machine.items()},
        "versions": manifest.versions,
    }


def judged(conformance: Conformance) -> str:
    """What is under test, in a phrase."""
    return names_of(conformance.manifest)[0]


def lists(conformance: Conformance) -> str:
    """The lists that ran, in a phrase."""
    return names_of(conformance.manifest)[1]


def _conditions(one: ListRecord) -> str:
    return f"{one.path}; " + (f"conditions not met: {'; '.join(one.unmet)}" if one.unmet else "conditions met")
