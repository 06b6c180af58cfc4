"""Checks by JSON Schema, in the answer and in the arguments of tool calls. Schemas need the extra `schema`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from referee.checks.check import FAILED, PASSED, check
from referee.checks.text import require_scope
from referee.display import cut, printable, quoted, shown
from referee.errors import MissingExtraError, OptionError
from referee.expectations.comparison import arguments_of, require_shallow
from referee.expectations.paths import below
from referee.jsonvalue import decode
from referee.messages import ToolCall
from referee.pipeline import Scorer, Verdict
from referee.runs import Run, Scope

#: What is wrong with a value, one sentence for each problem.
Validate = Callable[[Any], list[str]]

_MOST_PROBLEMS = 10
#: How far a pattern inside a schema may backtrack on one text before the text counts as not matching.
_BACKTRACK_LIMIT = 1_000_000


def is_json(
    schema: Mapping[str, Any] | bool | None = None, *, scope: Scope = "final", id: str | None = None
) -> Scorer[None, None]:
    """The answer is one JSON value and nothing else, and it follows the schema.

    Args:
        schema: A JSON Schema, draft 4 to 2020-12 (`$schema` names the draft). References to other documents are not
            loaded. Needs the extra `schema`.
        scope: The `final` answer, or `all` assistant messages.
        id: Another id than `check-is-json`.

    Returns:
        A scorer that gives 1 or 0.

    Raises:
        OptionError: The schema is none, or the scope is unknown.
        MissingExtraError: A schema is given, and the extra `schema` is not installed.

    Example:
        >>> from referee.testing import create_agent_test_run
        >>> is_json().run_sync(create_agent_test_run(output='{"city": "Ghent"}')).score
        1.0
        >>> is_json({"required": ["zip"]}).run_sync(create_agent_test_run(output='{"city": "Ghent"}')).reason
        'the answer does not follow the schema: "zip" is a required property'
    """
    require_scope("is_json", scope)
    validate = None if schema is None else compile_schema(schema, "checks.is_json: schema")

    def judge_run(run: Run) -> Verdict:
        text = run.answer(scope, normalize=False, ignore_case=False).strip()
        try:
            value = decode(text)
        except (msgspec.DecodeError, UnicodeError) as error:
            return FAILED, _no_json(text, error)
        problems = validate(value) if validate else []
        if problems:
            return FAILED, f"the answer does not follow the schema: {'; '.join(problems)}"
        return PASSED, "the answer is JSON" + (" and follows the schema" if validate else "")

    return check(
        "is_json",
        judge_run,
        options={"schema": schema, "scope": scope},
        defaults={"schema": None, "scope": "final"},
        id=id,
        description="The answer is JSON" + (" that follows the schema." if validate else "."),
    )


def _no_json(text: str, error: Exception) -> str:
    if not text:
        return "the answer is empty"
    if text.startswith("```"):
        return "the answer is no JSON: it stands inside a code block (```)"
    return f"the answer is no JSON: {error}: {quoted(text)}"


def tool_args_valid(
    schemas: Mapping[str, Any] | Sequence[Mapping[str, Any]], *, id: str | None = None
) -> Scorer[None, None]:
    """The arguments of every tool call follow the tool's JSON Schema. A run without calls passes.

    A call of a tool without a schema fails, for the agent made the tool up or a schema is missing here; the schema
    `True` allows any arguments.

    Args:
        schemas: A JSON Schema for each tool's name; or the list of tool definitions that was given to the model, as
            the OpenAI APIs take them: `{"type": "function", "function": {"name": ..., "parameters": {...}}}` or
            `{"type": "function", "name": ..., "parameters": {...}}`.
        id: Another id than `check-tool-args-valid`.

    Returns:
        A scorer that gives 1 or 0.

    Raises:
        OptionError: A schema or a definition is none.
        MissingExtraError: The extra `schema` is not installed.

    Example:
        >>> from referee.testing import create_agent_test_run, create_test_message, create_tool_invocation
        >>> call = create_tool_invocation(tool_name="forecast", args={"days": "3"})
        >>> run = create_agent_test_run(output=[create_test_message(role="assistant", tool_invocations=[call])])
        >>> tool_args_valid({"forecast": {"properties": {"days": {"type": "integer"}}}}).run_sync(run).reason
        'call 1 forecast: days: "3" is not of type "integer"'
    """
    named = _schemas_by_name(schemas)
    validators = {
        name: compile_schema(schema, f"checks.tool_args_valid: the schema of {name}") for name, schema in named.items()
    }

    def judge_run(run: Run) -> Verdict:
        require_shallow(run.tool_calls)
        problems = [
            f"call {place} {printable(call.name)}: {problem}"
            for place, call in enumerate(run.tool_calls, 1)
            for problem in _argument_problems(call, validators)
        ]
        if not problems:
            calls = len(run.tool_calls)
            return PASSED, f"the arguments of {calls} calls are valid" if calls else "no tool was called"
        more = len(problems) - _MOST_PROBLEMS
        return FAILED, "; ".join(problems[:_MOST_PROBLEMS]) + (f"; and {more} more" if more > 0 else "")

    return check(
        "tool_args_valid",
        judge_run,
        options={"schemas": named},
        id=id,
        description="The arguments of every tool call follow the tool's schema.",
    )


def _argument_problems(call: ToolCall, validators: Mapping[str, Validate]) -> list[str]:
    validate = validators.get(call.name)
    if validate is None:
        return ["there is no schema for this tool"]
    if call.args_invalid:
        return [f"the arguments are no JSON: {shown(call.args)}"]
    return validate(arguments_of(call))


def _schemas_by_name(schemas: Any) -> dict[str, Any]:
    if isinstance(schemas, Mapping):
        return dict(schemas)
    if isinstance(schemas, str) or not isinstance(schemas, Sequence):
        raise OptionError(
            f"checks.tool_args_valid: schemas must be {{tool: schema}} or a list of definitions, not {shown(schemas)}"
        )
    named = {}
    for index, definition in enumerate(schemas):
        function = definition.get("function", definition) if isinstance(definition, Mapping) else None
        if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
            raise OptionError(
                f"checks.tool_args_valid: schemas[{index}] must be a tool definition with a name and parameters, "
                f"not {shown(definition)}"
            )
        named[function["name"]] = function.get("parameters") or {}
    return named


def compile_schema(schema: Any, where: str) -> Validate:
    """What checks values against a JSON Schema. It loads nothing from outside and its patterns can't hang.

    Raises:
        OptionError: The schema is none.
        MissingExtraError: The extra `schema` is not installed.
    """
    try:
        import jsonschema_rs
    except ImportError:
        raise MissingExtraError("a JSON Schema", package="jsonschema-rs", extra="schema") from None
    if isinstance(schema, Mapping):
        schema = dict(schema)
    try:
        validator = jsonschema_rs.validator_for(
            schema,
            retriever=_no_documents,
            pattern_options=jsonschema_rs.FancyRegexOptions(backtrack_limit=_BACKTRACK_LIMIT),
        )
    except ValueError as error:
        raise OptionError(f"{where} is no JSON Schema: {str(error).partition(chr(10))[0]}") from None

    def validate(value: Any) -> list[str]:
        return [_sentence(error) for error in validator.iter_errors(value)]

    return validate


def _no_documents(uri: str) -> Any:
    raise ValueError(f"schemas are not loaded from {uri}")


def _sentence(error: Any) -> str:
    path = ""
    for segment in error.instance_path:
        path = below(path, segment)
    sentence = cut(printable(str(error.message)), 200)
    return f"{printable(path)}: {sentence}" if path else sentence
