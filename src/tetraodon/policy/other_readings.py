"""The promise read in other ways: by a tester who may be wrong so often, and as a change of what is believed after."""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction

from tetraodon.policy.policy import Policy
from tetraodon.policy.words import WORTHLESS, chance, odds, percent

EXACT = Context(prec=40)
ALARM = Fraction(1, 20)
"""How often the tester may be wrong."""


def other_readings(policy: Policy) -> tuple[str, ...]:
    """Two sentences that follow from the same epsilon; none where it is no protection worth the name ([MK15])."""
    if not policy.graph.has_edges or odds(policy.epsilon, 1) > WORTHLESS:
        return ()
    found = percent(power(policy.epsilon, policy.delta, ALARM))
    tester = (
        "To a tester: somebody sees the release and has to say which of two values, one step apart, a person has. "
        "Whoever takes the first for the second in at most 5 of 100 cases recognises the second in at most "
        f"{found} of cases; guessing does so in 5%."
    )
    if policy.delta or policy.known:
        return (tester,)
    apart = percent(changed_belief(policy.epsilon)).removesuffix("%")
    return (
        tester,
        "From belief to belief: whatever chance anybody gives to anything after the release, about this person or "
        f"others, they would give it the same chance, up to {apart} percentage points more or less, had this person's "
        "record been one step off.",
    )


def power(epsilon: Fraction, delta: Fraction, alarm: Fraction) -> Decimal:
    """How often a test finds one of two values that are a step apart, which mistakes the other for it so often at most.

    Why   a test is a set of outputs, and each of the two chances of a set is at most e^epsilon times the other plus
          delta; so are those of what is outside it ([KM12] section 2 reads it for delta = 0).

    >>> [percent(power(Fraction(loss), Fraction(0), Fraction(1, 20))) for loss in (0, 1, 9)]
    ['5.0%', '13.6%', '99.99%']
    """
    factor, excess = odds(epsilon, 1), _exact(delta)
    if factor.is_infinite():
        return Decimal(1)
    found = EXACT.add(EXACT.multiply(factor, _exact(alarm)), excess)
    missed = EXACT.divide(max(Decimal(0), 1 - excess - _exact(alarm)), factor)
    return min(Decimal(1), found, EXACT.subtract(Decimal(1), missed))


def changed_belief(epsilon: Fraction) -> Decimal:
    """The most by which any chance that anybody sees after a release would be another, had one record been a step off.

    Why   tanh(epsilon / 2). What is believed after an output is in proportion to the belief before times the chance of
          the output, which changes by a factor between e^-epsilon and e^epsilon for each dataset. So the odds of any
          event change by e^(2 epsilon) at most, and a chance by the most where it goes from 1 / (1 + e^epsilon) to
          e^epsilon / (1 + e^epsilon).

    >>> percent(changed_belief(Fraction(1)))
    '46.3%'
    """
    return EXACT.subtract(EXACT.multiply(chance(epsilon, 1), Decimal(2)), Decimal(1))


def _exact(number: Fraction) -> Decimal:
    return EXACT.divide(Decimal(number.numerator), Decimal(number.denominator))
