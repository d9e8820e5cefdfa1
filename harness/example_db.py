"""Failing examples shared between machines: a Redis server behind the local folder, which may go away at any moment.

``MM_CONFORMANCE_DB=redis://HOST`` puts Hypothesis' Redis database behind the folder that each run has. Whatever becomes of
the server, a run has its folder, loses no test, and waits for an answer no longer than :data:`TIMEOUT`.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
from hypothesis.database import ExampleDatabase

from harness.records import write_once

if TYPE_CHECKING:
    from redis import Redis

SHARED = "MM_CONFORMANCE_DB"
TIMEOUT = 2.0
"""Seconds to wait for the server, to connect and to answer."""
PAUSE = 60.0
"""Seconds after which a server that did not answer is asked again: a dead one costs a thirtieth of the time at the most."""
WARNING = "example-database.txt"
"""File in the folder of a run: what the first of its processes to miss the server had to say."""
_FORM = "redis://[[USER]:PASSWORD@]HOST[:PORT][/NUMBER], or rediss:// for TLS, with %-escapes in user and password"


class SharedDatabase(ExampleDatabase):
    """A Redis database that is empty while the server does not answer.

    Args:
        client: Of the server.
        name: What the examples are of: those of other names are not seen.
        missed: Called with each error of the server.
        pause: Seconds after an error in which it is not asked.
        clock: Gives seconds.
    """

    def __init__(
        self,
        client: Redis,
        name: str,
        missed: Callable[[Exception], None],
        pause: float = PAUSE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__()
        from hypothesis.extra.redis import RedisExampleDatabase

        self._database = RedisExampleDatabase(client, key_prefix=f"mm-conformance:{name}:".encode())
        self._missed = missed
        self._pause = pause
        self._clock = clock
        self._again = -float("inf")

    def fetch(self, key: bytes) -> Iterable[bytes]:
        """The examples of a key; none while the server does not answer."""
        return self._ask(lambda: self._database.fetch(key))

    def save(self, key: bytes, value: bytes) -> None:
        """Adds an example."""
        self._ask(lambda: self._database.save(key, value))

    def delete(self, key: bytes, value: bytes) -> None:
        """Removes an example."""
        self._ask(lambda: self._database.delete(key, value))

    def move(self, src: bytes, dest: bytes, value: bytes) -> None:
        """Moves an example to another key."""
        self._ask(lambda: self._database.move(src, dest, value))

    def _ask(self, question: Callable[[], Iterable[bytes] | None]) -> list[bytes]:
        from redis import RedisError

        if self._clock() < self._again:
            return []
        try:
            return list(question() or ())
        except (RedisError, OSError) as error:
            self._again = self._clock() + self._pause
            self._missed(error)
            return []


class SharedExamples:
    """The plugin: makes the database, and gives one warning a run, however many processes miss the server.

    Args:
        url: Of the server.
        name: What the examples are of.
        folder: Gives the folder of the run's records, or None where it has none.

    Attributes:
        database: To be put behind the local one.

    Raises:
        pytest.UsageError: The URL is none of a Redis server, or the package ``redis`` is missing.
    """

    def __init__(self, url: str, name: str, folder: Callable[[], Path | None]) -> None:
        self.address = re.sub("//.*@", "//", url, flags=re.DOTALL).partition("?")[0]  # the password is nobody's business
        self.database = SharedDatabase(_client(url, self.address), name, self._missed)
        self._folder = folder
        self._warning = ""
        self._shown = False

    def pytest_report_header(self) -> str:
        """Where examples go too; the warning, if the server is not there."""
        self.database.fetch(b"")  # asks whether it is there
        self._shown = bool(self._warning)
        return self._warning or f"examples: shared through {self.address}"

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """The warning, where the header could not know."""
        folder = self._folder()
        if folder is not None and (folder / WARNING).exists() and not self._shown:
            terminalreporter.write_line((folder / WARNING).read_text(encoding="utf-8"), yellow=True)

    def _missed(self, error: Exception) -> None:
        said = (str(error) or type(error).__name__).split("\n", 1)[0].rstrip(".")
        self._warning = (
            f"warning: {SHARED} {self.address} did not serve: {said}; examples are kept here alone meanwhile, and it is "
            f"asked again every {PAUSE:.0f} s; see that it runs, can be reached from here, and takes the user and password"
        )
        folder = self._folder()
        if folder is not None:
            with contextlib.suppress(OSError):  # a full disk is told of elsewhere, and fails no test here
                write_once(folder / WARNING, self._warning.encode())


def _client(url: str, address: str) -> Redis:
    try:
        from redis import Redis
        from redis.backoff import NoBackoff
        from redis.retry import Retry
    except ImportError:
        raise pytest.UsageError(f"{SHARED} {address}: needs the package redis; install mm-conformance[shared]") from None
    try:
        parts = urlsplit(url)
        if parts.scheme not in ("redis", "rediss") or not parts.hostname or not re.fullmatch(r"/?\d*", parts.path):
            raise ValueError
        retry = Retry(NoBackoff(), 0)
        client = Redis.from_url(url, socket_timeout=TIMEOUT, socket_connect_timeout=TIMEOUT, retry=retry)
        client.connection_pool.make_connection()  # this is where an option behind the ? is found to be unknown
    except (ValueError, TypeError):  # their messages may hold a part of the password
        raise pytest.UsageError(f"{SHARED} {address}: is no address of a Redis server; expected {_FORM}") from None
    return client
