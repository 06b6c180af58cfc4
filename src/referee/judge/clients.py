"""Which client asks a model."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from referee.errors import OptionError
from referee.judge.capabilities import FirstAlone
from referee.judge.endpoints import find_endpoint
from referee.judge.exchange import Transport
from referee.judge.prices import Price, known_price

_NO_MODEL = "this scorer asks a judge and has none: give model= (--model on the command line), or set REFEREE_MODEL"


async def _nothing_to_close() -> None:
    return


class Client(msgspec.Struct, frozen=True, kw_only=True):
    """A transport to a model, and what is known of it.

    Attributes:
        name: The model's name, as it stands in scores.
        transport: Sends one request.
        price: The model's price.
        learns: Whether the first request finds out what the model takes.
        close: Closes the connections of the running event loop.
    """

    name: str
    transport: Any
    price: Price | None = None
    learns: bool = False
    close: Callable[[], Awaitable[None]] = _nothing_to_close

    def ready(self, timed: Transport) -> Transport:
        """The transport, with the first request alone where it has to find things out."""
        return FirstAlone(timed) if self.learns else timed


def model_settings(model: str | None) -> tuple[str, tuple[tuple[str, str], ...]]:
    """The model's name, from `REFEREE_MODEL` if none is given, and the variables that say where and with which key.

    Raises:
        OptionError: There is no name.
    """
    name = model or os.environ.get("REFEREE_MODEL")
    if not name:
        raise OptionError(_NO_MODEL)
    return name, tuple(sorted(item for item in os.environ.items() if item[0].endswith(("_BASE_URL", "_API_KEY"))))


def client_for(
    model: str | Transport | None,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    price: Price | None = None,
    extra_body: Mapping[str, Any] | None = None,
) -> Client:
    """The client for a model.

    Args:
        model: A model string, a transport, or `None` for `REFEREE_MODEL`.
        base_url: The address of an OpenAI-compatible endpoint.
        api_key: The key.
        price: The model's price.
        extra_body: Further fields for every request.

    Raises:
        OptionError: No model, a wrong name or address, or a missing key.
        MissingExtraError: The package that the model needs is not installed.
    """
    if model is None:
        model, _ = model_settings(None)
    if not isinstance(model, str):
        if not callable(getattr(model, "send", None)):
            raise OptionError(f"model must be a name or have the method send(request), not {type(model).__name__}")
        return Client(name=getattr(model, "name", type(model).__name__), transport=model, price=price)
    endpoint = find_endpoint(model, base_url, api_key)
    if endpoint is None:
        return _through_pydantic_ai(model, price)
    from referee.judge.openai_client import OpenAIClient

    price = price or known_price(endpoint.provider, endpoint.model)
    client = OpenAIClient(endpoint, price=price, extra_body=extra_body)
    return Client(name=model, transport=client, price=price, learns=True, close=client.close)


def _through_pydantic_ai(model: str, price: Price | None) -> Client:
    from referee.judge.pydantic_ai_client import PydanticAIClient

    separator = min(place for place in (model.find("/"), model.find(":")) if place > 0)
    provider, name = model[:separator], model[separator + 1 :]
    price = price or known_price(provider, name)
    client = PydanticAIClient(f"{provider}:{name}", price=price)
    return Client(name=model, transport=client, price=price, close=client.close)
