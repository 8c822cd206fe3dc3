"""Accounts of a ledger, and what several releases have lost together."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import reduce
from typing import Any, Final, Literal, TypeAlias, get_args

from tetraodon.errors import LedgerError
from tetraodon.exact.rational import Exact
from tetraodon.exact.zcdp import best_order, epsilon_at_order
from tetraodon.ledger.amount import amount, amount_from_text, damage, document_hash

# -- compose ----------------------------------------------------------------------------------------
# What several releases have lost together, where a delta is allowed: pure losses and zCDP losses, mixed.
#
# Whoever asks may choose each release after seeing the answers to all before it. So the price of what was spent must
# not be picked among several that hold one by one: the first release with Gaussian noise fixes one order of Renyi
# divergence, and from then on every loss is added up at that order. The proof is on the page on delta in the
# documentation.


@dataclass(frozen=True, slots=True)
class ReleaseLoss:
    """What one release has lost: `epsilon`, but for a chance of `delta`, or `rho` in zCDP."""

    epsilon: Fraction
    rho: Fraction | None = None
    delta: Fraction = Fraction(0)


@dataclass(frozen=True, slots=True)
class Spent:
    """What releases have lost so far, as a few sums: enough to charge the next one without looking at them again.

    Attributes
    ----------
    pure:   the losses that are no rho.
    rho:    those in zCDP.
    delta:  the chances with which pure losses may not hold.
    before: what of `pure` came before the first loss in zCDP: it fixes the order at which these are read.
    last:   the number of the last release in it; 0 if there is none.
    """

    pure: Fraction = Fraction(0)
    rho: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    before: Fraction = Fraction(0)
    last: int = 0

    def plus(self, loss: ReleaseLoss, number: int = 0) -> Spent:
        """With one more release, after all others."""
        if loss.rho is not None:
            return replace(self, rho=self.rho + loss.rho, last=number)
        pure = self.pure + loss.epsilon
        return Spent(pure, self.rho, self.delta + loss.delta, self.before if self.rho else pure, number)

    def epsilon(self, delta: Fraction, total: Fraction) -> Fraction:
        """What is charged for all of it together, out of a total; see `composed`."""
        if not self.rho:
            return self.pure
        left = delta - self.delta
        assert left > 0, "a loss in zCDP needs a delta"
        return self.pure + epsilon_at_order(self.order(left, total), self.rho, left)

    def order(self, delta: Fraction, total: Fraction) -> Fraction:
        """The order that the first Gaussian release fixes: the best if all that was left then goes to such releases.

        Post  depends on nothing but the releases before the first of its kind.
        """
        return best_order(max(total - self.before, Fraction(0)), delta)


NOTHING = Spent()


def spent_by(losses: Iterable[ReleaseLoss]) -> Spent:
    """What releases have lost, in the order in which they were made."""
    return reduce(Spent.plus, losses, NOTHING)


def composed(losses: Sequence[ReleaseLoss], delta: Fraction, total: Fraction) -> Fraction:
    """What is charged for all the releases together, out of a total; their sum where delta is 0.

    Pre   the losses are in the order in which the releases were made. None is in zCDP where delta is 0. The noise of
          different releases is independent; each may have been chosen after seeing all answers before it. Those with a
          delta of their own came before any in zCDP, and theirs add up to less than `delta`, or to it if there is none
          in zCDP.
    Post  whoever keeps it at most `total` before every release loses (total, delta) at most. It never falls when a
          release is added, and Gaussian releases alone may spend all of the rho that gives (total, delta).
    Why   pure losses are bounded on every path, so they add up outside, and the chances with which some are not add up
          to what is left of delta. The rest of the loss, raised to one order that was fixed before any of it was drawn,
          is a supermartingale whatever is chosen ([FZ21], [WRRW23]).

    >>> composed([ReleaseLoss(Fraction(1, 3)), ReleaseLoss(Fraction(1, 3))], Fraction(0), Fraction(1))
    Fraction(2, 3)
    """
    return spent_by(losses).epsilon(delta, total)


# -- account ----------------------------------------------------------------------------------------

RHO: Final = "rho_charged"
"""What of a document says how much of its rho is charged, where others have paid for the rest."""
State: TypeAlias = Literal["reserved", "settled"]
STATES: tuple[State, ...] = get_args(State)
DOCUMENT_PARTS = ("policy", "plan", "certificate")
"""What is needed to price an entry again under other rules."""


def no_ledger(where: str = "") -> LedgerError:
    """The error for a ledger that was never opened."""
    fix = "run `tetraodon ledger open POLICY` first, or correct the path of the ledger"
    return LedgerError("there is no ledger here yet", fix=fix, where=where)


ADDS_UP: Final = "adds up"
ALONE: Final = "adds up alone"
JOINTLY: Final = "verified jointly"
"""How a charge composes: it may be summed with any other, and is compared with later ones; or it may be summed and is
not compared, since it is not of the same records; or it is what the release added to the loss of all of them together.
What is none of these is never charged: it is refused."""

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
    delta:    zero, or for a release with Gaussian noise the delta at which it was charged; where names are
              published, the delta that they need; of a release that was priced as the only one, all of it.
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
        """What is charged for the release: its epsilon, with a delta of its own if it published names or was the only
        release; with Gaussian noise its rho, or what it adds to that of others, and `charged` follows at `delta`.
        """
        if not self.delta:
            return ReleaseLoss(self.charged)
        try:
            certificate = self.document["certificate"]
            if "rho_exact" not in certificate and amount_from_text(certificate["delta"]) == self.delta:
                return ReleaseLoss(self.charged, delta=self.delta)
            return ReleaseLoss(self.charged, amount_from_text(self.document.get(RHO, certificate["rho_exact"])))
        except (KeyError, TypeError):
            raise damage("an entry") from None

    @property
    def reservation(self) -> Reservation:
        """What the charge was reserved with."""
        return Reservation(self.id, self.dataset, self.asked, self.charged, self.when)

    @property
    def token(self) -> str:
        """What the gate marked the charge with, so that an interrupted release finds it again; empty if it did not."""
        mark = self.document.get("gate")
        return str(mark.get("token", "")) if isinstance(mark, Mapping) else ""

    @property
    def owner(self) -> str:
        """For whom it was charged, out of their allotment; empty where it was the curator."""
        return str(self.document.get("owner", ""))

    @property
    def wave(self) -> str:
        """The data set that was released: that of the account, or one of the waves of a population."""
        policy = self.document["policy"]
        if not isinstance(policy, Mapping) or not policy.get("population"):
            return self.dataset
        return dataset_name(policy["dataset"])

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
            raise damage("an entry")


@dataclass(frozen=True, slots=True)
class Correction:
    """That a mistyped total was corrected, before anything was spent: to what, and when."""

    dataset: str
    total: Fraction
    delta: Fraction
    when: str


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


LONGEST_NAME = 200


def dataset_name(name: str) -> str:
    """The name under which a data set is kept.

    Post  in Unicode's composed form, so that two spellings which look the same share one total.

    >>> dataset_name("cafe\\u0301") == dataset_name("caf\\u00e9")
    True
    """
    return kept_name(name, "the data set")


def kept_name(name: str, of: str) -> str:
    """A name as it is kept, of a data set or of the owner of an allotment."""
    fix = f"write a line of 1 to {LONGEST_NAME} printable characters, without blanks at its ends"
    if not isinstance(name, str):
        raise LedgerError(f"the name of {of} is not text", fix=fix)
    composed = unicodedata.normalize("NFC", name)
    if not 1 <= len(composed) <= LONGEST_NAME or not composed.isprintable() or composed != composed.strip():
        raise LedgerError(f"the name of {of} cannot be kept", fix=fix)
    return composed


@dataclass(frozen=True, slots=True)
class Account:
    """What may be spent on one data set in all, by everyone together, and what has been spent.

    A population has an account as a data set has: `dataset` is then its name, and charges are those of all its waves.

    Attributes
    ----------
    total:   set once, when the data set is opened; a mistyped one can be corrected while nothing is spent.
    charged: the sum of all charges, settled or not.
    policy:  the governing policy, under which every release is priced.
    opened:  when, in UTC.
    delta:   above zero, releases with Gaussian noise are allowed, and `charged` is what all releases together lose at
             this delta, however they were chosen (`account.py`); at zero it is the sum of their losses.
    spent:   the sums behind `charged`, with the number of the last charge.
    """

    dataset: str
    total: Fraction
    charged: Fraction
    policy: Mapping[str, Any] = field(hash=False)
    policy_hash: str
    opened: str
    delta: Fraction = Fraction(0)
    spent: Spent = NOTHING

    def __post_init__(self) -> None:
        for name in ("total", "charged", "delta"):
            object.__setattr__(self, name, Exact(getattr(self, name)))
        amount(self.total, name="the total")
        if not 0 <= self.delta < 1:
            raise LedgerError("delta is not a probability", fix="give a small one, such as 1e-6")
        if self.charged < 0:
            raise LedgerError("the sum of charges is negative", fix="restore it from a backup")
        if document_hash(self.policy) != self.policy_hash:
            raise LedgerError(
                f"the governing policy of {self.dataset!r} does not match its hash",
                fix="restore the ledger from a backup",
            )

    @property
    def left(self) -> Fraction:
        """What the next release may still cost; nothing where more was charged than is allowed now. With Gaussian noise
        it may cost more by itself: losses compose.
        """
        return Exact(max(self.total - self.charged, Fraction(0)))
