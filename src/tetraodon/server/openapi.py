"""The OpenAPI document, made from the table of routes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from tetraodon import __version__
from tetraodon.server.bodies import Body, Credentials
from tetraodon.server.routes import DOORS, Entrance

ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["type", "what", "where", "fix"],
            "properties": {name: {"type": "string"} for name in ("type", "what", "where", "fix")},
        }
    },
}
_PART = re.compile(r"{(\w+)(?::path)?}")


def openapi(doors: Sequence[Entrance] = DOORS) -> dict[str, Any]:
    """Every route, its parameters and bodies, in OpenAPI 3.1."""
    paths: dict[str, dict[str, Any]] = {}
    schemas: dict[str, Any] = {"Error": ERROR}
    for door in doors:
        paths.setdefault(_PART.sub(r"{\1}", door.path), {})[door.method.lower()] = _operation(door, schemas)
    signing_in = {"summary": "Sign in with a browser.", "security": [], "requestBody": _body(Credentials, schemas)}
    paths.setdefault("/v1/session", {})["post"] = signing_in | {"responses": _responses(200)}
    for path in ("/healthz", "/metrics", "/openapi.json"):
        paths[path] = {"get": {"summary": path[1:], "security": [], "responses": {"200": {"description": "Well."}}}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Tetraodon", "version": __version__},
        "security": [{"token": []}],
        "paths": paths,
        "components": {"schemas": schemas, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
    }


def _operation(door: Entrance, schemas: dict[str, Any]) -> dict[str, Any]:
    parameters: list[dict[str, Any]] = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
        for name in _PART.findall(door.path)
    ]
    for name, words in (door.query or {}).items():
        schema = {"type": "integer", "minimum": 0}
        parameters.append({"name": name, "in": "query", "description": words, "schema": schema})
    if door.keyed:
        schema = {"type": "string", "minLength": 1, "maxLength": 100, "pattern": "^[!-~]+$"}
        parameters.append({"name": "Idempotency-Key", "in": "header", "required": True, "schema": schema})
    who = f"For: {', '.join(sorted(door.roles))}; with the scope {door.scope}."
    found = {
        "summary": door.summary,
        "description": who,
        "parameters": parameters,
        "responses": _responses(door.status),
    }
    return found if door.body is None else found | {"requestBody": _body(door.body, schemas)}


def _body(body: type[Body], schemas: dict[str, Any]) -> dict[str, Any]:
    schemas[body.__name__] = body.model_json_schema(ref_template="#/components/schemas/{model}")
    reference = {"$ref": f"#/components/schemas/{body.__name__}"}
    return {"required": True, "content": {"application/json": {"schema": reference}}}


def _responses(status: int) -> dict[str, Any]:
    error = {"description": "Refused, with its fix.", "content": {"application/json": {"schema": {"$ref": _ERROR}}}}
    return {str(status): {"description": "Done."}, "4XX": error, "503": error}


_ERROR = "#/components/schemas/Error"
