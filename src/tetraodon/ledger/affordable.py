"""Whether what is left of a total covers one release more."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from tetraodon.errors import BudgetExhausted, LedgerError
from tetraodon.ledger.account import Account
from tetraodon.ledger.amount import shown_above, shown_below
from tetraodon.ledger.compose import ReleaseLoss, composed
from tetraodon.ledger.entry import Entry


def check_affordable(account: Account, earlier: Sequence[ReleaseLoss], new: Entry, *, after: Fraction | None) -> None:
    """Refuse an entry that does not fit its account beside the earlier ones.

    Pre   `earlier` are all losses of the account, in order; with `after`, the charge of the new one was computed
          for a data set on which exactly that much had been charged.
    """
    if after is not None and account.charged != after:
        raise LedgerError(
            f"another release of {new.dataset!r} was charged while this one was priced, and losses do not add up here",
            fix="run the same command again",
        )
    if new.delta != (account.delta if new.delta else 0) or (after is not None and account.delta):
        opened = f"for a delta of {shown_below(account.delta)}" if account.delta else "without a delta"
        raise BudgetExhausted(
            f"this release does not fit a data set that was opened {opened}",
            fix="leave delta out of the policy's budget, or write the delta of the data set",
        )
    together = composed([*earlier, new.loss], account.delta, account.total)
    if together > account.total:
        costs = f"this release costs epsilon {shown_above(new.charged)}"
        if account.delta:
            costs += f" by itself and {shown_above(together - account.charged)} beside the earlier ones"
        raise BudgetExhausted(
            f"{costs}, and data set {new.dataset!r} has "
            f"{shown_below(account.left)} left of {shown_below(account.total)}",
            fix="ask for at most what is left, or open a new data set, which needs new data",
        )
