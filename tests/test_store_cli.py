"""The commands about stores: what they print, as words and as JSON, and how they exit."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result

from referee import checks, create_scorer
from referee.cli import COMMANDS, main
from referee.experiments import run_experiment_sync
from referee.storage import Store

GROUPS = ("datasets", "experiments", "scores", "labels", "db")


def referee(*words: str | Path | int, store: str | Path | None = None, input: str | None = None) -> Result:
    given = [str(word) for word in words] + ([] if store is None else ["--store", str(store)])
    return CliRunner().invoke(main, given, input=input)


def said(*words: str | Path | int, store: str | Path | None = None) -> str:
    done = referee(*words, store=store)
    assert done.exit_code == 0, done.output
    return done.output


def answer(*words: str | Path | int, store: str | Path | None = None) -> Any:
    return json.loads(said(*words, "--json", store=store))


@pytest.fixture
def db(tmp_path: Path) -> Path:
    """A store with a data set in two versions and two experiments on it."""
    path = tmp_path / "scores.db"
    judge = create_scorer(id="judge").generate_score(lambda run: "sunny" in run.output_text)
    with Store(path) as store:
        store.datasets.create("weather", "About the weather")
        store.datasets.put(
            "weather", [{"id": f"i{n}", "input": f"Weather {n}?", "tags": ["x"]} for n in range(12)], note="first"
        )
        store.datasets.put("weather", [{"id": "i0", "input": "Snow?", "ground_truth": "No."}])
        for key, word in (("before", "sunny"), ("after", "rainy")):
            run_experiment_sync(
                store,
                "weather",
                target=lambda question, word=word: f"It is {word}. {question}",
                gates=[checks.includes("sunny")],
                scorers=[judge],
                id=key,
            )
    return path


def test_data_sets(db: Path, tmp_path: Path) -> None:
    assert "weather" in said("datasets", "list", store=db)
    [row] = answer("datasets", "list", store=db)
    assert (row["name"], row["version"], row["items"]) == ("weather", 2, 12)
    shown = said("datasets", "show", "weather", "--limit", "3", store=db)
    assert "Snow?" in shown
    assert "3 of 12 items of version 2" in shown
    after = re.search(r"next: --after (\d+)", shown)
    assert after is not None
    rest = answer("datasets", "show", "weather", "--after", after[1], store=db)["items"]
    assert rest[0]["id"] == "i3"
    assert "first" in said("datasets", "history", "weather", store=db)
    assert said("datasets", "diff", "weather@1", "weather", store=db) == "~ i0: input, ground_truth, tags\n"
    assert answer("datasets", "pin", "weather@1", "release", store=db)["pins"] == {"release": 1}
    file = tmp_path / "items.jsonl"
    exported = answer("datasets", "export", "weather@release", file, store=db)
    assert (exported["items"], len(file.read_text().splitlines())) == (12, 12)
    imported = answer("datasets", "import", "copy", file, store=db)
    assert imported == {"name": "copy", "version": 1, "changed": True, "items": 12}
    assert said("datasets", "import", "copy", file, store=db) == "copy is at version 1 with 12 items, as before\n"
    copied = answer("datasets", "export", "copy", tmp_path / "copy.csv", store=db)
    assert copied["digest"] == exported["digest"]
    assert answer("datasets", "remove", "copy", "i1", "i2", store=db)["version"] == 2
    assert said("datasets", "pin", "weather", "release", "--remove", store=db) == "no pins\n"
    assert said("datasets", "diff", "copy", "copy", store=db) == "nothing changed\n"


def test_items_of_recorded_runs(tmp_path: Path) -> None:
    runs = tmp_path / "runs.jsonl"
    runs.write_text('{"messages": [{"role": "user", "content": "Rain?"}, {"role": "assistant", "content": "No."}]}\n')
    store = tmp_path / "new.db"
    assert answer("datasets", "import", "rain", runs, "--runs", "--keep-answers", store=store)["items"] == 1
    [item] = answer("datasets", "show", "rain", store=store)["items"]
    assert (item["input"], item["ground_truth"]) == ("Rain?", "No.")


def test_a_purge_asks_first(db: Path) -> None:
    refused = referee("datasets", "purge", "weather", "i3", store=db, input="n\n")
    assert refused.exit_code == 1
    with Store(db) as store:
        assert store.datasets.item("weather", "i3")[0].item is not None
    done = answer("datasets", "purge", "weather", "i3", "--yes", store=db)
    assert done["purged"]["contents"] == 1
    assert done["purged"]["runs"] == 2
    assert done["problems"] == []
    assert b"Weather 3?" not in db.read_bytes()


def test_experiments(db: Path) -> None:
    assert [row["key"] for row in answer("experiments", "list", "--dataset", "weather", store=db)] == [
        "after",
        "before",
    ]
    assert "failed" in said("experiments", "list", store=db)
    shown = said("experiments", "show", "after", store=db)
    assert "12 of 12 results" in shown
    assert "baseline: before" in shown
    assert answer("experiments", "show", "after", store=db)["columns"][0]["figures"]["failed"] == 12
    assert "gate check-includes" in said("experiments", "report", "after", store=db)
    assert answer("experiments", "report", "before", store=db)["verdict"] == "passed"
    assert [event["event"] for event in answer("experiments", "events", "before", store=db)][::13] == [
        "started",
        "finished",
    ]
    assert answer("experiments", "baseline", "weather", "before", store=db)["baseline"] == "before"
    assert said("experiments", "baseline", "weather", "--remove", store=db) == "the finished experiment before each\n"
    assert answer("experiments", "delete", "before", "--yes", store=db)["runs"] == 12
    assert [row["key"] for row in answer("experiments", "list", store=db)] == ["after"]


def test_a_report_of_an_experiment_is_written(db: Path, tmp_path: Path) -> None:
    said("experiments", "report", "after", "-o", tmp_path / "report.md", store=db)
    assert "check-includes" in (tmp_path / "report.md").read_text()


def test_experiments_are_compared(db: Path) -> None:
    worse = referee("compare", "before", "after", store=db)
    assert worse.exit_code == 1
    assert "check-includes" in worse.output
    assert referee("compare", "before", "after", "--fail-on-regression", store=db).exit_code == 1
    assert referee("compare", "before", "after", "--no-fail-on-regression", store=db).exit_code == 0
    assert referee("compare", "after", "before", store=db).exit_code == 0
    assert referee("compare", "before", "no such", store=db).exit_code == 2


def test_scores(db: Path) -> None:
    listed = said("scores", "list", "--scorer", "judge", "--order", "lowest", "--limit", "5", store=db)
    assert "5 of 24 scores" in listed
    after = re.search(r"next: --after (\S+)", listed)
    assert after is not None
    page = answer(
        "scores", "list", "--scorer", "judge", "--order", "lowest", "--limit", "5", "--after", after[1], store=db
    )
    assert [row["value"] for row in page["rows"]] == [0.0] * 5
    assert answer("scores", "list", "--outcome", "failed", "--tag", "x", store=db)["total"] == 11
    assert said("scores", "list", "--above", "3", store=db).startswith("No score fits.")
    number = page["rows"][0]["number"]
    assert "answered:\nIt is rainy." in said("scores", "show", number, store=db)
    assert answer("scores", "show", number, store=db)["score"]["scorer_id"] == "judge"
    facets = answer("scores", "facets", "--experiment", "after", store=db)
    assert {facet["value"]: facet["count"] for facet in facets["outcomes"]} == {"failed": 12, "unbounded": 12}
    assert "errors 0" in said("scores", "histogram", "--scorer", "judge", store=db)
    assert answer("scores", "histogram", "--scorer", "judge", store=db)["bins"][0]["count"] == 12
    assert answer("scores", "trend", "judge", store=db)[0]["points"][0]["figures"]["scored"] == 24
    assert "0.5" in said("scores", "trend", "judge", "--since", "2020-01-01", store=db)
    lines = said("scores", "export", "--experiment", "before", store=db).splitlines()
    assert len([json.loads(line) for line in lines]) == 24


def test_labels(db: Path, tmp_path: Path) -> None:
    queue = answer("labels", "queue", "judge", "--author", "ann", "--limit", "30", store=db)
    assert len(queue) == 24
    assert "It is" in said("labels", "queue", "judge", "--author", "ann", store=db)
    first = answer(
        "labels", "add", "1", "--score", queue[0]["number"], "--author", "ann", "--comment", "fine", store=db
    )
    assert (first["value"], first["comment"]) == (1.0, "fine")
    assert "says ben" in said("labels", "add", "0", "--score", queue[0]["number"], "--author", "ben", store=db)
    assert answer("labels", "remove", first["number"], store=db) == {"removed": first["number"]}
    file = tmp_path / "labels.jsonl"
    file.write_text("".join(json.dumps({"score": row["number"], "value": row["value"]}) + "\n" for row in queue))
    assert answer("labels", "import", file, "--author", "ann", store=db) == {"labels": 24}
    assert "ann" in said("labels", "list", "--author", "ann", store=db)
    assert len(answer("labels", "list", store=db)) == 25
    found = answer("labels", "agreement", "judge", "--author", "ann", store=db)
    assert (found["pairs"], found["kappa"]["value"]) == (24, 1.0)
    assert "kappa      1.000" in said("labels", "agreement", "judge", "--author", "ann", "--cut", "0.5", store=db)
    assert answer("labels", "calibrate", "judge", "--author", "ann", store=db)["kappa"] == 1
    assert "is calibrated on 24 labels" in said("labels", "calibrate", "judge", "--author", "ann", store=db)


def test_the_store_itself(db: Path, tmp_path: Path) -> None:
    assert answer("db", "info", store=db)["rows"]["scores"] == 48
    assert "schema" in said("db", "info", store=db)
    assert said("db", "check", store=db) == "everything fits together\n"
    assert answer("db", "check", store=db) == {"problems": []}
    assert answer("db", "prune", "--older-than", "30", "--yes", store=db)["runs"] == 0
    assert "removed 0 experiments" in said("db", "prune", "--before", "2020-01-01", "--yes", store=db)
    assert answer("db", "vacuum", store=db)["problems"] == []


def test_a_suite_is_kept_in_a_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    said("init")
    suite = next(tmp_path.glob("*.yaml"))
    store = tmp_path / "kept.db"
    ran = referee("run", suite.name, store=store)
    assert ran.exit_code in (0, 1), ran.output
    [row] = answer("experiments", "list", store=store)
    assert row["status"] == "finished"
    journal = next((tmp_path / ".referee").glob("*.jsonl"))
    assert answer("db", "import", journal, store=store) == {"experiments": [row["key"]]}
    failed = referee("run", suite.name, store=tmp_path / "no" / "folder.db")
    assert failed.exit_code == 2
    assert "unable to open" in failed.output


def test_which_store_is_meant(db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REFEREE_STORE", str(db))
    assert answer("db", "info")["rows"]["datasets"] == 1
    monkeypatch.delenv("REFEREE_STORE")
    for words in (
        ("datasets", "list"),
        ("experiments", "list"),
        ("scores", "list"),
        ("labels", "list"),
        ("db", "info"),
    ):
        done = referee(*words)
        assert (done.exit_code, "say which store is meant" in done.output) == (2, True)
        done = referee(*words, store=tmp_path / "none.db")
        assert (done.exit_code, "there is no store" in done.output) == (2, True)
    assert not (tmp_path / "none.db").exists()


WRONG: list[tuple[tuple[str, ...], str]] = [
    (("datasets", "show", "wether"), "did you mean 'weather'"),
    (("datasets", "export", "weather", "items.xml"), ".jsonl or .csv"),
    (("datasets", "import", "weather", "no such file.jsonl"), "no such file.jsonl"),
    (("experiments", "show", "nightly"), "there is no experiment 'nightly'"),
    (("scores", "show", "999"), "there is no score 999"),
    (("scores", "list", "--after", "x"), "no position"),
    (("labels", "add", "7", "--score", "1", "--author", "ann"), "the label 7 does not"),
    (("labels", "calibrate", "judge"), "labelled scores say too little"),
    (("db", "prune", "--yes"), "say how old"),
    (("db", "import", "no such file.jsonl"), "No such file"),
]


@pytest.mark.parametrize(("words", "message"), WRONG)
def test_what_goes_wrong_is_one_line(db: Path, words: tuple[str, ...], message: str) -> None:
    done = referee(*words, store=db)
    assert done.exit_code == 2
    assert message in done.output
    assert len(done.output.strip().splitlines()) == 1
    assert "Traceback" not in done.output


@pytest.mark.parametrize("group", GROUPS)
def test_every_command_explains_itself_and_speaks_json(group: str) -> None:
    assert group in COMMANDS
    listed = said(group, "--help")
    commands = re.findall(r"^  ([a-z]+) ", listed.partition("Commands:")[2], re.MULTILINE)
    assert commands
    for command in commands:
        assert "--json" in said(group, command, "--help"), command


def test_json_is_what_the_library_gives(db: Path) -> None:
    with Store(db) as store:
        page = store.scores.page(limit=3)
    assert answer("scores", "list", "--limit", "3", store=db) == json.loads(msgspec.json.encode(page))


def test_hostile_names_do_not_steer_a_terminal(tmp_path: Path) -> None:
    path = tmp_path / "scores.db"
    with Store(path) as store:
        store.datasets.create("odd")
        store.datasets.put("odd", ["Rain?"])
        store.datasets.put("odd", [{"id": "a\x1b[31m", "input": "\x1b[2Jgone\u202e"}])
    for words in (
        ("datasets", "show", "odd"),
        ("datasets", "diff", "odd@1", "odd@2"),
        ("datasets", "remove", "odd", "\x1b]0;"),
    ):
        shown = CliRunner().invoke(main, [*words, "--store", str(path)], color=True)
        assert "\\x1b" in shown.output
        assert "\x1b" not in shown.output
        assert "\u202e" not in shown.output


def test_a_list_of_items_shows_what_was_asked(tmp_path: Path) -> None:
    path = tmp_path / "scores.db"
    talk = [
        {"role": "system", "parts": [{"type": "text", "text": "Be brief."}]},
        {"role": "user", "parts": [{"type": "text", "text": "Weather in Ghent?"}]},
    ]
    with Store(path) as store:
        store.datasets.create("d")
        store.datasets.put("d", [{"id": "a", "input": talk}, {"id": "b", "inputs": ["Hello", "Goodbye"]}])
    shown = said("datasets", "show", "d", store=path)
    assert "Weather in Ghent?" in shown
    assert "Hello / Goodbye" in shown
    assert "role" not in shown
