"""How often a judge is right: on obvious pairs for each yes/no scorer, and on pairs of answers that people compared."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

import msgspec

from referee import Run, Score, Scorer, scorers
from referee.judge import Judge
from referee.scorers.judging import Reason
from referee.scorers.pairwise import PositionBias, position_bias
from referee.scores import JudgeUsage
from referee.statistics import wilson_interval
from referee.testing import create_agent_test_run, create_test_message

PAIRS = Path(__file__).parent / "judge_pairs.jsonl"
#: From which share of its range on a score says yes.
HALF = 0.5


class Pair(msgspec.Struct, frozen=True):
    """A run that a scorer must obviously give a high score (label 1) or a low one (label 0)."""

    scorer: str
    label: int
    question: str = ""
    answer: str = ""
    questions: list[str] = []
    answers: list[str] = []
    context: list[str] | None = None
    ground_truth: str | None = None
    criterion: str | None = None

    @property
    def run(self) -> Run:
        """The run to score."""
        talk = [
            create_test_message(role=role, content=text)
            for question, answer in zip(self.questions or [self.question], self.answers or [self.answer])
            for role, text in (("user", question), ("assistant", answer))
        ]
        return create_agent_test_run(input_messages=talk[:1], output=talk[1:], ground_truth=self.ground_truth)

    def scorer_with(self, judge: Any, verdicts: str) -> Scorer[Any, Any]:
        """The scorer for this pair."""
        options: dict[str, Any] = {"verdicts": verdicts}
        if self.context is not None:
            options["context"] = self.context
        if self.criterion is not None:
            options["criteria" if self.scorer == "rubric" else "criterion"] = self.criterion
        factory = getattr(scorers, f"create_{self.scorer}_scorer")
        return cast("Scorer[Any, Any]", factory(judge, **options))


class Shortened:
    """A judge that is not asked for reasons of scores and, where the statements are known, not to take texts apart either."""

    def __init__(self, judge: Judge, statement: str | None = None) -> None:
        self.judge = judge
        self.statement = statement
        self.fingerprint = "shortened"

    async def ask(self, prompt: Any, returns: Any) -> Any:
        return (await self.consult(prompt, returns))[0]

    async def consult(self, prompt: Any, returns: Any, *, repeat: int = 0) -> tuple[Any, JudgeUsage]:
        if returns is Reason:
            return Reason(""), JudgeUsage()
        fields = msgspec.structs.fields(returns)
        if self.statement is not None and fields and all(field.type == list[str] for field in fields):
            return returns(**{field.name: [self.statement] for field in fields}), JudgeUsage()
        return await self.judge.consult(prompt, returns, repeat=repeat)


class Accuracy(NamedTuple):
    """How often a judge was right; runs without a score are wrong answers."""

    scorer: str
    right: int
    asked: int
    unscored: int
    wrong: list[Pair]

    @property
    def line(self) -> str:
        """A line of a table: name, right ones, share, 95 % interval."""
        return f"| {self.scorer} | {_share(self.right, self.asked)} | {self.unscored} |"

    @property
    def above_chance(self) -> bool:
        """Whether even the lower end of the interval is better than guessing."""
        return wilson_interval(self.right, self.asked).low > HALF


HEADER = "| scorer | right | accuracy | 95 % interval | no score |\n|---|---|---|---|---|"


def load_pairs() -> dict[str, list[Pair]]:
    """The pairs of each scorer."""
    found: dict[str, list[Pair]] = {}
    for line in PAIRS.read_text(encoding="utf-8").splitlines():
        pair = msgspec.json.decode(line, type=Pair)
        found.setdefault(pair.scorer, []).append(pair)
    return found


async def measure(pairs: Sequence[Pair], judge: Judge, *, verdicts: str, whole: bool) -> Accuracy:
    """Score the pairs and count the right ones.

    Args:
        pairs: Pairs of one scorer.
        judge: The judge.
        verdicts: How verdicts are asked for.
        whole: Whether the judge takes the texts apart too; else the answer (or ground truth) is the one statement.
    """
    wrong, unscored = [], 0
    for pair in pairs:
        statement = None if whole else pair.ground_truth or pair.answer
        score = await pair.scorer_with(Shortened(judge, statement), verdicts).run(pair.run)
        unscored += score.score is None
        if score.score is None or (score.score >= HALF) != bool(pair.label):
            wrong.append(pair)
    return Accuracy(pairs[0].scorer, len(pairs) - len(wrong), len(pairs), unscored, wrong)


class Comparison(NamedTuple):
    """A request, two answers, and which one people prefer (1 or 2)."""

    request: str
    answers: tuple[str, str]
    preferred: int


def load_comparisons(path: Path) -> list[Comparison]:
    """The pairs of a file in the form of LLMBar."""
    found = []
    for entry in json.loads(path.read_text(encoding="utf-8"))["instances"]:
        given = entry["instance"]
        preferred = entry["annotations"]["quality_single_turn"]["majority_human"]
        answers = given["output_a"], given["output_b"]
        found.append(Comparison(given["input"], answers, 1 if preferred == "model_a" else 2))
    return found


class Agreement(NamedTuple):
    """How often a judge agrees with people, and how often it changes its mind with the order."""

    agreed: int
    ties: int
    compared: int
    bias: PositionBias

    @property
    def lines(self) -> str:
        """The figures as a table."""
        decided = self.compared - self.ties
        rows = [
            ("agrees with people, all pairs (a tie is no agreement)", self.agreed, self.compared),
            ("agrees with people, pairs that are no tie", self.agreed, decided),
            ("changed its mind with the order", self.bias.changed, self.bias.compared),
        ]
        table = ["| | pairs | share | 95 % interval |", "|---|---|---|---|"]
        table += [f"| {name} | {_share(part, of)} |" for name, part, of in rows]
        table.append(
            f"| first answer both times / second both times "
            f"| {self.bias.prefers_first} / {self.bias.prefers_second} | | |"
        )
        return "\n".join(table)


def _share(part: int, of: int) -> str:
    """Three cells of a table: the numbers, the share, its interval."""
    if not of:
        return "0 / 0 | |"
    interval = wilson_interval(part, of)
    return f"{part} / {of} | {part / of:.2f} | {interval.low:.2f} to {interval.high:.2f}"


async def compare(comparisons: Sequence[Comparison], judge: Judge, *, verdicts: str) -> Agreement:
    """Let the judge compare the answers in both orders."""
    scores: list[Score] = []
    agreed = 0
    for each in comparisons:
        scorer = scorers.create_pairwise_scorer(judge, each.answers[1], allow_ties=False, verdicts=verdicts)  # type: ignore[arg-type]
        score = await scorer.run(create_agent_test_run(input_messages=each.request, output=each.answers[0]))
        agreed += score.score == (1.0 if each.preferred == 1 else 0.0)
        scores.append(score)
    ties = sum(score.score == HALF for score in scores)
    return Agreement(agreed, ties, sum(score.score is not None for score in scores), position_bias(scores))


def subset(items: Sequence[Any], count: int, seed: int = 7) -> list[Any]:
    """Some of the items, the same for the same seed."""
    return random.Random(seed).sample(list(items), min(count, len(items)))
