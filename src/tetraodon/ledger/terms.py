"""The terms on which a data set is opened, as people write them."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from tetraodon.errors import LedgerError, PolicyError
from tetraodon.ledger.amount import amount
from tetraodon.rational import Number, rational

if TYPE_CHECKING:
    from tetraodon.policy.load import AnyPolicy


def exact_amount(number: Number, name: str) -> Fraction:
    """An amount as its writer meant it.

    >>> exact_amount("12.35", "the total"), exact_amount(0.1, "the total")
    (Fraction(247, 20), Fraction(1, 10))
    """
    try:
        return amount(rational(number, name=name), name=name)
    except PolicyError as error:
        raise LedgerError(error.what, fix=error.fix) from None


def policy_document(policy: AnyPolicy) -> Mapping[str, Any]:
    """A policy's document. A document that was given is kept as it is; a path or a policy is read."""
    if isinstance(policy, Mapping):
        return policy
    from tetraodon.policy.load import load_policy  # a convenience; policies live above this room

    return load_policy(policy).document
