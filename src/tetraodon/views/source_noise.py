"""Noise that looks like the data: tuples are inserted by a known source distribution ([RS07] 4.4.2).

The source is a product of public distributions of the attributes. Common tuples get more noise and rare ones less, so
that attackers whose prior follows the source are withstood with less noise in all. It protects those priors, and no
others: `SourceChannel.protected_prior` says which.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from tetraodon.domain import Domain
from tetraodon.errors import PolicyError, Refused
from tetraodon.exact.arrays import Bools, Floats, Ints
from tetraodon.noise.coins import Coins
from tetraodon.noise.discrete import poisson
from tetraodon.noise.elementary import exp_bounds, rational_heads, uniform_below
from tetraodon.policy.adversary import Adversary
from tetraodon.views.channel import SourceChannel
from tetraodon.views.sampling import Cells, merged
from tetraodon.views.tuple_files import cells_of, codes_of

MARGIN = 2.0**-36
MOST_VALUES = 100_000
"""A source has a weight for each value, and view.json tells all of them."""


def source_channel(domain: Domain, adversary: Adversary) -> SourceChannel:
    """The channel with the least noise that withstands attackers whose prior for t is at most k n source(t).

    Why  the noise that a prior d needs is keep * d (1-g) / (g-d); with the largest prior in the denominator it is
         proportional to the source and enough for every tuple. That beliefs do not fall below d/g of what they were
         binds most for the likeliest tuple, which sets keep.
    """
    assert adversary.k is not None, "an adversary with a source has it"
    weights, gamma = source_weights(domain, adversary), adversary.gamma
    largest = adversary.prior(domain.size)  # refuses a prior that depends on an unknown number of records
    each = adversary.k * (adversary.records or 0)
    likeliest = largest / each
    per_keep = each * (1 - gamma) / (gamma - largest)
    most = 1 - largest / gamma
    keep = most / (1 + most * per_keep * likeliest)
    return SourceChannel(weights, keep, keep * per_keep)


def source_weights(domain: Domain, adversary: Adversary) -> tuple[tuple[int, ...], ...]:
    """The weights of every attribute's values: those that no source names are all alike."""
    named = dict(adversary.source)
    for name, weights in named.items():
        if name not in domain.names or domain[name].size != len(weights):
            raise PolicyError("the source does not fit the domain", fix="give a weight for each value", where=name)
    if any(size > MOST_VALUES for size in domain.shape):
        raise Refused("an attribute has too many values for noise from a source", fix="declare a coarser one")
    return tuple(named.get(attribute.name, (1,) * attribute.size) for attribute in domain)


def withstands_source(channel: SourceChannel, domain: Domain, adversary: Adversary) -> bool:
    """Whether a view through this channel keeps the bounds of attackers whose priors follow its source, exactly.

    Why  with s the chance of a tuple, both bounds, multiplied out, are hardest for the largest s: (keep + scale s) k n
         (1 - g) <= g scale (1 - k n s) rises on the left and falls on the right, and so do the chances not to be shown.
    """
    if not adversary.source or channel.weights != source_weights(domain, adversary):
        return False
    gamma, d, b = adversary.gamma, adversary.prior(domain.size), channel.scale * channel.likeliest
    up = (channel.keep + b) * d * (1 - gamma) <= gamma * b * (1 - d)
    return up and channel.ratio_down >= d / gamma


def shares_of(channel: SourceChannel, domain: Domain, cells: Cells) -> Floats:
    """About the source's probability of each cell."""
    shares = np.ones(len(cells))
    for part, codes in zip(channel.weights, codes_of(domain, cells), strict=True):
        shares *= np.array(part, float)[codes.astype(np.int64)] / sum(part)
    return shares


def draw_view(channel: SourceChannel, domain: Domain, cells: Cells, coins: Coins) -> Cells:
    """A view of a table of distinct tuples, sorted, each with exactly its probability.

    Why  as for a SetChannel, on top of the noise a record t is kept with keep / (1 - b(t)).
    """
    chances = [channel.keep / (1 - channel.inserted(codes)) for codes in _rows(domain, cells)]
    kept = [rational_heads(chance, 1, coins)[0] for chance in chances]
    return merged(noise_from(channel, domain, coins), cells[np.array(kept, bool)], once=True)


def noise_from(channel: SourceChannel, domain: Domain, coins: Coins) -> Cells:
    """Every tuple of the domain, independently, with probability b(t).

    Why  a Poisson number of tuples with a whole mean M, each drawn from the source, shows t with 1 - e^(-M s(t)),
         independently of all others (Poisson thinning). M is large enough that this is at least b(t) for every t,
         and each tuple shown is then accepted with the ratio of the two.
    """
    mean = math.ceil(channel.scale / (1 - channel.scale * channel.likeliest))
    count = poisson(mean, coins)
    codes: Ints = np.empty((count, len(channel.weights)), np.int64)
    for place, part in enumerate(channel.weights):
        ends = np.cumsum(np.array(part, np.uint64))
        codes[:, place] = np.searchsorted(ends, uniform_below(int(ends[-1]), count, coins), side="right")
    candidates = np.unique(cells_of(domain, codes))
    return candidates[_accepted(channel, domain, candidates, mean, coins)]


def _accepted(channel: SourceChannel, domain: Domain, cells: Cells, mean: int, coins: Coins) -> Bools:
    """For each cell, True with chance b(t) / (1 - e^(-M s(t))); floats decide only what is far from the bar."""
    shares = shares_of(channel, domain, cells)
    bar = float(channel.scale) * shares / -np.expm1(-mean * shares) * 2.0**64
    words = coins.draw(len(cells), 64)
    drawn = words.astype(float)
    result = np.asarray(drawn < bar * (1 - MARGIN) - 4)
    for place in np.flatnonzero(~result & (drawn <= bar * (1 + MARGIN) + 4)):
        source = channel.source(domain.codes_of(int(cells[place])))
        result[place] = _below_ratio(channel.scale * source, mean * source, int(words[place]), coins)
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


def _rows(domain: Domain, cells: Cells) -> list[tuple[int, ...]]:
    return list(zip(*(part.tolist() for part in codes_of(domain, cells)), strict=True))
