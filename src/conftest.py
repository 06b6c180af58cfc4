"""Modules that adapt a framework are collected for their examples only where the framework is installed."""

from __future__ import annotations

from importlib.util import find_spec

_FRAMEWORKS = {
    "bulk/cluster_limits": "ray",
    "bulk/ray_engine": "ray",
    "bulk/ray_import": "ray",
    "evaluate/targets/langgraph": "langgraph",
    "evaluate/targets/openai_agents": "agents",
    "evaluate/targets/pydantic_ai": "pydantic_ai",
    "integrations/langchain": "langchain_core",
    "integrations/openai_agents": "agents",
    "integrations/pydantic_ai": "pydantic_ai",
}

collect_ignore = [f"referee/{module}.py" for module, framework in _FRAMEWORKS.items() if find_spec(framework) is None]
