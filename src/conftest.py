"""Modules that adapt a framework are collected for their examples only where the framework is installed."""

from __future__ import annotations

from importlib.util import find_spec

_FRAMEWORKS = {"pydantic_ai": "pydantic_ai", "openai_agents": "agents", "langgraph": "langgraph"}

collect_ignore = [
    f"referee/evaluate/targets/{module}.py" for module, package in _FRAMEWORKS.items() if find_spec(package) is None
]
