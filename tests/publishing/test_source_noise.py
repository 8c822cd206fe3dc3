"""Noise from a source: every tuple with exactly its probability, an unbiased estimate, and the priors it protects."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from tests.noise.walk import Script
from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.errors import PolicyError
from tetraodon.noise.coins import system_coins
from tetraodon.policy.adversary import Adversary
from tetraodon.publishing.source_noise import SourceChannel, _below_ratio, source_channel

F = Fraction
DOMAIN = Domain((Attribute("a", Integers(0, 2)), Attribute("b", Integers(0, 1))))
CHANNEL = SourceChannel(DOMAIN, ((5, 3, 2), (4, 1)), F(1, 4), F(3, 2))


def test_probabilities_are_products() -> None:
    assert CHANNEL.source((0, 0)) == CHANNEL.likeliest == F(2, 5)
    assert CHANNEL.source((2, 1)) == CHANNEL.rarest == F(1, 25)
    assert CHANNEL.noise((1, 1)) == F(3, 2) * F(3, 50)
    assert sum(CHANNEL.source(codes) for codes in itertools.product(range(3), range(2))) == 1


def test_the_mass_of_a_condition_is_the_sum_over_the_domain() -> None:
    holds = np.array([[True, False], [True, True], [False, False]])
    expected = sum(CHANNEL.noise(codes) for codes in ((0, 0), (1, 0), (1, 1)))
    assert CHANNEL.mass((0, 1), holds) == expected
    assert CHANNEL.mass((1,), np.array([True, False])) == sum(CHANNEL.noise((a, 0)) for a in range(3))
    assert CHANNEL.mass((), np.array(True)) == F(3, 2)


def test_every_tuple_is_inserted_with_its_probability() -> None:
    """Inclusion of each tuple, of each pair, and of records; false alarms below 1e-9 in all (Hoeffding)."""
    rounds, table = 4000, np.array([1, 4], np.uint64)
    shown = np.zeros((rounds, 6), bool)
    for row in shown:
        row[CHANNEL.draw(table).astype(np.int64)] = True
    chances = []
    for cell in range(6):
        noise = CHANNEL.noise(DOMAIN.codes_of(cell))
        chances.append(float(noise + (CHANNEL.keep if cell in (1, 4) else 0)))
    reach = math.sqrt(math.log(2 * 21 * 1e9) / (2 * rounds))
    assert (abs(shown.mean(axis=0) - chances) < reach).all()
    for one, other in itertools.combinations(range(6), 2):
        assert abs((shown[:, one] & shown[:, other]).mean() - chances[one] * chances[other]) < reach
    whole = [
        float(CHANNEL.estimate(int(row[:3].sum()), sum(map(CHANNEL.noise, map(DOMAIN.codes_of, range(3))))))
        for row in shown
    ]
    assert abs(np.mean(whole) - 1) < 7 * np.std(whole) / math.sqrt(rounds)


@pytest.mark.parametrize("confidence", ["0.5", "0.9", "0.999"])
def test_the_interval_holds_for_every_table(confidence: str) -> None:
    """By enumeration of all tables, questions and views of a domain of six tuples."""
    noise = [CHANNEL.noise(DOMAIN.codes_of(cell)) for cell in range(6)]
    tight = F(1)
    for asked in (range(6), range(3), (0, 5)):
        mass = sum((noise[cell] for cell in asked), F(0))
        ends = [CHANNEL.interval(shown, mass, confidence=confidence) for shown in range(len(asked) + 1)]
        for table in itertools.product((0, 1), repeat=len(asked)):
            law = {0: F(1)}
            for held, cell in zip(table, asked, strict=True):
                chance = noise[cell] + held * CHANNEL.keep
                law = {n: law.get(n, 0) * (1 - chance) + law.get(n - 1, F(0)) * chance for n in range(len(law) + 1)}
            holds = sum((law[n] for n in law if ends[n][0] <= sum(table) <= ends[n][1]), F(0))
            tight = min(tight, holds)
    assert F(confidence) <= tight


def test_the_interval_is_of_the_width_of_the_noise() -> None:
    domain = Domain((Attribute("a", Integers(0, 999_999)),))
    channel = SourceChannel(domain, ((1,) * 10**6,), F(1, 2), F(10_000))
    low, high = channel.interval(10_500, F(10_000))
    assert low < 1000 < high
    assert (
        high - low < 3 * 2 * 2 * 101
    )  # two standard deviations of the noise, over keep, both ways; half as much again


def test_the_coin_on_the_bar_is_settled_exactly() -> None:
    b, exponent = F(1, 4), F(1, 3)
    bar = 0.25 / (1 - math.exp(-1 / 3))
    word = int(bar * 2**64)
    assert _below_ratio(b, exponent, word - 2**12, system_coins())
    assert not _below_ratio(b, exponent, word + 2**12, system_coins())
    exact = 0
    for shift in range(-(2**12), 2**12, 2**9):  # somewhere between the two it changes, once
        exact += _below_ratio(b, exponent, word + shift, Script([2**63] * 4))
    assert 0 < exact < 16


def test_the_priors_it_protects_are_tight() -> None:
    gamma = F(1, 2)
    for codes in itertools.product(range(3), range(2)):
        d, b = CHANNEL.protected_prior(codes, gamma), CHANNEL.noise(codes)
        assert d * (CHANNEL.keep + b) / (d * (CHANNEL.keep + b) + (1 - d) * b) == gamma


def test_the_planned_channel_withstands_its_adversary() -> None:
    sizes = (10, 20, 30)
    domain = Domain(tuple(Attribute(f"a{i}", Integers(1, size)) for i, size in enumerate(sizes)))
    weights = [[1 + (7 * i) % 5 for i in range(size)] for size in sizes]
    adversary = Adversary(k=3, gamma="0.5", records=100)
    channel = source_channel(domain, weights, adversary)
    for codes in itertools.product(*(range(0, size, 3) for size in sizes)):
        prior = 300 * channel.source(codes)
        assert channel.protected_prior(codes, F(1, 2)) >= prior
        b = channel.noise(codes)
        assert (1 - channel.keep - b) / (1 - b) >= prior / F(1, 2)
    assert channel.loss_presence <= channel.loss_replace


def test_what_makes_no_source_is_refused() -> None:
    with pytest.raises(PolicyError, match="weight of at least 1"):
        SourceChannel(DOMAIN, ((5, 3, 0), (4, 1)), F(1, 4), F(1))
    with pytest.raises(PolicyError, match="not probabilities"):
        SourceChannel(DOMAIN, ((5, 3, 2), (4, 1)), F(1, 2), F(2))
    with pytest.raises(PolicyError, match="needs independent"):
        source_channel(DOMAIN, ((5, 3, 2), (4, 1)), Adversary(d="0.1", gamma="0.5"))
    with pytest.raises(PolicyError, match="likeliest tuple"):
        source_channel(DOMAIN, ((5, 3, 2), (4, 1)), Adversary(k=1, gamma="0.5", records=10))
