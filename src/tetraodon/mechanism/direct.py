"""Noise on the very answers that were asked for, or on the sums that they are computed from."""

# ruff: noqa: ARG002 - every mechanism is asked in the same way, whatever it needs to know

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from tetraodon.certificate.kernel import certify_measurements, sensitivity_of
from tetraodon.domain import Attribute, Domain
from tetraodon.mechanism.one_scale import OneScale
from tetraodon.mechanism.strategy import Scaled, Strategy
from tetraodon.policy.policy import Policy
from tetraodon.questions.query import Query
from tetraodon.wording import listing
from tetraodon.workload.contribution import Answerers, One
from tetraodon.workload.each_person import EachPerson
from tetraodon.workload.linear import LinearQuery, Measurement
from tetraodon.workload.number import Number


@dataclass(frozen=True)
class Direct(OneScale):
    """Counts, sums and named ranges; a mean is a sum and a count."""

    name = "direct"
    words = "noise on the answer"
    tells_answers = True

    def propose(self, query: Query, policy: Policy) -> Iterator[Strategy]:
        """Of several sums those that no secret changes are told exactly, unless none would be left."""
        sums = query.sums(policy.domain)
        if sums:
            able = len(sums) > 1 and policy.size_is_public
            exact = tuple(one for one in sums if able and sensitivity_of(policy.graph, one).value == 0)
            noisy = tuple(one for one in sums if one not in exact)
            if not noisy:
                noisy, exact = sums, ()
            yield Strategy(self, noisy, exact, weights=_equal_costs(noisy, policy))

    def variance_factor(self, query: Query, strategy: Strategy, domain: Domain) -> float:
        return 1.0

    def most_terms(self, query: Query, at: Scaled) -> int:
        return 1

    def sentence(self, at: Scaled, noise: str, size: str) -> str:
        first, *others = (_called(query) for query in at.strategy.noisy)
        if not others:
            return f"{noise} was added to the answer itself{size}."
        were = f"{listing(others)} {'was' if len(others) == 1 else 'were'}"
        return f"{noise} was added to {first}{size}. T{were[1:]} measured with such noise as well."


DIRECT = Direct()


def _called(query: LinearQuery) -> str:
    match query.contribution:
        case One():
            return "the number of records"
        case Answerers((name,)):
            return f"the number of those whose {name} is not missing"
        case Number(attribute=attribute, times=Attribute() as times):
            return f"the sum of products of {attribute.name} and {times.name}"
        case Number(attribute=attribute, squared=squared):
            return f"the sum of {'squares of ' if squared else ''}{attribute.name}"
        case EachPerson(attribute=None):
            return "the number of people"
        case EachPerson(attribute=Attribute() as attribute):
            return f"the sum of what people have of {attribute.name}"
        case _:
            return "the answer itself"


def _equal_costs(sums: Sequence[LinearQuery], policy: Policy) -> tuple[Fraction, ...]:
    """How much less noise the other sums need than the first: each is to cost as much as the first.

    Why   the error of S / C is about (error of S - mean * error of C) / C, and the mean is as large as what one
          record moves the sum by.
    """
    if len(sums) == 1:
        return ()
    each = policy.rows_per_person
    first, *others = (
        Fraction(certify_measurements(policy.graph, [Measurement(query, Fraction(1))], rows_per_person=each).epsilon)
        for query in sums
    )
    return (Fraction(1), *(cost / first if first and cost else Fraction(1) for cost in others))
