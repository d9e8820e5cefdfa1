"""The templates of this package: everything that is put into one is escaped, and a name that is missing is an error."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from harness.render.text import cut, fence, inert_markdown, printable

FOLDER = Path(__file__).parent / "templates"


@cache
def environment() -> Environment:
    """jinja2 as every report uses it."""
    made = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters.update(
        breakable=breakable,
        cut=cut,
        fence=fence,
        fenced=lambda text: Markup(printable(text)),
        md=lambda text: Markup(inert_markdown(text)),
        number=lambda value: f"{value:,}",
        seconds=seconds,
        verbatim=verbatim,
    )
    return made


def source(name: str) -> Markup:
    """A file that is put into a page as it is."""
    return Markup((FOLDER / name).read_text(encoding="utf-8"))


def breakable(text: str) -> Markup:
    """HTML of an id that may be broken where it has joints."""
    return Markup(re.sub(r"(/|_|-|(?=::)|(?=\[))", r"\1<wbr>", str(Markup.escape(printable(text)))))


def seconds(value: float) -> str:
    """A time in words: ``20 ms``, ``1.5 s``, ``2 min 5 s``."""
    if value >= 60:
        return f"{int(value // 60):,} min {int(value % 60)} s"
    return f"{value * 1000:.0f} ms" if value < 1 else f"{value:.1f} s"


def verbatim(text: str) -> Markup:
    """HTML whose text is exactly ``text``: a parser of HTML would turn a bare carriage return into a new line."""
    return Markup.escape(text).replace("\r", Markup("&#13;"))


def _finalize(value: Any) -> Any:
    """Foreign text on its way into a template: Markup is ours."""
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value
