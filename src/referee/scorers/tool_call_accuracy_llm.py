"""Tool-call accuracy by a judge: were the tools that were called the right ones for the request?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from referee.errors import OptionError
from referee.judge.forms import one_for_each
from referee.pipeline import Scorer, create_scorer
from referee.prompts import Listing, Prompt
from referee.runs import Run
from referee.scorers.judging import (
    REASON,
    VerdictMode,
    VerdictQuestion,
    ask_reason,
    judged,
    require_mode,
    require_share,
    transcript,
)
from referee.scores import rounded
from referee.steps import Asker, Consultation, Results, asks_judge

_SCALE = """\
appropriate: the right tool for the request at this point, with arguments that fit.
helpful: not the best tool, or arguments that fit only partly, but it brings the agent closer to what was asked.
inappropriate: it does not serve the request, or its arguments are wrong.
"""

JUDGE = f"""\
An agent could call the tools that are listed. Decide for each of its calls how well it served the user's request. Look \
at the arguments too.
{_SCALE}
Then list in missing_tools the names of listed tools that the agent should have called and did not. If it rightly asked \
the user for information that it needed, or needed no tool, nothing is missing.
{{tools}}
{{conversation}}
"""

CALLS = VerdictQuestion(
    f"""\
An agent could call the tools that are listed. Decide how well the call served the user's request. Look at the arguments.
{_SCALE}
{{tools}}
{{conversation}}
{{call}}
""",
    ("appropriate", "helpful", "inappropriate"),
    "call",
)

MISSING = VerdictQuestion(
    """\
Decide whether the agent should have called this tool to serve the user's request, and did not.
yes: without it the request could not be served.
no: it was not needed, or the agent rightly asked the user for information first.
{conversation}
{tool}
""",
    ("yes", "no"),
    "tool",
)


class _Evaluation(msgspec.Struct, frozen=True):
    id: str
    reason: str
    verdict: Literal["appropriate", "helpful", "inappropriate"]


class _Evaluations(msgspec.Struct, frozen=True):
    evaluations: list[_Evaluation]
    missing_tools: list[str]


class CallEvaluation(msgspec.Struct, frozen=True, omit_defaults=True):
    """How well one call served the request.

    Attributes:
        tool_called: The tool's name.
        was_appropriate: Whether the verdict is `appropriate`.
        reasoning: Why.
        verdict: `appropriate`, `helpful` or `inappropriate`.
        confidence: The probability of `appropriate`, with `verdicts="logprobs"`.
    """

    tool_called: str
    was_appropriate: bool
    reasoning: str
    verdict: str
    confidence: float | None = None


class ToolCallEvaluations(msgspec.Struct, frozen=True):
    """One evaluation for each call, in order, and the names of the tools that should have been called too."""

    evaluations: list[CallEvaluation]
    missing_tools: list[str]


def create_tool_call_accuracy_scorer_llm(
    model: Asker | str | None = None,
    available_tools: Sequence[Mapping[str, str]] = (),
    helpful_weight: float = 0.5,
    *,
    verdicts: VerdictMode = "json",
    repeats: int = 1,
    id: str = "llm-tool-call-accuracy-scorer",
) -> Scorer[None, ToolCallEvaluations]:
    """Whether the tools that were called were the right ones for the request. Gives 0 to 1.

    The judge sees the request, the calls with their arguments, and the available tools. Each call counts 1 if it was
    appropriate, `helpful_weight` if it was merely helpful, 0 if it was inappropriate; the score is their mean. A run
    without calls scores 1 if no tool was missing (a right request for clarification too), else 0.

    Args:
        model: A `Judge`, or a model's name; `None` takes the evaluation's, then `REFEREE_MODEL`.
        available_tools: The tools that the agent could call: `{"name": ..., "description": ...}` each.
        helpful_weight: What a merely helpful call counts, 0 to 1.
        verdicts: `json` asks for verdicts with reasons; `logprobs` reads each verdict from token probabilities.
        repeats: How often each run is scored; the score is the median.
        id: Another id than the reference's.

    Raises:
        OptionError: An option is out of its range, or a tool has no name.

    Example:
        >>> from referee.judge import Judge, ScriptedModel
        >>> from referee.testing import create_agent_test_run, create_test_message, create_tool_invocation
        >>> model = ScriptedModel([
        ...     {"evaluations": [{"id": "c1", "reason": "A search finds it too.", "verdict": "helpful"}], "missing_tools": []},
        ...     {"reason": "The weather tool would have been the direct way."},
        ... ])
        >>> call = create_tool_invocation(tool_name="search", args={"query": "Tokyo weather"})
        >>> answer = create_test_message(role="assistant", tool_invocations=[call])
        >>> run = create_agent_test_run(input_messages="Weather in Tokyo?", output=[answer])
        >>> tools = [{"name": "weather", "description": "Current weather"}, {"name": "search", "description": "Search the web"}]
        >>> create_tool_call_accuracy_scorer_llm(Judge(model), available_tools=tools).run_sync(run).score
        0.5
    """
    require_share("helpful_weight", helpful_weight)
    if not isinstance(available_tools, Sequence):
        raise OptionError(f"available_tools must be a list, not {available_tools!r}")
    tools = [_tool(tool) for tool in available_tools]
    shown_tools = "\n".join(f"{tool['name']}: {' '.join(tool['description'].split())}" for tool in tools)
    mode = require_mode(verdicts)
    weights = {"appropriate": 1.0, "helpful": helpful_weight, "inappropriate": 0.0}

    @asks_judge
    async def analyze(run: Run, results: Results[None, None]) -> ToolCallEvaluations:
        if mode == "logprobs":
            return await _by_probability(results.judge, run, tools, shown_tools)
        calls = _call_listing(run)
        prompt = Prompt(JUDGE, tools=shown_tools, conversation=_conversation(run, calls.ids))
        reply = await results.judge.ask(prompt, one_for_each(_Evaluations, evaluations=calls.ids))
        evaluations = [
            CallEvaluation(call.name, given.verdict == "appropriate", given.reason, given.verdict)
            for call, given in zip(run.tool_calls, reply.evaluations)
        ]
        return ToolCallEvaluations(evaluations, reply.missing_tools)

    def generate_score(run: Run, results: Results[None, ToolCallEvaluations]) -> float:
        found = results.analyze_step_result
        if not found.evaluations:
            return 0.0 if found.missing_tools else 1.0
        return rounded(sum(weights[each.verdict] for each in found.evaluations) / len(found.evaluations))

    @asks_judge
    async def generate_reason(run: Run, results: Results[None, ToolCallEvaluations]) -> str:
        found = results.analyze_step_result
        lines = [f"{each.verdict}: {each.tool_called} ({each.reasoning})" for each in found.evaluations]
        lines += [f"missing: {name}" for name in found.missing_tools]
        verdict_text = "\n".join(lines) or "no tool was called, and none was missing"
        return await ask_reason(
            results.judge, "its tool calls", results.score, 1, verdict_text, question=run.input_text
        )

    scorer: Scorer[None, None] = create_scorer(
        id=id, description="The tools that were called were the right ones for the request.", judge=model
    )
    built = scorer.analyze(analyze).generate_score(generate_score).generate_reason(generate_reason)
    options = {"available_tools": tools, "helpful_weight": helpful_weight, "verdicts": verdicts, "repeats": repeats}
    return judged(built, "tool_call_accuracy_llm", options, questions=[JUDGE, CALLS, MISSING, REASON], repeats=repeats)


async def _by_probability(
    judge: Consultation, run: Run, tools: list[dict[str, str]], shown_tools: str
) -> ToolCallEvaluations:
    calls = _call_listing(run)
    conversation = _conversation(run, calls.ids)
    found = await CALLS.ask(judge, calls, mode="logprobs", tools=shown_tools, conversation=conversation)
    evaluations = [
        CallEvaluation(call.name, given.verdict == "appropriate", given.reason, given.verdict, given.confidence)
        for call, given in zip(run.tool_calls, found)
    ]
    uncalled = [tool for tool in tools if tool["name"] not in run.tool_names]
    entries = Listing("t", [f"{tool['name']}: {tool['description']}" for tool in uncalled])
    needed = await MISSING.ask(judge, entries, mode="logprobs", conversation=conversation)
    return ToolCallEvaluations(
        evaluations, [tool["name"] for tool, given in zip(uncalled, needed) if given.verdict == "yes"]
    )


def _call_listing(run: Run) -> Listing:
    return Listing("c", [call.name for call in run.tool_calls])


def _conversation(run: Run, call_ids: Sequence[str]) -> str:
    return f"{transcript((*run.system, *run.history, *run.input))}\n{transcript(run.output, call_ids)}"


def _tool(given: Any) -> dict[str, str]:
    """A tool's name and description, as text."""
    name = given.get("name") if isinstance(given, Mapping) else None
    if not isinstance(name, str) or not name:
        raise OptionError(f'available_tools: a tool is {{"name": ..., "description": ...}}, not {given!r}')
    return {"name": name, "description": str(given.get("description") or "")}
