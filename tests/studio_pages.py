"""Pages of the Studio as a browser reads them, for its tests."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

from starlette.testclient import TestClient

from referee.storage.store import Store
from referee.studio.app import create_app


def client_of(store: Store, **options: Any) -> TestClient:
    return TestClient(create_app(store, **options), base_url="http://localhost", follow_redirects=False)


class Drawn(HTMLParser):
    """A page as a browser reads it: its elements, its links and its text."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    def attributes(self, name: str) -> list[str]:
        return [given[name] or "" for _, given in self.elements if name in given]

    @property
    def links(self) -> list[str]:
        return [link.partition("#")[0] for link in self.attributes("href") + self.attributes("src")]

    @property
    def rows(self) -> int:
        return sum("data-row" in given for _, given in self.elements)


def drawn(client: TestClient, link: str) -> Drawn:
    answer = client.get(link)
    assert answer.status_code == 200, (link, answer.text[:2000])
    return Drawn(answer.text)
