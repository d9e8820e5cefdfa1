"""A page of HTML taken apart."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

_VOID = {"br", "img", "input", "link", "meta", "wbr"}


@dataclass
class Element:
    """One element.

    Attributes:
        tag: Its name.
        attributes: Its attributes, with their references resolved.
        texts: All text inside of it, that of its children included.
        around: The elements around it.
    """

    tag: str
    attributes: dict[str, str | None]
    texts: list[str] = field(default_factory=list)
    around: tuple[Element, ...] = ()

    @property
    def text(self) -> str:
        return "".join(self.texts)

    @property
    def classes(self) -> list[str]:
        return (self.attributes.get("class") or "").split()


class Page(HTMLParser):
    """All elements of a page, in order; every one must be closed as HTML says."""

    def __init__(self, html: bytes | str) -> None:
        super().__init__()
        self.elements: list[Element] = []
        self._open: list[Element] = []
        self.feed(html.decode() if isinstance(html, bytes) else html)
        self.close()
        assert not self._open, f"not closed: {[element.tag for element in self._open]}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, dict(attrs), around=tuple(self._open))
        self.elements.append(element)
        if tag not in _VOID:
            self._open.append(element)

    def handle_endtag(self, tag: str) -> None:
        assert self._open, f"</{tag}> closes nothing"
        assert self._open[-1].tag == tag, f"</{tag}> closes <{self._open[-1].tag}>"
        self._open.pop()

    def handle_data(self, data: str) -> None:
        for element in self._open:
            element.texts.append(data)

    def all(self, tag: str, cls: str | None = None) -> list[Element]:
        """The elements of a name, and of a class."""
        return [one for one in self.elements if one.tag == tag and (cls is None or cls in one.classes)]

    def section(self, heading: str) -> list[Element]:
        """What lies in the section that a heading with this text names."""
        anchor = next(one.attributes["id"] for one in self.elements if one.tag in ("h2", "h3") and one.text == heading)
        return [one for one in self.elements if any(out.attributes.get("aria-labelledby") == anchor for out in one.around)]
