"""Everything Tetraodon can refuse, as one small tree of types named after the remedy.

A message says what is wrong, where, and how to put it right. It never holds a record, a value of the
table or an exact count: readers of the message may not be allowed to see them.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

__all__ = [
    "BudgetExhausted",
    "ConcurrentCharge",
    "DataRefusal",
    "DomainError",
    "FailedAfterCharge",
    "LedgerError",
    "NoiseError",
    "PolicyError",
    "QueryError",
    "Refused",
    "ReleaseError",
    "TableError",
    "TetraodonError",
    "TooMuchWork",
]


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a policy: where in it, and how to put it right."""

    path: tuple[str | int, ...]
    line: int
    what: str
    fix: str


class TetraodonError(Exception):
    """Root of every error raised on purpose.

    Attributes
    ----------
    what:  one sentence on what is wrong, without a full stop.
    fix:   one sentence on what to do about it.
    where: file and line, policy key or column; empty when there is no such place.
    problems: all that is wrong with a policy, where that is what was being read, in the order of its lines.
    """

    problems: tuple[Problem, ...] = ()

    def __init__(self, what: str, *, fix: str, where: str = "") -> None:
        self.what = what
        self.fix = fix
        self.where = where
        place = f"{where}: " if where else ""
        super().__init__(f"{place}{what}. Fix: {fix}{'' if fix.endswith('?') else '.'}")

    def at(self, where: str) -> TetraodonError:
        """The same error with its place filled in by somebody who knows it."""
        return type(self)(self.what, fix=self.fix, where=where)

    def document(self) -> dict[str, Any]:
        """As JSON, the same for every command: `depends_on_data` says that it is for the curator only."""
        return {
            "type": type(self).__name__,
            "what": self.what,
            "where": self.where,
            "fix": self.fix,
            "all": str(self).splitlines(),
            "notes": list(getattr(self, "__notes__", ())),
            "depends_on_data": isinstance(self, DataRefusal),
        }


class PolicyError(TetraodonError):
    """The policy file, or a value given in its place, does not say something we can keep."""


class DomainError(TetraodonError):
    """A value, attribute or cell does not belong to the declared domain."""


class QueryError(TetraodonError):
    """A question cannot be asked of this domain or of this release."""


class TableError(TetraodonError):
    """The table cannot be read as the policy describes it. Shown to the curator only."""


class DataRefusal(TableError):
    """The records, and not only the table's shape, made counting impossible.

    Why  the type is separate so that the caller can write the refusal into its log: unlike a missing column it says
         something about the data, so that refusing is itself something an observer could learn from. It names
         columns at most.
    """


class NoiseError(TetraodonError):
    """A noise distribution was asked for that does not exist."""


class LedgerError(TetraodonError):
    """The ledger cannot be used, or does not know what was asked."""


class BudgetExhausted(LedgerError):
    """The data set's total does not cover what a release would cost."""


class ConcurrentCharge(LedgerError):
    """Another release was charged while this one was priced together with earlier ones. Nothing was charged."""


class ReleaseError(TetraodonError):
    """A release folder cannot be written, read or believed."""


class FailedAfterCharge(ReleaseError):
    """A release was charged for somebody and could not be answered; only the curator sees why, in its cause.

    Why  whatever stopped it may depend on the data, and must not be an answer of its own.
    """


class Refused(TetraodonError):
    """No safe answer is known: refusing is the only honest thing to do."""


class TooMuchWork(TetraodonError):
    """Planning or certifying this would take too long, by a count of the steps to be compared.

    Why  not a `Refused`: a planner that tries another mechanism where one has no certificate must not go on after it.
    """


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A clause for `Fix:` that names the nearest known word, or lists them when nothing is near.

    Case counts for nothing, and of words about as near the one with the same first letter is meant.

    >>> did_you_mean("means", ["kmeans", "mean"]), did_you_mean("male", ["Female", "Male"])
    ("did you mean 'mean'?", "did you mean 'Male'?")
    >>> did_you_mean("q", ["age", "sex"])
    'use one of: age, sex'
    """
    names = [str(name) for name in known]
    folded = word.casefold()
    near = {name: difflib.SequenceMatcher(None, folded, name.casefold()).ratio() for name in names}
    near = {name: ratio + 0.1 * (name[:1].casefold() == folded[:1]) for name, ratio in near.items() if ratio >= 0.6}
    if near:
        return f"did you mean {max(near, key=lambda name: near[name])!r}?"
    shown = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
    return f"use one of: {shown}" if names else "there is none to choose from"


def __dir__() -> list[str]:
    return __all__
