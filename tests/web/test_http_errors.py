"""Statuses: what the caller can put right is theirs, a ledger that cannot be asked is not."""

from __future__ import annotations

import pytest

from tetraodon import errors
from tetraodon.web.http_errors import HttpError, conflict, forbidden, not_found, status_of


@pytest.mark.parametrize(
    ("kind", "status"),
    [("BudgetExhausted", 409), ("LedgerError", 503), ("PolicyError", 422), ("QueryError", 422), ("Refused", 422)],
)
def test_the_status_of_an_error(kind: str, status: int) -> None:
    assert status_of(getattr(errors, kind)("x", fix="y")) == status


def test_what_is_turned_away_has_a_status_of_its_own() -> None:
    turned = (HttpError(418, "x", fix="y"), not_found("page"), forbidden(), conflict("x", "y"))
    assert [status_of(one) for one in turned] == [418, 404, 403, 409]
