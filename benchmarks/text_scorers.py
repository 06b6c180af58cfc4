"""How long textual difference and content similarity take on two texts of 200 KB, and what memory they add.

Run `python benchmarks/text_scorers.py`. Each line is one pair of texts in a process of its own, the best of three in
processor time (all of it is one thread). The memory is the highest resident size minus the one just before.
The limit is RapidFuzz over the whole table of two unrelated Latin texts of 200,000 characters, measured in the same
run: it says how fast this machine is. Content similarity is measured with NumPy (the extra `fast`) where it is
installed, and without it.
"""

from __future__ import annotations

import random
import resource
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from unittest import mock

from rapidfuzz.distance import LCSseq

from referee import Run
from referee.scorers import create_content_similarity_scorer, create_textual_difference_scorer
from referee.testing import create_agent_test_run

SIZE = 200_000  # bytes of UTF-8
SECONDS, MEGABYTES = 0.2, 50

ALPHABETS = {
    "Latin": "etaoinshrdlcumwfgypbvkjxqz",
    "Cyrillic": "оеаинтсрвлкмдпуяыьгзбчйхжшюцщэфъ",
    "Devanagari": "".join(map(chr, range(0x0905, 0x0940))),
    "Han": "".join(map(chr, range(0x4E00, 0x4E00 + 2500))),
    "Hangul": "".join(map(chr, range(0xAC00, 0xAC00 + 1200))),
}


def text(script: str, seed: int, size: int = SIZE) -> str:
    """Words of Zipf's frequency made of letters of Zipf's frequency, `size` bytes in all."""
    chance = random.Random(f"{script} {seed}")
    letters = ALPHABETS[script]
    weights = [1 / (rank + 3) for rank in range(len(letters))]
    longest = 3 if script in ("Han", "Hangul") else 9
    words = ["".join(chance.choices(letters, weights, k=chance.randint(1, longest))) for _ in range(4000)]
    drawn = chance.choices(words, [1 / (rank + 3) for rank in range(len(words))], k=size)
    separator = "" if script == "Han" else " "
    return separator.join(drawn).encode()[:size].decode(errors="ignore")


def changed(original: str, share: float) -> str:
    """The text with this share of its characters replaced, removed or doubled, here and there."""
    chance = random.Random(share)
    pieces = []
    for character in original:
        draw = chance.random() / share
        if draw >= 1:
            pieces.append(character)
        elif draw > 1 / 3:
            pieces.append(chance.choice(original) if draw > 2 / 3 else character * 2)
    return "".join(pieces)


def pairs() -> Iterator[tuple[str, str, str]]:
    for script in ALPHABETS:
        left = text(script, 1)
        if script == "Latin":
            yield "Latin, identical", left, "".join(list(left))
            yield "Latin, 0.1 % changed", left, changed(left, 0.001)
        yield f"{script}, 1 % changed", left, changed(left, 0.01)
        if script == "Latin":
            yield "Latin, 5 % changed", left, changed(left, 0.05)
            yield "Latin, second half new", left, left[: len(left) // 2] + text("Latin", 3)[len(left) // 2 :]
        yield f"{script}, half changed", left, changed(left, 0.5)
        yield f"{script}, unrelated", left, text(script, 2)
    yield "Latin and Han", text("Latin", 1), text("Han", 1)


def best(work: Callable[[], object], times: int = 3) -> float:
    found = []
    for _ in range(times):
        started = time.process_time()
        work()
        found.append(time.process_time() - started)
    return min(found)


def resident_kilobytes() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1024


def measured(kind: str, left: str, right: str) -> tuple[float, float, float]:
    """Seconds, megabytes above what the process held before, and the score."""
    create = create_textual_difference_scorer if kind == "difference" else create_content_similarity_scorer
    scorer = create()
    plain = kind == "similarity without NumPy"
    without_numpy = {"referee.dice_numpy": None} if plain else {}
    with mock.patch.dict(sys.modules, without_numpy):
        run = create_agent_test_run(input_messages=left, output=right)
        scorer.run_sync(create_agent_test_run(input_messages="a warm", output="start"))
        before = resident_kilobytes()
        score = scorer.run_sync(run).score
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        fresh = [Run(id=str(number), input=run.input, output=run.output) for number in range(3)]
        seconds = best(lambda: scorer.run_sync(fresh.pop()))
    assert score is not None
    return seconds, (after - before) / 1024, score


def alone(kind: str, left: str, right: str) -> tuple[float, float, float]:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(measured, kind, left, right).result()


def main() -> None:
    latin = text("Latin", 1), text("Latin", 2)
    limit = best(lambda: LCSseq.similarity(*latin))
    cells = len(latin[0]) * len(latin[1])
    print(f"limit: {limit * 1000:,.0f} ms for {cells / 1e9:,.0f} billion cells with RapidFuzz alone")
    print(f"bar: {SECONDS * 1000:.0f} ms and {MEGABYTES} MB\n")
    kept = total = 0
    for kind in ("difference", "similarity", "similarity without NumPy"):
        print(f"{kind:<26}{'characters':>12}{'score':>8}{'ms':>8}{'x limit':>9}{'MB':>6}")
        for name, left, right in pairs():
            seconds, memory, score = alone(kind, left, right)
            holds = seconds <= SECONDS and memory <= MEGABYTES
            kept, total = kept + holds, total + 1
            figures = f"{len(left):>12,}{score:>8.3f}{seconds * 1000:>8.0f}{seconds / limit:>9.2f}{memory:>6.0f}"
            print(f"  {name:<24}{figures}{'' if holds else '   over the bar'}", flush=True)
        print()
    print(f"{kept} of {total} within the bar")


if __name__ == "__main__":
    main()
