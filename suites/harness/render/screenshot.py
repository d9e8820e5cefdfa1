"""Takes the screenshots of the documentation: ``python -m suites.harness.render.screenshot [FOLDER]``.

FOLDER is where a run was rendered; without one the page of :func:`suites.harness.render.runs.failing_run` is shown. Writes
``report.png`` and ``report-phone.png`` to ``docs/images``.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from PIL import Image

from harness.render import write_reports
from suites.harness.render.browser import chromium, missing
from suites.harness.render.runs import failing_run

IMAGES = Path(__file__).parents[3] / "docs" / "images"


def screenshots(page: Path, images: Path) -> list[Path]:
    """Shows a page light on a desktop, and its first failure dark on a phone.

    Args:
        page: ``index.html`` of a run.
        images: Folder for the pictures.

    Returns:
        The pictures.
    """
    images.mkdir(parents=True, exist_ok=True)
    desktop, phone = images / "report.png", images / "report-phone.png"
    with chromium() as browser:
        tab = browser.new_page(viewport={"width": 1200, "height": 1850}, color_scheme="light")
        tab.goto(page.as_uri())
        tab.screenshot(path=desktop)
        tab = browser.new_page(viewport={"width": 360, "height": 740}, device_scale_factor=2, color_scheme="dark")
        tab.goto(page.as_uri())
        tab.evaluate("(document.querySelector('.failure:has(img)') ?? document.querySelector('.results')).scrollIntoView()")
        tab.screenshot(path=phone)
    for path in (desktop, phone):
        with Image.open(path) as image:
            # Fewer shades: a quarter smaller, and no eye sees it.
            image.convert("RGB").point(lambda shade: min(8 * round(shade / 8), 255)).save(path, optimize=True)
    return [desktop, phone]


def main(arguments: list[str]) -> None:
    """The command."""
    lacking = missing()
    if lacking:
        sys.exit(f"needs {lacking}")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(arguments[0]) if arguments else Path(scratch)
        if not arguments:
            write_reports(failing_run(), folder)
        for path in screenshots((folder / "index.html").resolve(), IMAGES):
            print(f"{path}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
