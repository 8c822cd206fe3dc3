"""A data set's account: its total, its governing policy, and what has been charged so far."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from tetraodon.errors import LedgerError
from tetraodon.ledger.amount import amount
from tetraodon.ledger.document import document_hash

LONGEST_NAME = 200


def dataset_name(name: str) -> str:
    """The name under which a data set is kept.

    Post  in Unicode's composed form, so that two spellings which look the same share one total.

    >>> dataset_name("cafe\\u0301") == dataset_name("caf\\u00e9")
    True
    """
    fix = f"write a line of 1 to {LONGEST_NAME} printable characters, without blanks at its ends"
    if not isinstance(name, str):
        raise LedgerError("the name of the data set is not text", fix=fix)
    composed = unicodedata.normalize("NFC", name)
    if not 1 <= len(composed) <= LONGEST_NAME or not composed.isprintable() or composed != composed.strip():
        raise LedgerError("the name of the data set cannot be kept", fix=fix)
    return composed


@dataclass(frozen=True, slots=True)
class Account:
    """What may be spent on one data set in all, by everyone together, and what has been spent.

    Attributes
    ----------
    total:   set once, when the data set is opened.
    charged: the sum of all charges, settled or not.
    policy:  the governing policy, under which every release is priced.
    opened:  when, in UTC.
    delta:   above zero, releases with Gaussian noise are allowed, and `charged` is what all releases together lose at
             this delta, whoever chose them (`compose.py`); at zero it is the sum of their losses.
    """

    dataset: str
    total: Fraction
    charged: Fraction
    policy: Mapping[str, Any] = field(hash=False)
    policy_hash: str
    opened: str
    delta: Fraction = Fraction(0)

    def __post_init__(self) -> None:
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
        return max(self.total - self.charged, Fraction(0))
