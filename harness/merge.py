"""The shards of one run, joined. Plain data in, plain data out."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from harness.machine import machine_class
from harness.records import Manifest, RecordError
from harness.verdict import Conformance, conclude


def merge(shards: Sequence[Conformance]) -> Conformance:
    """Joins the shards of one run.

    Raises:
        RecordError: They are not of one run, overlap, or do not cover it.
    """
    first = shards[0].manifest
    owner: dict[str, Manifest] = {}
    for shard in shards:
        manifest = shard.manifest
        if differing := [what for what, value in _common(manifest).items() if value != _common(first)[what]]:
            raise RecordError(
                f"{first.run} and {manifest.run} differ in their {', '.join(differing)}: they are not shards of one run"
            )
        for test in manifest.tests:
            if test.id in owner:
                raise RecordError(
                    f"{owner[test.id].run} and {manifest.run} overlap: both ran {test.id}; give each shard once, "
                    "all split with the same durations"
                )
            owner[test.id] = manifest
    missing = [node_id for node_id in first.universe if node_id not in owner]
    if missing:
        groups = sorted(shard.manifest.shard.group for shard in shards if shard.manifest.shard)
        splits = first.shard.splits if first.shard else 1
        raise RecordError(
            f"incomplete: {len(missing)} of {len(first.universe)} tests are in no shard, first {missing[0]}; "
            f"given are the groups {groups} of {splits}: name the folder of each"
        )
    by_id = {test.id: test for shard in shards for test in shard.tests}
    records = {test.id: test for shard in shards for test in shard.manifest.tests}
    unmet = {
        one.name: sorted({reason for shard in shards for other in shard.manifest.lists if other.name == one.name
                          for reason in other.unmet})
        for one in first.lists
    }  # fmt: skip
    whole = msgspec.structs.replace(
        first,
        run=" + ".join(shard.manifest.run for shard in shards),
        lists=[msgspec.structs.replace(one, unmet=unmet[one.name]) for one in first.lists],
        narrowed=sorted({reason for shard in shards for reason in shard.manifest.narrowed}),
        tests=[records[node_id] for node_id in first.universe],
        shard=None,
    )
    errors = [error for shard in shards for error in shard.errors]
    skipped = sorted({file for shard in shards for file in shard.skipped})
    return conclude(whole, [by_id[node_id] for node_id in first.universe], errors, skipped)


def _common(manifest: Manifest) -> dict[str, object]:
    """What all shards of a run have in common, and what its verdict holds for."""
    return {
        "lists": [one.name for one in manifest.lists],
        "implementations": manifest.implementations,
        "options": manifest.command,
        "tests": manifest.universe,
        "lists or waivers as written": manifest.registered,
        "requirements": manifest.requirements,
        "number of shards": manifest.shard and manifest.shard.splits,
        "conditions": manifest.conditions,
        "device": manifest.device,
        "kind of machine": machine_class(manifest.machine),
        "versions": manifest.versions,
        "commit": manifest.commit,
    }
