"""Noise that looks like the data: tuples are inserted by a known source distribution ([RS07] 4.4.2).

The source is a product of public distributions of the attributes. Common tuples get more noise and rare ones less, so
that attackers whose prior follows the source are withstood with less noise in all. It protects those priors, and no
others: `protected_prior` says which.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tetraodon.arrays import Bools
from tetraodon.domain import Domain
from tetraodon.errors import PolicyError
from tetraodon.inference.estimate import CONFIDENCE
from tetraodon.noise.coins import Coins, system_coins
from tetraodon.noise.elementary import rational_heads, uniform_below
from tetraodon.noise.exponential import exp_bounds
from tetraodon.noise.poisson import poisson
from tetraodon.policy.adversary import Adversary
from tetraodon.publishing.columns import cells_of, codes_of, require_numbered
from tetraodon.publishing.interval import EXPONENTS, ROUNDING
from tetraodon.publishing.sampling import Cells, merged
from tetraodon.rational import Number, log_rounded_up, rational
from tetraodon.workload.condition.read import truth_table

MARGIN = 2.0**-36


@dataclass(frozen=True, slots=True)
class SourceChannel:
    """A tuple of the table is in the view with probability `keep` + b(t), any other with b(t) = `scale` * source(t).

    `weights` holds whole numbers, one for each value of each attribute; source(t) is the product of their shares.
    """

    domain: Domain
    weights: tuple[tuple[int, ...], ...]
    keep: Fraction
    scale: Fraction

    def __post_init__(self) -> None:
        require_numbered(self.domain)
        if tuple(map(len, self.weights)) != self.domain.shape or any(w < 1 for part in self.weights for w in part):
            raise PolicyError(
                "the source does not give every value of every attribute a weight of at least 1",
                fix="give whole numbers, such as counts from public tables; a tuple without noise has no protection",
            )
        if not (self.keep > 0 and self.scale > 0 and self.keep + self.scale * self.likeliest < 1):
            raise PolicyError("keep and noise are not probabilities", fix="choose them so that keep + noise < 1")

    def source(self, codes: Sequence[int]) -> Fraction:
        """The source's probability of a tuple."""
        shares = (Fraction(part[code], sum(part)) for part, code in zip(self.weights, codes, strict=True))
        return math.prod(shares, start=Fraction(1))

    @property
    def likeliest(self) -> Fraction:
        """The largest probability of a tuple."""
        return self.source([part.index(max(part)) for part in self.weights])

    @property
    def rarest(self) -> Fraction:
        """The smallest probability of a tuple."""
        return self.source([part.index(min(part)) for part in self.weights])

    def noise(self, codes: Sequence[int]) -> Fraction:
        """The probability that a tuple nobody has is inserted."""
        return self.scale * self.source(codes)

    def protected_prior(self, codes: Sequence[int], gamma: Fraction) -> Fraction:
        """The largest prior for this tuple that cannot become more than gamma: b/(keep+b) >= d(1-g)/(g(1-d))."""
        b = self.noise(codes)
        return gamma * b / (gamma * b + (1 - gamma) * (self.keep + b))

    @property
    def loss_presence(self) -> Fraction:
        """Epsilon of one record more or less, over the worst tuple, rounded up."""
        rare, common = self.scale * self.rarest, self.scale * self.likeliest
        return log_rounded_up(max((self.keep + rare) / rare, (1 - common) / (1 - common - self.keep)))

    @property
    def loss_replace(self) -> Fraction:
        """Epsilon of one record replaced: of a tuple shown, the rarest, for one not shown, the most common."""
        rare, common = self.scale * self.rarest, self.scale * self.likeliest
        return log_rounded_up((self.keep + rare) / rare * (1 - common) / (1 - common - self.keep))

    def mass(self, places: Sequence[int], holds: Bools) -> Fraction:
        """Noise tuples expected where a condition holds: the sum of b(t) over the domain, exactly.

        `holds` is the condition's truth table over the attributes at `places`; the others add up to 1.
        """
        total = np.array(self.scale.numerator, object)
        for place in places:
            total = np.multiply.outer(total, np.array(self.weights[place], object))
        below = self.scale.denominator * math.prod(sum(self.weights[place]) for place in places)
        return Fraction(int(np.sum(np.where(holds, total, 0))), below)

    def mass_where(self, condition: str) -> Fraction:
        """Noise tuples expected where an SQL condition holds."""
        names, holds = truth_table(condition, self.domain)
        places = [self.domain.position(name) for name in names]
        return self.mass(places, holds.reshape([self.domain.shape[place] for place in places]))

    def estimate(self, in_view: int, mass: Fraction) -> Fraction:
        """The unbiased estimate of a count: the paper's sum over the table is secret, this one is over the domain."""
        return (in_view - mass) / self.keep

    def interval(self, in_view: int, mass: Fraction, *, confidence: Number = CONFIDENCE) -> tuple[int, int]:
        """The least and the largest count that a view does not contradict: each misses with half of what is allowed.

        Why  Chernoff. With g = e^x - 1 the noise has ln E e^(x N) <= mass * g, and a record at t multiplies that by
             1 + keep g / (1 + b(t) g) <= 1 + keep g, whatever its tuple and the sign of g. So each x bounds the count.
        """
        budget = math.log(float((1 - rational(confidence, name="confidence")) / 2))
        around, spread = float(mass), float(mass) + max(0.0, float(self.estimate(in_view, mass))) + 1
        low, high = 0.0, math.inf
        for size in math.sqrt(-2 * budget / spread) * EXPONENTS:
            for x in (size, -size):
                grown = math.expm1(x)
                per_record = math.log1p(float(self.keep) * grown)
                end = (budget + x * in_view - around * grown - ROUNDING * (1 + size * in_view + around)) / per_record
                low, high = (max(low, end), high) if x > 0 else (low, min(high, end))
        least = math.ceil(low)
        return least, max(least, math.floor(high))

    def draw(self, cells: Cells, *, coins: Coins | None = None) -> Cells:
        """A view of a table of distinct tuples, sorted, each with exactly its probability.

        Why  as for a SetChannel, on top of the noise a record t is kept with keep / (1 - b(t)).
        """
        toss = coins or system_coins()
        chances = [self.keep / (1 - self.noise(codes)) for codes in _rows(self.domain, cells)]
        kept = [rational_heads(chance, 1, toss)[0] for chance in chances]
        return merged(self.noise_cells(toss), cells[np.array(kept, bool)], once=True)

    def noise_cells(self, coins: Coins) -> Cells:
        """Every tuple of the domain, independently, with probability b(t).

        Why  a Poisson number of tuples with a whole mean M, each drawn from the source, shows t with 1 - e^(-M s(t)),
             independently of all others (Poisson thinning). M is large enough that this is at least b(t) for every t,
             and each tuple shown is then accepted with the ratio of the two.
        """
        mean = math.ceil(self.scale / (1 - self.scale * self.likeliest))
        count = poisson(mean, coins)
        codes = np.empty((count, len(self.weights)), np.int64)
        for place, part in enumerate(self.weights):
            ends = np.cumsum(np.array(part, np.uint64))
            codes[:, place] = np.searchsorted(ends, uniform_below(int(ends[-1]), count, coins), side="right")
        candidates = np.unique(cells_of(self.domain, codes))
        return candidates[self._accepted(candidates, mean, coins)]

    def _accepted(self, cells: Cells, mean: int, coins: Coins) -> Bools:
        """For each cell, True with chance b(t) / (1 - e^(-M s(t))); floats decide only what is far from the bar."""
        shares = np.ones(len(cells))
        for part, codes in zip(self.weights, codes_of(self.domain, cells), strict=True):
            shares *= np.array(part, float)[codes] / sum(part)
        bar = float(self.scale) * shares / -np.expm1(-mean * shares) * 2.0**64
        words = coins.draw(len(cells), 64)
        drawn = words.astype(float)
        result = np.asarray(drawn < bar * (1 - MARGIN) - 4)
        for place in np.flatnonzero(~result & (drawn <= bar * (1 + MARGIN) + 4)):
            source = self.source(self.domain.codes_of(int(cells[place])))
            result[place] = _below_ratio(self.scale * source, mean * source, int(words[place]), coins)
        return result


def _below_ratio(b: Fraction, exponent: Fraction, word: int, coins: Coins) -> bool:
    """Whether a uniform number that starts with `word` lies below b / (1 - e^-exponent)."""
    width = 64
    while True:
        bits = width + 64
        low, high = exp_bounds(exponent, bits)
        scaled = b * (1 << bits) * (1 << width)
        if (word + 1) * ((1 << bits) - low) <= scaled:
            return True
        if word * ((1 << bits) - high) >= scaled:
            return False
        word = word << 64 | int(coins.draw(1, 64)[0])
        width += 64


def source_channel(domain: Domain, weights: Sequence[Sequence[int]], adversary: Adversary) -> SourceChannel:
    """The channel with the least noise that withstands attackers whose prior for t is at most k n source(t).

    Why  the noise that a prior d needs is keep * d (1-g) / (g-d); with the largest prior in the denominator it is
         proportional to the source and enough for every tuple. That beliefs do not fall below d/g of what they were
         binds most for the likeliest tuple, which sets keep.
    """
    if adversary.k is None or adversary.records is None or adversary.kind != "independent":
        raise PolicyError(
            "a source needs independent attackers with priors of k n times its probabilities",
            fix="give an Adversary with k and records",
        )
    gamma, each = adversary.gamma, adversary.k * adversary.records
    fixed = tuple(tuple(int(weight) for weight in part) for part in weights)
    likeliest = SourceChannel(domain, fixed, Fraction(1, 10**9), Fraction(1, 10**9)).likeliest
    largest = each * likeliest
    if largest >= gamma:
        raise PolicyError(
            "the likeliest tuple has a prior that is not below the posterior bound",
            fix="assume a smaller k, or declare finer attributes",
        )
    per_keep = each * (1 - gamma) / (gamma - largest)
    most = 1 - largest / gamma
    keep = most / (1 + most * per_keep * likeliest)
    return SourceChannel(domain, fixed, keep, keep * per_keep)


def _rows(domain: Domain, cells: Cells) -> list[tuple[int, ...]]:
    return list(zip(*(part.tolist() for part in codes_of(domain, cells)), strict=True))
