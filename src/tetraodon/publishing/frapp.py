"""Local perturbation: everybody replaces their own record by chance, and nobody needs to be trusted ([RS07] 4.3).

The gamma-diagonal matrix of FRAPP keeps a record with some probability and otherwise replaces it by a tuple drawn
uniformly.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tetraodon.domain import Domain
from tetraodon.errors import PolicyError
from tetraodon.noise.coins import Coins, system_coins
from tetraodon.noise.elementary import rational_heads, uniform_below
from tetraodon.policy.adversary import Adversary, largest_ratio
from tetraodon.publishing.columns import require_numbered
from tetraodon.publishing.sampling import Cells
from tetraodon.rational import Number, log_rounded_up, rational


@dataclass(frozen=True, slots=True)
class Frapp:
    """The gamma-diagonal perturbation of a domain: with probability `keep` a record stays, else it is drawn anew.

    >>> from tetraodon.domain import Attribute, Integers
    >>> method = Frapp(Domain((Attribute("age", Integers(1, 5)),)), Fraction(1, 2))
    >>> method.retain, method.ratio, float(method.condition)
    (Fraction(3, 5), Fraction(6, 1), 2.0)
    """

    domain: Domain
    keep: Fraction

    def __post_init__(self) -> None:
        require_numbered(self.domain)
        if not 0 < self.keep < 1:
            raise PolicyError("`keep` is not between 0 and 1", fix="choose a probability strictly between 0 and 1")

    @property
    def retain(self) -> Fraction:
        """The diagonal of the matrix: the chance that a record comes out as it was, drawn anew or not."""
        return self.keep + self.elsewhere

    @property
    def elsewhere(self) -> Fraction:
        """Every other entry of the matrix."""
        return (1 - self.keep) / self.domain.size

    @property
    def ratio(self) -> Fraction:
        """The largest ratio of entries in a row: what one perturbed record can tell about one person."""
        return self.retain / self.elsewhere

    @property
    def loss(self) -> Fraction:
        """Epsilon of one perturbed record, towards everybody: the logarithm of the ratio, rounded up."""
        return log_rounded_up(self.ratio)

    @property
    def condition(self) -> Fraction:
        """The condition number of the matrix; its eigenvalues are 1 and `keep`."""
        return 1 / self.keep

    def perturb(self, cells: Cells, *, coins: Coins | None = None) -> Cells:
        """What the records become, each on its own."""
        source = coins or system_coins()
        stays = rational_heads(self.keep, len(cells), source)
        return np.where(stays, cells, uniform_below(self.domain.size, len(cells), source))

    def estimate(self, in_view: int, in_domain: int, records: int) -> Fraction:
        """The unbiased estimate of a count from perturbed records; all of them are published, so n is known."""
        share = Fraction(in_domain, self.domain.size)
        return (in_view - records * (1 - self.keep) * share) / self.keep

    def variance(self, true: int, in_domain: int, records: int) -> Fraction:
        """The exact variance of the estimate."""
        share = Fraction(in_domain, self.domain.size)
        out = (1 - self.keep) * share
        into = self.keep + out
        return (true * into * (1 - into) + (records - true) * out * (1 - out)) / self.keep**2


def frapp(domain: Domain, *, keep: Number | None = None, adversary: Adversary | None = None) -> Frapp:
    """The gamma-diagonal perturbation of a domain, by its probability or by whom its output must withstand.

    With an adversary and a public number of records n, the perturbed records are looked at together, without names,
    and each tuple once: a tuple is then hidden among what the others drew, and the adversary's posterior is bounded as
    for a view. Who also sees that a tuple came out j times sees about j times that ratio.
    Why  with e = elsewhere, a tuple comes out with chance 1 - (1 - keep - e)(1 - e)^(n-1) if it is one of the records
         and 1 - (1 - e)^n if it is not. Their ratio is at most 1 + keep / (n e), because n e (1 - e)^(n-1) + (1 - e)^n
         is at most 1; and that of not coming out is 1 - keep / (1 - e). (keep is 1/41 for Adult.)
    """
    if (keep is None) == (adversary is None):
        raise PolicyError("neither or both of keep and adversary were given", fix="give one of them")
    if keep is not None:
        return Frapp(domain, rational(keep, name="keep"))
    assert adversary is not None
    if adversary.records is None:
        raise PolicyError("records are hidden among others, whose number is not given", fix="give records=N")
    d, gamma = adversary.prior(domain.size), adversary.gamma
    odds = (largest_ratio(d, gamma) - 1) * Fraction(adversary.records, domain.size)
    falls = (1 - d / gamma) * (domain.size - 1) / (domain.size - (1 - d / gamma))
    return Frapp(domain, min(odds / (1 + odds), falls))
