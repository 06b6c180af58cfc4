"""The Studio's API against its own description: no request breaks it, and every answer is as described.

Needs the dependency group `browser`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from studio_server import Served
from studio_store import ordinary

pytestmark = pytest.mark.system

#: Requests for each address.
EXAMPLES = 25


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    path = tmp_path_factory.mktemp("studio") / "scores.db"
    ordinary(path).close()
    made = Served(path)
    yield made
    made.close()


def test_every_answer_is_as_described(served: Served) -> None:
    schemathesis = pytest.importorskip("schemathesis", reason="needs the dependency group `browser`")
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi.checks import (
        content_type_conformance,
        response_schema_conformance,
        status_code_conformance,
    )

    checks = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
    description = schemathesis.openapi.from_url(f"{served.base}/openapi.json")
    tried = 0
    for found in description.get_all_operations():
        operation = found.ok()

        @settings(max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck))
        @given(case=operation.as_strategy())
        def ask(case: Any) -> None:
            nonlocal tried
            tried += 1
            case.call_and_validate(checks=checks)

        ask()
    assert tried > 300
