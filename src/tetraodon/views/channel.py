"""The alpha-beta channel: retention and insertion, and the best one against an adversary ([RS07] 4.2).

Three channels, one interface. `SetChannel` is the algorithm of [RS07] for tables whose rows all differ; `CopyChannel`
is its form for tables that repeat rows, `SourceChannel` one whose noise follows a public distribution. With n_V tuples
of a view and n_D of the domain that satisfy a condition, all estimate (n_V - n_D * added_per_tuple) / keep, without
bias.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

from tetraodon.errors import PolicyError, Refused, ReleaseError
from tetraodon.exact.rational import log_rounded_up, stated_number
from tetraodon.policy.adversary import Adversary, largest_ratio

# -- channel ----------------------------------------------------------------------------------------


class _Channel:
    """What all channels say of how often a tuple is shown, and what follows from it.

    Attributes
    ----------
    shown:               the probability that a record is in the view; with noise from a source, the least.
    added_per_tuple:     noise tuples to be expected for each tuple of the domain.
    variance_per_tuple:  what each tuple of the domain adds to the variance of a count in the view.
    variance_per_record: what each record adds to it besides; it may be below zero.
    ratio_up:            the most by which a view can favour one record more: when it shows it, or many copies.
    ratio_down:          the least likelihood ratio of one record more: when the view does not show it.
    """

    __slots__ = ()
    keep: Fraction

    if TYPE_CHECKING:  # each channel states them

        @property
        def added_per_tuple(self) -> Fraction: ...
        @property
        def variance_per_tuple(self) -> Fraction: ...
        @property
        def variance_per_record(self) -> Fraction: ...
        @property
        def ratio_up(self) -> Fraction: ...
        @property
        def ratio_down(self) -> Fraction: ...

    @property
    def presence_ratio(self) -> Fraction:
        """The worst likelihood ratio between tables that differ in one record more or less."""
        return max(self.ratio_up, 1 / self.ratio_down)

    @property
    def replace_ratio(self) -> Fraction:
        """The worst likelihood ratio between tables that differ in the value of one record."""
        return self.ratio_up / self.ratio_down

    @property
    def loss_presence(self) -> Fraction:
        """Epsilon of adding or removing one record: the logarithm, rounded up in the twelfth decimal."""
        return log_rounded_up(self.presence_ratio)

    @property
    def loss_replace(self) -> Fraction:
        """Epsilon of replacing one record: the logarithm, rounded up in the twelfth decimal."""
        return log_rounded_up(self.replace_ratio)

    def over(self, tuples: int) -> int:
        """What a domain of so many tuples counts as where noise is expected for each."""
        return tuples

    def estimate(self, in_view: int, in_domain: int) -> Fraction:
        """The unbiased estimate of a count ([RS07] Algorithm 3)."""
        return (in_view - in_domain * self.added_per_tuple) / self.keep

    def variance(self, true: Fraction | int, in_domain: int) -> Fraction:
        """The exact variance of the estimate of a count that is `true` in the table."""
        return (true * self.variance_per_record + in_domain * self.variance_per_tuple) / self.keep**2


@dataclass(frozen=True, slots=True)
class SetChannel(_Channel):
    """A tuple of the table is in the view with probability `keep + noise`, any other with probability `noise`.

    These are alpha and beta of [RS07] Algorithm 1.

    >>> channel = SetChannel(Fraction(2, 3), Fraction(1, 150))
    >>> float(channel.estimate(6, 549))  # [RS07] Example 4.1 with the right numbers
    3.51
    """

    keep: Fraction
    noise: Fraction

    def __post_init__(self) -> None:
        _probability("keep", self.keep)
        _probability("noise", self.noise)
        if self.keep + self.noise >= 1:
            raise PolicyError("keep and noise add up to 1 or more", fix="choose them so that keep + noise < 1")

    @property
    def shown(self) -> Fraction:
        return self.keep + self.noise

    @property
    def added_per_tuple(self) -> Fraction:
        return self.noise

    @property
    def variance_per_tuple(self) -> Fraction:
        return self.noise * (1 - self.noise)

    @property
    def variance_per_record(self) -> Fraction:
        return self.shown * (1 - self.shown) - self.variance_per_tuple

    @property
    def ratio_up(self) -> Fraction:
        return self.shown / self.noise

    @property
    def ratio_down(self) -> Fraction:
        return (1 - self.shown) / (1 - self.noise)


@dataclass(frozen=True, slots=True)
class CopyChannel(_Channel):
    """Every record is kept with probability `keep`; every tuple of the domain gets g copies, P(g) = (1-noise) noise^g.

    The likelihood ratio of one more record of any value lies in [1-keep, 1-keep+keep/noise], whatever the number of
    records that have it already (docs/errata.md, "Sets and multisets").

    >>> channel = CopyChannel(Fraction(1, 2), Fraction(1, 101))
    >>> channel.added_per_tuple, channel.presence_ratio
    (Fraction(1, 100), Fraction(51, 1))
    """

    keep: Fraction
    noise: Fraction

    def __post_init__(self) -> None:
        _probability("keep", self.keep)
        _probability("noise", self.noise)

    @property
    def shown(self) -> Fraction:
        return self.keep

    @property
    def added_per_tuple(self) -> Fraction:
        return self.noise / (1 - self.noise)

    @property
    def variance_per_tuple(self) -> Fraction:
        return self.noise / (1 - self.noise) ** 2

    @property
    def variance_per_record(self) -> Fraction:
        return self.keep * (1 - self.keep)

    @property
    def ratio_up(self) -> Fraction:
        return 1 - self.keep + self.keep / self.noise

    @property
    def ratio_down(self) -> Fraction:
        return 1 - self.keep


@dataclass(frozen=True, slots=True)
class SourceChannel(_Channel):
    """A tuple of the table is in the view with probability `keep` + b(t), any other with b(t) = `scale` * source(t).

    `weights` holds whole numbers, one for each value of each attribute; source(t) is the product of their shares. Noise
    that looks like the data is expected by weight, not by tuple: a tuple counts as the product of its weights wherever
    another channel counts it as one ([RS07] 4.4.2).
    """

    weights: tuple[tuple[int, ...], ...]
    keep: Fraction
    scale: Fraction

    def __post_init__(self) -> None:
        if any(type(weight) is not int or weight < 1 for part in self.weights for weight in part):
            raise PolicyError(
                "the source does not give every value of every attribute a weight of at least 1",
                fix="give whole numbers, such as counts from public tables; a tuple without noise has no protection",
            )
        if not (self.keep > 0 and self.scale > 0 and self.keep + self.scale * self.likeliest < 1):
            raise PolicyError("keep and noise are not probabilities", fix="choose them so that keep + noise < 1")

    def over(self, tuples: int) -> int:  # noqa: ARG002
        return math.prod(sum(part) for part in self.weights)

    def source(self, codes: Sequence[int]) -> Fraction:
        """The source's probability of a tuple."""
        weight = math.prod(part[code] for part, code in zip(self.weights, codes, strict=True))
        return Fraction(weight, self.over(0))

    @property
    def likeliest(self) -> Fraction:
        """The largest probability of a tuple."""
        return Fraction(math.prod(max(part) for part in self.weights), self.over(0))

    @property
    def rarest(self) -> Fraction:
        """The smallest probability of a tuple."""
        return Fraction(math.prod(min(part) for part in self.weights), self.over(0))

    def inserted(self, codes: Sequence[int]) -> Fraction:
        """The probability that a tuple nobody has is in the view."""
        return self.scale * self.source(codes)

    def protected_prior(self, codes: Sequence[int], gamma: Fraction) -> Fraction:
        """The largest prior for this tuple that cannot become more than gamma: b/(keep+b) >= d(1-g)/(g(1-d))."""
        b = self.inserted(codes)
        return gamma * b / (gamma * b + (1 - gamma) * (self.keep + b))

    @property
    def noise(self) -> Fraction:
        """Noise tuples to be expected for each unit of weight."""
        return self.scale / self.over(0)

    added_per_tuple = noise

    @property
    def shown(self) -> Fraction:
        return self.keep

    @property
    def variance_per_tuple(self) -> Fraction:
        return self.noise

    @property
    def variance_per_record(self) -> Fraction:
        return self.keep * (1 - self.keep)

    @property
    def ratio_up(self) -> Fraction:
        return (self.keep + self.scale * self.rarest) / (self.scale * self.rarest)

    @property
    def ratio_down(self) -> Fraction:
        common = self.scale * self.likeliest
        return (1 - common - self.keep) / (1 - common)


ViewChannel: TypeAlias = SetChannel | CopyChannel | SourceChannel


def _probability(name: str, number: Fraction) -> None:
    if not 0 < number < 1:
        raise PolicyError(f"`{name}` is not between 0 and 1", fix="choose a probability strictly between 0 and 1")


def channel_document(channel: ViewChannel) -> dict[str, Any]:
    """A channel as JSON; the probabilities are exact fractions."""
    rows = "repeated" if isinstance(channel, CopyChannel) else "distinct"
    numbers = {"keep": channel.keep, "noise": channel.noise, "added_per_tuple": channel.added_per_tuple}
    source = {"source": [list(part) for part in channel.weights]} if isinstance(channel, SourceChannel) else {}
    return {"rows": rows, **{name: str(number) for name, number in numbers.items()}, **source}


def channel_from(document: Mapping[str, Any]) -> ViewChannel:
    """The channel that a document describes."""
    keep, noise = stated_number(document["keep"]), stated_number(document["noise"])
    if (source := document.get("source")) is not None:
        weights = tuple(tuple(part) for part in source)
        return SourceChannel(weights, keep, noise * math.prod(sum(part) for part in weights))
    match document["rows"]:
        case "distinct":
            return SetChannel(keep, noise)
        case "repeated":
            return CopyChannel(keep, noise)
        case _:
            raise ReleaseError("the view is of an unknown kind", fix="upgrade tetraodon")


# -- channel choice ---------------------------------------------------------------------------------
# When a channel withstands an adversary, and the best channel that does ([RS07] 4.2, tightened).

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
