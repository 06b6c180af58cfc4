"""Scoring on a Ray cluster of two machines gives what one process gives, also when one of them is lost."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from fault_endpoint import fault_endpoint
from referee.bulk import work
from referee.cli import main

pytestmark = [
    pytest.mark.system,
    # Ray's own: sockets and processes that it leaves to the end of the program, and what it calls deprecated.
    pytest.mark.filterwarnings("ignore"),
]

HERE = Path(__file__).parent
WAIT = 60.0
SCORERS = ("-s", "bulk_scorers:fraction", "-s", "bulk_scorers:often_fails", "-s", "checks.includes=sunny")


def lines(count: int, ids: int = 10**9) -> bytes:
    records = []
    for number in range(count):
        talk = [
            {"role": "user", "content": "Weather?"},
            {"role": "assistant", "content": "It is sunny. " * (1 + number % 11)},
        ]
        records.append(json.dumps({"id": f"run-{number % ids}", "messages": talk}).encode() + b"\n")
    return b"".join(records)


class TwoMachines:
    """A cluster of a head and another machine, both on this one."""

    def __init__(self) -> None:
        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
        import ray
        from ray.cluster_utils import Cluster

        self.ray = ray
        self.cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
        self.reached = Path(os.environ["BULK_REACHED"])
        ray.init(address=self.cluster.address, log_to_driver=False)
        self.reached.with_suffix(".head").write_text(ray.get_runtime_context().get_node_id())
        self.other = self.cluster.add_node(num_cpus=1)
        self.cluster.wait_for_nodes()

    def lose_other(self) -> None:
        """Lose the other machine once it scores."""
        end = time.monotonic() + WAIT
        while not self.reached.exists() and time.monotonic() < end:
            threading.Event().wait(0.05)
        self.cluster.remove_node(self.other, allow_graceful=False)

    def close(self) -> None:
        self.ray.shutdown()
        self.cluster.shutdown()


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwoMachines]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(HERE))
        patch.setenv("PYTHONPATH", str(HERE))
        patch.setenv("BULK_REACHED", str(tmp_path_factory.mktemp("reached") / "reached"))
        found = TwoMachines()
        yield found
        found.close()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(work, "shard_bytes", lambda inputs, workers: 5000)
    return tmp_path


def score(*words: str) -> Result:
    return CliRunner().invoke(main, ["score", *words, "--json"])


def test_a_cluster_gives_what_one_process_gives(machines: TwoMachines, folder: Path) -> None:
    files = {"plain.jsonl": lines(150), "repeated.jsonl": lines(60, 7), "bad.jsonl": b"{\n" + lines(5) + b"\n[]\n"}
    for name, content in files.items():
        (folder / name).write_bytes(content)
    several = [word for suffix in ("jsonl", "csv", "parquet") for word in ("-o", f"NAME.{suffix}")]
    words = [str(folder / name) for name in files] + [*SCORERS]
    one = score(*words, *(word.replace("NAME", "one") for word in several))
    two = score(*words, *(word.replace("NAME", "two") for word in several), "--engine", "ray")
    assert (two.exit_code, two.stdout, two.stderr) == (one.exit_code, one.stdout, one.stderr)
    for suffix in ("jsonl", "csv", "parquet"):
        assert Path(f"two.{suffix}").read_bytes() == Path(f"one.{suffix}").read_bytes()
    three = score(*words, "-o", "three.jsonl", "--engine", "ray", "--order", "any")
    assert three.stdout == one.stdout
    assert sorted(Path("three.jsonl").read_bytes().splitlines()) == sorted(Path("one.jsonl").read_bytes().splitlines())


def test_the_endpoint_never_sees_more_requests_than_the_limit_of_the_cluster(
    machines: TwoMachines, folder: Path
) -> None:
    (folder / "runs.jsonl").write_bytes(lines(100))
    lock = threading.Lock()
    under_way: list[int] = [0]
    most: list[int] = [0]

    def answer(body: dict[str, Any]) -> str:
        with lock:
            under_way[0] += 1
            most[0] = max(most[0], under_way[0])
        threading.Event().wait(0.05)  # what a model takes to answer
        with lock:
            under_way[0] -= 1
        return '{"value": 0.5}'

    with fault_endpoint(answer) as endpoint:
        words = ("-s", "bulk_scorers:judged", "--model", "ok", "--base-url", endpoint.base_url, "--concurrency", "10")
        done = score(str(folder / "runs.jsonl"), *words, "--engine", "ray", "-o", "scores.jsonl")
        assert done.exit_code == 0, done.output
        assert len(endpoint.requests) == 100
        assert 5 < most[0] <= 10
        few = score(str(folder / "runs.jsonl"), *words, "--engine", "ray", "--max-calls", "30")
        assert len(endpoint.requests) == 130
        assert json.loads(few.stdout)["scorers"]["judged"]["scored"] == 30
    summary = json.loads(done.stdout)["scorers"]["judged"]
    assert (summary["scored"], summary["mean"]) == (100, 0.5)


def test_what_a_cluster_can_t_do_is_said_before_anything_runs(machines: TwoMachines, folder: Path) -> None:
    (folder / "runs.jsonl").write_bytes(lines(3))
    (folder / "own.yaml").write_text("- answer_relevancy: {model: openai/x}\n", encoding="utf-8")
    for expected, words in {
        "standard input": ["-", "-s", "checks.no_tool_errors"],
        "--cache is a file": ["runs.jsonl", "-s", "answer_relevancy", "--model", "x/y", "--cache", "replies.db"],
        "a judge of its own": ["runs.jsonl", "--scorers", "own.yaml"],
    }.items():
        done = score(*words, "--engine", "ray")
        assert done.exit_code == 2, done.output
        assert expected in done.stderr


def test_score_batch_is_called_by_ray_data_with_specifications(machines: TwoMachines, folder: Path) -> None:
    import pyarrow as pa

    from referee.bulk import score_batch

    table = pa.table({"run": [line.decode() for line in lines(40).splitlines()]})
    specs = [{"checks.includes": {"expected": "sunny"}}, "checks.no_tool_errors"]
    data = machines.ray.data.from_arrow(table).repartition(4)
    scored = data.map_batches(partial(score_batch, scorers=specs), batch_format="pyarrow", batch_size=7)
    found = sorted((row["run_id"], row["scorer_id"], row["score"]) for row in scored.take_all())
    alone = score_batch(table, specs).to_pylist()
    assert found == sorted((row["run_id"], row["scorer_id"], row["score"]) for row in alone)


def test_a_machine_that_is_lost_in_the_middle_costs_nothing_but_time(machines: TwoMachines, folder: Path) -> None:
    """The last test: the cluster has one machine after it."""
    (folder / "runs.jsonl").write_bytes(lines(200))
    words = (str(folder / "runs.jsonl"), *SCORERS)
    assert score(*words, "-o", "one.jsonl").exit_code == 3
    losing = threading.Thread(target=machines.lose_other)
    losing.start()
    two = score(*words, "-s", "bulk_scorers:held_off_head", "-o", "two.jsonl", "--engine", "ray")
    losing.join()
    assert machines.reached.exists()
    assert two.exit_code == 3, two.output
    kept = [line for line in Path("two.jsonl").read_bytes().splitlines() if b'"held_off_head"' not in line]
    assert kept == Path("one.jsonl").read_bytes().splitlines()
