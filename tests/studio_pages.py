"""Pages of the Studio as a browser reads them, for its tests."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

from starlette.testclient import TestClient

from referee.storage.recorded_runs import RunFilter
from referee.storage.store import Store
from referee.studio.app import create_app
from referee.studio.query import address


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


def screens(store: Store) -> dict[str, str]:
    """The screens by name; of every experiment, scorer and item the first."""
    second, first = (row.key for row in store.experiments.latest(kind="experiment", limit=2))
    scorer = store.experiments.columns(second)[0].scorer
    comparison = store.experiments.compare(first, second, scorer)
    change = comparison.changes[0]
    compared = {"first": first, "second": second, "scorer": scorer}
    opened = {"item": change.item, "first_score": change.first_score, "second_score": change.second_score}
    pair = {"first": first, "second": second}
    stepping = store.runs.page(RunFilter(run="live-last")).rows or store.runs.page(RunFilter(kind="live")).rows
    dataset = store.datasets.all()[0]
    asked = store.datasets.page(dataset.name, limit=1).items[0].id
    own = store.labels.latest(limit=1)[0].scorer
    return {
        "compared-item": address("/compared-item", {**pair, "item": change.item}),
        "runs": "/runs",
        "runs-none": "/runs?item=none",
        "run": address("/run", {"number": store.scores.get(change.second_score).row.run}),
        "run-steps": address("/run", {"number": stepping[0].number}),
        "scorers": "/scorers",
        "scorer": address("/scorer", {"scorer": own, "cut": 0.5}),
        "scorer-versions": address("/scorer", {"scorer": store.live.days(days=60).scorers[-1].scorer}),
        "scorer-against": address("/scorer", {"scorer": scorer, "against": own, "experiment": second}),
        "datasets": "/datasets",
        "dataset": address("/dataset", {"name": dataset.name}),
        "dataset-earlier": address("/dataset", {"name": f"{dataset.name}@1"}),
        "dataset-changes": address("/dataset-changes", {"name": dataset.name, "before_version": 1}),
        "item": address("/item", {"dataset": dataset.name, "item": asked}),
        "item-new": address("/item", {"dataset": dataset.name}),
        "labels": "/labels",
        "labels-queue": address("/labels", {"scorer": own, "author": "eve", "cut": 0.5}),
        "labels-done": address("/labels", {"scorer": "none", "author": "eve"}),
        "live": "/live?days=60",
        "jobs": "/jobs",
        "job": "/job?number=1",
        "new-job": address("/new-job", {"experiment": first}),
        "api": "/api",
        "overview": "/",
        "experiment": address("/experiment", {"key": second}),
        "experiment-opened": address("/experiment", {"key": second, "score": change.second_score}),
        "scores": "/scores",
        "scores-of-one": address("/scores", {"scorer": scorer, "score": change.second_score}),
        "scores-none": "/scores?item=none",
        "score": address("/score", {"number": change.second_score}),
        "compare": address("/compare", compared),
        "compare-opened": address("/compare", {**compared, **opened}),
        "compare-choice": "/compare",
    }
