"""What the server says no with: the error document of the command line, and a status for programs."""

from __future__ import annotations

from typing import Any

from tetraodon.errors import (
    BudgetExhausted,
    DomainError,
    LedgerError,
    NoiseError,
    PolicyError,
    QueryError,
    Refused,
    TetraodonError,
)


class Turned(TetraodonError):
    """A call that is turned away at the door: not signed in, not allowed, not there; or too much for now, to be tried
    again `after` some seconds.
    """

    def __init__(self, status: int, what: str, *, fix: str, after: int = 0) -> None:
        super().__init__(what, fix=fix)
        self.status, self.after = status, after


def not_there(what: str) -> Turned:
    """The same words whether it is not there or not for the one who asks."""
    return Turned(404, f"there is no such {what} for you", fix="check the name, or ask a curator for access")


def not_allowed() -> Turned:
    return Turned(403, "your role does not allow this", fix="ask somebody whose role does")


def conflict(what: str, fix: str) -> Turned:
    return Turned(409, what, fix=fix)


def told(error: TetraodonError) -> dict[str, Any]:
    """An error as callers see it: where the ledger is, is no business of theirs."""
    return (error.at("") if isinstance(error, LedgerError) else error).document()


def patience(error: TetraodonError) -> dict[str, str]:
    """The header that says when to try again, if that helps."""
    return {"Retry-After": str(error.after)} if isinstance(error, Turned) and error.after else {}


def status_of(error: TetraodonError) -> int:
    """The status of an answer that is an error.

    Why  a ledger that cannot be asked is nobody's mistake who called; whatever else is refused can be put right there.
    """
    match error:
        case Turned():
            return error.status
        case BudgetExhausted():
            return 409
        case LedgerError():
            return 503
        case PolicyError() | QueryError() | DomainError() | NoiseError() | Refused():
            return 422
    return 500
