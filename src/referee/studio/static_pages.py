"""A drawn page as a file of its own: links lead to other files or nowhere, and what needs a server is left out."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from html.parser import HTMLParser

#: No script, and nothing that does not lie beside the page.
POLICY = "default-src 'none'; style-src 'self' file:; form-action 'none'; base-uri 'none'"
#: Elements that need a server or a script, with everything inside.
_LEFT_OUT = ("form", "script", "header", "dialog")
#: Attributes that only the script, or a server, needs.
_NEEDLESS = ("href", "data-row", "data-open", "data-close", "data-live")


def static_page(drawn: str, target: Callable[[str], str | None], *, style: str, before: str | None = None) -> str:
    """The page as a file.

    Args:
        drawn: The page as the Studio draws it.
        target: The file of an address, `None` for one that is not written.
        style: The file of the style sheet.
        before: The file of the part of the list before this one.

    Example:
        >>> page = '<a href="/run?number=1#top">one</a> <a href="/scores">all</a> <form>x</form>&amp;'
        >>> static_page(page, {"/run?number=1": "run-1.html"}.get, style="studio.css")
        '<a href="run-1.html">one</a> <a>all</a> &amp;'
    """
    writer = _Writer(target, style, before)
    writer.feed(drawn)
    writer.close()
    return "".join(writer.parts)


class _Writer(HTMLParser):
    """Writes a page again, tag by tag."""

    def __init__(self, target: Callable[[str], str | None], style: str, before: str | None) -> None:
        super().__init__(convert_charrefs=False)
        self.parts: list[str] = []
        self._target = target
        self._style = style
        self._before = before
        self._left_out = ""
        self._depth = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Write a tag, unless it is left out."""
        if self._left_out:
            self._depth += tag == self._left_out
            return
        if tag in _LEFT_OUT:
            self._left_out, self._depth = tag, 1
        elif tag == "link":
            if ("rel", "stylesheet") in attrs:
                self.parts.append(f'<link rel="stylesheet" href="{self._style}">')
        elif tag == "meta" and ("charset", "utf-8") in attrs:
            policy = f'<meta http-equiv="Content-Security-Policy" content="{escape(POLICY, quote=True)}">'
            self.parts.append(f"{self.get_starttag_text()}\n{policy}")
        elif tag == "a":
            self._write_link(attrs)
        else:
            self.parts.append(self.get_starttag_text() or "")

    def _write_link(self, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        link = (given.get("href") or "").partition("#")[0]
        file = self._before if given.get("rel") == "prev" else self._target(link) if link else given.get("href")
        kept = [(name, value) for name, value in attrs if name not in _NEEDLESS]
        if file:
            kept.insert(0, ("href", file))
        words = "".join(f' {name}="{escape(value or "", quote=True)}"' for name, value in kept)
        self.parts.append(f"<a{words}>")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Write an empty element, as drawings have them."""
        if not self._left_out:
            self.parts.append(self.get_starttag_text() or "")

    def handle_endtag(self, tag: str) -> None:
        """Write the end of an element."""
        if self._left_out:
            self._depth -= tag == self._left_out
            if not self._depth:
                self._left_out = ""
            return
        self.parts.append(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        """Write text."""
        self._write(data)

    def handle_entityref(self, name: str) -> None:
        """Write a named character."""
        self._write(f"&{name};")

    def handle_charref(self, name: str) -> None:
        """Write a numbered character."""
        self._write(f"&#{name};")

    def handle_decl(self, decl: str) -> None:
        """Write the declaration of the document."""
        self._write(f"<!{decl}>")

    def _write(self, text: str) -> None:
        if not self._left_out:
            self.parts.append(text)
