"""The client of all other providers, by way of Pydantic AI's models."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from referee.errors import EndpointError, MissingExtraError, OptionError
from referee.judge.exchange import Finish, Reply, Request
from referee.judge.forms import json_schema, words_of
from referee.judge.openai_client import PASSING, passing_words, retry_after, shortened
from referee.judge.per_loop import PerLoop
from referee.judge.prices import Price
from referee.judge.redaction import redacted
from referee.scores import JudgeUsage


class PydanticAIClient:
    """Asks a model through Pydantic AI, which knows Anthropic, Google, Bedrock and many more.

    Keys come from the environment, as each provider's own documentation says.

    Args:
        model: The model as Pydantic AI writes it, `provider:model`.
        price: The model's price.

    Raises:
        MissingExtraError: Pydantic AI, or the package of this provider, is not installed.
        OptionError: There is no such provider or model, or its key is missing.
    """

    def __init__(self, model: str, *, price: Price | None = None) -> None:
        self.name = model
        self._price = price
        self._models = PerLoop(lambda: _opened(model))
        _model(model)  # finds a wrong name or a missing key before anything runs

    async def close(self) -> None:
        """Close the connections of the running event loop."""
        await self._models.close()

    async def send(self, request: Request) -> Reply:
        """Send the request.

        Raises:
            EndpointError: There is no reply.
        """
        from pydantic_ai import direct, exceptions

        if words_of(request.returns):
            raise EndpointError(f"{self.name}: log-probabilities are read from OpenAI-compatible endpoints only")
        model = await self._models.get()
        try:
            response = await direct.model_request(
                model,
                _messages(request),
                model_settings=_settings(request),
                model_request_parameters=_parameters(request, model),
            )
        except exceptions.ContentFilterError as error:
            return Reply(text=str(error), finish="filter")
        except exceptions.ModelHTTPError as error:
            body = redacted(str(error.body or error.message), _keys(model))
            raise EndpointError(
                f"{self.name}: {error.status_code}: {shortened(body)}",
                passing=error.status_code in PASSING and passing_words(body),
                status=error.status_code,
                retry_after=retry_after(error.headers or {}),
                raw_reply=body,
            ) from None
        except exceptions.UserError as error:
            raise EndpointError(f"{self.name}: {redacted(str(error), _keys(model))}") from None
        except (exceptions.ModelAPIError, exceptions.UnexpectedModelBehavior) as error:
            passing = isinstance(error, exceptions.ModelAPIError)
            raise EndpointError(f"{self.name}: {redacted(str(error), _keys(model))}", passing=passing) from None
        return self._reply(response, _keys(model))

    def _reply(self, response: Any, keys: list[str]) -> Reply:
        asked, replied = response.usage.input_tokens, response.usage.output_tokens
        cost = self._price.of(asked, replied) if self._price else None
        return Reply(
            text=redacted(response.text or "", keys),
            finish=_finish(response),
            usage=JudgeUsage(calls=1, attempts=1, input_tokens=asked, output_tokens=replied, cost=cost),
        )


async def _opened(name: str) -> AsyncGenerator[Any]:
    async with _model(name) as model:
        yield model


def _model(name: str) -> Any:
    try:
        from pydantic_ai import exceptions, models
    except ImportError:
        raise MissingExtraError(f"the model {name}", package="pydantic-ai-slim", extra="providers") from None
    try:
        return models.infer_model(name)
    except (exceptions.UserError, ImportError) as error:
        raise OptionError(f"model {name!r}: {' '.join(str(error).split()).partition('. ')[0]}") from None


def _messages(request: Request) -> list[Any]:
    from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart

    return [
        ModelRequest.user_text_prompt(message["content"])
        if message["role"] == "user"
        else ModelResponse(parts=[TextPart(message["content"])])
        for message in request.messages
    ]


def _settings(request: Request) -> Any:
    given = {"temperature": request.parameters.temperature, "max_tokens": request.parameters.max_tokens}
    return {name: value for name, value in given.items() if value is not None}


def _parameters(request: Request, model: Any) -> Any:
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.output import OutputObjectDefinition

    schema = json_schema(request.returns, strict=False)
    if schema is None or not model.profile.get("supports_json_schema_output"):
        return ModelRequestParameters()
    form = OutputObjectDefinition(json_schema=schema, name="answer", strict=True)
    return ModelRequestParameters(output_mode="native", output_object=form)


def _finish(response: Any) -> Finish:
    if response.finish_reason == "length":
        return "length"
    return "filter" if response.finish_reason == "content_filter" else "stop"


def _keys(model: Any) -> list[str]:
    """The key that the provider's client holds."""
    key = getattr(getattr(model, "client", None), "api_key", None)
    return [key] if isinstance(key, str) else []
