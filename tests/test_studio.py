"""The Studio: what its pages show, that hostile content stays content, and who is let in."""

from __future__ import annotations

import csv
import io
import re
import threading
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import text
from starlette.testclient import TestClient

from referee import Run, Score
from referee.cli import main
from referee.storage.filters import ScoreFilter
from referee.storage.scored_runs import ScoredRun
from referee.storage.store import Store
from referee.studio.pages import PATHS, screen
from referee.studio.query import address
from referee.studio.rendering import environment
from referee.studio.server import is_loopback
from referee.studio.word_diff import word_diff
from studio_pages import Drawn, client_of, drawn, screens
from studio_store import ITEMS, LONG, hostile, ordinary

TOKEN = "a-token-of-many-characters"
PAGES = PATHS
#: Every parameter of every page.
PARAMETERS = sorted(
    {parameter.name for path in PATHS for parameter in screen(path).parameters} | {"format", "limit", "path"}
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with ordinary(tmp_path_factory.mktemp("studio") / "scores.db") as made:
        yield made


@pytest.fixture(scope="module")
def hostile_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with hostile(tmp_path_factory.mktemp("studio") / "hostile.db") as made:
        yield made


@pytest.fixture(scope="module")
def client(store: Store) -> TestClient:
    return client_of(store)


def crawl(client: TestClient, most: int) -> Iterator[tuple[str, Any]]:
    """Answers of pages that are reached by links from the first page, from near and far."""
    seen: set[str] = set()
    waiting = ["/"]
    while waiting and len(seen) < most:
        link = waiting.pop(len(seen) * 7919 % len(waiting))
        seen.add(link)
        answer = client.get(link)
        yield link, answer
        if answer.headers["content-type"].startswith("text/html"):
            waiting += [
                other for other in dict.fromkeys(Drawn(answer.text).links) if other and other not in {*seen, *waiting}
            ]


def test_every_link_leads_to_a_page_of_this_server(client: TestClient) -> None:
    for link, answer in crawl(client, 40):
        assert answer.status_code == 200, (link, answer.text[:500])
        assert link.startswith("/"), link


@pytest.mark.parametrize("path", PAGES)
def test_every_page_is_in_the_documentation(path: str) -> None:
    documentation = (Path(__file__).parents[1] / "docs" / "studio.md").read_text(encoding="utf-8")
    assert f"`{path}`" in documentation


def test_every_parameter_of_the_filters_is_in_the_documentation() -> None:
    documentation = (Path(__file__).parents[1] / "docs" / "studio.md").read_text(encoding="utf-8")
    for name in ScoreFilter.__struct_fields__:
        assert f"`{name.removesuffix('s') if name == 'outcomes' else name}`" in documentation, name


class TestOverview:
    def test_it_says_what_got_worse_against_the_experiment_before(self, client: TestClient) -> None:
        page = drawn(client, "/")
        assert "check-tool-calls" in page.text
        assert "the intervals do not overlap" in page.text
        assert address("/experiment", {"key": "nightly-2"}) in page.links

    def test_its_twin_says_the_same(self, client: TestClient) -> None:
        data = client.get("/?format=json").json()
        assert [row["key"] for row in data["experiments"]] == ["live", "nightly-2", "nightly-1"]
        worst = data["worse"][0]
        assert worst["experiment"] == "nightly-2"
        assert worst["baseline"] == "nightly-1"
        assert worst["difference"] < 0

    def test_older_experiments_are_on_the_next_page(self, client: TestClient) -> None:
        first = client.get("/?limit=2&format=json").json()
        assert [row["key"] for row in client.get(first["next_page"]).json()["experiments"]] == ["nightly-1"]


class TestExperiment:
    def test_rows_are_items_and_columns_scorers(self, client: TestClient) -> None:
        page = drawn(client, "/experiment?key=nightly-2&limit=10")
        assert page.rows == 10
        assert f"10 of {ITEMS} results" in page.text
        for words in ("item-000", "relevancy", "tone turn 1", "Baseline: nightly-1"):
            assert words in " ".join(page.text.split())

    @pytest.mark.parametrize(
        ("condition", "outcome", "count"), [("error", "error", 12), ("not_scorable", "not_scorable", 12)]
    )
    def test_errors_and_not_scorable_are_different_filters(
        self, client: TestClient, condition: str, outcome: str, count: int
    ) -> None:
        data = client.get(f"/experiment?key=nightly-2&outcome={condition}&limit=200&format=json").json()
        assert data["grid"]["total"] == count
        assert all(any(cell and cell["outcome"] == outcome for cell in row["cells"]) for row in data["grid"]["rows"])

    def test_a_failed_target_is_shown_with_its_error(self, client: TestClient) -> None:
        page = drawn(client, "/experiment?key=nightly-2&target_failed=true")
        assert page.rows == 1
        assert "the agent is down" in page.text

    def test_the_header_sorts_the_worst_first_and_then_the_best(self, client: TestClient) -> None:
        link = address("/experiment", {"key": "nightly-2", "sort": "relevancy"})
        page = drawn(client, "/experiment?key=nightly-2")
        assert link in page.links
        values = [float(row["relevancy"]) for row in csv_of(client, f"{link}&limit=50")]
        assert values == sorted(values)
        turned = next(
            other for other in drawn(client, link).links if "sort=relevancy" in other and "descending" in other
        )
        values = [float(row["relevancy"]) for row in csv_of(client, turned)]
        assert values == sorted(values, reverse=True)

    def test_pages_follow_each_other_to_the_end(self, client: TestClient) -> None:
        link, items = "/experiment?key=nightly-1&limit=50&sort=relevancy&format=json", []
        while link:
            data = client.get(link).json()
            items += [row["item"] for row in data["grid"]["rows"]]
            link = data["next_page"]
        assert sorted(items) == sorted(set(items))
        assert len(items) == ITEMS

    def test_another_baseline_can_be_chosen(self, client: TestClient) -> None:
        data = client.get("/experiment?key=nightly-1&format=json").json()
        assert data["baseline"] is None
        data = client.get("/experiment?key=nightly-1&baseline=nightly-2&format=json").json()
        assert data["baseline"]["key"] == "nightly-2"


class TestScores:
    def test_a_filter_leaves_the_scores_that_fit(self, client: TestClient, store: Store) -> None:
        data = client.get(
            "/scores?scorer=odd&outcome=error&outcome=not_scorable&experiment=nightly-1&format=json"
        ).json()
        assert data["scores"]["total"] == 24
        assert {row["outcome"] for row in data["scores"]["rows"]} == {"error", "not_scorable"}

    def test_ranges_of_values_and_days(self, client: TestClient) -> None:
        data = client.get("/scores?scorer=relevancy&at_least=0.25&below=0.5&since=2020-01-01&format=json").json()
        assert data["scores"]["total"] > 0
        assert all(0.25 <= row["value"] < 0.5 for row in data["scores"]["rows"])
        assert client.get("/scores?until=2020-01-01&format=json").json()["scores"]["total"] == 0

    def test_bars_and_facets_filter(self, client: TestClient) -> None:
        page = drawn(client, "/scores?scorer=relevancy")
        bars = [link for link in page.links if "at_least" in link or "above" in link]
        assert bars
        totals = [client.get(f"{link}&format=json").json()["scores"]["total"] for link in dict.fromkeys(bars)]
        assert sum(totals) == client.get("/scores?scorer=relevancy&format=json").json()["scores"]["total"]

    def test_different_ranges_have_no_histogram_together(self, client: TestClient) -> None:
        assert "Choose one scorer" in drawn(client, "/scores").text

    @pytest.mark.parametrize("order", ["newest", "oldest", "lowest", "highest"])
    def test_a_link_to_a_score_leads_to_its_page(self, client: TestClient, store: Store, order: str) -> None:
        number = store.scores.page(order="oldest", limit=400).rows[-1].number
        data = client.get(f"/scores?score={number}&order={order}&limit=20&format=json").json()
        assert number in [row["number"] for row in data["scores"]["rows"]]
        page = drawn(client, f"/scores?score={number}&order={order}&limit=20")
        assert page.attributes("aria-current").count("true") == 1

    def test_nothing_is_cut_silently(self, client: TestClient, store: Store) -> None:
        assert f"50 of {store.scores.count().count:,} scores" in drawn(client, "/scores").text

    def test_nothing_that_fits_says_what_to_do(self, client: TestClient) -> None:
        page = drawn(client, "/scores?item=none")
        assert "No score fits this filter" in page.text

    def test_the_list_as_csv(self, client: TestClient) -> None:
        rows = csv_of(client, "/scores?scorer=odd&outcome=error&limit=5")
        assert len(rows) == 5
        assert {row["outcome"] for row in rows} == {"error"}


class TestScore:
    def number(self, store: Store, scorer: str, *outcomes: Any) -> int:
        return store.scores.page(ScoreFilter(scorer=scorer, outcomes=outcomes), limit=1).rows[0].number

    def test_a_judged_score_shows_its_steps_and_their_cost(self, client: TestClient, store: Store) -> None:
        text = drawn(client, f"/score?number={self.number(store, 'relevancy')}").text
        for words in (
            "the answer names the hour",
            "Is the hour named?",
            "judge-1",
            "900 + 60 tokens",
            "$0.0004",
            "700 ms",
        ):
            assert words in text

    def test_tool_calls_are_shown_beside_what_was_expected(self, client: TestClient, store: Store) -> None:
        text = drawn(client, f"/score?number={self.number(store, 'check-tool-calls', 'failed')}").text
        assert "0 of 1 expected calls matched" in text
        assert "missing" in text

    def test_arguments_are_readable(self, client: TestClient, store: Store) -> None:
        passed = store.scores.page(ScoreFilter(scorer="relevancy", at_least=0.41), limit=1).rows[0].number
        text = drawn(client, f"/score?number={passed}").text
        assert '{\n  "day": 3\n}' in text

    def test_an_error_shows_the_judges_reply(self, client: TestClient, store: Store) -> None:
        text = drawn(client, f"/score?number={self.number(store, 'odd', 'error')}").text
        assert "UnreadableReplyError: no JSON" in text
        assert "I think" in text

    def test_it_leads_to_the_same_item_elsewhere_and_to_filters(self, client: TestClient, store: Store) -> None:
        score = store.scores.get(self.number(store, "relevancy"))
        page = drawn(client, f"/score?number={score.row.number}")
        other = store.scores.page(ScoreFilter(experiment="nightly-1", item=score.row.item, scorer="relevancy")).rows[0]
        assert address("/score", {"number": other.number}) in page.links
        assert address("/scores", {"run": score.row.run_id}) in page.links


class TestCompare:
    def test_the_worst_change_comes_first_with_a_paired_test(self, client: TestClient) -> None:
        link = "/compare?first=nightly-1&second=nightly-2&scorer=check-tool-calls"
        text = drawn(client, link).text
        assert "check-tool-calls: worse" in text
        assert "McNemar's exact test" in text
        changes = [row["change"] for row in csv_of(client, f"{link}&limit=200")]
        assert changes[0] == "worse"
        assert changes == sorted(
            changes, key=["worse", "better", "same", "only_first", "only_second", "no_score"].index
        )

    def test_an_item_shows_both_answers_word_by_word(self, client: TestClient) -> None:
        page = drawn(client, "/compare?first=nightly-1&second=nightly-2&scorer=check-tool-calls&change=worse")
        opened = drawn(client, next(link for link in page.links if "first_score" in link))
        tags = [tag for tag, _ in opened.elements]
        assert "del" in tags
        assert "ins" in tags
        assert "The ferry leaves at nine." in opened.text

    def test_parts_of_the_list(self, client: TestClient) -> None:
        link = "/compare?first=nightly-1&second=nightly-2&scorer=relevancy&limit=50&format=json"
        items = []
        while link:
            data = client.get(link).json()
            items += [change["item"] for change in data["comparison"]["changes"]]
            link = data["next_page"]
        assert len(items) == len(set(items)) == ITEMS - 1

    def test_before_a_choice_it_says_what_to_do(self, client: TestClient) -> None:
        assert "Choose two experiments" in drawn(client, "/compare").text


def csv_of(client: TestClient, link: str) -> list[dict[str, str]]:
    answer = client.get(f"{link}&format=csv")
    assert answer.status_code == 200, answer.text
    return list(csv.DictReader(io.StringIO(answer.text)))


def test_an_empty_store_says_what_to_do(tmp_path: Path) -> None:
    with Store(tmp_path / "empty.db") as store:
        client = client_of(store)
        assert "referee score" in drawn(client, "/").text
        assert "referee score" in drawn(client, "/scores").text
        assert "fewer than two experiments" in drawn(client, "/compare").text


class TestMistakes:
    @pytest.mark.parametrize(
        ("link", "status", "words"),
        [
            ("/scores?scorr=tone", 400, "no parameter 'scorr'"),
            ("/scores?at_least=high", 400, "can't be read"),
            ("/scores?at_least=nan", 400, "expected a number"),
            ("/scores?since=yesterday", 400, "can't be read"),
            ("/scores?outcome=bad", 400, "bad"),
            ("/scores?order=best", 400, "no order"),
            ("/scores?after=x", 400, "no position"),
            ("/scores?limit=100000", 400, "limit"),
            ("/scores?format=xml", 400, "no format"),
            ("/scores?experiment=nightly-9", 404, "did you mean"),
            ("/scores?score=999999", 404, "no score"),
            ("/scores?item=a&item=b", 400, "give it once"),
            (f"/scores?item={'x' * 3000}", 400, "at most"),
            ("/experiment", 400, "give key="),
            ("/experiment?key=nightly-1&sort=none", 400, "no scorer"),
            ("/experiment?key=nightly-1&after=1", 400, "no position"),
            ("/compare?first=nightly-1&second=nightly-2&change=bad", 400, "no change"),
            ("/score", 400, "give number="),
            ("/raw?score=1&path=run.__class__", 400, "nothing at this path"),
            ("/raw?score=1&path=../../etc/passwd", 400, "nothing at this path"),
            ("/live?until=yesterday", 400, "expected a day"),
            ("/live?days=0", 400, "whole number from 1"),
            ("/scorer?scorer=tone&kind=bad", 400, "no kind"),
            ("/scorer?scorer=none", 404, "no scorer"),
            ("/dataset?name=ferries@99", 404, "the versions 1 to 3"),
            ("/item?dataset=ferries&item=none", 404, "never had"),
            ("/run?number=999999", 404, "no run"),
            ("/job?number=99", 404, "no job"),
            ("/runs?after=x", 400, "no position"),
            ("/runs?number=99999999999999999999", 400, "not so large"),
            ("/nothing", 404, "no such page"),
            ("/static/../app.py", 404, "no such page"),
            ("/static/%2e%2e/app.py", 404, "no such page"),
        ],
    )
    def test_a_wrong_address_gets_one_clear_line(self, client: TestClient, link: str, status: int, words: str) -> None:
        answer = client.get(link)
        assert answer.status_code == status, answer.text[-500:]
        assert words in Drawn(answer.text).text

    def test_the_twin_of_a_mistake(self, client: TestClient) -> None:
        answer = client.get("/scores?format=json&order=best")
        assert answer.status_code == 400
        assert "no order" in answer.json()["problem"]

    @settings(max_examples=150, deadline=None)
    @given(
        path=st.sampled_from([*PAGES, "/raw"]),
        given=st.lists(
            st.tuples(
                st.sampled_from(PARAMETERS),
                st.sampled_from(
                    [
                        "nightly-1",
                        "nightly-2",
                        "relevancy",
                        "tone",
                        "ferries",
                        "ferries@2",
                        "item-001",
                        "error",
                        "live",
                        "1",
                        "-1",
                        "0.5",
                        "1e999",
                        "2026-11-01",
                        "0001-01-01",
                        "9999-12-31",
                        "99999999999999999999",
                        "9223372036854775808~1",
                        '["item-001",0]',
                        '["item-001",99999999999999999999]',
                        "[[],{}]",
                        "[null,null]",
                        "v0.5~1",
                        "t1~1",
                        "t99999999999999999999~1",
                    ]
                )
                | st.text(max_size=20),
            ),
            max_size=5,
        ),
    )
    def test_no_address_breaks_a_page(self, client: TestClient, path: str, given: list[tuple[str, str]]) -> None:
        query = urlencode([(name, value.encode("utf-8", "replace")) for name, value in given])
        assert client.get(f"{path}?{query}").status_code in (200, 400, 404)


def test_every_page_and_its_twins_can_be_asked_for(client: TestClient, store: Store) -> None:
    """With no more than what they need."""
    needed = {
        "key": "nightly-2",
        "number": "1",
        "first": "nightly-1",
        "second": "nightly-2",
        "item": "item-003",
        "scorer": "relevancy",
        "name": "ferries",
        "dataset": "ferries",
    }
    for path in PAGES:
        given = {one.name: needed[one.name] for one in screen(path).parameters if one.is_needed}
        link = address(path, {**given, "cut": "0.5"} if path == "/scorer" else given)
        page = drawn(client, link)
        assert [tag for tag, _ in page.elements].count("h1") == 1, link
        data = client.get(address(path, {**given, "format": "json"})).json()
        assert set(screen(path).answer) <= data.keys(), link
        assert client.get(address(path, {**given, "format": "csv"})).headers["content-type"].startswith("text/csv"), (
            link
        )


def test_pages_stay_whole_while_others_write(tmp_path: Path) -> None:
    with Store(tmp_path / "scores.db") as store, Store(tmp_path / "scores.db") as writing:
        stopped = threading.Event()

        def write() -> None:
            for place in range(10_000):
                if stopped.is_set():
                    return
                name = f"run-{place}"
                writing.save([ScoredRun(run=Run(id=name), scores=[Score(name, "tone", 0.5)])], experiment="live")
                writing.label(1, author="ann", run=place + 1, name="tone")

        thread = threading.Thread(target=write)
        thread.start()
        try:
            client = client_of(store)
            for _ in range(5):
                for link in ("/", "/scores", "/runs", "/scorers", "/live", "/labels", "/scores?tag=a&order=lowest"):
                    data = client.get(f"{link}{'&' if '?' in link else '?'}format=json")
                    assert data.status_code == 200, data.text
                found = client.get("/scores?format=json&limit=1000").json()
                assert found["facets"]["outcomes"][0]["count"] == found["scores"]["total"]
        finally:
            stopped.set()
            thread.join()


class TestHostileContent:
    def test_it_is_shown_and_harmless_on_every_page(self, hostile_store: Store) -> None:
        shown = 0
        client = client_of(hostile_store)
        every = ((link, client.get(link)) for link in screens(hostile_store).values())
        for link, answer in chain(every, crawl(client, 25)):
            assert answer.status_code == 200, (link, answer.text[:500])
            if not answer.headers["content-type"].startswith("text/html"):
                continue
            assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", answer.text), link
            page = Drawn(answer.text)
            assert [given.get("src") for tag, given in page.elements if tag == "script"] == [
                page.attributes("src")[0]
            ], link
            for tag, attributes in page.elements:
                assert tag not in ("img", "iframe", "object", "embed", "base", "style", "foreignobject"), link
                assert not any(name.startswith("on") or name == "style" for name in attributes), (link, tag, attributes)
            for target in page.links:
                assert target == "" or (target.startswith("/") and not target.startswith("//")), (link, target)
            assert "49" not in re.findall(r"& (\d+)", page.text)  # templates in content are not run
            shown += "<script>alert(1)</script>" in page.text
        assert shown > 40

    def test_long_texts_are_shown_as_head_size_and_link(self, hostile_store: Store) -> None:
        client = client_of(hostile_store)
        number = hostile_store.scores.page(ScoreFilter(item="long"), limit=1).rows[0].number
        answer = client.get(f"/score?number={number}")
        assert len(answer.text) < 150_000
        page = Drawn(answer.text)
        assert f"The first 2,000 of {len(LONG):,} characters" in page.text
        raw = [link for link in page.links if link.startswith("/raw")]
        whole = client.get(next(link for link in raw if "score.reason" in link))
        assert whole.text == LONG
        assert whole.headers["content-type"] == "text/plain; charset=utf-8"
        assert "sandbox" in whole.headers["content-security-policy"]
        assert all(client.get(link).status_code == 200 for link in raw)

    def test_cells_of_csv_are_no_formulas(self, tmp_path: Path) -> None:
        with Store(tmp_path / "s.db") as store:
            store.save(
                [ScoredRun(run=Run(id="r"), item="=1+1", scores=[Score("r", "s", -1.0, "+cmd", range=(-1.0, 1.0))])]
            )
            [row] = csv_of(client_of(store), "/scores?limit=5")
        assert row["item"] == "'=1+1"
        assert row["reason"] == "'+cmd"
        assert row["value"] == "-1.0"

    def test_twins_carry_the_content_as_it_is(self, hostile_store: Store) -> None:
        data = client_of(hostile_store).get("/scores?scorer=odd&format=json").json()
        assert data["scores"]["rows"][0]["item"].startswith("<script>alert(1)</script>")


class TestSecurity:
    @pytest.mark.parametrize(
        "host", ["evil.example", "localhost.evil.example", "", "127.0.0.1.evil.example", "a@localhost"]
    )
    def test_another_name_is_not_answered(self, client: TestClient, host: str) -> None:
        assert client.get("/", headers={"host": host}).status_code == 421

    @pytest.mark.parametrize("host", ["localhost", "localhost:8484", "127.0.0.1:8484", "[::1]:8484", "LOCALHOST"])
    def test_this_machine_is_answered(self, client: TestClient, host: str) -> None:
        assert client.get("/", headers={"host": host}).status_code == 200

    @pytest.mark.parametrize(
        "link", ["/", "/nothing", "/scores?order=best", "/static/studio.js", "/raw?score=1&path=run"]
    )
    def test_every_answer_forbids_what_does_not_come_from_here(self, client: TestClient, link: str) -> None:
        headers = client.get(link).headers
        assert headers["content-security-policy"].startswith("default-src 'none'")
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"

    @pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
    def test_nothing_can_be_sent(self, client: TestClient, method: str) -> None:
        assert client.request(method, "/scores", headers={"origin": "http://localhost"}).status_code == 405

    def test_without_the_token_nothing_is_shown(self, store: Store) -> None:
        guarded = client_of(store, token=TOKEN)
        for path in (*PAGES, "/raw", "/nothing"):
            assert guarded.get(path).status_code == 401
            assert guarded.get(path, headers={"authorization": "Bearer wrong"}).status_code == 401
            assert guarded.get(path, headers={"cookie": f"referee_token={TOKEN}"}).status_code == 401
        assert guarded.get("/", headers={"accept": "text/html"}).headers["location"] == "/login"
        assert guarded.get("/", headers={"authorization": f"Bearer {TOKEN}"}).status_code == 200

    def test_the_form_opens_the_studio(self, store: Store) -> None:
        guarded = client_of(store, token=TOKEN)
        answer = self.send(guarded, token=TOKEN)
        assert answer.status_code == 303
        assert "httponly" in answer.headers["set-cookie"].lower()
        assert "samesite=strict" in answer.headers["set-cookie"].lower()
        assert TOKEN not in answer.headers["set-cookie"]
        assert guarded.get("/").status_code == 200

    def test_a_wrong_token_is_refused(self, store: Store) -> None:
        guarded = client_of(store, token=TOKEN)
        assert self.send(guarded, token="wrong").status_code == 403
        assert guarded.get("/").status_code == 401

    @pytest.mark.parametrize("origin", [None, "null", "http://evil.example", "http://localhost:1"])
    def test_a_form_of_another_page_is_refused(self, store: Store, origin: str | None) -> None:
        assert self.send(client_of(store, token=TOKEN), token=TOKEN, origin=origin).status_code == 403

    def test_a_form_that_was_given_to_another_browser_is_refused(self, store: Store) -> None:
        guarded = client_of(store, token=TOKEN)
        assert self.send(guarded, token=TOKEN, seal="0" * 64).status_code == 403
        seal = self.seal(guarded)
        guarded.cookies.clear()
        assert self.send(guarded, token=TOKEN, seal=seal, with_form=False).status_code == 403

    def test_a_long_form_is_refused(self, store: Store) -> None:
        assert self.send(client_of(store, token=TOKEN), token="x" * 100_000).status_code == 403

    def seal(self, client: TestClient) -> str:
        page = Drawn(client.get("/login").text)
        return next(given["value"] or "" for _, given in page.elements if given.get("name") == "seal")

    def send(
        self,
        client: TestClient,
        *,
        token: str,
        origin: str | None = "http://localhost",
        seal: str = "",
        with_form: bool = True,
    ) -> Any:
        given = self.seal(client) if with_form else ""
        headers = {} if origin is None else {"origin": origin}
        return client.post("/login", data={"token": token, "seal": seal or given}, headers=headers)


@given(st.text(max_size=200), st.text(max_size=200))
def test_a_word_diff_holds_both_texts(first: str, second: str) -> None:
    segments = word_diff(first, second)
    assert segments is not None
    assert "".join(segment.text for segment in segments if segment.kind != "added") == first
    assert "".join(segment.text for segment in segments if segment.kind != "removed") == second


def test_texts_that_are_too_long_are_not_compared() -> None:
    assert word_diff("a " * 100_000, "b") is None


def test_templates_escape_and_refuse_unknown_names() -> None:
    template = environment().from_string("{{ given }}")
    assert template.render(given="<b>\x1b\u202e") == "&lt;b&gt;\\x1b\\u202e"
    with pytest.raises(Exception, match="undefined"):
        template.render()


class TestCommand:
    def test_a_store_that_is_not_there(self, tmp_path: Path) -> None:
        answer = CliRunner().invoke(main, ["studio", str(tmp_path / "none.db")])
        assert answer.exit_code == 2
        assert "there is no store" in answer.stderr
        assert not (tmp_path / "none.db").exists()

    def test_a_store_of_a_later_release_gets_one_clear_line(self, tmp_path: Path) -> None:
        with Store(tmp_path / "s.db") as store, store.database.write() as connection:
            connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
        answer = CliRunner().invoke(main, ["studio", str(tmp_path / "s.db")])
        assert answer.exit_code == 2
        assert "written by a newer release" in answer.stderr

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            (["--export", "{}/out"], "--experiment KEY or --compare"),
            (["--experiment", "nightly-1"], "--experiment KEY or --compare"),
            (["--export", "{}/out", "--experiment", "a", "--compare", "a", "b"], "--experiment KEY or --compare"),
            (["--export", "{}", "--experiment", "nightly-1"], "is not empty"),
            (["--export", "{}/out", "--experiment", "none"], "no experiment"),
        ],
    )
    def test_mistakes_of_an_export(self, options: list[str], words: str, tmp_path: Path) -> None:
        Store(tmp_path / "s.db").close()
        given = [option.replace("{}", str(tmp_path)) for option in options]
        answer = CliRunner().invoke(main, ["studio", str(tmp_path / "s.db"), *given])
        assert answer.exit_code == 2
        assert words in answer.stderr

    @pytest.mark.parametrize(
        ("host", "only_here"),
        [("127.0.0.1", True), ("::1", True), ("0.0.0.0", False), ("192.0.2.1", False), ("a.b", False)],
    )
    def test_only_this_machine_needs_no_token(self, host: str, only_here: bool) -> None:
        assert is_loopback(host) is only_here

    def test_a_short_token_is_refused(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        Store(tmp_path / "s.db").close()
        monkeypatch.setenv("REFEREE_STUDIO_TOKEN", "short")
        answer = CliRunner().invoke(main, ["studio", str(tmp_path / "s.db"), "--host", "0.0.0.0", "--port", "0"])
        assert answer.exit_code == 2
        assert "16 characters" in answer.stderr

    def test_links_are_addresses(self) -> None:
        assert urlsplit(address("/scores", {"item": "//evil.example"})).netloc == ""
