"""The published schema is that of the code, and knows every key."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tetraodon.policy.document import SECTIONS, PolicyDocument, policy_schema, schema_text

PUBLISHED = Path(__file__).parents[2] / "docs" / "policy.schema.json"


def test_the_published_schema_is_up_to_date() -> None:
    assert PUBLISHED.read_text(encoding="utf-8") == schema_text(), (
        "run python -m tetraodon.policy.document > docs/policy.schema.json"
    )


def test_every_key_is_known_to_editors() -> None:
    schema = policy_schema()
    assert set(schema["properties"]) == set(PolicyDocument.keys())
    assert schema["additionalProperties"] is False
    assert schema["required"] == ["dataset", "attributes", "budget"]
    for section in SECTIONS.values():
        part = schema["$defs"][section.__name__]
        assert set(part["properties"]) == set(section.keys())
        assert part["additionalProperties"] is False
        assert part.get("oneOf", []) == [{"required": [name]} for name in section.one_of]


def test_short_forms_are_offered() -> None:
    properties = policy_schema()["properties"]
    assert {"const": "one row each"} in properties["individuals"]["anyOf"]
    assert {"enum": ["one attribute at a time", "all at once"]} in properties["together"]["anyOf"]
    alone, by_name = properties["secrets"]["anyOf"]
    assert alone == {"const": "none but presence"}
    assert {"enum": ["everything", "public"]} in by_name["additionalProperties"]["anyOf"]
    assert properties["presence"]["enum"] == ["public", "secret"]
    one_attribute = properties["attributes"]["anyOf"][1]["additionalProperties"]["anyOf"]
    assert {"const": "boolean"} in one_attribute
    assert any(form.get("type") == "array" for form in one_attribute)


def test_references_lead_somewhere() -> None:
    text = json.dumps(policy_schema())
    names = {part.split('"')[0] for part in text.split("#/$defs/")[1:]}
    assert names == set(policy_schema()["$defs"])


def test_the_module_prints_it() -> None:
    made = subprocess.run([sys.executable, "-m", "tetraodon.policy.document"], capture_output=True, check=True)
    assert made.stdout.decode() == schema_text()
