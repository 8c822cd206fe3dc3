"""How records reach a view: kept with some probability, put among tuples that nobody has.

Two channels, one interface. `SetChannel` is the algorithm of [RS07] for tables whose rows all differ; `CopyChannel`
is its form for tables that repeat rows. With n_V tuples of a view and n_D of the domain that satisfy a condition, both
estimate (n_V - n_D * added_per_tuple) / keep, without bias.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from tetraodon.errors import PolicyError, ReleaseError
from tetraodon.rational import log_rounded_up, stated_number


class _Channel(ABC):
    """What follows, in both channels alike, from how often a tuple is shown."""

    __slots__ = ()
    keep: Fraction

    @property
    @abstractmethod
    def added_per_tuple(self) -> Fraction: ...

    @property
    @abstractmethod
    def variance_per_tuple(self) -> Fraction: ...

    @property
    @abstractmethod
    def variance_per_record(self) -> Fraction: ...

    @property
    @abstractmethod
    def ratio_up(self) -> Fraction: ...

    @property
    @abstractmethod
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
        """The probability that a tuple of the table is in the view."""
        return self.keep + self.noise

    @property
    def added_per_tuple(self) -> Fraction:
        """Noise tuples to be expected for each tuple of the domain."""
        return self.noise

    @property
    def variance_per_tuple(self) -> Fraction:
        """What each tuple of the domain adds to the variance of a count in the view."""
        return self.noise * (1 - self.noise)

    @property
    def variance_per_record(self) -> Fraction:
        """What each record adds to it besides; it may be below zero."""
        return self.shown * (1 - self.shown) - self.variance_per_tuple

    @property
    def ratio_up(self) -> Fraction:
        """The most by which a view can favour that a tuple is in the table: when it shows that tuple."""
        return self.shown / self.noise

    @property
    def ratio_down(self) -> Fraction:
        """The least likelihood ratio of being in the table: when the view does not show the tuple."""
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
        """The probability that a record is in the view."""
        return self.keep

    @property
    def added_per_tuple(self) -> Fraction:
        """Noise tuples to be expected for each tuple of the domain."""
        return self.noise / (1 - self.noise)

    @property
    def variance_per_tuple(self) -> Fraction:
        """What each tuple of the domain adds to the variance of a count in the view."""
        return self.noise / (1 - self.noise) ** 2

    @property
    def variance_per_record(self) -> Fraction:
        """What each record adds to it besides."""
        return self.keep * (1 - self.keep)

    @property
    def ratio_up(self) -> Fraction:
        """The most by which a view can favour one record more of some value: when it shows many copies."""
        return 1 - self.keep + self.keep / self.noise

    @property
    def ratio_down(self) -> Fraction:
        """The least likelihood ratio of one record more: when the view has no copy of its value."""
        return 1 - self.keep


ViewChannel: TypeAlias = SetChannel | CopyChannel


def _probability(name: str, number: Fraction) -> None:
    if not 0 < number < 1:
        raise PolicyError(f"`{name}` is not between 0 and 1", fix="choose a probability strictly between 0 and 1")


def channel_document(channel: ViewChannel) -> dict[str, Any]:
    """A channel as JSON; the probabilities are exact fractions."""
    rows = "distinct" if isinstance(channel, SetChannel) else "repeated"
    numbers = {"keep": channel.keep, "noise": channel.noise, "added_per_tuple": channel.added_per_tuple}
    return {"rows": rows, **{name: str(number) for name, number in numbers.items()}}


def channel_from(document: Mapping[str, Any]) -> ViewChannel:
    """The channel that a document describes."""
    keep, noise = stated_number(document["keep"]), stated_number(document["noise"])
    match document["rows"]:
        case "distinct":
            return SetChannel(keep, noise)
        case "repeated":
            return CopyChannel(keep, noise)
        case _:
            raise ReleaseError("the view is of an unknown kind", fix="upgrade tetraodon")
