"""Channels: what they promise equals enumeration of what they do, exactly."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest

from tetraodon.errors import PolicyError
from tetraodon.views.channel import CopyChannel, SetChannel

F = Fraction
SETS = [SetChannel(F(2, 3), F(1, 150)), SetChannel(F(1, 10), F(4, 5)), SetChannel(F(1, 3), F(1, 3))]
COPIES = [CopyChannel(F(1, 2), F(1, 101)), CopyChannel(F(9, 10), F(1, 3)), CopyChannel(F(1, 7), F(5, 6))]


def set_law(channel: SetChannel, table: frozenset[int], size: int) -> dict[frozenset[int], Fraction]:
    law = {}
    for bits in itertools.product((0, 1), repeat=size):
        chance = F(1)
        for place, bit in enumerate(bits):
            p = channel.keep + channel.noise if place in table else channel.noise
            chance *= p if bit else 1 - p
        law[frozenset(itertools.compress(range(size), bits))] = chance
    return law


def copies_law(channel: CopyChannel, records: int, most: int) -> list[Fraction]:
    """P(number of copies of one value in the view), up to `most`, when so many records have it."""
    kept = [F(1)]
    for _ in range(records):
        kept = [
            (kept[i] * (1 - channel.keep) if i < len(kept) else 0) + (kept[i - 1] * channel.keep if i else 0)
            for i in range(len(kept) + 1)
        ]
    added = [(1 - channel.noise) * channel.noise**g for g in range(most + 1)]
    return [sum((kept[i] * added[v - i] for i in range(min(v, records) + 1)), F(0)) for v in range(most + 1)]


@pytest.mark.parametrize("channel", SETS)
def test_the_losses_of_a_set_are_those_of_its_law(channel: SetChannel) -> None:
    laws = {
        table: set_law(channel, frozenset(table), 3)
        for r in range(4)
        for table in map(frozenset, itertools.combinations(range(3), r))
    }
    worst = {"presence": F(1), "replace": F(1)}
    for one, other in itertools.permutations(laws, 2):
        kind = {(1, 0): "presence", (1, 1): "replace", (0, 1): "presence"}.get((len(one - other), len(other - one)))
        if kind:
            worst[kind] = max(worst[kind], *(laws[one][v] / laws[other][v] for v in laws[one]))
    assert worst["presence"] == channel.presence_ratio
    assert worst["replace"] == channel.replace_ratio


@pytest.mark.parametrize("channel", COPIES)
def test_the_ratio_of_one_more_record_lies_in_its_bounds_and_reaches_them(channel: CopyChannel) -> None:
    for records in range(4):
        fewer, more = copies_law(channel, records, 12), copies_law(channel, records + 1, 12)
        ratios = [b / a for a, b in zip(fewer, more, strict=True)]
        assert min(ratios) == ratios[0] == channel.ratio_down
        assert max(ratios) <= channel.ratio_up
        if records == 0:
            assert max(ratios[1:]) == channel.ratio_up
    assert channel.replace_ratio == 1 + channel.keep / (channel.noise * (1 - channel.keep))


@pytest.mark.parametrize("channel", SETS)
def test_the_estimate_from_a_set_is_unbiased_and_its_variance_exact(channel: SetChannel) -> None:
    table, asked = frozenset({0, 1}), frozenset({1, 2, 3})
    law = set_law(channel, table, 4)
    values = {v: channel.estimate(len(v & asked), len(asked)) for v in law}
    mean = sum((law[v] * values[v] for v in law), F(0))
    assert mean == len(table & asked)
    assert sum((law[v] * (values[v] - mean) ** 2 for v in law), F(0)) == channel.variance(1, 3)


@pytest.mark.parametrize("channel", COPIES)
def test_the_moments_of_copies(channel: CopyChannel) -> None:
    r, q = channel.noise, 1 - channel.noise
    mean, second = r / q, r * (1 + r) / q**2  # of the geometric law: sums of g P(g) and g^2 P(g)
    assert channel.added_per_tuple == mean
    assert channel.variance_per_tuple == second - mean**2
    assert channel.estimate(7, 3) == (7 - 3 * mean) / channel.keep
    expected = (2 * channel.keep * (1 - channel.keep) + 3 * (second - mean**2)) / channel.keep**2
    assert channel.variance(2, 3) == expected


@pytest.mark.parametrize("channel", [*SETS, *COPIES])
def test_what_is_charged_is_not_below_the_loss(channel: SetChannel | CopyChannel) -> None:
    import math

    for loss, ratio in (
        (channel.loss_presence, channel.presence_ratio),
        (channel.loss_replace, channel.replace_ratio),
    ):
        assert 0 <= float(loss) - math.log(ratio) < 2e-12


@pytest.mark.parametrize(
    ("kind", "keep", "noise"),
    [(SetChannel, 0, F(1, 2)), (SetChannel, F(1, 2), F(1, 2)), (CopyChannel, 1, F(1, 2)), (CopyChannel, F(1, 2), 1)],
)
def test_probabilities_outside_are_refused(kind: type[SetChannel], keep: Fraction, noise: Fraction) -> None:
    with pytest.raises(PolicyError, match="Fix:"):
        kind(F(keep), F(noise))
