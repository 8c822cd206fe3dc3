"""HTTP errors: the error document of the command line, and a status."""

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


class HttpError(TetraodonError):
    """A call that is refused with a status; it may be repeated `after` some seconds, if that is not 0."""

    def __init__(self, status: int, what: str, *, fix: str, after: int = 0) -> None:
        super().__init__(what, fix=fix)
        self.status, self.after = status, after


def not_found(what: str) -> HttpError:
    """The same words whether something does not exist or the caller may not see it."""
    return HttpError(404, f"there is no such {what} for you", fix="check the name, or ask a curator for access")


def forbidden() -> HttpError:
    return HttpError(403, "your role does not allow this", fix="ask somebody whose role does")


def conflict(what: str, fix: str) -> HttpError:
    return HttpError(409, what, fix=fix)


def error_document(error: TetraodonError) -> dict[str, Any]:
    """An error as callers see it, without the address of the ledger."""
    return (error.at("") if isinstance(error, LedgerError) else error).document()


def status_of(error: TetraodonError) -> int:
    """The HTTP status of an error: 5xx only where the caller cannot put it right."""
    match error:
        case HttpError():
            return error.status
        case BudgetExhausted():
            return 409
        case LedgerError():
            return 503
        case PolicyError() | QueryError() | DomainError() | NoiseError() | Refused():
            return 422
    return 500
