"""Made-up rows from a policy alone, for writing code against a table that nobody may see."""

from __future__ import annotations

import hashlib
from datetime import date
from fractions import Fraction
from typing import Any

from tetraodon.domain import Attribute
from tetraodon.policy.policy import Policy


def made_up_rows(policy: Policy, rows: int) -> list[dict[str, Any]]:
    """Rows with every value about equally often, as JSON; the same ones every time. No table has a say in them.

    >>> import tetraodon as td
    >>> ages = {"age": {"integer": [20, 29]}}
    >>> policy = td.load_policy({"dataset": "d", "attributes": ages, "budget": {"epsilon": 1}})
    >>> [20 <= row["age"] <= 29 for row in made_up_rows(policy, 3)]
    [True, True, True]
    """
    return [
        ({policy.key: row // policy.rows_per_person} if policy.key else {})
        | {attribute.name: _value(attribute, _code(attribute, row)) for attribute in policy.domain}
        for row in range(rows)
    ]


def _code(attribute: Attribute, row: int) -> int:
    """Any code, by a hash: no chance is needed for what protects nobody."""
    return int.from_bytes(hashlib.sha256(f"{row} {attribute.name}".encode()).digest()) % attribute.size


def _value(attribute: Attribute, code: int) -> Any:
    if attribute.separate and code == attribute.missing:
        return None
    value = attribute.value(code)
    if isinstance(value, Fraction):
        return int(value) if value.denominator == 1 else float(value)
    return value.isoformat() if isinstance(value, date) else value
