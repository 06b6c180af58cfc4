"""How often a judge is right: 20 obvious pairs for each yes/no scorer, and pairs of answers that people compared.

Without MODEL the small model of the system tests is fetched and started (a gigabyte; minutes to hours on two cores).

    python benchmarks/judge_accuracy.py [--model MODEL] [--base-url URL] [--verdicts logprobs|json] [--whole]
        [--scorers NAME,...] [--comparisons FILE] [--most N] [--cache FILE]

`--whole` lets the judge take the answers apart too; else it only gives the verdicts. `--comparisons` is a file in the
form of LLMBar; `--most` takes that many of its pairs. With `--cache` a run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import sys
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from judge_accuracy import HEADER, compare, load_comparisons, load_pairs, measure, subset
from real_model import served_model
from referee.judge import Judge


def main() -> None:
    options = _options()
    with _judge(options) as judge:
        asyncio.run(_measure_all(options, judge))


async def _measure_all(options: argparse.Namespace, judge: Judge) -> None:
    pairs = load_pairs()
    chosen = options.scorers.split(",") if options.scorers is not None else list(pairs)
    chosen = [name for name in chosen if name]
    print(f"{judge.model}, verdicts={options.verdicts}, {'whole scorers' if options.whole else 'verdicts alone'}")
    print(HEADER)
    for name in chosen:
        began = time.perf_counter()
        found = await measure(pairs[name], judge, verdicts=options.verdicts, whole=options.whole)
        print(f"{found.line} {time.perf_counter() - began:.0f} s", flush=True)
        for pair in found.wrong:
            print(f"  wrong, should be {pair.label}: {pair.answer or ' / '.join(pair.answers)}", flush=True)
    if options.comparisons:
        comparisons = subset(load_comparisons(options.comparisons), options.most)
        print((await compare(comparisons, judge, verdicts=options.verdicts)).lines)


@contextlib.contextmanager
def _judge(options: argparse.Namespace) -> Iterator[Judge]:
    with contextlib.nullcontext(options.base_url) if options.model else served_model() as address:
        yield Judge(
            options.model or "test-model", base_url=address, timeout=600, item_timeout=None, cache=options.cache
        )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model")
    parser.add_argument("--base-url")
    parser.add_argument("--verdicts", choices=("logprobs", "json"), default="logprobs")
    parser.add_argument("--whole", action="store_true")
    parser.add_argument("--scorers", help="names, separated by commas; an empty text for the comparisons alone")
    parser.add_argument("--comparisons", type=Path)
    parser.add_argument("--most", type=int, default=1_000_000)
    parser.add_argument("--cache", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    main()
