"""Targets: what an evaluation asks. Functions, agents of known frameworks, endpoints, commands, and recorded runs."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from referee.errors import OptionError
from referee.evaluate.targets.recorded import RecordedRuns
from referee.evaluate.targets.target import Target

__all__ = ["RecordedRuns", "Target", "as_target"]

#: For the package that an object's class comes from: the module that adapts it. The module has `adapt(obj)`.
_FRAMEWORKS = {
    "agents": "openai_agents",
    "langchain": "langgraph",
    "langchain_core": "langgraph",
    "langgraph": "langgraph",
    "pydantic_ai": "pydantic_ai",
}


def as_target(obj: Any) -> Target:
    """A target from a target, an agent of a known framework, or a function of the input.

    Known are Pydantic AI agents, agents of the OpenAI Agents SDK, LangGraph graphs and LangChain runnables. A function
    may be sync or async, takes the input, and gives text, messages or a `Run`.

    Raises:
        OptionError: It is none of them.

    Example:
        >>> as_target(lambda text: text.upper()).converses
        True
    """
    if isinstance(obj, Target) and not isinstance(obj, type):
        return obj
    missing = ""
    for kind in type(obj).__mro__:
        adapter = _FRAMEWORKS.get(kind.__module__.partition(".")[0])
        if adapter is not None:
            try:
                target: Target | None = import_module(f"referee.evaluate.targets.{adapter}").adapt(obj)
            except ImportError as error:  # of a user's own module that has the name of a framework, `agents` above all
                target, missing = None, f" ({error})"
            if target is not None:
                return target
    if callable(obj):
        from referee.evaluate.targets.function import FunctionTarget

        return FunctionTarget(obj)
    raise OptionError(
        f"a target is a function of the input, an agent of a known framework or recorded runs, not {type(obj).__name__}{missing}"
    )
