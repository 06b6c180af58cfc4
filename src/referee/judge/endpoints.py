"""Endpoints: which address, key and model name a model string stands for."""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Mapping
from urllib.parse import unquote, urlsplit, urlunsplit

import msgspec

from referee.errors import OptionError

#: Providers that speak the chat-completions protocol of OpenAI: address, and the variable of the key (`None`: no key).
PROVIDERS: dict[str, tuple[str, str | None]] = {
    "cerebras": ("https://api.cerebras.ai/v1", "CEREBRAS_API_KEY"),
    "deepseek": ("https://api.deepseek.com", "DEEPSEEK_API_KEY"),
    "fireworks": ("https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY"),
    "groq": ("https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    "mistral": ("https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    "ollama": ("http://localhost:11434/v1", None),
    "openai": ("https://api.openai.com/v1", "OPENAI_API_KEY"),
    "openrouter": ("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    "together": ("https://api.together.xyz/v1", "TOGETHER_API_KEY"),
}


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """Where a model is asked.

    Attributes:
        model: The model's name as the endpoint knows it.
        base_url: The address, without a slash at the end.
        provider: The provider, where it is a known one.
        key: The key. It is shown nowhere.
    """

    model: str
    base_url: str
    provider: str | None = None
    key: str | None = None

    def __repr__(self) -> str:
        return f"Endpoint({self.model} at {self.host})"

    @property
    def host(self) -> str:
        """The address as it may be shown: without a user name, password or query."""
        parts = urlsplit(self.base_url)
        port = f":{parts.port}" if parts.port else ""
        return f"{parts.scheme}://{parts.hostname}{port}{parts.path}"

    @property
    def url(self) -> str:
        """The address of chat completions, without a user name and password."""
        return self.url_of("chat/completions")

    def url_of(self, path: str) -> str:
        """The address of a service of the endpoint, without a user name and password."""
        parts = urlsplit(self.base_url)
        place = parts.netloc.rpartition("@")[2]
        return urlunsplit((parts.scheme, place, f"{parts.path}/{path}", parts.query, ""))

    @property
    def authorization(self) -> str | None:
        """The value of the header: the user name and password in the address, else the key."""
        parts = urlsplit(self.base_url)
        if parts.username is not None:
            given = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            return f"Basic {b64encode(given.encode()).decode()}"
        return f"Bearer {self.key}" if self.key else None

    @property
    def secrets(self) -> list[str]:
        """What must never be shown: the key, and a password or query in the address."""
        parts = urlsplit(self.base_url)
        return [secret for secret in (self.key, parts.password, parts.query) if secret]


def find_endpoint(
    model: str, base_url: str | None = None, api_key: str | None = None, environ: Mapping[str, str] = os.environ
) -> Endpoint | None:
    """The OpenAI-compatible endpoint that a model string stands for, or `None` for a provider that is not one.

    With a base URL (the argument, or `REFEREE_BASE_URL`) the name is sent as it is written, without a leading `openai/` or
    `openai:`. Otherwise the part before the first `/` or `:` is the provider; its address and key come from the
    environment (`PROVIDER_BASE_URL`, `PROVIDER_API_KEY`) where they are not given.

    Args:
        model: `provider/model`, `provider:model`, or with a base URL any name.
        base_url: The address of an OpenAI-compatible endpoint.
        api_key: The key. A key from the environment is sent to its own provider's address only.
        environ: The environment.

    Raises:
        OptionError: The string or the address is wrong, or the key is missing.

    Example:
        >>> find_endpoint("openai/gpt-4o-mini", api_key="secret")
        Endpoint(gpt-4o-mini at https://api.openai.com/v1)
        >>> find_endpoint("qwen2.5:7b", base_url="http://localhost:11434/v1")
        Endpoint(qwen2.5:7b at http://localhost:11434/v1)
    """
    if not model.strip():
        raise OptionError("the model's name is empty")
    provider, name = _split(model)
    address = base_url or environ.get("REFEREE_BASE_URL")
    if address:
        address = _checked(address, "base_url" if base_url else "REFEREE_BASE_URL")
        return _at_address(model, address, api_key, environ)
    if provider is None:
        raise OptionError(
            f"model {model!r}: write it as provider/model (such as openai/gpt-4o-mini), or give the endpoint's base_url"
        )
    if provider not in PROVIDERS:
        return None
    default, variable = PROVIDERS[provider]
    key = api_key or (environ.get(variable) if variable else None)
    if variable and not key:
        raise OptionError(f"model {model!r}: there is no key; set {variable} or give api_key")
    place = f"{provider.upper()}_BASE_URL"
    return Endpoint(
        model=name,
        base_url=_checked(environ.get(place) or default, place),
        provider=provider,
        key=key,
    )


def _at_address(model: str, address: str, api_key: str | None, environ: Mapping[str, str]) -> Endpoint:
    provider, name = _split(model)
    key = api_key or environ.get("REFEREE_API_KEY")
    if provider == "openai":
        return Endpoint(model=name, base_url=address, provider=provider, key=key or environ.get("OPENAI_API_KEY"))
    return Endpoint(model=model, base_url=address, key=key)


def _split(model: str) -> tuple[str | None, str]:
    places = [place for place in (model.find("/"), model.find(":")) if place > 0]
    if not places or min(places) == len(model) - 1:
        return None, model
    return model[: min(places)].lower(), model[min(places) + 1 :]


def _checked(address: str, place: str) -> str:
    """The address of the API, without the path of chat completions; `place` is the setting to name when it is wrong."""
    try:
        parts = urlsplit(address)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        usable = False
    if not usable:
        raise OptionError(f"{place} must be an address such as http://localhost:8080/v1")
    return address.rstrip("/").removesuffix("/chat/completions")
