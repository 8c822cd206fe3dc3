"""The governing policy of an account, under which every release is priced."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from tetraodon.ledger.account import Account
from tetraodon.ledger.amount import canonical_text, document_from_text
from tetraodon.policy.load import stated_policy
from tetraodon.policy.policy import Policy


def governing_policy(account: Account) -> Policy:
    """The governing policy of an account, read from its document once for every hash."""
    return _read(_Hashed(account.policy_hash, account.policy))


@dataclass(frozen=True, slots=True)
class _Hashed:
    """A policy's document, compared by its hash."""

    digest: str
    document: Mapping[str, Any] = field(compare=False)


@lru_cache(maxsize=16)
def _read(hashed: _Hashed) -> Policy:
    return stated_policy(document_from_text(canonical_text(hashed.document)))
