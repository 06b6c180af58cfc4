"""The workload: seeded runs in the OpenAI chat format, about 5.9 KB each, and what the eleven checks look for.

Use: python -m benchmarks.workload FILE COUNT
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

INCLUDES = "summary"
EXCLUDES = "as an ai model"
PATTERN = r"\b[A-Z]{3}-\d{4}\b"  # an order code such as ABC-1234
REFERENCE = (
    "The order shipped on Tuesday and should reach the customer within three working days; the refund for the damaged "
    "item was approved and the summary of charges is attached to this message ok."
)[:200]
CALLED = "search_docs"
FORBIDDEN = "delete_user"
ORDER = ["search_docs", "get_order"]
STRICT_ORDER = ["search_docs", "get_order", "send_email"]
MAX_CALLS = 4

_WORDS = [
    "order",
    "customer",
    "refund",
    "invoice",
    "shipped",
    "delay",
    "summary",
    "account",
    "ticket",
    "carrier",
    "address",
    "payment",
    "card",
    "item",
    "damaged",
    "replacement",
    "tracking",
    "number",
    "warehouse",
    "agent",
    "policy",
    "window",
    "three",
    "working",
    "days",
    "confirm",
    "email",
    "please",
    "note",
    "the",
    "a",
    "of",
    "to",
    "in",
    "for",
    "with",
    "and",
    "was",
    "were",
    "is",
    "has",
    "been",
    "will",
    "should",
    "could",
    "after",
    "before",
    "during",
    "update",
    "status",
    "review",
    "approve",
    "reject",
    "escalate",
    "manager",
    "region",
    "price",
    "discount",
    "total",
    "tax",
]
_ODD = ["café", "naïve", "Zürich", "garçon", "東京", "über"]
_TOOLS = {
    "search_docs": 6, "get_order": 5, "send_email": 4, "lookup_user": 3,
    "calc_refund": 2, "list_tickets": 2, "update_ticket": 2, "delete_user": 0.4,
}  # fmt: skip


class Workload:
    """Makes the runs; the same seed gives the same runs."""

    def __init__(self, seed: int = 20240607) -> None:
        self.random = random.Random(seed)
        self.sentences = [self._sentence() for _ in range(4000)]

    def _sentence(self) -> str:
        rnd = self.random
        words = rnd.choices(_WORDS, k=rnd.randint(6, 18))
        if rnd.random() < 0.15:
            words.insert(
                rnd.randrange(len(words)), "".join(rnd.choices("ABCDEFGH", k=3)) + f"-{rnd.randrange(10000):04d}"
            )
        if rnd.random() < 0.03:
            words.insert(rnd.randrange(len(words)), rnd.choice(_ODD))
        if rnd.random() < 0.01:
            words.insert(0, "as an AI model")
        if rnd.random() < 0.05:
            words.append('"quoted"\n')
        text = " ".join(words)
        return text[0].upper() + text[1:] + "."

    def _text(self, least: int, most: int) -> str:
        wanted, found, size = self.random.randint(least, most), [], 0
        while size < wanted:
            sentence = self.random.choice(self.sentences)
            found.append(sentence)
            size += len(sentence) + 1
        return " ".join(found)[:wanted]

    def _arguments(self) -> dict[str, Any]:
        rnd = self.random
        return {
            "query": self._text(10, 60),
            "filters": {
                "date": {"from": f"2024-{rnd.randint(1, 12):02d}-01", "to": None},
                "tags": rnd.choices(_WORDS, k=rnd.randint(0, 4)),
                "price": {"min": round(rnd.random() * 50, 2), "max": rnd.randint(50, 900)},
            },
            "limit": rnd.randint(1, 50),
            "strict": rnd.random() < 0.5,
        }

    def _result(self) -> str:
        body = self._text(200, 2000)
        kind = self.random.random()
        if kind < 0.05:
            return json.dumps({"error": {"code": 500, "message": body[:300]}}, ensure_ascii=False)
        if kind < 0.6:
            pieces = [body[start : start + 200] for start in range(0, len(body), 200)]
            return json.dumps({"ok": True, "items": pieces}, ensure_ascii=False)
        return body

    def _plan(self, count: int) -> list[str]:
        if count == 3 and self.random.random() < 0.5:
            return list(STRICT_ORDER)
        return self.random.choices(list(_TOOLS), list(_TOOLS.values()), k=count)

    def _expected(self, made: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """60 % are what was called, 20 % have another argument, 20 % another order or one fewer."""
        kind = self.random.random()
        expected: list[dict[str, Any]] = json.loads(json.dumps(made))
        if expected and kind > 0.8:
            if self.random.random() < 0.5:
                self.random.shuffle(expected)
            else:
                expected.pop()
        elif expected and kind > 0.6:
            expected[-1]["arguments"]["limit"] += 1
        return expected

    def run(self, number: int) -> dict[str, Any]:
        """One run."""
        rnd = self.random
        count = rnd.randint(0, 5)
        messages: list[dict[str, Any]] = [
            {"role": "system", "content": self._text(300, 900)},
            {"role": "user", "content": self._text(80, 400)},
        ]
        made: list[dict[str, Any]] = []
        left = self._plan(count)
        while left:
            size = min(len(left), rnd.choice((1, 1, 1, 2, 3)))
            batch, left = left[:size], left[size:]
            calls = []
            for name in batch:
                arguments = self._arguments()
                function = {"name": name, "arguments": json.dumps(arguments, ensure_ascii=False)}
                calls.append({"id": f"call_{number:06d}_{len(made)}", "type": "function", "function": function})
                made.append({"name": name, "arguments": arguments})
            said = self._text(20, 90) if rnd.random() < 0.3 else None
            messages.append({"role": "assistant", "content": said, "tool_calls": calls})
            messages += [{"role": "tool", "tool_call_id": call["id"], "content": self._result()} for call in calls]
        messages.append({"role": "assistant", "content": self._text(50, 800)})
        return {
            "id": f"run-{number:06d}",
            "model": "demo-1",
            "created": 1717000000 + number,
            "messages": messages,
            "usage": {"prompt_tokens": 900 + number % 700, "completion_tokens": 80 + number % 300},
            "expected": {"tool_calls": self._expected(made)},
        }

    def runs(self, count: int) -> Iterator[dict[str, Any]]:
        """So many runs."""
        return (self.run(number) for number in range(count))


def write(path: Path, count: int) -> Path:
    """Write so many runs as JSON Lines, unless the file is there."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", encoding="utf-8") as file:
            for run in Workload().runs(count):
                file.write(json.dumps(run, ensure_ascii=False, separators=(",", ":")) + "\n")
    return path


if __name__ == "__main__":
    write(Path(sys.argv[1]), int(sys.argv[2]))
