"""Bars for people who watch a long run: on a terminal, and quiet under CI."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress


@contextmanager
def bars() -> Iterator[Progress]:
    """Bars on standard error, which are gone when the run ends.

    Yields:
        Where bars are added; they show nothing if ``CI`` is set or nobody watches.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    quiet = bool(os.environ.get("CI")) or not console.is_terminal
    with Progress(*columns, console=console, disable=quiet, transient=True) as progress:
        yield progress
