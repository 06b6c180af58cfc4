"""The Studio in a real browser: every screen, by mouse and by keyboard, light and dark, and with hostile content.

Needs Chromium (Debian's package `chromium`) and the dependency group `browser`. Screenshots are kept in the folder that
`STUDIO_SCREENSHOTS` names, else in pytest's temporary folder.
"""

from __future__ import annotations

import os
import re
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit
from urllib.request import urlopen

import pytest
from click.testing import CliRunner

from referee import Message, Run, Score, Text
from referee.cli import main
from referee.storage.filters import ScoreFilter
from referee.storage.scored_runs import ScoredRun
from referee.storage.store import Store
from referee.studio import figures
from referee.studio.export import Export
from studio_pages import screens
from studio_server import Served
from studio_store import HOSTILE, hostile, ordinary

pytestmark = pytest.mark.system

CHROMIUM = "/usr/bin/chromium"
_FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-background-networking --disable-component-update --disable-sync "
    "--no-first-run"
)
#: Scores in live traffic, so many that ten a page make more than 9,000 pages.
MANY = 92_000


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with ordinary(tmp_path_factory.mktemp("studio") / "scores.db") as made:
        runs = (
            ScoredRun(run=Run(id=f"many-{place}"), scores=[Score(f"many-{place}", "tone", 0.5)])
            for place in range(MANY)
        )
        made.save(runs, experiment="live")
        yield made


@pytest.fixture(scope="module")
def served(store: Store) -> Iterator[Served]:
    made = Served(Path(store.database.shown))
    yield made
    made.close()


@pytest.fixture(scope="module")
def hostile_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with hostile(tmp_path_factory.mktemp("studio") / "hostile.db") as made:
        yield made


@pytest.fixture(scope="module")
def served_hostile(hostile_store: Store) -> Iterator[Served]:
    made = Served(Path(hostile_store.database.shown))
    yield made
    made.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="needs the dependency group `browser`")
    if not Path(CHROMIUM).exists():
        pytest.skip(f"needs Chromium at {CHROMIUM}")
    with playwright.sync_playwright() as running:
        opened = running.chromium.launch(executable_path=CHROMIUM, args=_FLAGS.split())
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def screenshots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = os.environ.get("STUDIO_SCREENSHOTS")
    made = Path(folder) if folder else tmp_path_factory.mktemp("screenshots")
    made.mkdir(parents=True, exist_ok=True)
    return made


class Watched:
    """A page, with everything that must not happen on it."""

    def __init__(self, browser: Any, base: str, **options: Any) -> None:
        self.base = base
        self.context = browser.new_context(viewport={"width": 1400, "height": 860}, **options)
        self.page = self.context.new_page()
        self.wrong: list[str] = []
        self.page.on("console", lambda message: self.wrong.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.wrong.append(f"error: {error}"))
        self.page.on("dialog", lambda dialog: (self.wrong.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        self.page.on("request", self._check_request)

    def _check_request(self, request: Any) -> None:
        if urlsplit(request.url).netloc != urlsplit(self.base).netloc:
            self.wrong.append(f"request to {request.url}")

    def open(self, link: str) -> Any:
        answer = self.page.goto(self.base + link)
        assert answer.status == 200, link
        return self.page

    def close(self) -> None:
        self.context.close()
        assert self.wrong == []

    def __enter__(self) -> Watched:
        return self

    def __exit__(self, kind: Any, *rest: object) -> None:
        if kind is None:
            self.close()
        else:
            self.context.close()


@pytest.mark.parametrize(("content", "scheme"), [("ordinary", "light"), ("ordinary", "dark"), ("hostile", "light")])
def test_every_screen_is_accessible_and_quiet(
    content: str,
    scheme: str,
    browser: Any,
    served: Served,
    served_hostile: Served,
    store: Store,
    hostile_store: Store,
    screenshots: Path,
) -> None:
    axe = pytest.importorskip("axe_playwright_python.base", reason="needs the dependency group `browser`")
    server, shown = (served, store) if content == "ordinary" else (served_hostile, hostile_store)
    findings = {}
    with Watched(browser, server.base, color_scheme=scheme) as watched:
        for name, link in screens(shown).items():
            page = watched.open(link)
            page.screenshot(path=screenshots / f"{content}-{name}-{scheme}.png")
            page.evaluate(axe.AXE_SCRIPT)
            found = page.evaluate("axe.run()")["violations"]
            for finding in found:
                findings[name, finding["id"]] = [node["html"][:200] for node in finding["nodes"]][:3]
    assert findings == {}


def test_hostile_content_runs_nothing(browser: Any, served_hostile: Served, hostile_store: Store) -> None:
    with Watched(browser, served_hostile.base) as watched:
        for row in hostile_store.scores.page(limit=100).rows:
            page = watched.open(f"/score?number={row.number}")
            for folded in page.locator("details").all():
                folded.evaluate("node => node.open = true")
            assert page.locator("main img, main iframe, main script, main svg:not([class])").count() == 0
        assert "<script>alert(1)</script>" in page.inner_text("main")
        assert HOSTILE[:8] in page.inner_text("main")


def test_filters_and_the_back_button(browser: Any, served: Served) -> None:
    with Watched(browser, served.base) as watched:
        page = watched.open("/scores")
        page.get_by_role("link", name="relevancy").first.click()
        page.wait_for_url("**scorer=relevancy**")
        page.get_by_label("failed", exact=True).check()
        page.get_by_role("button", name="Filter").click()
        page.wait_for_url("**outcome=failed**")
        assert "item=" not in page.url
        assert page.locator("tr[data-row] .o-failed").count() == page.locator("tr[data-row]").count()
        page.go_back()
        assert "outcome" not in page.url
        page.go_back()
        assert page.url.endswith("/scores")


def test_a_deep_link_to_a_score_on_page_9000(browser: Any, served: Served, store: Store) -> None:
    number = store.scores.page(ScoreFilter(run=f"many-{MANY - 90_000}"), limit=1).rows[0].number
    with Watched(browser, served.base) as watched:
        page = watched.open(f"/scores?experiment=live&limit=10&score={number}")
        assert page.locator("tr.selected").get_attribute("id") == f"s{number}"
        assert page.locator("tr[data-row]").count() == 10
        live = store.scores.count(ScoreFilter(experiment="live")).count
        assert f"10 of {live:,} scores" in page.inner_text("main")
        page.get_by_role("link", name="next →").click()
        assert page.locator("tr[data-row]").count() == 10
        page.go_back()
        page.get_by_role("link", name="Close").click()
        assert page.locator("aside").count() == 0


def test_the_keyboard(browser: Any, served: Served) -> None:
    with Watched(browser, served.base) as watched:
        page = watched.open("/experiment?key=nightly-2&sort=relevancy")
        items = page.locator("tr[data-row] [data-open]").all_inner_texts()
        page.keyboard.press("j")
        page.keyboard.press("j")
        assert focused(page) == items[1]
        page.keyboard.press("k")
        assert focused(page) == items[0]
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        page.wait_for_selector("aside.panel")
        assert page.locator("tr.selected th").inner_text() == items[1]
        page.keyboard.press("j")
        assert focused(page) == items[2]
        page.keyboard.press("Escape")
        page.wait_for_selector("aside.panel", state="detached")
        page.keyboard.press("?")
        assert page.locator("dialog").is_visible()
        page.keyboard.press("Escape")
        assert not page.locator("dialog").is_visible()
        page.keyboard.press("/")
        page.keyboard.type("item-00")
        page.keyboard.press("Enter")
        page.wait_for_url("**item=item-00**")
        assert parse_qs(urlsplit(page.url).query)["sort"] == ["relevancy"]


def focused(page: Any) -> str:
    return str(page.evaluate("document.activeElement.innerText"))


def test_comparing(browser: Any, served: Served) -> None:
    with Watched(browser, served.base) as watched:
        page = watched.open("/compare")
        page.get_by_label("before").select_option("nightly-1")
        page.get_by_label("after").select_option("nightly-2")
        page.get_by_role("button", name="Compare").click()
        page.get_by_role("link", name="check-tool-calls").click()
        page.get_by_role("link", name="worse", exact=True).click()
        page.wait_for_url("**change=worse**")
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        page.wait_for_selector("aside.panel")
        assert page.locator("aside del").count() > 0
        assert page.locator("aside ins").count() > 0
        assert page.locator("aside .sides section").count() >= 2


def test_rows_are_one_line(browser: Any, served: Served) -> None:
    with Watched(browser, served.base) as watched:
        page = watched.open("/experiment?key=nightly-2")
        heights = page.locator("tr[data-row]").evaluate_all(
            "rows => rows.map(row => row.getBoundingClientRect().height)"
        )
        assert max(heights) <= 30


def test_dark_is_dark(browser: Any, served: Served) -> None:
    for scheme, is_dark in (("light", False), ("dark", True)):
        with Watched(browser, served.base, color_scheme=scheme) as watched:
            page = watched.open("/")
            colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
            assert (sum(map(int, colour.strip("rgb()").split(","))) < 200) is is_dark


def test_every_screen_works_without_script(browser: Any, served: Served, store: Store) -> None:
    with Watched(browser, served.base, java_script_enabled=False) as watched:
        for link in screens(store).values():
            assert watched.open(link).locator("h1").inner_text()
        page = watched.open("/experiment?key=nightly-2")
        page.locator("tr[data-row] [data-open]").first.click()
        assert page.locator("aside.panel").is_visible()
        page.get_by_role("link", name="Close").click()
        assert page.locator("aside.panel").count() == 0
        page.get_by_label("item begins with").fill("item-00")
        page.get_by_role("button", name="Show").click()
        assert page.locator("tr[data-row]").count() == 10


def test_the_token_opens_the_studio(browser: Any, store: Store) -> None:
    token = "a-token-of-many-characters"
    server = Served(Path(store.database.shown), "--host", "0.0.0.0", REFEREE_STUDIO_TOKEN=token)
    try:
        base = server.base.replace("0.0.0.0", "127.0.0.1")
        with Watched(browser, base) as watched:
            page = watched.open("/")
            assert page.url.endswith("/login")
            page.evaluate(pytest.importorskip("axe_playwright_python.base").AXE_SCRIPT)
            assert page.evaluate("axe.run()")["violations"] == []
            page.get_by_label("token").fill(token)
            page.get_by_role("button", name="Open the Studio").click()
            page.wait_for_url(f"{base}/")
            assert page.locator("h1").inner_text() == "Overview"
    finally:
        server.close()


#: The runs of a job, and how many of them are done at least before it is cancelled.
JOB_RUNS, JOB_DONE = 5_000, 500
JOB_SCORERS = ("checks.no_tool_errors", "checks.includes=nine", "completeness", "completeness", "completeness")


def test_labelling_by_keyboard_alone(browser: Any, served: Served, store: Store) -> None:
    with Watched(browser, served.base) as watched:
        page = watched.open("/labels")
        page.keyboard.press("/")
        assert page.evaluate("document.activeElement.name") == "scorer"
        page.keyboard.type("relevancy")
        page.keyboard.press("Tab")
        page.keyboard.type("kim")
        page.keyboard.press("Enter")
        for place in range(20):
            page.wait_for_selector("[data-key='1']")
            with page.expect_navigation():
                page.keyboard.press("1" if place % 3 else "0")
        shown = page.locator("#h-next").inner_text()
        page.keyboard.press("s")
        page.wait_for_url("**skip=1**")
        assert page.locator("#h-next").inner_text() != shown
        assert len(store.labels.latest(author="kim")) == 20
        page = watched.open("/labels?scorer=relevancy&author=kim&cut=0.5")
        found = store.labels.agreement("relevancy", cuts=[0.5])
        words = " ".join(page.inner_text("main").split())
        assert f"labelled scores {found.pairs}" in words
        assert f"Cohen's kappa {figures.number(found.kappa.value)}" in words


def test_a_job_of_many_runs_from_the_page(browser: Any, tmp_path: Path) -> None:
    """Begun, watched, cancelled and resumed by clicks; the pages stay quick; a Studio that was killed leaves it resumable."""
    path = tmp_path / "jobs.db"
    with Store(path) as made:
        said = [Message("user", [Text("Ferry?")])], [Message("assistant", [Text("At nine.")])]
        runs = (Run(id=f"run-{place}", input=said[0], output=said[1]) for place in range(JOB_RUNS))
        made.save(ScoredRun(run=run, scores=[]) for run in runs)
        with Served(path) as server, Watched(browser, server.base) as watched:
            page = watched.open("/runs")
            page.get_by_role("link", name=f"Score all {JOB_RUNS:,} runs").click()
            page.get_by_label("scorers").fill("\n".join(JOB_SCORERS))
            page.get_by_role("button", name="Start the job").click()
            page.wait_for_url("**/job?number=1")
            _wait_for(lambda: made.jobs.get(1).progress.done >= JOB_DONE)
            page.wait_for_selector(f"progress:not([value='0'])[max='{JOB_RUNS}']")
            took = [_milliseconds(f"{server.base}/runs") for _ in range(10)]
            assert made.jobs.get(1).status == "running"
            assert statistics.median(took) < 1000
            page.get_by_role("button", name="Cancel").click()
            page.wait_for_selector("#progress >> text=cancelled", timeout=60_000)
            assert JOB_DONE <= made.jobs.get(1).progress.done < JOB_RUNS
            page.get_by_role("button", name="Resume").click()
            page.wait_for_selector("#progress >> text=running", timeout=60_000)
            page.goto("about:blank")
            server.kill()
        _wait_for(lambda: made.jobs.get(1).status == "interrupted")
        done = made.jobs.get(1).progress.done
        assert JOB_DONE <= done < JOB_RUNS
        with Served(path) as server, Watched(browser, server.base) as watched:
            page = watched.open("/job?number=1")
            page.get_by_role("button", name="Resume").click()
            page.wait_for_selector("#progress >> text=finished", timeout=240_000)
            assert f"{JOB_RUNS:,} of {JOB_RUNS:,} runs" in page.inner_text("#progress")
        assert made.scores.count().count == len(JOB_SCORERS) * JOB_RUNS
        assert made.check() == []


def _milliseconds(link: str) -> float:
    started = time.perf_counter()
    with urlopen(link, timeout=30) as answer:
        answer.read()
    return (time.perf_counter() - started) * 1000


def _wait_for(condition: Any) -> None:
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.mark.parametrize("options", [("--experiment", "nightly-2"), ("--compare", "nightly-1", "nightly-2")])
def test_the_export_opens_from_the_disk(options: tuple[str, ...], browser: Any, store: Store, tmp_path: Path) -> None:
    folder = tmp_path / "report"
    answer = CliRunner().invoke(main, ["studio", store.database.shown, "--export", str(folder), *options])
    assert answer.exit_code == 0, answer.output
    with Watched(browser, "file://") as watched:
        page = watched.page
        page.goto(f"file://{folder}/index.html")
        links = set(page.locator("a[href]").evaluate_all("links => links.map(link => link.href.split('#')[0])"))
        assert len(links) > 50
        assert all((folder / link.rpartition("/")[2]).is_file() for link in links)
        page.locator("tbody th a[href], tbody td.id a[href^='item-']").first.click()
        assert "ferry" in page.inner_text("main")
        assert page.evaluate("getComputedStyle(document.querySelector('pre')).whiteSpace") == "pre-wrap"


def test_the_export_of_hostile_content_is_harmless(browser: Any, hostile_store: Store, tmp_path: Path) -> None:
    keys = [row.key for row in hostile_store.experiments.latest(kind="experiment")]
    Export(hostile_store, tmp_path / "one").experiment(keys[0])
    Export(hostile_store, tmp_path / "two").comparison(keys[1], keys[0])
    with Watched(browser, "file://") as watched:
        for file in sorted(tmp_path.glob("*/*.html")):
            watched.page.goto(f"file://{file}")
            assert watched.page.locator("img, iframe, script, form, svg:not([class])").count() == 0
            assert not re.search("[\x00-\x08\u202a-\u202e]", file.read_text(encoding="utf-8"))
