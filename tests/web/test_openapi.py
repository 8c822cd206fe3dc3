"""The document describes every route, and whatever it allows to be sent is answered without an error of the server."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from tests.web.conftest import World

from tetraodon.web.api import ENDPOINTS, openapi

SEARCHING = settings.get_current_profile_name() == "searching"
CALLS = 200 if SEARCHING else 3
"""For each operation; `TETRAODON_EXAMPLES=searching pytest tests/server/test_openapi.py` takes longer than others."""
ROLES = {"analyst": "ann", "curator": "carl", "auditor": "otto", "admin": "root"}


def test_every_route_is_described(world: World) -> None:
    document = world.http.get("/openapi.json").json()
    assert document == json.loads(json.dumps(openapi()))
    described = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
    assert {(door.method, door.path.replace(":path", "")) for door in ENDPOINTS} <= described


@pytest.mark.filterwarnings("ignore")
def test_whatever_the_document_allows_is_answered_without_an_error_of_the_server(open_world: World) -> None:
    """Every operation, some bodies and parameters for each, as somebody who may call it, and bytes that it forbids."""
    key = open_world.asked(approve=False)
    known = {"dataset": "people", "request": key, "user": "nobody"}
    doors = {(door.method.lower(), door.path.replace(":path", "")): door for door in ENDPOINTS}
    seen: Counter[int] = Counter()

    def exercise(operation: Any, token: str) -> None:
        @settings(max_examples=CALLS, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
        @given(case=operation.as_strategy())
        def call(case: Any) -> None:
            for part in set(known) & set(case.path_parameters or {}):
                case.path_parameters[part] = known[part]
            answer = case.call(base_url=open_world.origin, headers={"Authorization": f"Bearer {token}"})
            seen[answer.status_code] += 1
            assert answer.status_code < 500, (operation.label, answer.text)

        (call if SEARCHING else seed(1)(call))()

    for found in schemathesis.openapi.from_dict(openapi()).get_all_operations():
        operation = found.ok()
        door = doors.get((operation.method.lower(), operation.path))
        exercise(operation, open_world.tokens["ann" if door is None else ROLES[sorted(door.roles)[0]]])
    assert sum(seen.values()) >= 40
    assert seen[200] >= 10
