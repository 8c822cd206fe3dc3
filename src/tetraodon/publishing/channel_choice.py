"""When a channel withstands an adversary, and the best channel that does ([RS07] 4.2, tightened)."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from tetraodon.errors import Refused
from tetraodon.policy.adversary import Adversary, largest_ratio
from tetraodon.publishing.channel import CopyChannel, SetChannel, ViewChannel

DIGITS = 9
"""Probabilities are chosen with so many digits, rounded to the safe side."""
SPARE = Fraction(103, 100)
"""The error may be this much of the least, if less is lost."""
STEPS = 1000


def withstands(channel: ViewChannel, adversary: Adversary, d: Fraction) -> bool:
    """Whether a view through this channel keeps the adversary's bounds, exactly.

    Why  independent: a posterior stays at gamma when no likelihood ratio exceeds `largest_ratio`, and above prior * d /
         gamma, whatever the prior up to d, when none falls below d / gamma ([RS07] Def. 2.3). Exclusive: a tuple
         comes at another's expense, so the ratio is that of replacing a record (Thm 6.3 for any keep and noise);
         that they grow less sure of a tuple cannot be excluded, as the paper says.
    """
    up = largest_ratio(d, adversary.gamma)
    if adversary.kind == "exclusive":
        return channel.replace_ratio <= up
    return channel.ratio_up <= up and channel.ratio_down >= d / adversary.gamma


@lru_cache(maxsize=64)
def best_channel(adversary: Adversary, d: Fraction, share: Fraction, steps: int = STEPS) -> ViewChannel:
    """Of the channels that withstand the adversary and err hardly more than the best, the one that loses least.

    `share` is the number of records for each tuple of the domain; `steps` say how finely is searched.
    Why  for a fixed chance s of showing a record the least noise that withstands is best. Independent adversaries: the
         variance falls as s grows to the largest that the second condition allows, but hardly at its end, where leaving
         out a record becomes a rarity that gives it away. Exclusive ones: it falls and rises again. So s is searched.
    """
    up, down = largest_ratio(d, adversary.gamma), d / adversary.gamma
    most = Fraction(1)
    if adversary.kind == "independent":
        most = (1 - down) / (1 - down / up) if adversary.rows == "distinct" else 1 - down
    make = _least_noise(adversary, up)
    made = [make(_below(most * step / steps)) for step in range(1, steps + 1)]
    good = [channel for channel in made if channel is not None and withstands(channel, adversary, d)]
    if not good:
        raise Refused(
            "no probabilities keep the adversary's bounds",
            fix="allow a larger posterior, or assume an attacker who knows less",
            where="adversary",
        )
    bound = min(_variance(channel, share) for channel in good) * SPARE**2
    near = [channel for channel in good if _variance(channel, share) <= bound]
    return min(near, key=lambda channel: channel.replace_ratio * channel.presence_ratio)


def paper_channel(adversary: Adversary, d: Fraction) -> SetChannel | None:
    """The choice of [RS07]: alpha + beta = 1/2 and beta = d/gamma; 2K for exclusive adversaries (Thm 6.3)."""
    noise = d / adversary.gamma if adversary.kind == "independent" else 2 / largest_ratio(d, adversary.gamma)
    return SetChannel(Fraction(1, 2) - noise, noise) if 0 < noise < Fraction(1, 2) else None


def _least_noise(adversary: Adversary, up: Fraction) -> Callable[[Fraction], ViewChannel | None]:
    """The channel with the least noise among those that show a record with a given chance; None if there is none."""
    distinct, exclusive = adversary.rows == "distinct", adversary.kind == "exclusive"

    def make(s: Fraction) -> ViewChannel | None:
        if not 0 < s < 1:
            return None
        if distinct:
            # ratio_up = s/b <= up; or s(1-b) / (b(1-s)) <= up
            noise = rounded_above(s / (s + up * (1 - s)) if exclusive else s / up)
            return SetChannel(s - noise, noise) if 0 < noise < s else None
        # ratio_up = 1 - s + s/r <= up; or 1 + s / (r(1-s)) <= up
        noise = rounded_above(s / ((1 - s) * (up - 1)) if exclusive else s / (up - 1 + s))
        return CopyChannel(s, noise) if 0 < noise < 1 else None

    return make


def _variance(channel: ViewChannel, share: Fraction) -> Fraction:
    """The variance of a count for each tuple of the domain, of which `share` records have each."""
    return (share * channel.variance_per_record + channel.variance_per_tuple) / channel.keep**2


def _below(number: Fraction) -> Fraction:
    """A number below 1, rounded down to `DIGITS` decimals."""
    return Fraction(number.numerator * 10**DIGITS // number.denominator, 10**DIGITS)


def rounded_above(number: Fraction) -> Fraction:
    """A positive number, rounded up to `DIGITS` digits.

    >>> rounded_above(Fraction(1, 3000))
    Fraction(166666667, 500000000000)
    """
    unit = Fraction(1, 10**DIGITS)
    while number < unit * 10 ** (DIGITS - 1):
        unit /= 10
    return -(-number // unit) * unit
