"""Tool mocks: results that an item gives in place of real tools."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

from referee.errors import RefereeError
from referee.items import Item, unshared

#: What happens to a tool without a mock: it runs, or its call fails.
Unmocked: TypeAlias = Literal["allow", "deny"]

_ERROR = "$error"


class MockedToolError(RefereeError):
    """A mocked tool's failure, or a call of a tool that has no mock and may not run."""


class UnmockableToolError(RefereeError):
    """The agent has tools that can't be kept from running."""


class ToolMocks:
    """The mocks of one item.

    Args:
        results: By tool name: a result, `{"$error": "message"}`, or a function of the arguments, sync or async.
        unmocked: `allow` or `deny` the tools that have no mock.

    Example:
        >>> mocks = ToolMocks({"forecast": {"sky": "clear"}}, "deny")
        >>> mocks("forecast", {"city": "Ghent"})
        {'sky': 'clear'}
    """

    def __init__(self, results: Mapping[str, Any], unmocked: Unmocked = "allow") -> None:
        self.results = results
        self.unmocked = unmocked

    def replaces(self, name: str) -> bool:
        """Whether the tool must not run itself."""
        return name in self.results or self.unmocked == "deny"

    def __call__(self, name: str, args: Any = None) -> Any:
        """The result of a call.

        Raises:
            MockedToolError: The mock is an error, or there is none.
        """
        if name not in self.results:
            raise MockedToolError(f"the tool {name} has no mock, and unmocked tools are denied")
        result = self.results[name]
        if isinstance(result, Callable):  # type: ignore[arg-type]
            return result(args)
        if isinstance(result, Mapping) and set(result) == {_ERROR}:
            raise MockedToolError(str(result[_ERROR]))
        return unshared(result)  # an agent may change what a tool gave it

    async def result_or_error(self, name: str, args: Any = None) -> Any:
        """The result of a call as an agent's framework takes it: a failure as `{"error": message}`."""
        try:
            result = self(name, args)
            return await result if inspect.isawaitable(result) else result
        except MockedToolError as error:
            return {"error": str(error)}


def mocks_of(item: Item, unmocked: Unmocked) -> ToolMocks | None:
    """The item's mocks; `None` when its tools run as they are."""
    if item.tool_mocks is None and unmocked == "allow":
        return None
    return ToolMocks(item.tool_mocks or {}, unmocked)
