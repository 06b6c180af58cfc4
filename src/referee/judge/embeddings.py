"""Embeddings: a text as a vector, from any OpenAI-compatible endpoint."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from typing import Any

import msgspec

from referee.errors import OptionError
from referee.judge.endpoints import find_endpoint
from referee.judge.exchange import Reply, Request
from referee.judge.openai_client import OpenAIClient
from referee.judge.prices import Price

_NO_MODEL = "embedding similarity needs a model: give model=, or set REFEREE_EMBEDDING_MODEL"


class Embedding(msgspec.Struct, frozen=True):
    """A text as a vector."""

    vector: list[float]


class _Vector(msgspec.Struct):
    embedding: list[float]


class _Embeddings(msgspec.Struct):
    data: list[_Vector]
    usage: Any = None


class EmbeddingModel(OpenAIClient):
    """An embedding model at an OpenAI-compatible endpoint. `Judge(EmbeddingModel(...))` adds retries, limits and a cache.

    It speaks over the judge's HTTP transport, and its errors are told apart in the same way.

    Args:
        model: `provider/model` or `provider:model`, any name with `base_url`; `None` takes `REFEREE_EMBEDDING_MODEL`.
        base_url: The address of an OpenAI-compatible endpoint.
        api_key: The key; otherwise the provider's variable, such as `OPENAI_API_KEY`.
        price: The model's price.
        extra_body: Further fields for every request, such as `{"dimensions": 256}`.

    Raises:
        OptionError: No model, a wrong name or address, or a missing key.
        MissingExtraError: The package that the model needs is not installed.

    Example:
        >>> EmbeddingModel("text-embedding-3-small", base_url="http://localhost:8080/v1").name
        'text-embedding-3-small'
    """

    def __init__(
        self,
        model: str | None = None,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        price: Price | None = None,
        extra_body: Mapping[str, Any] | None = None,
    ) -> None:
        name = model or os.environ.get("REFEREE_EMBEDDING_MODEL")
        if not name:
            raise OptionError(_NO_MODEL)
        endpoint = find_endpoint(name, base_url, api_key)
        if endpoint is None:
            raise OptionError(f"model {name!r}: this provider has no OpenAI-compatible embeddings; give base_url")
        super().__init__(endpoint, price=price, extra_body=extra_body)
        self._url = endpoint.url_of("embeddings")
        self.name = name

    @property
    def fingerprint(self) -> Any:
        """What can change a vector: the model's name and the further fields."""
        return [self.name, self._extra]

    def _body(self, request: Request) -> dict[str, Any]:
        return {"model": self._endpoint.model, "input": str(request.prompt), **self._extra}

    def _reply(self, text: str) -> Reply:
        try:
            found = msgspec.json.decode(text, type=_Embeddings)
        except (msgspec.DecodeError, RecursionError):
            raise self._no_completion(text) from None
        if len(found.data) != 1:
            raise self._error(f"{self._endpoint.host} gave {len(found.data)} embeddings instead of one")
        vector = Embedding(found.data[0].embedding)
        return Reply(text=msgspec.json.encode(vector).decode(), usage=self._usage(found.usage))


def cosine(left: Embedding, right: Embedding) -> float:
    """The cosine of the angle between two vectors, -1 to 1.

    Raises:
        ValueError: The vectors have different lengths, or one of them has no direction.

    Example:
        >>> cosine(Embedding([1.0, 0.0]), Embedding([1.0, 1.0]))
        0.7071067811865475
    """
    if len(left.vector) != len(right.vector):
        raise ValueError(f"the embeddings have {len(left.vector)} and {len(right.vector)} dimensions")
    lengths = math.hypot(*left.vector) * math.hypot(*right.vector)
    if not 0 < lengths < math.inf:
        raise ValueError("an embedding has no direction: all its numbers are 0, or they are too large")
    dot = math.fsum(one * other for one, other in zip(left.vector, right.vector))
    return min(1.0, max(-1.0, dot / lengths))
