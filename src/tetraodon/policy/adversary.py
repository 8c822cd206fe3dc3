"""Whom a published view has to withstand: how much they know before, and how sure they may become ([RS07])."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, TypeAlias, get_args

from pydantic import Field

from tetraodon.errors import PolicyError
from tetraodon.exact.rational import Number, decimal_text, rational
from tetraodon.policy.section import Exact, Section, Text, Whole

Kind: TypeAlias = Literal["independent", "exclusive"]
Rows: TypeAlias = Literal["repeated", "distinct"]
Source: TypeAlias = tuple[tuple[str, tuple[int, ...]], ...]
MOST_VIEWS = 1000
LARGEST_WEIGHT = 10**9


@dataclass(frozen=True, slots=True, init=False)
class Adversary:
    """An attacker whose prior for any tuple is at most `d`, or `k` times n/m, and whose posterior must stay at `gamma`.

    Attributes
    ----------
    kind:    `independent`: to them tuples are independent ([RS07] Def. 2.2), and they must not grow much less sure
             of a tuple either. `exclusive`: they know sets of tuples of which exactly one is there (Def. 6.2).
    records: the public number of records n; `k` needs it.
    rows:    `repeated` unless it is public that no two records of the table are equal.
    views:   how many views of the table, as it changes, are to be published in all.
    source:  public weights of the values of some attributes: priors are then up to `k` n times the chance of a tuple by
             these, all attributes being independent and the values of others alike, and noise follows the same chances.

    >>> Adversary(k=10, gamma="0.2", records=30162).prior(648_023_040)
    Fraction(5027, 10800384)
    """

    gamma: Fraction
    k: Fraction | None
    d: Fraction | None
    kind: Kind
    records: int | None
    rows: Rows
    views: int
    source: Source

    def __init__(
        self,
        *,
        gamma: Number,
        k: Number | None = None,
        d: Number | None = None,
        kind: Kind = "independent",
        records: int | None = None,
        rows: Rows = "repeated",
        views: int = 1,
        source: Mapping[str, Sequence[int]] | Source = (),
    ) -> None:
        if (k is None) == (d is None):
            raise PolicyError("the prior is not one of k and d", fix="give k (times n/m) or d (a probability)")
        values = {
            "gamma": rational(gamma, name="the posterior"),
            "k": None if k is None else rational(k, name="k"),
            "d": None if d is None else rational(d, name="d"),
            "kind": kind,
            "records": records,
            "rows": rows,
            "views": views,
            "source": tuple((name, tuple(weights)) for name, weights in dict(source).items()),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)
        self._check()

    def _check(self) -> None:
        if not 0 < self.gamma < 1:
            raise PolicyError("the posterior is not between 0 and 1", fix="write a probability such as 0.2")
        if self.d is not None and not 0 < self.d < 1:
            raise PolicyError("the prior is not between 0 and 1", fix="write a probability such as 1e-4")
        if self.k is not None and self.k <= 0:
            raise PolicyError("k is not positive", fix="write how many times n/m a prior may be, such as 10")
        if self.d is not None and self.gamma <= self.d:
            raise _not_above(self.d, self.gamma)
        if self.kind not in get_args(Kind) or self.rows not in get_args(Rows):
            raise PolicyError(
                "the adversary is of an unknown kind", fix="use independent or exclusive; repeated or distinct"
            )
        if self.records is not None and self.records < 1:
            raise PolicyError("the number of records is not positive", fix="write the public number of records")
        if not 1 <= self.views <= MOST_VIEWS:
            raise PolicyError(f"the number of views is not between 1 and {MOST_VIEWS}", fix="write a number such as 6")
        if self.source and (self.k is None or self.kind != "independent" or self.rows != "distinct" or self.views > 1):
            raise PolicyError(
                "noise from a source is for independent attackers with a prior of k, and for one view of distinct rows",
                fix="write `prior: {k: 3, source: ...}`, `rows: distinct` and one view, or leave the source out",
            )
        if any(not 1 <= weight <= LARGEST_WEIGHT for _, weights in self.source for weight in weights):
            raise PolicyError(
                f"a weight of the source is not between 1 and {LARGEST_WEIGHT:,}",
                fix="give whole numbers, such as counts from public tables; a tuple without noise has no protection",
            )

    def prior(self, cells: int) -> Fraction:
        """The largest prior probability of a tuple, in a domain of so many cells."""
        if self.d is not None:
            return self.d
        if self.records is None:
            raise PolicyError(
                "a prior of k n/m needs a public number of records",
                fix="write `records: N` if N is public, or give the prior as d",
                where="adversary",
            )
        assert self.k is not None
        prior = self.k * self.records / cells
        for _, weights in self.source:
            prior *= Fraction(max(weights) * len(weights), sum(weights))
        if prior >= self.gamma:
            raise _not_above(prior, self.gamma)
        return prior

    def document(self) -> dict[str, Any]:
        """The adversary as the policy file says it."""
        prior: dict[str, Any] = {"d": decimal_text(self.d or Fraction(0))}
        if self.k is not None:
            prior = {"k": decimal_text(self.k)}
        if self.source:
            prior["source"] = {name: list(weights) for name, weights in self.source}
        return {
            "prior": prior,
            "posterior": decimal_text(self.gamma),
            "kind": self.kind,
            **({"records": self.records} if self.records is not None else {}),
            "rows": self.rows,
            "views": self.views,
        }


def largest_ratio(d: Fraction, gamma: Fraction) -> Fraction:
    """The likelihood ratio that takes a prior of d to a posterior of gamma.

    >>> largest_ratio(Fraction(1, 10), Fraction(1, 2))
    Fraction(9, 1)
    """
    return gamma * (1 - d) / (d * (1 - gamma))


def _not_above(prior: Fraction, posterior: Fraction) -> PolicyError:
    return PolicyError(
        f"the posterior bound {float(posterior):g} is not above the prior {float(prior):.3g}: nothing could be learnt",
        fix="allow a posterior above the prior, or assume an attacker who knows less",
        where="adversary",
    )


class PriorSection(Section):
    """How much the attacker knows of a tuple before."""

    one_of = ("k", "d")

    k: Exact | None = None
    d: Exact | None = None
    source: dict[Text, list[Whole]] = Field(default_factory=dict)


class AdversarySection(Section):
    """Whom a published view has to withstand."""

    prior: PriorSection
    posterior: Exact
    tuples: Kind = Field(default="independent", alias="kind")
    records: Whole | None = None
    rows: Rows = "repeated"
    views: Whole = Field(default=1)

    def adversary(self) -> Adversary:
        """The value that the section describes."""
        return Adversary(
            gamma=self.posterior,
            k=self.prior.k,
            d=self.prior.d,
            kind=self.tuples,
            records=self.records,
            rows=self.rows,
            views=self.views,
            source=self.prior.source,
        )
