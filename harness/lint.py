"""What is wrong with test lists and waivers: rules of a name, a description and a way to mend what breaks them.

:func:`check` takes what is read, :func:`lint_tree` finds and reads it. Nothing here runs a test: which tests there are is
handed in, or else judged from what the lists name.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cached_property
from pathlib import Path

from harness.entries import Entry, Index, ListError, bare
from harness.lists import RUN_TERMS, TestList, scan_list
from harness.machine import PROPERTIES
from harness.nearest import Nearest, ancestors
from harness.waives import MALFORMED, Waiver, WaiverError, platform_key, scan_waivers, sentences


@dataclass(frozen=True)
class Rule:
    """One thing that must not be.

    Attributes:
        name: A word for it.
        description: What breaks it.
        mend: What to do about it, a sentence.
    """

    name: str
    description: str
    mend: str


RULES: dict[str, Rule] = {
    name: Rule(name, description, mend)
    for name, description, mend in (
        ("not-a-list", "a file of lists that is none", "Correct the file: until then none of its tests is known."),
        ("malformed-entry", "an entry that is not of the grammar", "Mend it: until then it selects nothing."),
        ("stem-differs", "a context that is not the stem of its file", "Rename one: a list is selected by its file's name."),
        (
            "unknown-property",
            "a condition on what neither a machine nor a run has, and which no machine meets",
            "Correct it: python -m harness machine shows what there is.",
        ),
        (
            "empty-list",
            "a list without a test",
            "Add tests, or delete the file: a run of it would be green and say nothing.",
        ),
        ("unmatched-entry", "an entry that selects no test", "Correct it, or delete the line."),
        ("duplicate-entry", "an entry that stands twice in one block", "Delete one."),
        ("unlisted-test", "a test on no list, which never runs: a silent false green", "Add it, or its folder, to a list."),
        ("unmatched", "a waiver that covers no test", "Correct the id, or delete the line."),
        ("unreachable", "a waiver for what no list runs", "Correct the id, add the test to a list, or delete the line."),
        ("truncated", "a waiver whose id is cut off", "Write the whole id: a waiver covers what it names exactly."),
        ("duplicate", "two waivers of one id and platform", "Delete one: a second link can stand in the other's comment."),
        ("no-link", "a waiver without a link to its fault", "Write the link in parentheses behind the marker."),
        ("expired", "a waiver past its day", "Mend the fault and delete the line, or agree on another day."),
        ("unknown-platform", "a platform that no list is named after", "Write 'full:B200/' for the list l0_b200."),
        (
            "refused-marker",
            "UNSTABLE: a verdict must not hang on luck",
            "Write SKIP, or XFAIL with a pinned example= for a random property.",
        ),
        (
            "unpinned-xfail",
            "an XFAIL of a random property without example=, which passes whenever the search finds nothing",
            "Add example= with the blob that Hypothesis prints, or write SKIP.",
        ),
        (
            "runs-nowhere",
            "a test that lines of single platforms skip on all that list it, so that no view of one platform shows it",
            "Write one line without a platform, so that it shows, or let it run on one.",
        ),
        *((name, *texts) for name, texts in MALFORMED.items()),
    )
}


@dataclass(frozen=True)
class Finding:
    """A rule broken at one place.

    Attributes:
        rule: A key of :data:`RULES`.
        path: The file.
        line: Where in it.
        found: What was found.
        nearest: What may have been meant.
    """

    rule: str
    path: Path
    line: int
    found: str
    nearest: str | None

    def __str__(self) -> str:
        hint = "" if self.nearest is None else f"; did you mean {self.nearest!r}?"
        return f"{self.path}:{self.line}: {self.rule}: {sentences(self.found + hint, RULES[self.rule].mend)}"


def check(
    lists: Sequence[TestList],
    waivers: Sequence[Waiver],
    node_ids: Sequence[str] | None,
    today: date,
    random: Collection[str] = (),
    idle: Collection[tuple[Path, int]] = (),
) -> list[Finding]:
    """Holds lists and waivers against each other, and against the tests there are.

    Args:
        lists: All lists of the tree. Without one, waivers are not held against lists.
        waivers: All waivers.
        node_ids: The ids of all tests; None where nothing was collected, and the ids in the lists must do.
        today: What ``until=`` is compared with.
        random: Ids of the tests that draw their examples.
        idle: Files and lines whose -k or -m leaves none of the tests that they name.

    Returns:
        What breaks a rule, by file and line.
    """
    tree = _Tree(lists, waivers, node_ids, today, random, idle)
    findings = (finding for one_check in _CHECKS for finding in one_check(tree))
    return sorted(findings, key=_place)


def _place(finding: Finding) -> tuple[str, int, str, str]:
    return str(finding.path), finding.line, finding.rule, finding.found


@dataclass(frozen=True)
class _Tree:
    """What is checked, and what several rules ask of it."""

    lists: Sequence[TestList]
    waivers: Sequence[Waiver]
    node_ids: Sequence[str] | None
    today: date
    random: Collection[str]
    idle: Collection[tuple[Path, int]]

    @cached_property
    def entries(self) -> list[Entry]:
        return [entry for one in self.lists for entry in one.entries]

    @cached_property
    def listed(self) -> list[str]:
        """The targets of all entries."""
        return [bare(target) for entry in self.entries for target in entry.targets]

    @cached_property
    def index(self) -> Index[Entry]:
        return Index(self.entries)

    @cached_property
    def names_listed(self) -> set[str]:
        """The targets and everything above them."""
        return {name for target in self.listed for name in ancestors(target)}

    @cached_property
    def names_collected(self) -> set[str]:
        """The ids of the tests and everything above them."""
        return {name for node_id in self.node_ids or () for name in ancestors(node_id)}

    @cached_property
    def ids(self) -> list[str]:
        """The ids that a truncated one can be the beginning of, in order."""
        return sorted(set(self.listed if self.node_ids is None else self.node_ids))

    @cached_property
    def near_listed(self) -> Nearest:
        return Nearest(self.listed)

    @cached_property
    def near_collected(self) -> Nearest:
        return Nearest(self.node_ids or ())

    def is_listed(self, target: str) -> bool:
        """Whether an entry is this, selects it, or lies below it."""
        return target in self.names_listed or bool(self.index.of(target))


def _at(rule: str, place: Entry | Waiver, found: str, near: str | None = None) -> Finding:
    return Finding(rule, place.path, place.line, found, near)


# Lists


def _stem_differs(tree: _Tree) -> Iterator[Finding]:
    for one in tree.lists:
        if one.context != one.name:
            found = f"the context {one.context!r} is not the file's stem {one.name!r}"
            yield Finding("stem-differs", one.path, one.line, found, None)


def _empty_list(tree: _Tree) -> Iterator[Finding]:
    for one in tree.lists:
        if not one.entries:
            yield Finding("empty-list", one.path, one.line, f"the list {one.context!r} has no test", None)


def _unmatched_entry(tree: _Tree) -> Iterator[Finding]:
    if tree.node_ids is None:
        return
    for entry in tree.entries:
        for target in entry.targets:
            if bare(target) not in tree.names_collected:
                yield _at("unmatched-entry", entry, f"{target!r} selects no test", tree.near_collected.to(target))


def _unknown_property(tree: _Tree) -> Iterator[Finding]:
    near = Nearest([*PROPERTIES, *RUN_TERMS])
    for one in tree.lists:
        for block in one.blocks:
            condition = block.condition
            # supports_fp8 and its like are probes of TensorRT-LLM's machines, which this one does not make.
            asked = [*(name for name in condition.terms if not name.startswith("supports_")), *condition.ranges]
            for name in [*asked, *condition.wildcards]:
                if name not in PROPERTIES and (name not in RUN_TERMS or name in (*condition.ranges, *condition.wildcards)):
                    yield Finding("unknown-property", one.path, one.line, f"no machine has {name!r}", near.to(name))


def _idle(tree: _Tree) -> Iterator[Finding]:
    for rule, places in (("unmatched-entry", tree.entries), ("unmatched", tree.waivers)):
        for place in places:
            if (place.path, place.line) in tree.idle:
                yield _at(rule, place, f"{str(place)!r}: its -k or -m leaves no test")


def _duplicate_entry(tree: _Tree) -> Iterator[Finding]:
    for block in (block for one in tree.lists for block in one.blocks):
        first: dict[str, Entry] = {}
        for entry in block.entries:
            if (other := first.setdefault(str(entry), entry)) is not entry:
                yield _at("duplicate-entry", entry, f"{str(entry)!r} stands on line {other.line} already")


def _unlisted_test(tree: _Tree) -> Iterator[Finding]:
    if not tree.lists:
        return
    of_file: Counter[str] = Counter()
    unlisted: dict[str, list[str]] = {}
    for node_id in tree.node_ids or ():
        file = node_id.partition("::")[0]
        of_file[file] += 1
        if not tree.index.of(node_id):
            unlisted.setdefault(file, []).append(node_id)
    for file, node_ids in unlisted.items():
        found = f"{len(node_ids)} of {of_file[file]} tests of this file are on no list, the first is {node_ids[0]!r}"
        yield Finding("unlisted-test", Path(file), 1, found, None)


# Waivers


def _mistaken_id(tree: _Tree) -> Iterator[Finding]:
    """Truncated, unmatched, unreachable: the first that holds, since the next would be its consequence."""
    for waiver in tree.waivers:
        for target in map(bare, waiver.targets):
            if (whole := _longer(tree, target)) is not None:
                yield _at("truncated", waiver, f"{target!r} is cut off", whole or None)
            elif tree.node_ids is not None and target not in tree.names_collected:
                yield _at("unmatched", waiver, f"{target!r} covers no test", tree.near_collected.to(target))
            elif tree.lists and not tree.is_listed(target):
                yield _at("unreachable", waiver, f"{target!r} is run by no list", tree.near_listed.to(target))


def _longer(tree: _Tree, target: str) -> str | None:
    """The known id that begins with a truncated one; "" if it is truncated and none does; None if it is whole."""
    known = tree.names_listed if tree.node_ids is None else tree.names_collected
    if target in known:
        return None
    position = bisect_left(tree.ids, target)
    longer = tree.ids[position] if position < len(tree.ids) else ""
    if "[" in target and not target.endswith("]"):
        return longer if longer.startswith(target) else ""
    # Without a collection an id that an entry selects may be there, whatever it is the beginning of.
    is_known = tree.node_ids is None and bool(tree.index.of(target))
    return longer if longer.startswith(target) and not is_known else None


def _duplicate(tree: _Tree) -> Iterator[Finding]:
    first: dict[tuple[str, str | None], Waiver] = {}
    for waiver in tree.waivers:
        key = (" ".join(waiver.target.split()), None if waiver.platform is None else platform_key(waiver.platform))
        if (other := first.setdefault(key, waiver)) is not waiver:
            place = f"line {other.line}" if other.path == waiver.path else f"{other.path}:{other.line}"
            yield _at("duplicate", waiver, f"{waiver.target!r} is waived on {place} already")


def _no_link(tree: _Tree) -> Iterator[Finding]:
    for waiver in tree.waivers:
        if waiver.marker in ("SKIP", "XFAIL", "UNSTABLE") and waiver.link is None:
            said = "no argument" if waiver.argument is None else f"{waiver.argument!r}, which is no link"
            yield _at("no-link", waiver, f"{waiver.marker} of {waiver.target!r} has {said}")


def _expired(tree: _Tree) -> Iterator[Finding]:
    for waiver in tree.waivers:
        if waiver.until is not None and waiver.until < tree.today:
            yield _at("expired", waiver, f"{waiver.target!r} was waived until {waiver.until}, and today is {tree.today}")


def _unknown_platform(tree: _Tree) -> Iterator[Finding]:
    platforms = {platform_key(one.platform): one.platform for one in tree.lists}
    near = Nearest(platforms)
    for waiver in tree.waivers if tree.lists else ():
        if waiver.platform is not None and platform_key(waiver.platform) not in platforms:
            key = near.to(platform_key(waiver.platform))
            found = f"the platform {waiver.platform!r} has no list"
            yield _at("unknown-platform", waiver, found, None if key is None else platforms[key])


def _refused_marker(tree: _Tree) -> Iterator[Finding]:
    for waiver in tree.waivers:
        if waiver.marker == "UNSTABLE":
            yield _at("refused-marker", waiver, f"{waiver.target!r} is UNSTABLE")


def _unpinned_xfail(tree: _Tree) -> Iterator[Finding]:
    unpinned = Index([waiver for waiver in tree.waivers if waiver.marker == "XFAIL" and waiver.example is None])
    first: dict[Waiver, str] = {}
    for node_id in tree.random:
        for waiver in unpinned.of(node_id):
            first[waiver] = min(node_id, first.get(waiver, node_id))
    for waiver, node_id in first.items():
        yield _at("unpinned-xfail", waiver, f"{node_id!r} is a random property, and the line has no example=")


def _runs_nowhere(tree: _Tree) -> Iterator[Finding]:
    platform_of = {one.path: platform_key(one.platform) for one in tree.lists}
    skips = [
        waiver for waiver in tree.waivers if waiver.marker == "SKIP" and waiver.keyword is None and waiver.marks is None
    ]
    index = Index(skips)
    tests = tree.node_ids
    if tests is None:
        tests = tree.listed + [bare(target) for waiver in skips for target in waiver.targets]
    found: dict[tuple[Waiver, ...], str] = {}
    for test in tests:
        lines = tuple(index.of(test))
        if not lines or any(line.platform is None for line in lines):
            continue
        listing = {platform_of[entry.path] for entry in tree.index.of(test)}
        if listing and listing <= {platform_key(line.platform) for line in lines if line.platform is not None}:
            found.setdefault(lines, test)
    for lines, test in found.items():
        names = ", ".join(f"{line.platform} on line {line.line}" for line in lines)
        yield _at("runs-nowhere", lines[0], f"{test!r} is skipped on every platform that lists it: {names}")


_CHECKS: tuple[Callable[[_Tree], Iterable[Finding]], ...] = (
    _stem_differs,
    _empty_list,
    _unknown_property,
    _unmatched_entry,
    _idle,
    _duplicate_entry,
    _unlisted_test,
    _mistaken_id,
    _duplicate,
    _no_link,
    _expired,
    _unknown_platform,
    _refused_marker,
    _unpinned_xfail,
    _runs_nowhere,
)


# A tree of files

_FOLDER = "test_lists"
_NEED_EVERY_LIST = {"unlisted-test", "unreachable", "unknown-platform", "runs-nowhere"}
"""What a list that cannot be read would bring about elsewhere."""


def lint_tree(
    root: Path,
    node_ids: Sequence[str] | None = None,
    random: Collection[str] = (),
    today: date | None = None,
    lists: Sequence[Path] = (),
    waives: Sequence[Path] = (),
    idle: Collection[tuple[Path, int]] = (),
) -> list[Finding]:
    """Finds, reads and checks the lists and waivers of a tree.

    Args:
        root: Of the tree.
        node_ids: As of :func:`check`.
        random: As of :func:`check`.
        today: As of :func:`check`; by default today.
        lists: Folders of lists, or lists; by default every ``test_lists`` below the root, or else the root itself.
        waives: Files of waivers; by default ``waives*.txt`` in the root and in every ``test_lists``.
        idle: As of :func:`check`.

    Returns:
        What breaks a rule, malformed files and lines too, by file and line.

    Raises:
        FileNotFoundError: There is neither a list nor a waiver.
    """
    list_files, waiver_files = _files(root, lists, waives)
    scanned_lists = [scan_list(path) for path in list_files]
    scanned_waivers = [scan_waivers(path) for path in waiver_files]
    errors: list[ListError | WaiverError] = [error for _, of_file in scanned_lists for error in of_file]
    consequences = _NEED_EVERY_LIST | ({"truncated"} if node_ids is None else set()) if errors else set()
    errors += [error for _, of_file in scanned_waivers for error in of_file]
    findings = check(
        [one for one, _ in scanned_lists if one is not None],
        [waiver for waivers, _ in scanned_waivers for waiver in waivers],
        node_ids,
        datetime.now(UTC).date() if today is None else today,
        random,
        idle,
    )
    findings = [finding for finding in findings if finding.rule not in consequences]
    findings += [Finding(error.rule, error.path, error.line, error.found, None) for error in errors]
    return sorted(findings, key=_place)


def _files(root: Path, lists: Sequence[Path], waives: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    for path in (root, *lists, *waives):
        if not path.exists():
            raise FileNotFoundError(
                f"{path}: no such file or folder; name the root of a tree, a folder of lists, or waivers"
            )
    folders = list(_list_folders(root))
    if lists:
        found = {path for one in lists for path in (one.rglob("*.yml") if one.is_dir() else [one])}
    elif folders:
        found = {path for folder in folders for path in folder.rglob("*.yml")}
    else:
        found = {path for path in root.glob("*.yml") if not path.name.startswith(".")}
    waivers = set(waives) or {path for folder in (root, *folders) for path in folder.glob("waives*.txt")}
    if not found and not waivers:
        raise FileNotFoundError(
            f"{root}: neither lists ({_FOLDER}/**/*.yml, or *.yml here) nor waivers (waives*.txt); name the root of a tree "
            "that has some"
        )
    return sorted(found), sorted(waivers)


def _list_folders(root: Path) -> Iterator[Path]:
    """Every ``test_lists``; not in hidden folders or environments, whose packages bring their own."""
    for folder, names, files in os.walk(root):
        if "pyvenv.cfg" in files:
            names.clear()
        names[:] = [name for name in names if not name.startswith(".")]
        here = Path(folder)
        if (here.name or here.resolve().name) == _FOLDER:
            yield here
