"""``index.html``: one page that needs nothing else, for the people who read a verdict.

No file, no network: style, script and pictures are in it, and its content security policy forbids everything else, by
the hash of the one style and the one script. So even text that slipped past the escaping could not act.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from markupsafe import Markup

from harness.render import cells
from harness.render.scope import MEANING, judged, lists, scope
from harness.render.templates import environment, source
from harness.statuses import Status
from harness.verdict import Conformance, TestResult, Verdict

PICTURES = 20
"""Pictures on a page: each takes a third of a second and tens of kilobytes."""
OPENED = 5
"""Failures that are open from the start: all of them would bury the list."""
MESSAGE = 600
"""Characters of a message in the line of its test; the full text stands below."""
TEXT = 50_000
"""Characters of a text or an example; ``conformance.json`` has all of it."""
UNTESTED = "untested"
"""What a requirement is that no test of the run checks."""

_TONES = {
    Status.PASSED: "good",
    Status.WAIVED: "warn",
    Status.NOT_CLAIMED: "mute",
    Status.NOT_RUN: "warn",
    Status.SKIPPED: "warn",
    Status.UNFINISHED: "warn",
    Status.HARNESS_ERROR: "odd",
}
_VERDICT_TONES = {
    Verdict.CONFORMANT: "good",
    Verdict.NOT_CONFORMANT: "warn",
    Verdict.HARNESS_ERROR: "odd",
    Verdict.FAILED: "bad",
}
_REASONED = (Status.UNFINISHED, Status.NOT_RUN, Status.NOT_CLAIMED, Status.SKIPPED, Status.WAIVED)
"""Statuses of tests that say nothing of the implementation, and why."""


@dataclass(frozen=True)
class Drawing:
    """A picture as the page shows it.

    Attributes:
        title: The rule, in words.
        words: What is to see.
        uri: ``data:`` with the PNG; None where too many pictures came before.
    """

    title: str
    words: str
    uri: str | None


@dataclass(frozen=True)
class Entry:
    """One test in one place of the page.

    Attributes:
        result: The test.
        anchor: Of its details, which stand once on the page.
        here: Whether they stand in this place.
        drawing: Of its failure.
        opened: Whether they are open from the start.
    """

    result: TestResult
    anchor: str
    here: bool = False
    drawing: Drawing | None = None
    opened: bool = False

    @property
    def message(self) -> str:
        """What its line says."""
        return self.result.failure.message if self.result.failure is not None else _reason(self.result)


@dataclass(frozen=True)
class Group:
    """A requirement and its tests.

    Attributes:
        id: The requirement.
        sentence: What it demands.
        status: The worst of its tests.
        examples: Drawn by all of its tests.
        entries: Its tests, the worst first.
    """

    id: str
    sentence: str
    status: Status
    examples: int
    entries: Sequence[Entry]

    @property
    def is_bad(self) -> bool:
        """Whether it is to be seen at once."""
        return _is_bad(self.status)


@dataclass(frozen=True)
class Reason:
    """Tests of one status that gave one reason."""

    status: Status
    words: str
    ids: Sequence[str]


@dataclass
class _Places:
    """Gives out entries: the details of a test go to the first place that asks, and pictures to the first failures."""

    numbers: dict[str, int]
    shown: set[str] = field(default_factory=set)
    failures: int = 0
    pictures: int = 0

    def entries(self, tests: Iterable[TestResult]) -> list[Entry]:
        made = []
        for test in sorted(tests, key=lambda test: -test.status.rank):
            here = test.failure is not None and test.id not in self.shown
            anchor = f"test-{self.numbers[test.id]}"
            self.failures += here
            opened = here and self.failures <= OPENED
            made.append(Entry(test, anchor, here, self._drawing(test) if here else None, opened))
            self.shown.add(test.id)
        return made

    def _drawing(self, test: TestResult) -> Drawing | None:
        picture = test.failure.picture if test.failure is not None else None
        if picture is None:
            return None
        self.pictures += 1
        uri = None
        if self.pictures <= PICTURES:
            from harness.render import pictures  # matplotlib: half a second that most runs need not wait for

            uri = "data:image/png;base64," + base64.b64encode(pictures.png(picture)).decode()
        return Drawing(picture.title, cells.in_words(picture), uri)


def index_html(conformance: Conformance) -> bytes:
    """The page."""
    tests = {test.id: test for test in conformance.tests}
    places = _Places({node_id: number for number, node_id in enumerate(tests, start=1)})
    groups = []
    for one in sorted(conformance.requirements, key=lambda one: -one.status.rank if one.status else 0):
        if one.status is not None:
            entries = places.entries(tests[node_id] for node_id in one.tests)
            groups.append(Group(one.id, one.sentence, one.status, one.examples, entries))
    bare = places.entries(test for test in conformance.tests if not test.requirements)
    style, script = source("page.css"), source("page.js")
    page = environment().get_template("page.html.jinja")
    return page.render(
        conformance=conformance,
        judged=judged(conformance),
        lists=lists(conformance),
        meaning=MEANING[conformance.verdict],
        verdict_tone=_VERDICT_TONES[conformance.verdict],
        scope=scope(conformance),
        tones={status.value: tone(status) for status in Status} | {UNTESTED: "mute"},
        groups=groups,
        bare=bare,
        bare_failed=any(entry.here for entry in bare),
        untested=[one for one in conformance.requirements if one.status is None],
        untested_word=UNTESTED,
        reasons=_reasons(conformance.tests),
        waived_runs=[test for test in conformance.tests if test.waived_run is not None],
        most_pictures=PICTURES,
        message_limit=MESSAGE,
        text_limit=TEXT,
        policy=policy(style, script),
        style=style,
        script=script,
    ).encode()


def tone(status: Status) -> str:
    """The class of a status in the style sheet."""
    return _TONES.get(status, "bad")


def _is_bad(status: Status) -> bool:
    return status.is_failure or status in (Status.HARNESS_ERROR, Status.UNFINISHED)


def _reason(test: TestResult) -> str:
    """Without the status, which stands beside it."""
    return (test.reason or "").removeprefix(f"{test.status.value}: ")


def _reasons(tests: Iterable[TestResult]) -> list[Reason]:
    found: dict[tuple[Status, str], list[str]] = {}
    for test in tests:
        if test.status in _REASONED:
            found.setdefault((test.status, _reason(test) or test.waiver or ""), []).append(test.id)
    return [
        Reason(status, words, ids)
        for (status, words), ids in sorted(found.items(), key=lambda item: (-item[0][0].rank, -len(item[1])))
    ]


def policy(style: Markup, script: Markup) -> str:
    """The content security policy of a page with one style and one script."""
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (style, script)]
    return (
        f"default-src 'none'; style-src 'sha256-{hashes[0]}'; script-src 'sha256-{hashes[1]}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
