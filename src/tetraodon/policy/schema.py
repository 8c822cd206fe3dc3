"""The JSON Schema of policy files, so that editors complete and check them.

`python -m tetraodon.policy.schema > docs/policy.schema.json` writes the published copy.
"""

from __future__ import annotations

import json
from typing import Any

from tetraodon.policy.document import TABLE, PolicyDocument
from tetraodon.policy.table_secret import TableSecretSection

PLACE = "#/$defs/{model}"


def policy_schema() -> dict[str, Any]:
    """The schema of everything a policy file can say, short forms included."""
    schema = _tidy(PolicyDocument.model_json_schema(by_alias=True, mode="validation"))
    whole = _tidy(TableSecretSection.model_json_schema(by_alias=True, mode="validation", ref_template=PLACE))
    by_name = schema["properties"]["secrets"]["anyOf"][1]
    schema["$defs"] |= whole.pop("$defs") | {TableSecretSection.__name__: whole}
    here = {"$ref": PLACE.format(model=TableSecretSection.__name__)}
    by_name["properties"] = {TABLE: {"anyOf": [here, by_name["additionalProperties"]]}}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Tetraodon policy", **schema}


def _tidy(part: Any) -> Any:
    """Without what the editor would only show as noise: generated titles, and defaults that say 'left out'."""
    if isinstance(part, list):
        return [_tidy(child) for child in part if child != {"type": "null"}]
    if not isinstance(part, dict):
        return part
    kept = {key: value for key, value in part.items() if not _noise(key, value)}
    return {key: _tidy(value) for key, value in kept.items()}


def _noise(key: str, value: object) -> bool:
    return (key == "title" and isinstance(value, str)) or (key == "default" and value in (None, "", [], {}))


def schema_text() -> str:
    """The schema as the text of its file."""
    return json.dumps(policy_schema(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    print(schema_text(), end="")
