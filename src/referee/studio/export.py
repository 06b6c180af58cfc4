"""Static pages to share: an experiment or a comparison as a folder that opens from the disk, without any server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from referee import __version__
from referee.errors import OptionError
from referee.storage.store import Store
from referee.studio import pages, rendering
from referee.studio.page import Page
from referee.studio.query import Query, address
from referee.studio.static_pages import static_page

#: Rows of a list on one page of an export.
ROWS = 500
_STYLE = "studio.css"


class Export:
    """Writes pages into a folder. Links between them lead from file to file; all others become plain text.

    Args:
        store: The store.
        folder: Where the pages are written; it must be empty, or not there.
        told: Called with the number of pages after each one.

    Raises:
        OptionError: The folder is not empty, or can't be written.
    """

    def __init__(self, store: Store, folder: Path, told: Callable[[int], object] = lambda _: None) -> None:
        self._store = store
        self._folder = folder
        self._told = told
        self._files: dict[str, str] = {}
        self._written = 0
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if any(folder.iterdir()):
                raise OptionError(f"{folder} is not empty: give a new folder for --export")
            style = files("referee.studio").joinpath("static", _STYLE).read_bytes()
            (folder / _STYLE).write_bytes(style)
        except OSError as error:
            raise OptionError(f"{folder} can't be written: {error.strerror}") from None

    def experiment(self, name: str) -> int:
        """Write an experiment: its rows, and a page for each run. Gives how many pages there are.

        Args:
            name: The experiment's key or name.

        Raises:
            StoreError: There is no such experiment.
        """
        key = self._store.experiments.get(name).key
        runs: dict[int, None] = {}
        scores: dict[str, int] = {}
        lists = list(self._parts(address("/experiment", {"key": key, "limit": ROWS}), "index"))
        for _, page in lists:
            for row in page.data["grid"].rows:
                runs[row.run] = None
                scores |= {str(cell.score): row.run for cell in row.cells if cell is not None}

        names = set(map(str, runs))

        def target(link: str) -> str | None:
            path, given = _read(link)
            number = given.get("number", "") if path == "/run" else scores.get(given.get(_SCORE.get(path, ""), ""))
            is_here = str(number) in names
            return f"run-{number}.html" if is_here else self._files.get(link)

        self._write_lists(lists, target)
        for number in runs:
            self._write(f"run-{number}.html", *self._page(address("/run", {"number": number})), target)
        return self._written

    def comparison(self, first: str, second: str) -> int:
        """Write a comparison: a list for each scorer, and a page for each item. Gives how many pages there are.

        Args:
            first: The experiment before the change, by key or name.
            second: The one after it.

        Raises:
            StoreError: There is no such experiment.
        """
        keys = {"first": self._store.experiments.get(first).key, "second": self._store.experiments.get(second).key}
        items: dict[str, str] = {}
        lists = []
        columns = self._store.experiments.columns_of_both(keys["first"], keys["second"])
        for place, column in enumerate(columns):
            link = address("/compare", {**keys, "scorer": column.scorer, "turn": column.turn})
            name = "index" if not place else f"scorer-{place + 1}"
            self._files[link] = f"{name}.html"
            for query, page in self._parts(f"{link}&limit={ROWS}", name):
                lists.append((query, page))
                changes = page.data["comparison"].changes if page.data["comparison"] else []
                for change in changes:
                    items.setdefault(change.item, f"item-{len(items) + 1}.html")
        if not lists:
            lists = list(self._parts(address("/compare", keys), "index"))

        def target(link: str) -> str | None:
            path, given = _read(link)
            found = items.get(given.get("item", "")) if path in ("/compare", "/compared-item") else None
            return found or self._files.get(link)

        self._write_lists(lists, target)
        for item, file in items.items():
            self._write(file, *self._page(address("/compared-item", {**keys, "item": item})), target)
        return self._written

    def _parts(self, link: str, name: str) -> Iterator[tuple[Query, Page]]:
        """All parts of a list; each is given its file."""
        place = 1
        following: str | None = link
        while following is not None:
            self._files[following] = f"{name}.html" if place == 1 else f"{name}-{place}.html"
            query, page = self._page(following)
            yield query, page
            place += 1
            following = page.next

    def _page(self, link: str) -> tuple[Query, Page]:
        parts = urlsplit(link)
        query = Query(parts.path, parse_qsl(parts.query))
        return query, pages.screen(parts.path).make(self._store, query)

    def _write_lists(self, lists: list[tuple[Query, Page]], target: Callable[[str], str | None]) -> None:
        for place, (query, page) in enumerate(lists):
            before = (
                self._files[lists[place - 1][0].set()] if place and lists[place - 1][1].next == query.set() else None
            )
            self._write(self._files[query.set()], query, page, target, before)

    def _write(
        self, file: str, query: Query, page: Page, target: Callable[[str], str | None], before: str | None = None
    ) -> None:
        drawn = rendering.as_html(page, query, version=__version__, is_exported=True).decode()
        try:
            (self._folder / file).write_text(static_page(drawn, target, style=_STYLE, before=before), encoding="utf-8")
        except OSError as error:
            raise OptionError(f"{self._folder} can't be written: {error.strerror}") from None
        self._written += 1
        self._told(self._written)


#: Where a score is named, by path.
_SCORE = {"/score": "number", "/experiment": "score"}


def _read(link: str) -> tuple[str, dict[str, str]]:
    parts = urlsplit(link)
    return parts.path, dict(parse_qsl(parts.query))
