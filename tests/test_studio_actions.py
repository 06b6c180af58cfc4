"""What can be changed from the Studio: labels, data sets and jobs; and who may send it."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from referee.storage.filters import ScoreFilter
from referee.storage.jobs import JobPlan
from referee.storage.recorded_runs import RunFilter
from referee.storage.store import Store
from referee.studio.actions import PATHS
from referee.studio.app import create_app
from referee.studio.query import address
from referee.studio.worker import work
from studio_pages import Drawn, client_of, drawn
from studio_store import ITEMS, ordinary

ORIGIN = {"origin": "http://localhost"}


class NoWorkers:
    """Takes jobs and leaves them to the test."""

    def __init__(self) -> None:
        self.started: list[tuple[int, str]] = []

    def check_room(self) -> None:
        pass

    def start(self, job: int, word: str) -> None:
        self.started.append((job, word))


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("original") / "scores.db"
    ordinary(path).close()
    return path


@pytest.fixture
def store(original: Path, tmp_path: Path) -> Iterator[Store]:
    """A store that a test may change."""
    with Store(shutil.copy(original, tmp_path / "scores.db")) as copied:
        yield copied


@pytest.fixture
def workers() -> NoWorkers:
    return NoWorkers()


@pytest.fixture
def client(store: Store, workers: NoWorkers) -> TestClient:
    return client_of(store, workers=workers)


def send(client: TestClient, path: str, **fields: Any) -> Any:
    """Send as a program does."""
    answer = client.post(path, json=fields)
    assert answer.status_code == 200, answer.text
    return answer.json()


def submit(client: TestClient, page: str, action: str, **fields: Any) -> Any:
    """Send the form of a page as a browser does: with its hidden fields."""
    found = forms(client.get(page).text)[action]
    return client.post(action, data={**found, **fields}, headers=ORIGIN)


def forms(source: str) -> dict[str, dict[str, str]]:
    """The named fields of the last form for each action."""
    found: dict[str, dict[str, str]] = {}
    current: dict[str, str] = {}
    for tag, given in Drawn(source).elements:
        if tag == "form":
            current = found[given.get("action") or ""] = {}
        elif tag == "input" and given.get("type") == "hidden":
            current[given["name"] or ""] = given.get("value") or ""
    return found


def judged(store: Store) -> int:
    return store.scores.page(ScoreFilter(scorer="relevancy"), limit=100).rows[-1].number


class TestLabels:
    def test_a_label_stands_beside_the_judges_score(self, client: TestClient, store: Store) -> None:
        page = f"/score?number={judged(store)}"
        answer = submit(client, page, "/labels/add", value="0.25", author="eve", comment="<b>late</b>")
        assert (answer.status_code, answer.headers["location"]) == (303, page)
        text = drawn(client, page).text
        assert "People say: 0.25 eve" in " ".join(text.split())
        assert "<b>late</b>" in text
        number = store.labels.latest(author="eve")[0].number
        answer = submit(client, page, "/labels/remove", number=str(number))
        assert answer.status_code == 303
        assert store.labels.latest(author="eve") == []

    def test_the_queue_gives_one_score_after_the_other(self, client: TestClient, store: Store) -> None:
        link = address("/labels", {"scorer": "relevancy", "author": "eve", "cut": 0.5})
        seen = []
        for value in ("0", "1", "1"):
            seen.append(client.get(f"{link}&format=json").json()["next_score"]["number"])
            assert submit(client, link, "/labels/add", value=value).headers["location"] == link
        assert len(set(seen)) == 3
        assert [label.value for label in store.labels.latest(author="eve")] == [1.0, 1.0, 0.0]
        found = client.get(f"{link}&format=json").json()["agreement"]
        assert found["pairs"] == store.labels.agreement("relevancy", cuts=[0.5]).pairs

    def test_skipping_leaves_the_score_for_later(self, client: TestClient) -> None:
        link = address("/labels", {"scorer": "relevancy", "author": "eve"})
        first, second = (
            client.get(f"{link}&skip={skip}&format=json").json()["next_score"]["number"] for skip in (0, 1)
        )
        assert first != second
        assert f"{link}&skip=1" in drawn(client, link).links

    def test_what_the_scorer_said_is_folded(self, client: TestClient) -> None:
        page = client.get(address("/labels", {"scorer": "relevancy", "author": "eve"})).text
        assert page.index("Conversation") < page.index("What the scorer said")

    @pytest.mark.parametrize(
        ("fields", "words"),
        [
            ({"value": 2, "author": "eve"}, "goes from 0 to 1"),
            ({"value": "high", "author": "eve"}, "expected a number"),
            ({"value": "nan", "author": "eve"}, "expected a number"),
            ({"value": 1}, "give author="),
            ({"author": "eve"}, "give value="),
            ({"value": 1, "author": "eve", "colour": "red"}, "no parameter 'colour'"),
        ],
    )
    def test_a_wrong_label_gets_one_clear_line(
        self, client: TestClient, store: Store, fields: dict[str, Any], words: str
    ) -> None:
        answer = client.post("/labels/add", json={"score": judged(store), **fields})
        assert answer.status_code == 400
        assert words in answer.json()["problem"]


class TestDatasets:
    def test_an_item_is_changed_and_the_change_is_shown(self, client: TestClient, store: Store) -> None:
        page = address("/item", {"dataset": "ferries", "item": "item-005"})
        answer = submit(client, page, "/datasets/put", item='{"id": "item-005", "input": "How late?"}', note="shorter")
        assert answer.headers["location"] == "/dataset?name=ferries"
        assert store.datasets.read("ferries").items[5].input == "How late?"
        changes = drawn(client, "/dataset-changes?name=ferries")
        assert "item-005" in changes.text
        assert "0 added, 1 changed, 0 removed" in changes.text
        assert {"ins", "del"} <= {tag for tag, _ in changes.elements}

    def test_changes_are_those_of_the_library(self, client: TestClient, store: Store) -> None:
        for before, after in ((1, 2), (2, 3), (1, 3), (3, 1)):
            found = client.get(
                f"/dataset-changes?name=ferries&before_version={before}&after_version={after}&limit=500&format=json"
            )
            by_kind: dict[str, set[str]] = {"added": set(), "changed": set(), "removed": set()}
            for change in found.json()["changes"]["changes"]:
                by_kind[change["change"]].add(change["item"])
            expected = store.datasets.diff(f"ferries@{before}", f"ferries@{after}")
            assert by_kind["added"] == set(expected.added)
            assert by_kind["removed"] == set(expected.removed)
            assert by_kind["changed"] == {item.id for item in expected.changed}

    def test_a_run_becomes_an_item(self, client: TestClient, store: Store) -> None:
        run = store.scores.get(judged(store)).row.run
        answer = submit(client, f"/run?number={run}", "/datasets/add-run", name="ferries", keep_answer="1")
        assert answer.status_code == 303
        item = store.datasets.read("ferries").items[-1]
        assert item.input == store.runs.get(run).run.user_text
        assert item.ground_truth
        assert item.metadata == {"run_id": store.runs.get(run).run.id}

    def test_items_pins_and_baselines(self, client: TestClient, store: Store) -> None:
        assert send(client, "/datasets/create", name="new", description="fresh")["version"] == 0
        assert send(client, "/datasets/put", name="new", item={"id": "a", "input": "Hi"})["version"] == 1
        assert send(client, "/datasets/remove", name="new", id="a")["version"] == 2
        assert send(client, "/datasets/pin", name="new@1", pin="first")["address"] == "/dataset?name=new%40first"
        assert store.datasets.read("new@first").items[0].id == "a"
        send(client, "/datasets/baseline", name="ferries", experiment="nightly-2")
        assert store.datasets.get("ferries").baseline == "nightly-2"
        assert client.get("/experiment?key=nightly-1&format=json").json()["baseline"]["key"] == "nightly-2"
        send(client, "/datasets/baseline", name="ferries")
        assert store.datasets.get("ferries").baseline is None

    @pytest.mark.parametrize(
        ("path", "fields", "status", "words"),
        [
            ("/datasets/put", {"name": "ferries", "item": "{"}, 400, "no JSON"),
            ("/datasets/put", {"name": "ferries", "item": "[1]"}, 400, "JSON object"),
            ("/datasets/put", {"name": "ferries", "item": '{"inptu": "a"}'}, 400, "did you mean input"),
            ("/datasets/put", {"name": "ferris", "item": '{"input": "a"}'}, 404, "did you mean"),
            ("/datasets/put", {"name": "ferries@1", "item": '{"input": "a"}'}, 400, "only the latest version"),
            ("/datasets/put", {"name": "ferries", "item": "[" * 100_000}, 400, "no JSON"),
            ("/datasets/put", {"name": "ferries", "item": '{"a":' * 600 + "1" + "}" * 600}, 400, "nested deeper"),
            ("/datasets/remove", {"name": "ferries", "id": "none"}, 404, "no item"),
            ("/datasets/create", {"name": "a@b"}, 400, "@"),
            ("/datasets/add-run", {"name": "ferries", "run": 999_999}, 404, "no run"),
            ("/datasets/baseline", {"name": "ferries", "experiment": "live"}, 400, "did not use"),
        ],
    )
    def test_mistakes(self, client: TestClient, path: str, fields: dict[str, Any], status: int, words: str) -> None:
        answer = client.post(path, json=fields)
        assert answer.status_code == status, answer.text
        assert words in answer.json()["problem"]


class TestJobs:
    def begin(self, client: TestClient, scorers: str = "checks.no_tool_errors", **where: Any) -> int:
        return int(send(client, "/jobs/add", scorers=scorers, **where)["job"]["number"])

    def test_a_job_scores_the_runs_that_fit_beside_their_scores(
        self, client: TestClient, store: Store, workers: NoWorkers
    ) -> None:
        number = self.begin(client, "checks.no_tool_errors\nchecks.includes=ferry", experiment="nightly-1")
        assert drawn(client, f"/job?number={number}").text.count("running")
        [(job, word)] = workers.started
        before = store.scores.count().count
        work(store, job, word, threading.Event())
        done = store.jobs.get(number)
        assert (done.status, done.problem) == ("finished", None)
        assert (done.total, done.progress.done, done.progress.scored) == (ITEMS - 1, ITEMS - 1, 2 * (ITEMS - 1))
        assert store.scores.count().count == before + 2 * (ITEMS - 1)
        assert store.experiments.get("nightly-1").results == ITEMS
        assert store.check() == []
        assert "check-includes" in drawn(client, "/experiment?key=nightly-1").text

    def test_the_scores_are_those_of_the_library(self, client: TestClient, store: Store, workers: NoWorkers) -> None:
        from referee import checks

        self.begin(client, "checks.includes=nine", experiment="nightly-2", item="item-003")
        work(store, *workers.started[0], threading.Event())
        [row] = store.scores.page(ScoreFilter(scorer="check-includes", item="item-003")).rows
        stored = store.scores.get(row.number)
        assert stored.score.score == checks.includes("nine").run_sync(stored.run).score

    def test_cancel_and_resume_go_on_after_what_is_done(
        self, client: TestClient, store: Store, workers: NoWorkers, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("referee.studio.worker.BATCH", 10)
        number = self.begin(client, experiment="nightly-1")
        job, word = workers.started.pop()
        batches = []
        save = store.save

        def cancelling(records: Any, **rest: Any) -> Any:
            batches.append(len(list(records)))
            if len(batches) == 3:
                send(client, "/jobs/cancel", number=number)
            return save(records, **rest)

        monkeypatch.setattr(store, "save", cancelling)
        work(store, job, word, threading.Event())
        cancelled = store.jobs.get(number)
        assert (cancelled.status, cancelled.progress.done) == ("cancelled", 30)
        send(client, "/jobs/resume", number=number)
        work(store, *workers.started.pop(), threading.Event())
        assert store.jobs.get(number).status == "finished"
        assert sum(batches) == ITEMS - 1
        assert client.post("/jobs/resume", json={"number": number}).status_code == 400

    def test_a_job_whose_worker_is_gone_is_interrupted_and_resumed(
        self, client: TestClient, store: Store, workers: NoWorkers, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        number = self.begin(client, experiment="nightly-1")
        gone = threading.Event()
        gone.set()
        work(store, *workers.started.pop(), gone)
        assert store.jobs.get(number).status == "interrupted"
        send(client, "/jobs/resume", number=number)
        assert client.post("/jobs/resume", json={"number": number}).status_code == 400
        monkeypatch.setattr("referee.storage.jobs.SILENCE_SECONDS", -1.0)  # as if it had been killed long ago
        assert "interrupted" in drawn(client, f"/job?number={number}").text
        send(client, "/jobs/resume", number=number)
        assert len(workers.started) == 2

    def test_two_workers_never_have_one_job(self, store: Store) -> None:
        number = store.jobs.add(JobPlan(where=RunFilter(), scorers=["checks.no_tool_errors"]), total=1)
        first = store.jobs.take(number)
        with pytest.raises(Exception, match="is running"):
            store.jobs.take(number)
        assert store.jobs.beat(number, first)
        assert not store.jobs.beat(number, "somebody else")
        store.jobs.end(number, "somebody else", "finished")
        assert store.jobs.get(number).status == "running"

    def test_a_scorer_that_fails_to_load_fails_the_job_with_its_words(self, store: Store, workers: NoWorkers) -> None:
        number = store.jobs.add(JobPlan(where=RunFilter(), scorers=["checks.no_such"]), total=1)
        work(store, number, store.jobs.take(number), threading.Event())
        job = store.jobs.get(number)
        assert job.status == "failed"
        assert "no scorer 'checks.no_such'" in (job.problem or "")

    @pytest.mark.parametrize(
        "scorers",
        [
            "os:system",
            "subprocess:check_output={}",
            'checks.all_of=["os:system"]',
            'checks.any_of=[{"os:system": {}}]',
            'checks.not_="os:system"',
            'checks.all_of={"scorers": [{"checks.not_": {"scorer": "os:system"}}]}',
            'checks.all_of=[{"checks.any_of": ["os:system"]}]',
        ],
    )
    def test_no_code_is_run_from_a_page(self, client: TestClient, workers: NoWorkers, scorers: str) -> None:
        answer = client.post("/jobs/add", json={"scorers": scorers})
        assert answer.status_code == 400
        assert "your own" in answer.json()["problem"]
        assert workers.started == []

    @pytest.mark.parametrize(
        ("fields", "words"),
        [
            ({"scorers": "checks.no_tool_error"}, "did you mean"),
            ({"scorers": "checks.includes"}, "missing"),
            ({"scorers": " "}, "1 to 50"),
            ({"scorers": 'answer_relevancy={"model": "openai/gpt-5"}'}, "once for the whole job"),
            ({"scorers": "checks.no_tool_errors", "item": "none"}, "no run fits"),
            ({"scorers": "checks.no_tool_errors", "max_cost": -1}, "from 0"),
            ({}, "give scorers="),
        ],
    )
    def test_mistakes(self, client: TestClient, fields: dict[str, Any], words: str) -> None:
        answer = client.post("/jobs/add", json=fields)
        assert answer.status_code == 400, answer.text
        assert words in answer.json()["problem"]

    def test_chosen_runs_lead_to_the_form_of_a_job(self, client: TestClient, store: Store) -> None:
        numbers = [row.number for row in store.runs.page(limit=2).rows]
        page = drawn(client, address("/new-job", {"number": numbers}))
        assert "2 runs fit" in page.text
        assert [given["value"] for _, given in page.elements if given.get("name") == "number"] == list(
            map(str, numbers)
        )


class TestWhoMaySend:
    def fields(self, store: Store) -> dict[str, Any]:
        return {"value": 1, "author": "mallory", "score": judged(store)}

    @pytest.mark.parametrize("origin", [None, "null", "http://evil.example", "http://localhost:1"])
    def test_a_form_of_another_page_is_refused(self, client: TestClient, store: Store, origin: str | None) -> None:
        found = forms(client.get(f"/score?number={judged(store)}").text)["/labels/add"]
        headers = {} if origin is None else {"origin": origin}
        answer = client.post("/labels/add", data={**found, **self.fields(store)}, headers=headers)
        assert answer.status_code == 403
        assert store.labels.latest(author="mallory") == []

    def test_a_form_without_its_seal_is_refused(self, client: TestClient, store: Store) -> None:
        client.get("/")
        assert client.post("/labels/add", data=self.fields(store), headers=ORIGIN).status_code == 403
        assert (
            client.post("/labels/add", data={**self.fields(store), "seal": "0" * 64}, headers=ORIGIN).status_code == 403
        )

    def test_a_form_of_another_browser_is_refused(self, client: TestClient, store: Store) -> None:
        found = forms(client.get(f"/score?number={judged(store)}").text)["/labels/add"]
        client.cookies.clear()
        client.get("/")
        answer = client.post("/labels/add", data={**found, **self.fields(store)}, headers=ORIGIN)
        assert answer.status_code == 403

    @pytest.mark.parametrize("kind", ["text/plain", "multipart/form-data; boundary=x", "application/xml", ""])
    def test_other_kinds_of_bodies_are_refused(self, client: TestClient, store: Store, kind: str) -> None:
        body = json.dumps(self.fields(store))
        answer = client.post("/labels/add", content=body, headers={**ORIGIN, "content-type": kind})
        assert answer.status_code == 415
        assert client.post("/labels/add", content=body, headers={"content-type": kind}).status_code == 403

    @pytest.mark.parametrize("headers", [{"origin": "http://evil.example"}, {"sec-fetch-site": "cross-site"}])
    def test_json_of_another_page_is_refused(self, client: TestClient, store: Store, headers: dict[str, str]) -> None:
        assert client.post("/labels/add", json=self.fields(store), headers=headers).status_code == 403

    def test_a_rebound_name_is_refused(self, client: TestClient, store: Store) -> None:
        headers = {"host": "evil.example", "origin": "http://evil.example"}
        assert client.post("/labels/add", json=self.fields(store), headers=headers).status_code == 421

    def test_what_is_too_long_is_refused(self, client: TestClient) -> None:
        answer = client.post("/datasets/put", json={"name": "ferries", "item": "x" * 1_100_000})
        assert answer.status_code == 413

    @pytest.mark.parametrize("body", [b"", b"[]", b"{", b"null", b"\xff", b'{"a":' * 5000])
    def test_a_body_that_is_no_object_is_refused(self, client: TestClient, body: bytes) -> None:
        headers = {"content-type": "application/json"}
        assert client.post("/labels/add", content=body, headers=headers).status_code == 400

    @pytest.mark.parametrize(
        "back", ["//evil.example/", "https://evil.example/", "/\\evil.example", "javascript:alert(1)", "/a\r\nb: c"]
    )
    def test_no_form_leads_elsewhere(self, client: TestClient, store: Store, back: str) -> None:
        page = f"/score?number={judged(store)}"
        answer = submit(client, page, "/labels/add", value="1", author="eve", back=back)
        assert answer.status_code == 303
        assert answer.headers["location"].startswith("/run?")

    @pytest.mark.parametrize("path", PATHS)
    def test_a_studio_that_only_shows_takes_nothing(self, store: Store, path: str) -> None:
        client = client_of(store, read_only=True)
        assert client.post(path, json={}).status_code == 405
        for page in (
            f"/score?number={judged(store)}",
            "/labels?scorer=relevancy&author=eve",
            "/dataset?name=ferries",
            "/job?number=1",
        ):
            assert "post" not in Drawn(client.get(page).text).attributes("method")

    @pytest.mark.parametrize("path", PATHS)
    def test_nothing_is_changed_by_a_link(self, client: TestClient, path: str) -> None:
        assert client.get(path).status_code == 405

    def test_the_token_is_asked_for(self, store: Store) -> None:
        guarded = client_of(store, token="a-token-of-many-characters")
        assert guarded.post("/labels/add", json=self.fields(store)).status_code == 401
        headers = {"authorization": "Bearer a-token-of-many-characters"}
        assert guarded.post("/labels/add", json=self.fields(store), headers=headers).status_code == 200

    def test_the_description_is_of_what_can_be_sent(self, store: Store) -> None:
        described = client_of(store).get("/openapi.json").json()["paths"]
        assert set(PATHS) <= described.keys()
        assert not set(PATHS) & client_of(store, read_only=True).get("/openapi.json").json()["paths"].keys()


def test_the_application_makes_its_own_workers(store: Store) -> None:
    assert create_app(store) is not None
