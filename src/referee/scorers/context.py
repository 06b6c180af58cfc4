"""The context of a run: the texts that its answer had to rest on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from referee.errors import OptionError
from referee.runs import Run
from referee.scorers.judging import called, given_or_tool_results, require_texts

#: A function of the run that gives the texts, sync or async.
ContextOf: TypeAlias = Callable[[Run], Sequence[str] | Awaitable[Sequence[str]]]


class Context:
    """Where the context of a run comes from: a function of the run, else a list, else the run's own tool results.

    Args:
        texts: The texts; `None` takes the run's tool results.
        extractor: A function of the run, sync or async, that gives the texts. It beats `texts`.
        option: What the function is called among the scorer's options.

    Raises:
        OptionError: `texts` is no list of texts, or `extractor` is no function.

    Example:
        >>> import asyncio
        >>> from referee.testing import create_agent_test_run
        >>> run = create_agent_test_run(output="At nine.", metadata={"documents": ["Ferry: 9:00"]})
        >>> asyncio.run(Context(extractor=lambda run: run.metadata["documents"]).of(run))
        ['Ferry: 9:00']
    """

    __slots__ = ("extractor", "option", "texts")

    def __init__(
        self, texts: Sequence[str] | None = None, extractor: ContextOf | None = None, option: str = "context_extractor"
    ) -> None:
        if extractor is not None and not callable(extractor):
            raise OptionError(f"{option} must be a function of the run, not {type(extractor).__name__}")
        self.texts = require_texts("context", texts)
        self.extractor = extractor
        self.option = option

    async def of(self, run: Run) -> list[str]:
        """The texts for a run, without blank ones.

        Raises:
            NotScorable: There are none.
            OptionError: The function gave something else than texts.
        """
        if self.extractor is None:
            return given_or_tool_results(self.texts, run)
        given = await called(self.extractor, run)
        return given_or_tool_results(require_texts(f"what {self.option} gives", given) or [], run)
