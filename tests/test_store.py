"""Saving into a store and reading back: what is saved is there once, whole, and for every later reader."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from referee import Message, OptionError, Run, Score, Text, ToolCall, Usage, checks, create_scorer, to_run
from referee.bounds import Bounds
from referee.errors import StoreError
from referee.scores import JudgeUsage, StepError
from referee.storage import ScoredRun, Store
from referee.storage.filters import ScoreFilter
from stores import postgres_server, run, score, scored, store, store_url

__all__ = ["postgres_server", "store", "store_url"]

FULL = Score(
    "run-1",
    "relevancy",
    0.5,
    "half of it answers",
    scorer_version="v7",
    preprocess_step_result={"statements": ["It is sunny.", "I like tea."]},
    analyze_step_result={"results": [{"result": "yes", "reason": "weather"}, {"result": "no", "reason": "tea"}]},
    preprocess_prompt="Split this.",
    analyze_prompt="Judge these.",
    judge={"analyze": JudgeUsage("judge-1", 2, 3, 1, 400, 20, 0.001, 812.5)},
    reason_error=StepError("generate_reason", "JudgeError", "no reply", raw_reply="?"),
    range=(0.0, 2.0),
    lower_is_better=True,
    details={"repeats": [0.4, 0.6]},
)


def rows(store: Store, **where: Any) -> list[Any]:
    return store.scores.page(ScoreFilter(**where), order="oldest").rows


def test_a_score_and_its_run_come_back_whole(store: Store) -> None:
    saved = Run(
        id="run-1",
        input=[Message("user", [Text("Weather?")])],
        output=[Message("assistant", [ToolCall(name="weather", args={"in": "Ghent"}, state="result", result=21.5)])],
        ground_truth={"degrees": 21.5},
        trace_id="t-1",
        thread_id="th-1",
        duration_ms=12.5,
    )
    store.save([ScoredRun(run=saved, scores=[FULL])])
    [row] = rows(store)
    found = store.scores.get(row.number)
    assert found.run == saved
    assert found.score == FULL
    assert (row.item, row.repeat, row.turn, row.run_id) == ("run-1", 0, None, "run-1")
    assert (row.scorer, row.version, row.range, row.lower_is_better) == ("relevancy", "v7", (0.0, 2.0), True)
    assert (row.outcome, row.value, row.reason) == ("unbounded", 0.5, "half of it answers")
    assert (row.experiment, row.kind, row.asked) == ("recorded", "recorded", "Weather?")


def test_errors_and_not_scorable_say_why_in_lists(store: Store) -> None:
    nothing = score("a", "s", None, not_scorable="no tool results")
    failed = score("a", "t", None)
    store.save([ScoredRun(run=run("a"), scores=[nothing, failed])])
    assert [(row.outcome, row.value, row.reason) for row in rows(store)] == [
        ("not_scorable", None, "no tool results"),
        ("error", None, "ValueError: no number"),
    ]
    assert [store.scores.get(row.number).score for row in rows(store)] == [nothing, failed]


def test_saving_the_same_again_changes_nothing(store: Store) -> None:
    records = [scored(f"run-{number}", {"a": 0.5, "b": None}) for number in range(7)]
    first = store.save(records)
    assert (first.added, first.replaced, first.kept) == (14, 0, 0)
    before = rows(store)
    again = store.save(records)
    assert (again.added, again.replaced, again.kept) == (0, 0, 14)
    assert rows(store) == before
    assert store.scores.count().count == 14


def test_one_key_twice_in_one_batch_is_one_score_and_no_error_wins_over_a_score(store: Store) -> None:
    written = store.save([scored("a", {"s": None}), scored("a", {"s": 0.7}), scored("a", {"s": None})])
    assert written.added == 1
    assert [row.value for row in rows(store)] == [0.7]


def test_an_error_gives_way_to_a_later_score_and_a_score_to_nothing(store: Store) -> None:
    store.save([scored("a", {"s": None, "t": 0.2})])
    number = rows(store)[0].number
    written = store.save([scored("a", {"s": 0.9, "t": None}), scored("a", {"t": 0.4})])
    assert (written.added, written.replaced, written.kept) == (0, 1, 1)
    assert [(row.number, row.value) for row in rows(store)] == [(number, 0.9), (number + 1, 0.2)]
    assert store.scores.histogram(ScoreFilter(scorer="s")).errors == 0
    assert store.scores.get(number).score.error is None


def test_replace_puts_the_later_result_in_the_place_of_the_earlier_one(store: Store) -> None:
    store.save([scored("a", {"s": 0.9, "t": 0.2})], experiment="e")
    later = ScoredRun(run=run("b", answered="At ten."), item="a", scores=[score("b", "s", 0.1), score("b", "u", 0.3)])
    written = store.save([later], experiment="e", replace=True)
    assert (written.added, written.replaced) == (1, 1)
    assert [(row.scorer, row.value) for row in rows(store)] == [("s", 0.1), ("u", 0.3)]
    assert store.scores.get(rows(store)[0].number).run.final_text == "At ten."
    assert store.scores.count(ScoreFilter(scorer="t")).count == 0
    assert store.experiments.get("e").results == 1


def test_another_version_of_a_scorer_is_another_score(store: Store) -> None:
    store.save([scored("a", {"s": 0.9}, "v1")])
    assert store.save([scored("a", {"s": 0.8}, "v2")]).added == 1
    assert [(row.version, row.value) for row in rows(store)] == [("v1", 0.9), ("v2", 0.8)]


def test_turns_and_repeats_are_scores_of_their_own(store: Store) -> None:
    turns = ScoredRun(
        run=run("a"),
        item="i",
        repeat=1,
        scores=[score("a", "s", 0.1)],
        turn_scores={0: [score("a", "s", 0.2)], 2: [score("a", "s", 0.3)]},
    )
    store.save([scored("b", {"s": 0.4}, item="i"), turns], experiment="e")
    found = {(row.repeat, row.turn): row.value for row in rows(store)}
    assert found == {(0, None): 0.4, (1, None): 0.1, (1, 0): 0.2, (1, 2): 0.3}


def test_two_recorded_runs_of_one_id_and_other_content_are_two_runs(store: Store) -> None:
    one, other = run("1", answered="At nine."), run("1", answered="At ten.")
    records = [ScoredRun(run=each, scores=[score("1", "s", value)]) for each, value in ((one, 0.1), (other, 0.2))]
    assert store.save(records).added == 2
    assert store.save(list(reversed(records))).kept == 2
    found = {row.item: (row.value, row.answered) for row in rows(store)}
    assert found["1"] == (0.1, "At nine.")
    [suffixed] = found.keys() - {"1"}
    assert suffixed.startswith("1#")
    assert found[suffixed] == (0.2, "At ten.")


def test_a_run_known_by_its_scores_alone_gets_its_content_later(store: Store) -> None:
    store.save([ScoredRun(run=Run(id="a"), scores=[score("a", "s", 0.1)])])
    store.save([ScoredRun(run=run("a"), scores=[score("a", "t", 0.2)])])
    assert [(row.scorer, row.asked) for row in rows(store)] == [
        ("s", "When does the ferry leave?"),
        ("t", "When does the ferry leave?"),
    ]


def test_a_failed_target_gives_way_to_the_run_of_a_retry(store: Store) -> None:
    failed = ScoredRun(run=Run(), item="i", error="target: TimeoutError: 5 s", scores=[score("", "s", None)])
    store.save([failed], experiment="e")
    assert store.experiments.get("e").failed_results == 1
    store.save([scored("r", {"s": 1.0}, item="i")], experiment="e")
    [row] = rows(store)
    assert (row.item, row.run_id, row.value, row.answered) == ("i", "r", 1.0, "At nine.")
    found = store.experiments.get("e")
    assert (found.results, found.failed_results) == (1, 0)


def test_bounds_decide_what_passed_and_a_check_passes_at_one(store: Store) -> None:
    check = checks.includes("nine")
    answered = to_run([{"role": "user", "content": "When?"}, {"role": "assistant", "content": "At nine."}])
    wrong = to_run([{"role": "user", "content": "When?"}, {"role": "assistant", "content": "At ten."}])
    given = {"relevancy": Bounds(min=0.5), "toxicity": Bounds(max=0.2)}
    records = [
        ScoredRun(
            run=each,
            scores=[
                check.run_sync(each),
                score(each.id, "relevancy", value),
                score(each.id, "toxicity", value),
                score(each.id, "free", value),
            ],
            bounds=given,
        )
        for each, value in ((answered, 0.5), (wrong, 0.1))
    ]
    store.save(records, scorers=[check])
    outcomes = {(row.run_id == wrong.id, row.scorer): row.outcome for row in rows(store)}
    assert outcomes == {
        (False, "check-includes"): "passed",
        (True, "check-includes"): "failed",
        (False, "relevancy"): "passed",
        (True, "relevancy"): "failed",
        (False, "toxicity"): "failed",
        (True, "toxicity"): "passed",
        (False, "free"): "unbounded",
        (True, "free"): "unbounded",
    }


def test_a_store_opened_again_knows_what_a_check_is(store_url: str) -> None:
    check = checks.includes("nine")
    with Store(store_url) as first:
        first.save([ScoredRun(run=run("a"), scores=[check.run_sync(run("a"))])], scorers=[check])
    with Store(store_url) as second:
        second.save([ScoredRun(run=run("b", answered="Ten."), scores=[check.run_sync(run("b", answered="Ten."))])])
        assert [row.outcome for row in rows(second)] == ["passed", "failed"]


HOSTILE = {
    "NUL": "a\x00b",
    "surrogate": "half \ud800 of a pair",
    "right to left": "\u202egnp.exe",
    "escape": "\x1b[31mred\x1b[0m",
    "script": "<script>alert(1)</script>'; DROP TABLE scores; --",
    "long": "x" * 200_000,
    "emoji": "🏳️‍🌈 " * 300,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_text_is_kept_everywhere_or_replaced_where_no_database_takes_it(store: Store, text: str) -> None:
    saved = run(text, asked=text, answered=text, thread_id=text, trace_id=text, model=text)
    its = score(text, text, 0.5, text, reason=text, details={text: [text]})
    store.save([ScoredRun(run=saved, scores=[its], item=text, tags=[text])], experiment=text)
    [row] = rows(store)
    readable = text.replace("\ud800", "\ufffd")
    found = store.scores.get(row.number)
    assert found.run.final_text == readable
    assert found.score.details == {readable: [readable]}
    assert (row.reason or "").replace("\ufffd", "") == readable.replace("\x00", "").replace("\ufffd", "")
    assert len(row.item) <= 500
    assert store.scores.count(ScoreFilter(item=row.item, experiment=row.experiment)).count == 1
    assert store.save([ScoredRun(run=saved, scores=[its], item=text, tags=[text])], experiment=text).kept == 1


def test_step_results_that_are_no_json_are_kept_as_text(store: Store) -> None:
    class Odd:
        def __repr__(self) -> str:
            return "<odd>"

    class Broken:
        def __repr__(self) -> str:
            raise RuntimeError("no text")

        def model_dump(self, mode: str) -> None:
            raise RuntimeError("no data")

    deep: Any = []
    for _ in range(10_000):
        deep = [deep]
    values = {"odd": Odd(), "set": {1}, "big": 2**80, "nan": float("nan"), "key": {1: "one"}}
    values |= {"broken": Broken(), "endless": 10**5000}
    store.save(
        [
            ScoredRun(
                run=run("a"),
                scores=[score("a", "s", 1.0, details=values), score("a", "t", 1.0, details={"deep": deep})],
            )
        ]
    )
    plain, too_deep = (store.scores.get(row.number).score.details for row in rows(store))
    assert plain == {"odd": "<odd>", "set": [1], "big": 2**80, "nan": None, "key": {"1": "one"}} | {
        "broken": "<Broken>",
        "endless": "not stored: a whole number of 16,610 bits",
    }
    assert "not stored: nested deeper than 100 levels" in str(too_deep)


def test_registered_scorers_keep_their_description(store: Store) -> None:
    own = create_scorer(id="brief", description="At most five words.").generate_score(lambda run, results: True)
    store.save([ScoredRun(run=run("a"), scores=[own.run_sync(run("a"))])])
    store.save([], scorers=[own, checks.includes("x")])
    store.save([], scorers=[own])
    assert store.scores.count().count == 1


def test_addresses_that_are_no_store(tmp_path: Path) -> None:
    for address in ("", "sqlite://", "mysql://localhost/scores", "http//x", "://"):
        with pytest.raises((OptionError, StoreError)):
            Store(address)
    (tmp_path / "notes.txt").write_text("This is no database, whatever its name says. " * 100)
    with pytest.raises(StoreError, match=r"notes\.txt: the store can't be opened: file is not a database"):
        Store(tmp_path / "notes.txt")
    with pytest.raises(StoreError, match="unable to open"):
        Store(tmp_path / "there is no such folder" / "scores.db")


def test_no_password_in_an_error() -> None:
    with pytest.raises(StoreError) as caught:
        Store("postgresql://user:s3cret@127.0.0.1:1/scores")
    assert "s3cret" not in str(caught.value)


def test_a_key_of_another_kind_is_refused(store: Store) -> None:
    store.save([scored("a", {"s": 1.0})], experiment="nightly")
    with pytest.raises(OptionError, match="of the kind experiment, not live"):
        store.save([scored("a", {"s": 1.0})], experiment="nightly", kind="live")
    assert {row.key: row.kind for row in store.experiments.latest()} == {"nightly": "experiment"}


def test_there_is_no_such_score(store: Store) -> None:
    with pytest.raises(StoreError, match="there is no score 7"):
        store.scores.get(7)
    with pytest.raises(StoreError, match="there is no experiment 'nightly'"):
        rows(store, experiment="nightly")


def test_figures_that_no_column_holds_do_not_stop_a_write(store: Store) -> None:
    """One recorded run with a hostile number must not cost the others of its batch."""
    hostile = [
        Run(id="tokens", usage=Usage(total_tokens=10**30)),
        Run(id="duration", duration_ms=10**400),
        Run(id="nan", duration_ms=float("nan"), cost=float("inf")),
        Run(id="time", started_at="0001-01-01T00:00:00+23:59"),
    ]
    records = [ScoredRun(run=each, scores=[score(each.id, "s", 1.0)]) for each in [*hostile, run("good")]]
    assert store.save(records).added == 5
    assert store.check() == []


@pytest.mark.parametrize("number", [10**30, -(10**30)])
def test_a_number_beyond_the_database_is_one_line(store: Store, number: int) -> None:
    with pytest.raises(StoreError, match=r"too large|out of range"):
        store.label(1, author="ann", score=number)


def test_what_the_driver_refuses_while_rows_go_in_is_one_clear_line_and_nothing_of_it_stays(store: Store) -> None:
    store.save([scored("run-1", {"a": 0.5})])
    with store.database.write() as connection:
        connection.execute(text("ALTER TABLE score_details RENAME TO gone"))
    with pytest.raises(StoreError, match=r"score_details") as caught:
        store.save([scored("run-2", {"a": None})])
    assert "\n" not in str(caught.value)
    with store.database.write() as connection:
        connection.execute(text("ALTER TABLE gone RENAME TO score_details"))
    assert [row.item for row in rows(store)] == ["run-1"]


def test_the_database_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "theirs.db"
    with sqlite3.connect(path) as theirs:
        theirs.execute("CREATE TABLE alembic_version (version_num TEXT)")
        theirs.execute("INSERT INTO alembic_version VALUES ('a1b2c3d4e5f6')")
    theirs.close()
    with pytest.raises(StoreError, match="belongs to something else"):
        Store(path)


def test_another_driver_of_sqlite_is_the_usual_one(tmp_path: Path) -> None:
    with Store(f"sqlite+aiosqlite:///{tmp_path / 'scores.db'}") as store:
        assert store.check() == []
