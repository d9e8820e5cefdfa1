"""A headless Chromium of this machine, for the tests of the page and its screenshots."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser

_NAMES = ("chromium", "chromium-browser", "google-chrome")
# No sandbox: it needs privileges that containers lack, and the only page is our own. The rest keeps the browser to itself.
_ARGUMENTS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def missing() -> str | None:
    """What this machine lacks, and how to get it; None if nothing."""
    lacking = []
    if find_spec("playwright") is None:
        lacking.append("playwright (pip install playwright)")
    if _executable() is None:
        lacking.append("Chromium (apt-get install chromium, or another of: " + ", ".join(_NAMES) + ")")
    return " and ".join(lacking) or None


def _executable() -> str | None:
    return next(filter(None, map(shutil.which, _NAMES)), None)


@contextmanager
def chromium() -> Iterator[Browser]:
    """The browser; :func:`missing` says beforehand whether there is one."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=_executable(), args=list(_ARGUMENTS))
        try:
            yield browser
        finally:
            browser.close()
