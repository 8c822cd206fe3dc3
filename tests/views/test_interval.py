"""Intervals of counts: the exact law, exact coverage by enumeration, and tightness."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from tetraodon.views.channel import CopyChannel, SetChannel, ViewChannel
from tetraodon.views.interval import ViewCountLaw, count_interval, moments, sum_interval

HALF = (Fraction(1, 40), Fraction(1, 40))
SETS = SetChannel(Fraction(1, 2), Fraction(1, 10))
COPIES = CopyChannel(Fraction(3, 5), Fraction(1, 8))


def law(channel: ViewChannel, true: int, in_domain: int, reach: int) -> list[Fraction]:
    """The exact law of the view's count, by convolving one tuple or record after the other."""
    found = [Fraction(1)]
    if isinstance(channel, SetChannel):
        coins = [channel.shown] * true + [channel.noise] * (in_domain - true)
    else:
        coins = [channel.keep] * true
    for p in coins:
        found = [
            (found[i] if i < len(found) else 0) * (1 - p) + (found[i - 1] * p if i else 0)
            for i in range(len(found) + 1)
        ]
    found = (found + [Fraction(0)] * reach)[:reach]
    if isinstance(channel, CopyChannel):
        one = [(1 - channel.noise) * channel.noise**g for g in range(reach)]
        for _ in range(in_domain):
            found = [sum((found[i] * one[k - i] for i in range(k + 1)), Fraction(0)) for k in range(reach)]
    return found


@pytest.mark.parametrize("channel", [SETS, COPIES])
@pytest.mark.parametrize("true", [0, 3, 7])
def test_tails_are_those_of_the_law(channel: ViewChannel, true: int) -> None:
    exact = law(channel, true, 9, 40)
    for count in range(20):
        found = ViewCountLaw.of(channel, true, 9)
        assert found.at_most(count) == pytest.approx(float(sum(exact[: count + 1])), abs=1e-12)
        assert found.at_least(count) == pytest.approx(1 - float(sum(exact[:count])), abs=1e-12)


@pytest.mark.parametrize("channel", [SETS, COPIES])
@pytest.mark.parametrize("in_domain", [8, 20])
def test_coverage_is_at_least_what_is_said_for_every_truth(channel: ViewChannel, in_domain: int) -> None:
    """Exactly, by adding up the probabilities of all counts whose interval holds the truth."""
    for true in range(9):
        exact = law(channel, true, in_domain, 60)
        held = [count_interval(channel, count, (in_domain, in_domain), HALF) for count in range(60)]
        missed_below = sum((p for p, (low, _) in zip(exact, held, strict=True) if true < low), Fraction(0))
        missed_above = sum((p for p, (_, high) in zip(exact, held, strict=True) if true > high), Fraction(0))
        assert missed_below <= HALF[0]
        assert missed_above <= HALF[1]


def test_it_is_clopper_and_pearson_without_noise() -> None:
    """With next to no noise the count is binomial and the interval is the exact test's."""
    quiet = SetChannel(Fraction(1, 2), Fraction(1, 10**12))
    low, high = count_interval(quiet, 30, (10**6, 10**6), HALF)
    accepted = [q for q in range(30, 120) if min(stats.binom.sf(29, q, 0.5), stats.binom.cdf(30, q, 0.5)) >= 0.025]
    assert (low, high) == (accepted[0], accepted[-1])


@pytest.mark.parametrize("in_domain", [10**9, 10**18, 10**39])
@pytest.mark.parametrize("copies", [False, True])
def test_large_domains(in_domain: int, copies: bool) -> None:
    """A million noise tuples, whatever the domain: close to the normal interval, and never much wider."""
    noise = Fraction(10**6, in_domain)
    channel: ViewChannel = CopyChannel(Fraction(1, 2), noise) if copies else SetChannel(Fraction(1, 2), noise)
    low, high = count_interval(channel, 10**6 + 50_000, (in_domain, in_domain), HALF)
    spread = math.sqrt(float(channel.variance(100_000, in_domain)))
    middle = float(channel.estimate(10**6 + 50_000, in_domain))
    assert low == pytest.approx(middle - 1.96 * spread, abs=0.03 * spread)
    assert high == pytest.approx(middle + 1.96 * spread, abs=0.03 * spread)


def test_blocks_only_widen() -> None:
    channel = CopyChannel(Fraction(1, 2), Fraction(1, 1000))
    low, high = count_interval(channel, 5_000_000, (10**6, 10**6), HALF)
    spread = math.sqrt(float(channel.variance(10**7, 10**6)))
    assert 1.95 * spread < (high - low) / 2 < 2.1 * spread


def test_public_numbers_cut_it_off() -> None:
    assert count_interval(SETS, 10, (10, 10), HALF)[1] == 10
    assert count_interval(COPIES, 30, (10, 10), HALF, 12)[1] == 12
    assert count_interval(SETS, 0, (1000, 1000), HALF)[0] == 0


def test_an_uncertain_domain_widens_it() -> None:
    sure = count_interval(SETS, 60, (300, 300), HALF)
    unsure = count_interval(SETS, 60, (250, 350), HALF)
    assert unsure[0] <= sure[0] <= sure[1] <= unsure[1]
    assert unsure[0] <= count_interval(SETS, 60, (350, 350), HALF)[0]


def test_coverage_by_simulation() -> None:
    """Sixty thousand views; a coverage below 95% would be seen, a true one of 95% raises alarm once in a billion."""
    rng = np.random.default_rng(1)
    true, in_domain = 400, 20_000
    counts = rng.binomial(true, 0.6, 60_000) + rng.binomial(in_domain - true, 0.1, 60_000)
    held = sum(
        low <= true <= high
        for low, high in (count_interval(SETS, int(c), (in_domain, in_domain), HALF) for c in counts)
    )
    assert held >= stats.binom.ppf(1e-9, 60_000, 0.95)


@pytest.mark.parametrize(
    "channel", [CopyChannel(Fraction(1, 2), Fraction(1, 3)), CopyChannel(Fraction(9, 10), Fraction(1, 20))]
)
@pytest.mark.parametrize("tuples", [1, 2, 5])
@pytest.mark.parametrize("records", [0, 1, 3, 10, 30, 80])
def test_records_may_outnumber_the_tuples_they_are_at(channel: CopyChannel, tuples: int, records: int) -> None:
    """Rows repeat, so that many may share few tuples, whose noise is then no more than theirs."""
    kept = stats.binom.pmf(np.arange(records + 1), records, float(channel.keep))
    noise = stats.nbinom.pmf(np.arange(100), tuples, 1 - float(channel.noise))
    missed = [0.0, 0.0]
    for shown, chance in enumerate(np.convolve(kept, noise)):
        if chance > 1e-12:
            low, high = count_interval(channel, shown, (tuples, tuples), (Fraction(1, 40), Fraction(1, 40)))
            missed[0] += chance * (records < low)
            missed[1] += chance * (records > high)
    assert max(missed) <= 1 / 40


@pytest.mark.parametrize(
    "channel", [CopyChannel(Fraction(1, 2), Fraction(1, 3)), SetChannel(Fraction(1, 2), Fraction(1, 3))]
)
def test_where_there_is_no_tuple_there_is_no_record(channel: ViewChannel) -> None:
    assert count_interval(channel, 0, (0, 0), (Fraction(1, 40), Fraction(1, 40))) == (0, 0)


# -- interval sums -----------------------------------------------------------------------------------
# Intervals of sums: the moments are those of the channel, and no table is missed more often than said.


KEPT_BY_HALF = CopyChannel(Fraction(1, 2), Fraction(1, 10))


@pytest.mark.parametrize("exponent", [-2.0, -0.1, 0.3, 1.5])
def test_moments(exponent: float) -> None:
    noise, record = moments(SETS, np.array([exponent]))
    assert noise is not None
    assert record is not None
    grown = math.exp(exponent)
    assert noise[0] == pytest.approx(math.log(0.9 + 0.1 * grown))
    assert noise[0] + record[0] == pytest.approx(math.log(0.4 + 0.6 * grown))
    noise, record = moments(KEPT_BY_HALF, np.array([exponent]))
    assert noise is not None
    assert record is not None
    assert noise[0] == pytest.approx(math.log(sum(0.9 * 0.1**g * grown**g for g in range(200))))
    assert record[0] == pytest.approx(math.log(0.5 + 0.5 * grown))


def test_infinite_moments_are_left_out() -> None:
    assert moments(KEPT_BY_HALF, np.array([math.log(10), 0.0]))[0].tolist() == [math.inf, 0.0]


@pytest.mark.parametrize("values", [(0, 1, 2), (-1, 0, 3), (-2, -1, 0), (5, 6, 7)])
def test_no_table_is_missed_too_often(values: tuple[int, ...]) -> None:
    """Every table over six tuples, every view of it: the probability of a miss is at most alpha."""
    tuples = np.repeat(np.array(values, float), 2)
    in_domain = np.array([2.0, 2.0, 2.0])
    seen = np.array(list(itertools.product(range(3), repeat=3)), float)
    every = [np.broadcast_to(one, seen.shape) for one in (in_domain, np.array(values, float))]
    ends = np.transpose(sum_interval(SETS, seen, *every, 6.0, Fraction(1, 5))).tolist()
    found = dict(zip(map(tuple, seen.tolist()), ends, strict=True))
    for table in itertools.product((0, 1), repeat=6):
        truth = float(np.dot(table, tuples))
        missed = 0.0
        for shown in itertools.product((0, 1), repeat=6):
            per_value = (shown[0] + shown[1], shown[2] + shown[3], shown[4] + shown[5])
            low, high = found[per_value]
            weight = math.prod(
                (0.6 if t else 0.1) if s else (0.4 if t else 0.9) for t, s in zip(table, shown, strict=True)
            )
            missed += weight * (not low - 1e-9 <= truth <= high + 1e-9)
        assert missed <= 0.2


@pytest.mark.parametrize(
    "channel", [SetChannel(Fraction(1, 2), Fraction(1, 10**6)), CopyChannel(Fraction(1, 2), Fraction(1, 10**6))]
)
def test_it_is_not_much_wider_than_the_normal_interval(channel: ViewChannel) -> None:
    values = np.arange(0.0, 100.0)
    in_domain = np.full(100, 1e8)
    in_view = np.full(100, 100.0 + 50.0)
    low, high = sum_interval(channel, in_view, in_domain, values, 12_000.0, Fraction(1, 20))
    estimate = float((in_view - 100) @ values / 0.5)
    spread = math.sqrt(float(((100 + 100 * 0.25) * values**2).sum())) / 0.5
    assert low < estimate < high
    assert (high - low) / 2 < 2 * 1.96 * spread
    assert (high - low) / 2 > 1.96 * spread


def test_nothing_to_add_up() -> None:
    assert sum_interval(SETS, np.array([3.0]), np.array([9.0]), np.array([0.0]), 5.0, Fraction(1, 20)) == (0.0, 0.0)
