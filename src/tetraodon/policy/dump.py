"""A policy document as the text of a policy file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import yaml


def dump_policy(document: Mapping[str, Any]) -> str:
    """YAML text that reads back as the same policy, with attributes written as a map as a curator would.

    >>> print(dump_policy({"dataset": "d", "attributes": [{"name": "age", "integer": [0, 99]}]}), end="")
    dataset: d
    attributes:
      age:
        integer: [0, 99]
    """
    fresh = json.loads(json.dumps(document))  # no object twice, so that YAML needs no aliases
    attributes = fresh.get("attributes")
    if isinstance(attributes, list):
        fresh["attributes"] = {part.pop("name"): part for part in attributes}
    return yaml.safe_dump(fresh, sort_keys=False, default_flow_style=None, allow_unicode=True, width=110)
