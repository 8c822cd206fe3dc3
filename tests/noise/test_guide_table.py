from __future__ import annotations

from bisect import bisect_right
from fractions import Fraction

import numpy as np
import pytest
from tests.noise import truth
from tests.noise.truth import zigzag
from tests.noise.walk import Script, agrees, walk

from tetraodon.errors import NoiseError
from tetraodon.noise import guide_table as table
from tetraodon.noise.guide_table import BlockLaw, DigitLaw, GaussianLaw, build, cdf_bounds

LAPLACE = [Fraction(1, 3), Fraction(1), Fraction(7, 3)]
GAUSSIAN = [Fraction(2, 5), Fraction(1), Fraction(5, 2)]


def cases():
    for scale in LAPLACE:
        yield pytest.param(BlockLaw(scale), lambda k, s=scale: truth.laplace(s, k), id=f"L{scale}")
    for sigma in GAUSSIAN:
        law = GaussianLaw(sigma**2)
        yield pytest.param(law, lambda k, s=sigma: truth.gaussian(s, k), id=f"G{sigma}")


@pytest.mark.parametrize(("law", "pmf"), list(cases()))
def test_every_coin_string_gives_exactly_the_law(law, pmf):
    sampler = build(law, lead=5, rest=4)
    mass, undecided = walk(lambda coins: int(sampler.draw(1, coins)[0]), depth=17)
    assert undecided < Fraction(1, 2**11)
    assert agrees(mass, undecided, pmf, around=12)


@pytest.mark.parametrize("move", [-1, 1])
@pytest.mark.parametrize("place", [0, 1, 2, 3])
def test_the_walk_catches_a_threshold_that_is_off_by_one(place, move):
    sampler = build(BlockLaw(Fraction(7, 3)), lead=5, rest=4)
    sampler.floor[place] = int(sampler.floor[place]) + move
    mass, undecided = walk(lambda coins: int(sampler.draw(1, coins)[0]), depth=17)
    assert not agrees(mass, undecided, lambda k: truth.laplace(Fraction(7, 3), k), around=12)


def test_the_walk_catches_a_guide_that_forgets_a_mark():
    sampler = build(BlockLaw(Fraction(7, 3)), lead=5, rest=4)
    cell = int(np.flatnonzero(sampler.guide == table._MARK)[0])
    sampler.guide[cell] = sampler.guide[cell - 1]
    mass, undecided = walk(lambda coins: int(sampler.draw(1, coins)[0]), depth=17)
    assert not agrees(mass, undecided, lambda k: truth.laplace(Fraction(7, 3), k), around=12)


class EveryNumber:
    """All numbers of lead + rest bits in one batch; further bits are 0."""

    def __init__(self, lead, rest):
        self.lead, self.rest = lead, rest

    def draw(self, count, bits):
        if bits == self.lead:
            return np.arange(1 << self.lead, dtype=np.uint16).repeat(1 << self.rest)
        if count == 1:
            return np.zeros(1, dtype=np.uint64)
        return np.tile(np.arange(1 << self.rest, dtype=np.uint64), count >> self.rest)


@pytest.mark.parametrize(
    "law",
    [BlockLaw(Fraction(20)), BlockLaw(Fraction(900, 7), 3), GaussianLaw(Fraction(300)), DigitLaw(Fraction(99), 2, 6)],
    ids=["laplace", "blocks", "gaussian", "digit"],
)
def test_a_batch_inverts_the_distribution_function_at_every_number(law):
    lead, rest = 9, 5
    drawn = build(law, lead=lead, rest=rest).draw(1 << (lead + rest), EveryNumber(lead, rest))
    lows, highs = cdf_bounds(law, 200, 150)
    for number, value in enumerate(drawn):
        at = number << (200 - lead - rest)
        outcome = bisect_right(lows, at)
        assert outcome == bisect_right(highs, at)  # no bound straddles a number: the truth is known
        assert value == (zigzag(outcome) if law.two_sided else outcome)


@pytest.mark.parametrize("scale", [Fraction(1, 10), Fraction(3)])
def test_full_words_next_to_each_threshold(scale):
    sampler = build(BlockLaw(scale))
    for outcome, floor in enumerate(sampler.floor.tolist()[:20]):
        for further, expected in ((0, outcome), (2**48 - 1, outcome + 1)):
            # The threshold lies inside (floor, floor + 1): further bits decide.
            if floor < 2**64 - 1:
                words = [floor >> 48, floor % 2**48, further, further, further]
                assert sampler.draw(1, Script(words))[0] == zigzag(expected)
        if floor < 2**64 - 2:
            after = floor + 1
            assert sampler.draw(1, Script([after >> 48, after % 2**48]))[0] == zigzag(outcome + 1)
        before = floor - 1
        assert zigzag(outcome) == sampler.draw(1, Script([before >> 48, before % 2**48]))[0]


def test_a_table_too_wide_for_its_guide_is_refused(monkeypatch):
    monkeypatch.setattr(table, "_MARK", -3)
    with pytest.raises(NoiseError, match="Fix: "):
        build(BlockLaw(Fraction(5)))


def test_no_values_need_no_coins_to_spare():
    assert build(BlockLaw(Fraction(1))).draw(0, Script([])).shape == (0,)
