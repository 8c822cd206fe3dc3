"""The conditions are tight: they hold exactly when every attacker's posterior does, by enumeration."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from tests.views.test_channel import copies_law
from tetraodon.errors import Refused
from tetraodon.policy.adversary import Adversary, largest_ratio
from tetraodon.views.channel import CopyChannel, SetChannel, best_channel, paper_channel, withstands

F = Fraction
D, GAMMA = F(1, 20), F(1, 2)
PRIORS = [D, D / 2, D / 10**6]


def posterior(prior: Fraction, likelihood: Fraction, otherwise: Fraction) -> Fraction:
    return prior * likelihood / (prior * likelihood + (1 - prior) * otherwise)


def private_set(channel: SetChannel) -> bool:
    s, b = channel.shown, channel.noise
    return all(posterior(p, s, b) <= GAMMA and posterior(p, 1 - s, 1 - b) >= p * D / GAMMA for p in PRIORS)


def private_copies(channel: CopyChannel) -> bool:
    """For a record of a value that others have too, as often as they like."""
    good = True
    for others in range(3):
        without, within = copies_law(channel, others, 8), copies_law(channel, others + 1, 8)
        for p in PRIORS:
            seen = [posterior(p, a, b) for a, b in zip(within, without, strict=True)]
            good = good and max(seen) <= GAMMA and min(seen) >= p * D / GAMMA
    return good


@pytest.mark.parametrize("rows", ["distinct", "repeated"])
def test_the_best_channel_is_private_and_any_less_noise_is_not(rows: Any) -> None:
    adversary = Adversary(d=D, gamma=GAMMA, rows=rows)
    channel = best_channel(adversary, D, D)
    private: Any = private_set if rows == "distinct" else private_copies
    assert withstands(channel, adversary, D)
    assert private(channel)
    less = type(channel)(channel.keep, channel.noise * F(999, 1000))
    assert not withstands(less, adversary, D)
    assert not private(less)
    down = D / GAMMA
    most = (1 - down) / (1 - down / largest_ratio(D, GAMMA)) if rows == "distinct" else 1 - down
    kept = most + F(1, 1000) - (channel.noise if rows == "distinct" else 0)
    more = type(channel)(kept, channel.noise)
    assert not withstands(more, adversary, D)
    assert not private(more)


def exclusive_posterior(channel: SetChannel) -> Fraction:
    """The most that seeing tuple 0 alone of 20 tells somebody who knows that exactly one of them is there."""
    s, b, others = channel.shown, channel.noise, 19
    mine = s * (1 - b) ** others
    theirs = b * (1 - s) * (1 - b) ** (others - 1)
    return D * mine / (D * mine + (1 - D) * theirs)


def test_the_exclusive_condition_is_tight() -> None:
    adversary = Adversary(d=D, gamma=GAMMA, kind="exclusive", rows="distinct")
    channel = best_channel(adversary, D, D)
    assert isinstance(channel, SetChannel)
    assert exclusive_posterior(channel) <= GAMMA
    less = SetChannel(channel.keep + channel.noise / 1000, channel.noise * F(999, 1000))
    assert exclusive_posterior(less) > GAMMA
    assert not withstands(less, adversary, D)


@pytest.mark.parametrize("rows", ["distinct", "repeated"])
@pytest.mark.parametrize("kind", ["independent", "exclusive"])
def test_no_other_channel_on_a_grid_errs_far_less_or_loses_less(rows: Any, kind: Any) -> None:
    """Nothing errs 3% less; and what errs at most 3% more than the best does not lose less."""
    adversary, share = Adversary(d=D, gamma=GAMMA, rows=rows, kind=kind), F(1, 200)
    channel = best_channel(adversary, D, share)

    def cost(c: SetChannel | CopyChannel) -> Fraction:
        return (share * c.variance_per_record + c.variance_per_tuple) / c.keep**2

    def loss(c: SetChannel | CopyChannel) -> Fraction:
        return c.replace_ratio * c.presence_ratio

    grid = [
        type(channel)(F(keep, 100), F(noise, 400))
        for keep in range(1, 100)
        for noise in range(1, 400)
        if rows != "distinct" or 4 * keep + noise < 400
    ]
    good = [other for other in grid if withstands(other, adversary, D)]
    best = min(map(cost, good))
    assert cost(channel) <= best * F(103, 100) ** 2 * F(1001, 1000)
    assert all(loss(channel) <= loss(other) for other in good if cost(other) <= best * F(102, 100) ** 2)


def test_keep_is_not_pushed_to_its_limit() -> None:
    """The last per cent of keep buys hardly any error, and costs the most."""
    adversary, d, share = Adversary(d="1e-6", gamma="0.5"), F(1, 10**6), F(1, 10**7)
    channel = best_channel(adversary, d, share)
    limit = 1 - d / adversary.gamma
    pushed = CopyChannel(limit, limit / (largest_ratio(d, adversary.gamma) - 1 + limit))
    assert withstands(pushed, adversary, d)

    def error(c: SetChannel | CopyChannel) -> float:
        return float((share * c.variance_per_record + c.variance_per_tuple) ** F(1, 2) / c.keep)

    assert error(channel) <= 1.03 * error(pushed)
    assert channel.loss_replace < pushed.loss_replace - 7


@pytest.mark.parametrize("kind", ["independent", "exclusive"])
def test_the_choice_of_the_paper_is_private_too(kind: Any) -> None:
    adversary = Adversary(d=D, gamma=GAMMA, rows="distinct", kind=kind)
    paper = paper_channel(adversary, D)
    assert paper is not None
    assert withstands(paper, adversary, D)
    assert paper_channel(Adversary(d="0.4", gamma="0.5"), F(2, 5)) is None


def test_a_ratio_too_close_to_one_has_no_solution() -> None:
    adversary = Adversary(d="0.49999", gamma="0.5", kind="exclusive")
    with pytest.raises(Refused, match="no probabilities"):
        best_channel(adversary, F(49999, 100000), F(1, 2))


def test_the_largest_ratio_takes_the_prior_to_the_posterior() -> None:
    assert posterior(D, largest_ratio(D, GAMMA), F(1)) == GAMMA
