"""Failing examples shared by a Redis server, which may be away, refuse, hang or die: a run loses nothing but the sharing.

The server is a real one where ``redis-server`` is installed, and fakeredis's otherwise.
"""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fakeredis import FakeRedis, FakeServer, TcpFakeServer
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.database import InMemoryExampleDatabase, MultiplexedDatabase
from redis import Redis

from harness.example_db import SHARED, SharedDatabase, SharedExamples
from harness.statuses import not_run
from suites.harness.conftest import ROOT

PASSWORD = "p4ss w0rd"
TESTS = """
import contextlib, os, signal, socket
import pytest
from hypothesis import given, settings, strategies as st

@given(number=st.integers(0, 10**9))
def test_first(number):
    with open("drawn", "a") as file:
        print(number, file=file)
    assert number < 500_000_000

def test_between():
    if "SERVER_PID" in os.environ:
        with socket.create_connection(("127.0.0.1", int(os.environ["SERVER_PORT"]))) as connection:
            os.kill(int(os.environ["SERVER_PID"]), signal.SIGKILL)
            with contextlib.suppress(ConnectionResetError):
                assert connection.recv(1) == b""  # until it is dead

@given(number=st.integers(0, 10**9))
def test_last(number):
    assert number < 700_000_000
"""


@contextlib.contextmanager
def redis_server(port: int = 0, *arguments: str) -> Iterator[tuple[int, int]]:
    """A real one, as its port and process id."""
    if shutil.which("redis-server") is None:
        not_run("needs redis-server")
    port = port or free_port()
    command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            assert any("Ready to accept connections" in line for line in process.stdout)
            yield port, process.pid
        finally:
            process.kill()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


@pytest.fixture
def server() -> Iterator[str]:
    """The address of a server, whichever is installed."""
    if shutil.which("redis-server"):
        with redis_server() as (port, _):
            yield f"redis://127.0.0.1:{port}/0"
        return
    fake = TcpFakeServer(("127.0.0.1", 0))
    thread = threading.Thread(target=fake.serve_forever, daemon=True)
    thread.start()
    yield f"redis://127.0.0.1:{fake.server_address[1]}/0"
    fake.shutdown()
    fake.server_close()


@pytest.fixture
def silent() -> Iterator[str]:
    """The address of a server that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"redis://127.0.0.1:{listening.getsockname()[1]}"


@pytest.fixture
def strict() -> Iterator[str]:
    """The address of a server, with a password that it does not take."""
    with redis_server(0, "--requirepass", "another") as (port, _):
        yield f"redis://:{PASSWORD.replace(' ', '%20')}@127.0.0.1:{port}"


@pytest.fixture
def nightly(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Callable[..., pytest.RunResult]:
    """Runs a nightly list of two properties that fail."""
    monkeypatch.delenv("CI", raising=False)
    pytester.makeconftest((ROOT / "conftest.py").read_text(encoding="utf-8"))
    pytester.makepyfile(test_it=TESTS)
    text = "version: 0.0.1\nl0_x:\n- condition: {terms: {stage: nightly}}\n  tests: [test_it.py]\n"
    (pytester.mkdir("test_lists") / "l0_x.yml").write_text(text, encoding="utf-8")

    def run(url: str, *arguments: str) -> pytest.RunResult:
        monkeypatch.setenv(SHARED, url)
        return pytester.runpytest_subprocess("-m", "l0_x", *arguments, timeout=300)

    return run


def drawn(folder: Path) -> list[int]:
    return [int(line) for line in (folder / "drawn").read_text().split()]


def warnings(run: pytest.RunResult) -> list[str]:
    return [line for line in run.outlines + run.errlines if SHARED in line]


KEYS, VALUES = st.sampled_from([b"k", b"l"]), st.sampled_from([b"1", b"2", b"3"])
STEPS = st.lists(
    st.tuples(
        st.booleans(),
        st.tuples(st.just("save"), KEYS, VALUES)
        | st.tuples(st.just("delete"), KEYS, VALUES)
        | st.tuples(st.just("move"), KEYS, KEYS, VALUES),
    )
)


@given(steps=STEPS)
def test_whenever_the_server_is_away_the_local_examples_are_as_without_one(
    steps: list[tuple[bool, tuple[str, *tuple[bytes, ...]]]],
) -> None:
    fake, errors = FakeServer(), []
    local, alone = InMemoryExampleDatabase(), InMemoryExampleDatabase()
    shared = SharedDatabase(FakeRedis(server=fake), "a", errors.append, pause=0)
    both = MultiplexedDatabase(local, shared)
    for there, (name, *arguments) in steps:
        fake.connected = there
        getattr(both, name)(*arguments)
        getattr(alone, name)(*arguments)
        for key in (b"k", b"l"):
            assert set(local.fetch(key)) == set(alone.fetch(key)) <= set(both.fetch(key))
            assert there or not shared.fetch(key)
    assert bool(errors) == any(not there for there, _ in steps)
    if not errors:
        assert all(set(shared.fetch(key)) == set(alone.fetch(key)) for key in (b"k", b"l"))


def test_a_server_that_is_away_is_asked_again_after_a_pause_and_not_before() -> None:
    fake, errors, now = FakeServer(), [], [0.0]
    shared = SharedDatabase(FakeRedis(server=fake), "a", errors.append, pause=60, clock=lambda: now[0])
    fake.connected = False
    shared.save(b"k", b"1")
    fake.connected = True
    now[0] = 59.0
    shared.save(b"k", b"2")
    now[0] = 60.0
    shared.save(b"k", b"3")
    assert (shared.fetch(b"k"), len(errors)) == ([b"3"], 1)


def test_examples_of_another_implementation_are_not_seen() -> None:
    fake = FakeServer()
    one, other = (SharedDatabase(FakeRedis(server=fake), name, pytest.fail) for name in ("a", "b"))
    one.save(b"k", b"1")
    assert (one.fetch(b"k"), other.fetch(b"k")) == ([b"1"], [])


def test_a_real_server_that_dies_and_comes_back_is_used_again() -> None:
    errors: list[Exception] = []
    with redis_server() as (port, _):
        shared = SharedDatabase(Redis(port=port), "a", errors.append, pause=0)
        shared.save(b"k", b"1")
        assert shared.fetch(b"k") == [b"1"]
    assert shared.fetch(b"k") == []
    with redis_server(port):
        shared.save(b"k", b"2")
        assert shared.fetch(b"k") == [b"2"]
    assert len(errors) == 1


def test_what_one_machine_found_another_runs_first(
    nightly: Callable[..., pytest.RunResult], server: str, pytester: pytest.Pytester
) -> None:
    nightly(server, "-n0").assert_outcomes(failed=2, passed=1)
    assert drawn(pytester.path)[0] != 500_000_000
    for name in (".hypothesis", "findings", "runs"):
        shutil.rmtree(pytester.path / name)
    (pytester.path / "drawn").unlink()
    run = nightly(server, "-n2")
    run.assert_outcomes(failed=2, passed=1)
    assert drawn(pytester.path)[0] == 500_000_000
    run.stdout.fnmatch_lines([f"examples: shared through {server}"])
    assert warnings(run) == []


@pytest.mark.parametrize(("kind", "why"), [("closed", "Connection refused"), ("silent", "Timeout"), ("strict", "password")])
def test_a_server_that_does_not_serve_costs_one_warning(
    nightly: Callable[..., pytest.RunResult], request: pytest.FixtureRequest, pytester: pytest.Pytester, kind: str, why: str
) -> None:
    url = f"redis://127.0.0.1:{free_port()}" if kind == "closed" else request.getfixturevalue(kind)
    run = nightly(url, "-n2", "-Werror")
    run.assert_outcomes(failed=2, passed=1)
    (warning,) = warnings(run)
    port = url.rpartition(":")[2]
    assert warning.startswith(f"warning: {SHARED} redis://127.0.0.1:{port} did not serve: ")
    assert why in warning
    assert "examples are kept here alone" in warning
    assert not any(word in run.stdout.str() + run.stderr.str() for word in (PASSWORD, "p4ss%20w0rd"))
    assert [*(pytester.path / ".hypothesis" / "examples").rglob("*")]


@pytest.mark.parametrize("workers", ["-n0", "-n1"])
def test_a_server_that_dies_in_mid_run_costs_one_warning_at_its_end(
    nightly: Callable[..., pytest.RunResult], monkeypatch: pytest.MonkeyPatch, workers: str
) -> None:
    with redis_server() as (port, pid):
        monkeypatch.setenv("SERVER_PORT", str(port))
        monkeypatch.setenv("SERVER_PID", str(pid))
        run = nightly(f"redis://127.0.0.1:{port}/0", workers)
    run.assert_outcomes(failed=2, passed=1)
    run.stdout.fnmatch_lines([f"examples: shared through redis://127.0.0.1:{port}/0"])
    (warning,) = warnings(run)
    assert f"redis://127.0.0.1:{port}/0 did not serve: " in warning


WRONG = [
    "memcached://127.0.0.1",
    "127.0.0.1:6379",
    "redis:127.0.0.1",
    "redis://",
    "redis://127.0.0.1:port",
    "redis://127.0.0.1:99999",
    "redis://127.0.0.1/first",
    f"redis://:{PASSWORD}/@127.0.0.1",
    f"redis://:{PASSWORD}@127.0.0.1?nonsense=1",
    "redis://127.0.0.1?socket_timeout=soon",
]


@pytest.mark.parametrize("url", WRONG)
def test_what_is_no_address_of_a_redis_server_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(
        pytest.UsageError, match=f"^{SHARED} .*: is no address of a Redis server; expected redis://"
    ) as error:
        SharedExamples(url, "a", lambda: None)
    assert PASSWORD not in str(error.value)


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_it_is_refused_before_anything_runs(
    nightly: Callable[..., pytest.RunResult], pytester: pytest.Pytester, workers: str
) -> None:
    run = nightly("http://127.0.0.1", workers)
    assert run.ret == pytest.ExitCode.USAGE_ERROR
    assert f"{SHARED} http://127.0.0.1: is no address" in run.stdout.str() + run.stderr.str()
    assert not (pytester.path / "drawn").exists()


def test_without_the_package_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "redis", None)
    with pytest.raises(pytest.UsageError, match=r"needs the package redis; install mm-conformance\[shared\]"):
        SharedExamples("redis://127.0.0.1", "a", lambda: None)
