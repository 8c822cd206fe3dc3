"""Secrets about the whole table, beside the listing of all tables and the closed form of two normal laws."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest
from tests.pufferfish.test_laws_of_sums import as_fractions

from tetraodon import pufferfish as pf
from tetraodon.errors import PolicyError, Refused
from tetraodon.pufferfish.gaussian import delta_of

JOINT = [["0.4", "0.1"], ["0.2", "0.3"]]


def listed(records: int, having: int) -> dict[int, Fraction]:
    """How many have B, given how many have A, over all tables."""
    chances = {(a, b): Fraction(JOINT[a][b]) for a in (0, 1) for b in (0, 1)}
    law: dict[int, Fraction] = {}
    for table in itertools.product(chances, repeat=records):
        if sum(a for a, _ in table) == having:
            told = sum(b for _, b in table)
            law[told] = law.get(told, Fraction(0)) + math.prod((chances[row] for row in table), start=Fraction(1))
    return {told: mass / sum(law.values()) for told, mass in law.items()}


def test_the_laws_are_those_of_all_tables() -> None:
    found = pf.secret_share(4, JOINT, within=2)
    assert len(found) == 3
    for having, pair in enumerate(found):
        for law, a in ((pair.one, having), (pair.other, having + 2)):
            exact, told = listed(4, a), as_fractions(law)
            assert told.keys() == exact.keys()
            assert all(abs(told[n] / exact[n] - 1) < 1e-12 for n in exact)


def test_nearer_shares_lose_less() -> None:
    rate = Fraction(1, 5)
    losses = [max(pair.loss(rate)[1] for pair in pf.secret_share(30, JOINT, within=k)) for k in (1, 2, 3, 5)]
    assert losses == sorted(losses)


def test_it_is_calibrated_and_accepted_by_exact_verification() -> None:
    found = pf.least_noise_on(pf.secret_share(4, JOINT, within=1), epsilon="1/2", promise="the share that has A")
    world = pf.World.product(tuple(itertools.product((0, 1), repeat=2)), individuals=4)
    weights = {
        table: math.prod((Fraction(JOINT[a][b]) for a, b in table), start=Fraction(1)) for table in world.datasets
    }
    secrets = [
        pf.Secret.that(f"{k} records have A", lambda table, k=k: sum(a for a, _ in table) == k) for k in range(5)
    ]
    level = pf.Definition(
        pf.pairs.explicit(list(itertools.pairwise(secrets))),
        pf.scenarios.explicit([pf.Prior.of(weights, "who knows the law")]),
        epsilon="1/2",
    )

    def ill(table: tuple[tuple[int, int], ...]) -> int:
        return sum(b for _, b in table)

    assert pf.verify(pf.Additive(ill, pf.DiscreteLaplace(found.scale), world), level).holds
    less = pf.Additive(ill, pf.DiscreteLaplace(found.scale * Fraction(998, 1000)), world)
    assert not pf.verify(less, level).holds


def test_the_normal_case_meets_its_delta_and_no_less_would() -> None:
    known = pf.GaussianSecret(100, 25, 20)
    sigma = known.sigma(within=5, epsilon=1, delta="0.001")

    def needed(noise: float) -> float:
        return delta_of(20 / 25 * 5 / math.sqrt(known.hidden + noise**2), 1)

    assert known.hidden == 84
    assert needed(sigma) <= 0.001 < needed(sigma * 0.999)
    assert sigma**2 + 84 == pytest.approx((20 / 25 * 5 * sigma_of_one()) ** 2, rel=1e-6)


def sigma_of_one() -> float:
    """The deviation that a distance of one needs, from a covariance that leaves nothing hidden."""
    return pf.GaussianSecret(1, 1, 1).sigma(within=1, epsilon=1, delta="0.001")


def test_what_is_random_enough_needs_no_noise() -> None:
    assert pf.GaussianSecret(10_000, 25, 20).sigma(within=1, epsilon=1, delta="0.01") == 0


def test_refusals() -> None:
    with pytest.raises(PolicyError, match="no number of records"):
        pf.secret_share(4, JOINT, within=5)
    with pytest.raises(PolicyError, match="four chances"):
        pf.secret_share(4, [["0.5", "0.5"]], within=1)
    with pytest.raises(PolicyError, match="there is no secret"):
        pf.secret_share(4, [["0.5", "0.5"], [0, 0]], within=1)
    with pytest.raises(PolicyError, match="no variances"):
        pf.GaussianSecret(1, 1, 2)
    with pytest.raises(Refused, match="a distance"):
        pf.GaussianSecret(1, 1, 1).sigma(within=0, epsilon=1, delta="0.1")
