"""Jobs for processes with limits: reading a policy, planning, asking a release, and the release, which reads a table.

Each job is a function of plain values and returns JSON. Untrusted text is parsed here.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

from tetraodon.domain import Attribute
from tetraodon.errors import BudgetExhausted, PolicyError
from tetraodon.gate.output_folder import INTENT, OutputFolder
from tetraodon.inference.estimate import answer_document
from tetraodon.ledger import Ledger
from tetraodon.ledger.amount import amount_text
from tetraodon.policy.explain import explain
from tetraodon.policy.load import stated_policy
from tetraodon.policy.policy import Policy
from tetraodon.releases.codec import asked_plan, errors_if_public, plan_shape
from tetraodon.releases.folder import MANIFEST, load_release
from tetraodon.releases.plan import plan
from tetraodon.releases.pricing import quote
from tetraodon.releases.run import release
from tetraodon.web.response_timing import slot_of

# -- synthetic rows --------------------------------------------------------------------------------


def synthetic_rows(policy: Policy, rows: int) -> list[dict[str, Any]]:
    """Rows for writing code, as JSON: every value about equally often, the same rows every time, from the policy alone.

    >>> import tetraodon as td
    >>> ages = {"age": {"integer": [20, 29]}}
    >>> policy = td.load_policy({"dataset": "d", "attributes": ages, "budget": {"epsilon": 1}})
    >>> [20 <= row["age"] <= 29 for row in synthetic_rows(policy, 3)]
    [True, True, True]
    """
    return [
        ({policy.key: row // policy.rows_per_person} if policy.key else {})
        | {attribute.name: _value(attribute, _code(attribute, row)) for attribute in policy.domain}
        for row in range(rows)
    ]


def _code(attribute: Attribute, row: int) -> int:
    """A code by a hash. These rows protect no data, and so need no random bits."""
    return int.from_bytes(hashlib.sha256(f"{row} {attribute.name}".encode()).digest()) % attribute.size


def _value(attribute: Attribute, code: int) -> Any:
    if attribute.separate and code == attribute.missing:
        return None
    value = attribute.value(code)
    if isinstance(value, Fraction):
        return int(value) if value.denominator == 1 else float(value)
    return value.isoformat() if isinstance(value, date) else value


# -- jobs ------------------------------------------------------------------------------------------

LEDGER = "the server's ledger"


def read_job(policy: str | Mapping[str, Any]) -> dict[str, Any]:
    """A policy that a curator proposes: its document in normal form, and its promise in words.

    Refuses one that names files, which would be read from the server's disk and shown in the policy.
    """
    read = stated_policy(policy)
    if read.public:
        raise PolicyError("a policy on the server names no public tables", fix="leave `public` out: views need it")
    return {"dataset": read.dataset, "document": read.document, "promise": promise(read)}


def synthetic_rows_job(policy: Mapping[str, Any], rows: int) -> list[dict[str, Any]]:
    """Rows for writing code, from the policy alone."""
    return synthetic_rows(stated_policy(policy), rows)


def promise(policy: Policy) -> list[dict[str, Any]]:
    """What a policy promises, in words."""
    return [{"title": part.title, "sentences": list(part.sentences)} for part in explain(policy).parts]


def plan_job(
    policy: Mapping[str, Any], asked: Mapping[str, Any], ledger: str, rows: int, upto: int | None = None
) -> dict[str, Any]:
    """The plan of items under a governing policy, its charge, and its slot. Nothing is charged.

    It is priced with the ledger's entries up to `upto`, because later ones may not be public yet.
    """
    found = asked_plan(policy, asked)
    with Ledger(ledger) as book:
        quoted = quote(found, book, upto=upto)
    if isinstance(quoted.refusal, BudgetExhausted):
        nowhere = BudgetExhausted(quoted.refusal.what, fix=quoted.refusal.fix)  # its place is that of the ledger
        quoted = replace(quoted, refusal=nowhere)
    return {
        "plan": plan_shape(found, errors_if_public(found)) | {"ledger": quoted.document(LEDGER)},
        "policy": found.policy.document,
        "charge": None if quoted.charge is None else amount_text(quoted.charge),
        "added": None if quoted.added is None else amount_text(quoted.added),
        "refusal": None if quoted.refusal is None else quoted.refusal.document(),
        "slot": slot_of(found, rows),
    }


def release_job(policy: Mapping[str, Any], source: str, ledger: str, out: str, owner: str) -> bool:
    """Make a release, or finish one that was interrupted. The numbers of one request are drawn once."""
    release(plan(stated_policy(policy)), source, ledger=ledger, out=out, resume=True, owner=owner)
    return True


def ask_job(folder: str, question: str, confidence: str | None) -> dict[str, Any]:
    """An answer from a published release."""
    made = load_release(folder)
    found = made.ask(question) if confidence is None else made.ask(question, confidence=confidence)
    return answer_document(question, found)


def was_charged(ledger: str, dataset: str, out: Path) -> bool:
    """Whether an unfinished release was charged. True where that cannot be known."""
    place = OutputFolder.of(out, MANIFEST)
    if place.path.exists():
        return True
    path = place.pending / INTENT
    if not os.path.lexists(path):
        return False
    try:
        token = str(json.loads(path.read_text(encoding="utf-8"))["token"])
    except (OSError, ValueError, KeyError, TypeError):
        return True
    with Ledger(ledger) as book:
        return book.find(dataset, token=token) is not None
