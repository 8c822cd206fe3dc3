"""The definitions of privacy against enumeration of priors, and the implications between them."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tetraodon.errors import PolicyError
from tetraodon.pufferfish.view_attackers import independent
from tetraodon.pufferfish.view_privacy import (
    Bounds,
    after,
    indistinguishable_of_relative,
    private_of_relative,
    relative_of_private,
)
from tetraodon.views.channel import CopyChannel, SetChannel

F = Fraction
CHANNELS = [SetChannel(F(a, 20), F(b, 20)) for a in range(1, 19, 3) for b in range(1, 19 - a, 2)]
PRIORS = [F(1, 10**6), F(1, 100), F(1, 20), F(1, 10)]


@pytest.mark.parametrize("channel", CHANNELS)
def test_private_is_what_the_definition_says(channel: SetChannel) -> None:
    """Against a fine list of independent attackers on one tuple; the other tuples do not matter to them."""
    d, gamma = F(1, 10), F(1, 3)
    leaks = [independent({"t": p}).leakage(channel) for p in PRIORS]
    holds = not any(leak.positive(gamma) or leak.negative(d, gamma) for leak in leaks)
    assert Bounds.of(channel).is_private(d, gamma) <= holds
    if not Bounds.of(channel).is_private(d, gamma):  # the bound for the left side is reached in the limit only
        assert not holds or Bounds.of(channel).low == pytest.approx(float(d / gamma), rel=1e-5)


@pytest.mark.parametrize("channel", CHANNELS)
def test_implications(channel: SetChannel) -> None:
    bounds, d = Bounds.of(channel), F(1, 20)
    gamma = private_of_relative(d, bounds.relative)
    if gamma < 1 and gamma > d:
        assert bounds.is_private(d, gamma)  # Prop. A.3, first part
    least = max(after(d, bounds.high), d / bounds.low)
    if d < least < 1:
        assert bounds.is_private(d, least)
        assert bounds.relative <= relative_of_private(d, least)  # Prop. A.3, second part
    assert bounds.indistinguishable <= indistinguishable_of_relative(bounds.relative)  # Prop. A.5 without 2 ln 2
    assert bounds.indistinguishable == channel.replace_ratio


def test_two_delta_is_needed() -> None:
    """A channel whose ratios are r and 1/r meets e^(2 delta) with equality."""
    channel = SetChannel(F(1, 2), F(1, 4))
    bounds = Bounds.of(channel)
    assert bounds.high == 1 / bounds.low == 3
    assert bounds.indistinguishable == indistinguishable_of_relative(bounds.relative) == 9


def test_copies_have_bounds_too() -> None:
    assert Bounds.of(CopyChannel(F(1, 2), F(1, 10))) == Bounds(F(1, 2), F(11, 2))


def test_the_posterior_bound_is_above_the_prior() -> None:
    with pytest.raises(PolicyError):
        relative_of_private(F(1, 2), F(1, 3))
