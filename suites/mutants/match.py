"""Sends mutants through referees, several at a time, and survives what they do to them."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from suites.mutants import copies
from suites.mutants.machinery import MACHINERY

ROOT = Path(__file__).parents[2]

LIMIT = 600.0
"""Seconds that a match may take; with everything, a test of a hanging mutant has a limit of its own."""


_LOST: dict[str, Any] = {"killed": False, "by": {}, "examples": 0, "seconds": 0.0, "ran": 0}


class Referee:
    """A process that judges one mutant after the other; a new one takes over from one that a mutant has killed."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def judge(self, asked: dict[str, Any], limit: float = LIMIT) -> dict[str, Any]:
        """Answers as :func:`suites.mutants.referee.judge`. A mutant that takes the referee with it is lost, not killed."""
        if self._process is None or self._process.poll() is not None:
            self._process = _start()
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        watchdog = threading.Timer(limit, process.kill)
        watchdog.start()
        try:
            process.stdin.write(json.dumps(asked) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except OSError:
            line = ""
        finally:
            watchdog.cancel()
        if not line:
            process.kill()
            code = process.wait()
            self._process = None
            return {**_LOST, "id": asked["id"], "message": f"the referee's process ended with status {code}"}
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        """Ends the process."""
        if self._process is not None and self._process.poll() is None:
            assert self._process.stdin is not None
            self._process.stdin.close()
            self._process.wait()


def _start() -> subprocess.Popen[str]:
    # One thread: as many referees as cores run at a time.
    environ = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, "-m", "suites.mutants.referee"],
        cwd=ROOT,
        env=environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def _of_harness(asked: dict[str, Any]) -> dict[str, Any]:
    return copies.judge(MACHINERY[asked["id"]], asked["everything"], asked["seed"], asked["without"])


def matches(
    asked: Sequence[dict[str, Any]], jobs: int, tell: Callable[[dict[str, Any]], None] = lambda answer: None
) -> list[dict[str, Any]]:
    """Judges many mutants, ``jobs`` at a time.

    Args:
        asked: What each referee is asked, as :mod:`suites.mutants.referee` reads it.
        jobs: Referees.
        tell: Called with each answer as it comes.

    Returns:
        The answers, in the order of what was asked.
    """
    todo: queue.SimpleQueue[tuple[int, dict[str, Any]]] = queue.SimpleQueue()
    for pair in enumerate(asked):
        todo.put(pair)
    answers: dict[int, dict[str, Any]] = {}

    def work() -> None:
        referee = Referee()
        try:
            while True:
                try:
                    index, question = todo.get_nowait()
                except queue.Empty:
                    return
                try:
                    answers[index] = _of_harness(question) if question["id"] in MACHINERY else referee.judge(question)
                except Exception as error:  # one that cannot be made costs no other its verdict
                    words = f"{type(error).__name__}: {error}"
                    answers[index] = {**_LOST, "id": question["id"], "message": words}
                tell(answers[index])
        finally:
            referee.close()

    threads = [threading.Thread(target=work) for _ in range(min(jobs, len(asked)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [answers[index] for index in range(len(asked))]
