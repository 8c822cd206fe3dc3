"""What the ledger remembers: charges, and refusals that depended on the data."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final, Literal, TypeAlias, get_args

from tetraodon.errors import LedgerError
from tetraodon.ledger.amount import amount, amount_from_text
from tetraodon.ledger.compose import ReleaseLoss

State: TypeAlias = Literal["reserved", "settled"]
STATES: tuple[State, ...] = get_args(State)
DOCUMENT_PARTS = ("policy", "plan", "certificate")
"""What is needed to price an entry again under other rules."""

ADDS_UP: Final = "adds up"
JOINTLY: Final = "verified jointly"
"""How a charge composes: it may be summed with any other, or it is what the release added to the loss of all of them
together. What is neither is never charged: it is refused."""

# No digits: a kind must not be able to carry a count.
_KIND = re.compile(r"[a-z]+([_-][a-z]+)*")
_LONGEST_KIND = 40


@dataclass(frozen=True, slots=True)
class Reservation:
    """A charge already committed, for a release that is about to be made."""

    id: int
    dataset: str
    asked: Fraction
    charged: Fraction
    when: str

    def __post_init__(self) -> None:
        amount(self.asked, name="the amount asked")
        amount(self.charged, name="the charge")


@dataclass(frozen=True, slots=True)
class Entry:
    """A charge as the ledger keeps it.

    Attributes
    ----------
    asked:    what the policy file of the release asked for.
    charged:  the loss of its certificate under the governing policy.
    state:    `reserved` until the release is written; charged either way.
    when:     when it was reserved, in UTC.
    document: the policy, plan and certificate of the release.
    delta:    zero, or for a release with Gaussian noise the delta at which it was charged.
    settled:  when it was settled, and `manifest_hash` of what; empty until then.
    """

    id: int
    dataset: str
    asked: Fraction
    charged: Fraction
    state: State
    when: str
    document: Mapping[str, Any] = field(hash=False)
    settled: str = ""
    manifest_hash: str = ""
    delta: Fraction = Fraction(0)

    @property
    def loss(self) -> ReleaseLoss:
        """What the release lost: its epsilon, or with Gaussian noise its rho, of which `charged` is what follows at
        `delta`.
        """
        if not self.delta:
            return ReleaseLoss(self.charged)
        try:
            return ReleaseLoss(self.charged, amount_from_text(self.document["certificate"]["rho_exact"]))
        except (KeyError, TypeError):
            raise LedgerError(
                "the ledger holds an entry that Tetraodon did not write", fix="restore the ledger from a backup"
            ) from None

    @property
    def token(self) -> str:
        """What the gate marked the charge with, so that an interrupted release finds it again; empty if it did not."""
        mark = self.document.get("gate")
        return str(mark.get("token", "")) if isinstance(mark, Mapping) else ""

    @property
    def composition(self) -> str:
        """How the charge composes with others: it adds up, or it is what the release added to a joint loss.

        Why  entries that do not say were written when only releases that add up were possible.
        """
        return str(self.document.get("composition", ADDS_UP))

    def __post_init__(self) -> None:
        amount(self.asked, name="the amount asked")
        amount(self.charged, name="the charge")
        done = self.state == "settled"
        parts = all(part in self.document for part in DOCUMENT_PARTS)
        if self.state not in STATES or done != bool(self.settled and self.manifest_hash) or not parts:
            raise LedgerError(
                "the ledger holds an entry that Tetraodon did not write",
                fix="restore the ledger from a backup",
            )


@dataclass(frozen=True, slots=True)
class RecordedRefusal:
    """That a release was refused because of the data: a kind and a time, and nothing else.

    Why  the refusal itself says something about the data. Whoever audits must be able to count them;
         any detail would say more.
    """

    dataset: str
    kind: str
    when: str

    def __post_init__(self) -> None:
        if len(self.kind) > _LONGEST_KIND or not _KIND.fullmatch(self.kind):
            raise LedgerError(
                "the kind of a refusal is not a fixed word",
                fix="give lower-case words joined by hyphens, such as 'no-convergence'",
            )
