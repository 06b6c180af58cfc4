"""Stores as each schema version left them.

`python tests/store_versions.py` writes `tests/store_files/NNNN.db` for every migration that has no file yet: the
database at that migration, with the rows of `ROWS` up to it. A file is never written again: later releases must open
what earlier ones wrote.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, create_engine, text

from referee.storage.database import upgrade

FOLDER = Path(__file__).parent / "store_files"
REVISIONS = ("0001", "0002", "0003", "0004", "0005", "0006")

AT = 1_780_000_000_000
DAY = AT // 86_400_000
_BODY = '{"id":"run-1","input":[{"role":"user","parts":[{"type":"text","text":"Weather?"}]}],"output":[{"role":"assistant","parts":[{"type":"text","text":"Sunny."}]}]}'
_PLAN = '{"kind":"evaluation","id":"nightly","name":"nightly","items":{"item-1":1},"measures":[{"id":"relevancy","version":"v1"}]}'
_ITEM = '{"id":"item-1","input":"Weather?","ground_truth":"Sunny."}'

#: What each migration makes possible to write, as table and row.
ROWS: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "0001": [
        ("experiments", {"id": 1, "key": "nightly", "kind": "experiment", "created_at": AT}),
        ("scorers", {"id": 1, "scorer_id": "relevancy", "version": "v1", "kind": None, "description": None, "spec": None, "low": 0.0, "high": 1.0, "lower_is_better": 0, "created_at": AT}),
        ("runs", {"id": 1, "experiment": 1, "item": "item-1", "repeat": 0, "run_id": "run-1", "digest": "d1", "asked": "Weather?", "answered": "Sunny.", "at": AT}),
        ("run_contents", {"run": 1, "body": _BODY}),
        ("run_tags", {"tag": "short", "run": 1}),
        ("scores", {"id": 1, "run": 1, "turn": -1, "scorer": 1, "experiment": 1, "outcome": 4, "value": 0.5, "at": AT}),
        ("score_details", {"score": 1, "reason": "half of it", "body": None}),
        *(("rollups", {"day": day, "scorer": 1, "experiment": 1, "turn": -1, "bin": 11, "scores": 1, "failed": 0, "passed": 0, "total": 0.5, "squares": 0.25, "tokens": 0, "cost": 0.0}) for day in (-1, DAY)),
    ],
    "0002": [("experiment_events", {"id": 1, "experiment": 1, "at": AT, "event": "started", "details": None})],
    "0003": [
        ("datasets", {"id": 1, "name": "weather", "description": "", "version": 1, "baseline": None, "created_at": AT}),
        ("dataset_versions", {"dataset": 1, "version": 1, "at": AT, "note": "first", "added": 1, "changed": 0, "removed": 0, "items": 1, "digest": "x"}),
        ("dataset_items", {"id": 1, "dataset": 1, "item": "item-1", "position": 1, "since": 1, "until": None, "digest": "y", "body": _ITEM}),
        ("dataset_pins", {"dataset": 1, "name": "release", "version": 1}),
    ],
    "0004": [
        ("labels", {"id": 1, "subject": "d1", "run": 1, "turn": -1, "scorer": "relevancy", "author": "ann", "value": 1.0, "comment": "fine", "at": AT}),
    ],
    "0005": [("journals", {"path": "weather.jsonl"})],
    "0006": [
        ("jobs", {"id": 1, "status": "cancelled", "plan": '{"where":{},"scorers":["checks.no_tool_errors"]}', "worker": None, "beat": AT, "last_run": 1, "total": 1, "done": 1, "scored": 1, "not_scorable": 0, "errors": 0, "problem": None, "created_at": AT, "finished_at": AT}),
        ("live_drops", {"day": DAY, "scorer": "relevancy", "reason": "queue_full", "runs": 3}),
    ],
}  # fmt: skip


def fill(connection: Connection, revision: str) -> None:
    """Bring an empty database to a migration and write the rows that it knows."""
    upgrade(connection, revision)
    for known, rows in ROWS.items():
        if known > revision:
            break
        for table, row in rows:
            marks = ", ".join(f":{name}" for name in row)
            connection.execute(text(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})"), row)
    if revision >= "0002":
        filled = {
            "name": "nightly",
            "status": "finished",
            "verdict": "passed",
            "plan": _PLAN,
            "planned": 1,
            "results": 1,
        }
        changes = ", ".join(f"{name} = :{name}" for name in filled)
        connection.execute(text(f"UPDATE experiments SET {changes}"), filled)


def build(path: Path, revision: str) -> None:
    """Write the SQLite database of a migration."""
    plain = sqlite3.connect(path)
    plain.execute("PRAGMA page_size = 512")
    plain.execute("VACUUM")
    plain.close()
    engine = create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        fill(connection, revision)
    engine.dispose()


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for wanted in REVISIONS:
        file = FOLDER / f"{wanted}.db"
        if not file.exists():
            build(file, wanted)
            print(f"{file.name}: {file.stat().st_size:,} bytes")
