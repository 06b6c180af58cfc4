"""How long `checks.tool_calls` takes on 200 expected calls and 200 calls of one tool.

Run `python benchmarks/tool_calls.py`. Each line is the best of five in processor time (all of it is one thread):
`relation` compares the arguments of all 40,000 pairs, `pairs` finds the optimal pairing, `check` is the whole score with
its diff. The limit holds for relation and pairs together.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable
from typing import Any

from referee import Run, checks
from referee.expectations.alignment import Order, Relation, Slot
from referee.expectations.calls import read_expected_calls
from referee.expectations.comparison import Comparison
from referee.messages import Message, ToolCall

SIZE = 200
SECONDS = 0.05

Case = tuple[list[dict[str, Any]], list[ToolCall]]


def arguments(number: int) -> dict[str, Any]:
    return {"id": number, "city": "Ghent", "options": {"days": [1, 2, 3], "unit": "C"}}


def case(expected: list[int], called: list[int]) -> Case:
    calls = [ToolCall("forecast", arguments(number), state="result") for number in called]
    return [{"name": "forecast", "args": arguments(number)} for number in expected], calls


def cases() -> dict[str, Case]:
    chance = random.Random(7)
    straight = list(range(SIZE))
    return {
        "all equal": case([0] * SIZE, [0] * SIZE),
        "same order": case(straight, straight),
        "reversed": case(straight, straight[::-1]),
        "twenty kinds": case([chance.randrange(20) for _ in straight], [chance.randrange(20) for _ in straight]),
        "none fits": case(straight, [-1] * SIZE),
    }


def seconds(work: Callable[[], Any]) -> float:
    best = float("inf")
    for _ in range(5):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def main() -> int:
    slow = False
    print(f"{'case':14} {'order':12} {'relation':>9} {'pairs':>9} {'check':>9}   (ms)")
    for name, (expected, calls) in cases().items():
        slots = [Slot((call,)) for call in read_expected_calls(expected)]
        run = Run(id="run", output=[Message("assistant", list(calls))])
        relation = Relation(slots, calls, Comparison())
        compared = seconds(lambda: Relation(slots, calls, Comparison()))  # noqa: B023
        orders: tuple[Order, ...] = ("subsequence", "any")
        for order in orders:
            paired = seconds(lambda: relation.pairs(order, "allow"))  # noqa: B023
            checked = seconds(lambda: checks.tool_calls(expected, order=order).run_sync(run))  # noqa: B023
            slow |= compared + paired > SECONDS
            print(f"{name:14} {order:12} {compared * 1e3:9.1f} {paired * 1e3:9.1f} {checked * 1e3:9.1f}")
    print(f"limit {SECONDS * 1e3:g} ms for relation and pairs: {'missed' if slow else 'kept'}")
    return int(slow)


if __name__ == "__main__":
    sys.exit(main())
